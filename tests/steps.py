"""Counts of work, for tests that it grows with its input and no faster: a count is the same on a busy machine."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import FrameType

import apsw


def statements(run: Callable[[], object]) -> int:
    """How many statements SQLite executes, each row of an `executemany` counted."""
    count = 0

    def trace(cursor: apsw.Cursor, sql: str, values: object) -> bool:
        nonlocal count
        count += 1
        return True

    def hook(connection: apsw.Connection) -> None:
        connection.exec_trace = trace

    apsw.connection_hooks.append(hook)
    try:
        run()
    finally:
        apsw.connection_hooks.remove(hook)
    return count


def calls(run: Callable[[], object]) -> Counter[str]:
    """How often each function is called."""
    found: Counter[str] = Counter()

    def profile(frame: FrameType, event: str, argument: object) -> None:
        if event == "call":
            found[f"{Path(frame.f_code.co_filename).stem}.{frame.f_code.co_name}"] += 1

    sys.setprofile(profile)
    try:
        run()
    finally:
        sys.setprofile(None)
    return found
