"""A model and a user's own trees → the model adapted to them, and what that gained on a part that it was not shown.

Documentation and names are split by file, commits by time: the last ones are held out. Another part, also not learnt from,
says when to stop. Words that the user's code often has and the model lacks become rows, which begin as the sum of their pieces.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import xxhash

from codelens.embed.model_file import ModelFile
from codelens.embed.words import PIECE, rows_of
from codelens.errors import UsageError
from codelens.nouns import dataclass
from codelens.training.corpus import KINDS, Corpus, Encoder
from codelens.training.histories import history_pairs
from codelens.training.mining import Pair, tree_pairs
from codelens.training.quantise import model_of
from codelens.training.ranks import mean_reciprocal_rank
from codelens.training.recipe import Model, Recipe
from codelens.training.trainer import train
from codelens.training.vocabulary import as_rows, frequencies
from codelens.worktree.plumbing import GitError
from codelens.worktree.repository import enclosing_repository

HELD_OUT, VALIDATION = 0.2, 0.1
"""Shares of files and of commits."""
FEWEST_PAIRS = 200
"""Below there is nothing to learn, and nothing to measure it by."""
FEWEST_TIMES, MOST_NEW = 5, 4000
"""How often a new row's word must stand in the user's pairs, and how many such rows there may be."""


@dataclass(frozen=True, slots=True)
class Tuned:
    """What a fine-tuning did."""

    model: Model
    names: list[str]
    pairs: Mapping[str, int]
    before: Mapping[str, float]
    """Kind of question → MRR of the first ten on the held-out part."""
    after: Mapping[str, float]
    seconds: float
    steps: int


def own_pairs(trees: Sequence[Path]) -> list[tuple[Pair, str]]:
    """(pair, part) of the users' trees; the part is 'learnt', 'validation' or 'held-out'."""
    found: list[tuple[Pair, str]] = []
    for tree in trees:
        found += [
            (pair, _part(pair.path))
            for pair in tree_pairs(tree, frozenset(), frozenset(), Counter())
            if pair.kind != "comment"
        ]
        found += _of_history(tree)
    return found


def _part(path: str) -> str:
    share = xxhash.xxh3_64_intdigest(path.encode()) / 2**64
    return "held-out" if share < HELD_OUT else "validation" if share < HELD_OUT + VALIDATION else "learnt"


def _of_history(tree: Path) -> list[tuple[Pair, str]]:
    repository = enclosing_repository(tree.resolve())
    if repository is None:
        return []
    try:
        pairs = list(history_pairs(repository))
    except GitError:
        return []
    order = list(dict.fromkeys(commit for commit, _ in pairs))  # newest first
    held, validation = int(len(order) * HELD_OUT), int(len(order) * (HELD_OUT + VALIDATION))
    part = {c: "held-out" if i < held else "validation" if i < validation else "learnt" for i, c in enumerate(order)}
    return [(pair, part[commit]) for commit, pair in pairs]


def fine_tune(
    file: ModelFile, trees: Sequence[Path], recipe: Recipe, told: Callable[[int, float, float], object]
) -> Tuned:
    """Adapt a model. `told` hears the step, the loss and the validation's figure. Raises UsageError where there is too little."""
    started = time.perf_counter()
    pairs = own_pairs(trees)
    counts = Counter(pair.kind for pair, _ in pairs)
    if sum(counts.values()) < FEWEST_PAIRS:
        raise UsageError(
            f"only {sum(counts.values())} pairs of words and code in these trees, {FEWEST_PAIRS} are needed",
            "name more repositories; documented functions and commits make pairs",
        )
    base, names = model_of(file)
    model, rows, corpus = _widened(base, names, _encoded(pairs))
    parts = np.array([part for _, part in pairs])
    kinds = np.array([KINDS.index(pair.kind) for pair, _ in pairs])
    places = {part: np.flatnonzero(parts == part) for part in ("learnt", "validation", "held-out")}

    def figures(which: str) -> dict[str, float]:
        chosen = places[which]
        return {
            kind: mean_reciprocal_rank(corpus, chosen[kinds[chosen] == i], model)
            for i, kind in enumerate(KINDS)
            if (kinds[chosen] == i).sum() >= 20
        }

    before = figures("held-out")
    best, kept, steps = _mean(figures("validation")), model.copy(), 0
    size = max(64, min(recipe.batch, len(places["learnt"]) // 4))
    recipe = replace(recipe, batch=size, run=size)

    def hear(step: int, loss: float, now: Model) -> None:
        nonlocal best, kept, steps
        if step % max(1, recipe.steps // 12) == 0 or step == recipe.steps:
            found = _mean(figures("validation"))
            told(step, loss, found)
            if found > best:
                best, kept, steps = found, now.copy(), step

    train(corpus, places["learnt"], recipe, model, hear)
    model.rows, model.query, model.code, model.factors = kept.rows, kept.query, kept.code, kept.factors
    return Tuned(kept, rows, dict(counts), before, figures("held-out"), time.perf_counter() - started, steps)


def _mean(figures: Mapping[str, float]) -> float:
    return sum(figures.values()) / len(figures) if figures else 0.0


def _encoded(pairs: Iterable[tuple[Pair, str]]) -> Corpus:
    encoder = Encoder()
    encoder.add("own", ({k: str(v) for k, v in pair.record().items()} for pair, _ in pairs))
    return encoder.corpus()


def _widened(model: Model, names: list[str], words: Corpus) -> tuple[Model, list[str], Corpus]:
    """The model with rows for the user's own frequent words, and the corpus in its rows."""
    find: dict[str, Any] = {name: i for i, name in enumerate(names)}
    often = frequencies(words)
    new = sorted(
        (w for w, n in often.items() if n >= FEWEST_TIMES and w not in find and 1 < len(w) <= 40),
        key=lambda w: (-often[w], w),
    )[:MOST_NEW]
    rows, query, code = [], [], []
    for word in new:
        pieces = rows_of(word, find.get)
        together = (
            (np.exp(model.code[pieces])[:, None] * model.rows[pieces]).sum(axis=0)
            if pieces
            else np.zeros(model.rows.shape[1], np.float32)
        )
        weight = float(np.linalg.norm(together))
        rows.append(together / max(weight, 1e-6))
        level = float(np.log(max(weight, 1e-4)))
        query.append(level)
        code.append(level)
    if new:
        model = Model(
            np.concatenate([model.rows, np.array(rows, np.float32)]),
            np.concatenate([model.query, np.array(query, np.float32)]),
            np.concatenate([model.code, np.array(code, np.float32)]),
            model.factors,
            model.temperature,
        )
    all_names = [*names, *new]
    assert not any(name.startswith(PIECE) for name in new)
    return model, all_names, as_rows(words, all_names)
