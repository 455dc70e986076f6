"""A model and pairs → how well it finds: the mean reciprocal rank of each question's own answer."""

from __future__ import annotations

import numpy as np

from codelens.training.bags import Floats, Whole, matrix
from codelens.training.contrast import TEXTS_OF_PAIR, normalised, same_question
from codelens.training.corpus import Corpus
from codelens.training.recipe import DOC, FIELDS, Model

CUTOFF = 10
STRANGERS = 0.01
"""Share of unrelated pairs that pass for near. Chosen: it is about what the hashing embedder lets pass."""
MOST = 2000
"""Candidates of one package, as in the study."""


def vectors(corpus: Corpus, pairs: Whole, model: Model) -> tuple[Floats, Floats]:
    """Those of the pairs' questions and of their code, each [pairs × dimensions] and of length 1."""
    shares, used = matrix(corpus, pairs * TEXTS_OF_PAIR)
    query = normalised(shares @ (np.exp(model.query[used])[:, None] * model.rows[used]))[0]
    code = np.zeros_like(query)
    for field in range(FIELDS):
        shares, used = matrix(corpus, pairs * TEXTS_OF_PAIR + 1 + field)
        code += np.exp(model.factors[DOC, field]) * (shares @ (np.exp(model.code[used])[:, None] * model.rows[used]))
    return query, normalised(code)[0]


def least_cosine(corpus: Corpus, chosen: Whole, model: Model) -> float:
    """The cosine that STRANGERS of questions and code of two packages reach, among MOST pairs; 0 where there is one package."""
    pairs = chosen[:: max(1, len(chosen) // MOST)]
    query, code = vectors(corpus, pairs, model)
    package = corpus.package[pairs]
    strangers = (query @ code.T)[package[:, None] != package[None, :]]
    return float(np.quantile(strangers, 1 - STRANGERS)) if len(strangers) else 0.0


def mean_reciprocal_rank(corpus: Corpus, chosen: Whole, model: Model) -> float:
    """Over packages the mean of MRR@10, each question's answer among MOST of its package; other answers to it are left out.

    Of answers that are equally near, the right one has the middle rank: else a model that knows no word would be perfect.
    """
    found = []
    for package in np.unique(corpus.package[chosen]):
        pairs = chosen[corpus.package[chosen] == package][:MOST]
        query, code = vectors(corpus, pairs, model)
        similar = query @ code.T
        own = np.diag(similar).copy()
        similar[same_question(corpus.alike[pairs])] = -2.0
        nearer, equal = ((similar > own[:, None]).sum(axis=1), (similar == own[:, None]).sum(axis=1))
        rank = 1 + nearer + (equal - 1) / 2
        found.append(float(np.where(rank <= CUTOFF, 1 / rank, 0).mean()))
    return float(np.mean(found)) if found else 0.0
