"""The simulated fleets add up, and the simulation gives the latencies that were measured."""

from __future__ import annotations

import dataclasses
import json
import math
from pathlib import Path

import pytest

pytest.importorskip("scipy", reason="the extra `train` is not installed")

from tools.cluster_costs import ASSUMED, COSTS, Figures, fitted, power, read
from tools.simulate_cluster import (
    MOST_SHARDS,
    SHARD_MB,
    WAYS,
    Fleet,
    again,
    at_scale,
    breaks,
    build,
    fleet,
    main,
    search,
)

pytestmark = pytest.mark.slow

FIGURES = read()
RECORD = json.loads(COSTS.read_text(encoding="utf-8"))
WITHIN = 2.5  # The factor by which a simulated latency may differ from what was measured


def changed(**values: float) -> Figures:
    return dataclasses.replace(FIGURES, values={**FIGURES.values, **values})


def test_each_figure_says_its_unit_and_where_it_is_from() -> None:
    assert set(RECORD["assumed"]) == set(ASSUMED)
    for part in ("measured", "assumed"):
        for name, row in RECORD[part].items():
            assert row["unit"], name
            assert row["from"], name
    assert all(command.startswith("python -m tools.") for command in RECORD["commands"])


def test_fits_find_the_costs_that_made_the_figures() -> None:
    rows = [[1, n, n * size] for n in (1, 6, 24, 96) for size in (10, 500, 9000)]
    assert fitted(rows, [7 + 0.5 * n + 0.001 * size for _, n, size in rows]) == pytest.approx([7, 0.5, 0.001])
    assert power([(x, 300 * x**0.6) for x in (1, 5, 60, 400)]) == pytest.approx((300, 0.6))


@pytest.mark.parametrize(("way", "shards"), [(way, number) for way, row in FIGURES.latencies.items() for number in row])
def test_the_measured_latencies_come_out(way: str, shards: str) -> None:
    """Other work on the machine of the measurement is taken out, by what it cost in one process."""
    measured, busy = FIGURES.latencies[way][shards], FIGURES.busy[shards]
    found = again(FIGURES, way, shards, cores=2, workers=4)
    assert 1 / WITHIN <= found.quantile(0.5) * 1e3 * busy / measured["p50"] <= WITHIN
    mean = sum(found.latencies) / len(found.latencies)
    assert 1 / WITHIN <= mean * 1e3 * busy / measured["mean"] <= WITHIN


@pytest.mark.parametrize("repositories", [10, 1000, 30_000])
def test_a_fleet_has_all_of_its_source_in_shards(repositories: int) -> None:
    made = fleet(repositories, FIGURES)
    assert made.source_mb == pytest.approx(repositories * FIGURES["repository_mb"])
    assert max(made.shards) == max(made.largest, max(size for size in made.shards if size <= SHARD_MB))
    large = [size for size in made.shards if size > SHARD_MB]
    assert len(made.shards) >= math.ceil((made.source_mb - sum(large)) / SHARD_MB) + len(large)


def test_one_worker_builds_one_shard_after_the_other() -> None:
    made = Fleet(3, [100.0, 200.0, 300.0], 300.0)
    figures = changed(worker_days=1e12, index_cpu_s_a_mb=3600.0, index_a_source=0.0, scheduler_ms=0.0)
    found = build(made, 1, figures)
    assert (found.hours, found.cpu_hours, found.largest_hours) == (pytest.approx(600), pytest.approx(600), 300)
    assert build(made, 3, figures).hours == pytest.approx(300)
    assert (found.repeated, found.scheduler_busy) == (0, 0)


def test_shards_whose_machine_fails_are_built_again() -> None:
    made = Fleet(400, [SHARD_MB] * 400, SHARD_MB)
    seconds = SHARD_MB * (FIGURES["index_cpu_s_a_mb"] + FIGURES["index_a_source"] / (FIGURES["bandwidth_mb_s"] / 16))
    found = build(made, 40, changed(worker_days=seconds / 86400))
    assert found.repeated == pytest.approx(400 * (math.e - 1), rel=0.2)


def test_rounds_ask_all_shards_or_those_that_hold_what_they_name() -> None:
    query = {"rounds": [[1, 0, 300, 9000, 2.0, 0, 2.0, 0], [1, 50, 800, 4000, 1.0, 0, 1.0, 0]]}
    whole, few = at_scale(query, 10_000, FIGURES.ground_mb, FIGURES).rounds
    assert (whole.shards, whole.sent, whole.got, whole.service, whole.cut) == (
        10_000,
        300,
        FIGURES["got_kb_a_message"] * 1e3,
        0.002,
        True,
    )
    assert (few.shards, few.sent, few.got, few.cut) == (50, 16, 80, False)
    assert at_scale(query, 3, FIGURES.ground_mb, FIGURES).rounds[1].shards == 3
    sketched = at_scale(query, 1000, FIGURES.ground_mb, changed(avoided=0.25), sketches=True)
    assert sketched.rounds[0].shards == 750
    looked = 1000 * FIGURES["lookups"] * FIGURES["sketch_lookup_us"] / 1e6
    once = FIGURES["query_cpu_ms"] + FIGURES["got_kb"] * FIGURES["merge_cpu_ms_a_kb"]
    assert sketched.own == pytest.approx(once / 1e3 + looked)


def test_one_shard_takes_the_sum_of_its_costs() -> None:
    figures = changed(spread=0.0, straggling=0.0)
    one = dataclasses.replace(figures, queries=figures.queries[:1])
    found = search(Fleet(1, [SHARD_MB], SHARD_MB), one, "flat", queries=1)
    query = at_scale(one.queries[0], 1, SHARD_MB, one)
    message = sum(one[name] for name in ("merge_cpu_ms", "client_cpu_ms", "worker_cpu_ms", "round_trip_ms")) / 1e3
    message += 2 * one["latency_ms"] / 1e3
    size = one["merge_cpu_ms_a_kb"] / 1e6
    link = one["bandwidth_mb_s"] * 1e6
    each = [r.service + message + r.got * size + (r.sent + r.got) / link for r in query.rounds]
    assert found.latencies == [pytest.approx(sum(each) + query.own)]


def test_two_levels_spare_the_coordinator_and_sketches_the_messages() -> None:
    made = Fleet(0, [SHARD_MB] * 400, SHARD_MB)
    found = {way: search(made, changed(avoided=0.1), way, queries=4) for way in WAYS}
    assert found["two levels"].coordinator < found["flat"].coordinator
    assert found["sketches"].messages < found["flat"].messages
    assert found["both"].messages < found["two levels"].messages * 1.01


def test_what_breaks_is_named_worst_first(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["--repositories", "50", "300", "--out", str(tmp_path / "scales.json"), "--draw", ""][:-2])
    records = json.loads((tmp_path / "scales.json").read_text())
    assert [record["repositories"] for record in records] == [50, 300]
    assert "| repositories | 50 | 300 |" in capsys.readouterr().out
    worse = {**records[0], "shards": 10 * MOST_SHARDS, "workers": 51_200}
    times = [times for _, times, _ in breaks(worse)]
    assert times == sorted(times, reverse=True)
    named = {what: times for what, times, _ in breaks(worse)}
    assert (named["numbers of shards"], named["connections of a client"]) == (10, 100)
