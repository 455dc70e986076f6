"""What a pack is for → the symbols that it wants: by searching for a task, or from files or a change along edges."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from codelens.config import Settings
from codelens.context.changed import touched_by
from codelens.context.composite import composite
from codelens.context.graph import FAINT, Neighbours, call_counts, confidences, has_edges, neighbours, walk_from
from codelens.context.wanted import Wanted
from codelens.errors import TargetError
from codelens.model import DocumentId, Notice, SearchOptions, UnitId, UnitRow
from codelens.nouns import dataclass
from codelens.packed import ContextRequest
from codelens.search.pipeline import rank
from codelens.search.runtime import running_by
from codelens.search.scope import documents_in_scope
from codelens.store.store import Store
from codelens.texts import Texts

POOL = 300
"""Candidates of one pack; the text of each is read. Of 300 symbols the bodies fill 50 000 tokens in most trees."""
NEXT = 0.5
"""Nearness of what is one edge away, where no walk says more: 1 / (1 + hops), as knowing's distance."""
NO_GRAPH = Notice("no-graph", "the index holds no edges: callers are not known")


@dataclass(frozen=True, slots=True)
class Source:
    """The candidates of a pack by descending score, and what is to be said about them."""

    wanted: Sequence[Wanted]
    notices: tuple[Notice, ...]
    phantoms: int = 0


def for_task(request: ContextRequest, store: Store, settings: Settings) -> Source:
    """The best of a search. They are as near as its walk over the graph comes to them; where it did not walk, all are near."""
    ranking = rank(request.query, store, request.options, settings)
    best = ranking.candidates[: min(request.options.limit, POOL)]
    near = ranking.trace.nearness
    wanted = [Wanted(c.unit, c.score, max(near.get(c.unit.id, 0.0), FAINT) if near else 1.0) for c in best]
    return Source(wanted, tuple(ranking.notices))


def for_files(request: ContextRequest, store: Store) -> Source:
    """The symbols of the files that `options.paths` name, and who calls them. Raises TargetError for one not indexed."""
    options = request.options
    for path in options.paths:
        if not documents_in_scope(store, SearchOptions(paths=(path,), repositories=options.repositories)):
            raise TargetError(f"{path} is not in the index", hint="`codelens status --skipped` lists what was left out")
    units = _units(store, [d.id for d in documents_in_scope(store, options)])
    near = neighbours(store, list(units), outgoing=False)
    around = _in_scope(store, near.callers, replace(options, paths=()))
    counts, sure = call_counts(store, [*units, *around]), confidences(store, [*units, *around])
    most, notices = max(counts.values(), default=0), list[Notice]()
    running = running_by(store, options.now, notices)([*units.values(), *around.values()])

    def wanted(row: UnitRow, hops: int) -> Wanted:
        count = counts.get(row.id, 0)
        reason = f"called from {count} places, {most} at most"
        scored = composite(row, count / most if most else 0.0, reason, sure.get(row.id, 0.0), hops, running.get(row.id))
        return Wanted(row, scored.score, NEXT if hops else 1.0, "caller" if hops else "")

    found = [*(wanted(row, 0) for row in units.values()), *(wanted(row, 1) for row in around.values())]
    return Source(_best(found, options), (*notices, *(() if has_edges(store) else (NO_GRAPH,))))


def for_change(request: ContextRequest, store: Store, texts: Texts) -> Source:
    """The symbols that a diff changes, then what a walk from them, or without one a single edge, leads to."""
    options, touched = request.options, touched_by(request.change, store, texts)
    changed = _in_scope(store, touched.units, options)
    near = neighbours(store, list(changed), outgoing=True)
    walked = walk_from(store, sorted(changed.values(), key=UnitRow.content_order), options)
    direct = _one_step(near)
    reached = direct if walked is None else {**dict.fromkeys(direct, FAINT), **walked}
    around = _in_scope(store, reached.keys() - changed.keys(), options)
    sure, told = confidences(store, [*changed, *around]), list[Notice]()
    running = running_by(store, options.now, told)([*changed.values(), *around.values()])

    def wanted(row: UnitRow) -> Wanted:
        here = row.id in changed
        share = 1.0 if here else reached[row.id]
        hops, why = 0 if here else 1, "its share of what a walk has"
        scored = composite(row, share, why, sure.get(row.id, 0.0), hops, running.get(row.id))
        return Wanted(row, scored.score, share, "changed" if here else _relation(row.id, near))

    notices = (*touched.notices, *told, *(() if has_edges(store) or not changed else (NO_GRAPH,)))
    return Source(_best(map(wanted, [*changed.values(), *around.values()]), options), notices, near.phantoms)


def _units(store: Store, documents: Sequence[DocumentId]) -> dict[UnitId, UnitRow]:
    """What files define, and the text between; what is local to a function comes with that."""
    rows = store.units.rows(store.units.of_documents(documents))
    return {unit: row for unit, row in rows.items() if not row.local}


def _in_scope(store: Store, units: Iterable[UnitId], options: SearchOptions) -> dict[UnitId, UnitRow]:
    rows = store.units.rows(units)
    allowed = {d.id for d in documents_in_scope(store, options)} if rows else set()
    return {unit: row for unit, row in rows.items() if row.document in allowed}


def _one_step(near: Neighbours) -> dict[UnitId, float]:
    """Unit → half the share of changed units that it touches, of the most that any touches."""
    touches: dict[UnitId, frozenset[UnitId]] = {}
    for found in (near.callers, near.called):
        for unit, seeds in found.items():
            touches[unit] = touches.get(unit, frozenset()) | seeds
    most = max(map(len, touches.values()), default=1)
    return {unit: NEXT * len(seeds) / most for unit, seeds in touches.items()}


def _relation(unit: UnitId, near: Neighbours) -> str:
    return "caller" if unit in near.callers else "callee" if unit in near.called else "near"


def _best(wanted: Iterable[Wanted], options: SearchOptions) -> list[Wanted]:
    ordered = sorted(wanted, key=lambda w: (-w.score, w.unit.content_order()))
    return ordered[: min(options.limit, POOL)]
