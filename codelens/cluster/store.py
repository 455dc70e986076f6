"""A store made of shards: the same gateways, so that a search does not know how many indexes there are."""

from __future__ import annotations

import inspect
import itertools
import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

from codelens.cluster.calls import CALLS, WITHIN, Call
from codelens.cluster.numbers import Home, Numbers
from codelens.cluster.shards import SETS_HELD, HeldSet, Request, Transport
from codelens.errors import UsageError
from codelens.model.budget import TimeBudget
from codelens.model.code import UnitId
from codelens.model.graph import EXTERNAL
from codelens.store.documents import Documents, Parts, RepositoryRow
from codelens.store.edges import EdgeTable, References
from codelens.store.history import Histories, LineHistories
from codelens.store.postings import FileStatistics, InColumns, OccurrenceCounter, Postings, WordStatistics, phrases_alone
from codelens.store.store import Features, Store
from codelens.store.units import Units, UnitSet
from codelens.store.vectors import FIRST_PASS, Vectors

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


class Asker:
    """Asks the shards that a call concerns, and merges their answers."""

    def __init__(self, transport: Transport, numbers: Numbers) -> None:
        self.transport, self.numbers = transport, numbers
        self._kept: dict[tuple[Any, ...], Any] = {}
        self._sets: list[tuple[UnitSet, int, set[int]]] = []
        """(set, its number, the shards that have it), the last ones."""
        self._counter = itertools.count()

    def __call__(self, method: str, *arguments: Any) -> Any:
        """What one index of all would answer."""
        found = CALLS.get(method)
        if found is None:
            raise UsageError(f"an index of several shards cannot answer {method} yet")
        if not found.kept:
            return self._asked(method, found, arguments)
        key = (method, *arguments)
        if key not in self._kept:
            self._kept[key] = self._asked(method, found, arguments)
        return self._kept[key]

    def _asked(self, method: str, found: Call, arguments: tuple[Any, ...]) -> Any:
        arguments = tuple(list(a) if isinstance(a, Iterator) else a for a in arguments)
        cut = {place: parts for place, how in found.cuts if (parts := self._cut(how, arguments[place])) is not None}
        shards: Collection[int] = self.numbers.shards
        for parts in cut.values():
            shards = [shard for shard in shards if shard in parts]
        requests = {
            shard: Request(
                method, tuple(cut[place][shard] if place in cut else a for place, a in enumerate(arguments))
            )
            for shard in shards
        }
        answers = self.transport.ask(requests) if requests else {}
        lifted = self._lifted(found, answers)
        if self.numbers.unknown:
            self._name_externals()
            lifted = self._lifted(found, answers)
        return found.merge(lifted, arguments)

    def _lifted(self, found: Call, answers: Mapping[int, Any]) -> list[Any]:
        return [found.gives(self.numbers, shard, answers[shard]) for shard in sorted(answers)]

    def _name_externals(self) -> None:
        """What several repositories use and none defines is one node in one index: find who else has it."""
        by_shard: dict[int, list[int]] = {}
        for shard, local in self.numbers.unknown:
            by_shard.setdefault(shard, []).append(local)
        named = self.transport.ask({s: Request("edges.external_names", (nodes,)) for s, nodes in by_shard.items()})
        names = sorted({name for found in named.values() for name in found.values()})
        asked = Request("edges.externals_called", (names,))
        self.numbers.name_externals(self.transport.ask(dict.fromkeys(self.numbers.shards, asked)))

    def _cut(self, how: Any, argument: Any) -> Mapping[int, Any] | None:
        parts: Mapping[int, Any] | None = how(self.numbers, argument)
        if how is not WITHIN or parts is None:
            return parts
        known = next((held for held in self._sets if held[0] is argument), None)
        if known is None:
            known = (argument, next(self._counter), set())
            self._sets = [*self._sets, known][-SETS_HELD:]
        _, number, having = known
        sent = {shard: HeldSet(number, None if shard in having else units) for shard, units in parts.items()}
        having.update(parts)
        return sent


class Gateway:
    """One gateway of all shards. Each of its methods is a call; `special` ones are made of several."""

    def __init__(self, name: str, ask: Asker, special: object = None) -> None:
        self._name, self._ask, self._special = name, ask, special

    def __getattr__(self, method: str) -> Any:
        if self._special is not None and hasattr(self._special, method):
            return getattr(self._special, method)
        known = getattr(GATEWAYS[self._name], method, None)
        signature = inspect.signature(known) if known else None
        full, ask = f"{self._name}.{method}", self._ask

        def call(*given: Any, **named: Any) -> Any:
            if signature is None:
                return ask(full)
            bound = signature.bind(None, *given, **named)
            bound.apply_defaults()
            return ask(full, *[value for value in bound.args[1:] if not callable(value)])

        return call


class _Documents:
    def __init__(self, numbers: Numbers) -> None:
        self._numbers = numbers

    def repositories(self) -> list[RepositoryRow]:
        return sorted(self._numbers.repositories, key=lambda row: row.name)


class _Postings:
    """BM25 by the counts of all shards."""

    def __init__(self, ask: Asker) -> None:
        self._ask, self._phrases = ask, phrases_alone()
        self._counts: dict[str, int] = {}
        self.stem, self.words = self._phrases.stem, self._phrases.words

    def document_frequency(self, term: str, columns: Sequence[str] = ()) -> int:
        return self._count([self._phrases.any_in([term], columns)])[0]

    def _count(self, expressions: Sequence[str]) -> list[int]:
        if missing := [one for one in dict.fromkeys(expressions) if one not in self._counts]:
            self._counts.update(zip(missing, self._ask("postings.counts", missing), strict=True))
        return [self._counts[one] for one in expressions]

    def bm25(
        self,
        terms: Sequence[str | InColumns],
        weights: Mapping[str, float],
        within: UnitSet | None,
        limit: int,
        columns: Sequence[str] = (),
        proposing: Sequence[str] = (),
    ) -> list[tuple[UnitId, float]]:
        rows, tokens = self._ask("postings.totals")
        given = WordStatistics(rows, tokens, self._count(self._phrases.alone(terms, columns)))
        matches = self._phrases.expressions(terms, columns, proposing)
        found: list[tuple[UnitId, float]] = self._ask("postings.bm25_given", matches, weights, given, within, limit)
        return found


class _Occurrences:
    def __init__(self, ask: Asker, postings: _Postings) -> None:
        self._ask, self._postings = ask, postings

    def mean_lengths(self, term: str) -> Sequence[float]:
        if not self._postings.document_frequency(term):
            return ()
        rows, tokens = self._ask("postings.totals")
        return [count / max(1, rows) for count in tokens]


class _Vectors:
    """The first pass over signs ends where it would in one index."""

    def __init__(self, ask: Asker) -> None:
        self._ask = ask

    def nearest(self, query: bytes, within: UnitSet | None, limit: int) -> list[tuple[UnitId, float]]:
        most, held, last = max(FIRST_PASS, limit), 0, math.inf
        counts: dict[float, int] = self._ask("vectors.sign_counts", query, within)
        for far, count in counts.items():
            held += count
            if held >= most:
                last = far if far > min(counts) else far + 0.5
                break
        found: list[tuple[UnitId, float]] = self._ask("vectors.nearest_below", query, within, limit, last)
        return found


class _Edges:
    """Whether an external has too many edges is decided by those of all shards."""

    def __init__(self, ask: Asker) -> None:
        self._ask = ask

    def around(
        self, nodes: Iterable[int], widest: int, outside: bool = False
    ) -> Iterator[tuple[int, int, int, int, int]]:
        asked = list(nodes)
        externals = [node for node in asked if node >= EXTERNAL]
        counts = self._ask("edges.incoming_counts", externals) if externals else {}
        for found in self._ask("edges.around", asked, widest, outside):
            if counts.get(found[0], 0) <= widest:
                yield found


class ShardedStore(Store):
    """Several indexes, read as one."""

    def __init__(self, place: Path, transport: Transport, homes: Sequence[Home], meta: Mapping[str, str]) -> None:
        """`place`: what answers name as the index; `meta`: values that all shards share."""
        self.path, self.ours = place, True
        self.budget = TimeBudget()
        numbers = Numbers(homes)
        self.ask = ask = Asker(transport, numbers)
        self._meta = meta
        postings = _Postings(ask)
        special: dict[str, object] = {
            "documents": _Documents(numbers),
            "postings": postings,
            "occurrences": _Occurrences(ask, postings),
            "vectors": _Vectors(ask),
            "edges": _Edges(ask),
        }
        for name in GATEWAYS:
            setattr(self, name, Gateway(name, ask, special.get(name)))
        self.unit_sets = cast(Any, _Sets())

    def close(self) -> None:
        """Nothing to close: shards belong to the transport."""

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

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Faults of shards come as they are."""
        yield

    @contextmanager
    def interrupting(self) -> Iterator[None]:
        """Time is checked between calls."""
        self.budget.check()
        yield


class _Sets:
    """Shards are sent a set with the first call that names it."""

    def hold(self, units: UnitSet) -> None:
        """Nothing to do."""
