"""A user's own trees → training pairs in three parts: learnt from, to choose by, and held out.

Documentation, names and comments are split by file, commits by time: the last ones are held out, as what comes next. A
question that was learnt is asked in no other part, though it stands in another file or was committed again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import xxhash

from codelens.nouns import dataclass
from codelens.runs import Progress, ProgressSink
from codelens.training.histories import history_pairs
from codelens.training.mining import Pair, tree_pairs
from codelens.worktree.plumbing import GitError
from codelens.worktree.repository import enclosing_repository

LEARNT, VALIDATION, HELD_OUT = ("learnt", "validation", "held-out")
HELD_OUT_SHARE, VALIDATION_SHARE = 0.2, 0.1
"""Of files and of commits. Chosen."""


@dataclass(frozen=True, slots=True)
class OwnPair:
    """A pair, the place of its tree among those that were named, and its part."""

    pair: Pair
    tree: int
    part: str


@dataclass(frozen=True, slots=True)
class OwnPairs:
    """All pairs of the trees in order of trees, and what a person should know of how they were found."""

    pairs: tuple[OwnPair, ...]
    notes: tuple[str, ...] = ()


def own_pairs(trees: Sequence[Path], progress: ProgressSink | None = None) -> OwnPairs:
    """The pairs of folders and of the histories that they belong to, each history once."""
    found: list[OwnPair] = []
    notes: list[str] = []
    histories: set[Path] = set()
    for number, tree in enumerate(trees):
        if progress:
            progress(Progress("mine", number, len(trees), tree.name))
        pairs = tree_pairs(tree, frozenset(), frozenset(), Counter(), no_ignore=False)
        found += [OwnPair(pair, number, _part_of_file(pair.path)) for pair in pairs]
        repository = enclosing_repository(tree.resolve())
        if repository is None or repository.common in histories:
            continue
        histories.add(repository.common)
        try:
            committed = list(history_pairs(repository, progress))
        except GitError as fault:
            notes.append(f"nothing is learnt from the history of {tree}: {fault}")
            continue
        found += [OwnPair(pair, number, part) for pair, part in _by_time(committed)]
    return OwnPairs(tuple(_asked_in_one_part(found)), tuple(notes))


def _part_of_file(path: str) -> str:
    share = xxhash.xxh3_64_intdigest(path.encode("utf-8", "surrogatepass")) / 2**64
    if share < HELD_OUT_SHARE:
        return HELD_OUT
    return VALIDATION if share < HELD_OUT_SHARE + VALIDATION_SHARE else LEARNT


def _by_time(committed: Sequence[tuple[str, Pair]]) -> Iterator[tuple[Pair, str]]:
    """Pairs of commits, newest first, with their parts."""
    order = {commit: place for place, commit in enumerate(dict.fromkeys(commit for commit, _ in committed))}
    held_out = int(len(order) * HELD_OUT_SHARE)
    validation = int(len(order) * (HELD_OUT_SHARE + VALIDATION_SHARE))
    for commit, pair in committed:
        place = order[commit]
        yield pair, HELD_OUT if place < held_out else VALIDATION if place < validation else LEARNT


def _asked_in_one_part(pairs: Sequence[OwnPair]) -> Iterator[OwnPair]:
    asked: dict[str, set[str]] = {part: {_asked(p) for p in pairs if p.part == part} for part in (LEARNT, VALIDATION)}
    before = {LEARNT: set[str](), VALIDATION: asked[LEARNT], HELD_OUT: asked[LEARNT] | asked[VALIDATION]}
    return (pair for pair in pairs if _asked(pair) not in before[pair.part])


def _asked(pair: OwnPair) -> str:
    return " ".join(pair.pair.query.casefold().split())
