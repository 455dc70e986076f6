"""Properties of every text: chunks and symbols cover its words, pieces cover a unit, answers cross the pipe unchanged."""

from __future__ import annotations

import pickle
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from codelens.indexing.chunk import MAX_WINDOWS, MOST_ON_LINE, OVERLAP, WINDOW, cut_text, cut_windows
from codelens.indexing.extract import extract, list_own_texts
from codelens.indexing.markup import find_headings
from codelens.lang.registry import languages
from codelens.model.code import CHUNK_KINDS, SYMBOL_KINDS, Skip, SkipReason
from codelens.model.extraction import DecodedText, UnchangedFile
from codelens.text.lines import TextMap
from codelens.text.terms import tokens
from tests.indexing.documents import derived, seen
from tests.tiers import examples

LINES = (
    *(
        "import os",
        "def f(x):",
        "    return g(x)",
        "class Größe:",
        "LIMIT = 3",
        "# Heading",
        "## Part",
        "Title",
        "=====",
        "-----",
    ),
    *(
        "",
        "",
        "  ",
        "\t",
        "```",
        "~~~",
        "// Doc of it",
        "func Hello() {",
        "}",
        "{",
        '"key": [',
        "]",
        "key: value",
        "[table]",
    ),
    *(
        "export const x = () => 1;",
        "export function f() {",
        "連接 数据库",
        "x" * 3000,
        "one two three four five six",
        "\r",
        "é\r",
    ),
    *(
        "#include <a.h>",
        "int main(void) {",
        "static int x, y;",
        "module A",
        "end",
        "<?php",
        "* Star",
        "== Doc",
        ".. note::",
    ),
)
sources = st.one_of(st.text(max_size=200), st.lists(st.sampled_from(LINES), max_size=40).map("\n".join))
LANGUAGES = ("python", "go", "javascript", "typescript", "c", "ruby", "php", "rust")
STYLES = ("markdown", "restructuredtext", "asciidoc", "org", "json", "yaml", "text")


def text_map(source: str) -> TextMap:
    return TextMap(DecodedText(source, "utf-8", 1.0, 0))


@given(sources, st.sampled_from(LANGUAGES + STYLES))
@settings(max_examples=examples(300), deadline=None)
def test_every_word_belongs_to_a_unit_or_is_written_next_to_one(source: str, language: str) -> None:
    text = text_map(source)
    found = extract(text, "folder/file.x", language)
    covered = bytearray(len(text.utf8))
    said: set[str] = set()
    for unit in found.units:
        covered[unit.span.start : unit.span.end] = b"\1" * (unit.span.end - unit.span.start)
        said |= {*tokens(unit.doc), *(word for d in unit.decorators for word in tokens(d))}
    at = 0
    for line in text.utf8.split(b"\n"):
        outside = b"".join(bytes([b]) if not covered[at + i] else b" " for i, b in enumerate(line))
        words = [word for word in tokens(outside.decode("utf-8", "replace")) if word not in said]
        touched = any(covered[at : at + len(line)])
        assert len(words) <= (2 * MOST_ON_LINE if touched else 0), (line, words)
        at += len(line) + 1


@given(sources, st.sampled_from(LANGUAGES + STYLES))
@settings(max_examples=examples(200), deadline=None)
def test_units_lie_in_the_text_in_order_and_nest(source: str, language: str) -> None:
    text = text_map(source)
    units = extract(text, "file.x", language).units
    assert [(u.span.start, -u.span.end) for u in units] == sorted((u.span.start, -u.span.end) for u in units)
    for i, unit in enumerate(units):
        assert unit.kind in SYMBOL_KINDS + CHUNK_KINDS
        assert 0 <= unit.span.start <= unit.name_span.start <= unit.name_span.end <= unit.span.end <= len(text.utf8)
        assert unit.span.start <= unit.body_start <= unit.span.end
        assert (unit.start_line, unit.name_line) == (
            text.find_line_column(unit.span.start)[0],
            text.find_line_column(unit.name_span.start)[0],
        )
        if unit.parent is not None:
            outer = units[unit.parent].span
            assert unit.parent < i and outer.start <= unit.span.start and unit.span.end <= outer.end
        if unit.kind in CHUNK_KINDS:
            assert re.search(r"\w", text.utf8[unit.span.start : unit.span.end].decode())
    assert len(list_own_texts(text, units)) == len(units)


@given(st.text(max_size=9000), st.integers(8, 3000))
def test_cutting_loses_nothing_and_keeps_characters_whole(source: str, size: int) -> None:
    utf8 = source.encode()
    pieces = cut_text(utf8, 0, len(utf8), size)
    assert "".join(utf8[start:end].decode() for start, end in pieces) == source
    assert all(0 < end - start <= size for start, end in pieces)


@given(st.lists(st.sampled_from(LINES), max_size=600).map("\n".join))
def test_windows_cover_the_text(source: str) -> None:
    pieces = cut_windows(source)
    assert 1 <= len(pieces) <= MAX_WINDOWS and all(len(piece) <= WINDOW for piece in pieces)
    at = 0
    for piece in pieces:
        start = source.find(piece, max(at - OVERLAP, 0))
        assert 0 <= start <= at
        at = start + len(piece)
    assert at == len(source)


@given(sources, st.sampled_from(STYLES))
def test_headings_lie_in_order(source: str, language: str) -> None:
    places = [p for h in find_headings(source.encode(), language) for p in (h.start, h.name_start, h.name_end, h.end)]
    assert places == sorted(places) and all(0 <= p <= len(source.encode()) for p in places)


@given(
    sources, st.sampled_from(["a.py", "b.md", "c.js", "d.unknown"]), st.sampled_from(["utf-8", "utf-16", "utf-8-sig"])
)
@settings(deadline=None)
def test_a_document_crosses_the_pipe_unchanged(source: str, path: str, encoding: str) -> None:
    raw = source.encode(encoding)
    if b"\0" in raw and encoding == "utf-8":
        return
    document = derived(path, raw)
    assert pickle.loads(pickle.dumps(document)) == document


@pytest.mark.parametrize("reason", SkipReason)
def test_a_skip_crosses_the_pipe_unchanged(reason: SkipReason) -> None:
    file = seen("odd \udcff name")
    skip = Skip(file.path, reason, "said so", file.stamp)
    assert pickle.loads(pickle.dumps(skip)) == skip
    unchanged = UnchangedFile(file, b"0123456789abcdef")
    assert pickle.loads(pickle.dumps(unchanged)) == unchanged


def test_every_chunk_style_is_known() -> None:
    assert {row.chunks for row in languages().values()} <= {"code", "headings", "lines", "cells"}
