"""The parts of large files: where they begin, and their own bytes."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

import apsw

from codelens.derived import DerivedPart, PartPlace
from codelens.model import DocumentId

PART_BASE, _SHIFT = 1 << 40, 20
"""A part's id is PART_BASE + document * 2^_SHIFT + its number: no id of a document, which rows of trigrams have too."""
DOCUMENT_OF_PART = f"(id - {PART_BASE}) >> {_SHIFT}"
"""In SQL."""


class Parts:
    """The gateway to parts."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection

    def add(self, document: DocumentId, number: int, part: DerivedPart) -> None:
        """Store the part of this number, from 0, with its trigrams."""
        identity = _id(document, number)
        self._connection.execute(
            "INSERT INTO parts VALUES (?,?,?,?,?)", (identity, *part.place, part.snapshot)
        ).fetchall()
        if part.trigram_text:
            sql = "INSERT INTO text_trigrams (rowid, text) VALUES (?, ?)"
            self._connection.execute(sql, (identity, part.trigram_text)).fetchall()

    def remove(self, document: DocumentId) -> None:
        """Take all parts of a document out, with their trigrams."""
        ids = [(_id(document, number),) for number in range(len(self.places(document)))]
        self._connection.executemany("DELETE FROM text_trigrams WHERE rowid = ?", ids).fetchall()
        self._connection.executemany("DELETE FROM parts WHERE id = ?", ids).fetchall()

    def places(self, document: DocumentId) -> list[PartPlace]:
        """Where the parts of a document begin, in order; none for one that is stored whole."""
        sql = "SELECT start_byte, line, before FROM parts WHERE id >= ? AND id < ? ORDER BY id"
        rows = self._connection.execute(sql, (_id(document, 0), _id(document, 1 << _SHIFT)))
        return [PartPlace(start, line, before) for start, line, before in rows]

    def bytes_of(self, document: DocumentId, number: int) -> bytes:
        """A part's own bytes, still compressed."""
        row = self._connection.execute("SELECT bytes FROM parts WHERE id = ?", (_id(document, number),)).fetchone()
        assert row is not None
        return bytes(row[0])

    def documents(self) -> set[DocumentId]:
        """The documents that are stored in parts."""
        sql = f"SELECT DISTINCT {DOCUMENT_OF_PART} FROM parts"
        return {DocumentId(row[0]) for row in self._connection.execute(sql)}


def by_document(rows: Iterable[int]) -> Mapping[DocumentId, Collection[int]]:
    """Rows of trigrams → document → the numbers of its parts; none of one that is stored whole."""
    found: dict[DocumentId, set[int]] = {}
    for row in rows:
        if row < PART_BASE:
            found.setdefault(DocumentId(row), set())
        else:
            document, number = divmod(row - PART_BASE, 1 << _SHIFT)
            found.setdefault(DocumentId(document), set()).add(number)
    return found


def _id(document: DocumentId, number: int) -> int:
    return PART_BASE + (document << _SHIFT) + number
