"""The indexed text of documents: always from the snapshot, never from the disk, so that spans and text belong together."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import field

from codelens.errors import IndexCorrupt
from codelens.model import DocumentId, Span
from codelens.nouns import dataclass
from codelens.store.compressed import decompress
from codelens.store.documents import DocumentRow
from codelens.store.store import Store
from codelens.text.notebook import NOTEBOOK, as_written, shown_line
from codelens.worktree.freshness import content_hash

MAX_LINE = 400
"""Characters of a line that are shown."""


@dataclass(frozen=True, slots=True)
class DocumentText:
    """A document's bytes as they were indexed, with its lines."""

    raw: bytes
    encoding: str
    bom: int
    language: str = ""

    def slice(self, span: Span) -> str:
        """The text of a byte range as its author wrote it: of a notebook without the JSON around it. Else as `stored`."""
        text = self.stored(span)
        return as_written(text) if self.language == NOTEBOOK else text

    def stored(self, span: Span) -> str:
        """The text of a byte range, without the byte order mark; broken characters as U+FFFD."""
        return self.raw[max(span.start, self.bom) : span.end].decode(self.encoding, "replace")

    @property
    def text(self) -> str:
        """All of it, without the byte order mark; decoded anew at each call."""
        return self.raw[self.bom :].decode(self.encoding, "replace")

    def line_start(self, place: int) -> int:
        """The byte at which the line of a byte begins."""
        line = self.stored(Span(0, place)).rpartition("\n")[2]
        return max(place, self.bom) - len(line.encode(self.encoding, "replace"))

    def line_end(self, place: int) -> int:
        """The byte at which the line of a byte ends, before its line break."""
        line = self.stored(Span(place, len(self.raw))).partition("\n")[0]
        return max(place, self.bom) + len(line.encode(self.encoding, "replace"))


@dataclass(slots=True)
class Texts:
    """Reads each document at most once in a search."""

    store: Store
    _documents: dict[DocumentId, DocumentText] = field(default_factory=dict)
    _lines: dict[DocumentId, list[str]] = field(default_factory=dict)

    def of(self, document: DocumentRow) -> DocumentText:
        """The document's text; it stays in memory until `forget`."""
        known = self._documents.get(document.id)
        if known is None:
            raw = stored_bytes(self.store, document)
            known = DocumentText(raw, document.encoding, document.bom, document.language)
            self._documents[document.id] = known
        return known

    def lines(self, document: DocumentRow) -> list[str]:
        """The text's lines without their ends, as a person sees them (`shown_line`); line n is at n - 1."""
        known = self._lines.get(document.id)
        if known is None:
            lines = self.of(document).text.removesuffix("\n").split("\n")  # behind the last line end there is no line
            known = [line.removesuffix("\r") for line in lines]
            known = self._lines[document.id] = list(map(shown_line, known)) if document.language == NOTEBOOK else known
        return known

    def forget(self, document: DocumentRow) -> None:
        """Free the memory of a document that is not needed again."""
        self._documents.pop(document.id, None)
        self._lines.pop(document.id, None)


def stored_bytes(store: Store, document: DocumentRow) -> bytes:
    """The file's own bytes as they were indexed. Raises IndexCorrupt where they are not what was hashed then."""
    raw = decompress(store.documents.snapshot(document.id))
    if content_hash(raw) != document.content_hash:
        raise IndexCorrupt(f"{store.path} is damaged: the text of {document.path} is not what was indexed")
    return raw


def line_starts(text: str) -> list[int]:
    """Offsets at which lines begin."""
    starts = [0]
    position = text.find("\n")
    while position >= 0:
        starts.append(position + 1)
        position = text.find("\n", position + 1)
    return starts


def line_at(starts: list[int], offset: int) -> int:
    """The line, from 1, that holds a character offset."""
    return bisect_right(starts, offset)
