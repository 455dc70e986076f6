"""Case files for chunks: tests/cases/chunks/LANGUAGE/behaviour.txt; and cutting at its edges."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest

from codelens.indexing.chunk import CHUNK_SIZE, MAX_WINDOWS, OVERLAP, WINDOW, cut_text, cut_windows
from codelens.indexing.extract import extract
from codelens.lang.registry import languages
from codelens.model.code import CHUNK_KINDS
from codelens.model.extraction import DecodedText
from codelens.store.vectors import PIECES
from codelens.text.lines import TextMap
from tests.conftest import case_files


def describe(source: str, language: str) -> str:
    """The units of a text, chunks with their first and last line."""
    suffix = next(iter(languages()[language].extensions))
    text = TextMap(DecodedText(source, "utf-8", 1.0, 0))
    lines: list[str] = []
    for unit in extract(text, f"folder/file.{suffix}", language).units:
        lines.append(f"{unit.kind} {unit.qualified_name} {unit.start_line}-{unit.end_line}")
        if unit.kind in CHUNK_KINDS:
            held = text.utf8[unit.span.start : unit.span.end].decode().splitlines()
            lines += [f"    | {line}".rstrip() for line in dict.fromkeys((held[0], held[-1]))]
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("path", case_files("chunks"), ids=lambda p: f"{p.parent.name}/{p.stem}")
def test_case(path: Path, case: Callable[[Path, Callable[[str], str]], None]) -> None:
    case(path, lambda source: describe(source, path.parent.name))


def test_a_very_long_line_is_cut_after_blanks() -> None:
    line = b"word " * 2000
    pieces = cut_text(line, 0, len(line))
    assert all(end - start <= CHUNK_SIZE and line[:end].endswith(b" ") for start, end in pieces)


def test_a_line_without_blanks_is_cut_between_characters() -> None:
    line = ("漢字" * 3000).encode()
    assert "".join(line[start:end].decode() for start, end in cut_text(line, 0, len(line))) == "漢字" * 3000


def test_a_short_text_is_one_window() -> None:
    assert cut_windows("def f(): pass\n") == ["def f(): pass\n"]


def test_windows_overlap_and_end_at_line_ends() -> None:
    text = "".join(f"line {i} of a long function\n" for i in range(400))
    assert (WINDOW, OVERLAP) == (4 * 512, 4 * 512 // 10)
    pieces = cut_windows(text)
    assert all(len(piece) <= WINDOW and piece.endswith("\n") and piece.startswith("line") for piece in pieces)
    for piece, following in pairwise(pieces):
        assert OVERLAP // 2 < max(n for n in range(OVERLAP + 1) if piece.endswith(following[:n])) <= OVERLAP


def test_no_unit_has_more_windows_than_the_store_can_number() -> None:
    assert MAX_WINDOWS == PIECES and len(cut_windows("x" * 1_000_000)) == MAX_WINDOWS


@pytest.mark.slow
def test_a_megabyte_of_headings_takes_linear_time() -> None:
    source = "# A\n\ntext\n\n" * 90_000
    text = TextMap(DecodedText(source, "utf-8", 1.0, 0))
    assert len(extract(text, "a.md", "markdown").units) == 90_000
