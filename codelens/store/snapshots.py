"""The log of an index's states, and the digests of documents.

The facts of a state are stored as differences from the next newer state, because two states of a tree share most lines. The
newest state needs no differences, since its facts are in the index. The oldest can be deleted without changing the others.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence

from codelens.model.code import DocumentId
from codelens.model.fast_dataclass import dataclass
from codelens.store.codec import MOST_BYTES, decompress
from codelens.store.connection import Tables
from codelens.store.units import CHUNKS

_LEVEL = 3  # zstd's default; 9 takes four times as long to save another twentieth
_MOST_FOLD = 100  # Limit on the compression ratio of a large repository's facts; 5 to 15 is usual


@dataclass(frozen=True, slots=True)
class LoggedSnapshot:
    """A line of the log, which describes one state of the index."""

    number: int
    snapshot: str
    root: str
    time: int  # Time of the newest head commit, unix seconds; 0 without git
    documents: int
    symbols: int
    edges: int  # Number of distinct edges (source, kind, target)
    kept: bool  # True if the facts of the state are still stored


class OlderFacts:
    """The facts of a state, as differences from those of the next state. Batches are packed as they come, to bound memory."""

    def __init__(self) -> None:
        self._without: list[int] = []
        self._places: list[int] = []
        self._frames: list[bytes] = []

    def add_batch(self, without: Iterable[int], lines: Mapping[int, bytes]) -> None:
        """Add one batch of differences: the positions of lines that only the next state has, and the lines that only this
        state has, by position. Positions ascend, also from batch to batch."""
        from codelens.zstd import zstd

        self._without += without
        self._places += lines
        self._frames.append(zstd.compress(b"".join(b"\n" + line for line in lines.values()), _LEVEL))

    def pack(self) -> bytes:
        """Pack everything into one value: a line with the positions, then the lines."""
        from codelens.zstd import zstd

        packer = zstd.ZstdCompressor(_LEVEL)
        packed = [packer.compress(json.dumps([self._without, self._places]).encode())]
        packed += (packer.compress(decompress(frame)) for frame in self._frames)
        return b"".join([*packed, packer.flush()])


class SnapshotLog(Tables):
    """Reads and writes the log of states."""

    def list_snapshots(self) -> list[LoggedSnapshot]:
        """List all lines of the log, newest first."""
        sql = """SELECT number, snapshot, root, time, documents, symbols, edges, facts IS NOT NULL FROM snapshot_log
            ORDER BY number DESC"""
        return [LoggedSnapshot(n, s, root, at, d, u, e, bool(k)) for n, s, root, at, d, u, e, k in self._rows(sql)]

    def count_symbols_and_edges(self) -> tuple[int, int]:
        """Count the symbols that are not local and the distinct edges of the whole index."""
        sql = f"""SELECT (SELECT count(*) FROM units WHERE NOT local AND kind NOT IN ({CHUNKS})), (SELECT count(*)
            FROM (SELECT DISTINCT source, kind, target FROM edges))"""
        symbols, edges = self._rows(sql)[0]
        return symbols, edges

    def read_facts(self, number: int, newest: bytes) -> bytes | None:
        """Reconstruct the facts of a snapshot from those of the `newest`; None if they are no longer stored."""
        sql = "SELECT number, facts FROM snapshot_log WHERE number >= ? AND facts IS NOT NULL ORDER BY number DESC"
        newer: bytes | None = None
        for logged, blob in self._rows(sql, number):
            if newer is None:
                newer = newest
            else:
                head, *others = decompress(blob, max(MOST_BYTES, _MOST_FOLD * len(blob))).split(b"\n")
                without, places = json.loads(head)
                gone = frozenset(without)
                lines = [line for i, line in enumerate(newer.split(b"\n")) if i not in gone]
                for place, line in zip(places, others, strict=True):  # ascending: each line gets its final position
                    lines.insert(place, line)
                newer = b"\n".join(lines)
            if logged == number:
                return newer
        return None

    def add(self, line: LoggedSnapshot, older: OlderFacts | None, keep: int) -> None:
        """Add a line, and keep the facts of `keep` lines. `older`: facts of the previous line; None drops all older facts."""
        if older is None:
            self.forget_facts(0)
        else:
            sql = "UPDATE snapshot_log SET facts = ? WHERE number = (SELECT max(number) FROM snapshot_log)"
            self._run(sql, older.pack())
        values = (line.snapshot, line.root, line.time, line.documents, line.symbols, line.edges, b"")
        columns = "snapshot, root, time, documents, symbols, edges, facts"
        self._run(f"INSERT INTO snapshot_log ({columns}) VALUES (?,?,?,?,?,?,?)", *values)
        self.forget_facts(keep)

    def forget_facts(self, keep: int) -> None:
        """Delete the facts of all but the `keep` newest lines."""
        sql = """UPDATE snapshot_log SET facts = NULL
            WHERE facts IS NOT NULL AND number NOT IN (SELECT number FROM snapshot_log ORDER BY number DESC LIMIT ?)"""
        self._run(sql, keep)

    def forget_lines(self, keep: int) -> None:
        """Delete all but the `keep` newest lines."""
        sql = "DELETE FROM snapshot_log WHERE number NOT IN (SELECT number FROM snapshot_log ORDER BY number DESC LIMIT ?)"
        self._run(sql, keep)

    def keep_newest(self) -> None:
        """Delete all but the newest line, which becomes the first of a new log."""
        self.forget_lines(1)
        self._run("UPDATE snapshot_log SET number = 1")

    # Digests

    def list_without_digest(self) -> list[DocumentId]:
        """List the documents without a digest."""
        return [DocumentId(row[0]) for row in self._rows("SELECT id FROM documents WHERE digest = x'' ORDER BY id")]

    def set_digest(self, document: DocumentId, digest: bytes) -> None:
        """Record the SHA-256 of a document."""
        self._run("UPDATE documents SET digest = ? WHERE id = ?", digest, document)

    def read_digests(self, documents: Sequence[DocumentId]) -> dict[int, bytes]:
        """Read the SHA-256 of each document; empty if no run has computed it."""
        sql = "SELECT id, digest FROM documents WHERE id IN (SELECT value FROM json_each(?))"
        return {document: bytes(digest) for document, digest in self._rows(sql, json.dumps(documents))}

    def list_digests(self) -> list[tuple[int, str, str, bytes]]:
        """List all documents by repository and path: (document, repository, path, SHA-256; empty if no run has computed it)."""
        sql = """SELECT d.id, r.name, d.path, d.digest FROM documents d JOIN repositories r ON r.id = d.repository_id
            ORDER BY r.name, d.path"""
        return self._rows(sql)
