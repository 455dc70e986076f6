"""A trained model in floats ↔ the model file: each row in eight bits, and two weights of sixteen for it.

The scale of a row goes into its weights, so that the file holds whole numbers only and sums of them are exact.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from codelens.embed.model_file import ModelFile, write_model
from codelens.training.corpus import KINDS
from codelens.training.recipe import DOC, Model

MOST_WEIGHT = 65535


def write_quantised(path: Path, model: Model, names: Sequence[str], card: Mapping[str, Any]) -> None:
    """Write a model file whole or not at all."""
    largest = np.maximum(np.abs(model.rows).max(axis=1), 1e-9)
    rows = np.rint(model.rows * (127.0 / largest)[:, None]).astype(np.int8)
    query, code = (_whole(np.exp(w) * largest) for w in (model.query, model.code))
    factors = np.exp(model.factors[DOC])
    write_model(path, card, names, query, code, rows.tobytes(), [round(float(f), 4) for f in factors])


def _whole(weights: npt.NDArray[np.float32]) -> list[int]:
    scale: list[int] = np.maximum(1, np.rint(weights * (MOST_WEIGHT / weights.max()))).astype(int).tolist()
    return scale


def model_of(file: ModelFile) -> tuple[Model, list[str]]:
    """A model file as floats, and its rows' names. A factor that all weights share is lost: vectors are normalised anyway."""
    rows = np.frombuffer(file.rows, np.int8).reshape(-1, file.dimensions).astype(np.float32) / np.float32(127)
    query, code = (
        np.log(np.maximum(np.frombuffer(w, np.uint16).astype(np.float32), 1) / np.float32(MOST_WEIGHT))
        for w in (file.query_weights, file.code_weights)
    )
    factors = np.tile(np.log(np.array(file.factors, np.float32)), (len(KINDS), 1))
    return Model(rows, query, code, factors, float(file.header.get("temperature", 20.0))), list(file.names)
