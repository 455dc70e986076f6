"""An index → what a snapshot remembers of it: the symbols of each document and their edges, by name; and as text, there and back.

Names instead of ids, so that states of different indexes can be compared; a line a document, so that two states share lines.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

from codelens.model import CHUNK_KINDS
from codelens.past import DocumentFacts, EdgeFact, SymbolFact
from codelens.relations import document_node
from codelens.store.store import Store

FORMAT = b'"facts 1"'
"""The first line. Change the number with the lines' form."""

_Home = tuple[int, str]
"""A document's id, and the qualified name of the symbol in it that something belongs to; empty for the file itself."""


def facts_of(store: Store) -> list[DocumentFacts]:
    """The facts of all documents, in the order of repository and path. What is local to a function is part of it."""
    repositories = {row.id: row.name for row in store.documents.repositories()}
    paths = {int(d.id): (repositories[d.repository], d.path) for d in store.documents.rows()}
    digests = {(name, path): digest.hex() for name, path, digest in store.log.digests()}
    homes, symbols = _symbols(store, paths)
    edges = _edges(store, paths, homes)
    return [
        DocumentFacts(
            *paths[document],
            digests[paths[document]],
            tuple(symbols.get(document, ())),
            tuple(sorted(edges.get(document, ()))),
        )
        for document in sorted(paths, key=lambda d: paths[d])
    ]


def _symbols(store: Store, paths: Iterable[int]) -> tuple[dict[int, _Home], dict[int, list[SymbolFact]]]:
    homes: dict[int, _Home] = {document_node(document): (document, "") for document in paths}
    symbols: dict[int, list[SymbolFact]] = {}
    inner: list[tuple[int, int, int]] = []
    for unit, document, parent, kind, name, container, line, signature, local in store.units.outlines():
        qualified = f"{container}.{name}" if container else name
        if kind in CHUNK_KINDS:
            homes[unit] = (document, "")
        elif local:
            inner.append((unit, document, parent or 0))
        else:
            homes[unit] = (document, qualified)
            symbols.setdefault(document, []).append(SymbolFact(kind, qualified, line, " ".join(signature.split())))
    for own, place, around in inner:  # in order of place: the outer before what lies in it
        homes[own] = homes.get(around, (place, ""))
    return homes, symbols


def _edges(store: Store, paths: dict[int, tuple[str, str]], homes: dict[int, _Home]) -> dict[int, set[EdgeFact]]:
    found: dict[int, set[EdgeFact]] = {}
    ends = list(store.edges.ends())
    externals = store.edges.external_names(target for _, _, target in ends if target not in homes)
    for source, kind, target in ends:
        if source not in homes:
            continue
        document, name = homes[source]
        if target in homes:
            there, named = homes[target]
            if (there, named) == (document, name):
                continue
            found.setdefault(document, set()).add(EdgeFact(name, kind, paths[there][1], named))
        elif target in externals:
            found.setdefault(document, set()).add(EdgeFact(name, kind, "", externals[target]))
    return found


def as_text(facts: Iterable[DocumentFacts]) -> bytes:
    """Facts as they are stored: a line a document, in their order."""
    rows = (
        json.dumps([f.repository, f.path, f.sha256, f.symbols, f.edges], separators=(",", ":"), ensure_ascii=True)
        for f in facts
    )
    return b"\n".join([FORMAT, *(row.encode("ascii") for row in rows)])


def from_text(text: bytes) -> Iterator[DocumentFacts]:
    """The facts that a text holds; none where its form is another."""
    head, *rows = text.split(b"\n")
    if head != FORMAT:
        return
    for row in rows:
        repository, path, sha256, symbols, edges = json.loads(row)
        yield DocumentFacts(
            repository, path, sha256, tuple(SymbolFact(*s) for s in symbols), tuple(EdgeFact(*e) for e in edges)
        )
