"""The channels' rankings → the seeds of knowing's walk: fused, filtered, ordered and counted by the size of the graph.

A walk from few units that belong together finds more than one from many that are scattered, so the largest folder goes first.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import PurePosixPath

from codelens.model import CHUNK_KINDS, TYPE_KINDS, Candidate, Event, Match, Trace, UnitId, UnitRow
from codelens.nouns import dataclass
from codelens.relations import is_unit
from codelens.search.evidence import words_said
from codelens.search.expand import ExpandedQuery
from codelens.search.fuse import fuse, normalised
from codelens.search.neighbour_ranking import neighbour_ranking
from codelens.search.noise import noise_of
from codelens.store.store import Store

NOISE = "noise filter"
NO_SEED = "seeds"
"""Stages in the trace's events."""
AROUND_NAMES = "neighbours"
"""The name of the ranking by classes that the graph's neighbours make."""


@dataclass(frozen=True, slots=True)
class Seeding:
    """A profile's settings for the seeds, from weights.toml."""

    candidates: int
    """Of the fusion that may become seeds."""
    fewest: int
    """Candidates below which others are taken in."""
    filled: int
    """How many candidates there may be then."""
    neighbours: float
    """Weight of the ranking by classes that the neighbours' names make; 0 for none."""
    implementors: int
    """Most that join for the interfaces among the candidates."""
    focus: bool
    """Whether the largest folder goes first."""
    seeds: Mapping[str, int]
    """From this number of units on (as text, TOML's keys) → so many seeds."""
    dense: int
    """Units from which on types go first."""
    first_weight: float
    last_weight: float
    """Restart weights of the first and the last seed; those between lie evenly between."""
    paths: int
    """Most types that join because their path is named."""
    path_weight: float


@dataclass(frozen=True, slots=True)
class Seed:
    """A unit that a walk restarts at."""

    unit: UnitRow
    weight: float
    reason: str
    direct: bool
    """Whether the query itself led to it; what lies where the path is named only helps the walk."""


@dataclass(frozen=True, slots=True)
class Seeds:
    """What the walk starts from, and all that the channels found beside it."""

    seeds: Mapping[UnitId, Seed]
    fused: Mapping[UnitId, Candidate]
    """Every unit of the fusion, in the fusion's order."""


def choose_seeds(
    query: ExpandedQuery,
    rankings: Mapping[str, Sequence[Match]],
    weights: Mapping[str, float],
    k: int,
    seeding: Seeding,
    store: Store,
    trace: Trace,
) -> Seeds:
    """Fuse, fill where that is little, leave noise out, order, cut, and add what joins without competing."""
    fused = _fused(query, rankings, weights, k, seeding, store, trace)
    chosen = [c.unit for c in fused if c.unit.kind not in CHUNK_KINDS][: seeding.candidates]
    if len(chosen) < seeding.fewest:
        chosen = _filled(chosen, fused, rankings, seeding, store)
    said = frozenset({*words_said(query), *(term.text for term in query.names)})
    kept = _without_noise(chosen, said, trace)
    size = store.units.count()
    ordered = by_folder(kept) if seeding.focus else kept
    if size > seeding.dense:
        ordered = sorted(ordered, key=lambda unit: unit.kind not in TYPE_KINDS)
    most = max((n for least, n in seeding.seeds.items() if int(least) <= size), default=0)
    seeds = _weighted(ordered[:most], seeding)
    for unit in _implementors(kept, seeding, store):
        if unit.id not in seeds and not noise_of(unit, said):
            seeds[unit.id] = Seed(unit, seeding.last_weight, "implements an interface among the matches", True)
    for unit in _on_paths(rankings.get("path", ()), seeding, store):
        if unit.id not in seeds and not noise_of(unit, said):
            seeds[unit.id] = Seed(unit, seeding.path_weight, "a type where the path says the query's words", False)
    return Seeds(seeds, {c.unit.id: c for c in fused})


def _fused(
    query: ExpandedQuery,
    rankings: Mapping[str, Sequence[Match]],
    weights: Mapping[str, float],
    k: int,
    seeding: Seeding,
    store: Store,
    trace: Trace,
) -> list[Candidate]:
    """All channels with weight, and the ranking by the neighbours of the best names, joined by their ranks."""
    weighing = {**weights, AROUND_NAMES: seeding.neighbours}
    taking_part = {name: matches for name, matches in rankings.items() if weighing.get(name)}
    if seeding.neighbours and "symbol" in taking_part:
        taking_part[AROUND_NAMES] = neighbour_ranking(query, taking_part["symbol"], store)
        trace.rankings[AROUND_NAMES] = tuple(taking_part[AROUND_NAMES])
    units = store.units.rows({m.unit for matches in taking_part.values() for m in matches})
    found = fuse(taking_part, normalised(weighing, sorted(taking_part)), k, units)
    return sorted(found, key=Candidate.order)


def _filled(
    chosen: Sequence[UnitRow],
    fused: Sequence[Candidate],
    rankings: Mapping[str, Sequence[Match]],
    seeding: Seeding,
    store: Store,
) -> list[UnitRow]:
    """What else may seed where the names and words gave little: what is near, then texts that are no symbols, then slips."""
    near = [match.unit for match in rankings.get("vector", ())][: seeding.filled]
    slips = [match.unit for match in rankings.get("fuzzy", ())][: seeding.filled]
    rows = store.units.rows({*near, *slips})
    further = [*(rows[unit] for unit in near), *(c.unit for c in fused), *(rows[unit] for unit in slips)]
    found = {unit.id: unit for unit in (*chosen, *further)}
    return list(found.values())[: seeding.filled]


def _without_noise(units: Sequence[UnitRow], said: Collection[str], trace: Trace) -> list[UnitRow]:
    """Those that are no noise; all of them where all are, for then the query means just these."""
    reasons = {unit.id: noise_of(unit, said) for unit in units}
    kept = [unit for unit in units if not reasons[unit.id]]
    if not kept:
        return list(units)
    trace.events += [Event(NOISE, unit, reasons[unit.id]) for unit in units if reasons[unit.id]]
    return kept


def by_folder(units: Sequence[UnitRow]) -> list[UnitRow]:
    """The units of the folder that holds most of them first, of several such folders the one with the best; each in order."""
    folders: dict[tuple[str, str], list[UnitRow]] = {}
    for unit in units:
        folders.setdefault((unit.repository, str(PurePosixPath(unit.path).parent)), []).append(unit)
    largest = max(folders.values(), key=len, default=[])
    first = {unit.id for unit in largest}
    return [*largest, *(unit for unit in units if unit.id not in first)]


def _weighted(units: Sequence[UnitRow], seeding: Seeding) -> dict[UnitId, Seed]:
    """Restart weights that fall evenly from the first to the last."""
    fall = (seeding.first_weight - seeding.last_weight) / max(1, len(units) - 1)
    return {
        unit.id: Seed(unit, seeding.first_weight - fall * place, f"seed {place + 1}", True)
        for place, unit in enumerate(units)
    }


def _implementors(units: Sequence[UnitRow], seeding: Seeding, store: Store) -> list[UnitRow]:
    """What implements an interface among these units: interface by interface, each one's by path and place."""
    interfaces = {unit.id: place for place, unit in enumerate(units) if unit.kind in ("interface", "trait")}
    edges = [e for e in store.edges.incoming(interfaces, {"implements"}) if is_unit(e.source)]
    rows = store.units.rows({UnitId(e.source) for e in edges})
    first: dict[UnitId, int] = {}
    for edge in edges:
        place, source = interfaces[UnitId(edge.target)], UnitId(edge.source)
        first[source] = min(place, first.get(source, place))
    ordered = sorted(rows.values(), key=lambda row: (first[row.id], row.content_order()))
    return ordered[: seeding.implementors]


def _on_paths(matches: Sequence[Match], seeding: Seeding, store: Store) -> list[UnitRow]:
    """The types that live where a path says the query's words, best path first."""
    rows = store.units.rows([match.unit for match in matches])
    return [rows[m.unit] for m in matches if rows[m.unit].kind in TYPE_KINDS][: seeding.paths]
