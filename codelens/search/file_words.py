"""Words → files, by BM25F over what a file says of itself: its name and folder, the folders above, the names that it defines, its
headings, what it imports.

Graph Memory embeds and indexes path, exported names and imports of a file as one text; here they are fields, read from the tables
that units have anyway.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from codelens.model import DocumentId
from codelens.nouns import dataclass
from codelens.search.expand import ExpandedQuery
from codelens.store.store import Store
from codelens.text.terms import index_terms

K1, B = 1.2, 0.75
"""BM25's, Graph Memory's figures; `B` is of the names a file defines, the only field that grows with it."""
FIELDS: Mapping[str, float] = {"concepts": 3.0, "path": 1.0, "names": 1.0, "imports": 0.5}
"""What a word counts in each. Chosen; `concepts` is the file's name with its folder."""
SAID: Mapping[str, str] = {"concepts": "name", "path": "folders", "names": "defines", "imports": "imports"}


@dataclass(frozen=True, slots=True)
class FileWords:
    """What the query's words say of one file."""

    score: float
    reason: str
    """'BM25 4.20: name config; defines load, read'."""


def rank_by_words(query: ExpandedQuery, store: Store) -> dict[DocumentId, FileWords]:
    """Every file that any word of the query is said of; in no order."""
    documents, names = store.files.totals()
    found = {term: _found(term, store) for term in dict.fromkeys(t.text for t in (*query.words, *query.extra))}
    lengths = store.files.named_units({d for fields in found.values() for held in fields.values() for d in held})
    mean = names / documents if documents else 1.0
    scores: dict[DocumentId, list[float]] = {}
    said: dict[DocumentId, dict[str, list[str]]] = {}
    for term, fields in found.items():
        holding = {document for held in fields.values() for document in held}
        idf = math.log1p((documents - len(holding) + 0.5) / (len(holding) + 0.5))
        for document in holding:
            long = 1.0 - B + B * lengths.get(document, 0) / mean if mean else 1.0
            parts = {name: held[document] for name, held in fields.items() if document in held}
            count = math.fsum(FIELDS[n] * c / (long if n == "names" else 1.0) for n, c in parts.items())
            scores.setdefault(document, []).append(idf * count * (K1 + 1) / (count + K1))
            for name in parts:
                said.setdefault(document, {}).setdefault(name, []).append(term)
    return {d: FileWords(total := math.fsum(parts), _reason(total, said[d])) for d, parts in scores.items()}


def _found(term: str, store: Store) -> Mapping[str, Mapping[DocumentId, int]]:
    """Field → document → how often the term is in it."""
    store.budget.check()
    importing: dict[DocumentId, int] = {}
    for document, text in store.files.importing(term):
        if term in index_terms(text).split():
            importing[document] = importing.get(document, 0) + 1
    return {
        "concepts": dict.fromkeys(store.files.on_path(term, "concepts"), 1),
        "path": dict.fromkeys(store.files.on_path(term, "path"), 1),
        "names": store.files.naming(term),
        "imports": dict.fromkeys(importing, 1),
    }


def _reason(score: float, said: Mapping[str, Sequence[str]]) -> str:
    parts = [f"{SAID[name]} {', '.join(said[name])}" for name in FIELDS if name in said]
    return f"BM25 {score:.2f}: {'; '.join(parts)}"
