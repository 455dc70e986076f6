"""Text that no symbol covers → chunks: code between symbols, sections under headings, pieces of plain text.

A code chunk may reach over small declarations (an import, a constant, another import): its own text leaves them out.
What already is of the symbol below is no chunk: the comment that is its doc, words like `export` before it. Sections do
not nest; their container is the path of headings above, joined by dots as all containers are.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence

from codelens.derived import Unit
from codelens.indexing.cutting import CHUNK_SIZE, cut
from codelens.indexing.headings import Heading, find_headings
from codelens.model import Span
from codelens.text.lines import TextMap
from codelens.text.terms import tokens

SECTION_SIZE = 16 * CHUNK_SIZE
"""Bytes. A longer section is cut, each piece under the same heading: a megabyte of change log is no unit of ranking."""
REACHED_OVER = frozenset({"constant", "variable", "type", "macro"})
MOST_REACHED_OVER = 512
"""Bytes of such symbols that a code chunk may reach over at once: declarations among statements, not the next thing."""

MOST_BESIDE = 3
"""Words beside a symbol, on its first or last line, that are of how it is written: export, static, the name of a type."""

_WORD = re.compile(r"\w")
BLANKS = b" \t\n\r\f\v"

Gap = tuple[int, int]


def chunk_text(text: TextMap, file_name: str, language: str, style: str, units: Sequence[Unit]) -> list[Unit]:
    """Chunks for all words outside the top-level `units` of a text; offsets count UTF-8 bytes.

    `style` is the `chunks` of the language's row: code, headings or lines.
    """
    utf8, outer = text.utf8, [u for u in units if u.parent is None]
    if style == "headings" and not outer:
        return list(section_units(text, file_name, language, []))
    gaps = _gaps(utf8, outer)
    if style == "code":
        return [chunk("toplevel", file_name, gap, text) for gap in _joined(utf8, gaps, outer)]
    pieces = (piece for gap in gaps for piece in cut(utf8, *gap))
    return [chunk("text", file_name, piece, text) for piece in worded(utf8, pieces)]


def _gaps(utf8: bytes, outer: Sequence[Unit]) -> list[Gap]:
    """What lies between the units and holds a word, without what already is of a unit: see the module."""
    gaps: list[Gap] = []
    start = 0
    for unit in outer:
        if unit.span.start > start:
            gaps.append((start, max(_before(utf8, start, unit), start)))
        if unit.span.end > start:
            line_end = utf8.find(b"\n", unit.span.end)
            line_end = len(utf8) if line_end < 0 else line_end
            start = line_end if len(_words(utf8[unit.span.end : line_end])) <= MOST_BESIDE else unit.span.end
    gaps.append((start, len(utf8)))
    return list(worded(utf8, gaps))


def worded(utf8: bytes, gaps: Iterable[Gap]) -> Iterator[Gap]:
    """Gaps without blanks around them; those without a word character are left out."""
    for start, end in gaps:
        text = utf8[start:end]
        left = start + len(text) - len(text.lstrip(BLANKS))
        right = end - (len(text) - len(text.rstrip(BLANKS)))
        if right > left and _WORD.search(text.decode("utf-8", "replace")):
            yield left, right


def _before(utf8: bytes, start: int, unit: Unit) -> int:
    """Where the unit begins if the few words before it on its line, its doc and its decorators count as part of it."""
    place = utf8.rfind(b"\n", start, unit.span.start) + 1 or start
    if len(_words(utf8[place : unit.span.start])) > MOST_BESIDE:
        return unit.span.start
    known = set(_words(" ".join((unit.doc, *unit.decorators)).encode()))
    while known and place > start:
        above = max(utf8.rfind(b"\n", start, place - 1) + 1, start)
        line = utf8[above:place]
        if not line.strip() or not known.issuperset(_words(line)):
            break  # a blank line parts a comment from what is under it
        place = above
    return place


def _words(utf8: bytes) -> list[str]:
    return tokens(utf8.decode("utf-8", "replace"))


def _joined(utf8: bytes, gaps: Iterable[Gap], outer: Sequence[Unit]) -> Iterator[Gap]:
    """Neighbouring gaps with only small symbols between them become one, up to CHUNK_SIZE; long gaps are cut."""
    walls = [u.span.start for u in outer if u.kind not in REACHED_OVER]
    held: Gap | None = None
    for start, end in (piece for gap in gaps for piece in worded(utf8, cut(utf8, *gap))):
        near = held and start - held[1] <= MOST_REACHED_OVER and end - held[0] <= CHUNK_SIZE
        if held and near and bisect_left(walls, held[1]) == bisect_left(walls, start):
            held = held[0], end
            continue
        if held:
            yield held
        held = start, end
    if held:
        yield held


def section_units(text: TextMap, file_name: str, language: str, above: list[Heading]) -> Iterator[Unit]:
    """The text before the first heading, then a section for each heading, up to the next one.

    `above` are the headings around the text's beginning, which then is of the last of them; it becomes those around its end.
    """
    utf8 = text.utf8
    headings = find_headings(utf8, language)
    ends = [*(h.start for h in headings), len(utf8)]
    before = above[-1].name if above else ""
    for piece in worded(utf8, cut(utf8, 0, ends[0], SECTION_SIZE)):
        if before:
            yield chunk("section", before, piece, text, ".".join(h.name for h in above[:-1]))
        else:
            yield chunk("text", file_name, piece, text)
    for heading, end in zip(headings, ends[1:], strict=True):
        while above and above[-1].level >= heading.level:
            above.pop()
        container = ".".join(h.name for h in above)
        above.append(heading)
        for piece in worded(utf8, cut(utf8, heading.start, end, SECTION_SIZE)):
            yield chunk("section", heading.name, piece, text, container, heading)


def chunk(kind: str, name: str, gap: Gap, text: TextMap, container: str = "", heading: Heading | None = None) -> Unit:
    """The unit of a piece of text."""
    start, end = gap
    here = heading if heading and start <= heading.name_start and heading.name_end <= end else None
    place = Span(here.name_start, here.name_end) if here else Span(start, start)
    name_line, name_column = text.line_column(place.start)
    return Unit(
        kind=kind,
        name=name,
        container=container,
        parent=None,
        span=Span(start, end),
        name_span=place,
        body_start=min(here.end, end) if here else start,
        start_line=text.line_column(start)[0],
        end_line=text.line_column(end - 1)[0],
        name_line=name_line,
        name_column=name_column,
        signature="",
        doc="",
    )
