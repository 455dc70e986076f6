"""The embedder that an index's vectors are of: a query must be embedded by just that one."""

from __future__ import annotations

from contextlib import suppress

from codelens.embed import HASHING, open_embedder
from codelens.embed.base import Embedder
from codelens.errors import UsageError
from codelens.store.store import Store


def embedder_of_index(store: Store, setting: str) -> Embedder | None:
    """The one that the `setting` names, else the one that the index was made with; None where neither makes these vectors."""
    made = store.meta("embedder_fingerprint")
    for name in dict.fromkeys((setting, store.meta("embedder_setting"), HASHING)):
        with suppress(UsageError):
            if name and (embedder := open_embedder(name)).fingerprint() == made:
                return embedder
    return None
