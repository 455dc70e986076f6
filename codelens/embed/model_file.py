"""A static embedding as one file: a card as JSON, then arrays that a query reads a few rows of without loading them.

magic · length of the header · header (JSON) · padding · keys u64[n], sorted · query weights u16[n] · code weights u16[n]
· rows i8[n × dimensions] · words (zstd of names separated by line ends, in the order of the keys)

All numbers are little-endian. A key is the xxh3 of a row's name; names of pieces begin with PIECE. Nothing in the file is
executed, and a file whose parts do not fit its header is refused.
"""

from __future__ import annotations

import json
import mmap
import sys
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import xxhash

from codelens.errors import UsageError
from codelens.files import make_folder, replace_file
from codelens.model.fast_dataclass import dataclass
from codelens.text.notation import parse_json

MAGIC = b"codelens embedding 1\n"
ALIGNMENT = 64


def hash_name(name: str) -> int:
    return xxhash.xxh3_64_intdigest(name.encode("utf-8", "surrogatepass"))


class ModelFile:
    """A memory-mapped model. Raises UsageError if the file is not one."""

    def __init__(self, path: Path) -> None:
        if sys.byteorder != "little":
            raise UsageError("model files need a little-endian machine", "index with --no-vector")
        try:
            with path.open("rb") as file:
                self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except (OSError, ValueError) as error:
            hint = "`codelens model list` shows the available models"
            raise UsageError(f"cannot read the model {path}: {error}", hint) from None
        if self._map[: len(MAGIC)] != MAGIC:
            raise UsageError(f"{path} is not a model file of codelens", "`codelens model train` makes one")
        self.path = path
        at, view, parts = len(MAGIC) + 4, memoryview(self._map), []
        length = int.from_bytes(self._map[at - 4 : at], "little")
        start = _round_up_to_alignment(at + length)
        try:
            self.header: Mapping[str, Any] = parse_json(self._map[at : at + length])
            n, self.dimensions = int(self.header["rows"]), int(self.header["dimensions"])
            for size in (8 * n, 2 * n, 2 * n, n * self.dimensions):
                parts.append(view[start : start + size])
                if len(parts[-1]) != size:
                    raise ValueError("it ends too early")
                start = _round_up_to_alignment(start + size)
            self.factors = tuple(float(f) for f in self.header["factors"])
            self.keys, self.rows = parts[0].cast("Q"), parts[3].cast("b")
            self.query_weights, self.code_weights = parts[1].cast("H"), parts[2].cast("H")
        except (ValueError, KeyError, TypeError) as error:
            raise UsageError(f"{path} is damaged: {error}", "make or copy it again") from None
        self._words_at = start

    def find_row(self, name: str) -> int | None:
        """Find the number of the row with this name; None if the name has no row."""
        key = hash_name(name)
        at = bisect_left(self.keys, key)
        return at if at < len(self.keys) and self.keys[at] == key else None

    @cached_property
    def names(self) -> list[str]:
        """The names of all rows, in order; only training and export read them."""
        from codelens.zstd import zstd

        return zstd.decompress(self._map[self._words_at :]).decode("utf-8", "surrogatepass").split("\n")

    def digest(self) -> str:
        """Read the hash of everything that decides vectors, which is all but the card: 16 hex digits."""
        return str(self.header["hash"])


@dataclass(frozen=True, slots=True)
class ModelTable:
    """The content of a model file: a row of int8 and two weights for each of `names`; `factors` weigh the fields of code."""

    names: Sequence[str]
    query_weights: Sequence[int]
    code_weights: Sequence[int]
    rows: bytes  # One row after the other
    factors: Sequence[float]


def write_model(path: Path, card: Mapping[str, Any], table: ModelTable) -> None:
    """Write a model atomically. Raises ValueError if two rows have the same name."""
    import struct

    from codelens.zstd import zstd

    n = len(table.names)
    dimensions = len(table.rows) // n
    order = sorted(range(n), key=lambda i: hash_name(table.names[i]))
    keys = [hash_name(table.names[i]) for i in order]
    if len(set(keys)) != n:
        raise ValueError("two rows have the same name")
    parts = [
        struct.pack(f"<{n}Q", *keys),
        struct.pack(f"<{n}H", *[table.query_weights[i] for i in order]),
        struct.pack(f"<{n}H", *[table.code_weights[i] for i in order]),
        b"".join(table.rows[i * dimensions : (i + 1) * dimensions] for i in order),
    ]
    factors = [float(f) for f in table.factors]
    digest = xxhash.xxh3_64()
    for part in (*parts, repr(factors).encode()):
        digest.update(part)
    header = {**card, "rows": n, "dimensions": dimensions, "factors": factors, "hash": digest.hexdigest()}
    text = json.dumps(header, ensure_ascii=False, sort_keys=True).encode()
    out = bytearray(MAGIC + len(text).to_bytes(4, "little") + text)
    for part in parts:
        out += bytes(_round_up_to_alignment(len(out)) - len(out)) + part
    out += bytes(_round_up_to_alignment(len(out)) - len(out))
    names = "\n".join(table.names[i] for i in order).encode("utf-8", "surrogatepass")
    out += zstd.compress(names, 19)
    make_folder(path.parent)
    with replace_file(path) as file:
        file.write(out)


def _round_up_to_alignment(size: int) -> int:
    """Round a size up to the next multiple of ALIGNMENT."""
    return -(-size // ALIGNMENT) * ALIGNMENT


PIECE = "\t"  # Prefix of the names of rows for word pieces
LONGEST_PIECE = 10
MOST_PIECES = 12  # Maximum number of pieces per word. Longer strings are not words.


def find_word_rows(word: str, find: Callable[[str], int | None]) -> list[int]:
    """Find the row of a word, or the rows of its pieces: each is the longest known prefix of what is left. Unknown letters are
    skipped."""
    if (row := find(word)) is not None:
        return [row]
    rows: list[int] = []
    at = 0
    while at < len(word) and len(rows) < MOST_PIECES:
        for end in range(min(len(word), at + LONGEST_PIECE), at, -1):
            if (row := find(PIECE + word[at:end])) is not None:
                rows.append(row)
                at = end
                break
        else:
            at += 1
    return rows
