"""The embedder that an index's vectors are of: a query must be embedded by just that one."""

from __future__ import annotations

from contextlib import suppress
from weakref import WeakKeyDictionary

from codelens.config import Settings
from codelens.embed import HASHING, lasting_name, open_embedder, open_noted
from codelens.embed.base import Embedder
from codelens.errors import UsageError
from codelens.model import Notice
from codelens.search.expand import ExpandedQuery
from codelens.store.store import Store

LENGTH = 127.0
"""Of a stored vector: int8, normalised."""


def cosine(distance: float) -> float:
    """Of two vectors of length 127 that lie this far apart: |a - b|² = 2 · 127² · (1 - cos)."""
    return 1.0 - distance * distance / (2.0 * LENGTH * LENGTH)


def embedder_of_index(store: Store, settings: Settings) -> Embedder | None:
    """The one that the settings name, else the one that the index was made with; None where neither makes these vectors."""
    made = store.meta("embedder_fingerprint")
    with suppress(UsageError):
        if (embedder := open_embedder(settings.model, settings.allow_network)).fingerprint() == made:
            return embedder
    for name in (store.meta("embedder_setting"), HASHING):
        with suppress(UsageError):
            if name and (embedder := open_noted(name)).fingerprint() == made:
                return embedder
    return None


def why_no_embedder(store: Store, settings: Settings) -> Notice:
    """Why a search cannot embed its query as the index wants it: where its model is the setting's, what it lacks."""
    if lasting_name(settings.model) == store.meta("embedder_setting"):
        try:
            open_embedder(settings.model, settings.allow_network)
        except UsageError as fault:
            return Notice("no-model", f"no vector results: {fault}; {fault.hint}")
    other = store.meta("embedder")
    return Notice("other-embedder", f"the vectors are of another embedder ({other}): run `codelens index`")


def vector_of(query: ExpandedQuery, store: Store, settings: Settings) -> bytes:
    """The query's vector by the index's embedder; empty where its text says nothing. Raises EmbedderFault.

    Who asks a second time for one search is not sent to a slow model, or over a network, again.
    """
    embedder = embedder_of_index(store, settings)
    if query.vector or embedder is None:
        return query.vector
    asked = embedder.fingerprint(), query.text
    known = _LAST.get(store)
    if known is None or known[0] != asked:
        known = _LAST[store] = asked, embedder.embed_query(query.text)
    return known[1]


_LAST: WeakKeyDictionary[Store, tuple[tuple[str, str], bytes]] = WeakKeyDictionary()
"""Open index → (embedder's fingerprint, text) and the vector, of what it was asked for last."""
