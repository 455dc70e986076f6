"""Logs the state of the index after a run: a digest of all documents, and the facts of this state.

Each run that wrote calls this once, in its transaction, so readers see the index together with its log line. An update
replaces the lines of changed documents and copies pieces of the old text without such lines. Neither text is held in memory
as a whole.
"""

from __future__ import annotations

import hashlib
import json
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from codelens.errors import IndexCorrupt
from codelens.snapshots.facts import FORMAT, FactsLine, lines_of
from codelens.store.codec import decompress, decompressed_pieces
from codelens.store.snapshots import LoggedSnapshot, OlderFacts
from codelens.store.store import Store
from codelens.text.lazily import lazy_pattern
from codelens.zstd import zstd

MOST_LINES = 1000  # Most lines of the log, some hundred bytes each
PIECE = 1 << 15  # Bytes of text read at a time
LEVEL = 3  # zstd's default; level 9 takes four times as long to save a twentieth
_HEAD = lazy_pattern(rb'\["(?:[^"\\]|\\.)*","(?:[^"\\]|\\.)*"')  # The repository and the path that a line begins with


class NewFacts(NamedTuple):
    """The facts of a state, and how those of the previous state differ from them."""

    text: bytes
    """Compressed."""
    symbols: int
    edges: int
    older: OlderFacts | None


def record_snapshot(store: Store, keep: int, before: tuple[str, str]) -> None:
    """Log this state if it differs from the last. Part of the caller's transaction.

    `keep` is the number of states whose facts are kept; 0 logs nothing. `before` is (snapshot, root) before this run: if the
    last line has them, only documents in `store.changed` have other facts. Documents without a digest, from an older
    version, get one.
    """
    for document in store.log.without_digest():
        digest = hashlib.sha256()
        for frame in store.frames(document):
            digest.update(decompress(frame))
        store.log.set_digest(document, digest.digest())
    leaves = store.log.leaves()
    root = content_digest((repository, path, digest) for _, repository, path, digest in leaves)
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


def rename_facts(store: Store, before: str, after: str) -> None:
    """Let the newest logged facts follow the only repository, which was renamed. Part of the caller's transaction."""
    packed = store.log.newest_facts()
    pieces = _pieces(packed) if packed and before != after else iter(())
    if next(pieces, b"") != FORMAT:
        return
    old, new = (f"[{json.dumps(name)},".encode() for name in (before, after))
    out = _Compressed()
    for piece in pieces:
        out.add((b"\n" + piece).replace(b"\n" + old, b"\n" + new)[1:])
    store.log.set_newest_facts(out.end())


def content_digest(documents: Iterable[tuple[str, str, bytes]]) -> str:
    """SHA-256, in hexadecimal, over (repository, path, SHA-256 of the file's bytes) of all documents in order."""
    digest = hashlib.sha256()
    for repository, path, content in documents:
        digest.update(json.dumps([repository, path, content.hex()]).encode() + b"\n")
    return digest.hexdigest()


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
    """Merge the old lines with those of changed documents; both are in order of repository and path.

    A document missing from the old text was added by this run and so is in `store.changed`. Therefore a piece with as many
    lines as there are documents up to its last line, none of them changed, can be copied.
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
    """A text that is compressed line by line."""

    def __init__(self) -> None:
        self._compressor = zstd.ZstdCompressor(level=LEVEL)
        self._parts = [self._compressor.compress(FORMAT)]

    def add(self, line: bytes) -> None:
        self._parts.append(self._compressor.compress(b"\n" + line))

    def end(self) -> bytes:
        return b"".join([*self._parts, self._compressor.flush()])


LONGEST_LINE = 1 << 24  # Most bytes of a line


def _pieces(packed: bytes) -> Iterator[bytes]:
    """The first line of a compressed text, then the others in pieces of whole lines."""
    begun, rest = False, b""
    for piece in decompressed_pieces(packed, PIECE):
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
