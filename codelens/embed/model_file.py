"""A static embedding as one file: a card as JSON, then arrays that a query reads a few rows of without loading them.

    magic · length of the header · header (JSON) · padding · keys u64[n], sorted · query weights u16[n] · code weights u16[n]
    · rows i8[n × dimensions] · words (zstd of names separated by line ends, in the order of the keys)

All numbers are little-endian. A key is the xxh3 of a row's name; names of pieces begin with `words.PIECE`. Nothing in the file is
executed, and a file whose parts do not fit its header is refused.
"""

from __future__ import annotations

import json
import mmap
import sys
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import xxhash

from codelens.errors import UsageError
from codelens.notation import parse_json

MAGIC = b"codelens embedding 1\n"
ALIGNMENT = 64


def key_of(name: str) -> int:
    """The number by which a row is found."""
    return xxhash.xxh3_64_intdigest(name.encode("utf-8", "surrogatepass"))


class ModelFile:
    """A memory-mapped model. Raises UsageError for a file that is none."""

    def __init__(self, path: Path) -> None:
        if sys.byteorder != "little":
            raise UsageError("model files need a little-endian machine", "index with --no-vector")
        try:
            with path.open("rb") as file:
                self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except (OSError, ValueError) as error:
            raise UsageError(
                f"cannot read the model {path}: {error}", "`codelens model list` shows those that are there"
            ) from None
        if self._map[: len(MAGIC)] != MAGIC:
            raise UsageError(f"{path} is no embedding of codelens", "`codelens model export` makes one")
        self.path = path
        try:
            self._read_header()
        except (ValueError, KeyError, TypeError) as error:
            raise UsageError(f"{path} is damaged: {error}", "make or copy it anew") from None

    def _read_header(self) -> None:
        at = len(MAGIC)
        length = int.from_bytes(self._map[at : at + 4], "little")
        self.header: Mapping[str, Any] = parse_json(self._map[at + 4 : at + 4 + length])
        n, dimensions = int(self.header["rows"]), int(self.header["dimensions"])
        start = _aligned(at + 4 + length)
        view = memoryview(self._map)
        parts = []
        for size in (8 * n, 2 * n, 2 * n, n * dimensions):
            parts.append(view[start : start + size])
            if len(parts[-1]) != size:
                raise ValueError("it ends too early")
            start = _aligned(start + size)
        self.keys = parts[0].cast("Q")
        self.query_weights, self.code_weights = parts[1].cast("H"), parts[2].cast("H")
        self.rows = parts[3].cast("b")
        self._words_at = start
        self.dimensions = dimensions
        self.factors = tuple(float(f) for f in self.header["factors"])

    def row_of(self, name: str) -> int | None:
        """The place of a row, or None."""
        key = key_of(name)
        at = bisect_left(self.keys, key)
        return at if at < len(self.keys) and self.keys[at] == key else None

    @cached_property
    def names(self) -> list[str]:
        """Of all rows, in order; only training and export ask for them."""
        import zstandard

        return (
            zstandard.ZstdDecompressor()
            .decompress(self._map[self._words_at :])
            .decode("utf-8", "surrogatepass")
            .split("\n")
        )

    def digest(self) -> str:
        """16 hex digits over all that decides vectors: everything but the card."""
        return str(self.header["hash"])


def write_model(
    path: Path,
    card: Mapping[str, Any],
    names: Sequence[str],
    query: Sequence[int],
    code: Sequence[int],
    rows: bytes,
    factors: Sequence[float],
) -> None:
    """Write a model whole or not at all. `rows`: int8, one after the other in the order of `names`."""
    import struct

    import zstandard

    n = len(names)
    dimensions = len(rows) // n
    order = sorted(range(n), key=lambda i: key_of(names[i]))
    keys = [key_of(names[i]) for i in order]
    if len(set(keys)) != n:
        raise ValueError("two rows have one name")
    parts = [
        struct.pack(f"<{n}Q", *keys),
        struct.pack(f"<{n}H", *[query[i] for i in order]),
        struct.pack(f"<{n}H", *[code[i] for i in order]),
        b"".join(rows[i * dimensions : (i + 1) * dimensions] for i in order),
    ]
    digest = xxhash.xxh3_64()
    for part in parts:
        digest.update(part)
    digest.update(repr([float(f) for f in factors]).encode())
    header = {
        **card,
        "rows": n,
        "dimensions": dimensions,
        "factors": [float(f) for f in factors],
        "hash": digest.hexdigest(),
    }
    text = json.dumps(header, ensure_ascii=False, sort_keys=True).encode()
    out = bytearray(MAGIC + len(text).to_bytes(4, "little") + text)
    for part in parts:
        out += bytes(_aligned(len(out)) - len(out)) + part
    out += bytes(_aligned(len(out)) - len(out))
    out += zstandard.ZstdCompressor(level=19).compress(
        "\n".join(names[i] for i in order).encode("utf-8", "surrogatepass")
    )
    beside = path.with_name(path.name + ".part")
    beside.write_bytes(out)
    beside.replace(path)


def _aligned(size: int) -> int:
    return -(-size // ALIGNMENT) * ALIGNMENT
