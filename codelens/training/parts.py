"""Names of rows → the runs of letters that they share, and rows that are sums of their own and of those.

A word that training shows seldom learns from all that are spelt like it. The sums are what a model keeps, so that embedding
knows nothing of parts (Bojanowski et al. 2017 sum them when they embed).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from codelens.embed.words import PIECE
from codelens.training.adam import Adam
from codelens.training.bags import Floats, Whole, sparse
from codelens.training.recipe import Recipe


def parts_of(name: str, lengths: Sequence[int]) -> list[str]:
    """Runs of so many letters, each once; a word's ends count as letters, and so does where a piece begins."""
    word = f"<{name.removeprefix(PIECE)}" + ("" if name.startswith(PIECE) else ">")
    runs = (word[at : at + length] for length in lengths for at in range(len(word) - length + 1))
    return list(dict.fromkeys(runs))


def shares(names: Sequence[str], recipe: Recipe) -> Any:
    """A scipy matrix [names × parts]: 1 / √(parts of the name) for each part that `part_rows` names have at least."""
    found = [parts_of(name, recipe.part_lengths) for name in names]
    often = Counter(part for parts in found for part in parts)
    number = {part: i for i, part in enumerate(p for p, times in often.items() if times >= recipe.part_rows)}
    places = [[number[part] for part in parts if part in number] for parts in found]
    lengths = np.array([len(part) for part in places], np.int64)
    ends = np.concatenate([[0], np.cumsum(lengths)])
    values = np.repeat(1 / np.sqrt(np.maximum(lengths, 1)), lengths).astype(np.float32)
    flat = np.array([at for part in places for at in part], np.int64)
    return sparse().csr_matrix((values, flat, ends), shape=(len(names), len(number)))


class Summed:
    """A model's rows as sums of their own and their parts' rows, both of which move by the sum's gradient."""

    def __init__(self, rows: Floats, names: Sequence[str], recipe: Recipe) -> None:
        self._shares = shares(names, recipe)
        self._rate, self._rows = recipe.part_rate, rows
        random = np.random.default_rng([recipe.seed, 1])
        size = (self._shares.shape[1], rows.shape[1])
        parts = random.standard_normal(size, np.float32) / np.float32(np.sqrt(rows.shape[1]))
        self._parts, self._own = Adam(parts), Adam(rows * np.float32(0.5 if size[0] else 1))
        self._add_up()

    def move(self, used: Whole, gradient: Floats, rate: float, step: int) -> None:
        """One step down the gradient of the rows `used`; rows that share parts with them follow."""
        self._own.move(used, gradient, rate, step)
        mine = self._shares[used]
        parts = np.unique(mine.indices)
        self._parts.move(parts, (mine.T @ gradient)[parts], rate * self._rate, step)
        self._add_up()

    def _add_up(self) -> None:
        np.add(self._own.value, self._shares @ self._parts.value, out=self._rows)
