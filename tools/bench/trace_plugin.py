"""A pytest plugin that writes the calls that a test run makes, for `tools.bench.calls`. It needs nothing of codelens.

    CALLS_ROOT=TREE CALLS_OUT=FILE.tsv python -m pytest -p trace_plugin

Rows: `call`, path, first line and name of the caller, the same of the callee, and `direct` or `through`: through a
library, or through a function that is local to another, such as the wrapper of a decorator. `line`, path, line: it ran.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from inspect import CO_OPTIMIZED
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

ROOT = os.path.realpath(os.environ["CALLS_ROOT"]) + os.sep
FARTHEST = 25  # Frames of libraries between a caller and its callee
calls: set[tuple[CodeType, CodeType, str]] = set()
lines: set[tuple[str, int]] = set()
_inside: dict[CodeType, bool] = {}


def is_inside(code: CodeType) -> bool:
    """True for code of the tree."""
    if code not in _inside:
        _inside[code] = code.co_filename.startswith(ROOT)
    return _inside[code]


def trace(frame: FrameType, event: str, _: object) -> Callable[..., Any] | None:
    """Record a call, and follow the lines of code of the tree."""
    if not is_inside(frame.f_code):
        return None
    lines.add((frame.f_code.co_filename, frame.f_lineno))
    if event == "call" and frame.f_code.co_flags & CO_OPTIMIZED:  # not the body of a class or module
        how, caller, left = "direct", frame.f_back, FARTHEST
        while caller is not None and left:
            if is_inside(caller.f_code):
                calls.add((caller.f_code, frame.f_code, how))
                if "<locals>" not in caller.f_code.co_qualname:
                    break
            how, caller, left = "through", caller.f_back, left - 1
    return trace


def pytest_configure() -> None:
    """Begin before the tests are imported."""
    threading.settrace(trace)
    sys.settrace(trace)


def pytest_unconfigure() -> None:
    """Write the rows."""
    sys.settrace(None)
    with Path(os.environ["CALLS_OUT"]).open("w", encoding="utf-8") as out:
        for caller, callee, how in calls:
            ends = (f"{c.co_filename.removeprefix(ROOT)}\t{c.co_firstlineno}\t{c.co_name}" for c in (caller, callee))
            out.write("\t".join(["call", *ends, how]) + "\n")
        for path, line in lines:
            out.write(f"line\t{path.removeprefix(ROOT)}\t{line}\n")
