"""The channel for words: finds units with a name of the query first, then units by BM25 over their weighted fields, and to-do
comments if the query asks for them.

The index contains stems. To find whole words, the texts of the units with the right stems are read.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial

from codelens.model.code import Span, UnitId, UnitRow
from codelens.model.search import Match
from codelens.query.nodes import asks_for_todos
from codelens.search.channels import ChannelResult
from codelens.search.lexicon import ALIAS
from codelens.search.run import SearchRun
from codelens.search.terms import (
    LENGTH_SHARE,
    SATURATION,
    choose_rarest,
    compute_idfs,
    describe_name,
    make_name_lookup,
    strip_ending,
)
from codelens.store.store import Part, Store
from codelens.store.texts import DocumentText, Texts
from codelens.text.bm25 import score_text, weigh_length
from codelens.text.terms import BEGINNING, MOST_REPEATS, index_terms, split_path_words

MOST_READ = 1000  # Most units that are read for whole words, best by their stems first; each takes some .15 ms
MOST_TODOS = 50_000  # Most to-do comments that are compared; Linux has some 20 000


def find_by_words(run: SearchRun, limit: int) -> ChannelResult:
    """Find units with any term of the query, except common terms. The raw score is BM25, above 0, by the profile's weights of
    the fields; text in fields of weight 0 is not found.

    Stems are compared. In the mode `exact`, and if the profile demands it, whole words are compared, and only aliases replace
    words.
    """
    query, fields = run.terms, run.profile.fields
    whole = run.options.mode == "exact" or run.profile.as_written
    extra = [t for t in query.extra if not whole or t.tier == ALIAS]
    terms = list(dict.fromkeys(t.text for t in (*query.words, *extra) if t.text not in query.common))
    matches: Sequence[Match] = []
    if terms and whole:
        matches = rank_whole_words(run, terms, limit)
    elif terms:
        columns = [column for column, weight in fields.items() if weight] if 0.0 in fields.values() else []
        matches = _rank_by_stems(run, terms, limit, columns, "")
    matches = put_names_first(run, matches, limit)
    return ChannelResult(add_todo_matches(run, matches, limit) if asks_for_todos(run.query.node) else matches)


def find_by_related_words(run: SearchRun, limit: int) -> ChannelResult:
    """Find units with any of the terms from the lexicon. The raw score is BM25."""
    terms = [term.text for term in run.terms.related]
    return ChannelResult(_rank_by_stems(run, terms, limit, (), " of related words") if terms else [])


def _rank_by_stems(run: SearchRun, terms: Sequence[str], limit: int, columns: Sequence[str], what: str) -> list[Match]:
    postings = run.store.postings
    proposing = choose_rarest(postings.count_units_by_term(terms))
    scores = postings.rank_by_bm25(terms, run.profile.fields, run.within, limit, columns, proposing)
    return [Match(unit, score, f"BM25 {score:.2f}{what}") for unit, score in scores]


def put_names_first(run: SearchRun, ranking: Sequence[Match], limit: int) -> Sequence[Match]:
    """Put units with a name of the query before the matches: a name written like code, or the only word of the query."""
    terms = [term for term in run.terms.names if term.tier != "pair"]
    if not terms and len(run.terms.words) == 1:
        terms = list(run.terms.words)
    best = max((match.raw_score for match in ranking), default=1.0)
    named = dict[UnitId, Match]()
    for term in terms:
        for unit in run.store.units.find_likeliest(*make_name_lookup(term, run.within)):
            named.setdefault(unit, Match(unit, best, f"its name is {describe_name(term)}"))
    return [*named.values(), *(match for match in ranking if match.unit not in named)][:limit] if named else ranking


def add_todo_matches(run: SearchRun, ranking: Sequence[Match], limit: int) -> Sequence[Match]:
    """Add to-do comments with words of the query to the matches, best first.

    The index of words leaves them out, so that they change no statistics. They are compared here, by BM25 with the index's idf."""
    units, query = run.store.units, run.terms
    rows = units.read_rows(units.select_todos(run.within, MOST_TODOS)) if run.within is not None and query.words else {}
    if not rows:
        return ranking
    idf = {strip_ending(term): n for term, n in compute_idfs(run.store, [t.text for t in query.words]).items()}
    ordered = sorted(rows.values(), key=UnitRow.content_order)
    words = {row.id: [strip_ending(w) for w in index_terms(f"{row.name} {row.container}").split()] for row in ordered}
    mean = math.fsum(map(len, words.values())) / len(words) or 1.0
    matches = list(ranking)
    for unit, said in words.items():
        score = _compute_bm25({term: said.count(term) for term in idf}, idf, len(said) / mean)
        if score > 0:
            matches.append(Match(unit, score, f"its words, {score:.2f}"))
    return sorted(matches, key=lambda m: -m.raw_score)[:limit]  # stable: ties stay in order of content


def _compute_bm25(counts: Mapping[str, float], idf: Mapping[str, float], length: float) -> float:
    """Compute BM25 from the counts of terms; `length` is the number of words divided by the mean number."""
    terms = ((idf[term], count) for term, count in counts.items() if count)
    return score_text(terms, weigh_length(length, 1.0, SATURATION, LENGTH_SHARE), SATURATION + 1)


def rank_whole_words(run: SearchRun, terms: Sequence[str], limit: int) -> list[Match]:
    """Rank units with any of the terms as a whole word in a field that has a weight, best first."""
    fields, most = run.profile.fields, max(MOST_READ, limit)
    searched = [column for column, weight in fields.items() if weight]
    proposed = run.store.postings.rank_by_bm25(terms, fields, run.within, most, searched)
    if len(proposed) == most:
        run.store.budget.limits.append(f"only the {most} best by their stems were read for whole words")
    idf = compute_idfs(run.store, terms)
    units = [unit for unit, _ in proposed]
    counting = partial(_count_words, terms=terms, weights=fields, texts=run.texts)
    counts_of = {
        unit: counts for part in run.store.run_on_each_index(counting, units) for unit, counts in part.of.items()
    }
    counted = {unit: counts_of[unit] for unit in units if unit in counts_of}
    mean = math.fsum(length for _, length in counted.values()) / len(counted) if counted else 1.0
    scores = {unit: _compute_bm25(counts, idf, length / mean) for unit, (counts, length) in counted.items()}
    ranked = sorted(scores, key=lambda unit: -scores[unit])[:limit]  # stable: the order of the stems breaks ties
    if proposed and not ranked:
        run.add_notice("other-forms", "only other forms of these words occur; leave out --mode exact to find them")
    return [Match(unit, scores[unit], f"BM25 {scores[unit]:.2f} of whole words") for unit in ranked]


def _count_words(
    store: Store, units: Sequence[UnitId], terms: Sequence[str], weights: Mapping[str, float], texts: Texts
) -> Part[tuple[Mapping[str, float], int]]:
    """Map each unit with any of the terms to (term → its count, weighted by field; number of words in the unit)."""
    rows, marks, texts = store.units.read_rows(units), store.units.read_decorators(units), texts.get_for_store(store)
    documents = {d.id: d for d in store.documents.read_rows({row.document for row in rows.values()})}
    parts = [term.removesuffix(BEGINNING) for term in terms]
    counts_of: dict[UnitId, tuple[Mapping[str, float], int]] = {}
    for unit in units:
        store.budget.check()
        fields = _read_fields(rows[unit], marks.get(unit, ()), texts.read(documents[rows[unit].document]))
        folded = " ".join(fields.values()).casefold()
        if folded.isascii() and not any(part in folded for part in parts):
            continue
        counts, length = dict[str, float](), 0
        for name, text in fields.items():
            words = Counter(store.postings.fold_terms(index_terms(text)))
            length += words.total()
            for term in terms if weights.get(name) else ():
                begun = term[:-1] if term.endswith(BEGINNING) else ""
                n = sum(n for word, n in words.items() if word.startswith(begun)) if begun else words[term]
                if n:
                    n = min(n, MOST_REPEATS) if name == "body" else n
                    counts[term] = counts.get(term, 0.0) + weights[name] * n
        if counts:
            counts_of[unit] = (counts, length)
    return Part(of=counts_of)


def _read_fields(row: UnitRow, decorators: Sequence[str], text: DocumentText) -> Mapping[str, str]:
    """Read for each column of the index the text that its terms come from; the body includes the units inside it."""
    if row.is_quoted:
        return {"name": row.name}
    concepts, above = split_path_words(row.path)
    body = Span(row.body_start, row.span.end) if row.body_start < row.span.end else row.span
    return {
        "name": row.name,
        "concepts": concepts,
        "path": above,
        "container": row.container,
        "doc": row.doc,
        "signature": " ".join((row.signature, *decorators)),
        "body": text.read_span(body),
    }
