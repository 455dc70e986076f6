"""How weights are learned: which tasks teach how much, what a weight may be, and how strongly it is pulled back.

All numbers of the learning are here, each with its origin; weights.toml holds what comes of them.
"""

from __future__ import annotations

from collections.abc import Mapping

from codelens.evaluation.learning.listwise import Bounds
from codelens.evaluation.learning.measured import RANKS
from codelens.evaluation.made.making import Wanted

KINDS: Mapping[str, float] = {
    "commit": 2.5,
    "topic": 1.0,
    "concept": 1.0,
    "documentation": 1.0,
    "identifier": 0.3,
    "task": 0.3,
}
"""Kind of task → what all tasks of it count together, however many they are. Chosen among eight such tables by nDCG@10 of the
development tasks, within .01 of each other. Explained commits count little: their answers are those of the commits' subjects."""
MANIFEST_TASKS = Wanted(commits=45, docs=22, identifiers=10, topics=30, concepts=26)
"""Of each repository of the manifest. Chosen so that a query of any kind is worth about as much as it takes to measure."""
OWN_TASKS = Wanted(commits=150, docs=60, identifiers=30, topics=40, concepts=40)
"""Of a repository of one's own. Chosen: a few minutes."""
FEWEST_OF_A_KIND = 30
"""A kind with fewer tasks counts so much less: three of them must not count as much as sixty. Chosen."""
PULL = 0.0007
"""Times the squared weights, beside the mean loss; .001 measured within .003 of it, .01 took .015 from commits."""
OWN_PULL = 10.0
"""The same for a repository of one's own, from the shipped weights, divided by the number of its tasks: what little is known
there moves them little. Chosen."""
SIDE = 0.0
"""What an answer in tests, documentation or examples deserves, beside answers in code to the same query: that a commit changed them
too says nothing of what was asked. nDCG@10 of the development commits after learning from 540: .404; with .2 .401, with 1 .396."""

UNTAUGHT: Mapping[str, str] = {
    "own_class": "no made task has classes of one's own",
    "resemblance": "few made tasks have typing mistakes",
    "recency": "the trees that are asked carry no history",
    "churn": "the trees that are asked carry no history",
}
"""Feature → why made tasks cannot teach it: its weight stays what it was."""

_NEVER_FOR = "such a path or piece is never found for what it is, unless the query asks for it"
_NEVER_AGAINST = "more of what was said, or nearer to it, never speaks against a candidate"
SIGNS: Mapping[str, tuple[str, frozenset[str]]] = {
    "at most 0": (_NEVER_FOR, frozenset(["test", "example", "vendored", "docs", "generated", "local", "chunk"])),
    "at least 0": (
        _NEVER_AGAINST,
        frozenset(
            [
                *("bm25", "found", "coverage", "file", "file_coverage", "exact_name", "whole_name", "pair_name"),
                *("container_named", "name_precision", "name_match", "named", "file_name", "scope"),
                *("nearness", "nearest", "near_beside", "walk"),
            ]
        ),
    ),
}
"""Sign → why, and the features that must have it, so that no habit of the made tasks turns their meaning round."""


def bounds_of(feature: str) -> Bounds:
    """What its weight may be, in each set."""
    if feature == RANKS:
        return Bounds(1.0, 1.0)  # the unit
    if feature in UNTAUGHT:
        return Bounds(0.0, 0.0)
    if feature in SIGNS["at most 0"][1]:
        return Bounds(None, 0.0)
    return Bounds(0.0, None) if feature in SIGNS["at least 0"][1] else Bounds()
