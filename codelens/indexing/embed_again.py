"""Documents without vectors, or with those of another embedder → with those of today's.

The index holds the text and the units, so a change of the model reads no file and parses nothing. It concerns all documents,
those of repositories that a run does not look at too: vectors of two embedders never lie side by side. Embedders that are slow
are asked here alone, for many documents at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace

from codelens.config import Settings
from codelens.derived import DecodedText
from codelens.embed import lasting_name, open_noted
from codelens.embed.base import Embedder
from codelens.errors import EmbedderFault, UsageError
from codelens.indexing.embedding import Pieces, embed_pieces, embedder_of, pieces_of
from codelens.indexing.extract import searched_texts, units_in_text, units_mapped
from codelens.indexing.transaction import LazyTransaction
from codelens.runs import Progress, ProgressSink
from codelens.store.documents import DocumentRow
from codelens.store.store import Store
from codelens.text.lines import TextMap
from codelens.texts import Texts

Embedded = tuple[DocumentRow, Pieces, bool]
"""A document, the pieces of each unit of one of its parts (of all of it, if it is not large), and whether the part is its last."""
AT_ONCE = 256
"""Pieces that an embedder is given together, as far as whole documents: four requests to an endpoint. Chosen."""


def as_made(store: Store, settings: Settings) -> Settings:
    """The settings with the model that the index was made with, if it still can be opened."""
    made = store.meta("embedder_setting")
    if not made or made == lasting_name(settings.model):
        return settings
    with suppress(UsageError):
        if open_noted(made).fingerprint() == store.meta("embedder_fingerprint"):
            return replace(settings, model=made)
    return settings


def embed_again(
    store: Store, settings: Settings, transaction: LazyTransaction, progress: ProgressSink | None
) -> tuple[int, int]:
    """Give all documents of the index vectors of the embedder that the settings name, and say so.

    (documents that had none of its, those among them that had another's). Raises EmbedderFault where an embedder gives vectors
    of other dimensions than before.
    """
    embedder = embedder_of(settings)
    if embedder is None:
        return 0, 0
    before = store.documents.embedded_by_others(embedder.fingerprint())
    others = store.documents.embedded_otherwise(embedder.fingerprint())
    width, number = _known_width(store, embedder), 0
    held: list[tuple[bytes, ...]] = []
    """Vectors of the parts before of a large document."""
    for group in _groups(store, others):
        vectors = embed_pieces([unit for _, pieces, _ in group for unit in pieces], embedder)
        width = _one_width(vectors, width, embedder)
        at = 0
        for document, pieces, is_last in group:
            held += vectors[at : at + len(pieces)]
            at += len(pieces)
            if not is_last:
                continue
            transaction.begin()
            store.embed_again(document.id, held, embedder.fingerprint())
            transaction.batch(document.stamp.size)
            held, number = [], number + 1
            if progress:
                progress(Progress("embed", number, len(others), document.path))
    _remember(store, settings, embedder, width, transaction)
    return len(others), before


def _groups(store: Store, documents: Sequence[DocumentRow]) -> Iterator[list[Embedded]]:
    """Documents, large ones part by part, as many as together have AT_ONCE pieces."""
    group: list[Embedded] = []
    size = 0
    for document in documents:
        for pieces, is_last in _pieces(store, document):
            group.append((document, pieces, is_last))
            size += sum(map(len, pieces))
            if size >= AT_ONCE:
                yield group
                group, size = [], 0
    if group:
        yield group


def _pieces(store: Store, document: DocumentRow) -> Iterator[tuple[Pieces, bool]]:
    """For each part of a document the pieces of its units, and whether it is the last part."""
    text, stored = Texts(store).of(document), store.units.stored(document.id)
    last = len(text.places) - 1
    for number in range(last + 1):
        span = text.span_of(number)
        own = [u for u in stored if span.start <= u.span.start < span.end] if last else stored
        # The map counts from where its text begins: in the first part behind the byte order mark.
        mapped = TextMap(DecodedText(text.stored(span), document.encoding, 1.0, 0 if number else document.bom))
        units = units_in_text(units_mapped(own, lambda offset, start=span.start: offset - start), mapped)  # type: ignore[misc]
        found = pieces_of(document.path, document.language, units, searched_texts(mapped, document.language, units))
        yield found, number == last


def _known_width(store: Store, embedder: Embedder) -> int:
    """Bytes of a vector that this embedder gave the index before; 0 if it gave none."""
    if store.meta("embedder_fingerprint") != embedder.fingerprint():
        return 0
    return int(store.meta("embedder_width") or 0)


def _one_width(vectors: Sequence[Sequence[bytes]], width: int, embedder: Embedder) -> int:
    """The width of all these vectors, which is `width` unless that is 0. What others run may change behind its name."""
    found = {len(vector) for unit in vectors for vector in unit} | ({width} if width else set())
    if len(found) > 1:
        widths = " and ".join(map(str, sorted(found)))
        raise EmbedderFault(
            f"{embedder.name} gives vectors of {widths} dimensions: it is no longer the model that it was",
            "`codelens clean --cache`, then `codelens index --rebuild`",
        )
    return next(iter(found), 0)


def _remember(store: Store, settings: Settings, embedder: Embedder, width: int, transaction: LazyTransaction) -> None:
    """Note in the index by whom all its vectors were made, and how wide those of a slow one are."""
    now = {
        "embedder": embedder.name,
        "embedder_fingerprint": embedder.fingerprint(),
        "embedder_setting": lasting_name(settings.model),
        "embedder_width": str(width) if embedder.slow and width else "",
    }
    if any(store.meta(key) != value for key, value in now.items()):
        transaction.begin()
        for key, value in now.items():
            store.set_meta(key, value)
