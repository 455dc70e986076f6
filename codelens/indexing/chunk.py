"""Cuts the text outside symbols into chunks: code, sections under headings, pieces of plain text; and long texts into windows
to embed.

A code chunk may span small declarations, whose text is left out of it. The doc comment of a symbol and words like `export`
before it belong to the symbol. Sections do not nest: their container is the path of the headings above."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence

from codelens.indexing.markup import Heading, find_headings
from codelens.model.code import Span
from codelens.model.extraction import Unit
from codelens.text.lines import TextMap
from codelens.text.terms import tokens

CHUNK_SIZE = 2048  # Maximum bytes of a chunk: about 512 tokens of 4 characters
WINDOW, OVERLAP = 2048, 204  # Characters: 512 tokens, and 10 % of them
MAX_WINDOWS = 64  # The store numbers a unit's vectors from unit × 64; only words find text after the last window

_SEAM = re.compile(rb"\n([ \t]*)(?=[^\s)\]}>])")  # The start of a line that holds not only a closing bracket


def cut_text(utf8: bytes, start: int, end: int, size: int = CHUNK_SIZE) -> list[tuple[int, int]]:
    """Cut [start, end) into pieces of at most `size` bytes, each at the best seam in its second half.

    The best seam is the least indented line start, after a blank line if possible, the last of equals: a top-level key
    of YAML, TOML, INI and JSON, a paragraph, a statement. An endless line is cut after a blank or between characters.
    """

    def rate_seam(seam: re.Match[bytes]) -> tuple[int, bool, int]:
        place = seam.start()
        blank_before = utf8[place - 1] in b"\n" or utf8[max(place - 2, 0) : place] == b"\n\r"
        return seam.end() - seam.start(1), not blank_before, -place

    pieces: list[tuple[int, int]] = []
    while end - start > size:
        limit = start + size
        if seam := min(map(rate_seam, _SEAM.finditer(utf8, start + size // 2, limit)), default=None):
            middle = 1 - seam[2]
        else:
            middle = max(utf8.rfind(b"\n", start + 1, limit), utf8.rfind(b" ", limit - size // 4, limit)) + 1
        if middle <= start:
            middle = limit
            while middle > start + 1 and utf8[middle] & 0xC0 == 0x80:  # inside a character
                middle -= 1
        pieces.append((start, middle))
        start = middle
    return [*pieces, (start, end)] if end > start else pieces


def cut_windows(text: str) -> list[str]:
    """Cut a text into at most MAX_WINDOWS pieces of up to WINDOW characters, at line ends where one is near. Each piece begins
    OVERLAP characters before the end of the last."""
    pieces: list[str] = []
    start = 0
    while len(text) - start > WINDOW and len(pieces) < MAX_WINDOWS - 1:
        end = text.rfind("\n", start + WINDOW - WINDOW // 4, start + WINDOW) + 1 or start + WINDOW
        pieces.append(text[start:end])
        start = text.find("\n", end - OVERLAP, end - 1) + 1 or end - OVERLAP
    return [*pieces, text[start : start + WINDOW]]


SECTION_SIZE = 16 * CHUNK_SIZE  # Bytes. A longer section is cut: a megabyte of change log is too large to rank
REACHED_OVER = frozenset({"constant", "variable", "type", "macro"})
MOST_REACHED_OVER = 512  # Bytes of symbols of these kinds that a code chunk may span at once

MOST_ON_LINE = 3  # Words before or after a symbol on its line that belong to it: export, static, the name of a type

_WORD = re.compile(r"\w")
BLANKS = b" \t\n\r\f\v"

Gap = tuple[int, int]


def chunk_text(text: TextMap, file_name: str, language: str, style: str, units: Sequence[Unit]) -> list[Unit]:
    """Build the chunks of the text outside the top-level `units`. `style` is the language's way to chunk: code, headings or
    lines."""
    utf8, outer = text.utf8, [u for u in units if u.parent is None]
    if style == "headings" and not outer:
        return list(build_sections(text, file_name, language, []))
    gaps, start = list[Gap](), 0
    for unit in outer:
        if unit.span.start > start:
            gaps.append((start, max(_extend_up(utf8, start, unit), start)))
        if unit.span.end > start:
            line_end = utf8.find(b"\n", unit.span.end)
            line_end = len(utf8) if line_end < 0 else line_end
            start = line_end if len(_find_words(utf8[unit.span.end : line_end])) <= MOST_ON_LINE else unit.span.end
    gaps = list(strip_gaps(utf8, [*gaps, (start, len(utf8))]))
    if style == "code":
        return [build_chunk("toplevel", file_name, gap, text) for gap in _join_gaps(utf8, gaps, outer)]
    pieces = (piece for gap in gaps for piece in cut_text(utf8, *gap))
    return [build_chunk("text", file_name, piece, text) for piece in strip_gaps(utf8, pieces)]


def strip_gaps(utf8: bytes, gaps: Iterable[Gap]) -> Iterator[Gap]:
    """Strip the blanks around each gap; drop gaps without a word character."""
    for start, end in gaps:
        text = utf8[start:end]
        left = start + len(text) - len(text.lstrip(BLANKS))
        right = end - (len(text) - len(text.rstrip(BLANKS)))
        if right > left and _WORD.search(text.decode("utf-8", "replace")):
            yield left, right


def _extend_up(utf8: bytes, start: int, unit: Unit) -> int:
    """Find the start of a unit, with the few words before it on its line, its doc comment and its decorators."""
    place = utf8.rfind(b"\n", start, unit.span.start) + 1 or start
    if len(_find_words(utf8[place : unit.span.start])) > MOST_ON_LINE:
        return unit.span.start
    known = set(_find_words(" ".join((unit.doc, *unit.decorators)).encode()))
    while known and place > start:
        above = max(utf8.rfind(b"\n", start, place - 1) + 1, start)
        line = utf8[above:place]
        if not line.strip() or not known.issuperset(_find_words(line)):
            break  # a blank line separates a comment from the code below
        place = above
    return place


def _find_words(utf8: bytes) -> list[str]:
    return tokens(utf8.decode("utf-8", "replace"))


def _join_gaps(utf8: bytes, gaps: Iterable[Gap], outer: Sequence[Unit]) -> list[Gap]:
    """Join gaps that are separated only by small symbols, up to CHUNK_SIZE, and cut long gaps."""
    walls = [u.span.start for u in outer if u.kind not in REACHED_OVER]
    joined: list[Gap] = []
    for start, end in (piece for gap in gaps for piece in strip_gaps(utf8, cut_text(utf8, *gap))):
        first, last = joined[-1] if joined else (start, start)
        is_near = start - last <= MOST_REACHED_OVER and end - first <= CHUNK_SIZE
        if joined and is_near and bisect_left(walls, last) == bisect_left(walls, start):
            joined[-1] = first, end
        else:
            joined.append((start, end))
    return joined


def build_sections(text: TextMap, file_name: str, language: str, above: list[Heading]) -> Iterator[Unit]:
    """Yield a chunk for the text before the first heading, then one for each heading's section. `above` holds the headings
    around the start of the text, and is changed to those around its end."""
    utf8 = text.utf8
    headings = find_headings(utf8, language)
    ends = [*(h.start for h in headings), len(utf8)]
    before = above[-1].name if above else ""
    for piece in strip_gaps(utf8, cut_text(utf8, 0, ends[0], SECTION_SIZE)):
        if before:
            yield build_chunk("section", before, piece, text, ".".join(h.name for h in above[:-1]))
        else:
            yield build_chunk("text", file_name, piece, text)
    for heading, end in zip(headings, ends[1:], strict=True):
        while above and above[-1].level >= heading.level:
            above.pop()
        container = ".".join(h.name for h in above)
        above.append(heading)
        for piece in strip_gaps(utf8, cut_text(utf8, heading.start, end, SECTION_SIZE)):
            yield build_chunk("section", heading.name, piece, text, container, heading)


def build_chunk(
    kind: str, name: str, gap: Gap, text: TextMap, container: str = "", heading: Heading | None = None
) -> Unit:
    """Build the unit for a piece of text."""
    start, end = gap
    here = heading if heading and start <= heading.name_start and heading.name_end <= end else None
    place = Span(here.name_start, here.name_end) if here else Span(start, start)
    name_line, name_column = text.find_line_column(place.start)
    return Unit(
        kind=kind,
        name=name,
        container=container,
        parent=None,
        span=Span(start, end),
        name_span=place,
        body_start=min(here.end, end) if here else start,
        start_line=text.find_line_column(start)[0],
        end_line=text.find_line_column(end - 1)[0],
        name_line=name_line,
        name_column=name_column,
        signature="",
        doc="",
    )
