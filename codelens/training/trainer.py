"""A corpus in rows of a vocabulary → a trained model: Adam over the gradients of one batch after the other.

Everything is drawn from one seed and computed by numpy in one order, so a training can be repeated; another BLAS may round
otherwise, which moves the figures in the third place.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from codelens.training.adam import Adam
from codelens.training.bags import Whole
from codelens.training.batches import batches
from codelens.training.contrast import gradients
from codelens.training.corpus import KINDS, Corpus
from codelens.training.parts import Summed
from codelens.training.recipe import BODY, FIELDS, Model, Recipe

MOST_HEAT = math.log(40)
"""Of the temperature's logarithm: beyond it the loss of distant pairs would vanish in 32 bits."""

Told = Callable[[int, float, Model], object]
"""Hears the step, from 1, its loss, and the model as it is."""


def begin(frequency: Whole, recipe: Recipe) -> Model:
    """Random rows of length 1, and weights by how seldom a word is; `frequency` counts each row's word."""
    random = np.random.default_rng(recipe.seed)
    rows = random.standard_normal((len(frequency), recipe.dimensions), np.float32) / np.float32(
        math.sqrt(recipe.dimensions)
    )
    share = frequency / max(1, frequency.sum())
    weights = np.log(recipe.sif / (recipe.sif + share)).astype(np.float32)
    return Model(rows, weights, weights.copy(), np.zeros((len(KINDS), FIELDS), np.float32), recipe.temperature)


def train(corpus: Corpus, chosen: Whole, recipe: Recipe, model: Model, told: Told | None = None) -> None:
    """Train the model in place on the chosen pairs of the corpus."""
    random = np.random.default_rng(recipe.seed)
    heat = Adam(np.array([math.log(model.temperature)], np.float32))
    rows = Summed(model.rows, corpus.words, recipe)
    query, code, factors = (Adam(part) for part in (model.query, model.code, model.factors))
    source = batches(corpus, chosen, recipe, random)
    everything = slice(None)
    for step in range(1, recipe.steps + 1):
        loss, found = gradients(corpus, next(source), model, recipe, random)
        rate = _rate(recipe, step)
        rows.move(found.used, found.rows, rate, step)
        query.move(found.used, found.query, rate * recipe.weight_rate, step)
        code.move(found.used, found.code, rate * recipe.weight_rate, step)
        factors.move(everything, found.factors, rate * recipe.weight_rate, step)
        heat.move(everything, found.heat, rate * recipe.weight_rate, step)
        heat.value[0] = min(float(heat.value[0]), MOST_HEAT)
        model.temperature = math.exp(float(heat.value[0]))
        if told:
            told(step, loss, model)
    model.factors[:, BODY] += np.float32(math.log(recipe.body))


def _rate(recipe: Recipe, step: int) -> float:
    """Up in a line, then down along a cosine."""
    return recipe.rate * min(1.0, step / recipe.warm_up) * 0.5 * (1 + math.cos(math.pi * step / recipe.steps))
