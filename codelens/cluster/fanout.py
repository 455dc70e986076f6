"""Turn a call to the store into requests to the shards that it concerns, and their answers into one."""

from __future__ import annotations

import copy
import itertools
import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple, TypeVar

from codelens.cluster.calls import Call, Parts, find_call, freeze
from codelens.cluster.numbers import Numbers, group_by_shard
from codelens.cluster.shards import MOST_SETS, REHEARSE, Arguments, MethodCall, RecordedCall, SetReference, Transport
from codelens.model.code import UnitId
from codelens.model.groups import group_pairs
from codelens.store.units import UnitSet

T = TypeVar("T")
MOST_LASTING = 5_000  # Limit on answers kept between searches, because a server is asked for ever new words

Elements = dict[Any, list[Any]]


class FanOut:
    """Sends calls to the shards that they concern and merges the answers. Shards never change, so answers are cached."""

    def __init__(self, transport: Transport, numbers: Numbers) -> None:
        self.transport, self.numbers = transport, numbers
        self._lasting_answers: dict[Any, Any] = {}  # Answers that all searches share
        self._answers: dict[Any, Any] = {}
        self._elements_by_call: dict[Any, Elements] = {}
        """(method, other arguments) → element of the first argument → the elements of the answer that belong to it."""
        self._lasting_elements: dict[Any, Elements] = {}  # As above, for answers that all searches share
        self._sent_sets: list[_SentSet] = []  # The most recent sets of units, at most MOST_SETS
        self._counter = itertools.count()
        self._thread_state = threading.local()

    def forget(self) -> None:
        """Drop the cached answers of the last search, and those that all searches share once there are too many."""
        self._answers.clear()
        self._elements_by_call.clear()
        if len(self._lasting_answers) + sum(map(len, self._lasting_elements.values())) > MOST_LASTING:
            self._lasting_answers.clear()
            self._lasting_elements.clear()

    @contextmanager
    def forget_new(self) -> Iterator[None]:
        """Drop the answers that were cached inside the block."""
        before = set(self._answers)
        try:
            yield
        finally:
            for key in self._answers.keys() - before:
                del self._answers[key]

    def __call__(self, method: str, *arguments: Any) -> Any:
        """Ask the shards; the answer is that of a single index of all repositories."""
        (answer,) = self.ask_all([(method, arguments)])
        return answer

    def has_answer(self, method: str, *arguments: Any) -> bool:
        """True if the answer to this call is cached."""
        return _OpenCall(self, method, arguments, set()).done

    def ask_all(self, calls: Sequence[MethodCall]) -> list[Any]:
        """Answer several calls with one message to each shard that any of them concerns."""
        task: _TaskThread | None = getattr(self._thread_state, "task", None)
        if task is not None and not all(self.has_answer(method, *arguments) for method, arguments in calls):
            return task.wait_for(calls)
        pending = set[Any]()
        open_calls = [_OpenCall(self, *call, pending) for call in _join_rehearsals(calls)]
        messages: dict[int, list[MethodCall]] = {}
        for call in open_calls:
            for shard, request in call.build_requests().items():
                call.places[shard] = len(messages.setdefault(shard, []))
                messages[shard].append(request)
        replies = self.transport.ask(messages) if messages else {}
        lifted = [call.lift(replies) for call in open_calls]
        if self.numbers.unknown:
            self._name_externals()
            lifted = [call.lift(replies) for call in open_calls]
        answers = [call.answer(values) for call, values in zip(open_calls, lifted, strict=True)]
        for (method, _), answer in zip(calls, answers, strict=True):
            for read in answer if method == REHEARSE else ():
                self._remember_read(read)
        return answers

    def run_tasks(self, tasks: Sequence[Callable[[], T]]) -> list[T]:
        """Run tasks concurrently, and send their requests together whenever all wait for shards. Raises the first fault."""
        started = [_TaskThread(task, self._thread_state) for task in tasks]
        running = started
        while running:
            for task in running:
                task.resume()
            running = [task for task in running if not task.is_done]
            try:
                answers = iter(self.ask_all([call for task in running for call in task.calls]) if running else ())
            except BaseException as fault:
                for task in running:
                    task.fault = fault
            else:
                for task in running:
                    task.answers = [next(answers) for _ in task.calls]
        for task in started:
            if task.fault is not None:
                raise task.fault
        return [task.result for task in started]

    def _remember_read(self, read: RecordedCall) -> None:
        call = find_call(read.method)
        if call.elements is None:
            self.find_answers(call)[read.method, freeze(read.arguments)] = read.answer
            return
        elements = self.find_elements(read.method, read.arguments[1:])
        new = {number: list[Any]() for number in read.arguments[0] if number not in elements}
        for key, element in call.elements.split(read.answer):
            if key in new:
                new[key].append(element)
        elements |= new

    def find_answers(self, call: Call) -> dict[Any, Any]:
        """Find the cache for answers to such a call."""
        return self._lasting_answers if call.is_lasting else self._answers

    def find_elements(self, method: str, further: Arguments) -> Elements:
        """Find the cached elements of a method's answers; `further` are the arguments after the first."""
        by_call = self._lasting_elements if find_call(method).is_lasting else self._elements_by_call
        return by_call.setdefault((method, freeze(further)), {})

    def cut(self, call: Call, arguments: Sequence[Any]) -> dict[int, Arguments]:
        """Split a call's arguments: shard → its arguments. Shards that the call does not concern are left out."""
        parts: dict[int, Parts] = {}
        sets: dict[int, _SentSet] = {}
        for place, cut in call.cuts:
            if isinstance(argument := arguments[place], UnitSet):
                sets[place] = self._find_sent_set(argument)
                parts[place] = sets[place].parts
            elif (parts_here := cut(self.numbers, argument)) is not None:
                parts[place] = parts_here
        shards = [shard for shard in self.numbers.shards if all(shard in of_place for of_place in parts.values())]
        parts |= {place: sent.name_for(shards) for place, sent in sets.items()}
        given = list(enumerate(arguments))
        return {shard: tuple(parts[at][shard] if at in parts else a for at, a in given) for shard in shards}

    def _name_externals(self) -> None:
        """Give an external name one node in the whole cluster, by finding it in all shards."""
        unknown = group_pairs(self.numbers.unknown)
        named = self.transport.ask({s: [("edges.read_external_names", (nodes,))] for s, nodes in unknown.items()})
        names = sorted({name for (names_of_shard,) in named.values() for name in names_of_shard.values()})
        answers = self.transport.ask({shard: [("edges.find_externals", (names,))] for shard in self.numbers.shards})
        self.numbers.name_externals({shard: nodes for shard, (nodes,) in answers.items()})

    def _find_sent_set(self, units: UnitSet) -> _SentSet:
        """Find the record of a set that was sent to shards, or make one with its units split by shard."""
        sent = next((sent for sent in self._sent_sets if sent.units is units), None)
        if sent is None:
            parts = {shard: UnitSet(map(UnitId, ids)) for shard, ids in group_by_shard(units).items()}
            sent = _SentSet(units, next(self._counter), parts, set())
            self._sent_sets = [*self._sent_sets, sent][-MOST_SETS:]
        return sent


def _join_rehearsals(calls: Sequence[MethodCall]) -> list[MethodCall]:
    """Join rehearsals of the same work: the first gets the units of all of them, the others get none."""
    numbers: dict[int, list[int]] = {}
    joint = [method == REHEARSE and isinstance(arguments[1], list) for method, arguments in calls]
    for work, units, _ in (arguments for (_, arguments), is_joint in zip(calls, joint, strict=True) if is_joint):
        numbers.setdefault(id(work), []).extend(units)
    joined = []
    for (method, given), is_joint in zip(calls, joint, strict=True):
        joined.append((method, (given[0], numbers.pop(id(given[0]), []), given[2]) if is_joint else given))
    return joined


class _SentSet(NamedTuple):
    """A set of units that was sent to shards."""

    units: UnitSet
    number: int
    parts: Mapping[int, UnitSet]
    shards: set[int]  # The shards that it was sent to

    def name_for(self, shards: Collection[int]) -> Mapping[int, SetReference]:
        """Refer to the set by its number: shard → reference. A shard that has not received the set also gets its units."""
        references = {s: SetReference(self.number, None if s in self.shards else self.parts[s]) for s in shards}
        self.shards.update(shards)
        return references


class _TaskThread:
    """A task in its own thread. It runs only while the thread that started it waits."""

    def __init__(self, task: Callable[[], Any], thread_state: threading.local) -> None:
        self.is_done = False
        self.result: Any = None
        self.fault: BaseException | None = None
        self.calls: Sequence[MethodCall] = ()  # The calls that it waits for
        self.answers: list[Any] = []
        self._work, self._thread_state = task, thread_state
        self._turn, self._stopped = threading.Semaphore(0), threading.Semaphore(0)
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def resume(self) -> None:
        """Let the task run until it waits for answers or ends."""
        self._turn.release()
        self._stopped.acquire()

    def wait_for(self, calls: Sequence[MethodCall]) -> list[Any]:
        """Pause the task until its calls are answered. Called in the task's thread."""
        self.calls = calls
        self._stopped.release()
        self._turn.acquire()
        fault, self.fault = self.fault, None
        if fault is not None:
            raise fault
        return self.answers

    def _run(self) -> None:
        self._thread_state.task = self
        self._turn.acquire()
        try:
            self.result = self._work()
        except BaseException as fault:
            self.fault = fault
        self.is_done = True
        self._stopped.release()


class _OpenCall:
    """A call in progress: the part of its answer that is cached, and the part that shards are asked for."""

    def __init__(self, fan: FanOut, method: str, arguments: Arguments, pending: set[Any]) -> None:
        """`pending`: keys that earlier calls of the same round ask for; this call adds its own."""
        self.call = find_call(method)
        self.places: dict[int, int] = {}  # Shard → place of the request in its message
        self._fan, self._method, self._arguments = fan, method, arguments
        self._key = (method, freeze(arguments))
        self._answers = fan.find_answers(self.call)
        self._elements: Elements | None = None
        self._asked = arguments
        if self.call.elements and arguments[0] is not None:
            self._elements = fan.find_elements(method, arguments[1:])
            unknown = {number: (id(self._elements), number) for number in arguments[0] if number not in self._elements}
            self._missing = [number for number, key in unknown.items() if key not in pending]
            pending.update(unknown.values())
            self._asked = (self._missing, *arguments[1:])
            self.done = not self._missing
        else:
            self.done = self._key in self._answers or self._key in pending
            pending.add(self._key)

    def build_requests(self) -> dict[int, MethodCall]:
        """Build the requests for the part that is not cached: shard → request."""
        cut = {} if self.done else self._fan.cut(self.call, self._asked)
        return {shard: (self._method, arguments) for shard, arguments in cut.items()}

    def lift(self, replies: Mapping[int, Sequence[Any]]) -> list[Any]:
        """Translate the shards' answers to ids and names of the whole cluster; `replies`: shard → its answers to this round."""
        numbers, lift = self._fan.numbers, self.call.lift
        answers = [(shard, replies[shard][place]) for shard, place in sorted(self.places.items())]
        return [lift(numbers, shard, answer) if lift else answer for shard, answer in answers]

    def answer(self, lifted: Sequence[Any]) -> Any:
        """Merge the translated answers and cache the result; returns a copy of it."""
        if self._elements is None:
            if not self.done:
                self._answers[self._key] = self.call.merge(lifted, self._arguments)
            return copy.copy(self._answers[self._key])
        assert self.call.elements is not None
        if self._missing:
            self._elements.update((number, []) for number in self._missing)
            for key, element in self.call.elements.split(self.call.merge(lifted, self._arguments)):
                self._elements[key].append(element)
        elements = [element for number in dict.fromkeys(self._arguments[0]) for element in self._elements[number]]
        return self.call.merge([self.call.elements.join(elements, self._arguments)], self._arguments)
