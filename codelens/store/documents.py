"""Repositories, documents, their snapshots, and what was skipped."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import astuple
from pathlib import Path
from typing import Any, NamedTuple

import apsw
import xxhash

from codelens.derived import DerivedDocument
from codelens.model import DocumentId, FileStamp, RepositoryId, Skip, SkipReason
from codelens.nouns import dataclass
from codelens.store.trust import sign


@dataclass(frozen=True, slots=True)
class RepositoryRow:
    """An indexed tree; `root` is absolute, wherever the index lies now."""

    id: RepositoryId
    name: str
    root: Path


class DocumentState(NamedTuple):
    """What decides whether a document must be derived again."""

    id: DocumentId
    path: str
    stamp: FileStamp
    content_hash: bytes
    language: str
    recipe: str


@dataclass(frozen=True, slots=True)
class DocumentRow:
    """A document as searching sees it."""

    id: DocumentId
    repository: RepositoryId
    path: str
    os_path: str
    stamp: FileStamp
    content_hash: bytes
    language: str
    roles: frozenset[str]
    encoding: str
    bom: int
    fault: str


_ROW = "id, repository_id, path, os_path, size, mtime_ns, inode, ctime_ns, content_hash, language, roles, encoding, bom, fault"


class Documents:
    """The gateway to repositories, documents, snapshots and skips. `index` is the file's path: roots are stored relative to it."""

    def __init__(self, connection: apsw.Connection, index: Path) -> None:
        self._connection = connection
        self._index = index
        self._next = 0

    # Repositories

    def repositories(self) -> list[RepositoryRow]:
        """All of them, by name."""
        rows: list[Any] = self._connection.execute("SELECT id, name, root FROM repositories ORDER BY name").fetchall()
        return [RepositoryRow(RepositoryId(i), n, self._absolute(r)) for i, n, r in rows]

    def _absolute(self, root: str) -> Path:
        return Path(os.path.normpath(self._index.resolve().parent / root))

    def _stored(self, root: Path) -> str:
        """Relative where the index lies inside the root, so that the tree can be moved with its index."""
        folder = self._index.resolve().parent
        if folder == root or root in folder.parents:
            return Path(os.path.relpath(root, folder)).as_posix()
        return str(root)

    def any_on_disk(self, row: RepositoryRow) -> bool:
        """Whether some of a repository's first documents are where they were indexed; an empty one is."""
        sql = "SELECT path, os_path FROM documents WHERE repository_id = ? ORDER BY path LIMIT 5"
        paths = [
            raw if raw is not None else os.fsencode(path) for path, raw in self._connection.execute(sql, (row.id,))
        ]
        return not paths or any(os.path.lexists(row.root / os.fsdecode(path)) for path in paths)

    def add_repository(self, root: Path) -> RepositoryRow:
        """The row of a root, made if it is new; its name is the folder's, with a number where that is taken."""
        known = self.repositories()
        for row in known:
            if row.root == root:
                return row
        taken, base = {r.name for r in known}, root.name or "root"
        name = next(n for n in (base, *(f"{base}-{i}" for i in range(2, len(taken) + 3))) if n not in taken)
        self._connection.execute(
            "INSERT INTO repositories (name, root) VALUES (?, ?)", (name, self._stored(root))
        ).fetchall()
        row = RepositoryRow(RepositoryId(self._connection.last_insert_rowid()), name, root)
        sign(self._connection, self._index)  # the mark covers the roots
        return row

    # Documents

    def add(self, repository: RepositoryId, derived: DerivedDocument, document: DocumentId | None = None) -> DocumentId:
        """Store a document with its snapshot; its units and postings are for the other gateways."""
        identity = DocumentId(self._first_free()) if document is None else document
        self._next = max(self._first_free(), identity + 1)
        seen, raw_path = derived.seen, os.fsencode(derived.seen.os_path.replace(os.sep, "/"))
        self._connection.execute(
            "INSERT INTO documents (id, repository_id, path, os_path, size, mtime_ns, inode, ctime_ns, content_hash, language, "
            "roles, encoding, confidence, bom, lines, recipe, namespace, fault, embedder, digest) "
            "VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
            (
                identity,
                repository,
                seen.path,
                raw_path if raw_path != seen.path.encode() else None,
                seen.stamp.size,
                seen.stamp.mtime_ns,
                seen.stamp.inode,
                seen.stamp.ctime_ns,
                derived.content_hash,
                derived.language,
                " ".join(sorted(derived.roles)),
                derived.encoding,
                derived.confidence,
                derived.bom,
                derived.lines,
                derived.recipe,
                derived.extraction.namespace,
                derived.extraction.fault,
                derived.embedder,
                derived.digest,
            ),
        ).fetchall()
        document = identity
        self._connection.execute("INSERT INTO snapshots VALUES (?, ?)", (document, derived.snapshot)).fetchall()
        return document

    def _first_free(self) -> int:
        """No id is given twice in a run: edges may still lead to what had it."""
        if not self._next:
            row = self._connection.execute("SELECT coalesce(max(id), 0) + 1 FROM documents").fetchone()
            assert row is not None
            self._next = int(row[0])
        return self._next

    def remove(self, document: DocumentId) -> None:
        """Its row and its snapshot alone; `Store.remove_document` takes everything."""
        self._first_free()
        self._connection.execute("DELETE FROM snapshots WHERE document_id = ?", (document,)).fetchall()
        self._connection.execute("DELETE FROM documents WHERE id = ?", (document,)).fetchall()

    def set_stamp(self, document: DocumentId, stamp: FileStamp) -> None:
        """The same content was seen under another stamp: after a touch, or a checkout there and back."""
        self._connection.execute(
            "UPDATE documents SET size = ?, mtime_ns = ?, inode = ?, ctime_ns = ? WHERE id = ?",
            (stamp.size, stamp.mtime_ns, stamp.inode, stamp.ctime_ns, document),
        ).fetchall()

    def embedded_otherwise(self, embedder: str) -> list[DocumentRow]:
        """The documents whose vectors are not this embedder's, by path."""
        sql = f"SELECT {_ROW} FROM documents WHERE embedder <> ? ORDER BY repository_id, path"
        return list(map(_document_row, self._connection.execute(sql, (embedder,))))

    def embedded_by_others(self, embedder: str) -> int:
        """How many documents have vectors of another embedder than this; those that have none do not count."""
        sql = "SELECT count(*) FROM documents WHERE embedder NOT IN (?, '')"
        row = self._connection.execute(sql, (embedder,)).fetchone()
        return int(row[0]) if row else 0

    def set_embedder(self, document: DocumentId, embedder: str) -> None:
        """Note by whom a document's vectors were made."""
        self._connection.execute("UPDATE documents SET embedder = ? WHERE id = ?", (embedder, document)).fetchall()

    def states(self, repository: RepositoryId) -> dict[str, DocumentState]:
        """Path → state of all documents of a repository."""
        rows = self._connection.execute(
            "SELECT id, path, content_hash, language, recipe, size, mtime_ns, inode, ctime_ns FROM documents "
            "WHERE repository_id = ?",
            (repository,),
        )
        return {
            path: DocumentState(DocumentId(i), path, FileStamp(*stamp), digest, language, recipe)
            for i, path, digest, language, recipe, *stamp in rows
        }

    def rows(self, ids: Iterable[DocumentId] | None = None) -> list[DocumentRow]:
        """Documents by id, or all; in order of repository and path."""
        if ids is None:
            found = self._connection.execute(f"SELECT {_ROW} FROM documents").fetchall()
        else:
            found = [
                r
                for i in sorted(set(ids))
                for r in self._connection.execute(f"SELECT {_ROW} FROM documents WHERE id = ?", (i,))
            ]
        return sorted(map(_document_row, found), key=lambda d: (d.repository, d.path))

    def by_path(self, path: str) -> list[DocumentRow]:
        """The documents with this path, one in each repository at most."""
        found = self._connection.execute(f"SELECT {_ROW} FROM documents WHERE path = ? ORDER BY repository_id", (path,))
        return list(map(_document_row, found))

    def linkable(
        self, repository: RepositoryId, only: DocumentId | None = None
    ) -> list[tuple[int, str, str, str, str]]:
        """(id, path, language, namespace, roles separated by spaces) of all documents, by path; or of one of them."""
        where = "repository_id = ?" if only is None else "repository_id = ? AND id = ?"
        sql = f"SELECT id, path, language, namespace, roles FROM documents WHERE {where} ORDER BY path"
        values = (repository,) if only is None else (repository, only)
        rows: list[Any] = self._connection.execute(sql, values).fetchall()
        return rows

    def snapshot(self, document: DocumentId) -> bytes:
        """The file's own bytes as they were when it was indexed, still compressed; empty where they are in parts."""
        row = self._connection.execute("SELECT bytes FROM snapshots WHERE document_id = ?", (document,)).fetchone()
        assert row is not None
        return bytes(row[0])

    def extraction_head(self, document: DocumentId) -> tuple[str, str]:
        """(namespace, fault) of a document."""
        row = self._connection.execute("SELECT namespace, fault FROM documents WHERE id = ?", (document,)).fetchone()
        assert row is not None
        return (str(row[0]), str(row[1]))

    def content_id(self) -> str:
        """A hash of what is indexed and how, up to which commits: equal for equal content, whatever the runs."""
        digest = xxhash.xxh3_64()
        sql = (
            "SELECT r.name, d.path, d.content_hash, d.recipe, d.embedder "
            "FROM documents d JOIN repositories r ON r.id = d.repository_id ORDER BY r.name, d.path"
        )
        for name, path, content_hash, recipe, embedder in self._connection.execute(sql):
            digest.update(f"{name}\0{path}\0{recipe}\0{embedder}\0".encode() + content_hash)
        sql = (
            "SELECT r.name, h.head, h.terms FROM histories h JOIN repositories r ON r.id = h.repository_id "
            "WHERE h.fault = '' ORDER BY r.name"
        )
        for name, head, terms in self._connection.execute(sql):
            digest.update(f"{name}\0{head}\0{terms}\0".encode())
        return digest.hexdigest()

    def counts(self, column: str, repository: RepositoryId) -> dict[str, int]:
        """Value of a column (language, encoding) → documents of a repository, the most first."""
        assert column in ("language", "encoding")
        sql = f"SELECT {column}, count(*) FROM documents WHERE repository_id = ? GROUP BY 1 ORDER BY 2 DESC, 1"
        rows: list[Any] = self._connection.execute(sql, (repository,)).fetchall()
        return dict(rows)

    def totals(self, repository: RepositoryId) -> tuple[int, int]:
        """(documents, source bytes)."""
        sql = "SELECT count(*), coalesce(sum(size), 0) FROM documents WHERE repository_id = ?"
        row = self._connection.execute(sql, (repository,)).fetchone()
        assert row is not None
        return (row[0], row[1])

    def faults(self, repository: RepositoryId) -> dict[str, str]:
        """Path → what the grammar could not do, of the documents that have a fault; by path."""
        sql = "SELECT path, fault FROM documents WHERE repository_id = ? AND fault <> '' ORDER BY path"
        rows: list[Any] = self._connection.execute(sql, (repository,)).fetchall()
        return dict(rows)

    # Skips

    def skips(self, repository: RepositoryId) -> Iterator[Skip]:
        """What the last run left out, in order of path."""
        sql = "SELECT path, reason, detail, size, mtime_ns, inode, ctime_ns FROM skips WHERE repository_id = ? ORDER BY path"
        for path, reason, detail, size, mtime, inode, ctime in self._connection.execute(sql, (repository,)):
            stamp = FileStamp(size, mtime, inode, ctime) if size is not None else None
            yield Skip(path, SkipReason(reason), detail, stamp)

    def replace_skips(self, repository: RepositoryId, gone: Sequence[str], new: Iterable[Skip]) -> None:
        """Forget the skips of the paths in `gone`, and store `new` ones over any of the same path."""
        self._connection.executemany(
            "DELETE FROM skips WHERE repository_id = ? AND path = ?", [(repository, path) for path in gone]
        ).fetchall()
        self._connection.executemany(
            "INSERT OR REPLACE INTO skips VALUES (?,?,?,?,?,?,?,?)",
            [
                (
                    repository,
                    s.path,
                    s.reason.value,
                    s.detail,
                    *(astuple(s.stamp) if s.stamp else (None, None, None, 0)),
                )
                for s in new
            ],
        ).fetchall()


def _document_row(row: Any) -> DocumentRow:
    (i, repository, path, os_path, size, mtime, inode, ctime, digest, language, roles, encoding, bom, fault) = row
    return DocumentRow(
        i,
        repository,
        path,
        os.fsdecode(os_path) if os_path is not None else path,
        FileStamp(size, mtime, inode, ctime),
        digest,
        language,
        frozenset(str(roles).split()),
        encoding,
        bom,
        fault,
    )
