"""Tables of repositories, of documents with their bytes, and of skipped files."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Self, TypeVar

import apsw
import xxhash

from codelens.model.code import DocumentId, FileStamp, RepositoryId, Skip, SkipReason
from codelens.model.extraction import DerivedDocument, DerivedPart, PartPlace
from codelens.model.fast_dataclass import dataclass
from codelens.store.connection import Tables
from codelens.store.merging import DocumentNumber, order_by, set_merge_rule
from codelens.store.trust import sign
from codelens.worktree.files import escape_path, unescape_path

T = TypeVar("T")


class InOrder(list[T]):
    """A list of results that SQL sorted, with each element's sort key, so that lists of several indexes can be merged."""

    __slots__ = ("at", "keys")

    def __init__(self, elements: Iterable[T], keys: Iterable[tuple[Any, ...]], at: int = -6) -> None:
        super().__init__(elements)
        self.keys = list(keys)  # The sort key of each element
        self.at = at  # The position of the repository in each key; the default fits keys that end with CONTENT_ORDER

    @classmethod
    def from_rows(cls, rows: Iterable[Any], at: int = -6) -> Self:
        """Make a list from rows: the first value of each row is the element, the others are its key."""
        listed = list(rows)
        return cls([row[0] for row in listed], [row[1:] for row in listed], at)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), ([*self], self.keys, self.at)


@dataclass(frozen=True, slots=True)
class RepositoryRow:
    """An indexed repository; `root` is absolute, even if the index was moved."""

    id: RepositoryId
    name: str
    root: Path


class DocumentState(NamedTuple):
    """The facts that decide whether a document must be indexed again."""

    id: DocumentId
    path: str
    stamp: FileStamp
    content_hash: bytes
    language: str
    recipe: str


@dataclass(frozen=True, slots=True)
class DocumentRow:
    """A document as searches use it."""

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


_SAME = ("content_hash", "language", "encoding", "confidence", "bom", "lines", "recipe", "embedder", "digest")
"""Columns that hold the field of the same name of a `DerivedDocument`."""
_ROW = "id, repository_id, path, os_path, size, mtime_ns, inode, ctime_ns, content_hash, language, roles, encoding, bom, fault"


def name_by_roots(roots: Sequence[Path]) -> dict[Path, str]:
    """Name each root by the shortest end of its path, in whole parts, with which no other root ends."""
    ends: dict[Path, list[str]] = {}
    for root in roots:
        parts = [escape_path(part) for part in root.parts if part != root.anchor] or ["root"]
        ends[root] = ["/".join(parts[-length:]) for length in range(1, len(parts) + 1)]
    counts = Counter(end for of_root in ends.values() for end in of_root)
    return {
        root: next((end for end in of_root if counts[end] == 1), escape_path(root.as_posix()))
        for root, of_root in ends.items()
    }


class RootNames(dict[Path, str]):
    """A mapping of roots to the names of their repositories."""


class Documents(Tables):
    """Reads and writes repositories, documents, snapshots and skips. Roots may be stored relative to the file `index`."""

    def __init__(self, connection: apsw.Connection, index: Path) -> None:
        super().__init__(connection)
        self.index = index

    # Repositories

    def list_repositories(self) -> list[RepositoryRow]:
        """List all repositories, by name."""
        rows = self._rows("SELECT id, name, root FROM repositories ORDER BY name")
        folder = self.index.resolve().parent
        return [
            RepositoryRow(RepositoryId(i), n, Path(os.path.normpath(folder / unescape_path(r)))) for i, n, r in rows
        ]

    def _relate_root(self, root: Path) -> str:
        """Make a root's stored form: relative if the index lies inside the root, so that both can be moved together."""
        folder = self.index.resolve().parent
        if folder == root or root in folder.parents:
            return Path(os.path.relpath(root, folder)).as_posix()
        return escape_path(str(root))

    def move(self, root: Path) -> RepositoryRow:
        """Change the root of the only repository, which may rename it."""
        self._run("UPDATE repositories SET root = ?", self._relate_root(root))
        (now,) = self.add_repositories([])
        return now

    def exists_on_disk(self, row: RepositoryRow) -> bool:
        """True if one of the repository's first documents still exists on disk, or if it has no documents."""
        sql = "SELECT path, os_path FROM documents WHERE repository_id = ? ORDER BY path LIMIT 5"
        paths = [raw if raw is not None else os.fsencode(path) for path, raw in self._rows(sql, row.id)]
        return not paths or any(os.path.lexists(row.root / os.fsdecode(path)) for path in paths)

    def add_repositories(self, roots: Iterable[Path]) -> list[RepositoryRow]:
        """Add new roots; returns all repositories. Each is named by the shortest distinct end of its root's path."""
        known = {row.root for row in self.list_repositories()}
        for root in dict.fromkeys(roots):
            if root not in known:  # named below
                self._run("INSERT INTO repositories (name, root) VALUES (?1, ?1)", self._relate_root(root))
        rows = self.list_repositories()
        names = name_by_roots([row.root for row in rows])
        renamed = [(row, names[row.root]) for row in rows if row.name != names[row.root]]
        for row, _ in renamed:  # use temporary names first, because names are unique
            self._run("UPDATE repositories SET name = '/' || id WHERE id = ?", row.id)
        for row, name in renamed:
            self._run("UPDATE repositories SET name = ? WHERE id = ?", name, row.id)
            sql = """UPDATE OR REPLACE meta SET key = substr(key, 1, instr(key, ':')) || ?2
                WHERE instr(key, ':') AND substr(key, instr(key, ':') + 1) = ?1"""
            self._run(sql, row.name, name)
        sign(self._connection, self.index)  # the signature covers names and roots
        return self.list_repositories()

    # Documents

    def add(self, repository: RepositoryId, derived: DerivedDocument, document: DocumentId | None = None) -> DocumentId:
        """Store a document with its snapshot; its units and postings go to other tables."""
        identity = DocumentId(self._find_free_id("documents")) if document is None else document
        self._next = max(self._find_free_id("documents"), identity + 1)
        seen, raw_path = derived.seen, os.fsencode(derived.seen.os_path.replace(os.sep, "/"))
        values = {name: getattr(derived, name) for name in _SAME} | {
            "id": identity,
            "repository_id": repository,
            "path": seen.path,
            "os_path": raw_path if raw_path != seen.path.encode() else None,
            **seen.stamp._asdict(),
            "roles": " ".join(sorted(derived.roles)),
            "namespace": derived.extraction.namespace,
            "fault": derived.extraction.fault,
        }
        sql = f"INSERT INTO documents ({', '.join(values)}) VALUES ({', '.join('?' * len(values))})"
        self._run(sql, *values.values())
        self._run("INSERT INTO snapshots VALUES (?, ?)", identity, derived.snapshot)
        return identity

    def remove(self, document: DocumentId) -> None:
        """Delete a document's row and snapshot only; `Store.remove_document` deletes everything."""
        self._find_free_id("documents")
        self._run("DELETE FROM snapshots WHERE document_id = ?", document)
        self._run("DELETE FROM documents WHERE id = ?", document)

    def set_stamp(self, document: DocumentId, stamp: FileStamp) -> None:
        """Record a document's new stamp when its content is unchanged, for example after a `touch`."""
        self._run("UPDATE documents SET size = ?, mtime_ns = ?, inode = ?, ctime_ns = ? WHERE id = ?", *stamp, document)

    def list_embedded_otherwise(self, embedder: str) -> list[DocumentRow]:
        """List documents that were not embedded by this embedder, by path."""
        return self._find("embedder <> ? ORDER BY repository_id, path", embedder)

    def count_embedded_otherwise(self, embedder: str) -> int:
        """Count documents with vectors of another embedder; documents without vectors do not count."""
        return self._number("SELECT count(*) FROM documents WHERE embedder NOT IN (?, '')", embedder)

    def set_embedder(self, document: DocumentId, embedder: str) -> None:
        """Record the embedder of a document's vectors."""
        self._run("UPDATE documents SET embedder = ? WHERE id = ?", embedder, document)

    def read_states(self, repository: RepositoryId) -> dict[str, DocumentState]:
        """Read the states of all documents of a repository: path → state."""
        sql = "SELECT id, path, content_hash, language, recipe, size, mtime_ns, inode, ctime_ns FROM documents "
        rows: Any = self._connection.execute(f"{sql} WHERE repository_id = ?", (repository,))
        return {
            path: DocumentState(i, path, FileStamp(*stamp), digest, language, recipe)
            for i, path, digest, language, recipe, *stamp in rows
        }

    @set_merge_rule(order_by(lambda document: (document.repository, document.path)))
    def read_rows(self, ids: Iterable[DocumentId] | None = None) -> list[DocumentRow]:
        """Read the documents with these ids, or all, in order of repository and path."""
        chosen = ["id IN (SELECT value FROM json_each(?))", json.dumps(sorted({*ids}))] if ids is not None else ["true"]
        return sorted(self._find(*chosen), key=lambda d: (d.repository, d.path))

    def _find(self, condition: str, *values: Any) -> list[DocumentRow]:
        return list(map(_make_document_row, self._rows(f"SELECT {_ROW} FROM documents WHERE {condition}", *values)))

    def list_paths(self) -> Iterator[tuple[DocumentId, str]]:
        """List each document with its path, in no particular order."""
        yield from self._rows("SELECT id, path FROM documents")

    def select_first(self, ids: Sequence[DocumentId], limit: int) -> InOrder[DocumentId]:
        """Select the first `limit` of these documents by repository and path, tests last."""
        order = "roles LIKE '%test%', repository_id, path"
        sql = f"SELECT id, {order} FROM documents WHERE id IN (SELECT value FROM json_each(?)) ORDER BY {order} LIMIT ?"
        return InOrder.from_rows(self._rows(sql, json.dumps(ids), limit), at=-2)

    @set_merge_rule(order_by(lambda document: document.repository))
    def find_by_path(self, path: str) -> list[DocumentRow]:
        """Find the documents with this path, at most one per repository."""
        return self._find("path = ? ORDER BY repository_id", path)

    def find_at(self, repository: RepositoryId, path: str) -> DocumentRow | None:
        """Find the document with this path in a repository."""
        return next(iter(self._find("repository_id = ? AND path = ?", repository, path)), None)

    def has_below(self, repository: RepositoryId, folder: str, table: str = "documents") -> bool:
        """True if a document lies below a folder, which is given with a final slash; with the table `skips`, a skipped file."""
        sql = f"SELECT 1 FROM {table} WHERE repository_id = ? AND path > ? AND path < ?"
        return self._row(sql, repository, folder, folder[:-1] + "0") is not None

    def read_times(self, repository: RepositoryId, table: str = "documents") -> dict[str, int]:
        """Map paths to change times, or to modification times if unknown, in ns; the files modified last come first. With the
        table `skips`, those of the skipped files whose times are known."""
        sql = f"""SELECT path, coalesce(nullif(ctime_ns, 0), mtime_ns) FROM {table}
            WHERE repository_id = ? AND mtime_ns IS NOT NULL ORDER BY mtime_ns DESC, path"""
        return dict(self._rows(sql, repository))

    @set_merge_rule(order_by(lambda document: (len(document.path), document.path, document.repository), limit=1))
    def find_ending_in(self, path: str, limit: int) -> list[DocumentRow]:
        """Find documents whose path equals this or ends with it, in whole parts; shortest paths first."""
        order = f"ORDER BY length(path), path, repository_id LIMIT {int(limit)}"
        return self._find(f"path = ?1 OR substr(path, -length(?1) - 1) = '/' || ?1 {order}", path)

    @set_merge_rule(is_lasting=True)
    def count_on_paths(self, beginning: str) -> int:
        """Count documents for which the name of the file or of a folder above it begins with this text, in lower case."""
        return self._number("SELECT count(*) FROM documents WHERE instr('/' || lower(path), '/' || ?1)", beginning)

    def find_first_on_paths(self, beginning: str, limit: int) -> InOrder[DocumentId]:
        """Find the first `limit` documents that `count_on_paths` counts, by path, tests last."""
        order = "roles LIKE '%test%', path, repository_id"
        sql = f"SELECT id, {order} FROM documents WHERE instr('/' || lower(path), '/' || ?1) ORDER BY {order} LIMIT ?2"
        return InOrder.from_rows(self._rows(sql, beginning, limit), at=-1)

    def list_linkable(
        self, repository: RepositoryId, only: DocumentId | None = None
    ) -> list[tuple[DocumentNumber, str, str, str, str]]:
        """List all documents by path, or only one: (id, path, language, namespace, roles separated by spaces)."""
        where = "repository_id = ?" if only is None else "repository_id = ? AND id = ?"
        sql = f"SELECT id, path, language, namespace, roles FROM documents WHERE {where} ORDER BY path"
        values = (repository,) if only is None else (repository, only)
        return self._rows(sql, *values)

    def read_snapshot(self, document: DocumentId) -> bytes:
        """Read the file's bytes as they were indexed, compressed; empty if they are stored in parts."""
        return bytes(self._row("SELECT bytes FROM snapshots WHERE document_id = ?", document)[0])

    def compute_content_id(self) -> str:
        """Hash the content of the index: documents, recipes, embedders and heads of histories. It does not depend on past runs."""
        digest = xxhash.xxh3_64()
        sql = """SELECT r.name, d.path, d.content_hash, d.recipe, d.embedder FROM documents d
            JOIN repositories r ON r.id = d.repository_id ORDER BY r.name, d.path"""
        for name, path, content_hash, recipe, embedder in self._rows(sql):
            digest.update(f"{name}\0{path}\0{recipe}\0{embedder}\0".encode() + content_hash)
        sql = """SELECT r.name, h.head, h.terms FROM histories h JOIN repositories r ON r.id = h.repository_id
            WHERE h.fault = '' ORDER BY r.name"""
        for name, head, terms in self._rows(sql):
            digest.update(f"{name}\0{head}\0{terms}\0".encode())
        return digest.hexdigest()

    def count_by_column(self, column: str, repository: RepositoryId) -> dict[str, int]:
        """Count a repository's documents by `language` or `encoding`, or its skipped files by `reason`: value → number."""
        table = {"language": "documents", "encoding": "documents", "reason": "skips"}[column]
        sql = f"SELECT {column}, count(*) FROM {table} WHERE repository_id = ? GROUP BY 1 ORDER BY 2 DESC, 1"
        return dict(self._rows(sql, repository))

    def count_doubtful(self, repository: RepositoryId, threshold: float) -> int:
        """Count documents whose encoding was detected with less than this confidence."""
        sql = "SELECT count(*) FROM documents WHERE repository_id = ? AND confidence < ?"
        return self._number(sql, repository, threshold)

    def read_totals(self, repository: RepositoryId) -> tuple[int, int]:
        """Read the number of documents and the sum of their bytes."""
        sql = "SELECT count(*), coalesce(sum(size), 0) FROM documents WHERE repository_id = ?"
        documents, size = self._row(sql, repository)
        return documents, size

    def list_faults(self, repository: RepositoryId) -> dict[str, str]:
        """List the documents that could not be parsed, by path: path → the grammar's fault."""
        sql = "SELECT path, fault FROM documents WHERE repository_id = ? AND fault <> '' ORDER BY path"
        return dict(self._rows(sql, repository))

    # Skips

    def list_skips(self, repository: RepositoryId) -> Iterator[Skip]:
        """List the files that the last run skipped, by path."""
        return self._read_skips("ORDER BY path", repository)

    def find_skip(self, repository: RepositoryId, path: str) -> Skip | None:
        """Find the last run's skip of exactly this path; the path of a folder ends in a slash."""
        return next(self._read_skips("AND path = ?", repository, path), None)

    def _read_skips(self, rest: str, *values: Any) -> Iterator[Skip]:
        sql = f"SELECT path, reason, detail, size, mtime_ns, inode, ctime_ns FROM skips WHERE repository_id = ? {rest}"
        for path, reason, detail, *stamp in self._rows(sql, *values):
            yield Skip(path, SkipReason(reason), detail, None if stamp[0] is None else FileStamp(*stamp))

    def replace_skips(self, repository: RepositoryId, gone: Sequence[str], new: Iterable[Skip]) -> None:
        """Delete the skips of the paths in `gone`, and store the `new` ones, which replace skips of the same path."""
        self._run_many("DELETE FROM skips WHERE repository_id = ? AND path = ?", [(repository, path) for path in gone])
        rows = [(repository, s.path, s.reason.value, s.detail, *(s.stamp or (None, None, None, 0))) for s in new]
        self._run_many("INSERT OR REPLACE INTO skips VALUES (?,?,?,?,?,?,?,?)", rows)


def _make_document_row(row: Any) -> DocumentRow:
    i, repository, path, raw, *stamp, digest, language, roles, encoding, bom, fault = row
    file, marks = os.fsdecode(raw) if raw is not None else path, frozenset(str(roles).split())
    return DocumentRow(i, repository, path, file, FileStamp(*stamp), digest, language, marks, encoding, bom, fault)


PART_BASE, _SHIFT = 1 << 40, 20  # A part's id is PART_BASE + document * 2^_SHIFT + number: above all document ids
DOCUMENT_OF_PART = f"(id - {PART_BASE}) >> {_SHIFT}"  # SQL expression for the document of a part's id


class Parts(Tables):
    """Reads and writes the parts of large files."""

    def add(self, document: DocumentId, number: int, part: DerivedPart) -> None:
        """Store part `number`, from 0, with its trigrams."""
        identity = _make_part_id(document, number)
        self._run("INSERT INTO parts VALUES (?,?,?,?,?)", identity, *part.place, part.snapshot)
        if part.trigrams:
            self._run("INSERT INTO text_trigrams (rowid, text) VALUES (?, ?)", identity, part.trigrams)

    def remove(self, document: DocumentId) -> None:
        """Delete all parts of a document with their trigrams."""
        ids = [(_make_part_id(document, number),) for number in range(len(self.list_places(document)))]
        self._run_many("DELETE FROM text_trigrams WHERE rowid = ?", ids)
        self._run_many("DELETE FROM parts WHERE id = ?", ids)

    def list_places(self, document: DocumentId) -> list[PartPlace]:
        """List the positions at which a document's parts begin, in order; empty if the document is stored whole."""
        sql = "SELECT start_byte, line, before FROM parts WHERE id >= ? AND id < ? ORDER BY id"
        rows = self._rows(sql, _make_part_id(document, 0), _make_part_id(document, 1 << _SHIFT))
        return [PartPlace(start, line, before) for start, line, before in rows]

    def read_bytes(self, document: DocumentId, number: int) -> bytes:
        """Read a part's bytes, compressed."""
        return bytes(self._row("SELECT bytes FROM parts WHERE id = ?", _make_part_id(document, number))[0])

    def read_all(self, document: DocumentId) -> Iterator[bytes]:
        """Read the compressed bytes of each part of a document, in order."""
        return (self.read_bytes(document, number) for number in range(len(self.list_places(document))))

    def list_documents(self) -> set[DocumentId]:
        """List the documents that are stored in parts."""
        return {DocumentId(row[0]) for row in self._rows(f"SELECT DISTINCT {DOCUMENT_OF_PART} FROM parts")}


def group_by_document(rows: Iterable[int]) -> Mapping[DocumentId, Collection[int]]:
    """Group rows of trigrams by document: document → numbers of its parts, empty if the document is stored whole."""
    whole = list(rows)
    in_parts = [row for row in whole if row >= PART_BASE]
    nothing: frozenset[int] = frozenset()
    if not in_parts:
        return dict.fromkeys(map(DocumentId, whole), nothing)
    parts_by_document: dict[DocumentId, set[int]] = {DocumentId(row): set() for row in whole if row < PART_BASE}
    for row in in_parts:
        document, number = divmod(row - PART_BASE, 1 << _SHIFT)
        parts_by_document.setdefault(DocumentId(document), set()).add(number)
    return parts_by_document


def _make_part_id(document: DocumentId, number: int) -> int:
    return PART_BASE + (document << _SHIFT) + number
