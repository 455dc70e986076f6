"""References and imports, with their names interned: names repeat, and an id is a fifth of their size."""

from __future__ import annotations

from collections.abc import Sequence

import apsw

from codelens.model import DocumentId, Extraction, Import, Reference, UnitId


class References:
    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection
        self._names: dict[str, int] = {}

    def add(self, document: DocumentId, extraction: Extraction, units: Sequence[UnitId]) -> None:
        """`units` are the ids of the extraction's units, in its order."""
        self._connection.executemany(
            "INSERT OR IGNORE INTO refs VALUES (?,?,?,?,?,?,?)",
            [
                (
                    document,
                    r.start,
                    r.kind,
                    self._name_id(r.name),
                    None if r.unit is None else units[r.unit],
                    r.line,
                    r.receiver,
                )
                for r in extraction.references
            ],
        ).fetchall()
        self._connection.executemany(
            "INSERT OR IGNORE INTO imports VALUES (?,?,?,?,?,?)",
            [(document, i.start, i.line, i.module, i.name, i.alias) for i in extraction.imports],
        ).fetchall()

    def _name_id(self, name: str) -> int:
        if known := self._names.get(name):
            return known
        row = self._connection.execute("SELECT id FROM names WHERE name = ?", (name,)).fetchone()
        if row is None:
            self._connection.execute("INSERT INTO names (name) VALUES (?)", (name,)).fetchall()
            row = (self._connection.last_insert_rowid(),)
        self._names[name] = row[0]
        return int(row[0])

    def stored(self, document: DocumentId, units: Sequence[UnitId]) -> tuple[tuple[Reference, ...], tuple[Import, ...]]:
        """References and imports of a document as they were extracted; `units` are the ids of its units, in order."""
        place = {unit: i for i, unit in enumerate(units)}
        sql = (
            "SELECT f.kind, n.name, f.receiver, f.unit_id, f.start_byte, f.line FROM refs f JOIN names n ON n.id = f.name_id "
            "WHERE f.document_id = ? ORDER BY f.start_byte, f.kind"
        )
        references = tuple(
            Reference(k, n, r, place.get(u), s, line)
            for k, n, r, u, s, line in self._connection.execute(sql, (document,))
        )
        sql = (
            "SELECT module, name, alias, start_byte, line FROM imports WHERE document_id = ? ORDER BY start_byte, name"
        )
        return references, tuple(Import(*row) for row in self._connection.execute(sql, (document,)))

    def remove(self, document: DocumentId) -> None:
        self._connection.execute("DELETE FROM refs WHERE document_id = ?", (document,)).fetchall()
        self._connection.execute("DELETE FROM imports WHERE document_id = ?", (document,)).fetchall()

    def forget_unused_names(self) -> None:
        """Drop names that no reference uses any more."""
        self._connection.execute("DELETE FROM names WHERE id NOT IN (SELECT name_id FROM refs)").fetchall()
        self._names.clear()

    def count(self) -> int:
        row = self._connection.execute("SELECT count(*) FROM refs").fetchone()
        assert row is not None
        return int(row[0])
