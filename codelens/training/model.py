"""The parameters of training, the trained model in floats, and its conversion from and to a model file.

A model file stores each row in 8-bit integers and two 16-bit weights. A row's scale is part of its weights, so that the file
has only integers, whose sums are exact. A new row starts as the sum of its word's pieces, so that the model changes little
before training.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from codelens.embed.model_file import ModelFile, ModelTable, find_word_rows, hash_name, write_model
from codelens.model.fast_dataclass import dataclass, frozen_dataclass
from codelens.training.corpus import KINDS, Corpus, Floats, Whole, list_word_positions

FIELDS = 4  # Fields of code: name, context, signature, body
BODY = 3
TEXTS_OF_PAIR = 1 + FIELDS
DOC = KINDS.index("doc")


@frozen_dataclass
class Recipe:
    """All parameters of training. Defaults are those of the original study, unless noted.

    Figures are MRR@10 on 16 packages that were neither learnt from nor held out for the report, with one seed each.
    """

    dimensions: int = 256
    steps: int = 1600
    """About two passes over 1.25 million pairs. With half as many pairs and without `forgotten`, 450 steps gave .616, 900
    steps .614."""
    batch: int = 2048
    run: int = 512
    """Number of successive pairs from one package in a batch. Measured after 150 steps: 128 .589, 512 .593, 2048 .589."""
    rate: float = 3e-3  # Measured after 150 steps: 1.5e-3 .593, 3e-3 .606
    warm_up: int = 50
    weight_rate: float = 6.0  # Factor of the rate for word weights, factors and the temperature
    sif: float = 1e-3  # Initial weight of a word: sif / (sif + share), smooth inverse frequency (Arora et al. 2017).
    shares: tuple[float, float, float, float, float] = (0.65, 0.25, 0.05, 0.6, 0.05)
    """Share of each of KINDS in a batch. Measured after 150 steps: .55 and .35 for docs and names gave .593, .75 and .15 gave .597.
    The default lies between, because docs alone are soon overfitted. The other shares are chosen, not measured."""
    dropped: tuple[float, float, float, float] = (0.2, 0.3, 0.15, 0.1)
    """Probability that each field is dropped, so that every field is useful alone."""
    forgotten: tuple[float, float] = (0.05, 0.15)
    """Probability that a word is dropped, in questions and in code. Measured before `body` was added: without dropping .614 (900
    steps), with the default .618 (800) and .620 (450), with .1 and .3 .614 (600). The evidence is weak."""
    body: float = 0.7
    """Factor of the learnt weight of bodies, which is too high because training has seen the bodies. Measured after 900 steps: 1
    gave .614, .7 .620, .5 .620; in eight other runs .7 was always better than 1."""
    part_lengths: tuple[int, ...] = (4, 5)
    """Lengths of the letter runs that words share; with () every word learns alone. Measured after 300 steps: () .558, (4, 5)
    .604, 3 to 5 and stems .602."""
    part_rows: int = 3  # Minimum number of words that share a letter run
    part_rate: float = 0.5
    """Factor of the rate for letter runs, a dozen of which move with each word. Measured after 150 steps: .5 .589, 1 .591."""
    temperature: float = 20.0  # Initial factor of cosines; learned
    seed: int = 1


@dataclass(slots=True)
class Model:
    """A static embedding model in floats."""

    rows: Floats  # [words × dimensions]
    query: Floats  # [words]: natural logarithm of each word's weight in questions
    code: Floats  # [words]: natural logarithm of each word's weight in code
    factors: Floats
    """[KINDS × FIELDS]: logarithm of each field's weight for each kind of question; a model file stores the row of docs."""
    temperature: float

    def copy(self) -> Model:
        """Copy the model with its arrays."""
        return Model(self.rows.copy(), self.query.copy(), self.code.copy(), self.factors.copy(), self.temperature)


MOST_WEIGHT = 65535


def write_quantised(path: Path, model: Model, names: Sequence[str], card: Mapping[str, Any]) -> None:
    """Quantise a model and write it to a file, atomically."""
    largest = np.maximum(np.abs(model.rows).max(axis=1), 1e-9)
    rows = np.rint(model.rows * (127.0 / largest)[:, None]).astype(np.int8)
    query, code = (np.exp(weights) * largest for weights in (model.query, model.code))
    query, code = (
        np.maximum(1, np.rint(weights * (MOST_WEIGHT / weights.max()))).astype(int).tolist()
        for weights in (query, code)
    )
    factors = np.exp(model.factors[DOC])
    table = ModelTable(names, query, code, rows.tobytes(), [round(float(f), 4) for f in factors])
    write_model(path, card, table)


def load_model(file: ModelFile) -> tuple[Model, list[str]]:
    """Convert a model file to floats; return the model and the row names. The scale of all weights together is lost."""
    rows = np.frombuffer(file.rows, np.int8).reshape(-1, file.dimensions).astype(np.float32) / np.float32(127)
    query, code = (
        np.log(np.maximum(np.frombuffer(w, np.uint16).astype(np.float32), 1) / np.float32(MOST_WEIGHT))
        for w in (file.query_weights, file.code_weights)
    )
    factors = np.tile(np.log(np.array(file.factors, np.float32)), (len(KINDS), 1))
    return Model(rows, query, code, factors, float(file.header.get("temperature", 20.0))), list(file.names)


FEWEST_TIMES, MOST_NEW = 5, 4000
"""Minimum number of texts with a word that gets a new row, and maximum number of new rows (1 MB). Chosen, not measured."""
LONGEST_WORD = 40


def add_rows(model: Model, names: Sequence[str], words: Corpus, learnt: Whole) -> tuple[Model, list[str]]:
    """Add rows to a model for frequent words that it lacks; return the new model and all row names, new ones last.

    `words` is the corpus before `map_to_rows`; only its pairs at `learnt` are counted.
    """
    find = {name: place for place, name in enumerate(names)}
    bags = (learnt[:, None] * TEXTS_OF_PAIR + np.arange(TEXTS_OF_PAIR)).ravel()
    counts = np.bincount(words.ids[list_word_positions(words.starts, bags)[0]], minlength=len(words.words)).tolist()
    frequent = sorted((-n, word) for word, n in zip(words.words, counts, strict=True) if n >= FEWEST_TIMES)
    new = [word for _, word in frequent if 1 < len(word) <= LONGEST_WORD and word not in find][:MOST_NEW]
    if not new:
        return model.copy(), list(names)
    initial = [_compute_initial_row(model, word, find_word_rows(word, find.get)) for word in new]
    known = (model.rows, model.query, model.code)
    added = (np.array(part, np.float32) for part in zip(*initial, strict=True))
    rows, query, code = (np.concatenate(parts) for parts in zip(known, added, strict=True))
    return Model(rows, query, code, model.factors.copy(), model.temperature), [*names, *new]


def _compute_initial_row(model: Model, word: str, pieces: list[int]) -> tuple[Floats, float, float]:
    """Compute a new word's row, of length 1, and the logarithms of its weights in questions and in code."""
    in_code = (np.exp(model.code[pieces])[:, None] * model.rows[pieces]).sum(axis=0)
    in_query = (np.exp(model.query[pieces])[:, None] * model.rows[pieces]).sum(axis=0)
    lengths = [float(np.linalg.norm(part)) for part in (in_query, in_code)]
    if min(lengths) > 0:
        return in_code / np.float32(lengths[1]), math.log(lengths[0]), math.log(lengths[1])
    chance: Floats = np.random.default_rng(hash_name(word)).standard_normal((model.rows.shape[1],), np.float32)
    chance /= np.linalg.norm(chance)
    length = float(np.median(np.linalg.norm(model.rows, axis=1)))
    query, code = (float(np.median(weights)) + math.log(max(length, 1e-6)) for weights in (model.query, model.code))
    return chance, query, code
