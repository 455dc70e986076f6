"""What the tables of units, words and imports say of whole files: the facts that files are ranked by. Nothing is stored for it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import apsw

from codelens.model import TODO, DocumentId
from codelens.store.phrases import quoted

_NAMED = f"NOT u.local AND u.kind NOT IN ('toplevel', 'text', '{TODO}')"
"""Units whose name says something of a file: definitions and headings; the names of pieces are the file's own."""


class Files:
    """Questions about documents by what is in them; terms are those of the full-text index, which stems them."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection

    def in_scope(self) -> set[DocumentId]:
        """The documents that hold a unit in scope (`Units.set_scope`)."""
        sql = "SELECT DISTINCT u.document_id FROM temp.scope s CROSS JOIN units u ON u.id = s.id"
        return {DocumentId(row[0]) for row in self._connection.execute(sql)}

    def on_path(self, term: str, column: str) -> set[DocumentId]:
        """Documents with the term in the file's name and folder (`concepts`) or in the folders above (`path`)."""
        sql = "SELECT DISTINCT u.document_id FROM unit_terms t CROSS JOIN units u ON u.id = t.rowid WHERE unit_terms MATCH ?"
        return {DocumentId(row[0]) for row in self._connection.execute(sql, (f"{{{column}}} : {quoted(term)}",))}

    def naming(self, term: str) -> dict[DocumentId, int]:
        """Document → how many of its definitions and headings have the term in their name."""
        sql = (
            "SELECT u.document_id, count(*) FROM unit_terms t CROSS JOIN units u ON u.id = t.rowid "
            f"WHERE unit_terms MATCH ? AND {_NAMED} GROUP BY 1"
        )
        rows: list[Any] = self._connection.execute(sql, (f"{{name}} : {quoted(term)}",)).fetchall()
        return dict(rows)

    def importing(self, term: str) -> list[tuple[DocumentId, str]]:
        """(document, module and name) of imports that hold the term somewhere, in any case; whether as a word is to be seen."""
        sql = (
            "SELECT document_id, module || ' ' || name FROM imports "
            "WHERE instr(lower(module), ?1) OR instr(lower(name), ?1)"
        )
        rows: list[Any] = self._connection.execute(sql, (term,)).fetchall()
        return rows

    def named_units(self, documents: Iterable[DocumentId]) -> dict[DocumentId, int]:
        """Document → how many definitions and headings it has; those without any are left out."""
        sql = (
            "SELECT u.document_id, count(*) FROM json_each(?) d CROSS JOIN units u ON u.document_id = d.value "
            f"WHERE {_NAMED} GROUP BY 1"
        )
        rows: list[Any] = self._connection.execute(sql, (json.dumps(sorted(documents)),)).fetchall()
        return dict(rows)

    def totals(self) -> tuple[int, int]:
        """(documents, definitions and headings) of the whole index."""
        sql = f"SELECT (SELECT count(*) FROM documents), (SELECT count(*) FROM units u WHERE {_NAMED})"
        row = self._connection.execute(sql).fetchone()
        assert row is not None
        return int(row[0]), int(row[1])

    def outline(self, document: DocumentId, most: int) -> list[tuple[str, str]]:
        """(kind, name) of the first definitions and headings that nothing else holds, in order of place."""
        sql = (
            f"SELECT u.kind, u.name FROM units u WHERE u.document_id = ? AND u.parent_id IS NULL AND {_NAMED} "
            "ORDER BY u.start_byte LIMIT ?"
        )
        rows: list[Any] = self._connection.execute(sql, (document, most)).fetchall()
        return rows

    def extent(self, document: DocumentId) -> tuple[int, int]:
        """(bytes, lines) of a document's file."""
        row = self._connection.execute("SELECT size, lines FROM documents WHERE id = ?", (document,)).fetchone()
        return (int(row[0]), int(row[1])) if row else (0, 0)
