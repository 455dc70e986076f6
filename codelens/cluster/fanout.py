"""One call to the store → requests to the shards that it concerns, and one answer made of theirs."""

from __future__ import annotations

import copy
import itertools
import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple, TypeVar

from codelens.cluster.calls import Call, ReadAhead, cut_set, cut_work, find_call, freeze
from codelens.cluster.numbers import Numbers
from codelens.cluster.shards import REHEARSE, SETS_HELD, HeldSet, Request, Transport
from codelens.store.units import UnitSet

T = TypeVar("T")
MOST_KEPT = 5_000  # Answers that are kept from one search to the next: a server is asked for ever new words
Asked = tuple[str, tuple[Any, ...]]  # A method with its arguments


class FanOut:
    """Asks the shards that calls concern, and merges their answers. Shards do not change, so nothing is asked for twice."""

    def __init__(self, transport: Transport, numbers: Numbers) -> None:
        self.transport, self.numbers = transport, numbers
        self._kept: dict[Any, Any] = {}
        """Answers that hold for all searches."""
        self._known: dict[Any, Any] = {}
        self._each: dict[Any, dict[Any, list[Any]]] = {}
        """(method, further arguments) → element of the first argument → its elements of the answer."""
        self._kept_each: dict[Any, dict[Any, list[Any]]] = {}
        """The same for what holds for all searches."""
        self._sets: list[_Shipped] = []
        """The last ones."""
        self._counter = itertools.count()
        self._of_thread = threading.local()

    def forget(self) -> None:
        """Free what was asked for the last search; and what holds for all, once it is much."""
        self._known.clear()
        self._each.clear()
        if len(self._kept) + sum(map(len, self._kept_each.values())) > MOST_KEPT:
            self._kept.clear()
            self._kept_each.clear()

    @contextmanager
    def forgetting(self) -> Iterator[None]:
        """Free what is asked for meanwhile."""
        before = set(self._known)
        try:
            yield
        finally:
            for key in self._known.keys() - before:
                del self._known[key]

    def __call__(self, method: str, *arguments: Any) -> Any:
        """The answer that one index of all would give."""
        (answer,) = self.together([(method, arguments)])
        return answer

    def knows(self, method: str, *arguments: Any) -> bool:
        """True if this was asked for already."""
        return _OpenCall(self, method, arguments, set()).done

    def together(self, calls: Sequence[Asked]) -> list[Any]:
        """The answers to several calls, with one message to each shard that any of them concerns."""
        calls = [
            (method, tuple(list(a) if isinstance(a, Iterator) else a for a in arguments)) for method, arguments in calls
        ]
        task: _Turn | None = getattr(self._of_thread, "task", None)
        if task is not None and not all(self.knows(method, *arguments) for method, arguments in calls):
            return task.wait_for(calls)
        calls = _with_joint_rehearsals(calls)
        open_calls, pending = list[_OpenCall](), set[Any]()
        for method, arguments in calls:
            open_calls.append(_OpenCall(self, method, arguments, pending))
        messages: dict[int, list[Request]] = {}
        for one in open_calls:
            for shard, request in one.requests().items():
                one.places[shard] = len(messages.setdefault(shard, []))
                messages[shard].append(request)
        answers = self.transport.ask(messages) if messages else {}
        given = [{shard: answers[shard][place] for shard, place in one.places.items()} for one in open_calls]
        lifted = [self._lifted(one.call, own) for one, own in zip(open_calls, given, strict=True)]
        if self.numbers.unknown:
            self._name_externals()
            lifted = [self._lifted(one.call, own) for one, own in zip(open_calls, given, strict=True)]
        found = [one.answer(own) for one, own in zip(open_calls, lifted, strict=True)]
        for (method, _), answer in zip(calls, found, strict=True):
            if method == REHEARSE:
                self._learn(answer)
        return found

    def at_once(self, tasks: Sequence[Callable[[], T]]) -> list[T]:
        """The results of tasks. Each goes on until it needs shards; once all wait, one round asks for what they wait for.

        One of them goes on at a time, in their order, so that nothing depends on chance. Raises the first fault.
        """
        begun = [_Turn(task, self._of_thread) for task in tasks]
        going = begun
        while going:
            for one in going:
                one.go_on()
            going = [one for one in going if not one.done]
            try:
                answers = iter(self.together([call for one in going for call in one.calls]) if going else ())
            except BaseException as fault:
                for one in going:
                    one.fault = fault
            else:
                for one in going:
                    one.answers = [next(answers) for _ in one.calls]
        for one in begun:
            if one.fault is not None:
                raise one.fault
        return [one.result for one in begun]

    def _learn(self, reads: Sequence[ReadAhead]) -> None:
        """Remember what shards read ahead."""
        for known in reads:
            call = find_call(known.method)
            if call.elements is None:
                self.known_of(call)[known.method, freeze(known.arguments)] = known.answer
                continue
            elements = self.elements_of(known.method, known.arguments[1:])
            new = {one: list[Any]() for one in known.arguments[0] if one not in elements}
            for key, element in call.elements.split(known.answer):
                if key in new:
                    new[key].append(element)
            elements |= new

    def known_of(self, call: Call) -> dict[Any, Any]:
        """The place of answers to such a call."""
        return self._kept if call.is_lasting else self._known

    def elements_of(self, method: str, further: tuple[Any, ...]) -> dict[Any, list[Any]]:
        """The elements that are known of answers to a method."""
        return (self._kept_each if find_call(method).is_lasting else self._each).setdefault(
            (method, freeze(further)), {}
        )

    def cut(self, call: Call, arguments: Sequence[Any]) -> dict[int, tuple[Any, ...]]:
        """Shard → the arguments that it is asked with."""
        cut = {place: parts for place, how in call.cuts if (parts := self._parts(how, arguments[place])) is not None}
        shards: Collection[int] = self.numbers.shards
        for parts in cut.values():
            shards = [shard for shard in shards if shard in parts]
        for place, how in call.cuts:
            if how in (cut_set, cut_work) and isinstance(arguments[place], UnitSet):
                cut[place] = self._held(arguments[place], shards)
        return {
            shard: tuple(cut[place][shard] if place in cut else a for place, a in enumerate(arguments))
            for shard in shards
        }

    def _lifted(self, call: Call, answers: Mapping[int, Any]) -> list[Any]:
        in_order = [(shard, answers[shard]) for shard in sorted(answers)]
        return [call.lift(self.numbers, shard, answer) if call.lift else answer for shard, answer in in_order]

    def _name_externals(self) -> None:
        """In one index, something outside that several repositories use is one node: find all shards that have it."""
        by_shard: dict[int, list[int]] = {}
        for shard, local in self.numbers.unknown:
            by_shard.setdefault(shard, []).append(local)
        named = self.transport.ask({s: [Request("edges.external_names", (nodes,))] for s, nodes in by_shard.items()})
        names = sorted({name for (found,) in named.values() for name in found.values()})
        asked = [Request("edges.externals_called", (names,))]
        found = self.transport.ask(dict.fromkeys(self.numbers.shards, asked))
        self.numbers.name_externals({shard: held for shard, (held,) in found.items()})

    def _parts(self, how: Any, argument: Any) -> Mapping[int, Any] | None:
        if how in (cut_set, cut_work) and isinstance(argument, UnitSet):
            return self._shipped(argument).parts
        parts: Mapping[int, Any] | None = how(self.numbers, argument)
        return parts

    def _shipped(self, units: UnitSet) -> _Shipped:
        known = next((held for held in self._sets if held.units is units), None)
        if known is None:
            known = _Shipped(units, next(self._counter), cut_set(self.numbers, units) or {}, set())
            self._sets = [*self._sets, known][-SETS_HELD:]
        return known

    def _held(self, units: UnitSet, shards: Collection[int]) -> Mapping[int, HeldSet]:
        """A set by its number, for these shards; its units go to those that do not have it yet."""
        known = self._shipped(units)
        sent = {s: HeldSet(known.number, None if s in known.having else known.parts[s]) for s in shards}
        known.having.update(shards)
        return sent


def _with_joint_rehearsals(calls: Sequence[Asked]) -> list[Asked]:
    """The same calls, in which the first that rehearses some work has the units of all that rehearse it."""
    numbers: dict[int, list[int]] = {}
    joint = [method == REHEARSE and isinstance(arguments[1], list) for method, arguments in calls]
    for work, own, _ in (arguments for (_, arguments), is_joint in zip(calls, joint, strict=True) if is_joint):
        numbers.setdefault(id(work), []).extend(own)
    return [
        (method, (arguments[0], numbers.pop(id(arguments[0]), []), arguments[2]) if is_joint else arguments)
        for (method, arguments), is_joint in zip(calls, joint, strict=True)
    ]


class _Shipped(NamedTuple):
    """A set of units that shards have."""

    units: UnitSet
    number: int
    parts: Mapping[int, UnitSet]
    having: set[int]  # The shards that it was sent to


class _Turn:
    """A thread of its own, which goes on only while who began it waits."""

    def __init__(self, task: Callable[[], Any], of_thread: threading.local) -> None:
        self.done = False
        self.result: Any = None
        self.fault: BaseException | None = None
        self.calls: Sequence[Asked] = ()
        """The calls that it waits for."""
        self.answers: list[Any] = []
        self._work, self._of_thread = task, of_thread
        self._turn, self._stopped = threading.Semaphore(0), threading.Semaphore(0)
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def go_on(self) -> None:
        """Let it go on until it waits or is done."""
        self._turn.release()
        self._stopped.acquire()

    def wait_for(self, calls: Sequence[Asked]) -> list[Any]:
        """Stop until there are answers. Called by the task itself."""
        self.calls = calls
        self._stopped.release()
        self._turn.acquire()
        fault, self.fault = self.fault, None
        if fault is not None:
            raise fault
        return self.answers

    def _run(self) -> None:
        self._of_thread.task = self
        self._turn.acquire()
        try:
            self.result = self._work()
        except BaseException as fault:
            self.fault = fault
        self.done = True
        self._stopped.release()


class _OpenCall:
    """A call on its way: what is known already, and what shards are asked for."""

    def __init__(self, fan: FanOut, method: str, arguments: tuple[Any, ...], pending: set[Any]) -> None:
        """`pending`: what calls before it in the same round ask for."""
        self.call = find_call(method)
        self.places: dict[int, int] = {}
        """Shard → place of the request in its message."""
        self._fan, self._method = fan, method
        self._arguments = arguments
        self._key = (method, freeze(self._arguments))
        self._known = fan.known_of(self.call)
        self._elements: dict[Any, list[Any]] | None = None
        self._asked = self._arguments
        if self.call.elements and self._asked[0] is not None:
            self._elements = fan.elements_of(method, self._asked[1:])
            of = id(self._elements)
            self._missing = [
                one for one in dict.fromkeys(self._asked[0]) if one not in self._elements and (of, one) not in pending
            ]
            pending.update((of, one) for one in self._missing)
            self._asked = (self._missing, *self._asked[1:])
            self.done = not self._missing
        else:
            self.done = self._key in self._known or self._key in pending
            pending.add(self._key)

    def requests(self) -> dict[int, Request]:
        """Shard → what it is asked."""
        cut = {} if self.done else self._fan.cut(self.call, self._asked)
        return {shard: Request(self._method, own) for shard, own in cut.items()}

    def answer(self, lifted: Sequence[Any]) -> Any:
        """The whole's answer, a new list or mapping."""
        if self._elements is None:
            if not self.done:
                self._known[self._key] = self.call.merge(lifted, self._arguments)
            return copy.copy(self._known[self._key])
        assert self.call.elements is not None
        if self._missing:
            self._elements.update((one, []) for one in self._missing)
            for key, element in self.call.elements.split(self.call.merge(lifted, self._arguments)):
                self._elements[key].append(element)
        found = [element for one in dict.fromkeys(self._arguments[0]) for element in self._elements[one]]
        return self.call.merge([self.call.elements.join(found, self._arguments)], self._arguments)
