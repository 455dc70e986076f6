"""The names around a definition → an equivalence class that leads to it: what calls it, and what it calls, says what it is for.

A query that says "blast radius" finds `TransitiveCallers`, which `handleBlastRadius` calls, though its own name says neither word.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

from codelens.model import UnitId
from codelens.search.equivalence import EquivalenceClass
from codelens.search.expand import load_words
from codelens.text.identifiers import split_identifier

DERIVED_WEIGHT = 0.7
"""Below shipped classes, which a person wrote; knowing's figure."""
SHORTEST_WORD = 3
"""Letters of a word that means something beside another. Chosen, not measured."""


def derived_classes(
    seed_names: Mapping[UnitId, str], neighbours: Mapping[UnitId, Sequence[str]]
) -> list[EquivalenceClass]:
    """For each seed with a telling neighbour one class, whose phrases are pairs of consecutive meaningful words of a neighbour.

    `neighbours` are the names of a unit's callers and callees. A pair that the seed's own name holds is none: it is found
    without. The target is the seed's name; classes stand in the order of the seeds, phrases in that of the neighbours.
    """
    classes = []
    for unit, name in seed_names.items():
        own = _pairs(name)
        pairs = dict.fromkeys(pair for other in neighbours.get(unit, ()) for pair in _pairs(other) if pair not in own)
        if pairs:
            phrases = tuple(" ".join(pair) for pair in pairs)
            classes.append(EquivalenceClass(f"around {name}", phrases, (name,), DERIVED_WEIGHT))
    return classes


def _pairs(name: str) -> list[tuple[str, str]]:
    """Neighbouring words of a name once those that mean nothing are left out: handle_the_blast_radius → blast radius."""
    words = [word for word in split_identifier(name) if _means_something(word)]
    return list(pairwise(words))


def _means_something(word: str) -> bool:
    lists = load_words()
    return len(word) >= SHORTEST_WORD and not word.isdigit() and word not in lists.generic and word not in lists.stop
