"""The interface of embedders, and the form of their vectors: int8 of length 127."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple, Protocol


class EmbeddedFields(NamedTuple):
    """A piece of a unit as four texts, which the embedder weighs."""

    name: str
    context: str  # Enclosing names and path
    signature: str
    body: str


class Embedder(Protocol):
    """A converter of texts to vectors. It is deterministic, and uses the network only if the user allows it."""

    name: str
    is_slow: bool
    """True if reading a stored vector is faster than embedding again. A slow embedder runs in one process, after all files are
    read: a worker's time is limited, and each worker would load the model."""
    least_cosine: float  # Cosine that unrelated texts and questions seldom reach; anything above is near

    @property
    def dimensions(self) -> int:
        """Dimensions of its vectors; 0 if they are known only after the first answer."""
        ...

    def knows_any_word(self, text: str) -> bool:
        """True if the model has learnt any of these words, so that the vector means something even if no text has them. False
        if its vocabulary is unknown: then a query without any indexed word is not embedded."""
        return False

    def compute_fingerprint(self) -> str:
        """Hash everything that decides its vectors; the hash is stored in the index and compared before a search."""
        ...

    def embed_code(self, fields: Sequence[EmbeddedFields]) -> list[bytes]:
        """Embed each entry. Returns one vector per entry: int8 × dimensions, of length 127, independent of the other entries."""
        ...

    def embed_query(self, text: str) -> bytes:
        """Embed a query in the same space and form as code; empty if the text has no terms."""
        ...


LEAST_COSINE = 0.15
"""Default for foreign models. No value fits all of them: some keep even unrelated texts above .7, where only ranks help, others
near 0, where the value of hashing fits. Chosen, not measured."""


def format_fields(fields: EmbeddedFields) -> str:
    """Join the fields to one text for a general model: names first, because such models read only the first 256 or 512 tokens;
    of signature and doc only the lines that the body lacks."""
    body = fields.body.strip()
    head = " ".join(part for part in (fields.name, fields.context.strip()) if part)
    signature = [line for line in map(str.strip, fields.signature.splitlines()) if line and line not in body]
    return "\n".join(part for part in (head, *signature, body) if part)


LENGTH = 127.0  # Length of a vector
STEP = 8
MOST_DIMENSIONS = 16_384  # Four times the largest known models; a longer answer is not a vector


def scale_to_int8(values: Sequence[float]) -> bytes:
    """Scale one vector to int8 of length 127, padded with zeros to a multiple of STEP: bits of dimensions are compared as
    bytes. Raises ValueError for no numbers, too many, infinite ones or NaN."""
    if not 0 < len(values) <= MOST_DIMENSIONS:
        raise ValueError(f"a vector of {len(values)} dimensions")
    norm = math.sqrt(math.fsum(v * v for v in values)) if all(map(math.isfinite, values)) else math.inf
    if not math.isfinite(norm):
        raise ValueError("a vector with values that are infinite or NaN")
    scale = LENGTH / norm if norm else 0.0
    return bytes(round(v * scale) & 0xFF for v in values) + bytes(-len(values) % STEP)


def sum_vectors(vectors: Sequence[bytes]) -> bytes:
    """Add vectors and normalise the sum; a single vector stays as it is; empty without vectors or if they cancel out. Uses
    plain Python, because importing numpy takes longer."""
    if len(vectors) < 2:
        return vectors[0] if vectors else b""
    sums = [sum(column) for column in zip(*(memoryview(v).cast("b") for v in vectors), strict=True)]
    norm = math.sqrt(sum(v * v for v in sums))
    return bytes(round(v * LENGTH / norm) & 0xFF for v in sums) if norm else b""
