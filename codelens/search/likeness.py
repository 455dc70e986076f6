"""Makes a query for code that resembles an indexed place or a given text, from its vector, its names and the names it uses.

Units inside or around the place are not hits: they resemble it only because they are the same text.
"""

from __future__ import annotations

import math
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
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
from codelens.search.terms import expand_query, load_words
from codelens.store.documents import DocumentRow
from codelens.store.store import Store
from codelens.store.targets import UserTarget, resolve_target
from codelens.text.terms import split_token, tokens
from codelens.worktree.files import check_freshness

SNIPPET = "-"  # The target that stands for a given text
MOST_NAMES = 12  # Most names of definitions in a query, outermost and first ones; more would not characterise a file
MINOR_KINDS = ("constant", "variable", "property")
"""Kinds of definitions whose names come last, because functions and types characterise a file better."""
MOST_USES = 25
"""Most terms of used names in a query: max_query_terms of Lucene's MoreLikeThis, which also chooses them by tf · idf."""


@dataclass(frozen=True, slots=True)
class Likeness:
    """A query for code that resembles the original."""

    original: Original
    query: ExpandedQuery
    itself: Mapping[UnitId, UnitRow]  # Units of the original, inside it or around it, which are not hits
    notices: tuple[Notice, ...] = ()


def find_likeness(options: SearchOptions, store: Store, embedder: Embedder | None) -> Likeness:
    """Make the query for the target of --like. `embedder` is the index's; None to ignore vectors.

    Raises TargetError if the target is not indexed, or names several things.
    """
    notices, itself = list[Notice](), list[UnitRow]()
    if options.like == SNIPPET:
        language, names, uses, vector = read_snippet(options.snippet, options.snippet_language, store, embedder)
        original, query = (
            Original(SNIPPET, "", "snippet", language),
            _make_query(names, "", uses, vector, store, least=1),
        )
    else:
        target = resolve_target(options.like, store)
        document, unit = _find_indexed(target, store)
        readers = store.units.list_in_document, store.units.list_piece_counts, store.references.list_in_document
        units, piece_counts, references = store.run_tasks(*(partial(read, document.id) for read in readers))
        inside, itself, whole = units, units, Span(0, sys.maxsize)
        if unit is not None:
            whole = unit.span
            inside = [u for u in units if whole.start <= u.span.start and u.span.end <= whole.end]
            itself = [u for u in units if u.span.start < whole.end and whole.start < u.span.end]
        named = [u for u in inside if u.kind not in CHUNK_KINDS and not u.local]
        named.sort(key=lambda u: (u.kind in MINOR_KINDS, u.qualified_name.count("."), u.span.start))
        names = list(dict.fromkeys(u.name for u in named))[:MOST_NAMES]
        # Only sections have headings; other chunks of text are named after their file
        heading = inside[0].name if inside and inside[0].kind == "section" else ""
        used = [r for r in references if whole.start <= r.start < whole.end and r.kind not in LITERAL_KINDS]
        uses = Counter(token for reference in used for token in tokens(reference.name))
        pieces = dict(piece_counts)
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
    """Make a query of the names, the text, and the terms of used names with the highest √times · idf, at most MOST_USES.

    A term must occur in at least `least` units, since a term that only the original contains finds nothing else.
    """
    query = expand_query([text] if text else [], names, names[0] if len(names) == 1 else text)
    counts, origin = Counter[str](), dict[str, str]()
    for name, times in uses.items():
        for term in split_token(name):
            counts[term] += times
            origin.setdefault(term, name)
    terms = counts.keys() - {t.text for t in query.words} - load_words().stop
    units_of = store.postings.count_units_by_term([term for term in terms if len(term) > 1])
    idf = {term: math.log(1.0 + store.units.count() / units) for term, units in units_of.items() if units >= least}
    weights = {term: math.sqrt(counts[term]) * rarity for term, rarity in idf.items()}
    chosen = sorted(weights, key=lambda t: (-weights[t], t))[:MOST_USES]
    return replace(query, extra=tuple(Term(t, "uses", origin[t]) for t in chosen), vector=vector)


def _find_indexed(target: UserTarget, store: Store) -> tuple[DocumentRow, UnitRow | None]:
    """Find the document of a target and the unit in it; the unit is None if the target is the whole document."""
    if target.document is None and target.unit is None:
        hint = "`codelens status --skipped` lists what was left out"
        raise TargetError(f"{target.text} is not in the index", hint=hint)
    if target.document is not None and target.line is None:
        return target.document, None
    if target.unit is None:
        where = f"{target.path}: nothing is indexed at line {target.line}"
        raise TargetError(where, hint="name a line with text, or only the file")
    return target.document or store.documents.read_rows([target.unit.document])[0], target.unit


MOST_GUESSES = 6  # Most languages tried, the index's most frequent first; loading a grammar takes some 20 ms
MOST_PARSED = 100_000
"""Most bytes that are parsed. Longer text is not a snippet, and the parser runs without a worker process that could be killed."""


def read_snippet(
    text: str, language: str, store: Store, embedder: Embedder | None
) -> tuple[str, list[str], Mapping[str, int], bytes]:
    """Parse and embed a text: (its language; names of its definitions; name → number of uses; vector, empty without `embedder`).

    An empty `language` is guessed: the first whose grammar parses the text without errors and finds a definition in it. If no
    grammar fits, every token counts as a name that is used."""
    text, tried = dedent(text), [language]  # dedented, because it may be a method copied from a class
    if not language:
        counts = Counter(d.language for d in store.documents.read_rows())
        known = [name for name in counts if (row := languages().get(name)) is not None and row.grammar]
        tried = sorted(known, key=lambda name: (-counts[name], name))[:MOST_GUESSES]
    language, extraction = _extract_symbols(text, tried)
    units = extraction.units if extraction else ()
    entries = _list_entries(text.encode(), units)
    vectors = embedder.embed_code(entries or [EmbeddedFields("", "", "", text)]) if embedder else []
    references = (r for r in (extraction.references if extraction else ()) if r.kind not in LITERAL_KINDS)
    used = Counter(token for reference in references for token in tokens(reference.name))
    names = list(dict.fromkeys(unit.name for unit in units if not unit.local))
    return language, names, used or Counter(tokens(text)), sum_vectors([vector for vector in vectors if any(vector)])


def _extract_symbols(text: str, tried: Sequence[str]) -> tuple[str, Extraction | None]:
    """Parse a text: (language that fits, what its grammar found). A single language is taken even if parsing has errors."""
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
    """List the fields to embed for each definition; one that contains others has no body, since they contain it."""
    holding = {unit.parent for unit in units if not unit.local}
    entries = []
    for place, unit in enumerate(units):
        if not unit.local:
            body = b"" if place in holding else utf8[unit.body_start : unit.span.end]
            fields = unit.name, unit.container, f"{unit.signature}\n{unit.doc}", body.decode("utf-8", "replace")
            entries.append(EmbeddedFields(*fields))
    return entries
