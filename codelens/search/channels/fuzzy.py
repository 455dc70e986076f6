"""The channel for parts and typing mistakes, by trigrams: finds names that contain a part, code that contains words of the query as
typed, and names that differ from a name of the query by a few letters."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from functools import partial
from itertools import islice

from codelens.model.code import DocumentId, UnitId
from codelens.model.search import Match, Term
from codelens.search import verbatim
from codelens.search.channels import ChannelResult, TextEvidence
from codelens.search.lexicon import LETTERS_PER_SLIP, MOST_UNKNOWN
from codelens.search.run import SearchRun
from codelens.search.terms import describe_name
from codelens.text.identifiers import fold_identifier, split_qualified
from codelens.text.terms import BEGINNING

MIN_NAME_LETTERS = 4
"""Fewest letters of a name that is compared; shorter ones are parts of too many names, and one mistake turns `set` into `get`."""
LONGEST_NAME = 200  # Most letters of a name that is compared; SQLite takes 500 trigrams in one query
RESEMBLING = 400
"""Most names that are selected by common trigrams to be compared letter by letter, four for each match of the channel."""
OF_A_WORD = 0.1
"""Certainty that an unknown word of prose is a mistyped name; it is 1 for a word written like code, and for the only word of a
query. It is below the value of any misspelled name of the query, which is at least 1 / (1 + MOST_SLIPS_IN_A_NAME)."""
HOLDS = 1.0
"""Raw score of a name that equals the query's. A name that contains the query's has the mean of this and the part's share of its
letters; a misspelled one has certainty / (1 + mistakes), so at most half."""
# Most typing mistakes in a name of any length; LETTERS_PER_SLIP allows them from twelve letters
MOST_SLIPS_IN_A_NAME = 3
TRIGRAM = 3  # Fewest letters of a part that the trigram index finds; shorter parts are only found as beginnings
MOST_NAMED = 400
"""Most names that are read for one part if units are scored by the number of parts; the shortest, as longer ones count less."""
IN_TEXT = 0.5  # Factor on the value of a part in the text of a unit instead of its name
OTHER_SPELLING = 0.9  # Value of a name that contains a fragment, apart from case and separators
IN_LINE = (0.5, 0.4)  # Least value of a fragment in a line, and the most that is added, for a short unit
FRAGMENT = 1.0  # Added to the raw score of units that contain the query as a fragment, so that they come first


def find_by_fragment(run: SearchRun, limit: int) -> ChannelResult:
    """Find units that contain the query as a fragment, then names that contain a name of it, then misspelled names.

    The raw score is at most 1, and at most 2 for a fragment. In the mode `fuzzy`, and if the profile demands it, names and texts
    that contain a plain word are also found; together with other channels these would be noise.
    """
    parts = run.options.mode == "fuzzy" or run.profile.as_written
    unknown, typing = _find_unknown(run), run.profile.channels.get("fuzzy")
    matches, typed, bearing, *near = run.store.run_tasks(
        partial(_find_by_parts, run, limit) if parts else partial(_find_named, run, unknown, limit),
        partial(verbatim.find_verbatim, run) if typing else verbatim.VerbatimMatches,
        partial(_find_in_names, verbatim.find_fragment(run) if typing else "", run, limit),
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
    """Find units whose names contain a name of the query, or a word of it that occurs in no unit."""
    matches: dict[UnitId, Match] = {}
    terms = [term for term in run.terms.names if term.tier != "pair" and len(term.text) >= MIN_NAME_LETTERS]
    terms += [term for term in run.terms.words if fold_identifier(term.text) in unknown]
    for named in run.store.run_tasks(*(partial(_find_with_part, term, run, limit, limit) for term in terms)):
        for unit, _, value, reason in named:
            matches.setdefault(unit, Match(unit, value, reason))
    return matches


def _find_with_part(
    term: Term, run: SearchRun, most: int, most_begun: int
) -> list[tuple[UnitId, DocumentId | None, float, str]]:
    """Find `most` names that contain a term, or `most_begun` that begin with a short one: (unit, document, raw score, reason)."""
    store, part, said = run.store, fold_identifier(term.text), describe_name(term)
    store.budget.check()
    if len(part) >= TRIGRAM:
        named = store.postings.find_names_with(part, run.within, most, split_qualified(term.origin)[1])
        reason = f"its name has {said}"
        return [(unit, document, HOLDS * (1.0 + len(part) / letters) / 2, reason) for unit, document, letters in named]
    units = store.units.find_by_prefix(part, run.within, most_begun) if part else ()
    return [(unit, None, HOLDS, f"its name begins with {said}") for unit in units]


def _find_unknown(run: SearchRun) -> dict[str, float]:
    """Map the query's folded names and words that the index does not have to the certainty that each is a mistyped name."""
    query, store = run.terms, run.store
    names = [t.text for t in query.names if t.tier not in ("pair", "prefix")]
    words = [t.text for t in query.words if t.tier == "component"]
    alone = not names and len(words) == 1
    unknown = {fold_identifier(w): 1.0 if alone else OF_A_WORD for w in words if not store.postings.count_units(w)}
    unknown |= {name: 1.0 for name in names if not store.units.find_by_name(name, None, 1)}
    unknown = {w: certainty for w, certainty in unknown.items() if MIN_NAME_LETTERS <= len(w) <= LONGEST_NAME}
    if len(unknown) > MOST_UNKNOWN:
        checked = f"only the first {MOST_UNKNOWN} of {len(unknown)} unknown names"
        store.budget.limits.append(f"{checked} were checked for typing mistakes")
    return dict(islice(unknown.items(), MOST_UNKNOWN))


def _find_by_parts(run: SearchRun, limit: int) -> dict[UnitId, Match]:
    """Find units whose name or text contains words of the query as parts; the raw score is the mean value of the words."""
    terms = {term.text: term for term in run.terms.words[:MOST_UNKNOWN]}
    parts_of: dict[UnitId, dict[str, tuple[float, str]]] = {}
    named: set[DocumentId] = set()
    found = run.store.run_tasks(*(partial(_find_with_part, term, run, MOST_NAMED, limit) for term in terms.values()))
    for text, of_term in zip(terms, found, strict=True):
        for unit, document, value, reason in of_term:
            parts_of.setdefault(unit, {})[text] = value, reason
            named.update([document] if document else [])
    texts = {text.removesuffix(BEGINNING): text for text in terms}
    for unit, finds in verbatim.find_parts(run, list(texts)[: verbatim.MOST_TOKENS], named).items():
        for text, find in finds.items():
            parts_of.setdefault(unit, {}).setdefault(texts[text], (IN_TEXT * find.value, f"has '{text}'"))
    scores = {unit: math.fsum(value for value, _ in parts.values()) / len(terms) for unit, parts in parts_of.items()}
    reasons = {unit: "; ".join(reason for _, reason in parts.values()) for unit, parts in parts_of.items()}
    return {unit: Match(unit, score, reasons[unit]) for unit, score in scores.items()}


def _match_fragment(run: SearchRun, typed: verbatim.VerbatimMatches, bearing: dict[UnitId, float]) -> list[Match]:
    """Make matches for units that contain the query's fragment in a line, or in their name (`bearing`: unit → value)."""
    least, more = IN_LINE
    pasted = verbatim.is_pasted(typed.fragment)  # a long text identifies its place, so the unit's length does not count
    values = {unit: find.share if pasted else find.value for unit, find in typed.of_fragment.items()}
    if pasted and not verbatim.is_code(typed.fragment):  # tests that quote a message do not produce it
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
    """Map units whose name contains a text to the value of the match."""
    dotted = re.sub("::|->|#", ".", text).lower()
    holder, _, last = dotted.rpartition(".")
    folded = fold_identifier(last)
    if len(folded) < TRIGRAM or re.search(r"[^\w.]", dotted):
        return {}
    units = run.store.postings.find_names_containing(folded, run.within, limit)
    run.prefetch(units)
    names = {row.id: row.qualified_name.lower() for row in run.store.units.read_rows(units).values()}
    values = {unit: 1.0 if dotted in name else OTHER_SPELLING for unit, name in names.items()}
    return values if not holder else {unit: value for unit, value in values.items() if value == 1.0}


def _find_resembling(word: str, run: SearchRun) -> list[tuple[UnitId, str, int]]:
    """Find names like a word: (unit, name, typing mistakes), fewest first. A swap of neighbouring letters is one mistake."""
    store = run.store
    store.budget.check()
    proposed = store.postings.find_names_resembling(word, run.within, RESEMBLING)
    if not proposed:
        return []
    from rapidfuzz.distance import OSA  # 27 ms, and most queries have no mistake

    most = min(MOST_SLIPS_IN_A_NAME, len(word) // LETTERS_PER_SLIP)
    near = [(unit, name, OSA.distance(word, name, score_cutoff=most)) for unit, name in proposed]
    return sorted((n for n in near if n[2] <= most), key=lambda n: n[2])
