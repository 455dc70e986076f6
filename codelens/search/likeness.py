"""An indexed place, or a text from outside → a query for things like it: its vector, its names, the names that it uses.

Units inside the place or around it are not hits: they resemble it only because they are the same text.
"""

from __future__ import annotations

import math
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
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
from codelens.text.terms import split_token, tokens
from codelens.worktree.files import check_freshness

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
    notices = list[Notice]()
    itself: Sequence[UnitRow] = ()
    if options.like == SNIPPET:
        snippet = read_snippet(options.snippet, options.snippet_language, store, embedder)
        original = Original(SNIPPET, "", "snippet", snippet.language)
        query = _make_query(snippet.names, "", snippet.uses, snippet.vector, store, least=1)
    else:
        target = resolve_target(options.like, store)
        document, unit = _find_indexed(target, store)
        methods = "units.list_in_document", "units.list_piece_counts", "references.list_in_document"
        store.foresee(*((method, (document.id,)) for method in methods))
        units = store.units.list_in_document(document.id)
        inside, itself, whole = units, units, Span(0, sys.maxsize)
        if unit is not None:
            whole = unit.span
            inside = [u for u in units if whole.start <= u.span.start and u.span.end <= whole.end]
            itself = [u for u in units if u.span.start < whole.end and whole.start < u.span.end]
        named = [
            u for u in inside if u.kind not in CHUNK_KINDS and not u.local
        ]  # types and functions, the outermost, first
        named.sort(key=lambda u: (u.kind in MINOR_KINDS, u.qualified_name.count("."), u.span.start))
        names = list(dict.fromkeys(u.name for u in named))[:MOST_NAMES]
        # The heading of a section of prose; other chunks are named after their file
        heading = inside[0].name if inside and inside[0].kind == "section" else ""
        uses: Counter[str] = Counter()
        for reference in store.references.list_in_document(document.id):
            if whole.start <= reference.start < whole.end and reference.kind not in LITERAL_KINDS:
                uses.update(tokens(reference.name))
        pieces = dict(store.units.list_piece_counts(document.id))
        vectors = store.vectors.read_vectors([(u.id, pieces[u.id]) for u in inside]) if embedder else []
        query = _make_query(names, heading, uses, sum_vectors(vectors), store, least=2)
        home = next(row for row in store.documents.list_repositories() if row.id == document.repository)
        name, kind, first, last = document.path, "file", 1, max((u.end_line for u in units), default=1)
        if unit is not None:
            name, kind, first, last = unit.qualified_name, unit.kind, unit.start_line, unit.end_line
        original = Original(target.text, name, kind, document.language, home.name, document.path, first, last)
        if check_freshness(home.root, document.os_path, document.stamp, document.content_hash) is not Freshness.FRESH:
            text = f"{document.path} is another than the one indexed: what resembled it then is shown"
            notices.append(Notice("old-original", text))
    if embedder is not None and not query.vector:
        notices.append(Notice("no-likeness", "the code to compare with has no vector: only names are compared"))
    return Likeness(original, query, {u.id: u for u in itself}, tuple(notices))


def _make_query(
    names: Sequence[str], text: str, uses: Mapping[str, int], vector: bytes, store: Store, least: int
) -> ExpandedQuery:
    """A query of the names and the text, and of the terms of used names with the most √times · idf, MOST_USES at most.

    `least` units must hold a term: what an indexed original alone says finds nothing.
    """
    query = expand([text] if text else [], names, names[0] if len(names) == 1 else text)
    counts: Counter[str] = Counter()
    origin: dict[str, str] = {}
    for name, times in uses.items():
        for term in split_token(name):
            counts[term] += times
            origin.setdefault(term, name)
    total = store.units.count()
    weights: dict[str, float] = {}
    terms = counts.keys() - {t.text for t in query.words} - load_words().stop
    for term, units in store.postings.count_units_by_term([term for term in terms if len(term) > 1]).items():
        if units >= least:
            weights[term] = math.sqrt(counts[term]) * math.log(1.0 + total / units)
    chosen = sorted(weights, key=lambda t: (-weights[t], t))[:MOST_USES]
    return replace(query, extra=tuple(Term(t, "uses", origin[t]) for t in chosen), vector=vector)


def _find_indexed(target: UserTarget, store: Store) -> tuple[DocumentRow, UnitRow | None]:
    """The document, and the unit in it; None for all of the document."""
    if target.document is None and target.unit is None:
        hint = "`codelens status --skipped` lists what was left out"
        raise TargetError(f"{target.text} is not in the index", hint=hint)
    if target.document is not None and target.line is None:
        return target.document, None
    if target.unit is None:
        where = f"{target.path}: nothing is indexed at line {target.line}"
        raise TargetError(where, hint="name a line with text, or only the file")
    return target.document or store.documents.read_rows([target.unit.document])[0], target.unit


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
    text, tried = dedent(text), [language]  # dedented: a method as it stands in its class
    if not language:
        counts = Counter(d.language for d in store.documents.read_rows())
        known = [name for name in counts if (row := languages().get(name)) is not None and row.grammar]
        tried = sorted(known, key=lambda name: (-counts[name], name))[:MOST_GUESSES]
    language, extraction = _extract(text, tried)
    units = extraction.units if extraction else ()
    entries = _list_entries(text.encode(), units)
    vectors = embedder.embed_code(entries or [EmbeddedFields("", "", "", text)]) if embedder else []
    references = (r for r in (extraction.references if extraction else ()) if r.kind not in LITERAL_KINDS)
    used = Counter(token for reference in references for token in tokens(reference.name))
    names = dict.fromkeys(unit.name for unit in units if not unit.local)
    return Snippet(language, list(names), used or Counter(tokens(text)), sum_vectors([v for v in vectors if any(v)]))


def _extract(text: str, tried: Sequence[str]) -> tuple[str, Extraction | None]:
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


def _list_entries(utf8: bytes, units: Sequence[Unit]) -> list[EmbeddedFields]:
    """One entry a definition; the body of one that holds others is theirs."""
    holding = {unit.parent for unit in units if not unit.local}
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
