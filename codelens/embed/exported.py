"""A model file → formats that other programs read: arrays of numpy, and the text of word2vec."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from codelens.embed.model_file import ModelFile
from codelens.embed.words import PIECE

PIECE_MARK = "##"
"""What stands before a part of a word in text, where the file's own mark would end the word."""


def write_npz(file: ModelFile, path: Path) -> None:
    """Arrays `names`, `rows` (int8, names × dimensions), `query_weights`, `code_weights` (uint16) and `factors`."""
    with path.open("wb") as out:
        np.savez(
            out,
            names=np.array(_written(file)),
            rows=np.frombuffer(file.rows, np.int8).reshape(-1, file.dimensions),
            query_weights=np.frombuffer(file.query_weights, np.uint16),
            code_weights=np.frombuffer(file.code_weights, np.uint16),
            factors=np.array(file.factors),
        )


def write_text(file: ModelFile, path: Path) -> None:
    """The text format of word2vec: the table's two sizes, then a line for each word, its row times its weight in code."""
    with path.open("w", encoding="utf-8", newline="\n") as out:
        out.writelines(_text(file))


def _text(file: ModelFile) -> Iterator[str]:
    rows = np.frombuffer(file.rows, np.int8).reshape(-1, file.dimensions) / 127
    weights = np.frombuffer(file.code_weights, np.uint16) / 65535
    yield f"{len(rows)} {file.dimensions}\n"
    for name, row, weight in zip(_written(file), rows, weights.tolist(), strict=True):
        yield f"{name} {' '.join(f'{value:.5g}' for value in (row * weight).tolist())}\n"


def _written(file: ModelFile) -> list[str]:
    names = (PIECE_MARK + name.removeprefix(PIECE) if name.startswith(PIECE) else name for name in file.names)
    return [name.encode("utf-8", "backslashreplace").decode() for name in names]
