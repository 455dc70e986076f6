"""Units and their texts → vectors, by the embedder that the settings name."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from codelens.config import Settings, vectors_file
from codelens.derived import Unit
from codelens.embed import open_embedder
from codelens.embed.base import EmbeddedFields, Embedder
from codelens.indexing.cutting import windows
from codelens.indexing.extract import quoted_units
from codelens.indexing.keeping import KeepingEmbedder
from codelens.lang.registry import languages
from codelens.model import TODO

DOC_LINES = 3
"""Of a doc comment, embedded with the signature; all of it is in the body or the doc's own postings."""


def embedder_of(settings: Settings) -> Embedder | None:
    """What makes vectors by these settings; None where none are wanted. Raises UsageError for a model that cannot be read."""
    embedder = open_embedder(settings.model, settings.allow_network) if settings.vector else None
    file = vectors_file() if embedder and embedder.slow else None
    return KeepingEmbedder(embedder, file) if embedder and file else embedder


def workers_embedder(settings: Settings) -> Embedder | None:
    """The same for a worker; None for a slow one too, whose vectors are made when all files are read (`embed_again`)."""
    embedder = open_embedder(settings.model, settings.allow_network) if settings.vector else None
    return None if embedder and embedder.slow else embedder


def embed(
    path: str, language: str, units: Sequence[Unit], own: Sequence[str], embedder: Embedder | None
) -> tuple[tuple[bytes, ...], ...]:
    """For each unit the vectors of its pieces; pieces without a token have none, nor has a language that is not embedded."""
    return embed_pieces(pieces_of(path, language, units, own), embedder) if embedder else ((),) * len(own)


Pieces = Sequence[Sequence[EmbeddedFields]]


def pieces_of(path: str, language: str, units: Sequence[Unit], own: Sequence[str]) -> Pieces:
    """For each unit what an embedder is to see of it; nothing in a language that is not embedded, nor of what is quoted."""
    row = languages().get(language)
    if row and not row.embed:
        return ((),) * len(own)
    quoted = quoted_units(units)
    return [
        [] if place in quoted or unit.kind == TODO else list(embedded_pieces(path, unit, text))
        for place, (unit, text) in enumerate(zip(units, own, strict=True))
    ]


def embed_pieces(pieces: Pieces, embedder: Embedder) -> tuple[tuple[bytes, ...], ...]:
    """For each unit the vectors of its pieces, all made at once."""
    vectors = iter(embedder.embed_code([piece for unit in pieces for piece in unit]))
    return tuple([tuple([v for v in (next(vectors) for _ in unit) if any(v)]) for unit in pieces])


def embedded_pieces(path: str, unit: Unit, text: str) -> Iterator[EmbeddedFields]:
    """What an embedder sees of a unit with this own text, piece by piece. Training makes its pairs by it too."""
    context = f"{unit.container} {path}"
    head = "\n".join([unit.signature, *unit.doc.split("\n", DOC_LINES)[:DOC_LINES]])
    for piece in windows(text):
        yield EmbeddedFields(unit.name, context, head, piece)
