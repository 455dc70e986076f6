"""What is known of a candidate beside its ranks, each as a contribution.

A bonus adds weight x value; a factor adds score x (factor - 1). Bonuses come first, then factors in the order of `FACTORS`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from codelens.model import CHUNK_KINDS, Candidate, Contribution, DocumentId, Match, UnitId, UnitRow
from codelens.nouns import dataclass
from codelens.search.expand import ExpandedQuery
from codelens.store.store import Store
from codelens.text.identifiers import fold_identifier, split_identifier

TEST_WORDS = frozenset(
    (
        "test",
        "tests",
        "testing",
        "tested",
        "unittest",
        "pytest",
        "spec",
        "specs",
        "fixture",
        "fixtures",
        "mock",
        "mocks",
    )
)
EXAMPLE_WORDS = frozenset(("example", "examples", "sample", "samples", "demo", "demos"))
DOC_WORDS = frozenset(("doc", "docs", "documentation", "readme", "changelog", "guide", "tutorial"))
ROLE_WORDS: Mapping[str, frozenset[str]] = {
    "test": TEST_WORDS,
    "example": EXAMPLE_WORDS,
    "vendored": frozenset({"vendor", "vendored"}),
    "docs": DOC_WORDS,
    "generated": frozenset({"generated"}),
}
"""Role of a path → words of a query that ask for just that."""
MOST_FURTHER = 8
"""Hits of one file after which a further one counts no less than the last. Chosen; shipped profiles leave it without effect
(factor 1)."""
OTHER_CONTAINER = 0.5
"""Value of an exact name, of 1, where the query wrote it within something else: `Class.method`, and this is another class's.
Chosen, not measured."""
CERTAIN_CLASS = 0.9
"""Weight of an equivalence class from which on a strong match goes to the top; only a person's own classes have it
(knowing's figure)."""
SHORTEST_STEM = 3
"""Letters that must remain of a word whose ending goes: `using` is no form of `us`. Chosen."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """What the index says of the query's words in the candidates."""

    rarity: Mapping[str, float]
    """Term → idf."""
    found: Mapping[str, frozenset[UnitId]]
    """Term → the candidates that hold it in any field."""
    strength: Mapping[str, Mapping[UnitId, float]]
    """Channel → its raw scores, divided by the best of them: what a rank alone does not say."""
    resemblance: Mapping[UnitId, float]
    """Units whose name holds a name of the query (1), or is one but for slips (less, the more slips)."""
    concepts: Mapping[UnitId, Match]
    """Units that bear a name of an equivalence class of which the query says a phrase."""


def gather_evidence(
    query: ExpandedQuery, rankings: Mapping[str, Sequence[Match]], pool: Sequence[UnitId], store: Store
) -> Evidence:
    """One question to the index for each word of the query."""
    store.units.set_pool(pool)
    total = store.units.count()
    rarity: dict[str, float] = {}
    found: dict[str, frozenset[UnitId]] = {}
    for term in dict.fromkeys(t.text for t in query.words):
        frequency = store.postings.document_frequency(term)
        # BM25's idf with 1 added, as Lucene has it: no term counts less than nothing.
        rarity[term] = math.log(1.0 + (total - frequency + 0.5) / (frequency + 0.5))
        found[term] = frozenset(store.postings.pool_with_term(term))
    strength = {channel: _strength(matches) for channel, matches in rankings.items()}
    resemblance = {m.unit: m.raw_score for m in rankings.get("fuzzy", ())}
    concepts = {m.unit: m for m in rankings.get("equivalence", ())}
    return Evidence(rarity, found, strength, resemblance, concepts)


def _strength(matches: Sequence[Match]) -> dict[UnitId, float]:
    best = max((m.raw_score for m in matches), default=0.0)
    return {m.unit: max(0.0, m.raw_score / best) for m in matches} if best > 0 else {}


def add_bonuses(
    candidates: Sequence[Candidate],
    query: ExpandedQuery,
    evidence: Evidence,
    bonuses: Mapping[str, float],
    rrf_k: int,
) -> None:
    """Write what is known of each candidate itself, in place. A bonus counts in units of the best fused score."""
    best = 1.0 / (rrf_k + 1)
    files = _file_coverage(candidates, evidence)
    for candidate in candidates:
        for name, rule in BONUSES.items():
            if (weight := bonuses.get(name, 0.0)) and (gain := rule(candidate.unit, query, evidence)):
                add_bonus(candidate, name, weight * best, *gain)
        if (weight := bonuses.get("file_coverage", 0.0)) and (share := files[candidate.unit.document]):
            add_bonus(
                candidate, "file_coverage", weight * best, share * share, f"its file holds {share:.0%} of the words"
            )


def add_factors(candidates: Sequence[Candidate], query: ExpandedQuery, factors: Mapping[str, float]) -> None:
    """Write what multiplies each candidate's score so far, in place."""
    said = words_said(query)
    for candidate in candidates:
        for name, reason in _factors(candidate.unit, said):
            if name in factors:
                _add_factor(candidate, name, factors[name], reason)


def product_of_factors(unit: UnitRow, query: ExpandedQuery, factors: Mapping[str, float]) -> float:
    """What `add_factors` will multiply a unit's score by."""
    return math.prod(factors.get(name, 1.0) for name, _ in _factors(unit, words_said(query)))


def words_said(query: ExpandedQuery) -> frozenset[str]:
    """The query's words as written, case aside, and as terms of the index."""
    return frozenset(t.origin.casefold() for t in query.words) | frozenset(t.text for t in query.words)


def _file_coverage(candidates: Sequence[Candidate], evidence: Evidence) -> dict[DocumentId, float]:
    """Document → the share of the query's words, by rarity, that its candidates hold together: neighbours lift each other."""
    members: dict[DocumentId, set[UnitId]] = {}
    for candidate in candidates:
        members.setdefault(candidate.unit.document, set()).add(candidate.unit.id)
    total = math.fsum(evidence.rarity.values()) or 1.0
    return {
        document: math.fsum(evidence.rarity[t] for t, held in evidence.found.items() if not held.isdisjoint(units))
        / total
        for document, units in members.items()
    }


def spread_files(candidates: Sequence[Candidate], further: float) -> list[Candidate]:
    """Best first; each further hit of a file counts less, so that one file does not fill the page."""
    seen: dict[tuple[str, str], int] = {}
    for candidate in sorted(candidates, key=Candidate.order):
        place = (candidate.unit.repository, candidate.unit.path)
        before = seen.get(place, 0)
        seen[place] = before + 1
        if before and further != 1.0:
            _add_factor(candidate, "further", further ** min(before, MOST_FURTHER), f"hit {before + 1} of its file")
    return sorted(candidates, key=Candidate.order)


def add_bonus(candidate: Candidate, source: str, weight: float, value: float, reason: str) -> None:
    """Write one bonus of `weight` for a value from 0 to 1."""
    operands = {"weight": weight, "value": value}
    candidate.contributions.append(Contribution(source, weight * value, reason, "bonus", operands))


def _add_factor(candidate: Candidate, source: str, factor: float, reason: str) -> None:
    score = candidate.score
    operands = {"factor": factor, "of": score}
    candidate.contributions.append(Contribution(source, (factor - 1.0) * score, reason, "factor", operands))


# Bonuses: (unit, query, evidence) → (value in 0..1, reason), or None

Gain = tuple[float, str]


def _exact_name(unit: UnitRow, query: ExpandedQuery, _: Evidence) -> Gain | None:
    if unit.kind in CHUNK_KINDS:
        return None
    name = fold_identifier(unit.name)
    for term in query.names:
        if term.tier != "pair" and term.text == name:
            qualified = fold_identifier(unit.qualified_name)
            whole = qualified.endswith(fold_identifier(term.origin))
            return (1.0 if whole else OTHER_CONTAINER, f"is named {term.origin}")
    if len(query.words) and name == fold_identifier(query.text):
        return (1.0, "the whole query is its name")
    return None


def _coverage(unit: UnitRow, query: ExpandedQuery, evidence: Evidence) -> Gain | None:
    total = math.fsum(evidence.rarity.values())
    held = [t for t, units in evidence.found.items() if unit.id in units]
    if not held or not total:
        return None
    share = math.fsum(evidence.rarity[t] for t in held) / total
    return (share * share, f"holds {len(held)} of {len(evidence.rarity)} words, {share:.0%} by rarity")


def _name_precision(unit: UnitRow, query: ExpandedQuery, _: Evidence) -> Gain | None:
    if unit.kind in CHUNK_KINDS:
        return None
    words = [w for w in split_identifier(unit.name) if len(w) > 1]
    said = {stem(t.text) for t in query.words}
    matched = [w for w in words if stem(w) in said]
    return (len(matched) / len(words), f"query says {', '.join(matched)} of its name") if matched else None


def _container_named(unit: UnitRow, query: ExpandedQuery, _: Evidence) -> Gain | None:
    if not unit.container or unit.kind in CHUNK_KINDS:
        return None
    last = fold_identifier(unit.container.rsplit(".", 1)[-1])
    said = {t.text for t in query.names} | {t.text for t in query.words}
    return (1.0, f"query says {unit.container}") if last in said else None


def _words(unit: UnitRow, _: ExpandedQuery, evidence: Evidence) -> Gain | None:
    share = evidence.strength.get("exact", {}).get(unit.id)
    return (share, f"{share:.0%} of the best BM25") if share else None


def _resemblance(unit: UnitRow, _: ExpandedQuery, evidence: Evidence) -> Gain | None:
    raw = evidence.resemblance.get(unit.id)
    return (raw, "its name is one of the query's but for slips") if raw and raw < 1.0 else None


def _own_class(unit: UnitRow, _: ExpandedQuery, evidence: Evidence) -> Gain | None:
    """knowing's injection: what a person wrote down for a phrase is the answer, whatever the words and ranks say."""
    match = evidence.concepts.get(unit.id)
    return (1.0, match.reason) if match and match.raw_score >= CERTAIN_CLASS else None


def _nearness(unit: UnitRow, _: ExpandedQuery, evidence: Evidence) -> Gain | None:
    share = evidence.strength.get("vector", {}).get(unit.id)
    return (share * share, f"{share:.0%} of the best cosine, squared") if share else None


BONUSES: Mapping[str, Callable[[UnitRow, ExpandedQuery, Evidence], Gain | None]] = {
    "exact_name": _exact_name,
    "coverage": _coverage,
    "name_precision": _name_precision,
    "container_named": _container_named,
    "words": _words,
    "nearness": _nearness,
    "resemblance": _resemblance,
    "own_class": _own_class,
}


def stem(word: str) -> str:
    """A word without its commonest English ending, for comparing single words; the index itself stems by Porter."""
    for ending in ("ing", "ies", "ed", "es", "er", "s"):
        if word.endswith(ending) and len(word) - len(ending) >= SHORTEST_STEM:
            return word[: -len(ending)]
    return word[:-1] if len(word) > SHORTEST_STEM and word.endswith("e") else word


def _factors(unit: UnitRow, said: frozenset[str]) -> list[tuple[str, str]]:
    """(factor, reason) for all that speak of this unit."""
    found: list[tuple[str, str]] = []
    for role, words in ROLE_WORDS.items():
        if role in unit.roles and not (words & said):
            found.append((role, f"{role} path"))
    if unit.kind in CHUNK_KINDS:
        found.append(("chunk", f"{unit.kind} text, no definition"))
    if unit.kind in ("constant", "variable", "module"):
        found.append(("plain", unit.kind))
    if unit.local:
        found.append(("local", f"local to {unit.container}"))
    return found
