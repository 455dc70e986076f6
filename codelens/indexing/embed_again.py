"""Vectors that another embedder made → those of today's.

The index holds the text and the units, so a change of the model reads no file and parses nothing. It concerns all documents,
those of repositories that a run does not look at too: vectors of two embedders never lie side by side.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

from codelens.config import Settings
from codelens.derived import DecodedText
from codelens.embed import lasting_name, open_embedder
from codelens.embed.base import Embedder
from codelens.errors import UsageError
from codelens.indexing.embedding import embed, embedder_of
from codelens.indexing.extract import own_texts, units_in_text
from codelens.indexing.transaction import LazyTransaction
from codelens.runs import Progress, ProgressSink
from codelens.store.documents import DocumentRow
from codelens.store.store import Store
from codelens.text.lines import TextMap
from codelens.texts import Texts


def as_made(store: Store, settings: Settings) -> Settings:
    """The settings with the model that the index was made with, if it still can be opened."""
    made = store.meta("embedder_setting")
    with suppress(UsageError):
        if made and open_embedder(made).fingerprint() == store.meta("embedder_fingerprint"):
            return replace(settings, model=made)
    return settings


def embed_again(store: Store, settings: Settings, transaction: LazyTransaction, progress: ProgressSink | None) -> int:
    """Give all documents of the index vectors of the embedder that the settings name, and say so. How many had others."""
    embedder = embedder_of(settings)
    if embedder is None:
        return 0
    others = store.documents.embedded_otherwise(embedder.fingerprint())
    for number, document in enumerate(others, start=1):
        transaction.begin()
        _embed_document(store, document, embedder)
        transaction.batch(document.stamp.size)
        if progress:
            progress(Progress("embed", number, len(others), document.path))
    _remember(store, settings, embedder, transaction)
    return len(others)


def _embed_document(store: Store, document: DocumentRow, embedder: Embedder) -> None:
    text = Texts(store).of(document).text
    mapped = TextMap(DecodedText(text, document.encoding, 1.0, document.bom))
    units = units_in_text(store.units.stored(document.id), mapped)
    vectors = embed(document.path, document.language, units, own_texts(mapped, units), embedder)
    store.embed_again(document.id, vectors, embedder.fingerprint())


def _remember(store: Store, settings: Settings, embedder: Embedder, transaction: LazyTransaction) -> None:
    """Note in the index by whom all its vectors were made."""
    now = {
        "embedder": embedder.name,
        "embedder_fingerprint": embedder.fingerprint(),
        "embedder_setting": lasting_name(settings.model),
    }
    if any(store.meta(key) != value for key, value in now.items()):
        transaction.begin()
        for key, value in now.items():
            store.set_meta(key, value)
