"""What a run left → a line in the log, with the Merkle root over all documents and the facts of this state.

Called once a run that wrote, within its transaction: readers see an index with its line, or neither.
"""

from __future__ import annotations

import hashlib

import zstandard

from codelens.merkle import leaf_hash, root_hash
from codelens.snapshots.facts import as_text, facts_of
from codelens.store.snapshots import LoggedSnapshot
from codelens.store.store import Store

MOST_LINES = 1000
"""Lines of the log: some hundred bytes each. Chosen."""


def record_snapshot(store: Store, keep: int) -> None:
    """Hash the documents that are new, and log this state where it is another than the last. Part of the caller's transaction.

    `keep` is of how many states the facts stay; 0 logs nothing.
    """
    store.log.set_digests(
        [
            (document, hashlib.sha256(zstandard.ZstdDecompressor().decompress(packed)).digest())
            for document, packed in store.log.without_digest()
        ]
    )
    root = merkle_root(store)
    store.set_meta("root", root)
    last = next(iter(store.log.rows()), None)
    snapshot = store.meta("snapshot")
    if not keep or (last and (last.snapshot, last.root) == (snapshot, root)):
        return
    facts = facts_of(store)
    numbers = (len(facts), sum(len(f.symbols) for f in facts), sum(len(f.edges) for f in facts))
    store.log.add(LoggedSnapshot(0, snapshot, root, _time(store), *numbers, kept=True), as_text(facts), keep)
    store.log.forget_lines(MOST_LINES)


def merkle_root(store: Store) -> str:
    """Of all documents as they are hashed, in hexadecimal."""
    return root_hash([leaf_hash(*document) for document in store.log.digests()]).hex()


def _time(store: Store) -> int:
    reads = [store.history.read(row.id) for row in store.documents.repositories()]
    return max((read.time for read in reads if read and not read.fault), default=0)
