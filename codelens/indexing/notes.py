"""A note, task or skill → its unit, and references to the places that it is linked to.

The whole text is one unit, as one thought is one answer; a very long one is cut, each piece under the same title. What the front
matter says goes into the fields that words are found in: description into the doc, status, tags and triggers into the signature.
"""

from __future__ import annotations

from codelens.derived import Extraction, Reference, Unit
from codelens.indexing.chunk import SECTION_SIZE
from codelens.indexing.cutting import cut
from codelens.indexing.mentions import mentions
from codelens.model import Span
from codelens.notes.note import Note, read_note
from codelens.text.lines import TextMap

NOT_READ = "front matter"
"""How the fault of a note begins whose fields are not all understood."""


def extract_note(text: TextMap, path: str) -> Extraction:
    """Units and references of one file that `kind_of_path` knows; offsets count UTF-8 bytes."""
    whole = text.utf8.decode("utf-8", "replace")
    note = read_note(whole, path)
    body = len(whole[: note.body].encode("utf-8"))
    pieces = cut(text.utf8, 0, len(text.utf8), SECTION_SIZE)
    units = tuple(_unit(note, text, start, end, min(max(body, start), end)) for start, end in pieces)
    said = mentions(text, "markdown", units)
    places = tuple(
        Reference("place", link.path, link.symbol, 0, _line_start(text, note.links_line), note.links_line)
        for link in note.links
    )
    fault = f"{NOT_READ}: {'; '.join(note.faults)}" if note.faults else ""
    outside = [reference for reference in said if reference.start >= body]
    return Extraction("", units, (*(places if units else ()), *outside), (), fault)


def _unit(note: Note, text: TextMap, start: int, end: int, body: int) -> Unit:
    first = start == 0
    signature = " ".join((note.status, *(f"#{tag}" for tag in note.tags), *note.triggers))
    return Unit(
        kind=note.kind,
        name=note.title,
        container="",
        parent=None,
        span=Span(start, end),
        name_span=Span(start, start),
        body_start=body,
        start_line=text.line_column(start)[0],
        end_line=text.line_column(end - 1)[0],
        name_line=text.line_column(body if body < end else start)[0] if first else text.line_column(start)[0],
        name_column=1,
        signature=signature if first else "",
        doc=note.description if first else "",
    )


def _line_start(text: TextMap, line: int) -> int:
    """The byte at which a line of the front matter begins."""
    place = 0
    for _ in range(line - 1):
        place = text.utf8.find(b"\n", place) + 1
    return place
