"""A store made of shards: the same gateways, so that a search does not know how many indexes there are."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

from codelens.cluster.exact import (
    ShardEdges,
    ShardLengths,
    ShardRepositories,
    ShardSets,
    ShardVectors,
    ShardWords,
)
from codelens.cluster.fanout import Asked, FanOut
from codelens.cluster.numbers import Home, Numbers
from codelens.cluster.shards import ShardFacts, Transport
from codelens.errors import UsageError
from codelens.model.budget import TimeBudget
from codelens.store.documents import Documents, Parts, RepositoryRow
from codelens.store.edges import EdgeTable, References
from codelens.store.history import Histories, LineHistories
from codelens.store.postings import FileStatistics, OccurrenceCounter, Postings
from codelens.store.store import INDEXED_AT, Features, Store
from codelens.store.units import Units
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
    "files": FileStatistics,
    "parts": Parts,
    "lines": LineHistories,
}


class Gateway:
    """One gateway of all shards. Each of its methods is a call; `special` ones are made of several."""

    def __init__(self, name: str, ask: FanOut, special: object = None) -> None:
        self._name, self._ask, self._special = name, ask, special

    def __getattr__(self, method: str) -> Any:
        if self._special is not None and hasattr(self._special, method):
            return getattr(self._special, method)
        return lambda *given, **named: self._ask(f"{self._name}.{method}", *self._whole(method, given, named))

    def ahead(self, method: str, arguments: tuple[Any, ...]) -> list[Asked]:
        """The first calls that a method will make."""
        if self._special is not None and hasattr(self._special, method):
            found: list[Asked] = getattr(self._special, "ahead", lambda *_: [])(method, arguments)
            return found
        return [(f"{self._name}.{method}", self._whole(method, arguments, {}))]

    def _whole(self, method: str, given: tuple[Any, ...], named: Mapping[str, Any]) -> tuple[Any, ...]:
        """The arguments in order, with defaults and without functions."""
        known = getattr(GATEWAYS[self._name], method, None)
        if known is None:
            return ()
        bound = inspect.signature(known).bind(None, *given, **named)
        bound.apply_defaults()
        return tuple(value for value in bound.args[1:] if not callable(value))


class ShardedStore(Store):
    """Several indexes, read as one."""

    def __init__(
        self,
        place: Path,
        transport: Transport,
        facts: Mapping[int, ShardFacts],
        homes: Sequence[Home],
        snapshot: str = "",
        missing: Sequence[str] = (),
        released: Callable[[], None] = lambda: None,
    ) -> None:
        """`place`: what answers name as the index; `homes`: the repositories in the order of one index; `released` is called when
        nobody asks any more. Raises UsageError if the shards were not built in the same way.
        """
        self.path, self.ours = place, True
        self.budget = TimeBudget()
        numbers = Numbers(homes)
        self.ask = ask = FanOut(transport, numbers)
        self._meta = {**_shared(facts), "snapshot": snapshot}
        self.missing, self._released = missing, released
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

    def meta(self, key: str, default: str = "") -> str:
        """A value that all shards share."""
        return self._meta.get(key, default)

    def features(self) -> Features:
        """The features that all shards have."""
        return Features(fuzzy=self.meta("fuzzy", "1") == "1", vector=self.meta("vector", "1") == "1")

    def schema(self) -> int:
        """The schema version of the shards."""
        return int(self.meta("schema", "0"))

    def strays(self) -> list[RepositoryRow]:
        """Shards hold repositories wherever these lay."""
        return []

    def load_vectors(self) -> bool:
        """True: shards load the functions when they are opened."""
        return True

    def foresee(self, *calls: Asked) -> None:
        """Ask for all of these at once."""
        expected: list[Asked] = []
        for method, arguments in calls:
            name, _, own = method.partition(".")
            expected += self._gateways[name].ahead(own, arguments)
        self.ask.together(expected)

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Faults of shards come as they are."""
        self.ask.forget()
        yield

    @contextmanager
    def interrupting(self) -> Iterator[None]:
        """Time is checked between calls."""
        self.budget.check()
        yield


def _shared(facts: Mapping[int, ShardFacts]) -> dict[str, str]:
    """The values of `meta` that shards share, and when the last of them was written."""
    metas = [dict(of_shard.meta) for of_shard in facts.values()] or [{}]
    for meta in metas:
        for key in meta.keys() | metas[0].keys():
            if meta.get(key) != metas[0].get(key):
                values = f"{meta.get(key)} and {metas[0].get(key)}"
                raise UsageError(f"the shards differ in {key}: {values}", "`codelens cluster index` builds them again")
    return {**metas[0], INDEXED_AT: max((of_shard.indexed_at for of_shard in facts.values()), default="")}
