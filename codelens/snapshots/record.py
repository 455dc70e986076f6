"""Logs the state of the index after a run: a digest of all documents, and how the facts of the state before differ.

Each run that wrote calls this once, in its transaction, so readers see the index together with its log line. The facts of the
newest state follow from the index; another reader still sees the state before.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable, Iterator
from contextlib import closing

from codelens.snapshots.facts import lines_of
from codelens.store.codec import decompress
from codelens.store.snapshots import LoggedSnapshot, OlderFacts
from codelens.store.store import Store

MOST_LINES = 1000  # Most lines of the log, some hundred bytes each


def record_snapshot(store: Store, keep: int, before: tuple[str, str]) -> None:
    """Log this state if it differs from the last. Part of the caller's transaction.

    `keep` is the number of states whose facts are kept; 0 logs nothing. `before` is (snapshot, root) of the last committed state;
    if the last line has others, older facts are dropped. Documents without a digest, from an older version, get one.
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
    is_next = last and last.kept and (last.snapshot, last.root) == before
    older = _older_facts(store) if is_next else None
    histories = [store.history.read(row.id) for row in store.documents.repositories()]
    time = max((history.time for history in histories if history and not history.fault), default=0)
    line = LoggedSnapshot(0, snapshot, root, time, len(leaves), *store.log.counts(), kept=True)
    store.log.add(line, older, keep)
    store.log.forget_lines(MOST_LINES)


def content_digest(documents: Iterable[tuple[str, str, bytes]]) -> str:
    """SHA-256, in hexadecimal, over (repository, path, SHA-256 of the file's bytes) of all documents in order."""
    digest = hashlib.sha256()
    for repository, path, content in documents:
        digest.update(json.dumps([repository, path, content.hex()]).encode() + b"\n")
    return digest.hexdigest()


def _older_facts(store: Store) -> OlderFacts:
    """How the facts of the last committed state differ from those of this one, which is not committed yet.

    A document without an edge or a symbol that was written has the same facts in both.
    """
    with closing(Store.read_unfinished(store.path)) as last:
        before = list(_changed_lines(last, store.changed | _documents(last) - _documents(store)))
    known, without = {text for _, text in before}, list[int]()
    for place, text in _changed_lines(store, store.changed):
        if text in known:
            known.remove(text)
        else:
            without.append(place)
    return OlderFacts(without, [line for line in before if line[1] in known])


def _documents(store: Store) -> set[int]:
    return {document for document, *_ in store.log.leaves()}


def _changed_lines(store: Store, changed: Collection[int]) -> Iterator[tuple[int, bytes]]:
    """(number, text) of the lines of these documents among those of all, from 1; those that the store lacks are left out."""
    paths = {document: (repository, path) for document, repository, path, _ in store.log.leaves()}
    places = {document: place for place, document in enumerate(paths, start=1) if document in changed}
    return zip(places.values(), lines_of(store, paths, list(places)), strict=True)
