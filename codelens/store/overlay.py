"""An index in which edited documents replace those of the file, without changing the file.

SQLite looks for temporary tables first. So each table about documents gets a temporary view of the same name, with the rows of
edited documents from a table in memory and all other rows from the file. The store's statements then read the view.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from itertools import count
from typing import Any

from codelens.model.code import DocumentId, RepositoryId, UnitId
from codelens.model.extraction import Extraction, PackedReferences
from codelens.model.graph import EXTERNAL
from codelens.store.codec import pack_references
from codelens.store.store import Store
from codelens.store.units import Identity
from codelens.worktree.classify import find_roles
from codelens.worktree.files import hash_content
from codelens.zstd import zstd

_EDITED = "SELECT id FROM edited_documents"
_EDITED_UNITS = f"SELECT id FROM main.units WHERE document_id IN ({_EDITED})"
_TABLES = {
    **dict.fromkeys(("units", "refs", "imports", "snapshots", "link_counts"), ("document_id", _EDITED)),
    "edges": ("source", f"SELECT -id FROM ({_EDITED}) UNION ALL {_EDITED_UNITS}"),
    "documents": ("id", _EDITED),
}
"""Table → (column, query for the values of this column whose rows in the file are hidden)."""
_INSERT = """
INSERT INTO documents (id, repository_id, path, os_path, size, content_hash, language, roles, namespace, mtime_ns, inode, ctime_ns,
encoding, bom, fault) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 0, 0, 0, 'utf-8', 0, '')
"""


EditedText = tuple[bytes, str, Callable[[], Extraction]]  # (text in UTF-8, language, function that extracts its units)


class OverlaidStore(Store):
    """A store, opened for reading, in which edited documents replace those of the file."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.edited: list[DocumentId] = []
        self._new = count(EXTERNAL >> 1)  # ids that the file does not have
        self.units._next = EXTERNAL >> 1

    def show_texts(self, texts: Mapping[tuple[RepositoryId, str], EditedText]) -> None:
        """Replace documents by these texts, without edges; unchanged texts are ignored. Known definitions keep their ids."""
        drop = "DROP VIEW IF EXISTS temp.{0}; DROP TABLE IF EXISTS edited_{0};"
        self._run("".join(drop.format(table) for table in _TABLES))
        self.units._kept = {}
        rows = {place: self.documents.find_at(*place) for place in texts}
        rows = {at: row for at, row in rows.items() if row is None or row.content_hash != hash_content(texts[at][0])}
        identities = [self.units.group_by_identity(row.id) if row else {} for row in rows.values()]
        for table, (column, hidden) in _TABLES.items() if rows else ():
            columns = [row[1] for row in self._rows(f"PRAGMA main.table_info({table})")]
            self._run(f"""CREATE TEMP TABLE edited_{table} AS SELECT * FROM main.{table} WHERE false;
                CREATE TEMP VIEW {table} AS SELECT * FROM main.{table} WHERE {column} NOT IN ({hidden})
                UNION ALL SELECT * FROM edited_{table};
                CREATE TEMP TRIGGER add_{table} INSTEAD OF INSERT ON {table} BEGIN INSERT INTO edited_{table}
                VALUES ({", ".join(f"new.{name}" for name in columns)}); END""")
        self.edited = [row.id if row else DocumentId(next(self._new)) for row in rows.values()]
        self.references.unsearchable = self.postings.unsearchable = self.edited
        for document, (place, row), known in zip(self.edited, rows.items(), identities, strict=True):
            self._add(document, (*place, os.fsencode(row.os_path) if row else None), texts[place], known)

    def _add(
        self, document: DocumentId, place: tuple[Any, ...], text: EditedText, known: Mapping[Identity, list[UnitId]]
    ) -> None:
        """Add an edited document; `known`: ids of its units in the file, by identity."""
        (utf8, language, extract), roles = text, " ".join(sorted(find_roles(place[1])))
        extraction = extract()
        self._run(_INSERT, document, *place, len(utf8), hash_content(utf8), language, roles, extraction.namespace)
        self._run("INSERT INTO snapshots VALUES (?, ?)", document, zstd.compress(utf8, 1))
        packed = pack_references(extraction.references, extraction.bindings).packed
        self.references.add(document, extraction, PackedReferences(packed, ""))
        self.units.add(document, extraction.units, [()] * len(extraction.units), known)
