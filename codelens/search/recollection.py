"""Adds contributions for recorded use and feedback to scores, and finds units that were used for a query's words before.

It runs only if the options switch memory on. Units without records get no contribution, so an empty memory changes nothing. Only
the boost of the session depends on the clock, by the age of recorded stamps. The figures are those of the system `knowing`.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

from codelens.errors import MemoryFault
from codelens.memory.notebook import compute_unit_digests, find_units_at
from codelens.model.code import UnitId, UnitRow
from codelens.model.memory import Feedback, LearnedWord, PlaceRecord, make_place
from codelens.model.request import SearchOptions
from codelens.model.search import MEMORY_UNUSED, Candidate, ExpandedQuery, Match, Notice
from codelens.search.terms import load_words, strip_ending
from codelens.store.records import Memory
from codelens.store.store import Store
from codelens.store.texts import Texts
from codelens.text.counts import quantity
from codelens.text.identifiers import split_identifier
from codelens.text.terms import tokens
from codelens.worktree.place import locate_memory

HALF_LIFE = 180.0  # Seconds after which a stamp counts half
MOST_BOOST = 2.0  # Largest sum of stamps that counts
FAINT_BOOST = 0.01  # Sums of stamps below this count as 0
LEAST_OBSERVED, MOST_OBSERVED = 2, 10
"""Number of a unit's uses for a word from which it is found by the word, and above which the weight no longer grows."""
FIRST_WEIGHT, LAST_WEIGHT = 0.3, 0.8  # Weight of a unit with LEAST_OBSERVED uses, and with MOST_OBSERVED or more
SHORTEST_WORD = 3  # Fewest letters of a word that is learned; shorter words are mostly noise
_GENERAL = "bug case code error feature file function issue method way work"
"""Words of requests that are too general to learn, in addition to the lists of words.toml; chosen after knowing's example."""

T = TypeVar("T")


def find_learnable_words(texts: Iterable[str]) -> tuple[str, ...]:
    """Find the words of a query's plain texts that can be learned: their stems in order, each once, without noise."""
    lists = load_words()
    noise = lists.stop | lists.action | lists.generic | frozenset(_GENERAL.split())
    words = (word for text in texts for token in tokens(text) for word in split_identifier(token))
    stems = (strip_ending(w) for w in words if len(w) >= SHORTEST_WORD and w not in noise and not w.isdigit())
    return tuple(dict.fromkeys(stems))


def weigh_uses(times: int) -> float:
    """Compute the weight of a number of uses: .3 for two to .8 for ten or more, linear between."""
    share = (min(times, MOST_OBSERVED) - LEAST_OBSERVED) / (MOST_OBSERVED - LEAST_OBSERVED)
    return FIRST_WEIGHT + (LAST_WEIGHT - FIRST_WEIGHT) * share


def weigh_session(stamps: Iterable[int], now: int) -> float:
    """Rate from 0 to 1 how often and how recently a unit was used: each use counts 1 and halves every 180 s.

    The sum is at most 2 and is divided by 2; under .01 it counts as 0.
    """
    ages = [now - at for at in stamps if at <= now]
    boost = min(MOST_BOOST, math.fsum(math.exp(-age * math.log(2) / HALF_LIFE) for age in ages))
    return boost / MOST_BOOST if boost >= FAINT_BOOST else 0.0


class Recollection:
    """The memory of one index as one search uses it, at one time."""

    def __init__(self, store: Store, options: SearchOptions, notices: list[Notice]) -> None:
        self._store, self._notices, self._now = store, notices, options.now
        self._path = locate_memory(store.path)

    def find_learned(self, texts: Sequence[str], allowed: Collection[UnitId] | None) -> tuple[Match, ...]:
        """Find the units, all or those `allowed`, that were used for these words before, by weight, which is the raw score."""
        words = find_learnable_words(texts)
        learned: list[LearnedWord] = self._read(lambda memory: memory.find_learned_words(words, LEAST_OBSERVED), [])
        rows = find_units_at([one.place for one in learned], self._store)
        matches: dict[UnitId, Match] = {}
        for one in learned:
            for unit in rows.get(one.place, ()):
                if allowed is None or unit.id in allowed:
                    reason = f'"{one.word}…" led to it {one.times} times'
                    matches.setdefault(unit.id, Match(unit.id, weigh_uses(one.times), reason))
        return tuple(matches.values())

    def add_to_scores(
        self, candidates: Sequence[Candidate], terms: ExpandedQuery, weights: Mapping[str, float]
    ) -> None:
        """Add contributions for the candidates' records, in place. Signals without a weight in `weights` are ignored."""
        known = self.find_records([candidate.unit for candidate in candidates])
        judged = [c.unit for c in candidates if c.unit.id in known and known[c.unit.id].feedback]
        current = compute_unit_digests(judged, self._store, Texts(self._store)) if judged else {}
        words = frozenset(find_learnable_words(terms.texts))
        now = self._now if self._now is not None else int(time.time())
        for candidate in candidates:
            if (record := known.get(candidate.unit.id)) is None:
                continue
            valid = [one for one in record.feedback if one.digest == current.get(candidate.unit.id, "")]
            signals = *_read_signals(record, now), *_weigh_feedback(valid, len(record.feedback) - len(valid), words)
            for source, value, reason in signals:
                if value and weights.get(source):
                    candidate.add_bonus(source, weights[source], value, reason)

    def find_records(self, units: Iterable[UnitRow]) -> dict[UnitId, PlaceRecord]:
        """Map each unit to its records; empty if no unit has any."""
        wanted = list(units)
        recalled = self._read(lambda memory: memory.read_records({unit.path for unit in wanted}), None)
        return {unit.id: recalled.find(make_place(unit)) for unit in wanted} if recalled and recalled.places else {}

    def _read(self, ask: Callable[[Memory], T], nothing: T) -> T:
        """Return what `ask` reads from the memory, or `nothing` if the file is missing or, with a notice, damaged."""
        if not self._path.is_file():
            return nothing
        try:
            with Memory.open_for_reading(self._path) as memory:
                return ask(memory)
        except MemoryFault as fault:
            notice = Notice(MEMORY_UNUSED, f"searched without memory: {fault}; {fault.hint}")
            if notice not in self._notices:
                self._notices.append(notice)
            return nothing


Signal = tuple[str, float, str]  # (source of the contribution, value, reason)


def _read_signals(record: PlaceRecord, now: int) -> Iterator[Signal]:
    if boost := weigh_session(record.stamps, now):
        past = [at for at in record.stamps if at <= now]
        yield "session", boost, f"in {quantity(len(past), 'recorded answer')}, the last {now - past[-1]} s ago"
    if record.pinned:
        yield "pin", 1.0, "pinned"
    if record.rating is not None:
        yield "rating", (record.rating - 5.0) / 5.0, f"rated {record.rating:g} of 10"


def _weigh_feedback(valid: Sequence[Feedback], expired: int, words: frozenset[str]) -> Iterator[Signal]:
    """Weigh each judgement by the squared likeness of its query to this one (`words`), as a single common word says little."""
    judged = []
    for one in valid:
        asked = frozenset(find_learnable_words([one.query]))
        likeness = len(asked & words) / len(asked | words) if asked else 1.0  # by the words that the two have in common
        if likeness:
            judged.append((likeness**2, one.useful))
    if not judged:
        return
    useful, closest = sum(useful for _, useful in judged), max(likeness for likeness, _ in judged)
    share = math.fsum(likeness for likeness, useful in judged if useful) / math.fsum(one for one, _ in judged)
    reason = f"useful {useful} of {quantity(len(judged), 'time')}"
    if closest < 1.0:
        reason += f" for queries that share up to {math.sqrt(closest):.0%} of their words with this one"
    if others := len(valid) - len(judged):
        reason += f", {others} more for other queries"
    reason += f", {expired} more expired as the code changed" if expired else ""
    yield "useful" if share > 0.5 else "useless", (2.0 * share - 1.0) * closest, reason
