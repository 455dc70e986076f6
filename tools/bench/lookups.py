"""Measure how often a search for a unique name finds it first: `python -m tools.bench.lookups [--profile NAME] INDEX...`.

The names of types and functions are sampled by hash; local definitions, tests and names of up to three characters are left out.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import xxhash

from codelens.config import Settings
from codelens.model.code import TYPE_KINDS, UnitRow
from codelens.model.request import SearchOptions
from codelens.search.pipeline import rank
from codelens.store.store import Store

ASKED = 200  # Names of one index
SHORTEST = 4  # Characters. Chosen.


def single_names(store: Store) -> list[UnitRow]:
    """ASKED definitions at most whose names no other definition bears, local ones aside."""
    borne: dict[str, list[UnitRow]] = {}
    for document in store.documents.read_rows():
        for unit in store.units.list_in_document(document.id):
            if unit.kind in (*TYPE_KINDS, "function", "method") and not unit.local:
                borne.setdefault(unit.name, []).append(unit)
    single = [
        units[0]
        for name, units in borne.items()
        if len(units) == 1 and len(name) >= SHORTEST and "test" not in units[0].roles
    ]
    return sorted(single, key=lambda u: (xxhash.xxh3_64_intdigest(u.name.encode()), u.name))[:ASKED]


def finds(unit: UnitRow, store: Store, profile: str) -> bool:
    """True if a search for the unit's name ranks it first."""
    candidates = rank(unit.name, store, SearchOptions(limit=1, profile=profile), Settings()).candidates
    return bool(candidates) and candidates[0].unit.id == unit.id


def main(arguments: Sequence[str] | None = None) -> int:
    """A row for each index."""
    parser = argparse.ArgumentParser(prog="python -m tools.bench.lookups", description=__doc__)
    parser.add_argument("indexes", nargs="+", type=Path, metavar="INDEX")
    parser.add_argument("--profile", default=SearchOptions().profile)
    options = parser.parse_args(arguments)
    print("| index | names | first |\n|---|---:|---:|")
    for path in options.indexes:
        store = Store.read(path)
        with store.reading():
            names = single_names(store)
            first = sum(finds(unit, store, options.profile) for unit in names)
        store.close()
        print(f"| {path.stem} | {len(names)} | {first / max(1, len(names)):.3f} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
