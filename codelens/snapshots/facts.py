"""The facts that a snapshot keeps: the symbols and edges of each document by name; written as text and read again.

Names instead of ids, so that states of different indexes can be compared. One line per document, so that two states share lines.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence

from codelens.model.code import CHUNK_KINDS, DocumentId
from codelens.model.graph import Node
from codelens.model.history import EdgeFact, SnapshotDocument, SymbolFact
from codelens.store.store import Store

FORMAT = b'"facts 1"'  # The first line. Change the number when the format of lines changes.
AT_ONCE = 200  # Number of documents read together, which bounds memory

_Home = tuple[int, str]  # (document id, qualified name of the symbol that a node belongs to; empty for the file itself)


def facts_of(store: Store, number: int | None = None) -> list[SnapshotDocument] | None:
    """The facts of all documents, by repository and path, of a logged state or of the index as it is; None if they are gone.

    Definitions local to a function are part of it.
    """
    paths = {document: (repository, path) for document, repository, path, _ in store.log.leaves()}
    text: bytes | None = b"\n".join([FORMAT, *lines_of(store, paths, list(paths))])
    if number is not None:
        text = store.log.facts(number, text or b"")
    return None if text is None else list(from_text(text))


def lines_of(store: Store, paths: dict[int, tuple[str, str]], documents: Sequence[int]) -> Iterator[bytes]:
    """The facts of these documents, in their order, read a batch at a time."""
    for at in range(0, len(documents), AT_ONCE):
        batch = [DocumentId(document) for document in documents[at : at + AT_ONCE]]
        digests = store.log.digests_of(batch)
        symbols = _symbols(store, batch)
        edges = _edges(store, paths, batch)
        for document in batch:
            own, ends = symbols.get(document, []), sorted(edges.get(document, ()))
            row = [*paths[document], digests[document].hex(), own, ends]
            yield json.dumps(row, separators=(",", ":"), ensure_ascii=True).encode("ascii")


def _symbols(store: Store, documents: Sequence[DocumentId]) -> dict[int, list[SymbolFact]]:
    symbols: dict[int, list[SymbolFact]] = {}
    for document, kind, name, container, line, signature in store.units.outlines(documents):
        qualified = f"{container}.{name}" if container else name
        symbols.setdefault(document, []).append(SymbolFact(kind, qualified, line, " ".join(signature.split())))
    return symbols


def _edges(
    store: Store, paths: dict[int, tuple[str, str]], documents: Sequence[DocumentId]
) -> dict[int, set[EdgeFact]]:
    ends = list(store.edges.ends_from(documents))
    homes = _homes(store, {node for source, _, target in ends for node in (source, target)}, paths)
    externals = store.edges.external_names(target for _, _, target in ends if target not in homes)
    found: dict[int, set[EdgeFact]] = {}
    for source, kind, target in ends:
        if source not in homes:
            continue
        document, name = homes[source]
        if target in homes:
            there, named = homes[target]
            if (there, named) == (document, name):
                continue
            found.setdefault(document, set()).add(EdgeFact(name, kind, paths[there][1], named))
        elif named := externals.get(Node(target), ""):
            found.setdefault(document, set()).add(EdgeFact(name, kind, "", named))
    return found


def _homes(store: Store, nodes: Iterable[int], paths: dict[int, tuple[str, str]]) -> dict[int, _Home]:
    """Node → its symbol, the symbol it is local to, or the file; externals are left out."""
    homes: dict[int, _Home] = {}
    inner: list[tuple[int, int, int]] = []
    wanted = set(nodes)
    homes.update({node: (-node, "") for node in wanted if -node in paths})
    while wanted:
        rows = store.units.places(wanted)
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


def from_text(text: bytes) -> Iterator[SnapshotDocument]:
    """The facts in a text; none if it has another format."""
    head, *rows = text.split(b"\n")
    if head != FORMAT:
        return
    for row in rows:
        repository, path, sha256, symbols, edges = json.loads(row)
        yield SnapshotDocument(
            repository, path, sha256, tuple(SymbolFact(*s) for s in symbols), tuple(EdgeFact(*e) for e in edges)
        )
