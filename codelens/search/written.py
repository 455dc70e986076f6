"""Units that hold words as the query has them. The index keeps stems, so the texts of what it proposes are read."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from codelens.model.code import QUOTING, Span, UnitId, UnitRow
from codelens.model.search import Match
from codelens.store.texts import DocumentText
from codelens.text.terms import BEGINNING, MOST_REPEATS, index_terms, place_words

if TYPE_CHECKING:
    from codelens.search.run import SearchRun

MOST_READ = 1000
"""Units that are read, those with the most of the stems first. Chosen: some .15 ms each."""
SATURATION, LENGTH_SHARE = 1.2, 0.75
"""k1 and b of FTS5's BM25, which is computed here of whole words."""


def find_written(run: SearchRun, terms: Sequence[str], limit: int) -> list[Match]:
    """Units with any of the terms as a whole word in a field that has a weight, best first."""
    fields, most = run.profile.fields, max(MOST_READ, limit)
    searched = [column for column, weight in fields.items() if weight]
    proposed = run.store.postings.bm25(terms, fields, run.within, most, searched)
    if len(proposed) == most:
        run.store.budget.limits.append(f"only the {most} best by their stems were read for whole words")
    total = run.store.units.count()
    frequencies = {term: run.store.postings.document_frequency(term) for term in terms}
    rarity = {term: math.log(1.0 + (total - n + 0.5) / (n + 0.5)) for term, n in frequencies.items()}
    counted = _counts(run, [unit for unit, _ in proposed], terms)
    mean = math.fsum(length for _, length in counted.values()) / len(counted) if counted else 1.0
    scores = {unit: _bm25(counts, rarity, length / mean) for unit, (counts, length) in counted.items()}
    ranked = sorted(scores, key=lambda unit: -scores[unit])[:limit]  # stable: the order of the stems breaks ties
    if proposed and not ranked:
        run.notice("other-forms", "only other forms of these words occur; without --mode exact they are found")
    return [Match(unit, scores[unit], f"BM25 {scores[unit]:.2f} of whole words") for unit in ranked]


def _bm25(counts: Mapping[str, float], rarity: Mapping[str, float], length: float) -> float:
    norm = SATURATION * (1 - LENGTH_SHARE + LENGTH_SHARE * length)
    return math.fsum(rarity[term] * n * (SATURATION + 1) / (n + norm) for term, n in counts.items())


def _counts(
    run: SearchRun, units: Sequence[UnitId], terms: Sequence[str]
) -> dict[UnitId, tuple[Mapping[str, float], int]]:
    """Unit with any of the terms → how often each stands in it, by the weights of the fields, and its number of words."""
    store, weights = run.store, run.profile.fields
    rows, marks = store.units.rows(units), store.units.decorators(units)
    documents = {d.id: d for d in store.documents.rows({row.document for row in rows.values()})}
    parts = [term.removesuffix(BEGINNING) for term in terms]
    found = {}
    for unit in units:
        store.budget.check()
        fields = _fields(rows[unit], marks.get(unit, ()), run.texts.of(documents[rows[unit].document]))
        folded = " ".join(fields.values()).casefold()
        if folded.isascii() and not any(part in folded for part in parts):
            continue
        counts, length = Counter[str](), 0
        for name, text in fields.items():
            words = Counter(store.postings.words(index_terms(text)))
            length += words.total()
            for term in terms if weights.get(name) else ():
                if n := _count(term, words):
                    counts[term] += weights[name] * (min(n, MOST_REPEATS) if name == "body" else n)
        if counts:
            found[unit] = (counts, length)
    return found


def _count(term: str, words: Mapping[str, int]) -> int:
    if not term.endswith(BEGINNING):
        return words.get(term, 0)
    return sum(n for word, n in words.items() if word.startswith(term[:-1]))


def _fields(row: UnitRow, decorators: Sequence[str], text: DocumentText) -> Mapping[str, str]:
    """Column of the index → the text that its terms are made of; the body has those of the units inside it, too."""
    if row.local and row.language in QUOTING:
        return {"name": row.name}
    concepts, above = place_words(row.path)
    body = Span(row.body_start, row.span.end) if row.body_start < row.span.end else row.span
    return {
        "name": row.name,
        "concepts": concepts,
        "path": above,
        "container": row.container,
        "doc": row.doc,
        "signature": " ".join((row.signature, *decorators)),
        "body": text.slice(body),
    }
