"""Read the indexed text of documents. It comes from the snapshot, never from the disk, so that spans match the text."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from typing import overload

from codelens.errors import IndexCorrupt
from codelens.model.code import DocumentId, Span
from codelens.model.extraction import PartPlace
from codelens.model.fast_dataclass import dataclass, field
from codelens.store.codec import decompress
from codelens.store.documents import DocumentRow
from codelens.store.store import Store
from codelens.text.notebook import NOTEBOOK, decode_source, format_line
from codelens.worktree.files import hash_content

MAX_LINE = 400  # Limit on characters of a line that are shown
PARTS_HELD = 3  # Limit on parts of a large document in memory; a unit is in one part, a line may span several
LONGEST_LINE = 100_000  # Limit on characters that are read from a line that spans several parts


class DocumentText:
    """A document's bytes as they were indexed, and its lines. Only a few parts of a large document are kept in memory."""

    __slots__ = ("_held", "_load", "_starts", "bom", "encoding", "language", "places")

    def __init__(self, document: DocumentRow, places: Sequence[PartPlace], load: Callable[[int], bytes]) -> None:
        """`places` are the positions at which parts begin. `load` returns the bytes of a part by its number."""
        self.encoding, self.bom, self.language = document.encoding, document.bom, document.language
        self.places, self._load = places, load
        self._starts = [place.start for place in places]
        self._held: dict[int, bytes] = {}

    @property
    def size(self) -> int:
        """The size of the file in bytes."""
        last = len(self.places) - 1
        return self.places[last].start + len(self.read_part(last))

    def read_part(self, number: int) -> bytes:
        """Read the bytes of a part; the last few parts are cached."""
        if number not in self._held:
            if len(self._held) == PARTS_HELD:
                self._held.pop(next(iter(self._held)))
            self._held[number] = self._load(number)
        return self._held[number]

    def find_part(self, place: int) -> int:
        """Find the number of the part that contains a byte."""
        return bisect_right(self._starts, place) - 1

    def find_part_span(self, number: int) -> Span:
        """Find the byte range of a part in the file."""
        start = self.places[number].start
        return Span(start, start + len(self.read_part(number)))

    def split_span(self, span: Span) -> Iterator[Span]:
        """Split a byte range where parts end; an empty range is one piece."""
        last = self.find_part(max(span.start, span.end - 1))
        for number in range(self.find_part(span.start), last + 1):
            end = span.end if number == last else self.places[number + 1].start
            yield Span(max(span.start, self.places[number].start), end)

    def read_bytes(self, span: Span) -> bytes:
        """Read the bytes of a range, without the byte order mark."""
        start = max(span.start, self.bom)
        number = self.find_part(start)
        starts = self._starts
        if number == len(starts) - 1 or span.end <= starts[number + 1]:
            return self.read_part(number)[start - starts[number] : max(span.end - starts[number], 0)]
        pieces = enumerate(self.split_span(Span(start, max(start, span.end))), start=number)
        return b"".join(self.read_part(n)[piece.start - starts[n] : piece.end - starts[n]] for n, piece in pieces)

    def read_span(self, span: Span) -> str:
        """Read the text of a byte range as its author wrote it: like `decode_span`, but for a notebook without JSON."""
        text = self.decode_span(span)
        return decode_source(text) if self.language == NOTEBOOK else text

    def decode_span(self, span: Span) -> str:
        """Decode the text of a byte range, without the byte order mark; invalid characters become U+FFFD."""
        return self.read_bytes(span).decode(self.encoding, "replace")

    @property
    def text(self) -> str:
        """The whole text, without the byte order mark; decoded at each access."""
        return self.decode_span(Span(0, self.size))

    def read_parts(self) -> Iterator[bytes]:
        """Read the file's bytes, part by part."""
        return map(self.read_part, range(len(self.places)))

    def find_line_and_indent(self, place: int) -> tuple[int, int]:
        """Find the line of a byte, from 1, and the number of characters before it on that line."""
        part = self.places[self.find_part(place)]
        before = self.decode_span(Span(part.start, place))
        newline = before.rfind("\n") + 1
        return part.line + before.count("\n"), len(before) - newline + (0 if newline else part.before)

    def find_line_start(self, place: int) -> int:
        """Find the offset at which the line of a byte begins."""
        newline = "\n".encode(self.encoding)
        for number in range(self.find_part(place), -1, -1):
            start, raw = self.places[number].start, self.read_part(number)
            at = raw.rfind(newline, 0, max(place - start, 0))
            while at >= 0 and at % len(newline):  # in UTF-16 these bytes also occur across two characters
                at = raw.rfind(newline, 0, at + len(newline) - 1)
            if at >= 0:
                return start + at + len(newline)
            place = start
        return self.bom

    def find_line_end(self, place: int) -> int:
        """Find the offset at which the line of a byte ends, before its line break."""
        newline = "\n".encode(self.encoding)
        for number in range(self.find_part(place), len(self.places)):
            start, raw = self.places[number].start, self.read_part(number)
            at = raw.find(newline, max(place - start, 0))
            while at >= 0 and at % len(newline):
                at = raw.find(newline, at + 1)
            if at >= 0:
                return start + at
        return self.size


class PartLines(Sequence[str]):
    """The lines of a large document, read part by part. Lines that span parts are cut to LONGEST_LINE characters."""

    def __init__(self, text: DocumentText) -> None:
        self._text = text
        self._number, self._lines = -1, list[str]()
        self._keys = [(place.line, place.before) for place in text.places]

    def __len__(self) -> int:
        last = len(self._keys) - 1
        return self._keys[last][0] - 1 + len(self._read_part_lines(last))

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[str]: ...
    def __getitem__(self, index: int | slice) -> str | Sequence[str]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        index += len(self) if index < 0 else 0
        number = bisect_right(self._keys, (index + 1, 0)) - 1  # the part in which this line begins
        lines, first = self._read_part_lines(number), self._keys[number][0] - 1
        if not 0 <= index - first < len(lines):
            raise IndexError("no such line")
        line = lines[index - first]
        number += 1
        while number < len(self._keys) and self._keys[number][0] == index + 1 and len(line) < LONGEST_LINE:
            line += self._read_part_lines(number)[0][:LONGEST_LINE]
            number += 1
        return line.removesuffix("\r")

    def _read_part_lines(self, number: int) -> list[str]:
        """Read the lines of a part; the last one may continue in the next part."""
        if number != self._number:
            text = self._text.decode_span(self._text.find_part_span(number))
            if number == len(self._keys) - 1:
                text = text.removesuffix("\n")  # no line follows the last line end
            self._number, self._lines = number, text.split("\n")
        return self._lines


@dataclass(slots=True)
class Texts:
    """A cache of texts for one search, so that each document is read once; large ones are read part by part."""

    store: Store
    _documents: dict[DocumentId, DocumentText] = field(default_factory=dict)
    _lines: dict[DocumentId, Sequence[str]] = field(default_factory=dict)

    def __reduce__(self) -> tuple[type[Texts], tuple[None]]:
        return Texts, (None,)  # texts are not sent to another process, which reads its own

    def get_for_store(self, store: Store) -> Texts:
        """Find the cache for this store: this one, or a new one for another store."""
        return self if self.store is store else Texts(store)

    def read(self, document: DocumentRow) -> DocumentText:
        """Read a document's text, and cache it until `forget`."""
        if document.id not in self._documents:
            self._documents[document.id] = load_text(document, self.store)
        return self._documents[document.id]

    def read_lines(self, document: DocumentRow) -> Sequence[str]:
        """Read the text's lines without line ends, as they are shown (`format_line`); line n is at index n - 1."""
        known = self._lines.get(document.id)
        if known is None:
            text = self.read(document)
            if len(text.places) > 1:
                known = PartLines(text)
            else:
                known = (text.text.removesuffix("\n") + "\n").replace("\r\n", "\n")[:-1].split("\n")
                known = list(map(format_line, known)) if text.language == NOTEBOOK else known
            self._lines[document.id] = known
        return known

    def forget(self, document: DocumentRow) -> None:
        """Drop a document's cached text."""
        self._documents.pop(document.id, None)
        self._lines.pop(document.id, None)


def load_text(document: DocumentRow, store: Store) -> DocumentText:
    """Read a document's indexed text. Raises IndexCorrupt if it does not match its hash; only page checksums protect parts."""
    snapshot = store.documents.read_snapshot(document.id)
    if snapshot:
        raw = decompress(snapshot)
        if hash_content(raw) != document.content_hash:
            raise IndexCorrupt(f"{store.path} is damaged: the text of {document.path} is not what was indexed")
        return DocumentText(document, (PartPlace(0, 1, 0),), lambda _: raw)
    places = store.parts.list_places(document.id)
    return DocumentText(document, places, lambda number: decompress(store.parts.read_bytes(document.id, number)))
