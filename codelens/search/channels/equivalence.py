"""Concepts: units named as code usually names what the query's phrases mean."""

from __future__ import annotations

from collections.abc import Sequence

from codelens.model.code import UnitId
from codelens.model.search import Match
from codelens.search.equivalence import (
    ClassMatch,
    match_classes,
    shipped_classes,
    stems_of,
    usable_targets,
    user_classes,
)
from codelens.search.run import SearchRun

NAMED_CAP = 20
"""Units of one name that are taken. Chosen: a third of what the symbol channel takes of a name that the query itself says;
3 measured no other than 20."""
WEAK = 0.5
"""Share of its weight that a user's own class keeps if a single word matches it: its targets are found, but not at the top.
Chosen, not measured."""


class EquivalenceChannel:
    """Uses the user's own classes; the shipped ones too, if the profile gives the channel a weight."""

    name = "equivalence"

    def retrieve(self, run: SearchRun, limit: int) -> Sequence[Match]:
        """Heaviest class first, and in it target by target. The raw score is the weight of the class, or of the learned unit.

        Shipped classes need a strong match. Raises SettingsError for a file of classes with faults.
        """
        query, store, shipped = run.terms, run.store, run.profile.channels.get("equivalence", 0.0) > 0
        own = user_classes(run.settings.classes) if run.settings.classes else ()
        words = stems_of(query.texts) if own or shipped else []
        matches = match_classes(words, (*own, *(shipped_classes(words) if shipped else ())))
        learned = list(query.learned)
        found: dict[UnitId, Match] = {}
        chosen = sorted((m for m in matches if m.strong or m.concept.own), key=lambda m: -_score(m))
        store.foresee(
            *(
                ("units.named", (target, run.within, NAMED_CAP, match.concept.languages))
                for match in chosen
                for target in usable_targets(match.concept)
            )
        )
        for match in chosen:
            while learned and learned[0].raw_score > _score(match):
                found.setdefault(learned[0].unit, learned.pop(0))
            for target in usable_targets(match.concept):
                for unit in store.units.named(target, run.within, NAMED_CAP, match.concept.languages):
                    found.setdefault(unit, Match(unit, _score(match), _reason(match, target)))
        for one in learned:
            found.setdefault(one.unit, one)
        return list(found.values())[:limit]


def _score(match: ClassMatch) -> float:
    return match.concept.weight if match.strong else match.concept.weight * WEAK


def _reason(match: ClassMatch, target: str) -> str:
    phrases = " and ".join(f'"{phrase}"' for phrase in match.phrases[:2])
    return f"{phrases} of class {match.concept.name} names {target}"
