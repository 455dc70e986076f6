"""Concepts: units that bear the usual names of what the query's phrases speak of."""

from __future__ import annotations

from collections.abc import Sequence

from codelens.model import Match, UnitId
from codelens.search.classfile import shipped_classes, user_classes
from codelens.search.equivalence import ClassMatch, match_classes, stems_of, usable_targets
from codelens.search.expand import ExpandedQuery
from codelens.store.store import Store

NAMED_CAP = 20
"""Units of one name that are taken. Chosen: a third of what the symbol channel takes of a name that the query itself says;
3 measured no other than 20."""
WEAK = 0.5
"""Of a class's weight, where a person's own class is matched by a single word: what it names is found, and does not go to the
top. Chosen, not measured."""


class EquivalenceChannel:
    """`classes`: a person's own file of classes, empty for none; `shipped`: whether those that come with codelens take part."""

    name = "equivalence"

    def __init__(self, classes: str = "", shipped: bool = True) -> None:
        self._classes, self._shipped = classes, shipped

    def retrieve(self, query: ExpandedQuery, store: Store, limit: int) -> Sequence[Match]:
        """Heaviest class first, and in it target by target. The raw score is the class's weight. What was learned has one too.

        Shipped classes want a strong match. Raises SettingsError for a file of classes that cannot be taken.
        """
        own = user_classes(self._classes) if self._classes else ()
        said = stems_of(query.texts) if own or self._shipped else []
        matches = match_classes(said, (*own, *(shipped_classes(said) if self._shipped else ())))
        learned = list(query.learned)
        found: dict[UnitId, Match] = {}
        for match in sorted((m for m in matches if m.strong or m.concept.own), key=lambda m: -_score(m)):
            while learned and learned[0].raw_score > _score(match):
                found.setdefault(learned[0].unit, learned.pop(0))
            for target in usable_targets(match.concept):
                for unit in store.units.named(target, query.scoped, NAMED_CAP, match.concept.languages):
                    found.setdefault(unit, Match(unit, _score(match), _reason(match, target)))
        for one in learned:
            found.setdefault(one.unit, one)
        return list(found.values())[:limit]


def _score(match: ClassMatch) -> float:
    return match.concept.weight if match.strong else match.concept.weight * WEAK


def _reason(match: ClassMatch, target: str) -> str:
    said = " and ".join(f'"{phrase}"' for phrase in match.phrases[:2])
    return f"{said} of class {match.concept.name} names {target}"
