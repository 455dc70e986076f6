"""Columns in UTF-8, UTF-16 and UTF-32 units, and facts of another text than the one at hand."""

from __future__ import annotations

import pytest

from codelens.linking.precise.scip import (
    CodeUnits,
    Occurrence,
    PreciseDocument,
    Range,
    RefusedDocument,
    convert_to_utf8,
)
from tests.linking.precise.indexes import CASES, INDEXES, read

TEXT = 'def größe():\n    return "😀" + total("漢", area)\r\n'


def facts(encoding: CodeUnits, *ranges: Range) -> PreciseDocument:
    return PreciseDocument("a.py", encoding, tuple(Occurrence(place, "s", False) for place in ranges))


@pytest.mark.parametrize(
    ("encoding", "total", "area", "end"),
    [(CodeUnits.UTF32, 18, 29, 33), (CodeUnits.UTF16, 19, 30, 34), (CodeUnits.UTF8, 21, 34, 38)],
)
def test_each_encoding_gives_the_same_bytes(encoding: CodeUnits, total: int, area: int, end: int) -> None:
    found = convert_to_utf8(facts(encoding, Range(2, total, 2, total + 5), Range(2, area, 2, end)), TEXT)
    assert found == facts(CodeUnits.UTF8, Range(2, 21, 2, 26), Range(2, 34, 2, 38))
    line = TEXT.encode().split(b"\n")[1]
    assert (line[20:25], line[33:37]) == (b"total", b"area")


def test_a_wrong_encoding_does_not_fit() -> None:
    """Bytes read as UTF-16 units stand inside words."""
    said = facts(CodeUnits.UTF16, Range(2, 21, 2, 26), Range(2, 34, 2, 38))
    assert isinstance(convert_to_utf8(said, TEXT), RefusedDocument)


@pytest.mark.parametrize("index", INDEXES)
@pytest.mark.parametrize("change", ["a line above", "the lower half", "indented", "empty"])
def test_facts_of_another_text_are_refused(index: str, change: str) -> None:
    for document in read(index):
        if not isinstance(document, PreciseDocument) or len(document.occurrences) < 2:
            continue
        text = ((CASES / index).parent / document.path).read_text(encoding="utf-8")
        changed = {
            "a line above": f"import this_is_new\n{text}",
            "the lower half": text[len(text) // 2 :],
            "indented": text.replace("\n", "\n "),
            "empty": "",
        }[change]
        refused = convert_to_utf8(document, changed)
        assert refused == RefusedDocument(document.path, "the index was made of another text of this file")


def test_a_few_invalid_ranges_do_not_refuse_a_document() -> None:
    """A tool may name a blank; of twenty names, nineteen must be words."""
    words, blank = [Range(1, 5, 1, 10)] * 19, Range(2, 1, 2, 3)
    assert isinstance(convert_to_utf8(facts(CodeUnits.UTF32, *words, blank), TEXT), PreciseDocument)
    assert isinstance(convert_to_utf8(facts(CodeUnits.UTF32, *words[1:], blank), TEXT), RefusedDocument)


def test_a_document_without_names_fits_any_text() -> None:
    assert convert_to_utf8(facts(CodeUnits.UTF16), "") == facts(CodeUnits.UTF8)
