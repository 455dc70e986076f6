"""Names and files that prose mentions: tests/cases/mentions/LANGUAGE/behaviour.txt."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codelens.indexing.extract import extract
from codelens.model.extraction import DecodedText
from codelens.text.lines import TextMap
from tests.conftest import case_files


def described(source: str, language: str) -> str:
    found = extract(TextMap(DecodedText(source, "utf-8", 1.0, 0)), "page", language)
    lines = []
    for one in found.references:
        place = source.encode()[one.start :]
        assert place.startswith(one.name.encode()), one
        assert source.encode().count(b"\n", 0, one.start) + 1 == one.line
        name = f"{one.receiver} {one.name}" if one.receiver else one.name
        inside = f" in {found.units[one.unit].name}" if one.unit is not None else ""
        lines.append(f"{one.kind}: {name}{inside} {one.line}\n")
    return "".join(lines)


@pytest.mark.parametrize("path", case_files("mentions"), ids=lambda p: f"{p.parent.name}/{p.stem}")
def test_case(path: Path, case: Callable[[Path, Callable[[str], str]], None]) -> None:
    case(path, lambda source: described(source, path.parent.name))


_PIECES = st.sampled_from(
    ["`", "``", "```", "~~~", "\n", " ", "a", "ü.b", "](", ")", "[", ":class:", ".. class:: ", "x.py", "#", "<", "()"]
)


@given(
    st.lists(_PIECES, max_size=60).map("".join), st.sampled_from(["markdown", "restructuredtext", "asciidoc", "org"])
)
def test_every_mention_has_its_place_in_any_text(source: str, language: str) -> None:
    described(source, language)
