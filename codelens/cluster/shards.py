"""The interface to shards, wherever they are open: each gets one message with several requests and returns their answers."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, Protocol

from codelens.model.budget import OutOfTime, TimeBudget
from codelens.model.code import RepositoryId
from codelens.store.documents import Documents, Parts, RepositoryRow
from codelens.store.edges import EdgeTable, References
from codelens.store.history import Histories, LineHistories, Messages
from codelens.store.postings import FileStatistics, OccurrenceCounter, Postings
from codelens.store.store import INDEXED_AT, Store
from codelens.store.units import Units, UnitSet
from codelens.store.vectors import Vectors

GATEWAYS: Mapping[str, type] = {
    "documents": Documents,
    "units": Units,
    "references": References,
    "postings": Postings,
    "occurrences": OccurrenceCounter,
    "vectors": Vectors,
    "edges": EdgeTable,
    "history": Histories,
    "messages": Messages,
    "files": FileStatistics,
    "parts": Parts,
    "lines": LineHistories,
}
RUN_ON_INDEX, REHEARSE = "run_on_index", "rehearse"  # Requests to run a function instead of a method


def list_iterator(value: Any) -> Any:
    """Turn an iterator into a list; other values are returned unchanged."""
    return list(value) if isinstance(value, Iterator) else value


class Gateway:
    """A stand-in for a store's gateway. Its methods pass their name and arguments to the function `ask`."""

    def __init__(self, name: str, ask: Callable[..., Any]) -> None:
        self._name, self._ask = name, ask

    def __getattr__(self, method: str) -> Callable[..., Any]:
        return partial(self.call, method)

    def call(self, method: str, *given: Any, **named: Any) -> Any:
        """Pass on a call. Its answer depends on the name and the arguments alone."""
        return self._ask(*self._name_call(method, given, named))

    def _name_call(self, method: str, given: Arguments, named: Mapping[str, Any]) -> Arguments:
        """Name a call: ("gateway.method", and its arguments in order, with defaults and lists, without functions)."""
        bound = inspect.signature(getattr(GATEWAYS[self._name], method)).bind(None, *given, **named)
        bound.apply_defaults()
        return f"{self._name}.{method}", *(list_iterator(value) for value in bound.args[1:] if not callable(value))


SHARED = ("embedder_fingerprint", "embedder_setting", "embedder", "fuzzy", "vector", "state")
"""Keys of `meta` whose values must be the same in all shards."""
MOST_SETS = 8  # Limit on sets of units in use at a time; a search has a scope and a pool of candidates


class SetReference(NamedTuple):
    """A reference to a set of units by number. The units are included only the first time."""

    number: int
    units: UnitSet | None


Arguments = tuple[Any, ...]
MethodCall = tuple[str, Arguments]  # A method of a gateway with its arguments


class ShardFacts(NamedTuple):
    """Facts about a shard that do not change while it is open."""

    repositories: Sequence[RepositoryRow]  # In order of their ids
    totals: Mapping[RepositoryId, tuple[int, int]]  # (number of documents, bytes of source) of each
    meta: Mapping[str, str]  # Values that all shards must agree on
    indexed_at: str


class Transport(Protocol):
    """Sends messages to shards."""

    def ask(self, messages: Mapping[int, Sequence[MethodCall]]) -> dict[int, list[Any]]:
        """Send each shard its requests; returns shard → its answers, in order."""
        ...


class Shard:
    """An open index that answers requests."""

    def __init__(self, store: Store) -> None:
        store.load_vectors()
        self.store = store
        self._sets: dict[int, UnitSet] = {}

    def read_facts(self) -> ShardFacts:
        """Read the facts about this shard."""
        meta = {key: value for key in SHARED if (value := self.store.read_meta(key))}
        rows = sorted(self.store.documents.list_repositories(), key=lambda row: row.id)
        totals = {row.id: self.store.documents.read_totals(row.id) for row in rows}
        meta["schema"] = str(self.store.read_schema())
        return ShardFacts(rows, totals, meta, self.store.read_meta(INDEXED_AT))

    def answer(self, message: Sequence[MethodCall]) -> list[Any]:
        """Answer several requests, in order."""
        return [self._answer_request(method, tuple(map(self._resolve_set, given))) for method, given in message]

    def _answer_request(self, method: str, arguments: Arguments) -> Any:
        if method == RUN_ON_INDEX:
            return self._do_work(self.store, *arguments)
        if method == REHEARSE:
            rehearsal = Rehearsal(self.store)
            self._do_work(rehearsal, *arguments)
            return rehearsal.record
        return call_method(self.store, method, arguments)

    def _do_work(
        self, store: Any, work: Callable[..., Any], numbers: Any, seconds: float, further: Sequence[int] | None = None
    ) -> Any:
        """Run a function on the store within `seconds`; returns None if time runs out."""
        before, self.store.budget = self.store.budget, TimeBudget(seconds)
        try:
            return work(store, numbers) if further is None else work(store, numbers, further)
        except OutOfTime:
            return None
        finally:
            self.store.budget = before

    def _resolve_set(self, argument: Any) -> Any:
        """Replace a reference by its set of units; other arguments are returned unchanged."""
        if not isinstance(argument, SetReference):
            return argument
        if argument.units is not None:
            self._sets[argument.number] = argument.units
            while len(self._sets) > 2 * MOST_SETS:  # sets may arrive in another order than they were made in
                del self._sets[next(iter(self._sets))]
        return self._sets[argument.number]


def call_method(store: Store, method: str, arguments: Sequence[Any]) -> Any:
    """Call `gateway.method` on a store; an iterator is returned as a list."""
    gateway, _, name = method.partition(".")
    return list_iterator(getattr(getattr(store, gateway), name)(*arguments))


class RecordedCall(NamedTuple):
    """A call recorded in a rehearsal, with its answer; in ids of a shard, or of the whole cluster once translated."""

    method: str
    arguments: Arguments
    answer: Any


class Rehearsal:
    """A wrapper of a shard's store that records each call and its answer."""

    walked = filters = None  # No caches of earlier searches, because reads from them would not be recorded

    def __init__(self, store: Store) -> None:
        self._store = store
        self.record: list[RecordedCall] = []

    def __getattr__(self, name: str) -> Any:
        return Gateway(name, self._read) if name in GATEWAYS else getattr(self._store, name)

    def _read(self, method: str, *arguments: Any) -> Any:
        self._store.budget.check()
        self.record.append(RecordedCall(method, arguments, call_method(self._store, method, arguments)))
        return self.record[-1].answer
