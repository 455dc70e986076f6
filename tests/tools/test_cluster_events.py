"""The simulation of searches agrees with what can be computed without it."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator

import pytest

from tools.cluster_events import Layout, QueryCost, RoundCost, Searching

ONE = RoundCost(shards=1, sent=0, got=0, service=1.0)


def poisson(rate: float, seed: int) -> Iterator[float]:
    chance = random.Random(seed)
    while True:
        yield chance.expovariate(rate)


class Exponential(Searching):
    """Service times without memory, whose greatest of n is known."""

    def drawn(self, mean: float) -> float:
        return self.chance.expovariate(1 / mean)


def test_one_shard_costs_the_sum_of_its_parts() -> None:
    layout = Layout(1, 1, message_cpu=0.5, byte_cpu=0.001, worker_cpu=0.25, latency=0.125, bandwidth=1000)
    query = QueryCost([RoundCost(1, sent=50, got=100, service=2.0)] * 3, own=7.0)
    each = 50 / 1000 + 0.125 + 2.0 + 0.25 + 0.125 + 100 / 1000 + 0.5 + 100 * 0.001
    found = Searching(layout).run([query, query])
    assert found.latencies == pytest.approx([3 * each + 7.0] * 2)
    assert (found.messages, found.bytes) == (6, 900)
    assert found.coordinator == pytest.approx(2 * (3 * 0.6 + 7.0))
    assert found.workers == pytest.approx(2 * 3 * 2.25)


@pytest.mark.parametrize("load", [0.3, 0.6, 0.8])
def test_waiting_is_that_of_a_queue_with_equal_services(load: float) -> None:
    """M/D/1: the mean wait is load / (2 (1 - load)) of a service."""
    found = Searching(Layout(1, 1)).run([QueryCost([ONE], 0)] * 60_000, poisson(load, 5))
    waited = sum(found.latencies) / len(found.latencies) - 1
    assert waited == pytest.approx(load / (2 * (1 - load)), rel=0.06)


@pytest.mark.parametrize("workers", [1, 4, 32, 256])
def test_a_round_waits_for_the_slowest(workers: int) -> None:
    """The mean of the greatest of n exponentials is the sum of 1/1 … 1/n."""
    query = QueryCost([RoundCost(workers, 0, 0, 1.0)], 0)
    found = Exponential(Layout(workers, workers)).run([query] * 2000)
    assert sum(found.latencies) / 2000 == pytest.approx(sum(1 / n for n in range(1, workers + 1)), rel=0.05)


def test_lognormal_services_have_the_mean_and_spread_that_were_given() -> None:
    search = Searching(Layout(1, 1, spread=0.8))
    drawn = [search.drawn(2.0) for _ in range(100_000)]
    mean = sum(drawn) / len(drawn)
    assert mean == pytest.approx(2.0, rel=0.02)
    assert math.sqrt(sum((one - mean) ** 2 for one in drawn) / len(drawn)) == pytest.approx(1.6, rel=0.05)


def test_stragglers_are_as_many_and_as_slow_as_given() -> None:
    search = Searching(Layout(1, 1, straggling=0.1, slower=5))
    drawn = [search.drawn(1.0) for _ in range(50_000)]
    assert set(drawn) == {1.0, 5.0}
    assert drawn.count(5.0) / len(drawn) == pytest.approx(0.1, rel=0.05)


def test_a_worker_serves_its_shards_one_after_the_other() -> None:
    query = QueryCost([RoundCost(12, 0, 0, 1.0)], 0)
    assert Searching(Layout(12, 4)).run([query]).latencies == [3.0]


@pytest.mark.parametrize(("cores", "seconds"), [(1, 12.0), (2, 6.0), (4, 3.0), (8, 3.0)])
def test_processes_share_the_cores_of_a_machine(cores: int, seconds: float) -> None:
    query = QueryCost([RoundCost(12, 0, 0, 1.0)], 0)
    assert Searching(Layout(12, 4, cores=cores)).run([query]).latencies == [seconds]


def test_groups_merge_at_the_same_time() -> None:
    """100 shards: 100 messages one after the other at one coordinator, or 10 at each of eleven."""
    query = QueryCost([RoundCost(100, 0, 0, 1.0)], 0)
    one = Searching(Layout(100, 100, message_cpu=1.0)).run([query])
    two = Searching(Layout(100, 100, message_cpu=1.0, groups=10)).run([query])
    assert one.latencies == [pytest.approx(101.0)]
    assert two.latencies == [pytest.approx(21.0)]
    assert (one.messages, two.messages) == (100, 10)
    assert (one.coordinator, two.coordinator) == (pytest.approx(100.0), pytest.approx(10.0))


def test_groups_cut_what_can_be_cut_and_pass_on_the_rest() -> None:
    cut, whole = (QueryCost([RoundCost(100, 1, 1000, 0, cut=one)], 0) for one in (True, False))
    layout = Layout(100, 100, groups=10)
    assert Searching(layout).run([cut]).bytes == 100 + 10 * 1000
    assert Searching(layout).run([whole]).bytes == 100 + 100 * 1000


def test_a_round_for_few_shards_leaves_the_others_alone() -> None:
    query = QueryCost([RoundCost(3, 0, 0, 1.0)], 0)
    found = Searching(Layout(50, 50)).run([query])
    assert (found.latencies, found.messages, found.workers) == ([1.0], 3, 3.0)


def test_work_grows_with_the_messages_and_no_faster() -> None:
    """Events a message stay the same, whatever the numbers of workers, rounds and queries."""

    def events(workers: int, rounds: int, queries: int) -> float:
        query = QueryCost([RoundCost(workers, 0, 0, 1.0)] * rounds, 0)
        found = Searching(Layout(workers, workers)).run([query] * queries)
        return found.events / found.messages

    few = events(10, 2, 2)
    for size in ((1000, 2, 2), (10, 200, 2), (10, 2, 200)):
        assert events(*size) == pytest.approx(few, rel=0.1)


def test_the_same_seed_gives_the_same_latencies() -> None:
    layout, query = Layout(20, 5, spread=1.0), QueryCost([RoundCost(7, 0, 0, 1.0)] * 4, 0)
    once, again, other = (Searching(layout, seed).run([query] * 5).latencies for seed in (3, 3, 4))
    assert once == again != other
