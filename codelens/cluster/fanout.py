"""One call to the store → requests to the shards that it concerns, and one answer made of theirs."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from codelens.cluster.calls import CALLS, WITHIN, Call
from codelens.cluster.numbers import Numbers
from codelens.cluster.shards import SETS_HELD, HeldSet, Request, Transport
from codelens.errors import UsageError
from codelens.store.units import UnitSet


class FanOut:
    """Asks the shards that a call concerns, and merges their answers."""

    def __init__(self, transport: Transport, numbers: Numbers) -> None:
        self.transport, self.numbers = transport, numbers
        self._kept: dict[tuple[Any, ...], Any] = {}
        self._sets: list[tuple[UnitSet, int, set[int]]] = []
        """(set, its number, the shards that have it), the last ones."""
        self._counter = itertools.count()

    def __call__(self, method: str, *arguments: Any) -> Any:
        """The answer that one index of all would give."""
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
            shard: Request(method, tuple(cut[place][shard] if place in cut else a for place, a in enumerate(arguments)))
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
        """In one index, something outside that several repositories use is one node: find all shards that have it."""
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
