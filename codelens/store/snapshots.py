"""The log of what an index was, and the digests of documents.

The newest facts are kept whole, older ones as what tells them from the next newer: two states of a tree have most lines in
common. So one is added by making the one before anew, and the oldest goes without a trace.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

import apsw
import zstandard

from codelens.model import DocumentId
from codelens.nouns import dataclass

_LEVEL = 3
"""zstandard's usual; 9 takes four times as long for a twentieth less."""


@dataclass(frozen=True, slots=True)
class LoggedSnapshot:
    """One line of the log."""

    number: int
    snapshot: str
    root: str
    time: int
    """Of the newest head commit, unix seconds; 0 where there is no git."""
    documents: int
    symbols: int
    edges: int
    kept: bool
    """Whether its symbols and edges are still there."""


class SnapshotLog:
    """The gateway to the log."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection

    def rows(self) -> list[LoggedSnapshot]:
        """The newest first."""
        sql = (
            "SELECT number, snapshot, root, time, documents, symbols, edges, facts IS NOT NULL FROM snapshot_log "
            "ORDER BY number DESC"
        )
        rows: list[Any] = self._connection.execute(sql).fetchall()
        return [LoggedSnapshot(n, s, root, at, d, u, e, bool(kept)) for n, s, root, at, d, u, e, kept in rows]

    def facts(self, number: int) -> bytes | None:
        """What was kept of a snapshot; None where that is gone."""
        sql = "SELECT number, facts FROM snapshot_log WHERE number >= ? AND facts IS NOT NULL ORDER BY number DESC"
        newer: bytes | None = None
        for found, blob in self._connection.execute(sql, (number,)):
            newer = _unpacked(bytes(blob), newer)
            if found == number:
                return newer
        return None

    def add(self, line: LoggedSnapshot, facts: bytes, keep: int) -> None:
        """Add a line with its facts, and keep those of `keep` lines, this one among them. Part of the caller's transaction."""
        before = next((row for row in self.rows() if row.kept), None)
        if before is not None and (old := self.facts(before.number)) is not None:
            sql = "UPDATE snapshot_log SET facts = ? WHERE number = ?"
            self._connection.execute(sql, (_packed(old, facts), before.number)).fetchall()
        values = (line.snapshot, line.root, line.time, line.documents, line.symbols, line.edges, _packed(facts, None))
        self._connection.execute(
            "INSERT INTO snapshot_log (snapshot, root, time, documents, symbols, edges, facts) VALUES (?,?,?,?,?,?,?)",
            values,
        ).fetchall()
        sql = (
            "UPDATE snapshot_log SET facts = NULL WHERE facts IS NOT NULL AND number NOT IN "
            "(SELECT number FROM snapshot_log ORDER BY number DESC LIMIT ?)"
        )
        self._connection.execute(sql, (keep,)).fetchall()

    def forget_lines(self, keep: int) -> None:
        """Take out all but the newest lines."""
        sql = "DELETE FROM snapshot_log WHERE number NOT IN (SELECT number FROM snapshot_log ORDER BY number DESC LIMIT ?)"
        self._connection.execute(sql, (keep,)).fetchall()

    # Digests

    def without_digest(self) -> Iterator[tuple[DocumentId, bytes]]:
        """(document, its compressed bytes) of those that have no digest yet."""
        sql = "SELECT d.id, s.bytes FROM documents d JOIN snapshots s ON s.document_id = d.id WHERE d.digest = x''"
        for document, packed in self._connection.execute(sql):
            yield DocumentId(document), bytes(packed)

    def set_digests(self, digests: Iterable[tuple[DocumentId, bytes]]) -> None:
        """Note the SHA-256 of documents."""
        rows = [(digest, document) for document, digest in digests]
        self._connection.executemany("UPDATE documents SET digest = ? WHERE id = ?", rows).fetchall()

    def digests(self) -> list[tuple[str, str, bytes]]:
        """(repository, path, SHA-256) of all documents, in the order of the leaves; empty for one that no run has hashed."""
        sql = (
            "SELECT r.name, d.path, d.digest FROM documents d JOIN repositories r ON r.id = d.repository_id "
            "ORDER BY r.name, d.path"
        )
        rows: list[Any] = self._connection.execute(sql).fetchall()
        return [(str(name), str(path), bytes(digest)) for name, path, digest in rows]


def _packed(facts: bytes, newer: bytes | None) -> bytes:
    """Facts are lines in a fixed order, one a document: an older state is the newer's lines without some and with others."""
    if newer is None:
        return zstandard.ZstdCompressor(level=_LEVEL).compress(facts)
    old, new = facts.split(b"\n"), newer.split(b"\n")
    here, there = frozenset(old), frozenset(new)
    without = [i for i, line in enumerate(new) if line not in here]
    others = [(i, line) for i, line in enumerate(old) if line not in there]
    head = json.dumps([without, [i for i, _ in others]]).encode()
    return zstandard.ZstdCompressor(level=_LEVEL).compress(b"\n".join([head, *(line for _, line in others)]))


def _unpacked(blob: bytes, newer: bytes | None) -> bytes:
    raw = zstandard.ZstdDecompressor().decompress(blob)
    if newer is None:
        return raw
    head, *others = raw.split(b"\n")
    without, places = json.loads(head)
    gone = frozenset(without)
    lines = [line for i, line in enumerate(newer.split(b"\n")) if i not in gone]
    for place, line in zip(places, others, strict=True):  # ascending, so that each comes to stand at its place
        lines.insert(place, line)
    return b"\n".join(lines)
