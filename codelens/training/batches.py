"""A corpus → an endless row of batches, made of runs of one package and one kind of question.

What stands together in a package is hard to tell apart, and so teaches more than a draw from everywhere.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from codelens.training.bags import Whole
from codelens.training.corpus import Corpus
from codelens.training.recipe import Recipe


def batches(corpus: Corpus, chosen: Whole, recipe: Recipe, random: np.random.Generator) -> Iterator[Whole]:
    """Places of pairs, `recipe.batch` of them or all that there are; of each kind its share of them."""
    kinds = corpus.kinds[chosen]
    pools = {
        int(kind): _runs(corpus, chosen[kinds == kind], recipe.run, random)
        for kind in np.unique(kinds)
        if recipe.shares[int(kind)] > 0
    }
    whole = sum(recipe.shares[kind] for kind in pools)
    size = min(recipe.batch, len(chosen))
    while True:
        found: list[Whole] = []
        for kind, pool in pools.items():
            wanted = round(size * recipe.shares[kind] / whole)
            while wanted > 0:
                run = next(pool)[:wanted]
                found.append(run)
                wanted -= len(run)
        yield np.unique(np.concatenate(found))


def _runs(corpus: Corpus, mine: Whole, size: int, random: np.random.Generator) -> Iterator[Whole]:
    """All of `mine` in random runs, again and again."""
    while True:
        order = random.permutation(mine)
        order = order[np.argsort(corpus.package[order], kind="stable")]
        packages = np.split(order, np.flatnonzero(np.diff(corpus.package[order])) + 1)
        runs = [part[i : i + size] for part in packages for i in range(0, len(part), size)]
        for at in random.permutation(len(runs)):
            yield runs[at]
