"""Symbols and chunks merged, and their places in the file's own bytes."""

from __future__ import annotations

import pytest

from codelens.indexing.extract import extract, list_own_texts
from codelens.model.extraction import DecodedText
from codelens.store.codec import unpack_references
from codelens.text.lines import TextMap
from tests.indexing.documents import derived

SOURCE = 'import os\n\n\nclass Größe:\n    """Ein Maß."""\n\n    def messen(self):\n        return os.größe(self)\n'


def text_map(source: str) -> TextMap:
    return TextMap(DecodedText(source, "utf-8", 1.0, 0))


def test_chunks_are_sorted_among_symbols_and_parents_renumbered() -> None:
    found = extract(text_map(SOURCE), "a.py", "python")
    assert [(u.kind, u.name, u.parent) for u in found.units] == [
        ("toplevel", "a.py", None),
        ("class", "Größe", None),
        ("method", "messen", 1),
    ]
    assert {(r.name, r.unit) for r in found.references if r.kind == "call"} == {("größe", 2)}


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "latin-1", "cp1252"])
def test_spans_count_the_files_own_bytes(encoding: str) -> None:
    raw = SOURCE.encode(encoding)
    document = derived("a.py", raw)
    method = document.extraction.units[2]
    body = raw[method.span.start : method.span.end].decode(document.encoding)
    assert body == "def messen(self):\n        return os.größe(self)"
    assert raw[method.name_span.start : method.name_span.end].decode(document.encoding) == "messen"
    call = next(r for r in unpack_references(document.references.packed) if r.name == "größe")
    assert raw[call.start :].decode(document.encoding).startswith("größe(self)")


def test_the_text_of_a_method_is_not_part_of_its_class() -> None:
    text = text_map(SOURCE)
    own = list_own_texts(text, extract(text, "a.py", "python").units)
    assert "Maß" in own[1] and "return" not in own[1] and "return" in own[2]


def test_a_function_keeps_the_text_of_local_definitions() -> None:
    text = text_map("def outer():\n    def inner():\n        return 1\n    return inner\n")
    units = extract(text, "a.py", "python").units
    own = dict(zip([u.name for u in units], list_own_texts(text, units), strict=True))
    assert "return 1" in own["outer"]


def test_a_chunk_leaves_out_the_symbols_inside_it() -> None:
    text = text_map("import one\nLIMIT = 3\nimport two\n")
    units = extract(text, "a.py", "python").units
    assert [u.name for u in units] == ["a.py", "LIMIT"]
    assert "two" in list_own_texts(text, units)[0] and "LIMIT" not in list_own_texts(text, units)[0]


def test_without_its_grammar_a_text_is_chunks_with_the_reason() -> None:
    found = extract(text_map(SOURCE), "a.py", "python", "grammar crashed (SIGSEGV)")
    assert found.fault == "grammar crashed (SIGSEGV)"
    assert [u.kind for u in found.units] == ["toplevel"] and not found.references


def test_syntax_errors_are_reported() -> None:
    assert extract(text_map("def f(:\n"), "a.py", "python").fault == "syntax errors"


def test_plain_text_has_no_fault() -> None:
    assert extract(text_map("words"), "a.unknown", "text").fault == ""
    assert extract(text_map(""), "a.py", "python").units == ()
