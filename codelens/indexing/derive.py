"""A file's bytes and decoded text → everything that the index keeps of it.

A function of the bytes, the path and the recipe alone: nothing here may depend on what else is in the index.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache

import xxhash
import zstandard

from codelens.config import Settings
from codelens.derived import DecodedText, DerivedDocument, Extraction, Posting, Unit
from codelens.embed import default_embedder
from codelens.indexing.cutting import windows
from codelens.indexing.extract import extract, from_original, in_original, own_texts
from codelens.lang.parser import grammar_version, query_source
from codelens.lang.registry import languages
from codelens.model import EmbeddedFields, Embedder, SeenFile
from codelens.store.packing import pack_references
from codelens.text.lines import TextMap
from codelens.text.terms import body_terms, index_terms
from codelens.text.trigrams import distinct_lines
from codelens.worktree.legacy import encoding_rules
from codelens.worktree.roles import path_roles

RULES = "decode 1, roles 1, extract 2, chunks 1, terms 1, postings 3"
"""Change a number with anything that changes what a document yields, so that documents are derived anew."""
SNAPSHOT_LEVEL = 6
"""zstandard. On Django's 18 MB of Python, file by file, level 3 / 6 / 9 give .229 / .209 / .206 in .10 / .30 / .58 s."""
DOC_LINES = 3
"""Of a doc comment, embedded with the signature; all of it is in the body or the doc's own postings."""


@dataclass(frozen=True, slots=True)
class Reuse:
    """An extraction of the same content under another path."""

    old_name: str
    """The file's name then, which its chunks carry."""
    extraction: Extraction


def recipe(language: str, embedder: Embedder | None, fuzzy: bool = True, encoding_threshold: float = 0.7) -> str:
    """16 hex digits that change whenever a document of this language would be derived differently."""
    return _recipe(language, embedder.fingerprint() if embedder else "", fuzzy, encoding_threshold)


@cache
def _recipe(language: str, embedder: str, fuzzy: bool, encoding_threshold: float) -> str:
    row = languages().get(language)
    source = query_source(row) if row else ""
    # A document without a grammar may be one of a language that we know by now.
    known = "" if row and row.grammar else "".join(map(_row_text, languages().values()))
    parts = [
        RULES,
        encoding_rules(),
        known,
        _row_text(row),
        grammar_version(language),
        source,
        embedder,
        fuzzy,
        encoding_threshold,
    ]
    return xxhash.xxh3_64_hexdigest(repr(parts).encode())


def _row_text(row: object) -> str:
    """A language's row with its sets in order: repr alone would follow PYTHONHASHSEED."""
    fields = {name: getattr(row, name) for name in getattr(row, "__slots__", ())}
    return repr({name: sorted(value) if isinstance(value, frozenset) else value for name, value in fields.items()})


def current_recipe(language: str, settings: Settings) -> str:
    """The recipe that `derive` would write today."""
    embedder = default_embedder() if settings.vector else None
    return recipe(language, embedder, settings.fuzzy, settings.encoding_threshold)


def derive(
    seen: SeenFile,
    raw: bytes,
    decoded: DecodedText,
    language: str,
    content_hash: bytes,
    settings: Settings,
    grammar_fault: str = "",
    reuse: Reuse | None = None,
) -> DerivedDocument:
    """Everything about one file. A `grammar_fault` says why its grammar must not be used: its text still is derived."""
    text = TextMap(decoded)
    found = _renamed(reuse, seen.path, decoded) or extract(text, seen.path, language, grammar_fault)
    own = own_texts(text, found.units)
    mapped = in_original(found, text, decoded)
    return DerivedDocument(
        seen=seen,
        content_hash=content_hash,
        language=language,
        encoding=decoded.encoding,
        confidence=decoded.confidence,
        bom=decoded.bom,
        lines=text.lines,
        recipe=current_recipe(language, settings),
        extraction=replace(mapped, references=(), bindings=()),
        references=pack_references(mapped.references, mapped.bindings),
        postings=_postings(seen.path, found.units, own),
        vectors=_vectors(seen.path, found.units, own, default_embedder())
        if _embeds(language, settings)
        else ((),) * len(own),
        trigram_text=distinct_lines(decoded.text) if settings.fuzzy else "",
        snapshot=_compressor().compress(raw),
        roles=path_roles(seen.path),
    )


def _embeds(language: str, settings: Settings) -> bool:
    row = languages().get(language)
    return settings.vector and (row is None or row.embed)


def _renamed(reuse: Reuse | None, path: str, decoded: DecodedText) -> Extraction | None:
    """The old extraction with the new file name in its chunks."""
    found = from_original(reuse.extraction, decoded) if reuse else None
    if not reuse or not found:
        return None
    name = path.rpartition("/")[2]
    is_named = ("toplevel", "text")
    units = tuple(replace(u, name=name) if u.kind in is_named and u.name == reuse.old_name else u for u in found.units)
    return replace(found, units=units)


def _postings(path: str, units: Sequence[Unit], own: Sequence[str]) -> tuple[Posting, ...]:
    folder, _, name = path.rpartition("/")
    concepts = index_terms(f"{name.partition('.')[0] or name} {folder.rpartition('/')[2]}")
    path_terms = index_terms(folder.rpartition("/")[0])
    return tuple(
        [
            Posting(
                index_terms(unit.name),
                concepts,
                path_terms,
                index_terms(unit.container),
                index_terms(unit.doc),
                index_terms(" ".join((unit.signature, *unit.decorators))),
                body_terms(text),
            )
            for unit, text in zip(units, own, strict=True)
        ]
    )


def _vectors(path: str, units: Sequence[Unit], own: Sequence[str], embedder: Embedder) -> tuple[tuple[bytes, ...], ...]:
    """For each unit the vectors of its pieces; pieces without a token have none."""
    pieces = [list(embedded_pieces(path, unit, text)) for unit, text in zip(units, own, strict=True)]
    vectors = iter(embedder.embed_code([piece for unit in pieces for piece in unit]))
    return tuple([tuple([v for v in (next(vectors) for _ in unit) if any(v)]) for unit in pieces])


def embedded_pieces(path: str, unit: Unit, text: str) -> Iterator[EmbeddedFields]:
    """What an embedder sees of a unit with this own text, piece by piece. Training makes its pairs by it too."""
    context = f"{unit.container} {path}"
    head = "\n".join([unit.signature, *unit.doc.split("\n", DOC_LINES)[:DOC_LINES]])
    for piece in windows(text):
        yield EmbeddedFields(unit.name, context, head, piece)


@cache
def _compressor() -> zstandard.ZstdCompressor:
    return zstandard.ZstdCompressor(level=SNAPSHOT_LEVEL)
