"""Every language's case files: tests/cases/extraction/LANGUAGE/behaviour.txt."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from codelens.lang.registry import languages
from codelens.model.code import CHUNK_KINDS, SYMBOL_KINDS
from codelens.model.extraction import Extraction
from tests.conftest import TESTS, case_files
from tests.lang.symbols import FULL, extracted


def describe(found: Extraction) -> str:
    """An extraction as lines that a reviewer can read."""
    lines = [f"namespace {found.namespace}"] if found.namespace else []
    for unit in found.units:
        marks = "".join([f" @{d}" for d in unit.decorators]) + (" local" if unit.local else "")
        lines.append(f"{unit.kind} {unit.qualified_name} {unit.start_line}-{unit.end_line}{marks}")
        lines.append(f"    | {unit.signature}")
        lines += [f"    # {line}".rstrip() for line in unit.doc.splitlines()]
    for use in found.references:
        name = f"{use.receiver}.{use.name}" if use.receiver else use.name
        inside = f" in {found.units[use.unit].qualified_name}" if use.unit is not None else ""
        lines.append(f"{use.kind}: {name}{inside} {use.line}")
    for one in found.imports:
        what = " ".join(
            filter(None, [one.module, f"-> {one.name}" if one.name else "", f"as {one.alias}" if one.alias else ""])
        )
        lines.append(f"import: {what} {one.line}")
    if found.fault:
        lines.append(f"fault: {found.fault}")
    return "\n".join(lines) + "\n"


@pytest.mark.slow
@pytest.mark.parametrize("path", case_files("extraction"), ids=lambda p: f"{p.parent.name}/{p.stem}")
def test_extraction_of_a_case_is_as_written(path: Path, case: Callable[[Path, Callable[[str], str]], None]) -> None:
    case(path, lambda source: describe(extracted(source, path.parent.name)))


@pytest.mark.slow
@pytest.mark.parametrize("path", case_files("extraction"), ids=lambda p: f"{p.parent.name}/{p.stem}")
def test_spans_lie_in_the_text_and_nest(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    source, found = text.encode(), extracted(text, path.parent.name)
    for unit in found.units:
        assert unit.kind in SYMBOL_KINDS and unit.kind not in CHUNK_KINDS
        assert 0 <= unit.span.start <= unit.name_span.start <= unit.name_span.end <= unit.span.end <= len(source)
        assert unit.span.start <= unit.body_start <= unit.span.end
        assert source.count(b"\n", 0, unit.span.start) + 1 == unit.start_line
        if unit.parent is not None:
            outer = found.units[unit.parent].span
            assert outer.start <= unit.span.start and unit.span.end <= outer.end
    for use in found.references:
        assert source[use.start : use.start + len(use.name.encode())].decode() == use.name


@pytest.mark.parametrize("language", FULL)
def test_every_full_language_has_twelve_behaviours(language: str) -> None:
    count = Counter(p.parent.name for p in case_files("extraction"))[language]
    assert languages()[language].grammar and count >= 12, TESTS
