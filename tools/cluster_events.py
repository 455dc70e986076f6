"""A discrete-event simulation of searches over shards: processes that queue for the cores of machines, links, and rounds.

It knows no figures: `tools/simulate_cluster.py` gives it costs. A round ends when the last answer is merged, so that a search waits
for the slowest of all workers, as often as it has rounds.
"""

from __future__ import annotations

import heapq
import math
import random
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

Then = Callable[[], None]


class Clock:
    """Runs what is planned, in order of time; what is planned first goes first among equals."""

    def __init__(self) -> None:
        self.now = 0.0
        self.events = 0
        self._planned: list[tuple[float, int, Then]] = []

    def after(self, seconds: float, then: Then) -> None:
        """Plan."""
        self.events += 1
        heapq.heappush(self._planned, (self.now + seconds, self.events, then))

    def run(self) -> None:
        """Until nothing is planned."""
        while self._planned:
            self.now, _, then = heapq.heappop(self._planned)
            then()


class Machine:
    """Cores, given to its processes in the order in which they ask."""

    def __init__(self, clock: Clock, cores: int) -> None:
        self.clock, self._free = clock, cores
        self._waiting: deque[Process] = deque()

    def ask(self, process: Process) -> None:
        """Start the process's next job as soon as a core is free."""
        if self._free:
            self._free -= 1
            process.start()
        else:
            self._waiting.append(process)

    def release(self) -> None:
        """A core is free."""
        if self._waiting:
            self._waiting.popleft().start()
        else:
            self._free += 1


class Process:
    """Does one job at a time, in the order in which they come. A link is one, too: its jobs are the bytes that it carries."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._jobs: deque[tuple[float, Then]] = deque()
        self._busy = False
        self.used = 0.0
        """Seconds of work."""

    def do(self, seconds: float, then: Then) -> None:
        """Add a job."""
        self._jobs.append((seconds, then))
        if not self._busy:
            self._busy = True
            self._machine.ask(self)

    def start(self) -> None:
        """Begin with the next job."""
        self._machine.clock.after(self._jobs[0][0], self._finish)

    def _finish(self) -> None:
        seconds, then = self._jobs.popleft()
        self.used += seconds
        self._busy = bool(self._jobs)
        self._machine.release()
        if self._busy:
            self._machine.ask(self)
        then()


@dataclass(frozen=True, slots=True)
class RoundCost:
    """One round of a query."""

    shards: int  # The number of shards that are asked
    sent: float  # Bytes to each
    got: float  # Bytes from each
    service: float  # Mean CPU seconds of a shard
    cut: bool = True
    """True if answers are merged and cut to the length of one; otherwise all that shards send goes to the coordinator."""


@dataclass(frozen=True, slots=True)
class QueryCost:
    """The rounds of a query, and what the coordinator needs for itself."""

    rounds: Sequence[RoundCost]
    own: float  # CPU seconds, whatever the number of messages


@dataclass(frozen=True, slots=True)
class Layout:
    """Workers, and what messages cost."""

    shards: int
    workers: int
    message_cpu: float = 0.0  # CPU seconds of who asks for the answer of a shard, to merge it
    client_cpu: float = 0.0  # CPU seconds of who sends a message, except for that
    joint: bool = False  # True for one message to each worker, False for one to each of its shards
    byte_cpu: float = 0.0  # The same for each byte of an answer
    worker_cpu: float = 0.0  # CPU seconds that the worker needs for a message, except for its shard
    latency: float = 0.0  # Seconds on the way, one way
    bandwidth: float = math.inf  # Bytes a second of the coordinator's link
    groups: int = 0  # Coordinators of the second level; 0 for none
    cores: int = 0  # Cores of the one machine on which everything runs; 0 if each process has its own
    spread: float = 0.0  # Standard deviation of a service time over its mean, lognormal
    straggling: float = 0.0
    """The part of messages that take `slower` times as long: garbage collection, a cold disk, a busy neighbour."""
    slower: float = 10.0
    weights: Sequence[float] = ()  # Service time of each shard over that of a usual one; empty if all are equal


@dataclass(slots=True)
class Outcome:
    """The result of a simulation."""

    latencies: list[float] = field(default_factory=list)
    events: int = 0
    messages: int = 0  # Messages of the first coordinator
    bytes: float = 0.0  # Bytes to and from it
    coordinator: float = 0.0  # Its CPU seconds
    workers: float = 0.0  # CPU seconds of all workers and second coordinators

    def quantile(self, part: float) -> float:
        """A latency that this part of the queries does not exceed."""
        held = sorted(self.latencies)
        return held[min(len(held) - 1, int(part * len(held)))]


class _Node:
    """A process that asks others: workers, or second coordinators."""

    def __init__(
        self, process: Process, link: Process, children: Sequence[_Node] = (), shards: Sequence[int] = ()
    ) -> None:
        self.process, self.link, self.children, self.shards = process, link, children, shards


class Searching:
    """Searches, one after the other or as they come."""

    def __init__(self, layout: Layout, seed: int = 1) -> None:
        self.layout, self.clock, self.chance = layout, Clock(), random.Random(seed)
        self.outcome = Outcome()
        self._shared = Machine(self.clock, layout.cores) if layout.cores else None
        workers = [self._node(range(at, layout.shards, layout.workers)) for at in range(layout.workers)]
        self._workers = workers
        if layout.groups:
            workers = [self._node((), workers[at :: layout.groups]) for at in range(layout.groups)]
        self._second = workers if layout.groups else []
        self._root = self._node((), workers)
        shape = math.log1p(layout.spread**2)
        self._mu, self._sigma = -shape / 2, math.sqrt(shape)

    def _node(self, shards: Sequence[int], children: Sequence[_Node] = ()) -> _Node:
        return _Node(Process(self._shared or Machine(self.clock, 1)), Process(Machine(self.clock, 1)), children, shards)

    def run(self, queries: Sequence[QueryCost], arrivals: Iterator[float] | None = None) -> Outcome:
        """Ask these queries: each when the one before is answered, or at so many seconds after it came."""
        waiting = deque(queries)

        def next_query() -> None:
            if waiting:
                query, began = waiting.popleft(), self.clock.now
                if arrivals is not None and waiting:
                    self.clock.after(next(arrivals), next_query)
                self._search(query, lambda: finished(began))

        def finished(began: float) -> None:
            self.outcome.latencies.append(self.clock.now - began)
            if arrivals is None:
                next_query()

        next_query()
        self.clock.run()
        self.outcome.events = self.clock.events
        self.outcome.coordinator = self._root.process.used
        self.outcome.workers = sum(node.process.used for node in (*self._workers, *self._second))
        return self.outcome

    def _search(self, query: QueryCost, done: Then) -> None:
        rounds = iter(query.rounds)

        def next_round() -> None:
            cost = next(rounds, None)
            if cost is None:
                self._root.process.do(query.own, done)
                return
            every = cost.shards >= self.layout.shards
            asked = None if every else set(self.chance.sample(range(self.layout.shards), cost.shards))
            self._ask(self._root, cost, asked, next_round)

        next_round()

    def _ask(self, node: _Node, cost: RoundCost, asked: set[int] | None, done: Then) -> None:
        """Send to all children that hold shards that are asked, and merge what they answer."""
        held = [(child, count) for child in node.children if (count := self._count(child, asked))]
        sizes = [(count if not child.children else 1) for child, count in held]
        left = [len(held)]
        root = node is self._root

        def merged() -> None:
            left[0] -= 1
            if not left[0]:
                done()

        def sent() -> None:
            for (child, count), messages in zip(held, sizes, strict=True):
                size = cost.got * (1 if child.children and cost.cut else count)
                spent = messages * self.layout.message_cpu + size * self.layout.byte_cpu
                spent += (1 if self.layout.joint else messages) * self.layout.client_cpu
                if root:
                    self.outcome.bytes += size + cost.sent * count
                self._send(child, cost, asked, self._receiver(node, size, spent, merged))

        if root:
            self.outcome.messages += len(held) if self.layout.joint else sum(sizes)
        if not held:
            done()
            return
        total = sum(cost.sent * count for _, count in held)
        node.link.do(total / self.layout.bandwidth, sent)

    def _receiver(self, node: _Node, size: float, spent: float, merged: Then) -> Then:
        """The arrival of an answer: it takes its time on the link, then of the process."""
        return lambda: node.link.do(size / self.layout.bandwidth, lambda: node.process.do(spent, merged))

    def _send(self, child: _Node, cost: RoundCost, asked: set[int] | None, answered: Then) -> None:
        """To a worker, which serves all of its shards, or to a second coordinator, which asks its workers."""
        latency = self.layout.latency

        def arrived() -> None:
            if child.children:
                self._ask(child, cost, asked, back)
            else:
                held = child.shards if asked is None else [shard for shard in child.shards if shard in asked]
                weights = [self.layout.weights[shard] for shard in held] if self.layout.weights else [1.0] * len(held)
                seconds = sum(self.drawn(cost.service * weight) for weight in weights)
                messages = 1 if self.layout.joint else len(held)
                child.process.do(seconds + messages * self.layout.worker_cpu, back)

        def back() -> None:
            self.clock.after(latency, answered)

        self.clock.after(latency, arrived)

    def _count(self, node: _Node, asked: set[int] | None) -> int:
        if node.children:
            return sum(self._count(child, asked) for child in node.children)
        return len(node.shards) if asked is None else sum(shard in asked for shard in node.shards)

    def drawn(self, mean: float) -> float:
        """A service time."""
        seconds = mean * math.exp(self.chance.gauss(self._mu, self._sigma)) if self._sigma else mean
        slow = self.layout.straggling and self.chance.random() < self.layout.straggling
        return seconds * self.layout.slower if slow else seconds
