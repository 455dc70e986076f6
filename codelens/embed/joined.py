"""Several vectors → one that lies between them: what stands for a thing of several pieces."""

from __future__ import annotations

import math
from collections.abc import Sequence

LENGTH = 127.0
"""Of a vector: int8, normalised."""


def joined(vectors: Sequence[bytes]) -> bytes:
    """Their sum, int8 and of length 127; one vector as it is, empty where there is none or they cancel out.

    Sums of whole numbers are exact, so the order of the vectors changes nothing. In plain Python: numpy takes longer to import.
    """
    if len(vectors) < 2:
        return vectors[0] if vectors else b""
    sums = [sum(column) for column in zip(*(memoryview(v).cast("b") for v in vectors), strict=True)]
    norm = math.sqrt(sum(v * v for v in sums))
    return bytes(round(v * LENGTH / norm) & 0xFF for v in sums) if norm else b""
