"""An index in which rows of edited documents stand in place of those of the file, which stays as it is.

SQLite looks for a table among the temporary ones first. So for each table of documents there is a temporary view of that name: it
shows the rows of edited documents from a table in memory, and all others from the file. The store's own statements read it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import count
from typing import Any, NamedTuple

from codelens.model.code import DocumentId, RepositoryId
from codelens.model.extraction import Extraction, PackedReferences
from codelens.model.graph import EXTERNAL, Edge
from codelens.store.codec import pack_references
from codelens.store.documents import DocumentRow
from codelens.store.edges import EdgeTable, References
from codelens.store.postings import Postings
from codelens.store.store import Store
from codelens.worktree.classify import path_roles
from codelens.zstd import zstd

_EDITED = "SELECT id FROM edited_documents"
_TABLES = {
    **dict.fromkeys(("units", "refs", "imports", "snapshots", "link_counts"), ("document_id", _EDITED)),
    "edges": (
        "source",
        f"SELECT -id FROM ({_EDITED}) UNION ALL SELECT id FROM main.units WHERE document_id IN ({_EDITED})",
    ),
    "documents": ("id", _EDITED),
}
"""Table → (column, values of it whose rows in the file do not count)."""
_INSERT = """
INSERT INTO documents (id, repository_id, path, os_path, size, content_hash, language, roles, namespace, mtime_ns, inode, ctime_ns,
encoding, bom, fault) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 0, 0, 0, 'utf-8', 0, '')
"""


class EditedDocument(NamedTuple):
    """A file with the text that an editor has. `row` is the indexed document, None for a new file."""

    repository: RepositoryId
    path: str
    row: DocumentRow | None
    language: str
    utf8: bytes
    content_hash: bytes
    extraction: Extraction


class OverlaidReferences(References):
    """The index of names does not know edited documents, which may use any name."""

    edited: Sequence[DocumentId] = ()

    def documents_using_any(self, names: Iterable[str]) -> list[DocumentId]:
        return sorted({*super().documents_using_any(names), *self.edited})


class OverlaidPostings(Postings):
    """The trigrams do not know edited documents, which may hold any text."""

    edited: Sequence[DocumentId] = ()

    def documents_matching(self, expression: str) -> Mapping[DocumentId, Collection[int]]:
        return {**super().documents_matching(expression), **dict.fromkeys(self.edited, ())}


class OverlaidEdges(EdgeTable):
    """Edges that begin in edited documents are added when they are first needed."""

    add_missing: Callable[[], None] | None = None

    def _edges(self, end: str, nodes: Iterable[int], kinds: Collection[str], limit: int) -> Iterator[Edge]:
        if (add_missing := self.add_missing) is not None:
            self.add_missing = None
            add_missing()
        return super()._edges(end, nodes, kinds, limit)


class OverlaidStore(Store):
    """A reader with edited documents."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.references: OverlaidReferences = OverlaidReferences(self._connection)
        self.postings: OverlaidPostings = OverlaidPostings(self._connection, self.unit_sets, unchanging=True)
        self.edges: OverlaidEdges = OverlaidEdges(self._connection)
        self.edited: list[DocumentId] = []
        self._new = count(EXTERNAL >> 1)  # ids that the file does not have
        self.units._next = EXTERNAL >> 1

    def show(self, edited: Sequence[EditedDocument]) -> None:
        """Show these documents, without edges, in place of those that were shown before.

        Definitions keep the ids of the indexed ones with their kind, container and name, so that edges from other documents
        still lead to them.
        """
        if self.edited:
            self._execute("".join(f"DROP VIEW temp.{table}; DROP TABLE edited_{table};" for table in _TABLES))
        self.units._kept = {}
        kept = [self.units.identities(one.row.id) if one.row else {} for one in edited]
        if edited:
            self._create_views()
        self.edited = [one.row.id if one.row else DocumentId(next(self._new)) for one in edited]
        self.references.edited = self.postings.edited = self.edited
        for document, one, identities in zip(self.edited, edited, kept, strict=True):
            os_path = os.fsencode(one.row.os_path) if one.row else None
            about = (one.content_hash, one.language, " ".join(sorted(path_roles(one.path))), one.extraction.namespace)
            self._execute(_INSERT, document, one.repository, one.path, os_path, len(one.utf8), *about)
            self._execute("INSERT INTO snapshots VALUES (?, ?)", document, zstd.compress(one.utf8, 1))
            packed = pack_references(one.extraction.references, one.extraction.bindings).packed
            self.references.add(document, one.extraction, PackedReferences(packed, ""))
            units = one.extraction.units
            self.units.add(document, units, [()] * len(units), identities)

    def _create_views(self) -> None:
        for table, (column, hidden) in _TABLES.items():
            columns = [row[1] for row in self._connection.execute(f"PRAGMA main.table_info({table})")]
            self._execute(
                f"CREATE TEMP TABLE edited_{table} AS SELECT * FROM main.{table} WHERE false; "
                f"CREATE TEMP VIEW {table} AS SELECT * FROM main.{table} WHERE {column} NOT IN ({hidden}) "
                f"UNION ALL SELECT * FROM edited_{table}; "
                f"CREATE TEMP TRIGGER add_{table} INSTEAD OF INSERT ON {table} BEGIN INSERT INTO edited_{table} "
                f"VALUES ({', '.join(f'new.{name}' for name in columns)}); END"
            )

    def _execute(self, sql: str, *values: Any) -> None:
        self._connection.execute(sql, values).fetchall()
