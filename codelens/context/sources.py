"""Finds the candidates of a pack: symbols from a search for a task, or symbols of files or a diff and those along edges.

Scores along edges are knowing's base mode: blast radius × .40 + confidence × .25 + recency × .20 + distance × .15, and × .3 for
tests that were not named. Without edges in the index there are no callers, and a notice reports it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import NamedTuple

from codelens.config import Settings
from codelens.context.changes import find_changed_units
from codelens.context.pack import Offer
from codelens.errors import TargetError
from codelens.model.code import DocumentId, Freshness, UnitId, UnitRow
from codelens.model.context import ContextRequest, Entry, Form
from codelens.model.fast_dataclass import replace
from codelens.model.graph import is_unit
from codelens.model.request import SearchOptions
from codelens.model.search import Candidate, Notice
from codelens.search.pipeline import UNKNOWN_WORDS, rank
from codelens.search.profiles import load_profile
from codelens.search.rankers import knowing
from codelens.search.recency import read_runtime_signals
from codelens.search.scope import list_documents_in_scope
from codelens.search.walk import SpreadSettings, walk_from_candidates
from codelens.store.documents import DocumentRow
from codelens.store.store import Store
from codelens.store.texts import Texts
from codelens.worktree.files import check_freshness

BESIDE = 120
"""Most characters around a symbol on its first and last line that are shown with it: indent, `export default`, a brace. If
there are more, as in minified text, the symbol is shown alone. Chosen, not measured."""
LONGEST_HEAD = 200  # Most characters of the first line, shown for a unit without a signature


class WantedUnit(NamedTuple):
    """A candidate symbol with its score."""

    unit: UnitRow
    score: float
    relation: str = ""


WantedUnits = tuple[Sequence[WantedUnit], tuple[Notice, ...]]  # Candidates by descending score, and notices


def make_offers(wanted: Sequence[WantedUnit], store: Store, texts: Texts) -> list[Offer]:
    """Make an offer, with body and signature, for each candidate, in the same order. Freshness is checked on disk."""
    documents = {d.id: d for d in store.documents.read_rows({w.unit.document for w in wanted})}
    roots = {int(r.id): str(r.root) for r in store.documents.list_repositories()}
    states = check_documents(documents.values(), store)
    offers = []
    for unit, score, relation in wanted:
        document = documents[unit.document]
        text = _read_body(unit, document, texts)
        summary, head = (next(filter(None, map(str.strip, part.split("\n"))), "") for part in (unit.doc, text))
        root, state = roots[document.repository], states[document.id]
        body = Entry(unit, root, Form.BODY, "" if summary in text else unit.doc, text, score, relation, state)
        short = unit.signature or head[:LONGEST_HEAD]
        offers.append(Offer(body, replace(body, form=Form.SIGNATURE, doc=summary, text=short)))
    return offers


def check_documents(documents: Iterable[DocumentRow], store: Store) -> dict[DocumentId, Freshness]:
    """Map each document to the state of its file on disk."""
    root = {row.id: row.root for row in store.documents.list_repositories()}
    states = {d.id: check_freshness(root[d.repository], d.os_path, d.stamp, d.content_hash) for d in documents}
    return {document: Freshness(state) for document, state in states.items()}


def _read_body(unit: UnitRow, document: DocumentRow, texts: Texts) -> str:
    """Read the lines of a unit, or only its text if there is much other text on its lines."""
    alone = texts.read(document).read_span(unit.span)
    lines = "\n".join(texts.read_lines(document)[unit.start_line - 1 : unit.end_line])
    return lines if len(lines) <= len(alone) + BESIDE else alone.replace("\r\n", "\n")


CALLS = frozenset({"calls", "tests"})  # Kinds of calls; `tests` is a call from test code to other code
FAINT = 0.02  # Least share of the walk's largest mass for a unit to count as reached (knowing's)
MOST_EDGES = 20_000  # Most edges read at once, so that a widely called function does not slow down a small change


def find_neighbours(store: Store, units: Collection[UnitId], callees: bool = False) -> dict[UnitId, set[UnitId]]:
    """Map each caller of the units to the units that it calls, or each callee to its callers among them; without the units."""
    known, neighbours = frozenset[int](units), dict[UnitId, set[UnitId]]()
    for edge in (store.edges.find_outgoing if callees else store.edges.find_incoming)(known, CALLS, MOST_EDGES):
        unit, other = (edge.source, edge.target) if callees else (edge.target, edge.source)
        if is_unit(other) and other not in known:
            neighbours.setdefault(UnitId(other), set()).add(UnitId(unit))
    return neighbours


def walk_around(store: Store, seeds: Sequence[UnitRow], options: SearchOptions) -> dict[UnitId, float] | None:
    """Walk from the seeds: unit → its mass as a share of the largest, without seeds; None if the profile does not walk."""
    profile, seed_ids = load_profile(options), {row.id for row in seeds}
    if profile.composite:
        walking = knowing.WalkSettings(**profile.composite["walk"])
        walked = knowing.WholeWalk(store, dict.fromkeys(seed_ids, 1.0), walking)
        masses = {unit: mass for unit, mass in walked.sum_mass_by_unit().items() if is_unit(unit)}
        most = max(masses.values(), default=0.0) or 1.0
        shares = {unit: mass / most for unit, mass in masses.items()}
    elif profile.graph:
        every_seed = replace(SpreadSettings(**profile.graph), seeds=len(seeds))
        walk = walk_from_candidates([(1.0, Candidate(row)) for row in seeds], every_seed, store)
        shares = walk.measure_nearness() if walk else {}
    else:
        return None
    return {unit: share for unit, share in shares.items() if share >= FAINT and unit not in seed_ids}


BLAST_RADIUS, CONFIDENCE, RECENCY, DISTANCE = 0.40, 0.25, 0.20, 0.15  # knowing's weights without HITS
STATIC_RECENCY = 0.3  # Recency of a unit that no run-time trace has seen (knowing's)
TEST_FACTOR = 0.3  # Factor for tests that were not named (knowing's)

Scoring = Callable[[UnitRow, float, int], float]
"""(unit, blast radius as a share of the largest, number of edges from the request) → score."""


def _make_scoring(store: Store, rows: Sequence[UnitRow], now: int | None, notices: list[Notice]) -> Scoring:
    """Make a function that scores these units by edges and run-time traces; a damaged file of traces adds a notice."""
    confidences: dict[int, float] = {}  # Unit → the highest of the edges that lead to it
    for edge in store.edges.find_incoming([row.id for row in rows], limit=MOST_EDGES):
        confidences[edge.target] = max(confidences.get(edge.target, 0.0), edge.confidence)
    running = read_runtime_signals(rows, store, now, notices)

    def score(row: UnitRow, blast: float, hops: int) -> float:
        confidence, recency = confidences.get(row.id, 0.0), STATIC_RECENCY
        if observed := running.get(row.id):
            confidence, recency = max(confidence, observed.confidence.value), observed.recency.value
        parts = [BLAST_RADIUS * blast, CONFIDENCE * confidence, RECENCY * recency, DISTANCE * (1.0 / (1 + hops))]
        if hops and "test" in row.roles:
            parts.append((TEST_FACTOR - 1.0) * math.fsum(parts))
        return math.fsum(parts)

    return score


POOL = 300
"""Most candidates of a pack, since the text of each is read. The bodies of 300 symbols fill 50,000 tokens in most trees."""
NEXT = 0.5  # Share of a unit one edge away if there is no walk: 1 / (1 + hops), as in knowing's distance
NO_GRAPH = Notice("no-graph", "the index holds no edges: callers are not known")


def find_for_task(request: ContextRequest, store: Store, settings: Settings) -> WantedUnits:
    """Find the best results of a search for the task."""
    ranking = rank(request.query, store, request.options, settings)
    best = ranking.candidates[: min(request.options.limit, POOL)]
    notices = (notice for notice in ranking.run.notices if notice.code != UNKNOWN_WORDS)  # a task has words of its own
    return [WantedUnit(c.unit, c.score) for c in best], tuple(notices)


def find_for_files(request: ContextRequest, store: Store) -> WantedUnits:
    """Find the symbols of the files in `options.paths`, and their callers, without units local to a function, since the function's
    text includes them. Raises TargetError for a file that is not indexed."""
    options, notices = request.options, list[Notice]()
    for path in options.paths:
        if not list_documents_in_scope(store, SearchOptions(paths=(path,), repositories=options.repositories)):
            raise TargetError(f"{path} is not in the index", hint="`codelens status --skipped` lists what was left out")
    rows = store.units.read_rows(store.units.list_ids([d.id for d in list_documents_in_scope(store, options)]))
    units = {unit: row for unit, row in rows.items() if not row.local}
    callers = _read_in_scope(store, find_neighbours(store, units), replace(options, paths=()))
    counts = store.edges.count_sources([*units, *callers], CALLS)
    most = max(counts.values(), default=0) or 1
    score = _make_scoring(store, [*units.values(), *callers.values()], options.now, notices)
    wanted = [WantedUnit(row, score(row, counts.get(unit, 0) / most, 0)) for unit, row in units.items()]
    wanted += [WantedUnit(row, score(row, counts.get(unit, 0) / most, 1), "caller") for unit, row in callers.items()]
    return _select_best(wanted, options), (*notices, *(() if store.edges.count() else (NO_GRAPH,)))


def find_for_change(request: ContextRequest, store: Store, texts: Texts) -> WantedUnits:
    """Find the symbols that a diff changes, and the symbols that a walk from them reaches, or without a walk one edge reaches."""
    options, trace_notices = request.options, list[Notice]()
    changed_ids, diff_notices = find_changed_units(request.change, store, texts)
    changed = _read_in_scope(store, changed_ids, options)
    callers, callees = find_neighbours(store, changed), find_neighbours(store, changed, callees=True)
    walked = walk_around(store, sorted(changed.values(), key=UnitRow.content_order), options)
    touched = {unit: callers.get(unit, set()) | callees.get(unit, set()) for unit in (*callers, *callees)}
    if walked is None:
        most = max(map(len, touched.values()), default=1)
        reached = {unit: NEXT * len(units) / most for unit, units in touched.items()}
    else:
        reached = {**dict.fromkeys(touched, FAINT), **walked}
    around = _read_in_scope(store, reached.keys() - changed.keys(), options)
    score = _make_scoring(store, [*changed.values(), *around.values()], options.now, trace_notices)
    wanted = [WantedUnit(row, score(row, 1.0, 0), "changed") for row in changed.values()]
    for unit, row in around.items():
        relation = "caller" if unit in callers else "callee" if unit in callees else "near"
        wanted.append(WantedUnit(row, score(row, reached[unit], 1), relation))
    notices = (*diff_notices, *trace_notices, *(() if store.edges.count() or not changed else (NO_GRAPH,)))
    return _select_best(wanted, options), notices


def _read_in_scope(store: Store, units: Iterable[UnitId], options: SearchOptions) -> dict[UnitId, UnitRow]:
    rows = store.units.read_rows(units)
    allowed = {d.id for d in list_documents_in_scope(store, options)} if rows else set()
    return {unit: row for unit, row in rows.items() if row.document in allowed}


def _select_best(wanted: Iterable[WantedUnit], options: SearchOptions) -> list[WantedUnit]:
    ordered = sorted(wanted, key=lambda w: (-w.score, w.unit.content_order()))
    return ordered[: min(options.limit, POOL)]
