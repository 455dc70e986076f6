"""Read and record the facts of a snapshot: the symbols and edges of each document, by name.

Names, unlike ids, can be compared between indexes. Each document has one line, so that two states share most lines.

A run that changes the index logs its state in the same transaction. The facts of the newest state are read from the index
itself; those of the state before are read through another connection, which still sees that state.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import closing
from itertools import islice

from codelens.model.code import CHUNK_KINDS, DocumentId
from codelens.model.graph import Node
from codelens.model.history import EdgeFact, SnapshotDocument, SymbolFact
from codelens.store.codec import decompress
from codelens.store.snapshots import LoggedSnapshot, OlderFacts
from codelens.store.store import Store

FORMAT = b'"facts 1"'  # The first line. Change the number when the format of lines changes.
MOST_LINES = 1000  # Most lines of the log, some hundred bytes each
AT_ONCE = 200  # Number of documents read together, which bounds memory

_Home = tuple[int, str]  # (document id, qualified name of the symbol to which a node belongs; empty for the file)


def read_facts(store: Store, number: int | None = None) -> list[SnapshotDocument] | None:
    """Read the facts of all documents, in the logged state `number` or now; None if they are no longer stored."""
    paths = {document: (repository, path) for document, repository, path, _ in store.log.list_digests()}
    text: bytes | None = b"\n".join([FORMAT, *read_fact_lines(store, paths, list(paths))])
    if number is not None:
        text = store.log.read_facts(number, text or b"")
    return None if text is None else list(parse_facts(text))


def read_fact_lines(store: Store, paths: dict[int, tuple[str, str]], documents: Sequence[int]) -> Iterator[bytes]:
    """Read the facts of these documents in batches, as one line of JSON per document, in their order."""
    for at in range(0, len(documents), AT_ONCE):
        batch = [DocumentId(document) for document in documents[at : at + AT_ONCE]]
        digests = store.log.read_digests(batch)
        symbols: dict[int, list[SymbolFact]] = {}
        for i, kind, name, container, line, signature in store.units.list_outlines(batch):
            qualified = f"{container}.{name}" if container else name
            symbols.setdefault(i, []).append(SymbolFact(kind, qualified, line, " ".join(signature.split())))
        edges = _read_edges(store, paths, batch)
        for document in batch:
            facts = symbols.get(document, []), sorted(edges.get(document, ()))
            row = [*paths[document], digests[document].hex(), *facts]
            yield json.dumps(row, separators=(",", ":"), ensure_ascii=True).encode("ascii")


def _read_edges(
    store: Store, paths: dict[int, tuple[str, str]], documents: Sequence[DocumentId]
) -> dict[int, set[EdgeFact]]:
    """Read the edges of documents by name, without edges inside one symbol: document → edges."""
    ends = list(store.edges.list_ends(documents))
    homes = _find_homes(store, {node for source, _, target in ends for node in (source, target)}, paths)
    externals = store.edges.read_external_names(target for _, _, target in ends if target not in homes)
    by_document: dict[int, set[EdgeFact]] = {}
    for source, kind, target in ends:
        if source not in homes:
            continue
        document, name = homes[source]
        if target in homes:
            there, named = homes[target]
            if (there, named) == (document, name):
                continue
            by_document.setdefault(document, set()).add(EdgeFact(name, kind, paths[there][1], named))
        elif named := externals.get(Node(target), ""):
            by_document.setdefault(document, set()).add(EdgeFact(name, kind, "", named))
    return by_document


def _find_homes(store: Store, nodes: Iterable[int], paths: dict[int, tuple[str, str]]) -> dict[int, _Home]:
    """Map each node to its symbol, to the symbol in which it is local, or to its file; externals are left out."""
    inner: list[tuple[int, int, int]] = []
    wanted = set(nodes)
    homes: dict[int, _Home] = {node: (-node, "") for node in wanted if -node in paths}
    while wanted:
        rows = store.units.read_places(wanted)
        wanted = set()
        for unit, document, parent, kind, name, container, local in rows:
            if kind in CHUNK_KINDS:
                homes[unit] = (document, "")
            elif not local:
                homes[unit] = (document, f"{container}.{name}" if container else name)
            else:
                inner.append((unit, document, parent or 0))
                if parent is not None and parent not in homes:
                    wanted.add(parent)
    for unit, document, around in reversed(inner):  # outer units were read after the inner ones
        homes[unit] = homes.get(around, (document, ""))
    return homes


def parse_facts(text: bytes) -> Iterator[SnapshotDocument]:
    """Parse the facts in a text; yields nothing if it has another format."""
    head, *rows = text.split(b"\n")
    if head != FORMAT:
        return
    for row in rows:
        repository, path, sha256, symbols, edges = json.loads(row)
        facts = tuple(SymbolFact(*s) for s in symbols), tuple(EdgeFact(*e) for e in edges)
        yield SnapshotDocument(repository, path, sha256, *facts)


def record_snapshot(store: Store, keep: int, before: tuple[str, str]) -> None:
    """Log the current state if it differs from the last one, in the caller's transaction.

    `keep`: number of states whose facts are kept; 0 logs nothing. `before`: (snapshot, root) of the last committed state; if the
    last line of the log differs, older facts are dropped. Documents from an older version get their missing digest.
    """
    for document in store.log.list_without_digest():
        digest = hashlib.sha256()
        for frame in store.read_frames(document):
            digest.update(decompress(frame))
        store.log.set_digest(document, digest.digest())
    leaves = store.log.list_digests()
    root = compute_content_digest((repository, path, digest) for _, repository, path, digest in leaves)
    store.set_meta("root", root)
    last = next(iter(store.log.list_snapshots()), None)
    snapshot = store.read_meta("snapshot")
    if not keep:
        store.log.forget_facts(0)
    if not keep or (last and (last.snapshot, last.root) == (snapshot, root)):
        return
    is_next = last and last.kept and (last.snapshot, last.root) == before
    older = _find_older_facts(store) if is_next else None
    histories = [store.history.read(row.id) for row in store.documents.list_repositories()]
    time = max((history.time for history in histories if history and not history.fault), default=0)
    line = LoggedSnapshot(0, snapshot, root, time, len(leaves), *store.log.count_symbols_and_edges(), kept=True)
    store.log.add(line, older, keep)
    store.log.forget_lines(MOST_LINES)


def compute_content_digest(documents: Iterable[tuple[str, str, bytes]]) -> str:
    """Compute a SHA-256, in hex digits, over (repository, path, SHA-256 of the file's bytes) of all documents in order."""
    digest = hashlib.sha256()
    for repository, path, content in documents:
        digest.update(json.dumps([repository, path, content.hex()]).encode() + b"\n")
    return digest.hexdigest()


def _find_older_facts(store: Store) -> OlderFacts:
    """Find how the facts of the last committed state differ from those of the current, uncommitted one.

    A document has the same facts in both states if none of its symbols and edges was written.
    """
    older = OlderFacts()
    with closing(Store.read_unfinished(store.path)) as last:
        before, now = _FactReader(last), _FactReader(store)
        gone = before.places.keys() - now.places.keys()
        changed_paths = before.list_paths(store.changed | gone) | now.list_paths(store.changed)

        # A line names its document, so only lines of one path can be equal.
        remaining = iter(sorted(changed_paths))
        while batch := list(islice(remaining, AT_ONCE)):
            old_lines = before.read_lines(batch)
            new_lines = now.read_lines(batch)
            without = [place for text, place in new_lines.items() if text not in old_lines]
            lost = {place: text for text, place in old_lines.items() if text not in new_lines}
            older.add_batch(without, lost)
    return older


class _FactReader:
    """Reads the fact lines of some documents in one state of the index."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._paths = {document: (repository, path) for document, repository, path, _ in store.log.list_digests()}
        self._documents = {path: document for document, path in self._paths.items()}
        self.places = {document: place for place, document in enumerate(self._paths, start=1)}
        """Document → its line among those of all documents, from 1."""

    def list_paths(self, documents: Collection[int]) -> set[tuple[str, str]]:
        """List the (repository, path) of those documents that exist in this state."""
        return {self._paths[document] for document in documents if document in self._paths}

    def read_lines(self, paths: Iterable[tuple[str, str]]) -> dict[bytes, int]:
        """Read the lines of documents, with their places. Leaves out paths that this state lacks."""
        documents = [self._documents[path] for path in paths if path in self._documents]
        lines = read_fact_lines(self._store, self._paths, documents)
        return {line: self.places[document] for line, document in zip(lines, documents, strict=True)}
