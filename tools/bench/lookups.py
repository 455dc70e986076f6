"""Measure how often a search for a unique name finds it first: `python -m tools.bench.lookups INDEX...`.

Names are sampled by hash; local definitions and names of up to three characters are left out.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import xxhash

from codelens.config import Settings
from codelens.model.code import SYMBOL_KINDS, UnitRow
from codelens.model.search import SearchOptions
from codelens.search.pipeline import rank
from codelens.store.store import Store

ASKED = 200
"""Names of one index."""
SHORTEST = 4
"""Characters. Chosen."""


def single_names(store: Store) -> list[UnitRow]:
    """ASKED definitions at most whose names no other definition bears, local ones aside."""
    borne: dict[str, list[UnitRow]] = {}
    for document in store.documents.rows():
        for unit in store.units.of_document(document.id):
            if unit.kind in SYMBOL_KINDS and unit.kind != "module" and not unit.local:
                borne.setdefault(unit.name, []).append(unit)
    single = [units[0] for name, units in borne.items() if len(units) == 1 and len(name) >= SHORTEST]
    return sorted(single, key=lambda u: (xxhash.xxh3_64_intdigest(u.name.encode()), u.name))[:ASKED]


def finds(unit: UnitRow, store: Store) -> bool:
    """True if a search for the unit's name ranks it first."""
    candidates = rank(unit.name, store, SearchOptions(limit=1), Settings()).candidates
    return bool(candidates) and candidates[0].unit.id == unit.id


def main(arguments: Sequence[str]) -> int:
    """A row for each index."""
    if not arguments:
        print((__doc__ or "").splitlines()[0], file=sys.stderr)
        return 2
    print("| index | names | first |\n|---|---:|---:|")
    for name in arguments:
        store = Store.read(Path(name))
        with store.reading():
            names = single_names(store)
            first = sum(finds(unit, store) for unit in names)
        store.close()
        print(f"| {Path(name).stem} | {len(names)} | {first / max(1, len(names)):.3f} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
