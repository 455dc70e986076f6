"""A place in the index, or a text from outside → what asks for things like it: its vector, its names, the names it uses.

What lies inside the place or around it takes no part: it resembles it for no other reason than being the same text.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from codelens.derived import LITERAL_KINDS
from codelens.embed.base import Embedder
from codelens.embed.joined import joined
from codelens.errors import TargetError
from codelens.model import CHUNK_KINDS, Freshness, Notice, Original, SearchOptions, Span, UnitId, UnitRow
from codelens.nouns import dataclass
from codelens.search.expand import ExpandedQuery, Term, expand, load_words
from codelens.store.documents import DocumentRow
from codelens.store.store import Store
from codelens.targets import Target, resolve_target
from codelens.text.terms import token_terms, tokens
from codelens.worktree.freshness import freshness

SNIPPET = "-"
"""The target that stands for a text from outside."""
MOST_NAMES = 12
"""Definitions whose names ask, the outermost and first of a file; more say nothing of it together. Chosen."""
MINOR_KINDS = ("constant", "variable", "property")
"""What a file that holds functions and types is not told apart by."""
MOST_USES = 25
"""Terms of used names that ask: max_query_terms of Lucene's MoreLikeThis, which chooses them by tf · idf as well."""


@dataclass(frozen=True, slots=True)
class Likeness:
    """What asks for things like the original."""

    original: Original
    query: ExpandedQuery
    itself: Mapping[UnitId, UnitRow]
    """What the original is, what lies in it and around it: no hits."""
    notices: tuple[Notice, ...] = ()


def find_likeness(options: SearchOptions, store: Store, embedder: Embedder | None) -> Likeness:
    """`embedder`: that of the index; None where vectors take no part.

    Raises TargetError where the target is nothing that is indexed, or several things.
    """
    if options.like == SNIPPET:
        from codelens.search.snippets import read_snippet

        snippet = read_snippet(options.snippet, options.snippet_language, store, embedder)
        original = Original(SNIPPET, "", "snippet", snippet.language)
        query = _asking(snippet.names, "", snippet.uses, snippet.vector, store, least=1)
        return Likeness(original, query, {}, _without_vector(query, embedder))
    target = resolve_target(options.like, store)
    document, unit = _indexed(target, store)
    units = store.units.of_document(document.id)
    whole = unit is None
    chosen = units if unit is None else [u for u in units if _within(u.span, unit.span)]
    itself = units if unit is None else [u for u in units if _overlap(u.span, unit.span)]
    pieces = dict(store.units.ids_of(document.id))
    vectors = store.vectors.of_units([(u.id, pieces[u.id]) for u in chosen]) if embedder else []
    uses = _uses(document, None if unit is None else unit.span, store)
    query = _asking(_names_of(chosen), _headings(chosen[:1]), uses, joined(vectors), store, least=2)
    name = document.path if unit is None else unit.qualified_name
    lines = (1, max((u.end_line for u in units), default=1)) if unit is None else (unit.start_line, unit.end_line)
    place = (_repository(document, store), document.path, *lines)
    original = Original(target.text, name, "file" if whole or unit is None else unit.kind, document.language, *place)
    notices = (*_stale(document, store), *_without_vector(query, embedder))
    return Likeness(original, query, {u.id: u for u in itself}, notices)


def _asking(
    names: Sequence[str], text: str, uses: Mapping[str, int], vector: bytes, store: Store, least: int
) -> ExpandedQuery:
    """The names and the text as a query has them, and beside them the most telling terms of the names that are used."""
    query = expand([text] if text else [], names, names[0] if len(names) == 1 else text)
    said = {t.text for t in query.words}
    return replace(query, extra=_telling_terms(uses, said, store, least), vector=vector)


def _telling_terms(uses: Mapping[str, int], said: Iterable[str], store: Store, least: int) -> tuple[Term, ...]:
    """The terms of used names with the most √times · idf, MOST_USES at most; without what is `said` already.

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
    for term in counts.keys() - set(said) - stop:
        if len(term) > 1 and (units := store.postings.document_frequency(term)) >= least:
            weights[term] = math.sqrt(counts[term]) * math.log(1.0 + total / units)
    chosen = sorted(weights, key=lambda t: (-weights[t], t))[:MOST_USES]
    return tuple(Term(t, "uses", origin[t]) for t in chosen)


def _names_of(units: Iterable[UnitRow]) -> list[str]:
    """Names of definitions that are not local: types and functions first, then the outermost."""
    named = [u for u in units if u.kind not in CHUNK_KINDS and not u.local]
    ordered = sorted(named, key=lambda u: (u.kind in MINOR_KINDS, u.qualified_name.count("."), u.span.start))
    return list(dict.fromkeys(u.name for u in ordered))[:MOST_NAMES]


def _indexed(target: Target, store: Store) -> tuple[DocumentRow, UnitRow | None]:
    """The document, and the unit in it; None for all of the document."""
    if target.document is None and target.unit is None:
        hint = "`codelens status --skipped` lists what was left out"
        raise TargetError(f"{target.text} is not in the index", hint=hint)
    if target.document is not None and target.line is None:
        return target.document, None
    if target.unit is None:
        where = f"{target.path}: nothing is indexed at line {target.line}"
        raise TargetError(where, hint="name a line with text, or the file alone")
    return target.document or store.documents.rows([target.unit.document])[0], target.unit


def _headings(units: Sequence[UnitRow]) -> str:
    """What a section of prose is about; other chunks are named after their file."""
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
    return (Notice("no-likeness", "what is to be resembled has no vector: names alone are compared"),)
