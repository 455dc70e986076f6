"""A model and pairs → the model with rows for words that the pairs often have and it lacks.

A new row begins as what its word's pieces sum up to, so that nothing changes until it is trained; a word without known
pieces begins as nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from codelens.embed.words import rows_of
from codelens.training.bags import Floats, Whole, places_of
from codelens.training.contrast import TEXTS_OF_PAIR
from codelens.training.corpus import Corpus
from codelens.training.recipe import Model

FEWEST_TIMES, MOST_NEW = 5, 4000
"""How many texts must have a new row's word, and how many such rows there may be: 1 MB. Chosen, not measured."""
LONGEST_WORD = 40
_LEAST = 1e-4
"""Weight of a row that begins as nothing: the least that has a logarithm of use."""


def widened(model: Model, names: Sequence[str], words: Corpus, learnt: Whole) -> tuple[Model, list[str]]:
    """A new model, and its rows' names: those that it had, then the new ones, the most frequent first.

    `words`: the corpus in words; only its pairs at `learnt` are counted.
    """
    find = {name: place for place, name in enumerate(names)}
    new = [word for word in _frequent(words, learnt) if word not in find][:MOST_NEW]
    if not new:
        return model.copy(), list(names)
    begun = np.array([_sum_of_pieces(model, rows_of(word, find.get)) for word in new], np.float32)
    lengths = np.maximum(np.linalg.norm(begun, axis=1), _LEAST).astype(np.float32)
    levels = np.log(lengths)
    return (
        Model(
            np.concatenate([model.rows, begun / lengths[:, None]]),
            np.concatenate([model.query, levels]),
            np.concatenate([model.code, levels]),
            model.factors.copy(),
            model.temperature,
        ),
        [*names, *new],
    )


def _frequent(words: Corpus, learnt: Whole) -> list[str]:
    """Words that enough of the pairs' texts have, the most frequent first; ties by the word."""
    bags = (learnt[:, None] * TEXTS_OF_PAIR + np.arange(TEXTS_OF_PAIR)).ravel()
    counts = np.bincount(words.ids[places_of(words.starts, bags)[0]], minlength=len(words.words)).tolist()
    often = [(-n, word) for word, n in zip(words.words, counts, strict=True) if n >= FEWEST_TIMES]
    return [word for _, word in sorted(often) if 1 < len(word) <= LONGEST_WORD]


def _sum_of_pieces(model: Model, pieces: list[int]) -> Floats:
    summed: Floats = (np.exp(model.code[pieces])[:, None] * model.rows[pieces]).sum(axis=0)
    return summed
