"""Groups values by a key."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import TypeVar

K = TypeVar("K")
V = TypeVar("V")


def group_pairs(pairs: Iterable[tuple[K, V]]) -> dict[K, list[V]]:
    """Group (key, value) pairs by key, in the given order: key → values."""
    groups = defaultdict[K, list[V]](list)
    for key, value in pairs:
        groups[key].append(value)
    return dict(groups)
