"""Logs the state that a run left, with the Merkle root over all documents and the facts of this state.

Called once by each run that wrote, within its transaction: readers see an index with its line, or neither. An update replaces the
lines of the documents that it changed and copies pieces of the old text that hold none of them; neither text is ever held whole.
"""

from __future__ import annotations

import hashlib
import json
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from typing import NamedTuple

import zstandard

from codelens.errors import IndexCorrupt
from codelens.merkle import leaf_hash, root_hash
from codelens.snapshots.facts import FORMAT, FactsLine, lines_of
from codelens.store.compressed import decompress
from codelens.store.snapshots import LoggedSnapshot, OlderFacts
from codelens.store.store import Store

MOST_LINES = 1000
"""Lines of the log: some hundred bytes each. Chosen."""
PIECE = 1 << 15
"""Bytes of text that are read at a time. Chosen."""
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
    """Log this state where it is another than the last. Part of the caller's transaction.

    `keep` is of how many states the facts stay; 0 logs nothing. `before` are the snapshot and the root before this run: if
    the last line is of them, only the documents in `store.changed` have other facts. Documents without a digest, which an
    older version wrote, get one.
    """
    for document in store.log.without_digest():
        digest = hashlib.sha256()
        for frame in store.frames(document):
            digest.update(decompress(frame))
        store.log.set_digest(document, digest.digest())
    leaves = store.log.leaves()
    root = root_hash([leaf_hash(repository, path, digest) for _, repository, path, digest in leaves]).hex()
    store.set_meta("root", root)
    last = next(iter(store.log.rows()), None)
    snapshot = store.meta("snapshot")
    if not keep:
        store.log.forget_facts(0)
    if not keep or (last and (last.snapshot, last.root) == (snapshot, root)):
        return
    paths = {document: (repository, path) for document, repository, path, _ in leaves}
    ordered = list(paths)
    newest = store.log.newest_facts() if last and (last.snapshot, last.root) == before else None
    old = _pieces(newest) if newest else iter(())
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
    """The old lines with those of changed documents in their places; both are in the order of repository and path.

    A document that the old text lacks was added by this run, and so is among those in `store.changed`: a piece with as many
    lines as there are documents up to its last line, none of them changed, has just their lines.
    """
    names = [paths[document] for document in ordered]
    changed = [number for number, document in enumerate(ordered) if document in store.changed]
    fresh = lines_of(store, paths, [ordered[number] for number in changed])
    out, older = _Compressed(), OlderFacts([], [])
    symbols, edges = last.symbols, last.edges
    place, number = 1, 0
    """Line of the old text; document."""

    def write(new: FactsLine) -> None:
        nonlocal symbols, edges
        out.add(new.text)
        older.without.append(number)
        symbols, edges = symbols + new.symbols, edges + new.edges

    def leave(text: bytes) -> None:
        nonlocal symbols, edges
        older.lines.append((place, text))
        row = json.loads(text)
        symbols, edges = symbols - len(row[3]), edges - len(row[4])

    for piece in old:
        until = bisect_right(names, _named(piece[piece.rfind(b"\n") + 1 :]), number)
        following = bisect_left(changed, number)
        untouched = following == len(changed) or changed[following] >= until
        if untouched and until - number == piece.count(b"\n") + 1:
            out.add(piece)
            place, number = place + until - number, until
            continue
        for line in piece.split(b"\n"):
            named = _named(line)
            while number < len(names) and names[number] < named:
                number += 1
                write(next(fresh))
            if number == len(names) or names[number] != named:
                leave(line)
            else:
                number += 1
                new = next(fresh) if ordered[number - 1] in store.changed else None
                if new is None or new.text == line:
                    out.add(line)
                else:
                    write(new)
                    leave(line)
            place += 1
    while number < len(names):
        number += 1
        write(next(fresh))
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


LONGEST_LINE = 1 << 24
"""Bytes. A line is a symbol or an edge with its names."""


def _pieces(packed: bytes) -> Iterator[bytes]:
    """The first line of a compressed text, then the others in pieces of whole lines."""
    with zstandard.ZstdDecompressor().stream_reader(packed) as reader:
        begun, rest = False, b""
        while piece := reader.read(PIECE):
            rest += piece
            if not begun and b"\n" in rest:
                first, _, rest = rest.partition(b"\n")
                begun = True
                yield first
            whole, _, rest = rest.rpartition(b"\n")
            if whole:
                yield whole
            if len(rest) > LONGEST_LINE:
                raise IndexCorrupt("a logged snapshot has a line that no run wrote")
        if rest:
            yield rest


def _time(store: Store) -> int:
    reads = [store.history.read(row.id) for row in store.documents.repositories()]
    return max((read.time for read in reads if read and not read.fault), default=0)
