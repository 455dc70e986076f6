"""Numbers of any model → the form in which vectors are stored: int8, of length 127, zeros up to a multiple of eight.

A query is compared with a bit for each dimension first, and bits come in bytes; zeros change no distance.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

LENGTH = 127.0
"""Of a vector."""
STEP = 8
MOST_DIMENSIONS = 16_384
"""Four times what the largest models give; an answer with more is no vector. Chosen."""


def rounded(values: Sequence[float]) -> bytes:
    """One vector; all zeros stay zeros. Raises ValueError for no numbers, too many, or some that are infinite or none."""
    if not 0 < len(values) <= MOST_DIMENSIONS:
        raise ValueError(f"a vector of {len(values)} dimensions")
    norm = math.sqrt(math.fsum(v * v for v in values)) if all(map(math.isfinite, values)) else math.inf
    if not math.isfinite(norm):
        raise ValueError("a vector with numbers that are infinite or none")
    scale = LENGTH / norm if norm else 0.0
    return bytes(round(v * scale) & 0xFF for v in values) + bytes(-len(values) % STEP)
