"""A store made of shards: the same gateways, so that a search does not know how many indexes there are."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple, TypeVar, cast

from codelens.cluster.exact import ShardEdges, ShardLengths, ShardRepositories, ShardSets, ShardVectors, ShardWords
from codelens.cluster.fanout import FanOut, MethodCall
from codelens.cluster.numbers import Home, Numbers
from codelens.cluster.shards import GATEWAYS, IN_PARTS, REHEARSE, ShardFacts, Transport, order_arguments
from codelens.cluster.sketch import Sketch
from codelens.errors import UsageError
from codelens.model.budget import OutOfTime, TimeBudget
from codelens.store.documents import DocumentRow, RepositoryRow, RootNames
from codelens.store.store import INDEXED_AT, Expected, Features, Part, Store

T = TypeVar("T")
LASTING = (
    *("units.count", "occurrences.files", "postings.totals", "parts.documents"),
    *("vectors.width", "files.totals", "edges.is_empty", "history.all"),
)
"""Methods without arguments that most queries need, and whose answers hold for all: they are asked for in one round."""
MOST_AHEAD, AHEAD_BYTES = 256, 4_000_000  # Documents, and bytes of their source, that are asked about in one round


class Gateway:
    """One gateway of all shards. Each of its methods is a call; `special` ones are made of several."""

    def __init__(self, name: str, ask: FanOut, special: object = None) -> None:
        self._name, self._ask, self._special = name, ask, special

    def __getattr__(self, method: str) -> Any:
        if self._special is not None and hasattr(self._special, method):
            return getattr(self._special, method)
        return lambda *given, **named: self._ask(
            f"{self._name}.{method}", *order_arguments(self._name, method, given, named)
        )

    def ahead(self, method: str, arguments: tuple[Any, ...]) -> list[MethodCall]:
        """The first calls that a method will make."""
        if self._special is not None and hasattr(self._special, method):
            found: list[MethodCall] = getattr(self._special, "ahead", lambda *_: [])(method, arguments)
            return found
        return [(f"{self._name}.{method}", order_arguments(self._name, method, arguments, {}))]


class ClusterInfo(NamedTuple):
    """The shards as one: what answers say of it."""

    place: Path  # The index that answers name
    snapshot: str = ""
    missing: Sequence[str] = ()  # See `Store.missing`
    released: Callable[[], None] = lambda: None  # Called at the end of each use


class ShardedStore(Store):
    """Several indexes, read as one."""

    is_one = False

    def __init__(
        self, whole: ClusterInfo, transport: Transport, facts: Mapping[int, ShardFacts], homes: Sequence[Home]
    ) -> None:
        """`homes`: the repositories in the order of one index. Raises UsageError if the shards were not built in the same way."""
        self.path, self.ours = whole.place, True
        self._of_thread, self._unlimited = threading.local(), TimeBudget()
        numbers = Numbers(homes)
        self.ask = ask = FanOut(transport, numbers)
        self._meta = {**_share_meta(facts), "snapshot": whole.snapshot}
        self.missing, self._released = whole.missing, whole.released
        postings = ShardWords(ask)
        special: dict[str, object] = {
            "documents": ShardRepositories(numbers, facts),
            "postings": postings,
            "occurrences": ShardLengths(ask, postings),
            "vectors": ShardVectors(ask),
            "edges": ShardEdges(ask),
        }
        self._gateways = {name: Gateway(name, ask, special.get(name)) for name in GATEWAYS}
        for name, gateway in self._gateways.items():
            setattr(self, name, gateway)
        self.unit_sets = cast(Any, ShardSets())

    def close(self) -> None:
        """Let others use the shards."""
        self._released()

    def route_by(self, sketches: Mapping[int, Sketch]) -> None:
        """Ask shards only for words and names that they may hold."""
        self.ask.numbers.routes.sketches = sketches

    def meta(self, key: str, default: str = "") -> str:
        """A value that all shards share."""
        return self._meta.get(key, default)

    def features(self) -> Features:
        """The features that all shards have."""
        return Features(fuzzy=self.meta("fuzzy", "1") == "1", vector=self.meta("vector", "1") == "1")

    def schema(self) -> int:
        """The schema version of the shards."""
        return int(self.meta("schema", "0"))

    def names_by_root(self) -> RootNames:
        """Roots as the shards have them: as an argument, each shard gets its own."""
        return RootNames(chain.from_iterable(own.items() for own in self.ask.numbers.names_by_root().values()))

    def strays(self) -> list[RepositoryRow]:
        """Shards hold repositories wherever these lay."""
        return []

    def load_vectors(self) -> bool:
        """True: shards load the functions when they are opened."""
        return True

    def foresee(self, *calls: Expected) -> None:
        """Ask for all of these at once."""
        expected: list[MethodCall] = []
        for method, arguments in calls:
            if isinstance(method, str):
                name, _, own = method.partition(".")
                expected += self._gateways[name].ahead(own, arguments)
            else:
                expected.append((REHEARSE, (method, arguments, self.budget.left)))
        self.ask.ask_all(expected)

    def prefetch_each(self, documents: Sequence[DocumentRow], *methods: str) -> Iterator[DocumentRow]:
        """Ask about one, then two, four … documents in a round: whoever wants the first alone waits for no more."""
        begin, most = 0, 1
        while begin < len(documents):
            size, end = 0, begin
            while end < len(documents) and end - begin < most and (end == begin or size < AHEAD_BYTES):
                size += documents[end].stamp.size
                end += 1
            with self.ask.forgetting_new():
                self.foresee(*((method, (document.id,)) for document in documents[begin:end] for method in methods))
                yield from documents[begin:end]
            begin, most = end, min(2 * most, MOST_AHEAD)

    def at_once(self, *tasks: Callable[[], Any]) -> list[Any]:
        """Let all tasks go on until they wait for shards, then ask for what they wait for in one round."""
        budgets = [self.budget.apart() for _ in tasks]
        try:
            return self.ask.at_once([partial(self._with_budget, *pair) for pair in zip(tasks, budgets, strict=True)])
        finally:
            for budget in budgets:
                self.budget.take(budget)

    def _with_budget(self, task: Callable[[], T], budget: TimeBudget) -> T:
        before, self.budget = self.budget, budget
        try:
            return task()
        finally:
            self.budget = before

    def in_parts(
        self, work: Callable[..., Part[T]], numbers: Any = None, further: Collection[int] | None = None
    ) -> list[Part[T]]:
        """Let shards work, in the time that is left."""
        self.budget.check()
        found: list[Part[T]] = self.ask(IN_PARTS, work, numbers, self.budget.left, further)
        if None in found:
            raise OutOfTime
        return found

    @property
    def budget(self) -> TimeBudget:
        """The budget of this thread: tasks that go on at once each have theirs."""
        found: TimeBudget = getattr(self._of_thread, "budget", self._unlimited)
        return found

    @budget.setter
    def budget(self, budget: TimeBudget) -> None:
        self._of_thread.budget = budget

    def make_budget(self, seconds: float) -> TimeBudget:
        """Seconds by the clock: work is done elsewhere."""
        return TimeBudget(seconds, time.monotonic)

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Faults of shards come as they are."""
        self.ask.forget()
        self.ask.ask_all([(method, ()) for method in LASTING])
        yield

    @contextmanager
    def interrupting(self) -> Iterator[None]:
        """Time is checked between calls."""
        self.budget.check()
        yield


def _share_meta(facts: Mapping[int, ShardFacts]) -> dict[str, str]:
    """The values of `meta` that shards share, and when the last of them was written."""
    metas = [dict(of_shard.meta) for of_shard in facts.values()] or [{}]
    for meta in metas:
        for key in meta.keys() | metas[0].keys():
            if meta.get(key) != metas[0].get(key):
                values = f"{meta.get(key)} and {metas[0].get(key)}"
                raise UsageError(f"the shards differ in {key}: {values}", "`codelens cluster index` builds them again")
    return {**metas[0], INDEXED_AT: max((of_shard.indexed_at for of_shard in facts.values()), default="")}
