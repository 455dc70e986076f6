"""Small model files for tests: a random row for each letter, so that every word has a vector."""

from __future__ import annotations

import random
import string
from pathlib import Path

from codelens.embed.model_file import PIECE, ModelTable, write_model

WORDS = ("open", "file", "reader", "stock", "reserve", "first", "path", "greet", "name", "self", "return", "def")


def make_model(path: Path, seed: int = 1, dimensions: int = 64) -> Path:
    """Write a model; the same seed makes the same."""
    chance = random.Random(seed)
    names = [*WORDS, *(PIECE + letter for letter in string.ascii_lowercase + string.digits)]
    rows = bytes(chance.randrange(256) for _ in range(len(names) * dimensions))
    query, code = ([chance.randrange(1, 65536) for _ in names] for _ in range(2))
    write_model(path, {"name": f"made-{seed}"}, ModelTable(names, query, code, rows, [1.0, 0.8, 0.7, 1.1]))
    return path
