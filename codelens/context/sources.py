"""Candidates of a pack: symbols from a search for a task, or from files or a diff and along edges, with their texts.

Scores along edges are knowing's base mode: blast radius × .40 + confidence × .25 + recency × .20 + distance × .15, and × .3 for
tests that were not named. Without edges in the index there are no callers, and a notice reports it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from codelens.config import Settings
from codelens.context.changes import touched_by
from codelens.context.pack import Offer
from codelens.errors import TargetError
from codelens.model.code import DocumentId, Freshness, UnitId, UnitRow
from codelens.model.context import ContextRequest, Entry, Form
from codelens.model.fast_dataclass import dataclass, replace
from codelens.model.graph import is_unit
from codelens.model.request import SearchOptions
from codelens.model.search import Candidate, Contribution, Notice
from codelens.search.pipeline import rank
from codelens.search.profiles import load_profile
from codelens.search.rankers import knowing
from codelens.search.recency import Running, running_by
from codelens.search.scope import documents_in_scope
from codelens.search.terms import UNKNOWN_WORDS
from codelens.search.walk import Spreading, nearness, spread
from codelens.store.documents import DocumentRow
from codelens.store.store import Store
from codelens.store.texts import Texts
from codelens.text.counts import quantity
from codelens.worktree.files import freshness

BESIDE = 120
"""Most characters around a symbol on its first and last line that are shown with it: indent, `export default`, a brace. If
there are more, as in minified text, the symbol is shown alone. Chosen, not measured."""
LONGEST_HEAD = 200  # Most characters of the first line, shown for a unit without a signature


@dataclass(frozen=True, slots=True)
class WantedUnit:
    """A candidate symbol with its score."""

    unit: UnitRow
    score: float
    relation: str = ""


def offers_of(wanted: Sequence[WantedUnit], store: Store, texts: Texts) -> list[Offer]:
    """The candidates in both forms, in the same order. Each document is read once; `freshness` is checked on disk."""
    documents = {d.id: d for d in store.documents.rows({w.unit.document for w in wanted})}
    roots = {int(r.id): str(r.root) for r in store.documents.repositories()}
    states = document_states(documents.values(), store)
    offers = []
    for one in wanted:
        unit, document = one.unit, documents[one.unit.document]
        body = _body(unit, document, texts)
        first = next((line for line in unit.doc.split("\n") if line.strip()), "")
        root, state = roots[document.repository], states[document.id]

        def entry(
            form: Form, doc: str, text: str, one: WantedUnit = one, root: str = root, state: Freshness = state
        ) -> Entry:
            return Entry(one.unit, root, form, doc, text, one.score, one.relation, state)

        body_entry = entry(Form.BODY, "" if first.strip() in body else unit.doc, body)
        offers.append(Offer(body_entry, entry(Form.SIGNATURE, first.strip(), unit.signature or _head(body))))
    return offers


def document_states(documents: Iterable[DocumentRow], store: Store) -> dict[DocumentId, Freshness]:
    """Document → state of its file on disk."""
    roots = {int(r.id): r.root for r in store.documents.repositories()}
    return {d.id: Freshness(freshness(roots[d.repository], d.os_path, d.stamp, d.content_hash)) for d in documents}


def _body(unit: UnitRow, document: DocumentRow, texts: Texts) -> str:
    """The lines of a unit, or its text alone if much else is on them."""
    alone = texts.of(document).slice(unit.span)
    lines = "\n".join(texts.lines(document)[unit.start_line - 1 : unit.end_line])
    return lines if len(lines) <= len(alone) + BESIDE else alone.replace("\r\n", "\n")


def _head(body: str) -> str:
    return next((line.strip() for line in body.split("\n") if line.strip()), "")[:LONGEST_HEAD]


CALLS = frozenset({"calls", "tests"})  # Kinds of calls; `tests` is a call from test code to other code
FAINT = 0.02  # Least share of the walk's largest mass for a unit to count as reached (knowing's)
MOST_EDGES = 20_000  # Most edges read at once, so that a widely called function does not slow down a small change


@dataclass(frozen=True, slots=True)
class Neighbours:
    """Units one edge from the seeds, each with the seeds that it touches."""

    callers: Mapping[UnitId, frozenset[UnitId]]
    called: Mapping[UnitId, frozenset[UnitId]]


def has_edges(store: Store) -> bool:
    """True if the index has edges."""
    return store.edges.count() > 0


def neighbours(store: Store, seeds: Collection[UnitId], outgoing: bool) -> Neighbours:
    """The callers of the seeds, and with `outgoing` their callees, without the seeds themselves."""
    known = frozenset[int](seeds)
    callers, called = dict[UnitId, set[UnitId]](), dict[UnitId, set[UnitId]]()
    for edge in store.edges.incoming(known, CALLS, MOST_EDGES):
        if is_unit(edge.source) and edge.source not in known:
            callers.setdefault(UnitId(edge.source), set()).add(UnitId(edge.target))
    for edge in store.edges.outgoing(known, CALLS, MOST_EDGES) if outgoing else ():
        if is_unit(edge.target) and edge.target not in known:
            called.setdefault(UnitId(edge.target), set()).add(UnitId(edge.source))
    return Neighbours(_frozen(callers), _frozen(called))


def walk_from(store: Store, seeds: Sequence[UnitRow], options: SearchOptions) -> dict[UnitId, float] | None:
    """Unit → its mass as a share of the walk's largest, without seeds; None if the profile does not walk."""
    profile, known = load_profile(options), {row.id for row in seeds}
    if profile.composite:
        whole = knowing.walk_from(dict.fromkeys(known, 1.0), knowing.Walking(**profile.composite["walk"]), store)
        held = {unit: mass for unit, mass in whole.held().items() if is_unit(unit)}
        most = max(held.values(), default=0.0) or 1.0
        shares = {unit: mass / most for unit, mass in held.items()}
    elif profile.graph:
        every_seed = replace(Spreading(**profile.graph), seeds=len(seeds))
        found = spread([(1.0, Candidate(row)) for row in seeds], every_seed, store)
        shares = nearness(found) if found else {}
    else:
        return None
    return {unit: share for unit, share in shares.items() if share >= FAINT and unit not in known}


def call_counts(store: Store, units: Iterable[UnitId]) -> Mapping[int, int]:
    """Unit → number of its callers; units without callers are left out."""
    return store.edges.degree(units, CALLS)


def confidences(store: Store, units: Collection[UnitId]) -> Mapping[int, float]:
    """Unit → highest confidence among its incoming edges."""
    best: dict[int, float] = {}
    for edge in store.edges.incoming(units, limit=MOST_EDGES):
        best[edge.target] = max(best.get(edge.target, 0.0), edge.confidence)
    return best


def _frozen(found: Mapping[UnitId, set[UnitId]]) -> Mapping[UnitId, frozenset[UnitId]]:
    return {unit: frozenset(seeds) for unit, seeds in found.items()}


BLAST_RADIUS, CONFIDENCE, RECENCY, DISTANCE = 0.40, 0.25, 0.20, 0.15  # knowing's weights without HITS
STATIC_RECENCY = 0.3  # Recency of a unit that no run-time trace has seen (knowing's)
TEST_FACTOR = 0.3  # Factor for tests that were not named (knowing's)


def composite(
    unit: UnitRow, blast: float, reason: str, confidence: float, hops: int, running: Running | None = None
) -> Candidate:
    """The candidate with its contributions. `blast` is a share of the largest, 0 to 1; `hops` counts edges from the request.

    `running` is the evidence of run-time traces.
    """
    sure, recent = (
        (confidence, f"its most certain edge has a confidence of {confidence:g}"),
        (STATIC_RECENCY, "no trace has seen it run"),
    )
    if running:
        sure, recent = max(sure, running.confidence, key=lambda known: known[0]), running.recency
    parts = [
        _part("blast_radius", BLAST_RADIUS, blast, reason),
        _part("confidence", CONFIDENCE, *sure),
        _part("recency", RECENCY, *recent),
        _part("distance", DISTANCE, 1.0 / (1 + hops), f"{quantity(hops, 'edge')} away"),
    ]
    candidate = Candidate(unit, recorded=parts)
    if hops and "test" in unit.roles:
        operands = {"factor": TEST_FACTOR, "of": candidate.score}
        amount = (TEST_FACTOR - 1.0) * operands["of"]
        candidate.recorded.append(Contribution("test", amount, "test path", "factor", operands))
    return candidate


def _part(source: str, weight: float, value: float, reason: str) -> Contribution:
    return Contribution(source, weight * value, reason, "bonus", {"weight": weight, "value": value})


POOL = 300
"""Most candidates of a pack; the text of each is read. The bodies of 300 symbols fill 50,000 tokens in most trees."""
NEXT = 0.5  # Share of a unit one edge away if there is no walk: 1 / (1 + hops), as knowing's distance
NO_GRAPH = Notice("no-graph", "the index holds no edges: callers are not known")


@dataclass(frozen=True, slots=True)
class Source:
    """The candidates of a pack by descending score, with notices."""

    wanted: Sequence[WantedUnit]
    notices: tuple[Notice, ...]


def for_task(request: ContextRequest, store: Store, settings: Settings) -> Source:
    """The best results of a search."""
    ranking = rank(request.query, store, request.options, settings)
    best = ranking.candidates[: min(request.options.limit, POOL)]
    notices = (notice for notice in ranking.notices if notice.code != UNKNOWN_WORDS)  # a task has words of its own
    return Source([WantedUnit(c.unit, c.score) for c in best], tuple(notices))


def for_files(request: ContextRequest, store: Store) -> Source:
    """The symbols of the files in `options.paths`, and their callers. Raises TargetError for a file that is not indexed."""
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

    def wanted(row: UnitRow, hops: int) -> WantedUnit:
        count = counts.get(row.id, 0)
        reason = f"called from {quantity(count, 'place')}, {most} at most"
        scored = composite(row, count / most if most else 0.0, reason, sure.get(row.id, 0.0), hops, running.get(row.id))
        return WantedUnit(row, scored.score, "caller" if hops else "")

    found = [*(wanted(row, 0) for row in units.values()), *(wanted(row, 1) for row in around.values())]
    return Source(_best(found, options), (*notices, *(() if has_edges(store) else (NO_GRAPH,))))


def for_change(request: ContextRequest, store: Store, texts: Texts) -> Source:
    """The symbols that a diff changes, and those that a walk from them reaches; without a walk, those one edge away."""
    options, touched = request.options, touched_by(request.change, store, texts)
    changed = _in_scope(store, touched.units, options)
    near = neighbours(store, list(changed), outgoing=True)
    walked = walk_from(store, sorted(changed.values(), key=UnitRow.content_order), options)
    direct = _one_step(near)
    reached = direct if walked is None else {**dict.fromkeys(direct, FAINT), **walked}
    around = _in_scope(store, reached.keys() - changed.keys(), options)
    sure, trace_notices = confidences(store, [*changed, *around]), list[Notice]()
    running = running_by(store, options.now, trace_notices)([*changed.values(), *around.values()])

    def wanted(row: UnitRow) -> WantedUnit:
        here = row.id in changed
        share = 1.0 if here else reached[row.id]
        hops, why = 0 if here else 1, "its share of what a walk has"
        scored = composite(row, share, why, sure.get(row.id, 0.0), hops, running.get(row.id))
        return WantedUnit(row, scored.score, "changed" if here else _relation(row.id, near))

    notices = (*touched.notices, *trace_notices, *(() if has_edges(store) or not changed else (NO_GRAPH,)))
    return Source(_best(map(wanted, [*changed.values(), *around.values()]), options), notices)


def _units(store: Store, documents: Sequence[DocumentId]) -> dict[UnitId, UnitRow]:
    """The units of files, without those local to a function, whose text includes them."""
    rows = store.units.rows(store.units.of_documents(documents))
    return {unit: row for unit, row in rows.items() if not row.local}


def _in_scope(store: Store, units: Iterable[UnitId], options: SearchOptions) -> dict[UnitId, UnitRow]:
    rows = store.units.rows(units)
    allowed = {d.id for d in documents_in_scope(store, options)} if rows else set()
    return {unit: row for unit, row in rows.items() if row.document in allowed}


def _one_step(near: Neighbours) -> dict[UnitId, float]:
    """Unit → number of changed units it touches, as a share of the largest such number, halved."""
    touches: dict[UnitId, frozenset[UnitId]] = {}
    for found in (near.callers, near.called):
        for unit, seeds in found.items():
            touches[unit] = touches.get(unit, frozenset()) | seeds
    most = max(map(len, touches.values()), default=1)
    return {unit: NEXT * len(seeds) / most for unit, seeds in touches.items()}


def _relation(unit: UnitId, near: Neighbours) -> str:
    return "caller" if unit in near.callers else "callee" if unit in near.called else "near"


def _best(wanted: Iterable[WantedUnit], options: SearchOptions) -> list[WantedUnit]:
    ordered = sorted(wanted, key=lambda w: (-w.score, w.unit.content_order()))
    return ordered[: min(options.limit, POOL)]
