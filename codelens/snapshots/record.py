"""Logs the state that a run left, with the Merkle root over all documents and the facts of this state.

Called once by each run that wrote, within its transaction: readers see an index with its line, or neither. An update writes the
lines of the documents that it changed and copies the others; neither text is ever held as a whole.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from typing import NamedTuple

import zstandard

from codelens.merkle import leaf_hash, root_hash
from codelens.snapshots.facts import FORMAT, lines_of, paths_of
from codelens.store.snapshots import LoggedSnapshot, OlderFacts
from codelens.store.store import Store

MOST_LINES = 1000
"""Lines of the log: some hundred bytes each. Chosen."""
LEVEL = 3
"""zstandard's usual; 9 takes four times as long for a twentieth less."""
_HEAD = re.compile(rb'\["(?:[^"\\]|\\.)*","(?:[^"\\]|\\.)*"')
"""The repository and the path that a line begins with."""


class NewFacts(NamedTuple):
    """The facts of a state, and what tells those before from it."""

    text: bytes
    """Compressed."""
    symbols: int
    edges: int
    older: OlderFacts | None


def record_snapshot(store: Store, keep: int, before: tuple[str, str]) -> None:
    """Hash the documents that are new, and log this state where it is another than the last. Part of the caller's transaction.

    `keep` is of how many states the facts stay; 0 logs nothing. `before` are the snapshot and the root before this run: if
    the last line is of them, only the documents in `store.changed` have other facts.
    """
    for document in store.log.without_digest():
        digest = hashlib.sha256()
        for frame in store.frames(document):
            digest.update(zstandard.ZstdDecompressor().decompress(frame))
        store.log.set_digest(document, digest.digest())
    root = merkle_root(store)
    store.set_meta("root", root)
    last = next(iter(store.log.rows()), None)
    snapshot = store.meta("snapshot")
    if not keep:
        store.log.forget_facts(0)
    if not keep or (last and (last.snapshot, last.root) == (snapshot, root)):
        return
    paths = paths_of(store)
    ordered = sorted(paths, key=lambda d: paths[d])
    newest = store.log.newest_facts() if last and (last.snapshot, last.root) == before else None
    old = _lines(newest) if newest else iter(())
    known = last if next(old, b"") == FORMAT else None
    facts = _merged(store, paths, ordered, old, known) if known else _all(store, paths, ordered)
    line = LoggedSnapshot(0, snapshot, root, _time(store), len(ordered), facts.symbols, facts.edges, kept=True)
    store.log.add(line, facts.text, facts.older, keep)
    store.log.forget_lines(MOST_LINES)


def _all(store: Store, paths: dict[int, tuple[str, str]], ordered: list[int]) -> NewFacts:
    out = _Compressed()
    symbols = edges = 0
    for line in lines_of(store, paths, ordered):
        out.add(line.text)
        symbols, edges = symbols + line.symbols, edges + line.edges
    return NewFacts(out.end(), symbols, edges, None)


def _merged(
    store: Store, paths: dict[int, tuple[str, str]], ordered: list[int], old: Iterator[bytes], last: LoggedSnapshot
) -> NewFacts:
    """The old lines with those of changed documents in their places; both are in the order of repository and path."""
    fresh = lines_of(store, paths, [d for d in ordered if d in store.changed])
    out, older = _Compressed(), OlderFacts([], [])
    symbols, edges = last.symbols, last.edges
    line = next(old, None)
    place, number = 1, 0

    def leave(text: bytes) -> None:
        nonlocal symbols, edges
        older.lines.append((place, text))
        row = json.loads(text)
        symbols, edges = symbols - len(row[3]), edges - len(row[4])

    for number, document in enumerate(ordered, start=1):
        while line is not None and _named(line) < paths[document]:
            leave(line)
            line, place = next(old, None), place + 1
        same = line is not None and _named(line) == paths[document]
        if same and document not in store.changed:
            assert line is not None
            out.add(line)
        else:
            new = next(fresh) if document in store.changed else next(lines_of(store, paths, [document]))
            out.add(new.text)
            if line is None or not same or new.text != line:
                older.without.append(number)
                symbols, edges = symbols + new.symbols, edges + new.edges
                if same and line is not None:
                    leave(line)
        if same:
            line, place = next(old, None), place + 1
    while line is not None:
        leave(line)
        line, place = next(old, None), place + 1
    return NewFacts(out.end(), symbols, edges, older)


def _named(line: bytes) -> tuple[str, str]:
    """(repository, path) of a line."""
    head = _HEAD.match(line)
    assert head is not None
    repository, path = json.loads(head[0] + b"]")
    return repository, path


class _Compressed:
    """Lines that are compressed as they come."""

    def __init__(self) -> None:
        self._compressor = zstandard.ZstdCompressor(level=LEVEL).compressobj()
        self._parts = [self._compressor.compress(FORMAT)]

    def add(self, line: bytes) -> None:
        self._parts.append(self._compressor.compress(b"\n" + line))

    def end(self) -> bytes:
        return b"".join([*self._parts, self._compressor.flush()])


def _lines(packed: bytes) -> Iterator[bytes]:
    """The lines of a compressed text, read a piece at a time."""
    with zstandard.ZstdDecompressor().stream_reader(packed) as reader:
        rest = b""
        while piece := reader.read(1 << 18):
            *whole, rest = (rest + piece).split(b"\n")
            yield from whole
        yield rest


def merkle_root(store: Store) -> str:
    """Of all documents as they are hashed, in hexadecimal."""
    return root_hash([leaf_hash(*document) for document in store.log.digests()]).hex()


def _time(store: Store) -> int:
    reads = [store.history.read(row.id) for row in store.documents.repositories()]
    return max((read.time for read in reads if read and not read.fault), default=0)
