"""Types and values of names as the text declares them, by language: tests/cases/bindings/LANGUAGE/behaviour.txt."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from codelens.lang.parser import read_query_source
from codelens.lang.registry import languages
from codelens.model.extraction import Extraction
from tests.conftest import TESTS, case_files
from tests.lang.symbols import extracted


def describe(found: Extraction) -> str:
    """A line each. A name without a text hides an outer one, a text without a name speaks of the unit around."""
    lines = []
    for one in found.bindings:
        what = f"{one.name} = {one.text}" if one.name and one.text else one.name or one.text
        inside = f" in {found.units[one.unit].qualified_name}" if one.unit is not None else ""
        lines.append(f"{one.how}: {what}{inside}\n")
    return "".join(lines)


@pytest.mark.slow
@pytest.mark.parametrize("path", case_files("bindings"), ids=lambda p: f"{p.parent.name}/{p.stem}")
def test_bindings_of_a_case_are_as_written(path: Path, case: Callable[[Path, Callable[[str], str]], None]) -> None:
    case(path, lambda source: describe(extracted(source, path.parent.name)))


@pytest.mark.parametrize("path", case_files("bindings"), ids=lambda p: f"{p.parent.name}/{p.stem}")
def test_names_stand_at_their_places(path: Path) -> None:
    source = path.read_text(encoding="utf-8").encode()
    for one in extracted(source.decode(), path.parent.name).bindings:
        if one.name and one.how not in ("base", "interface"):
            assert source[one.start :].startswith(one.name.encode())


def test_every_language_with_bindings_has_cases() -> None:
    bound = {name for name, row in languages().items() if row.grammar and "@binding." in read_query_source(row)}
    assert bound <= {path.parent.name for path in case_files("bindings")}, TESTS
