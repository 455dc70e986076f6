"""Simulates building and searching of 100, 10,000 and a million repositories: `python -m tools.simulate_cluster [--draw FOLDER]`.

Costs are those of tools/cluster_costs.json: measured on one machine, apart from what it calls assumed. Each scale repeats the
measured queries: a round that asks all shards asks as many as there are; one that names units asks those that hold them.
"""

from __future__ import annotations

import argparse
import heapq
import json
import math
import random
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tools.cluster_costs import Figures, read
from tools.cluster_events import Layout, Outcome, QueryCost, RoundCost, Searching

SCALES = (100, 10_000, 1_000_000)
SHARD_MB = 500.0
WAYS = {"flat": (False, False), "sketches": (True, False), "two levels": (False, True), "both": (True, True)}
"""Way of searching → (shards that cannot hold a word are skipped, groups of √S shards are merged first)."""
MOST_SHARDS = 32_768  # The numbers of shards in ids; `MOST_SHARDS` in codelens/cluster/numbers.py
FILES_OPEN = 1024
"""The usual limit of a process, named in Dask's FAQ; a worker adds one to ten connections to a scheduler."""
CONNECTIONS = 512  # The connections that a client of Dask keeps: `ConnectionPool` in distributed/core.py
GOOD_SECONDS = 1.0  # A search that takes longer is not good enough. Chosen.
QUERIES = 6


@dataclass(frozen=True, slots=True)
class Fleet:
    """Shards of a fleet, by size."""

    repositories: int
    shards: Sequence[float]  # MB of source of each
    largest: float  # MB of the largest repository

    @property
    def source_mb(self) -> float:
        """All of it."""
        return sum(self.shards)


def fleet(repositories: int, figures: Figures, seed: int = 1) -> Fleet:
    """Repositories of lognormal sizes, small ones together in shards, each large one alone."""
    chance, spread = random.Random(seed), figures["repository_spread"]
    drawn = [chance.lognormvariate(0, spread) for _ in range(repositories)]
    factor = figures["repository_mb"] * repositories / sum(drawn)
    sizes = [size * factor for size in drawn]
    alone, shards, filled = [size for size in sizes if size >= SHARD_MB], [], 0.0
    for size in sizes:
        if size < SHARD_MB:
            if filled + size > SHARD_MB:
                shards.append(filled)
                filled = 0.0
            filled += size
    return Fleet(repositories, [*alone, *shards, *([filled] if filled else [])], max(sizes))


def service_ms(figures: Figures, megabytes: float) -> float:
    """CPU of a shard for a message that goes to all."""
    return figures["service_ms"] + figures["service_ms_a_mb"] * megabytes


def at_scale(
    query: Mapping[str, Any], shards: int, megabytes: float, figures: Figures, sketches: bool = False
) -> QueryCost:
    """A measured query, asked of so many shards of this size. Sketches avoid some messages, and cost look-ups."""
    skipped = figures["avoided"] if sketches else 0.0
    growth = service_ms(figures, megabytes) / service_ms(figures, figures.ground_mb)
    rounds = []
    for number, ids, sent, got, mean, *_ in query["rounds"]:
        if ids:
            held = max(1, round(shards * (1 - (1 - 1 / shards) ** ids)))
            seconds = (figures["few_ms"] + mean * number / held) / 1e3
            rounds.append(RoundCost(held, sent / held, got / held, seconds, cut=False))
        else:
            asked = max(1, round(shards * (1 - skipped)))
            rounds.append(RoundCost(asked, sent, figures["got_kb_a_message"] * 1e3, mean * growth / 1e3))
    looked = figures["lookups"] * figures["sketch_lookup_us"] / 1e6 * shards if sketches else 0.0
    once = figures["query_cpu_ms"] + figures["got_kb"] * figures["merge_cpu_ms_a_kb"]
    return QueryCost(rounds, once / 1e3 + looked)


def on_network(fleet: Fleet, figures: Figures, groups: int) -> Layout:
    """A layout on machines of their own."""
    usual = service_ms(figures, SHARD_MB)
    return Layout(
        len(fleet.shards),
        workers_of(fleet, figures),
        message_cpu=figures["merge_cpu_ms"] / 1e3,
        client_cpu=figures["client_cpu_ms"] / 1e3,
        joint=True,
        byte_cpu=figures["merge_cpu_ms_a_kb"] / 1e6,
        worker_cpu=figures["worker_cpu_ms"] / 1e3,
        latency=(figures["latency_ms"] + figures["round_trip_ms"] / 2) / 1e3,
        bandwidth=figures["bandwidth_mb_s"] * 1e6,
        groups=groups,
        spread=figures["spread"],
        straggling=figures["straggling"],
        weights=[service_ms(figures, size) / usual for size in fleet.shards],
    )


def on_one_machine(shards: int, workers: int, cores: int, figures: Figures) -> Layout:
    """A layout as it was measured, with one message to each shard; without workers, everything is in one process and nothing is
    packed.
    """
    return Layout(
        shards,
        min(workers, shards) or 1,
        message_cpu=figures["merge_cpu_ms"] / 1e3,
        client_cpu=figures["client_cpu_ms"] / 1e3 if workers else 0.0,
        byte_cpu=figures["merge_cpu_ms_a_kb"] / 1e6,
        worker_cpu=figures["worker_cpu_ms"] / 1e3 if workers else 0.0,
        latency=figures["round_trip_ms"] / 2e3 if workers else 0.0,
        cores=cores if workers else 1,
        spread=figures["spread"],
    )


def workers_of(fleet: Fleet, figures: Figures) -> int:
    """Worker processes."""
    return max(1, math.ceil(len(fleet.shards) / figures["shards_a_worker"]))


@dataclass(frozen=True, slots=True)
class Building:
    """The building of a fleet."""

    hours: float
    cpu_hours: float
    largest_hours: float  # The largest repository alone: one process reads it
    repeated: int  # Shards that were built again since their machine had failed
    scheduler_busy: float  # Part of the time


def build(fleet: Fleet, workers: int, figures: Figures, seed: int = 1) -> Building:
    """Shards go to the worker that is free first, largest first; the scheduler hands them out one by one."""
    chance, scheduler = random.Random(seed), figures["scheduler_ms"] / 1e3
    link = figures["bandwidth_mb_s"] / 16
    free, handed, repeated, cpu = [0.0] * workers, 0.0, 0, 0.0
    waiting = sorted(fleet.shards, reverse=True)
    for size in waiting:
        seconds = size * figures["index_cpu_s_a_mb"] + size * figures["index_a_source"] / link
        handed += scheduler
        start = max(heapq.heappop(free), handed)
        cpu += size * figures["index_cpu_s_a_mb"]
        while chance.random() < 1 - math.exp(-seconds / (figures["worker_days"] * 86400)):
            repeated += 1
            start += chance.random() * seconds
        heapq.heappush(free, start + seconds)
    end = max(free)
    largest = fleet.largest * figures["index_cpu_s_a_mb"] / 3600
    return Building(end / 3600, cpu / 3600, largest, repeated, handed / end)


def search(fleet: Fleet, figures: Figures, way: str, queries: int = QUERIES, seed: int = 1) -> Outcome:
    """The measured queries, one after the other."""
    skips, two_levels = WAYS[way]
    shards = len(fleet.shards)
    layout = on_network(fleet, figures, round(math.sqrt(shards)) if two_levels and shards > 3 else 0)
    asked = [at_scale(one, shards, SHARD_MB, figures, skips) for one in figures.queries]
    return Searching(layout, seed).run([asked[at % len(asked)] for at in range(queries)])


def again(figures: Figures, way: str, shards: str, cores: int, workers: int) -> Outcome:
    """The measured queries on the measuring machine."""
    number, megabytes = int(shards), figures.shard_mb[shards]
    asked = [at_scale(one, number, megabytes, figures) for one in figures.queries]
    return Searching(on_one_machine(number, workers if way == "dask" else 0, cores, figures)).run(asked)


def scale(repositories: int, figures: Figures) -> dict[str, Any]:
    """All figures of a fleet."""
    made = fleet(repositories, figures)
    shards, workers, source = len(made.shards), workers_of(made, figures), made.source_mb
    memory = (
        workers * figures["memory_mb"]
        + source / 1e3 * figures["memory_mb_a_gb"]
        + shards * figures["memory_mb_a_shard"]
    )
    terms = figures["terms_factor"] * source ** figures["terms_exponent"]
    record: dict[str, Any] = {
        "repositories": repositories,
        "source_gb": source / 1e3,
        "largest_repository_gb": made.largest / 1e3,
        "shards": shards,
        "workers": workers,
        "machines": math.ceil(workers / 16),
        "memory_gb": memory / 1e3,
        "memory_gb_a_worker": memory / 1e3 / workers,
        "store_gb": source * figures["index_a_source"] / 1e3,
        "sketches_gb": source * figures["sketch_mb_a_gb"] / 1e6,
        "terms_millions": terms / 1e6,
        "statistics_gb": terms * figures["term_bytes"] / 1e9,
        "repositories_gb": repositories * figures["row_bytes"] / 1e9,
        "naming_s": figures["naming_us"] / 1e6 * repositories,
        "build": asdict(build(made, workers, figures)),
        "search": {},
    }
    for way in WAYS:
        found = search(made, figures, way)
        count = len(found.latencies)
        record["search"][way] = {
            "p50_s": found.quantile(0.5),
            "p95_s": found.quantile(0.95),
            "messages": found.messages / count,
            "mb": found.bytes / count / 1e6,
            "coordinator_cpu_s": found.coordinator / count,
            "workers_cpu_s": found.workers / count,
            "queries_a_second_a_coordinator": count / found.coordinator,
            "queries_a_second_of_all_workers": workers * count / found.workers,
            "events": found.events,
        }
    record["breaks"] = [list(one) for one in breaks(record)]
    return record


def breaks(record: Mapping[str, Any]) -> Iterator[tuple[str, float, str]]:
    """(what is over its limit, how many times over, what to change), the worst first."""
    flat, both = record["search"]["flat"], record["search"]["both"]
    found = [
        (
            "naming repositories when a store is opened, s",
            record["naming_s"] / GOOD_SECONDS,
            "keep the numbers of repositories in the manifest",
        ),
        (
            "a search's p95, s",
            flat["p95_s"] / GOOD_SECONDS,
            "a cheaper first pass over vectors; smaller shards, one a core",
        ),
        (
            "the coordinator's CPU a query, s",
            flat["coordinator_cpu_s"] / GOOD_SECONDS,
            f"two levels: {both['coordinator_cpu_s']:.2g} s; more coordinators",
        ),
        ("bytes to and from a coordinator, of a second's link", flat["mb"] / 1250, "two levels"),
        ("connections of a client", record["workers"] / CONNECTIONS, "two levels; fewer workers with threads"),
        (
            "open files of the scheduler, at one a worker",
            record["workers"] / FILES_OPEN,
            "`ulimit -n`, or `ulimits` in compose.yaml",
        ),
        ("numbers of shards", record["shards"] / MOST_SHARDS, "shards of 1 GB and more"),
        ("memory of a worker, of 4 GB", record["memory_gb_a_worker"] / 4, "fewer shards a worker"),
        (
            "counts of all terms in a coordinator, of 8 GB",
            record["statistics_gb"] / 8,
            "ask the shards, or keep only terms in many",
        ),
        (
            "sketches in a coordinator, of 8 GB",
            record["sketches_gb"] / 8,
            "each second coordinator holds those of its group",
        ),
        ("rows of repositories in a coordinator, of 8 GB", record["repositories_gb"] / 8, "rows by shard"),
        (
            "the largest repository's hours to build, of 8",
            record["build"]["largest_hours"] / 8,
            "list its folders one by one: edges between them are lost",
        ),
        ("the scheduler's part of a build", record["build"]["scheduler_busy"], "larger shards"),
    ]
    yield from sorted((one for one in found if one[1] >= 1), key=lambda one: -one[1])


def table(records: Sequence[Mapping[str, Any]]) -> str:
    """A table of scales, in Markdown."""
    rows: list[tuple[str, list[str]]] = [
        ("repositories", [f"{r['repositories']:,}" for r in records]),
        ("source", [_gb(r["source_gb"]) for r in records]),
        ("shards of 500 MB", [f"{r['shards']:,}" for r in records]),
        ("worker processes (machines of 16)", [f"{r['workers']:,} ({r['machines']:,})" for r in records]),
        ("memory of all workers", [_gb(r["memory_gb"]) for r in records]),
        ("store, and disk of all workers", [_gb(r["store_gb"]) for r in records]),
        ("build, hours (CPU hours)", [f"{r['build']['hours']:.2g} ({r['build']['cpu_hours']:,.0f})" for r in records]),
        (
            "largest repository: size, hours alone",
            [f"{_gb(r['largest_repository_gb'])}, {r['build']['largest_hours']:.2g}" for r in records],
        ),
        (
            "distinct terms, and a table of their counts",
            [f"{r['terms_millions']:,.1f} M, {_gb(r['statistics_gb'])}" for r in records],
        ),
        ("sketches of 10 bits", [_gb(r["sketches_gb"]) for r in records]),
    ]
    for way in WAYS:
        found = [r["search"][way] for r in records]
        rows += [
            (f"{way}: p50 / p95, s", [f"{f['p50_s']:.2f} / {f['p95_s']:.2f}" for f in found]),
            (
                f"{way}: messages, MB, coordinator's CPU s",
                [f"{f['messages']:,.0f}, {f['mb']:,.1f}, {f['coordinator_cpu_s']:.2f}" for f in found],
            ),
        ]
    rows.append(
        ("CPU s of all workers a query, flat", [f"{r['search']['flat']['workers_cpu_s']:,.1f}" for r in records])
    )
    rows.append(
        (
            "queries/s that all workers can serve",
            [f"{r['search']['flat']['queries_a_second_of_all_workers']:.2g}" for r in records],
        )
    )
    rows.append(("breaks first (times over its limit)", [_first(r["breaks"]) for r in records]))
    head, *rest = rows
    lines = [f"| {head[0]} | {' | '.join(head[1])} |", f"|---|{'---:|' * len(records)}"]
    return "\n".join([*lines, *(f"| {name} | {' | '.join(cells)} |" for name, cells in rest)])


def _gb(value: float) -> str:
    return f"{value / 1e3:,.3g} TB" if value >= 1e3 else f"{value:,.3g} GB" if value >= 1 else f"{value * 1e3:,.3g} MB"


def _first(found: Sequence[Sequence[Any]]) -> str:
    return "; ".join(f"{what} ({times:,.3g})" for what, times, _ in found[:3]) or "nothing"


def draw(figures: Figures, records: Sequence[Mapping[str, Any]], folder: Path) -> list[Path]:
    """The pictures of the manual."""
    import matplotlib

    matplotlib.rcParams["svg.hashsalt"] = "codelens"
    from matplotlib import figure as drawing

    start: Any = drawing.Figure  # it has no types

    folder.mkdir(parents=True, exist_ok=True)
    counts = [2, 6, 20, 60, 200, 600, 2000, 6000, 20_000]
    made = [Fleet(0, [SHARD_MB] * count, SHARD_MB) for count in counts]
    found = {way: [search(one, figures, way, 6) for one in made] for way in WAYS}
    pictures: dict[str, tuple[str, Callable[[Outcome], float]]] = {
        "cluster-latency.svg": ("p95 of a search, s", lambda outcome: outcome.quantile(0.95)),
        "cluster-coordinator.svg": (
            "coordinator's CPU for a query, s",
            lambda outcome: outcome.coordinator / len(outcome.latencies),
        ),
    }
    for name, (label, value) in pictures.items():
        figure = start(figsize=(7, 4))
        axes: Any = figure.subplots()
        for way, outcomes in found.items():
            axes.plot(counts, [value(one) for one in outcomes], marker="o", markersize=3, label=way)
        axes.axhline(GOOD_SECONDS, color="grey", linewidth=0.8, linestyle=":")
        for record in records:
            axes.axvline(record["shards"], color="lightgrey", linewidth=0.8)
            axes.annotate(
                f"{record['repositories']:,}",
                (record["shards"], 1),
                xycoords=("data", "axes fraction"),
                va="top",
                fontsize=8,
            )
        axes.set(xscale="log", yscale="log", xlabel="shards of 500 MB (repositories above)", ylabel=label)
        axes.legend(frameon=False)
        figure.tight_layout()
        figure.savefig(folder / name, metadata={"Date": None})
    return [folder / name for name in pictures]


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table and what breaks, and write or draw them."""
    parser = argparse.ArgumentParser(prog="tools.simulate_cluster", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--repositories", type=int, nargs="+", default=SCALES, metavar="N", help="scales")
    parser.add_argument("--out", type=Path, metavar="FILE", help="write all figures as JSON")
    parser.add_argument("--draw", type=Path, metavar="FOLDER", help="draw the pictures of the manual")
    options = parser.parse_args(arguments)
    figures = read()
    records = [scale(repositories, figures) for repositories in options.repositories]
    print(table(records))
    for record in records:
        print(f"\n{record['repositories']:,} repositories:")
        print("\n".join(f"- {what}: {times:,.3g} times over; {change}" for what, times, change in record["breaks"]))
    if options.out:
        options.out.write_text(json.dumps(records, indent=1) + "\n", encoding="utf-8")
    if options.draw:
        print("\n".join(map(str, draw(figures, records, options.draw))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
