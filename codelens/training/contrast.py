"""A batch and a model → the contrastive loss and its gradients, by hand.

A text is the sum of its words' rows, each times its weight and √count over the root of the text's length; code is four such
sums, each times its factor. Cosines times a temperature are the logits; the loss is the mean of both directions of InfoNCE
(van den Oord et al. 2018), with all others of the batch as wrong answers but those that were asked for by the same words.

Factors are learnt for each kind of question apart, and from pairs of which no field is left out: a question made of
a name has only the body for an answer. Both together found .562 instead of .549; which of them did it was not measured.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from codelens.nouns import dataclass
from codelens.training.bags import Floats, Whole, matrix
from codelens.training.corpus import Corpus
from codelens.training.recipe import FIELDS, Model, Recipe

TEXTS_OF_PAIR = 1 + FIELDS
_TINY = np.float32(1e-30)


@dataclass(slots=True)
class Gradients:
    """Of the loss; those of words only for the rows `used`. `heat` is of the temperature's logarithm."""

    used: Whole
    rows: Floats
    query: Floats
    code: Floats
    factors: Floats
    heat: Floats


def gradients(
    corpus: Corpus, pairs: Whole, model: Model, recipe: Recipe, random: np.random.Generator
) -> tuple[float, Gradients]:
    """The loss of a batch, and where it falls."""
    n = len(pairs)
    bags = np.concatenate([pairs * TEXTS_OF_PAIR + text for text in range(TEXTS_OF_PAIR)])
    shares, used = matrix(corpus, bags)
    forget(shares, n, recipe, random)
    asked, told = shares[:n], shares[n:]
    rows, in_query, in_code = model.rows[used], np.exp(model.query[used])[:, None], np.exp(model.code[used])[:, None]
    kept = random.random((FIELDS, n), np.float32) >= np.array(recipe.dropped, np.float32)[:, None]
    kept[:, ~kept.any(axis=0)] = True
    kinds = corpus.kinds[pairs]
    mix = kept * np.exp(model.factors[kinds]).T
    query, query_norm = normalised(asked @ (in_query * rows))
    fields = (told @ (in_code * rows)).reshape(FIELDS, n, -1)
    code, code_norm = normalised(np.einsum("fn,fnd->nd", mix, fields))

    similar = query @ code.T
    loss, slope = _info_nce(similar, np.float32(model.temperature), same_question(corpus.alike[pairs]))
    heat = np.array([np.einsum("ij,ij->", slope, similar)], np.float32)
    d_query = _through_norm(slope @ code, query, query_norm)
    d_code = _through_norm(slope.T @ query, code, code_norm)
    d_fields = mix[:, :, None] * d_code
    d_factors = np.zeros_like(model.factors)
    by_pair = np.stack([np.einsum("nd,nd->n", field, d_code) for field in fields])
    np.add.at(d_factors, kinds, (by_pair * mix * kept.all(axis=0)).T)
    by_query = asked.T @ d_query
    by_code = told.T @ d_fields.reshape(FIELDS * n, -1)
    return loss, Gradients(
        used,
        in_query * by_query + in_code * by_code,
        np.einsum("ij,ij->i", by_query, rows) * in_query[:, 0],
        np.einsum("ij,ij->i", by_code, rows) * in_code[:, 0],
        d_factors,
        heat,
    )


def forget(shares: Any, questions: int, recipe: Recipe, random: np.random.Generator) -> None:
    """Leave words out of texts at random, in place; the first so many texts are questions. Lengths stay as they were."""
    often = np.full(shares.nnz, recipe.forgotten[1], np.float32)
    often[: shares.indptr[questions]] = recipe.forgotten[0]
    shares.data *= random.random(shares.nnz, np.float32) >= often


def _info_nce(similar: Floats, temperature: np.float32, left_out: tuple[Whole, Whole]) -> tuple[float, Floats]:
    """The loss, and temperature × its derivative by each logit."""
    n = len(similar)
    own = np.arange(n)
    odds = similar * temperature
    odds -= temperature
    np.exp(odds, out=odds)  # cosines end at 1: nothing overflows, and at temperatures to 40 nothing vanishes
    odds[left_out] = 0
    across, down = odds.sum(axis=1) + _TINY, odds.sum(axis=0) + _TINY
    right = odds[own, own] + _TINY
    loss = -float((np.log(right / across) + np.log(right / down)).mean()) / 2
    odds *= (0.5 / n / across)[:, None] + (0.5 / n / down)[None, :]
    odds[own, own] -= np.float32(1 / n)
    odds *= temperature
    return loss, odds


def same_question(hashes: Whole) -> tuple[Whole, Whole]:
    """Places (i, j), i ≠ j, of pairs that ask the same: they are no wrong answers to each other."""
    order = np.argsort(hashes, kind="stable")
    groups = np.split(order, np.flatnonzero(np.diff(hashes[order])) + 1)
    places = [(i, j) for group in groups if len(group) > 1 for i in group for j in group if i != j]
    found = np.array(places, np.int64).reshape(-1, 2)
    return found[:, 0], found[:, 1]


def normalised(vectors: Floats) -> tuple[Floats, Floats]:
    """Vectors of length 1, and the lengths that they had."""
    norm = np.maximum(np.sqrt(np.einsum("ij,ij->i", vectors, vectors)), np.float32(1e-6))[:, None]
    return vectors / norm, norm


def _through_norm(slope: Floats, unit: Floats, norm: Floats) -> Floats:
    """The derivative by a vector from that by the vector of length 1."""
    passed: Floats = (slope - unit * np.einsum("ij,ij->i", slope, unit)[:, None]) / norm
    return passed
