"""Methods of the store that take several calls to be exact over shards: statistics first, then what is ranked by them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from codelens.cluster.fanout import FanOut, MethodCall
from codelens.cluster.numbers import Numbers
from codelens.cluster.shards import REHEARSE, ShardFacts
from codelens.model.code import RepositoryId, UnitId
from codelens.model.graph import EXTERNAL
from codelens.store.documents import RepositoryRow
from codelens.store.postings import InColumns, WordStatistics, phrases_alone
from codelens.store.store import Store
from codelens.store.units import UnitSet
from codelens.store.vectors import FIRST_PASS


class ShardRepositories:
    """The facts about repositories that need no question."""

    def __init__(self, numbers: Numbers, facts: Mapping[int, ShardFacts]) -> None:
        self._numbers, self._facts = numbers, facts

    def totals(self, repository: RepositoryId) -> tuple[int, int]:
        shard, local = self._numbers.home(repository)
        return self._facts[shard].totals[local]

    def repositories(self) -> list[RepositoryRow]:
        return sorted(self._numbers.repositories, key=lambda row: row.name)


class ShardWords:
    """BM25 by the counts of all shards."""

    def __init__(self, ask: FanOut) -> None:
        self._ask, self._phrases = ask, phrases_alone()
        self.stem, self.words = self._phrases.stem, self._phrases.words

    def document_frequency(self, term: str, columns: Sequence[str] = ()) -> int:
        return self.document_frequencies([term], columns)[term]

    def document_frequencies(self, terms: Iterable[str], columns: Sequence[str] = ()) -> dict[str, int]:
        wanted = list(terms)
        return dict(zip(wanted, self._count([self._phrases.any_in([term], columns) for term in wanted]), strict=True))

    def ahead(self, method: str, arguments: tuple[Any, ...]) -> list[MethodCall]:
        """The calls that a method would make first."""
        if method == "document_frequency":
            term, *columns = arguments
            return [("postings.counts", ([self._phrases.any_in([term], *columns or [()])],))]
        if method == "bm25":
            phrases = self._phrases.alone(arguments[0], arguments[4] if len(arguments) > 4 else ())
            if not self._ask.knows("postings.counts", phrases) or not self._ask.knows("postings.totals"):
                return [("postings.counts", (phrases,)), ("postings.totals", ())]
            return [("postings.bm25_given", self._gather_statistics(*arguments))]
        return []

    def _gather_statistics(
        self,
        terms: Sequence[str | InColumns],
        weights: Mapping[str, float],
        within: UnitSet | None,
        limit: int,
        columns: Sequence[str] = (),
        proposing: Sequence[str] = (),
    ) -> tuple[Any, ...]:
        """The arguments of `bm25_given` for those of `bm25`."""
        rows, tokens = self._ask("postings.totals")
        given = WordStatistics(rows, tokens, tuple(self._count(self._phrases.alone(terms, columns))))
        return self._phrases.expressions(terms, columns, proposing), weights, given, within, limit

    def _count(self, expressions: Sequence[str]) -> list[int]:
        counts: Mapping[str, int] = self._ask("postings.counts", expressions)
        return [counts.get(one, 0) for one in expressions]

    def bm25(self, *asked: Any) -> list[tuple[UnitId, float]]:
        """The method of `Postings`, by the counts of all shards."""
        found: list[tuple[UnitId, float]] = self._ask("postings.bm25_given", *self._gather_statistics(*asked))
        return found


class ShardLengths:
    def __init__(self, ask: FanOut, postings: ShardWords) -> None:
        self._ask, self._postings = ask, postings

    def mean_lengths(self, term: str) -> Sequence[float]:
        if not self._postings.document_frequency(term):
            return ()
        rows, tokens = self._ask("postings.totals")
        return [count / max(1, rows) for count in tokens]


class ShardVectors:
    """The first pass over signs ends where it would in one index."""

    def __init__(self, ask: FanOut) -> None:
        self._ask = ask

    def ahead(self, method: str, arguments: tuple[Any, ...]) -> list[MethodCall]:
        """The calls that a method would make first."""
        if method != "nearest":
            return []
        query, within, limit = arguments
        return [("vectors.sign_counts", (query, within, max(FIRST_PASS, limit)))]

    def nearest(self, query: bytes, within: UnitSet | None, limit: int) -> list[tuple[UnitId, float]]:
        most, held, last = max(FIRST_PASS, limit), 0, math.inf
        counts: dict[float, int] = self._ask("vectors.sign_counts", query, within, most)
        for far, count in counts.items():
            held += count
            if held >= most:
                last = far if far > min(counts) else far + 0.5
                break
        found: list[tuple[UnitId, float]] = self._ask("vectors.nearest_below", query, within, limit, last)
        return found


class ShardEdges:
    """Counts the edges of externals over all shards, to leave out those that have too many."""

    def __init__(self, ask: FanOut) -> None:
        self._ask = ask

    def ahead(self, method: str, arguments: tuple[Any, ...]) -> list[MethodCall]:
        """The calls that a method would make first. A walk that no shard foresaw will go on from here: they read farther."""
        if method != "around":
            return []
        nodes, widest, outside = arguments if len(arguments) > 2 else (*arguments, False)
        if outside or self._ask.knows("edges.around", nodes, widest, outside):
            return [("edges.around", (nodes, widest, outside))]
        return [(REHEARSE, (partial(_read_farther, widest=widest), list(nodes), math.inf))]

    def around(
        self, nodes: Iterable[int], widest: int, outside: bool = False
    ) -> Iterator[tuple[int, int, int, int, int]]:
        asked = list(nodes)
        externals = [node for node in asked if node >= EXTERNAL]
        of_all = [("edges.incoming_counts", (externals,))] if externals else []
        edges, *more = self._ask.ask_all([("edges.around", (asked, widest, outside)), *of_all])
        counts = more[0] if more else {}
        return iter([found for found in edges if counts.get(found[0], 0) <= widest])


FARTHER, MOST_FARTHER = 3, 300  # Steps that shards read ahead from units that a walk came to, and units in each step


def _read_farther(store: Store, units: Sequence[int], widest: int) -> None:
    """Read the edges of units, and of those that these lead to."""
    seen = set(units)
    for _ in range(FARTHER):
        around = store.edges.around(units, widest, False)
        store.edges.nested(units)
        found = dict.fromkeys(other for _, other, *_ in around if 0 < other < EXTERNAL and other not in seen)
        units = list(found)[:MOST_FARTHER]
        seen.update(units)


class ShardSets:
    """Shards are sent a set with the first call that names it."""

    def hold(self, units: UnitSet) -> None:
        """Nothing to do."""
