"""How weights are learned: which tasks teach how much, what a weight may be, and how strongly it is pulled back.

All numbers of the learning are here, each with its origin; weights.toml holds what comes of them.
"""

from __future__ import annotations

from collections.abc import Mapping

from codelens.evaluation.learning.listwise import Bounds
from codelens.evaluation.learning.measured import RANKS
from codelens.evaluation.made.making import Wanted

KINDS: Mapping[str, float] = {
    "commit": 1.0,
    "topic": 0.7,
    "concept": 0.7,
    "documentation": 0.3,
    "identifier": 0.2,
    "task": 0.1,
}
"""Kind of task → what all tasks of it count together, however many they are. Chosen among four such tables by nDCG@10 of the
development tasks. Explained commits count little: their answers are those of the commits' subjects."""
MANIFEST_TASKS = Wanted(commits=45, docs=22, identifiers=10, topics=30, concepts=26)
"""Of each repository of the manifest. Chosen so that a query of any kind is worth about as much as it takes to measure."""
OWN_TASKS = Wanted(commits=150, docs=60, identifiers=30, topics=40, concepts=40)
"""Of a repository of one's own. Chosen: a few minutes."""
FEWEST_OF_A_KIND = 30
"""A kind with fewer tasks counts so much less: three of them must not count as much as sixty. Chosen."""
PULL = 0.01
"""Times the squared weights, beside the mean loss; .003 measured within .003 of it."""
OWN_PULL = 10.0
"""The same for a repository of one's own, from the shipped weights, divided by the number of its tasks: what little is known
there moves them little. Chosen."""
SIDE = 0.0
"""What an answer in tests, documentation or examples deserves, beside answers in code to the same query: that a commit changed them
too says nothing of what was asked. Measured: .2 and 1 teach to look for tests."""

UNTAUGHT: Mapping[str, float] = {
    "own_class": 30.0,
    "resemblance": 2.0,
    "asked_generated": 0.0,
    "asked_vendored": 0.0,
    RANKS: 1.0,
}
"""Feature → its weight, in every set, for what made tasks cannot teach: no task has classes of one's own (30 is above the sum of
all others), few have typing mistakes, and next to none asks for generated or vendored files. The ranks are the unit."""

_NEVER_FOR = "such a path or piece is never found for what it is, unless the query asks for it"
_NEVER_AGAINST = "more of what was said, or nearer to it, never speaks against a candidate"
SIGNS: Mapping[str, tuple[str, frozenset[str]]] = {
    "at most 0": (_NEVER_FOR, frozenset(["test", "example", "vendored", "docs", "generated", "local", "chunk"])),
    "at least 0": (
        _NEVER_AGAINST,
        frozenset(
            [
                *("bm25", "found", "coverage", "rarest", "around", "inside", "file", "file_coverage"),
                *("exact_name", "whole_name", "name_begins", "pair_name", "container_named", "container_words"),
                *("name_precision", "name_match", "named", "in_path", "file_name", "scope"),
                *("nearness", "nearest", "cosine", "near_beside", "near_around", "near_inside", "walk", "walk_log"),
            ]
        ),
    ),
}
"""Sign → why, and the features that must have it, so that no habit of the made tasks turns their meaning round."""


def bounds_of(feature: str) -> Bounds:
    """What its weight may be, in each set."""
    if feature in UNTAUGHT:
        return Bounds(UNTAUGHT[feature], UNTAUGHT[feature])
    if feature in SIGNS["at most 0"][1]:
        return Bounds(None, 0.0)
    return Bounds(0.0, None) if feature in SIGNS["at least 0"][1] else Bounds()
