"""Concepts: units named as code usually names what the query's phrases mean."""

from __future__ import annotations

from codelens.model.code import UnitId
from codelens.model.search import Match
from codelens.search.channels import ChannelResult
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
    modes = ("hybrid", "keyword")

    def retrieve(self, run: SearchRun, limit: int) -> ChannelResult:
        """Heaviest class first, and in it target by target. The raw score is the weight of the class, or of the learned unit.

        Shipped classes need a strong match. Raises SettingsError for a file of classes with faults.
        """
        query, store, uses_shipped = run.terms, run.store, run.profile.channels.get("equivalence", 0.0) > 0
        own = user_classes(run.settings.classes) if run.settings.classes else ()
        words = stems_of(query.texts) if own or uses_shipped else []
        class_matches = match_classes(words, (*own, *(shipped_classes(words) if uses_shipped else ())))
        learned = list(query.learned)
        matches: dict[UnitId, Match] = {}
        chosen = sorted((m for m in class_matches if m.strong or m.concept.own), key=lambda m: -_score(m))
        store.foresee(
            *(
                ("units.named", (target, run.within, NAMED_CAP, match.concept.languages))
                for match in chosen
                for target in usable_targets(match.concept)
            )
        )
        for match in chosen:
            while learned and learned[0].raw_score > _score(match):
                matches.setdefault(learned[0].unit, learned.pop(0))
            for target in usable_targets(match.concept):
                for unit in store.units.named(target, run.within, NAMED_CAP, match.concept.languages):
                    matches.setdefault(unit, Match(unit, _score(match), _reason(match, target)))
        for match_of_use in learned:
            matches.setdefault(match_of_use.unit, match_of_use)
        return ChannelResult(list(matches.values())[:limit])


def _score(match: ClassMatch) -> float:
    return match.concept.weight if match.strong else match.concept.weight * WEAK


def _reason(match: ClassMatch, target: str) -> str:
    phrases = " and ".join(f'"{phrase}"' for phrase in match.phrases[:2])
    return f"{phrases} of class {match.concept.name} names {target}"
