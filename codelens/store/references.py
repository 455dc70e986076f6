"""References and imports of documents, and the index that finds the documents that use a name."""

from __future__ import annotations

import re

import apsw

from codelens.derived import Binding, Extraction, Import, PackedReferences, Reference
from codelens.model import DocumentId
from codelens.store.packing import unpack_bindings, unpack_references
from codelens.store.phrases import quoted

_WORDS = re.compile(r"[\w$]+")


class References:
    """The gateway to uses of names and to imports."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection

    def add(self, document: DocumentId, extraction: Extraction, packed: PackedReferences) -> None:
        """Store a document's packed references and its imports; an import that stands twice at one place, once."""
        if packed.columns or packed.bindings:
            values = (document, packed.columns, packed.bindings)
            self._connection.execute("INSERT INTO refs VALUES (?, ?, ?)", values).fetchall()
        if packed.columns:
            self._connection.execute(
                "INSERT INTO ref_names (rowid, names) VALUES (?, ?)", (document, packed.names)
            ).fetchall()
        if extraction.imports:
            self._connection.executemany(
                "INSERT OR IGNORE INTO imports VALUES (?,?,?,?,?,?)",
                [(document, i.start, i.line, i.module, i.name, i.alias) for i in extraction.imports],
            ).fetchall()

    def remove(self, document: DocumentId) -> None:
        """Take a document out, and out of the index of names."""
        self._connection.execute("DELETE FROM ref_names WHERE rowid = ?", (document,)).fetchall()
        self._connection.execute("DELETE FROM refs WHERE document_id = ?", (document,)).fetchall()
        self._connection.execute("DELETE FROM imports WHERE document_id = ?", (document,)).fetchall()

    def of_document(self, document: DocumentId) -> tuple[Reference, ...]:
        """In order of place; `unit` is a position in the document's list of units."""
        row = self._connection.execute("SELECT columns FROM refs WHERE document_id = ?", (document,)).fetchone()
        return unpack_references(row[0]) if row else ()

    def any_in(self, document: DocumentId) -> bool:
        """Whether a document holds references, bindings or imports."""
        sql = "SELECT EXISTS (SELECT 1 FROM refs WHERE document_id = ?1) OR EXISTS (SELECT 1 FROM imports WHERE document_id = ?1)"
        row = self._connection.execute(sql, (document,)).fetchone()
        return bool(row and row[0])

    def bindings_of(self, document: DocumentId) -> tuple[Binding, ...]:
        """In order of place; `unit` is a position in the document's list of units."""
        row = self._connection.execute("SELECT bindings FROM refs WHERE document_id = ?", (document,)).fetchone()
        return unpack_bindings(row[0]) if row else ()

    def imports_of(self, document: DocumentId) -> tuple[Import, ...]:
        """The imports of a document in order of place."""
        sql = (
            "SELECT module, name, alias, start_byte, line FROM imports WHERE document_id = ? ORDER BY start_byte, name"
        )
        return tuple(Import(*row) for row in self._connection.execute(sql, (document,)))

    def documents_using(self, name: str) -> list[DocumentId]:
        """Documents that may use a name, by id; its references say whether they do (the index ignores case and signs)."""
        words = _WORDS.findall(name)  # as the tokenizer takes a name apart; this index knows no phrases
        if not words:
            return []
        sql = "SELECT rowid FROM ref_names WHERE ref_names MATCH ? ORDER BY rowid"
        return [DocumentId(row[0]) for row in self._connection.execute(sql, (" AND ".join(map(quoted, words)),))]
