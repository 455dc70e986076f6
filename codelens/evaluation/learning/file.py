"""Learned weights ↔ TOML: the table `[codelens.features]`, in a text of its own or in the place of the one that a text has."""

from __future__ import annotations

import re
from collections.abc import Sequence

from codelens.evaluation.learning.fitting import Weights
from codelens.search.intent import SHAPES
from codelens.search.weightfile import NAMES

TABLE = "[codelens.features]"
DECIMALS = 3
"""More are noise: what a thousandth of a weight changes is less than any two neighbours differ."""


def features_text(weights: Weights) -> str:
    """The table, features in the order of search/features.py, sets in that of SHAPES, without what weighs nothing."""
    lines = [TABLE]
    for name in NAMES:
        weight = weights.get(name, 0.0)
        if isinstance(weight, float | int):
            if rounded := _rounded(weight):
                lines.append(f"{name} = {rounded}")
        elif held := {shape: value for shape in SHAPES if (value := _rounded(weight.get(shape, 0.0)))}:
            lines.append(f"{name} = {{ {', '.join(f'{shape} = {value}' for shape, value in held.items())} }}")
    return "\n".join(lines) + "\n"


def _rounded(weight: float) -> float:
    return round(float(weight), DECIMALS) + 0.0  # no minus before a zero


def own_text(weights: Weights, origin: Sequence[str]) -> str:
    """A file of one's own: where the weights come from as comments, then the table."""
    return "".join(f"# {line}\n" for line in origin) + features_text(weights)


def with_features(text: str, weights: Weights) -> str:
    """The text with this table in the place of its own. What stands right above the next table belongs to that.

    Raises ValueError for a text without the table.
    """
    lines = text.splitlines(keepends=True)
    heads = [at for at, line in enumerate(lines) if re.match(r"\[", line)]
    begin = next((at for at in heads if lines[at].startswith(TABLE)), None)
    if begin is None:
        raise ValueError(f"there is no {TABLE}")
    end = next((at for at in heads if at > begin), len(lines))
    while lines[end - 1].strip() == "" or lines[end - 1].startswith("#"):
        end -= 1
    return "".join(lines[:begin]) + features_text(weights) + "".join(lines[end:])
