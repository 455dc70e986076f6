"""Text that no symbol covers → chunks: code between symbols, sections under headings, pieces of plain text.

A code chunk may reach over small symbols (an import, a constant, another import): its own text then leaves them out. A
comment that already is the doc of the symbol under it is no chunk. Sections do not nest; their container is the path of
headings above, joined by dots as all containers are.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from codelens.indexing.cutting import CHUNK_SIZE, cut
from codelens.indexing.headings import Heading, find_headings
from codelens.model import Span, Unit
from codelens.text.lines import TextMap

SECTION_SIZE = 16 * CHUNK_SIZE
"""Bytes. A longer section is cut, each piece under the same heading: a megabyte of change log is no unit of ranking."""
SMALL_SYMBOLS = 512
"""Bytes of symbols that a code chunk may reach over: they are declarations among the statements, not the next thing."""

_WORD = re.compile(r"\w")
_WORDS = re.compile(r"\w+")
_BLANKS = b" \t\n\r\f\v"

Gap = tuple[int, int]


def chunk_text(text: TextMap, file_name: str, language: str, style: str, units: Sequence[Unit]) -> list[Unit]:
    """Chunks for all words outside the top-level `units` of a text; offsets count UTF-8 bytes.

    `style` is the `chunks` of the language's row: code, headings or lines.
    """
    utf8, outer = text.utf8, [u for u in units if u.parent is None]
    if style == "headings" and not outer:
        return list(_sections(text, file_name, language))
    gaps = _gaps(utf8, outer)
    if style == "code":
        return [_chunk("toplevel", file_name, gap, text) for gap in _joined(utf8, gaps)]
    pieces = (piece for gap in gaps for piece in cut(utf8, *gap))
    return [_chunk("text", file_name, piece, text) for piece in _worded(utf8, pieces)]


def _gaps(utf8: bytes, outer: Sequence[Unit]) -> list[Gap]:
    """What lies between the units, without comments that are a unit's doc, where it holds a word."""
    gaps: list[Gap] = []
    start = 0
    for unit in outer:
        if unit.span.start > start:
            gaps.append((start, _before_doc(utf8, start, unit)))
        start = max(start, unit.span.end)
    gaps.append((start, len(utf8)))
    return list(_worded(utf8, gaps))


def _worded(utf8: bytes, gaps: Iterable[Gap]) -> Iterator[Gap]:
    """Gaps without blanks around them; those without a word character are left out."""
    for start, end in gaps:
        text = utf8[start:end]
        left = start + len(text) - len(text.lstrip(_BLANKS))
        right = end - (len(text) - len(text.rstrip(_BLANKS)))
        if right > left and _WORD.search(text.decode("utf-8", "replace")):
            yield left, right


def _before_doc(utf8: bytes, start: int, unit: Unit) -> int:
    """Where the lines begin that touch the unit from above and say nothing but its doc and its decorators."""
    place = unit.span.start
    if not unit.doc and not unit.decorators:
        return place
    known = set(_WORDS.findall(unit.doc)).union(*(_WORDS.findall(d) for d in unit.decorators))
    line_end = place
    while line_end > start:
        line_start = max(utf8.rfind(b"\n", start, line_end - 1) + 1, start)
        line = utf8[line_start:line_end]
        if not line.strip() and line_end != unit.span.start:
            break  # a blank line parts a comment from what is under it
        if not known.issuperset(_WORDS.findall(line.decode("utf-8", "replace"))):
            break
        place = line_end = line_start
    return place


def _joined(utf8: bytes, gaps: Iterable[Gap]) -> Iterator[Gap]:
    """Neighbouring gaps with only small symbols between them become one, up to CHUNK_SIZE; long gaps are cut."""
    held: Gap | None = None
    for start, end in (piece for gap in gaps for piece in _worded(utf8, cut(utf8, *gap))):
        if held and start - held[1] <= SMALL_SYMBOLS and end - held[0] <= CHUNK_SIZE:
            held = held[0], end
            continue
        if held:
            yield held
        held = start, end
    if held:
        yield held


def _sections(text: TextMap, file_name: str, language: str) -> Iterator[Unit]:
    """The text before the first heading, then a section for each heading, up to the next one."""
    utf8 = text.utf8
    headings = find_headings(utf8, language)
    ends = [*(h.start for h in headings), len(utf8)]
    for piece in _worded(utf8, cut(utf8, 0, ends[0], SECTION_SIZE)):
        yield _chunk("text", file_name, piece, text)
    above: list[Heading] = []
    for heading, end in zip(headings, ends[1:], strict=True):
        while above and above[-1].level >= heading.level:
            above.pop()
        container = ".".join(h.name for h in above)
        above.append(heading)
        for piece in _worded(utf8, cut(utf8, heading.start, end, SECTION_SIZE)):
            yield _chunk("section", heading.name, piece, text, container, heading)


def _chunk(kind: str, name: str, gap: Gap, text: TextMap, container: str = "", heading: Heading | None = None) -> Unit:
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
