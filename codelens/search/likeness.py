"""An indexed place, or a text from outside → a query for things like it: its vector, its names, the names that it uses.

Units inside the place or around it are not hits: they resemble it only because they are the same text.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from textwrap import dedent

from codelens.embed.base import EmbeddedFields, Embedder, sum_vectors
from codelens.errors import TargetError
from codelens.lang.captures import extract_captures
from codelens.lang.parser import GrammarMissing
from codelens.lang.registry import PLAIN_TEXT, languages
from codelens.model.code import CHUNK_KINDS, Freshness, Span, UnitId, UnitRow
from codelens.model.extraction import LITERAL_KINDS, Extraction, Unit
from codelens.model.fast_dataclass import dataclass, replace
from codelens.model.request import SearchOptions
from codelens.model.search import ExpandedQuery, Notice, Original, Term
from codelens.search.terms import expand, load_words
from codelens.store.documents import DocumentRow
from codelens.store.store import Store
from codelens.store.targets import UserTarget, resolve_target
from codelens.text.terms import token_terms, tokens
from codelens.worktree.files import freshness

SNIPPET = "-"  # The target that stands for a text from outside
MOST_NAMES = 12  # Definitions whose names ask, the outermost and first of a file; more say nothing of it together
MINOR_KINDS = ("constant", "variable", "property")
"""Kinds whose names do not characterise a file that has functions and types."""
MOST_USES = 25
"""Terms of used names that ask: max_query_terms of Lucene's MoreLikeThis, which chooses them by tf · idf as well."""


@dataclass(frozen=True, slots=True)
class Likeness:
    """A query for things like the original."""

    original: Original
    query: ExpandedQuery
    itself: Mapping[UnitId, UnitRow]  # The units of the original, inside it and around it: they are not hits
    notices: tuple[Notice, ...] = ()


def find_likeness(options: SearchOptions, store: Store, embedder: Embedder | None) -> Likeness:
    """`embedder`: that of the index; None where vectors take no part.

    Raises TargetError where the target is nothing that is indexed, or several things.
    """
    if options.like == SNIPPET:
        snippet = read_snippet(options.snippet, options.snippet_language, store, embedder)
        original = Original(SNIPPET, "", "snippet", snippet.language)
        query = _asking(snippet.names, "", snippet.uses, snippet.vector, store, least=1)
        return Likeness(original, query, {}, _without_vector(query, embedder))
    target = resolve_target(options.like, store)
    document, unit = _indexed(target, store)
    store.foresee(*((name, (document.id,)) for name in ("units.of_document", "units.ids_of", "references.of_document")))
    units = store.units.of_document(document.id)
    whole = unit is None
    chosen = units if unit is None else [u for u in units if _within(u.span, unit.span)]
    itself = units if unit is None else [u for u in units if _overlap(u.span, unit.span)]
    pieces = dict(store.units.ids_of(document.id))
    vectors = store.vectors.of_units([(u.id, pieces[u.id]) for u in chosen]) if embedder else []
    uses = _uses(document, None if unit is None else unit.span, store)
    query = _asking(_names_of(chosen), _headings(chosen[:1]), uses, sum_vectors(vectors), store, least=2)
    name = document.path if unit is None else unit.qualified_name
    lines = (1, max((u.end_line for u in units), default=1)) if unit is None else (unit.start_line, unit.end_line)
    place = (_repository(document, store), document.path, *lines)
    original = Original(target.text, name, "file" if whole or unit is None else unit.kind, document.language, *place)
    notices = (*_stale(document, store), *_without_vector(query, embedder))
    return Likeness(original, query, {u.id: u for u in itself}, notices)


def _asking(
    names: Sequence[str], text: str, uses: Mapping[str, int], vector: bytes, store: Store, least: int
) -> ExpandedQuery:
    """A query of the names and the text, with the most distinctive terms of the names that are used."""
    query = expand([text] if text else [], names, names[0] if len(names) == 1 else text)
    present = {t.text for t in query.words}
    return replace(query, extra=_telling_terms(uses, present, store, least), vector=vector)


def _telling_terms(uses: Mapping[str, int], present: Iterable[str], store: Store, least: int) -> tuple[Term, ...]:
    """The terms of used names with the most √times · idf, MOST_USES at most, except those that are in the query already.

    `least` units must hold a term: what an indexed original alone says finds nothing.
    """
    counts: Counter[str] = Counter()
    origin: dict[str, str] = {}
    stop = load_words().stop
    for name, times in uses.items():
        for term in token_terms(name):
            counts[term] += times
            origin.setdefault(term, name)
    total = store.units.count()
    weights: dict[str, float] = {}
    terms = [term for term in counts.keys() - set(present) - stop if len(term) > 1]
    for term, units in store.postings.document_frequencies(terms).items():
        if units >= least:
            weights[term] = math.sqrt(counts[term]) * math.log(1.0 + total / units)
    chosen = sorted(weights, key=lambda t: (-weights[t], t))[:MOST_USES]
    return tuple(Term(t, "uses", origin[t]) for t in chosen)


def _names_of(units: Iterable[UnitRow]) -> list[str]:
    """Names of definitions that are not local: types and functions first, then the outermost."""
    named = [u for u in units if u.kind not in CHUNK_KINDS and not u.local]
    ordered = sorted(named, key=lambda u: (u.kind in MINOR_KINDS, u.qualified_name.count("."), u.span.start))
    return list(dict.fromkeys(u.name for u in ordered))[:MOST_NAMES]


def _indexed(target: UserTarget, store: Store) -> tuple[DocumentRow, UnitRow | None]:
    """The document, and the unit in it; None for all of the document."""
    if target.document is None and target.unit is None:
        hint = "`codelens status --skipped` lists what was left out"
        raise TargetError(f"{target.text} is not in the index", hint=hint)
    if target.document is not None and target.line is None:
        return target.document, None
    if target.unit is None:
        where = f"{target.path}: nothing is indexed at line {target.line}"
        raise TargetError(where, hint="name a line with text, or only the file")
    return target.document or store.documents.rows([target.unit.document])[0], target.unit


def _headings(units: Sequence[UnitRow]) -> str:
    """The heading of a section of prose; other chunks are named after their file."""
    return " ".join(u.name for u in units if u.kind == "section")


def _uses(document: DocumentRow, span: Span | None, store: Store) -> Counter[str]:
    """Name → how often the place uses it."""
    used: Counter[str] = Counter()
    for reference in store.references.of_document(document.id):
        inside = span is None or span.start <= reference.start < span.end
        if inside and reference.kind not in LITERAL_KINDS:
            used.update(tokens(reference.name))
    return used


def _within(inner: Span, outer: Span) -> bool:
    return outer.start <= inner.start and inner.end <= outer.end


def _overlap(one: Span, other: Span) -> bool:
    return one.start < other.end and other.start < one.end


def _repository(document: DocumentRow, store: Store) -> str:
    return next(row.name for row in store.documents.repositories() if row.id == document.repository)


def _stale(document: DocumentRow, store: Store) -> tuple[Notice, ...]:
    root = next(row.root for row in store.documents.repositories() if row.id == document.repository)
    if freshness(root, document.os_path, document.stamp, document.content_hash) is Freshness.FRESH:
        return ()
    text = f"{document.path} is another than the one indexed: what resembled it then is shown"
    return (Notice("old-original", text),)


def _without_vector(query: ExpandedQuery, embedder: Embedder | None) -> tuple[Notice, ...]:
    if query.vector or embedder is None:
        return ()
    return (Notice("no-likeness", "the code to compare with has no vector: only names are compared"),)


MOST_GUESSES = 6  # Languages that are tried, the index's most frequent first: each takes some 20 ms to load its grammar
MOST_PARSED = 100_000
"""Bytes. Longer text is not a snippet, and the grammar runs here without a worker process that could be killed."""


@dataclass(frozen=True, slots=True)
class Snippet:
    """Language, names and vector of a text."""

    language: str
    names: Sequence[str]  # Names of its definitions, in order
    uses: Mapping[str, int]  # Name → how often it is used; where no grammar fits, every token
    vector: bytes  # Empty where none was asked for, or nothing is in the text


def read_snippet(text: str, language: str, store: Store, embedder: Embedder | None) -> Snippet:
    """`embedder`: that of the index; None for no vector.

    `language` is guessed if empty: the first that takes the text without a fault and finds a definition in it.
    """
    text = dedent(text)  # a method as it stands in its class
    language, extraction = _extracted(text, [language] if language else _likely(store))
    entries = _entries(text.encode(), extraction.units if extraction else ())
    vectors = embedder.embed_code(entries or [EmbeddedFields("", "", "", text)]) if embedder else []
    used = Counter(
        token
        for r in (extraction.references if extraction else ())
        if r.kind not in LITERAL_KINDS
        for token in tokens(r.name)
    )
    names = dict.fromkeys(unit.name for unit in _definitions(extraction.units if extraction else ()))
    return Snippet(language, list(names), used or Counter(tokens(text)), sum_vectors([v for v in vectors if any(v)]))


def _likely(store: Store) -> list[str]:
    counts = Counter(d.language for d in store.documents.rows())
    known = [name for name in counts if (row := languages().get(name)) is not None and row.grammar]
    return sorted(known, key=lambda name: (-counts[name], name))[:MOST_GUESSES]


def _extracted(text: str, tried: Sequence[str]) -> tuple[str, Extraction | None]:
    """(language, what its grammar found); a single language is taken at its word, faults or not."""
    utf8 = text.encode()
    if len(utf8) > MOST_PARSED:
        return PLAIN_TEXT, None
    without_definition: tuple[str, Extraction | None] = (tried[0] if len(tried) == 1 else PLAIN_TEXT, None)
    for language in tried:
        try:
            extraction = extract_captures(utf8, language)
        except GrammarMissing:
            continue
        if len(tried) == 1 or (not extraction.fault and extraction.units):
            return language, extraction
        if not extraction.fault and extraction.references and without_definition[1] is None:
            without_definition = language, extraction
    return without_definition


def _definitions(units: Sequence[Unit]) -> list[Unit]:
    return [unit for unit in units if not unit.local]


def _entries(utf8: bytes, units: Sequence[Unit]) -> list[EmbeddedFields]:
    """One entry a definition; the body of one that holds others is theirs."""
    holding = {unit.parent for unit in _definitions(units)}
    return [
        EmbeddedFields(
            unit.name,
            unit.container,
            f"{unit.signature}\n{unit.doc}",
            "" if place in holding else utf8[unit.body_start : unit.span.end].decode("utf-8", "replace"),
        )
        for place, unit in enumerate(units)
        if not unit.local
    ]
