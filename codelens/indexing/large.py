"""A large file → what the index keeps of it, part by part, so that it costs memory for a few parts only.

A part ends where a chunk ends, so chunks are the same wherever parts end. No grammar reads a large file, which would need
all of it at once, nor is anything linked from it: it is found by its words, substrings and vectors.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import BinaryIO, NamedTuple

import xxhash

from codelens.config import Settings
from codelens.derived import (
    DecodedText,
    DerivedDocument,
    DerivedPart,
    Extraction,
    PackedReferences,
    PartPlace,
    Unchanged,
    UnfinishedFile,
    Unit,
)
from codelens.embed.base import Embedder
from codelens.indexing.chunk import BLANKS, chunk, section_units, worded
from codelens.indexing.cutting import cut
from codelens.indexing.derive import compressor, current_recipe, postings_of
from codelens.indexing.embedding import embed
from codelens.indexing.extract import own_texts, units_mapped
from codelens.indexing.headings import Heading, find_headings
from codelens.indexing.reading import let_clock_tick, open_regular
from codelens.lang.readers import READERS
from codelens.lang.registry import Language, detect_language, languages
from codelens.model import SeenFile, Skip, SkipReason
from codelens.text.lines import TextMap
from codelens.text.trigrams import distinct_lines
from codelens.worktree.roles import path_roles
from codelens.worktree.survey import Survey, decoded_blocks, survey

PART_SIZE = 1_000_000
"""Characters of a part, and up to a chunk or a section more. A part of source code takes some 25 MB while it is derived. Chosen."""
LARGE_SIZE = 4_000_000
"""Bytes from which a text is read in parts; twice the `max_file_size` that holds by default. Chosen."""
MOST_HELD = 100_000
"""Bytes behind the begin of a chunk in which its end is looked for: many times a chunk, so that endless blanks end it. Chosen."""
MOST_PARSED = 10_000_000
"""Bytes up to which a file is given to its grammar whole: SQLite in one file has 9 MB. C takes 45 MB of memory a MB (measured)."""
MOST_NOTEBOOK = 32_000_000
"""Bytes. A notebook is one value of JSON, which is read whole. Chosen."""
LEVELLED = frozenset({"rst", "restructuredtext"})
"""Languages whose headings have a level only by those before them: of a large file they are not told apart."""


def derive_large(
    root: Path,
    seen: SeenFile,
    known_hash: bytes | None,
    grammar_fault: str,
    settings: Settings,
    embedder: Embedder | None,
) -> DerivedDocument | Skip | Unchanged | None:
    """A large file; None for one that can be read whole, as its size and language allow. Raises OSError."""
    if (judged := judge_large(root, seen, settings, grammar_fault)) is None or isinstance(judged, Skip):
        return judged
    found, row = judged.survey, judged.language
    language, reads_more = row.name, _reads_more(row)
    if found.content_hash == known_hash:
        return Unchanged(seen, found.content_hash)
    fault = grammar_fault or (f"over {MOST_PARSED // 1_000_000} MB: only its text is indexed" if reads_more else "")
    reader = _PartReader(root, seen, found, row, settings, embedder)
    return DerivedDocument(
        seen=seen,
        content_hash=found.content_hash,
        digest=found.digest,
        language=language,
        encoding=found.encoding,
        confidence=found.confidence,
        bom=found.bom,
        lines=found.lines,
        recipe=current_recipe(language, settings),
        extraction=Extraction("", (), (), (), fault),
        references=PackedReferences(b"", ""),
        postings=(),
        vectors=(),
        embedder=embedder.fingerprint() if embedder else "",
        trigram_text="",
        snapshot=b"",
        roles=path_roles(seen.path),
        parts=reader.parts(),
    )


class Judged(NamedTuple):
    """A large file that is to be indexed in parts."""

    language: Language
    survey: Survey


def judge_large(root: Path, seen: SeenFile, settings: Settings, grammar_fault: str = "") -> Judged | Skip | None:
    """What a large file is, or why it is left out; None for one that can be read whole. Raises OSError."""
    if seen.stamp.size <= LARGE_SIZE:
        return None
    let_clock_tick(seen.stamp.mtime_ns)
    with open_regular(root / seen.os_path) as file:
        language = detect_language(seen.path, file.read(200))
        row = languages().get(language) or Language(language, chunks="lines")
        if row.chunks == "cells":
            return _notebook(seen)
        if _reads_more(row) and not grammar_fault and seen.stamp.size <= MOST_PARSED:
            return None
        found = survey(seen.path, file, settings.encoding_threshold, settings.include_vendored)
    return Judged(row, found) if isinstance(found, Survey) else Skip(seen.path, *found, seen.stamp)


def _reads_more(row: Language) -> bool:
    """Whether more than its chunks is read from a text of this language: symbols, links, quoted code."""
    return bool(row.grammar or row.name in READERS or row.chunks == "headings")


def _notebook(seen: SeenFile) -> Skip | None:
    if seen.stamp.size <= MOST_NOTEBOOK:
        return None
    detail = f"a notebook is read whole, up to {MOST_NOTEBOOK // 1_000_000} MB"
    return Skip(seen.path, SkipReason.TOO_LARGE, detail, seen.stamp)


Piece = tuple[int, int]


@dataclass(slots=True)
class _PartReader:
    """Reads a file a second time, with all that the survey told."""

    root: Path
    seen: SeenFile
    found: Survey
    row: Language
    settings: Settings
    embedder: Embedder | None
    above: list[Heading] = field(default_factory=list)
    """The headings around the place that was reached."""
    inside: bool = False
    """Whether the text has begun: the blanks before it are of no chunk."""
    column: int = 0
    """Bytes of UTF-8 that stand on its line before it."""

    def parts(self) -> Iterator[DerivedPart]:
        """All of the file, in order. Raises UnfinishedFile."""
        try:
            with open_regular(self.root / self.seen.os_path) as file:
                yield from self._parts(file)
        except (OSError, UnicodeError) as fault:
            raise UnfinishedFile(getattr(fault, "strerror", None) or "changed while it was read") from fault

    def _parts(self, file: BinaryIO) -> Iterator[DerivedPart]:
        mark = file.read(self.found.bom)
        digest = xxhash.xxh3_128(mark)
        place, held = PartPlace(0, 1, 0), ""
        for raw, text in decoded_blocks(file, self.found.encoding, self.found.bom):
            digest.update(raw)
            held += text
            while len(held) >= PART_SIZE:
                end, pieces = self._next(held)
                if not end:
                    break
                part, place = self._part(place, held[:end], mark, pieces)
                yield part
                held, mark = held[end:], b""
        if digest.digest() != self.found.content_hash:
            raise UnicodeError("another file")
        if held or not place.start:
            yield self._part(place, held, mark, self._pieces(held.encode("utf-8")))[0]

    def _next(self, held: str) -> tuple[int, list[Piece]]:
        """How many characters of the text are the next part, and its pieces; 0 where one may go on behind all of it.

        A part with sections ends before a heading, else before a line: there, no fence is open as far as can be told.
        """
        utf8 = held.encode("utf-8")
        end, pieces = len(utf8), self._pieces(utf8)
        if self._has_headings:
            starts = [h.start for h in find_headings(utf8, self.row.name)]
            end = starts[-1] if starts and starts[-1] > end // 2 else utf8.rfind(b"\n") + 1 or end
        elif pieces and end - pieces[-1][0] <= MOST_HELD:
            end = pieces.pop()[0]
        return len(utf8[:end].decode("utf-8")), pieces

    @property
    def _has_headings(self) -> bool:
        return self.row.chunks == "headings" and self.row.name not in LEVELLED

    def _pieces(self, utf8: bytes) -> list[Piece]:
        """Chunks as `chunk_text` cuts them, only the last may be another where more text follows; none where sections are."""
        if self._has_headings:
            return []
        start = 0 if self.inside else len(utf8) - len(utf8.lstrip(BLANKS))
        return cut(utf8, start, len(utf8.rstrip(BLANKS)))

    def _units(self, text: TextMap, pieces: Sequence[Piece]) -> list[Unit]:
        name = self.seen.path.rpartition("/")[2]
        if self._has_headings:
            return list(section_units(text, name, self.row.name, self.above))
        kind = "toplevel" if self.row.chunks == "code" else "text"
        return [chunk(kind, name, gap, text) for gap in worded(text.utf8, pieces)]

    def _part(self, place: PartPlace, own: str, mark: bytes, pieces: Sequence[Piece]) -> tuple[DerivedPart, PartPlace]:
        """The part with this text, which begins at a place, and where the next one begins."""
        path, raw = self.seen.path, own.encode(self.found.encoding)
        text = TextMap(DecodedText(own, self.found.encoding, self.found.confidence, 0))
        units = self._units(text, pieces)
        texts, first = own_texts(text, units), place.start + len(mark)
        moved = units_mapped(units, lambda offset: first + text.to_original(offset))
        part = DerivedPart(
            place=place,
            units=tuple([_shifted(unit, place.line - 1, self.column) for unit in moved]),
            postings=postings_of(path, units, texts),
            vectors=embed(path, self.row.name, units, texts, self.embedder),
            trigram_text=distinct_lines(own) if self.settings.fuzzy else "",
            snapshot=compressor().compress(mark + raw),
        )
        self.inside = self.inside or bool(text.utf8.strip(BLANKS))
        line = own.rfind("\n") + 1
        self.column = len(own[line:].encode("utf-8")) + (0 if line else self.column)
        before = len(own) - line + (0 if line else place.before)
        return part, PartPlace(first + len(raw), place.line + own.count("\n"), before)


def _shifted(unit: Unit, lines: int, column: int) -> Unit:
    """`column`: bytes that stand before the part on its first line."""
    return replace(
        unit,
        start_line=unit.start_line + lines,
        end_line=unit.end_line + lines,
        name_line=unit.name_line + lines,
        name_column=unit.name_column + (column if unit.name_line == 1 else 0),
    )
