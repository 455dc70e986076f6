"""Spreads relevance over the symbol graph, from the best candidates to related units: by a walk, or breadth first.

The walk reads edges in rounds, around the nodes that have mass, so its work grows with the neighbourhood of the seeds. Units
that only the walk finds become candidates; each candidate that it reaches gets a contribution.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property, partial
from itertools import islice, pairwise

from codelens.graph.surroundings import WIDEST, ContentNumbering, WeightedNeighbours
from codelens.graph.walk import KEEPS, KEEPS_ELSE, GraphStep, Trails, expand, push_mass
from codelens.model.code import NOTE_KINDS, UNWALKED_KINDS, UnitId, UnitRow
from codelens.model.fast_dataclass import dataclass
from codelens.model.graph import NAME_OF_KIND, RESOLVED, TIER_OF_NUMBER, is_unit
from codelens.model.search import Candidate, Contribution, add_features, rank_candidates
from codelens.search.evidence import Reading, read_rows
from codelens.store.store import Store

LEAST, SPAN = 1e-4, 9.2
"""Constant added to a share before its logarithm is taken, and minus its logarithm; so the value is from 0 to 1.
Of logarithm, square root and plain share, the logarithm measured best together with the other features."""
NEARLY = 0.3
"""Factor on epsilon for a rehearsed walk, because dead ends in other indexes send mass, too. Measured over 24 repositories: with
.8 some names take 15 rounds instead of 11; .3 takes a seventh more CPU time."""
MORE = 1.25
"""Factor on the number of units that may join, for a rehearsed walk: it goes farther than the walk, so its last units differ."""
WALK = "walk"  # Name of the walk's feature


@dataclass(frozen=True, slots=True)
class SpreadSettings:
    """A profile's settings for the walk, from weights.toml."""

    seeds: int
    restart: float
    epsilon: float
    nodes: int  # Most nodes whose edges are read
    joining: int  # Most units that become candidates only by their mass
    backward: float  # Weight of an edge against its direction, as a share of its weight along it
    precise: float  # Weight of an edge from a language server's index, as a share of that of other edges of its kind
    kinds: Mapping[str, float]  # Kind of edge → weight


class SymbolWalk:
    """A walk from seeds (unit → weight) over the symbol graph, with the mass that came to units, and the paths by which it came.

    For paths, nodes are numbered by content, which decides between equal ones."""

    def __init__(self, store: Store, seeds: Mapping[int, float], spreading: SpreadSettings, epsilon: float) -> None:
        self._store, self._seeds, self._spreading = store, seeds, spreading
        self._around = WeightedNeighbours(store, spreading.kinds, spreading.backward, spreading.precise)
        self._pushed = push_mass(self._around, seeds, spreading.restart, epsilon, spreading.nodes)
        came, total = self._pushed.mass.copy(), math.fsum(seeds.values())
        for seed, weight in seeds.items():  # a seed's own restarts only repeat its score
            came[seed] -= spreading.restart * weight / total
        self.mass = {UnitId(node): held for node, held in came.items() if held > 0}  # Without what seeds restart with
        self._names: dict[UnitId, str] = {}
        self._paths: dict[UnitId, Sequence[UnitId]] = {}

    def measure_nearness(self) -> dict[UnitId, float]:
        """Map each unit to its mass, restarts included, as a share of the largest mass of a node; 1 for the seeds."""
        most = max(self._pushed.mass.values(), default=1.0)
        near = {UnitId(node): held / most for node, held in self._pushed.mass.items()}
        return near | dict.fromkeys(map(UnitId, self._seeds), 1.0)

    def find_candidates(self, known: Sequence[Candidate], may_be_found: Callable[[UnitId], bool]) -> list[Candidate]:
        """Make candidates for the symbols with most mass that are not `known` and that may be found."""
        ids, most = {candidate.unit.id for candidate in known}, self._spreading.joining
        new = {unit: held for unit, held in self.mass.items() if unit not in ids and may_be_found(unit)}
        rows = self._store.units.read_rows(_select_heaviest(new, most))
        first = sorted(rows.values(), key=lambda row: (-new[row.id], row.content_order()))[:most]
        return [Candidate(row) for row in first if row.kind not in UNWALKED_KINDS]

    def add_feature(self, candidates: Sequence[Candidate], weight: float) -> None:
        """Add the walk's feature to each candidate that it reached.

        The value is the logarithm of a unit's mass as a share of the largest, scaled to 1 for a share of 1 and about 0 for 1e-4."""
        self._names = {candidate.unit.id: candidate.unit.qualified_name for candidate in candidates}
        most = max(self.mass.values(), default=0.0)
        masses = [self.mass.get(candidate.unit.id) for candidate in candidates]
        values = [math.log(mass / most + LEAST) / SPAN + 1.0 if mass else 0.0 for mass in masses]
        add_features(candidates, [(WALK, weight, values)])

    def describe_path(self, unit: UnitRow) -> str:
        """Describe in words how the walk came to a unit."""
        if unit.id not in self._paths:
            self.find_paths([unit])
        return describe_walk(self._paths[unit.id], self._names, self._around)

    def find_paths(self, units: Iterable[UnitRow]) -> None:
        """Find the paths to those of these units that the walk reached, and read the names of the units on them."""
        nodes, wanted = self._nodes, [unit.id for unit in units if unit.id in self.mass]
        numbers = nodes.number_nodes(wanted)
        for unit in wanted:
            path = self._trails.find_trail(numbers[unit])
            if len(path) < 2:  # to a seed itself, or without a trail: from who sent it most
                path = [node for node in (self._senders.get(numbers[unit]), numbers[unit]) if node is not None]
            self._paths[unit] = [nodes.unit[node] for node in path]
        self._around.read_kinds({station for unit in wanted for station in self._paths[unit][:-1]})
        others = {station for unit in wanted for station in self._paths[unit]} - self._names.keys()
        self._names |= {row.id: row.qualified_name for row in self._store.units.read_rows(others).values()}

    @cached_property
    def _senders(self) -> Mapping[int, int]:
        """For each node the neighbour that sent it the most mass."""
        mass = {self._nodes.number[n]: m for n, m in self._pushed.mass.items() if n in self._nodes.number}
        most: dict[int, tuple[float, int]] = {}
        for source, row in sorted(self._rows.items()):
            total, mass_of_source = math.fsum(w for _, w in row), mass.get(source, 0.0)
            for target, weight in row:
                sent = mass_of_source * weight / total
                if target != source and sent > most.get(target, (0.0, 0))[0]:
                    most[target] = sent, source
        return {target: source for target, (_, source) in most.items()}

    @cached_property
    def _nodes(self) -> ContentNumbering:
        nodes, rows = ContentNumbering(self._around, self._store), self._pushed.rows.values()
        nodes.number_nodes(self._pushed.mass.keys() | {other for row in rows for other, _ in row})
        return nodes

    @cached_property
    def _rows(self) -> dict[int, list[tuple[int, float]]]:
        """For each node whose edges the walk read, its neighbours with their weights; nodes are numbers."""
        number, read = self._nodes.number, {n: row for n, row in self._pushed.rows.items() if n in self._nodes.number}
        return {number[n]: sorted((number[o], weight) for o, weight in row if o in number) for n, row in read.items()}

    @cached_property
    def _trails(self) -> Trails:
        seeds = {self._nodes.number[seed]: weight for seed, weight in self._seeds.items()}
        return Trails(self._rows, seeds, self._spreading.restart)


def walk_from_candidates(
    ranked: Sequence[tuple[float, Candidate]], spreading: SpreadSettings, store: Store, reading: Reading = read_rows
) -> SymbolWalk | None:
    """Walk from the best candidates, given best first with their scores so far; None if there are no seeds. `reading` is used
    to prefetch data about units that may join.

    The weight of a seed is the square of its standing: 0 at the score of the first candidate that is not a seed, 1 at the best.
    So the first few dominate (see ranking.md), regardless of what their scores have in common.
    """
    walkable = ((c, score) for score, c in ranked if c.unit.kind not in UNWALKED_KINDS)
    symbols = list(islice(walkable, spreading.seeds + 1))
    if not symbols:
        return None
    best, low = symbols[0][1], symbols[-1][1] if len(symbols) > 1 else 0.0
    reach = best - low
    symbols = [(c, score) for c, score in symbols[: spreading.seeds] if score > low] or symbols[:1]
    seeds: dict[int, float] = {c.unit.id: ((score - low) / reach) ** 2 if reach > 0 else 1.0 for c, score in symbols}
    if not store.is_one:
        rehearsal = partial(_prefetch_walk, spreading=spreading, whole=math.fsum(seeds.values()), reading=reading)
        weights: dict[int, float] = dict.fromkeys((c.unit.id for _, c in ranked), 0.0)
        store.prefetch_answers((rehearsal, weights | seeds))
    return SymbolWalk(store, seeds, spreading, spreading.epsilon)


def _prefetch_walk(
    store: Store, candidates: Mapping[int, float], spreading: SpreadSettings, whole: float, reading: Reading
) -> None:
    """Prefetch what a walk will read from one of several indexes, and the units that may join. `candidates`: unit → weight as
    a seed; `whole` is the sum of these weights over all indexes."""
    if seeds := {unit: weight for unit, weight in candidates.items() if weight}:
        share = math.fsum(seeds.values()) / whole
        mass = SymbolWalk(store, seeds, spreading, NEARLY * spreading.epsilon / share).mass
        new = {unit: held for unit, held in mass.items() if unit not in candidates}
        reading(store, _select_heaviest(new, round(MORE * spreading.joining)))


def _select_heaviest(mass: Mapping[UnitId, float], number: int) -> list[UnitId]:
    """Select the `number` units with most mass, and any that tie with the last."""
    if len(mass) <= number:
        return [*mass]
    least = sorted(mass.values(), reverse=True)[number - 1]
    return [unit for unit, held in mass.items() if held >= least]


_VERBS = {
    "": "is next to",
    "type_hint_of": "names",
    "accesses_field": "uses a field of",
    "reads_env": "reads",
    "executes_process": "runs",
    "handles_route": "handles",
    "consumes_endpoint": "calls",
    "implements_rpc": "implements",
    "consumes_rpc": "calls",
    "member_of": "belongs to",
    "tests": "uses {} in a test",
    "tested_by": "is used in a test by",
    "co_tested_with": "is used in one test with",
    "similar_to": "resembles",
    "deployed_by": "is deployed by",
    "gated_by_flag": "depends on the flag",
    "owned_by": "is owned by",
    "authored_by": "was written by",
}
"""Kind of edge → how its source relates to its target, which stands at `{}` or at the end; for other kinds the kind is the verb."""


def describe_walk(way: Sequence[UnitId], names: Mapping[UnitId, str], around: WeightedNeighbours) -> str:
    """Describe the path of a walk to a unit: 'reached from Flask.run, which calls make_server, which calls it'."""
    if len(way) == 1:
        return "one of the hits that the walk starts from"
    kinds = [around.find_main_kind(source, target) for source, target in pairwise(way)]
    return _describe_way([names.get(one, "?") for one in way], [(k.removeprefix("←"), k[:1] != "←") for k in kinds])


def _describe_way(stations: Sequence[str], edges: Sequence[tuple[str, bool]]) -> str:
    """Describe a path in words; `edges` are (kind, True if the edge points along the path), and the last station is 'it'."""
    stations = [station.removeprefix("symbol:") for station in stations]
    parts = [f"reached from {stations[0]}"]
    for name, (kind, along) in zip((*stations[1:-1], "it"), edges, strict=True):
        verb = _VERBS.get(kind, kind.replace("_", " "))
        verb = verb if "{}" in verb else f"{verb} {{}}"
        parts.append(f"which {verb.format(name)}" if along else f"which {name} {verb.replace(' {}', '')}")
    return ", ".join(parts)


@dataclass(frozen=True, slots=True)
class ExpansionSettings:
    """A profile's settings for the expansion, from weights.toml."""

    seeds: int
    depth: int
    minimum: float  # Least score of seeds and reached units, as a share of the best score
    decay: float | None = None  # Share of the score that is kept at every edge; None for a share by kind of edge
    closed: bool = False  # True if only the seeds and what they reach are results


def add_expansion(
    candidates: Sequence[Candidate], expanding: ExpansionSettings, store: Store, may_be_found: Callable[[UnitId], bool]
) -> tuple[list[Candidate], frozenset[UnitId]]:
    """Expand the best candidates along edges: (old and new candidates, best first; the seeds and all units they reach).

    A reached unit is raised to the seed's score times the share that the edges keep, if that is more than its own score; a
    contribution tells from where. Only units for which `may_be_found` is true may join.
    """
    best = candidates[0].score if candidates else 0.0
    if best <= 0:
        return list(candidates), frozenset(c.unit.id for c in candidates)
    scores = {int(c.unit.id): c.score for c in candidates[: expanding.seeds]}
    shares = {node: score / best for node, score in scores.items()}
    expanded = expand(partial(_read_steps, store), shares, expanding.depth, expanding.minimum, expanding.decay)
    reached = {UnitId(n): r for n, r in expanded.items() if r.before is not None and is_unit(n)}
    known = {c.unit.id: c for c in candidates}
    rows = store.units.read_rows(reached.keys() - known.keys())
    joined = [row for row in sorted(rows.values(), key=UnitRow.content_order) if row.kind not in UNWALKED_KINDS]
    known |= {row.id: Candidate(row) for row in joined if may_be_found(row.id)}
    nodes = {hop.source for way in reached.values() for hop in way.list_hops()}
    stations = store.units.read_rows({UnitId(n) for n in nodes if n > 0} - known.keys())
    names: dict[int, str] = {int(unit): c.unit.qualified_name for unit, c in known.items()}
    names |= {int(unit): row.qualified_name for unit, row in stations.items()}
    names |= {node: path for node, _, path in store.edges.read_content_keys([n for n in nodes if n < 0])}
    for unit, way in reached.items():
        hops = way.list_hops()
        kept = math.prod(KEEPS.get(h.kind, KEEPS_ELSE) if expanding.decay is None else expanding.decay for h in hops)
        of = scores[hops[0].source]
        if unit in known and of * kept > (had := known[unit].score):
            said = [names.get(node, "?") for node in (hops[0].source, *(hop.target for hop in hops))]
            way_there = _describe_way(said, [(hop.kind, hop.outgoing) for hop in hops])
            reason = f"{kept:.4g} of the score it comes from: {way_there}"
            operands = {"of": of, "kept": kept, "had": had}
            part = Contribution("expansion", of * kept - had, reason, "inherit", operands)
            known[unit].recorded.append(part)
    return rank_candidates(known.values()), frozenset(UnitId(node) for node in expanded)


def _read_steps(store: Store, nodes: Sequence[int]) -> Mapping[int, Sequence[GraphStep]]:
    """Read the steps from nodes for `expand`: resolved edges in both directions, and nesting, including files."""
    store.budget.check()
    steps: dict[int, list[GraphStep]] = {node: [] for node in nodes}
    for node, other, kind, tier, outgoing in store.edges.find_neighbours(nodes, WIDEST):
        name = NAME_OF_KIND[kind]
        if other == node or TIER_OF_NUMBER[tier].confidence < RESOLVED:
            continue
        if name == "member_of":  # of a method outside of its type, as in Go, the edge points to what contains it
            steps[node].append(GraphStep(other, "contains", not outgoing))
        else:
            steps[node].append(GraphStep(other, name, bool(outgoing)))
    for node, other, down in store.edges.find_nested(nodes):
        steps[node].append(GraphStep(other, "contains", down))
    for document, unit in store.units.list_top_units([-node for node in nodes if node < 0]):
        steps[-document].append(GraphStep(unit, "contains"))
    rows = store.units.read_rows([UnitId(n) for n in nodes if n > 0])
    for row in rows.values():
        if row.parent is None:
            steps[row.id].append(GraphStep(-row.document, "contains", False))
    # A link to the file of a note is a link to the note
    notes = [row for row in rows.values() if row.kind in NOTE_KINDS]
    note_of_file = {-row.document: row.id for row in notes}
    for node, other, kind, _, outgoing in store.edges.find_neighbours(list(note_of_file), WIDEST):
        if not outgoing and other > 0:
            steps[note_of_file[node]].append(GraphStep(other, NAME_OF_KIND[kind], False))
    links = {row.id: [s for s in steps[row.id] if s.target < 0 and s.kind == "documents"] for row in notes}
    files = {-link.target for links_of_note in links.values() for link in links_of_note}
    linked = store.units.read_rows([unit for _, unit in store.units.list_top_units(sorted(files))])
    linked_notes = {-row.document: row.id for row in linked.values() if row.kind in NOTE_KINDS}
    for note, links_of_note in links.items():
        known = (link for link in links_of_note if link.target in linked_notes)
        steps[note] += [link._replace(target=linked_notes[link.target]) for link in known]
    return steps
