"""Which calls of a file the linker resolves, by language: tests/cases/links/LANGUAGE/behaviour.txt.

A line `=== path` begins a further file.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from codelens.config import Settings
from codelens.index import Index
from codelens.lang.registry import languages
from codelens.model.graph import KINDS, TIERS
from tests.conftest import case_files
from tests.dump import dump
from tests.indexing.here import derive_here

_KIND = {number: name for name, number in KINDS.items()}
_ARROW = {"calls": "->", "tests": "->"}
_TIER = {tier.number: name for name, tier in TIERS.items()}


def linked(root: Path, source: str, language: str) -> str:
    """A line for each call: its line, what calls, what is called, and how that was found; remote procedures by their kind."""
    root.mkdir()
    own, *others = re.split(r"^=== (.+)\n", source, flags=re.MULTILINE)
    files = {f"one.{languages()[language].extensions[0]}": own} | dict(zip(others[::2], others[1::2], strict=True))
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    index = root.with_suffix(".db")
    Index.build(index, [root], Settings(jobs=1, fuzzy=False, vector=False))
    return "".join(
        f"{line}: {caller.split()[-1]} {_ARROW.get(_KIND[kind], _KIND[kind])} {target.split()[-1]} {_TIER[tier]}\n"
        for caller, kind, target, line, tier in sorted(dump(index)["edges"], key=lambda edge: (edge[3], edge))
        if _KIND[kind] in ("calls", "tests", "implements_rpc", "consumes_rpc")
    )


@pytest.mark.parametrize("path", case_files("links"), ids=lambda p: f"{p.parent.name}/{p.stem}")
def test_links_of_a_case_are_as_written(
    path: Path, case: Callable[[Path, Callable[[str], str]], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    derive_here(monkeypatch)
    case(path, lambda source: linked(tmp_path / "tree", source, path.parent.name))
