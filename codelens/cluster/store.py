"""A store made of shards. It has the gateways of a `Store`, so that searches need not know how many indexes there are.

Some methods make several calls to be exact over shards: they read the statistics of all shards first, then rank by them.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import chain
from pathlib import Path
from types import SimpleNamespace
from typing import Any, TypeVar, cast

from codelens.cluster.fanout import FanOut
from codelens.cluster.numbers import Home, Numbers
from codelens.cluster.shards import (
    GATEWAYS,
    REHEARSE,
    RUN_ON_INDEX,
    Arguments,
    Gateway,
    MethodCall,
    ShardFacts,
    Transport,
)
from codelens.cluster.sketch import Sketch
from codelens.errors import UsageError
from codelens.model.budget import OutOfTime, TimeBudget
from codelens.model.code import RepositoryId
from codelens.model.graph import EXTERNAL
from codelens.store.documents import DocumentRow, RepositoryRow, RootNames
from codelens.store.postings import WordStatistics, build_plain_phrases
from codelens.store.store import INDEXED_AT, Expected, Part, Store
from codelens.store.units import UnitSet
from codelens.store.vectors import FIRST_PASS

T = TypeVar("T")
LASTING = (
    *("units.count", "occurrences.count_files", "postings.read_totals", "parts.list_documents"),
    *("vectors.read_width", "files.read_totals", "edges.is_empty", "history.read_all"),
)
"""Methods without arguments that most queries need and whose answers do not depend on the query; requested together."""
MOST_AHEAD, AHEAD_BYTES = 256, 4_000_000  # Limits on documents, and on bytes of their source, prefetched in one round
FARTHER, MOST_FARTHER = 3, 300  # Steps that shards read ahead of a walk through the graph, and units in each step


class ShardGateway(Gateway):
    """A gateway that asks all shards. Subclasses define the methods that need several calls, or no call."""

    _ask: FanOut

    def list_first_calls(self, method: str, arguments: Arguments) -> list[MethodCall]:
        """List the first calls that a method will make."""
        if hasattr(type(self), method):
            return []
        name, *ordered = self._name_call(method, arguments, {})
        return [(name, tuple(ordered))]


class ShardDocuments(ShardGateway):
    """Answers questions about repositories from the shards' facts, without asking the shards."""

    def __init__(self, ask: FanOut, facts: Mapping[int, ShardFacts]) -> None:
        super().__init__("documents", ask)
        self._facts = facts

    def read_totals(self, repository: RepositoryId) -> tuple[int, int]:
        shard, local = self._ask.numbers.find_home(repository)
        return self._facts[shard].totals[local]

    def list_repositories(self) -> list[RepositoryRow]:
        return sorted(self._ask.numbers.repositories, key=lambda row: row.name)


class ShardWords(ShardGateway):
    """Word statistics and BM25 over all shards."""

    def __init__(self, ask: FanOut) -> None:
        super().__init__("postings", ask)
        self._phrases = build_plain_phrases()
        self.stem, self.fold_terms = self._phrases.stem, self._phrases.split_into_words

    def count_units(self, term: str, columns: Sequence[str] = ()) -> int:
        return self.count_units_by_term([term], columns)[term]

    def count_units_by_term(self, terms: Iterable[str], columns: Sequence[str] = ()) -> dict[str, int]:
        wanted = list(terms)
        counts = self._count([self._phrases.match_any([term], columns) for term in wanted])
        return dict(zip(wanted, counts, strict=True))

    def list_first_calls(self, method: str, arguments: Arguments) -> list[MethodCall]:
        if method == "count_units":
            return [("postings.count_matches", ([self._phrases.match_any(arguments[:1], *arguments[1:])],))]
        if method == "rank_by_bm25":
            phrases = self._phrases.match_each(arguments[0], *arguments[4:5])
            if not self._ask.has_answer("postings.count_matches", phrases) or not self._ask.has_answer(
                "postings.read_totals"
            ):
                return [("postings.count_matches", (phrases,)), ("postings.read_totals", ())]
            return [("postings.rank_by_given_bm25", self._gather_statistics(*arguments))]
        return super().list_first_calls(method, arguments)

    def _gather_statistics(self, *arguments: Any) -> Arguments:
        """Turn the arguments of `rank_by_bm25` into those of `rank_by_given_bm25`, with the counts of all shards."""
        _, terms, weights, within, limit, columns, proposing = self._name_call("rank_by_bm25", arguments, {})
        rows, tokens = self._ask("postings.read_totals")
        given = WordStatistics(rows, tokens, tuple(self._count(self._phrases.match_each(terms, columns))))
        return self._phrases.build_expressions(terms, columns, proposing), weights, given, within, limit

    def _count(self, expressions: Sequence[str]) -> list[int]:
        counts: Mapping[str, int] = self._ask("postings.count_matches", expressions)
        return [counts.get(expression, 0) for expression in expressions]

    def rank_by_bm25(self, *arguments: Any) -> Any:
        """See `Postings.rank_by_bm25`; scores use the counts of all shards."""
        return self._ask("postings.rank_by_given_bm25", *self._gather_statistics(*arguments))


class ShardVectors(ShardGateway):
    """Vector search over all shards. The first pass over signs keeps the same vectors as in a single index."""

    def list_first_calls(self, method: str, arguments: Arguments) -> list[MethodCall]:
        if method != "find_nearest":
            return super().list_first_calls(method, arguments)
        query, within, limit = arguments
        return [("vectors.count_signs", (query, within, max(FIRST_PASS, limit)))]

    def find_nearest(self, query: bytes, within: UnitSet | None, limit: int) -> Any:
        most, summed, last = max(FIRST_PASS, limit), 0, math.inf
        counts: dict[float, int] = self._ask("vectors.count_signs", query, within, most)
        for distance, count in counts.items():
            summed += count
            if summed >= most:
                last = distance if distance > min(counts) else distance + 0.5
                break
        return self._ask("vectors.find_nearest_below", query, within, limit, last)


class ShardEdges(ShardGateway):
    """The symbol graph of all shards. Externals are left out if they have too many edges in all shards together."""

    def list_first_calls(self, method: str, arguments: Arguments) -> list[MethodCall]:
        """List the calls that a method will make; for a walk through the graph, have the shards read ahead of it."""
        if method != "find_neighbours":
            return super().list_first_calls(method, arguments)
        nodes, widest, outside = arguments if len(arguments) > 2 else (*arguments, False)
        if outside or self._ask.has_answer("edges.find_neighbours", nodes, widest, outside):
            return [("edges.find_neighbours", (nodes, widest, outside))]
        return [(REHEARSE, (partial(_read_farther, widest=widest), list(nodes), math.inf))]

    def find_neighbours(self, nodes: Iterable[int], widest: int, outside: bool = False) -> Iterator[Any]:
        asked = list(nodes)
        externals = [node for node in asked if node >= EXTERNAL]
        of_all = [("edges.count_incoming", (externals,))] if externals else []
        edges, *more = self._ask.ask_all([("edges.find_neighbours", (asked, widest, outside)), *of_all])
        counts = more[0] if more else {}
        return iter([edge for edge in edges if counts.get(edge[0], 0) <= widest])


def _name_single_call(task: Callable[[], Any]) -> MethodCall | None:
    """Name the call that a task consists of if it is a `partial` of a gateway's method; None for other tasks."""
    if not isinstance(task, partial):
        return None
    gateway = getattr(task.func, "__self__", None)
    if not isinstance(gateway, ShardGateway) or task.func != gateway.call:
        return None
    name, *arguments = gateway._name_call(task.args[0], task.args[1:], task.keywords)
    return name, tuple(arguments)


def _read_farther(store: Store, units: Sequence[int], widest: int) -> None:
    """Read the edges of these units, then of the units that these lead to, FARTHER steps in all."""
    seen = set(units)
    for _ in range(FARTHER):
        around = store.edges.find_neighbours(units, widest, False)
        store.edges.find_nested(units)
        others = dict.fromkeys(other for _, other, *_ in around if 0 < other < EXTERNAL and other not in seen)
        units = list(others)[:MOST_FARTHER]
        seen.update(units)


class ShardedStore(Store):
    """Several indexes that are read as one."""

    is_one = False

    def __init__(
        self,
        place: Path,
        transport: Transport,
        facts: Mapping[int, ShardFacts],
        homes: Sequence[Home],
        *,
        snapshot: str = "",
        release: Callable[[], None] = lambda: None,
    ) -> None:
        """`homes`: in the order of a single index. `release`: called by `close`. Raises UsageError if shards' settings differ."""
        self.path, self.ours, self._release = place, True, release
        self._of_thread, self._unlimited = threading.local(), TimeBudget()
        self.ask = ask = FanOut(transport, Numbers(homes))
        self._meta = {**_share_meta(facts), "snapshot": snapshot}
        self._gateways = {name: ShardGateway(name, ask) for name in GATEWAYS} | {
            "documents": ShardDocuments(ask, facts),
            "postings": ShardWords(ask),
            "vectors": ShardVectors("vectors", ask),
            "edges": ShardEdges("edges", ask),
        }
        for name, gateway in self._gateways.items():
            setattr(self, name, gateway)
        # A set of units is sent to a shard with the first call that uses it.
        self.unit_sets = cast(Any, SimpleNamespace(fill_table=lambda units: None))

    def close(self) -> None:
        """Release the shards for other uses."""
        self._release()

    def set_sketches(self, sketches: Mapping[int, Sketch]) -> None:
        """Use these sketches (shard → sketch) to ask shards only for words and names that they may hold."""
        self.ask.numbers.routes.sketches = sketches

    def read_meta(self, key: str, default: str = "") -> str:
        """Read a value of `meta` that all shards share; `default` if the key is missing."""
        return self._meta.get(key, default)

    def read_schema(self) -> int:
        """The schema version of the shards."""
        return int(self.read_meta("schema", "0"))

    def map_roots_to_names(self) -> RootNames:
        """Map the roots of all repositories to their names. As an argument of a call, it is split by shard."""
        return RootNames(chain.from_iterable(names.items() for names in self.ask.numbers.map_roots_to_names().values()))

    def load_vectors(self) -> bool:
        """Return True, because shards load sqlite-vec when they are opened."""
        return True

    def prefetch_answers(self, *calls: Expected) -> None:
        """Request the answers to all of these calls together."""
        expected: list[MethodCall] = []
        for method, arguments in calls:
            if isinstance(method, str):
                name, _, method_name = method.partition(".")
                expected += self._gateways[name].list_first_calls(method_name, arguments)
            else:
                expected.append((REHEARSE, (method, arguments, self.budget.left)))
        self.ask.ask_all(expected)

    def prefetch_per_document(self, documents: Sequence[DocumentRow], *methods: str) -> Iterator[DocumentRow]:
        """Yield the documents, and request answers for 1, 2, 4 … of them at a time, so that the first ones come soon."""
        begin, most = 0, 1
        while begin < len(documents):
            size, end = 0, begin
            while end < len(documents) and end - begin < most and (end == begin or size < AHEAD_BYTES):
                size += documents[end].stamp.size
                end += 1
            with self.ask.forget_new():
                batch = documents[begin:end]
                self.prefetch_answers(*((method, (document.id,)) for document in batch for method in methods))
                yield from batch
            begin, most = end, min(2 * most, MOST_AHEAD)

    def run_tasks(self, *tasks: Callable[[], Any]) -> list[Any]:
        """Run all tasks until they wait for shards, then send their requests together; returns the tasks' results."""
        calls = {place: call for place, task in enumerate(tasks) if (call := _name_single_call(task))}
        if calls:  # these need no threads
            others = [task for place, task in enumerate(tasks) if place not in calls]
            request = partial(self.ask.ask_all, list(calls.values()))
            answers, *results = self.run_tasks(request, *others) if others else (request(),)
            answers_of, results_of = iter(answers), iter(results)
            return [next(answers_of if place in calls else results_of) for place in range(len(tasks))]
        budgets = [self.budget.copy_for_task() for _ in tasks]

        def run(task: Callable[[], Any], budget: TimeBudget) -> Any:
            before, self.budget = self.budget, budget
            try:
                return task()
            finally:
                self.budget = before

        try:
            return self.ask.run_tasks([partial(run, *pair) for pair in zip(tasks, budgets, strict=True)])
        finally:
            for budget in budgets:
                self.budget.add_cuts(budget)

    def run_on_each_index(
        self, work: Callable[..., Part[T]], numbers: Any = None, further: Collection[int] | None = None
    ) -> list[Part[T]]:
        """Run `work` on all shards, within the time that is left. Raises OutOfTime."""
        self.budget.check()
        parts: list[Part[T]] = self.ask(RUN_ON_INDEX, work, numbers, self.budget.left, further)
        if None in parts:
            raise OutOfTime
        return parts

    @property
    def budget(self) -> TimeBudget:
        """The time budget of the current thread; concurrent tasks each have their own."""
        budget: TimeBudget = getattr(self._of_thread, "budget", self._unlimited)
        return budget

    @budget.setter
    def budget(self, budget: TimeBudget) -> None:
        self._of_thread.budget = budget

    def make_budget(self, seconds: float) -> TimeBudget:
        """Make a budget of elapsed time instead of CPU time, because the work is done elsewhere."""
        return TimeBudget(seconds, time.monotonic)

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Start a query: drop old answers, and request those that most queries need. Errors of shards are not translated."""
        self.ask.forget()
        self.ask.ask_all([(method, ()) for method in LASTING])
        yield

    @contextmanager
    def enforce_budget(self) -> Iterator[None]:
        """Check the time once at the start; later checks happen between calls."""
        self.budget.check()
        yield


def _share_meta(facts: Mapping[int, ShardFacts]) -> dict[str, str]:
    """Collect the values of `meta` that shards share, and the latest time of indexing. Raises UsageError if values differ."""
    metas = [dict(of_shard.meta) for of_shard in facts.values()] or [{}]
    for meta in metas:
        for key in meta.keys() | metas[0].keys():
            if meta.get(key) != metas[0].get(key):
                values = f"{meta.get(key)} and {metas[0].get(key)}"
                raise UsageError(f"the shards differ in {key}: {values}", "`codelens cluster index` builds them again")
    return {**metas[0], INDEXED_AT: max((of_shard.indexed_at for of_shard in facts.values()), default="")}
