"""Embeds units and their texts by the embedder that the settings name."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import xxhash

from codelens.config import Settings, find_user_place
from codelens.embed.base import EmbeddedFields, Embedder
from codelens.embed.registry import open_embedder, open_indexed_embedder, resolve_setting
from codelens.errors import EmbedderFault, UsageError
from codelens.indexing.chunk import cut_windows
from codelens.indexing.extract import find_quoted_units, list_searched_texts, map_units
from codelens.indexing.run import IndexRun, LazyTransaction
from codelens.lang.registry import languages
from codelens.model.code import SYMBOL_KINDS, TODO
from codelens.model.extraction import DecodedText, Extraction, Import, Unit
from codelens.model.fast_dataclass import replace
from codelens.model.runs import Progress
from codelens.store.documents import DocumentRow
from codelens.store.store import Store
from codelens.store.texts import Texts
from codelens.store.vectors import KeptVectors
from codelens.text.lines import TextMap


class CachingEmbedder:
    """An embedder that keeps the vectors of code, but not of queries, in a file, which it creates if necessary."""

    is_slow = True

    def __init__(self, embedder: Embedder, file: Path) -> None:
        self.name, self.least_cosine, self._embedder = embedder.name, embedder.least_cosine, embedder
        self.knows_any_word, self.embed_query = embedder.knows_any_word, embedder.embed_query
        self.compute_fingerprint = embedder.compute_fingerprint
        self._stored = KeptVectors(file)

    @property
    def dimensions(self) -> int:
        return self._embedder.dimensions

    def embed_code(self, fields: Sequence[EmbeddedFields]) -> list[bytes]:
        """Read known vectors from the file, and embed the other texts; equal texts only once."""
        keys = []
        for entry in fields:
            parts = (self.compute_fingerprint(), entry.name, entry.context, entry.signature, entry.body)
            keys.append(xxhash.xxh3_128_digest("\0".join(parts).encode("utf-8", "surrogatepass")))
        vectors = self._stored.get(keys)
        missing = {key: entry for key, entry in zip(keys, fields, strict=True) if key not in vectors}
        embedded = dict(zip(missing, self._embedder.embed_code(list(missing.values())), strict=True))
        self._stored.put(embedded)
        vectors |= embedded
        return [vectors[key] for key in keys]


DOC_LINES = 3  # Lines of a doc comment that are embedded with the signature; all of it is in the body or in postings


def open_chosen_embedder(settings: Settings) -> Embedder | None:
    """Open the embedder of these settings; None if they want no vectors. Raises UsageError if the model cannot be read."""
    embedder = open_embedder(settings.model, settings.allow_network) if settings.vector else None
    file = find_user_place("vectors.db") if embedder and embedder.is_slow else None
    return CachingEmbedder(embedder, file) if embedder and file else embedder


def open_worker_embedder(settings: Settings) -> Embedder | None:
    """Open the embedder for a worker; None if it is slow: it runs after all files are read (`update_vectors`)."""
    embedder = open_embedder(settings.model, settings.allow_network) if settings.vector else None
    return None if embedder and embedder.is_slow else embedder


EXPORTED_KINDS = frozenset(SYMBOL_KINDS) - {"method", "property"}
MOST_SUMMARISED = 100  # Exported and imported names in a file's vector: more would make all large files alike
_BETWEEN = re.compile(r"[\W_]+")


def build_file_fields(path: str, language: str, units: Sequence[Unit], imports: Sequence[Import]) -> EmbeddedFields:
    """Build what an embedder gets of a file: the words of its path, with its exports and imports, or with its first heading."""
    row = languages().get(language)
    spaced, name = (_BETWEEN.sub(" ", text).strip() for text in (path, path.rpartition("/")[2]))
    if row and row.prose:
        sections = (unit.name for unit in units if unit.kind == "section" and unit.name != path.rpartition("/")[2])
        return EmbeddedFields(name, spaced, next(sections, ""), "")
    outer = (unit for unit in units if unit.kind in EXPORTED_KINDS and unit.parent is None and not unit.local)
    exported = [unit.name for unit in outer if unit.name[0] != "_"]
    used = [" ".join(filter(None, (import_.module, import_.name.strip("*")))) for import_ in imports]
    exports, imported = (" ".join(list(dict.fromkeys(names))[:MOST_SUMMARISED]) for names in (exported, used))
    return EmbeddedFields(name, spaced, exports, imported)


def embed_document(
    path: str, language: str, extraction: Extraction, texts: Sequence[str], embedder: Embedder | None
) -> tuple[tuple[tuple[bytes, ...], ...], bytes]:
    """Embed a document in one call. Returns (vectors of each unit's pieces, the file's vector), empty without an embedder."""
    if embedder is None:
        return ((),) * len(texts), b""
    of_file = build_file_fields(path, language, extraction.units, extraction.imports)
    *vectors, file_vector = embed_pieces([*list_pieces(path, language, extraction.units, texts), [of_file]], embedder)
    return tuple(vectors), b"".join(file_vector)


Pieces = Sequence[Sequence[EmbeddedFields]]


def list_pieces(path: str, language: str, units: Sequence[Unit], texts: Sequence[str]) -> Pieces:
    """List the pieces to embed of each unit; quoted code, and languages that are not embedded, have none."""
    row = languages().get(language)
    if row and not row.embed:
        return ((),) * len(texts)
    quoted = find_quoted_units(units)
    return [
        [] if place in quoted or unit.kind == TODO else list(cut_pieces(path, unit, text))
        for place, (unit, text) in enumerate(zip(units, texts, strict=True))
    ]


def embed_pieces(pieces: Pieces, embedder: Embedder) -> tuple[tuple[bytes, ...], ...]:
    """Embed the pieces of each unit, in one call; pieces without a token get no vector."""
    vectors = iter(embedder.embed_code([piece for unit in pieces for piece in unit]))
    return tuple([tuple([v for v in (next(vectors) for _ in unit) if any(v)]) for unit in pieces])


def cut_pieces(path: str, unit: Unit, text: str) -> Iterator[EmbeddedFields]:
    """Cut a unit with this text into the pieces that an embedder gets. Training builds its pairs from them, too."""
    context = f"{unit.container} {path}"
    head = "\n".join([unit.signature, *unit.doc.split("\n", DOC_LINES)[:DOC_LINES]])
    for piece in cut_windows(text):
        yield EmbeddedFields(unit.name, context, head, piece)


Embedded = tuple[DocumentRow, Pieces, bool]
"""(document, the pieces of each unit of one part, whether this is the last part, which ends with the piece of the file)"""
PIECES_A_CALL = 256  # Pieces embedded in one call, in whole documents: four requests to an endpoint


def apply_stored_model(store: Store, settings: Settings) -> Settings:
    """Set the model of the settings to that of the index, if it can still be opened."""
    setting = store.read_meta("embedder_setting")
    if not setting or setting == resolve_setting(settings.model):
        return settings
    with suppress(UsageError):
        if open_indexed_embedder(setting).compute_fingerprint() == store.read_meta("embedder_fingerprint"):
            return replace(settings, model=setting)
    return settings


def update_vectors(store: Store, run: IndexRun, transaction: LazyTransaction) -> tuple[int, int]:
    """Give all documents vectors of the embedder in the settings, without reading files or parsing. Slow embedders run only
    here. Returns (documents embedded, those that had vectors of another embedder). Raises EmbedderFault."""
    embedder = open_chosen_embedder(run.settings)
    if embedder is None:
        return 0, 0
    before = store.documents.count_embedded_otherwise(embedder.compute_fingerprint())
    others = store.documents.list_embedded_otherwise(embedder.compute_fingerprint())
    is_known = store.read_meta("embedder_fingerprint") == embedder.compute_fingerprint()
    width, number = int(store.read_meta("embedder_width") or 0) if is_known else 0, 0
    document_vectors: list[tuple[bytes, ...]] = []  # Vectors of a large document's earlier parts
    for group in _group_pieces(store, others):
        vectors = embed_pieces([unit for _, pieces, _ in group for unit in pieces], embedder)
        widths = {len(vector) for unit in vectors for vector in unit} | ({width} if width else set())
        if len(widths) > 1:  # a remote model may change under its name
            numbers = " and ".join(map(str, sorted(widths)))
            text = f"{embedder.name} gives vectors of {numbers} dimensions: the model has changed"
            raise EmbedderFault(text, "`codelens index --clear-cache`, then `codelens index --rebuild`")
        width, at = next(iter(widths), 0), 0
        for document, pieces, is_last in group:
            document_vectors += vectors[at : at + len(pieces)]
            at += len(pieces)
            if not is_last:
                continue
            transaction.begin()
            *of_units, of_file = document_vectors
            store.replace_vectors(document.id, of_units, b"".join(of_file), embedder.compute_fingerprint())
            transaction.count_document(document.stamp.size)
            document_vectors, number = [], number + 1
            if run.progress:
                run.progress(Progress("embed", number, len(others), document.path))
    transaction.set_meta("embedder", embedder.name)
    transaction.set_meta("embedder_fingerprint", embedder.compute_fingerprint())
    transaction.set_meta("embedder_setting", resolve_setting(run.settings.model))
    transaction.set_meta("embedder_width", str(width) if embedder.is_slow and width else "")
    return len(others), before


def _group_pieces(store: Store, documents: Sequence[DocumentRow]) -> Iterator[list[Embedded]]:
    """Group documents by about PIECES_A_CALL pieces, large documents in parts."""
    group: list[Embedded] = []
    size = 0
    for document in documents:
        for pieces, is_last in _read_pieces(store, document):
            group.append((document, pieces, is_last))
            size += sum(map(len, pieces))
            if size >= PIECES_A_CALL:
                yield group
                group, size = [], 0
    if group:
        yield group


def _read_pieces(store: Store, document: DocumentRow) -> Iterator[tuple[Pieces, bool]]:
    """Yield for each part of a document (pieces of its units, whether it is the last part)."""
    text, stored = Texts(store).read(document), store.units.read_extracted(document.id)
    last = len(text.places) - 1
    for number in range(last + 1):
        span = text.find_part_span(number)
        inside = [u for u in stored if span.start <= u.span.start < span.end] if last else stored
        # The map counts from the start of its text: in the first part, after the byte order mark.
        mapped = TextMap(DecodedText(text.decode_span(span), document.encoding, 1.0, 0 if number else document.bom))
        units = map_units(inside, lambda at, start=span.start, there=mapped.to_utf8: there(at - start))  # type: ignore[misc]
        texts = list_searched_texts(mapped, document.language, units)
        pieces = list_pieces(document.path, document.language, units, texts)
        if number < last:
            yield pieces, False
            continue
        imports = store.references.list_imports(document.id)
        of_file = build_file_fields(document.path, document.language, () if last else units, imports)
        yield [*pieces, [of_file]], True
