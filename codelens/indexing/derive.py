"""A file's bytes and decoded text → everything that the index keeps of it.

A function of the bytes, the path and the recipe alone: nothing here may depend on what else is in the index.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache

import xxhash
import zstandard

from codelens.config import Settings
from codelens.derived import DecodedText, DerivedDocument, Extraction, Posting, Unit
from codelens.embed.base import Embedder
from codelens.indexing.embedding import embed
from codelens.indexing.extract import extract, from_original, in_original, quoted_units, searched_texts
from codelens.lang.parser import grammar_version, query_source
from codelens.lang.readers import reader_rules
from codelens.lang.registry import languages
from codelens.model import NOTE_KINDS, SeenFile
from codelens.notes.note import kind_of_path
from codelens.store.packing import pack_references
from codelens.text.lines import TextMap
from codelens.text.notebook import NOTEBOOK, read_notebook
from codelens.text.terms import body_terms, index_terms
from codelens.text.trigrams import distinct_lines
from codelens.worktree.legacy import encoding_rules
from codelens.worktree.roles import path_roles

RULES = "decode 1, roles 1, extract 4, chunks 2, terms 1, postings 5"
"""Change a number with anything that changes what a document yields, so that documents are derived anew."""
SNAPSHOT_LEVEL = 6
"""zstandard. On Django's 18 MB of Python, file by file, level 3 / 6 / 9 give .229 / .209 / .206 in .10 / .30 / .58 s."""


@dataclass(frozen=True, slots=True)
class Reuse:
    """An extraction of the same content under another path."""

    old_name: str
    """The file's name then, which its chunks carry."""
    extraction: Extraction


@cache
def recipe(language: str, fuzzy: bool = True, encoding_threshold: float = 0.7) -> str:
    """16 hex digits that change whenever a document of this language would be derived differently, but for its vectors.

    By whom these were made is noted beside it: a change of the embedder needs no file and no parser.
    """
    row = languages().get(language)
    source = query_source(row) if row else ""
    # A document without a grammar may be one of a language that we know by now.
    known = "" if row and row.grammar else "".join(map(_row_text, languages().values()))
    # What a document quotes is read by the grammars of others.
    quoting = bool(row and row.chunks in ("headings", "cells"))
    readers = [other for other in languages().values() if other.grammar and quoting]
    quoted = [(grammar_version(other.name), query_source(other)) for other in readers]
    parts = [
        RULES,
        encoding_rules(),
        known,
        _row_text(row),
        grammar_version(language),
        source,
        quoted,
        fuzzy,
        encoding_threshold,
        *filter(None, [reader_rules(language)]),
    ]
    return xxhash.xxh3_64_hexdigest(repr(parts).encode())


def _row_text(row: object) -> str:
    """A language's row with its sets in order: repr alone would follow PYTHONHASHSEED."""
    fields = {name: getattr(row, name) for name in getattr(row, "__slots__", ())}
    return repr({name: sorted(value) if isinstance(value, frozenset) else value for name, value in fields.items()})


def current_recipe(language: str, settings: Settings) -> str:
    """The recipe that `derive` would write today."""
    return recipe(language, settings.fuzzy, settings.encoding_threshold)


def derive(
    seen: SeenFile,
    raw: bytes,
    decoded: DecodedText,
    language: str,
    content_hash: bytes,
    settings: Settings,
    embedder: Embedder | None,
    grammar_fault: str = "",
    reuse: Reuse | None = None,
) -> DerivedDocument:
    """Everything about one file; without an `embedder` no vectors.

    A `grammar_fault` says why its grammar must not be used: its text still is derived.
    """
    text = TextMap(decoded)
    found = _renamed(reuse, seen.path, decoded) or extract(text, seen.path, language, grammar_fault)
    own = searched_texts(text, language, found.units)
    mapped = in_original(found, text, decoded)
    return DerivedDocument(
        seen=seen,
        content_hash=content_hash,
        digest=hashlib.sha256(raw).digest(),
        language=language,
        encoding=decoded.encoding,
        confidence=decoded.confidence,
        bom=decoded.bom,
        lines=text.lines,
        recipe=current_recipe(language, settings),
        extraction=replace(mapped, references=(), bindings=()),
        references=pack_references(mapped.references, mapped.bindings),
        postings=postings_of(seen.path, found.units, own),
        vectors=embed(seen.path, language, found.units, own, embedder),
        embedder=embedder.fingerprint() if embedder else "",
        trigram_text=distinct_lines(_searched(decoded.text, language)) if settings.fuzzy else "",
        snapshot=compressor().compress(raw),
        roles=path_roles(seen.path),
    )


def _searched(text: str, language: str) -> str:
    """The text that phrases and patterns are looked for in: of a notebook its cells, without outputs and JSON."""
    if language != NOTEBOOK:
        return text
    cells = read_notebook(text.encode("utf-8", "replace")).cells
    return "\n".join(cell.source.utf8.decode("utf-8", "replace") for cell in cells)


def _renamed(reuse: Reuse | None, path: str, decoded: DecodedText) -> Extraction | None:
    """The old extraction with the new file name in its chunks."""
    found = from_original(reuse.extraction, decoded) if reuse else None
    if not reuse or not found or kind_of_path(path) or any(u.kind in NOTE_KINDS for u in found.units):
        return None  # what a note is, where it lies says
    name = path.rpartition("/")[2]
    is_named = ("toplevel", "text")
    units = tuple(replace(u, name=name) if u.kind in is_named and u.name == reuse.old_name else u for u in found.units)
    return replace(found, units=units)


def postings_of(path: str, units: Sequence[Unit], own: Sequence[str]) -> tuple[Posting, ...]:
    """For each unit the words that it is found by; `own` are the texts of the units."""
    folder, _, name = path.rpartition("/")
    concepts = index_terms(f"{name.partition('.')[0] or name} {folder.rpartition('/')[2]}")
    quoted = quoted_units(units)
    path_terms = index_terms(folder.rpartition("/")[0])
    return tuple(
        [
            Posting(index_terms(unit.name), *[""] * 6)
            if place in quoted
            else Posting(
                index_terms(unit.name),
                concepts,
                path_terms,
                index_terms(unit.container),
                index_terms(unit.doc),
                index_terms(" ".join((unit.signature, *unit.decorators))),
                body_terms(text),
            )
            for place, (unit, text) in enumerate(zip(units, own, strict=True))
        ]
    )


@cache
def compressor() -> zstandard.ZstdCompressor:
    """What makes snapshots."""
    return zstandard.ZstdCompressor(level=SNAPSHOT_LEVEL)
