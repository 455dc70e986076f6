"""Parts, texts as typed, and typing mistakes, by trigrams: names that hold a part, code that holds words of the query as they were
typed, and names that differ from one of the query by a few letters."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from functools import partial
from itertools import islice

from codelens.model.code import DocumentId, UnitId
from codelens.model.search import Match, Term
from codelens.search.channels import ChannelResult, TextEvidence
from codelens.search.lexicon import LETTERS_PER_SLIP, MOST_UNKNOWN
from codelens.search.run import SearchRun
from codelens.search.terms import describe_name
from codelens.search.verbatim import (
    MOST_TOKENS,
    VerbatimMatches,
    find_fragment,
    find_parts,
    find_verbatim,
    is_code,
    is_pasted,
)
from codelens.store.store import Expected
from codelens.text.identifiers import fold_identifier, split_qualified
from codelens.text.terms import BEGINNING

MIN_NAME_LETTERS = 4
"""Letters. Shorter words resemble too much: they are parts of too many names, and one slip makes `get` of `set`."""
LONGEST_NAME = 200  # Letters. Longer ones are not names; SQLite takes 500 trigrams in one question.
RESEMBLING = 400
"""Names that trigram overlap proposes to the edit distance, four for each match that the channel may give."""
OF_A_WORD = 0.1
"""Certainty, of 1. A word of prose that is not a name is seldom a mistyped name; one that is written like code, or stands alone,
is. It is below any slip in a name of the query, the worst of which has 1 / (1 + MOST_SLIPS_IN_A_NAME)."""
HOLDS = 1.0
"""Raw score of a name that equals the query's. One that holds it has the mean of this and the share that it is of the name, and a
resembling one its certainty / (1 + slips), hence at most half."""
MOST_SLIPS_IN_A_NAME = 3  # However long a name is: LETTERS_PER_SLIP reaches it at twelve letters
TRIGRAM = 3  # Letters of the shortest part that the trigram index finds; shorter ones are taken as beginnings


MOST_NAMED = 400
"""Names that hold one part, where a unit counts by how many parts it holds: the shortest, for longer ones count less."""
IN_TEXT = 0.5  # Share of a part that stands in the text of a unit, and not in its name
OTHER_SPELLING = 0.9  # Value of a name, of 1, that holds a fragment but for case and separators
IN_LINE = (0.5, 0.4)  # Value of a fragment in a line, of 1: at least the first, and the second in full for a short unit
FRAGMENT = 1.0  # Added to the raw score of what holds the query as a fragment, so that nothing else goes before it


def find_nearly(run: SearchRun, limit: int) -> ChannelResult:
    """Units that hold the query as a fragment first, then names that hold a name of it, then those that are it but for slips.

    The raw score is 1 at most, and for a fragment 2. In the mode `fuzzy`, and for a profile that demands it, names and texts that
    hold a plain word are found, too; next to the other channels those would only be noise.
    """
    parts = run.options.mode == "fuzzy" or run.profile.as_written
    unknown, typing = _find_unknown(run), run.profile.channels.get("fuzzy")
    matches, typed, bearing, *near = run.store.at_once(
        partial(_find_by_parts, run, limit) if parts else partial(_find_named, run, unknown, limit),
        partial(find_verbatim, run) if typing else VerbatimMatches,
        partial(_find_in_names, find_fragment(run) if typing else "", run, limit),
        *(partial(_find_resembling, word, run) for word in unknown),
    )
    fragments: dict[UnitId, Match] = {}
    if typing:
        for unit, find in typed.finds.items():
            if (unit not in matches or find.value > matches[unit].raw_score) and not (parts and find.token):
                matches[unit] = Match(unit, find.value, f"has '{find.text}'")
        for match in _match_fragment(run, typed, bearing):
            matches[match.unit] = match
        least = 0.0 if run.options.mode == "fuzzy" else FRAGMENT
        fragments = {m.unit: m for m in matches.values() if m.raw_score > least}
    resembling: dict[UnitId, float] = {}
    for (word, certainty), alike in zip(unknown.items(), near, strict=True):
        for unit, name, slips in alike:
            mistakes = f"{slips} typing mistake{'s' * (slips > 1)}"
            resembling.setdefault(unit, certainty / (1 + slips))
            matches.setdefault(unit, Match(unit, resembling[unit], f"{word} ~ {name}, {mistakes}"))
    ranked = sorted(matches.values(), key=lambda m: -m.raw_score)  # stable: within a score the order above holds
    return ChannelResult(ranked[:limit], TextEvidence(typed.finds, resembling, fragments))


def _find_named(run: SearchRun, unknown: Mapping[str, float], limit: int) -> dict[UnitId, Match]:
    """Units whose names hold a name of the query, or a word that no unit has."""
    matches: dict[UnitId, Match] = {}
    store = run.store
    terms = [term for term in run.terms.names if term.tier != "pair" and len(term.text) >= MIN_NAME_LETTERS]
    terms += [term for term in run.terms.words if fold_identifier(term.text) in unknown]
    store.foresee(*(_name_question(term, run, limit) for term in terms if fold_identifier(term.text)))
    for term in terms:
        part, said = fold_identifier(term.text), describe_name(term)
        store.budget.check()
        if len(part) >= TRIGRAM:
            for unit, _, letters in store.postings.find_names_with(*_name_question(term, run, limit)[1]):
                matches.setdefault(unit, Match(unit, _share_of_name(part, letters), f"its name has {said}"))
        elif part:
            for unit in store.units.find_by_prefix(part, run.within, limit):
                matches.setdefault(unit, Match(unit, HOLDS, f"its name begins with {said}"))
    return matches


def _find_unknown(run: SearchRun) -> dict[str, float]:
    """Folded names and words of the query that nothing in the index bears → how likely each is a mistyped name."""
    query, store = run.terms, run.store
    names = [t.text for t in query.names if t.tier not in ("pair", "prefix")]
    words = [t.text for t in query.words if t.tier == "component"]
    alone = not names and len(words) == 1
    unknown = {fold_identifier(w): 1.0 if alone else OF_A_WORD for w in words if not store.postings.count_units(w)}
    unknown |= {name: 1.0 for name in names if not store.units.find_by_name(name, None, 1)}
    unknown = {w: certainty for w, certainty in unknown.items() if MIN_NAME_LETTERS <= len(w) <= LONGEST_NAME}
    if len(unknown) > MOST_UNKNOWN:
        store.budget.limits.append(
            f"only the first {MOST_UNKNOWN} of {len(unknown)} unknown names were checked for typing mistakes"
        )
    return dict(islice(unknown.items(), MOST_UNKNOWN))


def _name_question(term: Term, run: SearchRun, limit: int) -> Expected:
    """The question which names hold a term, or begin with a short one."""
    part = fold_identifier(term.text)
    if len(part) < TRIGRAM:
        return "units.find_by_prefix", (part, run.within, limit)
    return "postings.find_names_with", (part, run.within, limit, split_qualified(term.origin)[1])


def _share_of_name(part: str, letters: int) -> float:
    """The raw score of a name of so many letters that holds a part."""
    return HOLDS * (1.0 + len(part) / letters) / 2


def _find_by_parts(run: SearchRun, limit: int) -> dict[UnitId, Match]:
    """Units whose name or text holds words of the query as parts: the raw score is the share of the words that they hold."""
    store, terms = run.store, {term.text: term for term in run.terms.words[:MOST_UNKNOWN]}
    parts_of: dict[UnitId, dict[str, tuple[float, str]]] = {}
    named: set[DocumentId] = set()
    asked = {text: _name_question(term, run, MOST_NAMED) for text, term in terms.items()}
    store.foresee(*(question for question in asked.values() if question[0] == "postings.find_names_with"))
    for text, term in terms.items():
        part = fold_identifier(text)
        store.budget.check()
        if len(part) >= TRIGRAM:
            for unit, document, letters in store.postings.find_names_with(*asked[text][1]):
                parts_of.setdefault(unit, {})[text] = (
                    _share_of_name(part, letters),
                    f"its name has {describe_name(term)}",
                )
                named.add(document)
        for unit in store.units.find_by_prefix(part, run.within, limit) if 0 < len(part) < TRIGRAM else ():
            parts_of.setdefault(unit, {})[text] = (HOLDS, f"its name begins with {describe_name(term)}")
    texts = {text.removesuffix(BEGINNING): text for text in terms}
    for unit, finds in find_parts(run, list(texts)[:MOST_TOKENS], named).items():
        for text, find in finds.items():
            parts_of.setdefault(unit, {}).setdefault(texts[text], (IN_TEXT * find.value, f"has '{text}'"))
    return {
        unit: Match(
            unit,
            math.fsum(value for value, _ in parts.values()) / len(terms),
            "; ".join(said for _, said in parts.values()),
        )
        for unit, parts in parts_of.items()
    }


def _match_fragment(run: SearchRun, typed: VerbatimMatches, bearing: dict[UnitId, float]) -> list[Match]:
    """Units with a name or line of which the query is a part, where no unit has one of its words as a word."""
    least, more = IN_LINE
    pasted = is_pasted(typed.fragment)  # its length says which text is meant; short and long units count alike
    values = {unit: find.share if pasted else find.value for unit, find in typed.of_fragment.items()}
    if pasted and not is_code(typed.fragment):  # what a test says of a message is not what gives it
        run.prefetch(values)
        rows = run.store.units.read_rows(values)
        values = {unit: value for unit, value in values.items() if "test" not in rows[unit].roles}
    all_values = {unit: least + more * value for unit, value in values.items()} | bearing
    spelled = {unit for unit, value in bearing.items() if value == OTHER_SPELLING}
    return [
        Match(unit, FRAGMENT + value, f"has {typed.fragment}{' in another spelling' * (unit in spelled)} as a part")
        for unit, value in all_values.items()
    ]


def _find_in_names(text: str, run: SearchRun, limit: int) -> dict[UnitId, float]:
    """Units with a name of which a text is a part → value of that."""
    dotted = re.sub("::|->|#", ".", text).lower()
    holder, _, last = dotted.rpartition(".")
    folded = fold_identifier(last)
    values: dict[UnitId, float] = {}
    if len(folded) >= TRIGRAM and not re.search(r"[^\w.]", dotted):
        units = run.store.postings.find_names_containing(folded, run.within, limit)
        run.prefetch(units)
        for row in run.store.units.read_rows(units).values():
            if dotted in row.qualified_name.lower():
                values[row.id] = 1.0
            elif not holder:
                values[row.id] = OTHER_SPELLING
    return values


def _find_resembling(word: str, run: SearchRun) -> list[tuple[UnitId, str, int]]:
    """(unit, name, slips), fewest slips first. A swap of neighbours is one slip."""
    store = run.store
    store.budget.check()
    proposed = store.postings.find_names_resembling(word, run.within, RESEMBLING)
    if not proposed:
        return []
    from rapidfuzz.distance import OSA  # 27 ms, and most queries have no mistake

    most = min(MOST_SLIPS_IN_A_NAME, len(word) // LETTERS_PER_SLIP)
    near = [(unit, name, OSA.distance(word, name, score_cutoff=most)) for unit, name in proposed]
    return sorted((n for n in near if n[2] <= most), key=lambda n: n[2])
