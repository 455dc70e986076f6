"""The definitions of a tree → names to look up: those that one definition alone bears, half of them with their container."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import xxhash

from codelens.derived import Unit
from codelens.evaluation.judging import parts
from codelens.evaluation.made.rows import Row, row
from codelens.evaluation.made.trees import TreeText
from codelens.model import SYMBOL_KINDS

SHORTEST = 3
"""Characters of a name that is asked for. Chosen."""


def name_rows(name: str, texts: Sequence[TreeText], wanted: int) -> list[Row]:
    """At most so many rows, by a hash of what is asked for; every second one with its container, where it has one."""
    borne = Counter(unit.name for text in texts if text.defined for unit in text.defined.units if unit.name)
    single = [
        (text.path, unit)
        for text in texts
        for unit in text.answers
        if unit.kind in SYMBOL_KINDS and borne[unit.name] == 1 and _is_asked(unit.name)
    ]
    single.sort(key=lambda found: (_draw(found[0], found[1]), found[0], found[1].qualified_name))
    return [
        row(f"{name}-name-{at}", name, _query(unit, at), [(path, unit.qualified_name)], "identifier")
        for at, (path, unit) in enumerate(single[:wanted])
    ]


def _is_asked(name: str) -> bool:
    return len(name) >= SHORTEST and name.replace("$", "").rstrip("?!").isidentifier()


def _draw(path: str, unit: Unit) -> int:
    return xxhash.xxh3_64_intdigest(f"codelens made names {path} {unit.qualified_name}".encode())


def _query(unit: Unit, at: int) -> str:
    around = parts(unit.container.replace("\\", "."))[-1:]
    return f"{around[0]}.{unit.name}" if around and at % 2 else unit.name
