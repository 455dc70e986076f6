"""A model and pairs → the model with rows for words that the pairs often have and it lacks.

A new row begins as what its word's pieces sum up to, so that little changes until it is trained. A word without known pieces
begins somewhere by chance, which depends on the word alone, with a weight as others have.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from codelens.embed.model_file import key_of
from codelens.embed.words import rows_of
from codelens.training.bags import Floats, Whole, places_of
from codelens.training.contrast import TEXTS_OF_PAIR
from codelens.training.corpus import Corpus
from codelens.training.recipe import Model

FEWEST_TIMES, MOST_NEW = 5, 4000
"""How many texts must have a new row's word, and how many such rows there may be: 1 MB. Chosen, not measured."""
LONGEST_WORD = 40


def widened(model: Model, names: Sequence[str], words: Corpus, learnt: Whole) -> tuple[Model, list[str]]:
    """A new model, and its rows' names: those that it had, then the new ones, the most frequent first.

    `words`: the corpus in words; only its pairs at `learnt` are counted.
    """
    find = {name: place for place, name in enumerate(names)}
    new = [word for word in _frequent(words, learnt) if word not in find][:MOST_NEW]
    if not new:
        return model.copy(), list(names)
    begun = [_begun(model, word, rows_of(word, find.get)) for word in new]
    rows, query, code = (np.array(part, np.float32) for part in zip(*begun, strict=True))
    return (
        Model(
            np.concatenate([model.rows, rows]),
            np.concatenate([model.query, query]),
            np.concatenate([model.code, code]),
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


def _begun(model: Model, word: str, pieces: list[int]) -> tuple[Floats, float, float]:
    """A row of length 1, and the logarithms of its weights in questions and in code."""
    in_code = (np.exp(model.code[pieces])[:, None] * model.rows[pieces]).sum(axis=0)
    in_query = (np.exp(model.query[pieces])[:, None] * model.rows[pieces]).sum(axis=0)
    lengths = [float(np.linalg.norm(part)) for part in (in_query, in_code)]
    if min(lengths) > 0:
        return in_code / np.float32(lengths[1]), math.log(lengths[0]), math.log(lengths[1])
    chance: Floats = np.random.default_rng(key_of(word)).standard_normal((model.rows.shape[1],), np.float32)
    chance /= np.linalg.norm(chance)
    length = float(np.median(np.linalg.norm(model.rows, axis=1)))
    query, code = (float(np.median(weights)) + math.log(max(length, 1e-6)) for weights in (model.query, model.code))
    return chance, query, code
