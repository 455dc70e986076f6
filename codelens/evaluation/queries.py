"""An index → queries that somebody might ask of it, in every shape that the query language has, always the same ones."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

from codelens.index import Index
from codelens.model import SYMBOL_KINDS, SearchOptions, UnitRow

SEED = 7
SHAPES: Sequence[Callable[[UnitRow, UnitRow], str]] = (
    lambda u, other: u.name,
    lambda u, other: u.qualified_name,
    lambda u, other: f"kind:{u.kind} {u.name}",
    lambda u, other: u.name[:2] + u.name[3:] if len(u.name) > 5 else u.name + "x",  # a typing mistake
    lambda u, other: f"/{u.name[:3]}\\w+\\(/",
    lambda u, other: f'"{u.name}" -is:test',
    lambda u, other: f"{u.name} OR {other.name}",
    lambda u, other: f"path:{u.path.partition('/')[0]} {u.name} error handling",
    lambda u, other: f"`{u.name}` case:yes",
    lambda u, other: f"{u.name[:4]} read config file",
    lambda u, other: u.doc.partition("\n")[0] or f"{u.name} {other.container}",
    lambda u, other: f"where is {u.name} used by {other.name}",
    lambda u, other: f"lang:{u.language} {u.name} {other.name} NOT {u.container or 'nothing'}",
)
"""A unit and another one → a query about them: names, mistakes, filters, patterns, alternatives, prose."""


def make_queries(index: Index, count: int) -> list[str]:
    """At most `count` different queries, the shapes in turn; fewer where the index holds few names."""
    paths = dict.fromkeys(path for _, path in index.files(SearchOptions()))
    units = [u for path in paths for u in index.symbols(path) if u.kind in SYMBOL_KINDS and u.name.isidentifier()]
    draw = random.Random(SEED)
    found: dict[str, None] = {}
    for turn in range(4 * count if units else 0):
        found.setdefault(SHAPES[turn % len(SHAPES)](draw.choice(units), draw.choice(units)).replace("\n", " "))
        if len(found) == count:
            break
    return list(found)
