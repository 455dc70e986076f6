"""Measured figures → the costs of a message, a query, a megabyte: `python -m tools.cluster_costs SPEED LARGE SKETCHES…`.

SPEED is written by `python -m tools.cluster_speed`, and so is LARGE, about one shard as large as those of a fleet; SKETCHES by
`python -m tools.cluster_sketches`, one for each size of shards.
Costs are fitted by least squares with no negative part. The simulation reads them from tools/cluster_costs.json.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy
from scipy.optimize import nnls

COSTS = Path(__file__).with_name("cluster_costs.json")
KIND = "plain"  # The queries that people type: names and sentences
ALONE = "1"  # The layout of one shard. Of LARGE, its queries are repeated at all scales.


@dataclass(frozen=True, slots=True)
class Figures:
    """Costs by name, and the rounds of measured queries."""

    values: Mapping[str, float]
    queries: Sequence[Mapping[str, Any]]
    """`coordinator_ms`; for each round (shards, ids, bytes to, bytes from, mean, deviation, greatest of ms, empty answers)."""
    ground_mb: float  # Source in the one shard of these queries
    latencies: Mapping[str, Mapping[str, Mapping[str, float]]]
    """local or dask → number of shards → p50, p95 in milliseconds."""
    shard_mb: Mapping[str, float]
    busy: Mapping[str, float]
    """Number of shards → wall time over CPU time in one process: 1 on a machine that does nothing else."""

    def __getitem__(self, name: str) -> float:
        return self.values[name]


def read(file: Path = COSTS) -> Figures:
    """The costs in a file."""
    record = json.loads(file.read_text(encoding="utf-8"))
    values = {name: row["value"] for part in ("measured", "assumed") for name, row in record[part].items()}
    return Figures(
        values, record["queries"], record["ground_mb"], record["latencies"], record["shard_mb"], record["busy"]
    )


def fitted(rows: Iterable[Sequence[float]], targets: Iterable[float]) -> list[float]:
    """Factors of the columns, none negative; relative errors count, so that small cases do as much as large ones."""
    table, wanted = numpy.array(list(rows), dtype=float), numpy.array(list(targets), dtype=float)
    weights = 1 / numpy.maximum(wanted, numpy.median(wanted) / 10)
    found, _ = nnls(table * weights[:, None], wanted * weights)
    return [float(value) for value in found]


def power(rows: Sequence[Sequence[float]]) -> tuple[float, float]:
    """(factor, exponent) of y = factor * x ** exponent."""
    logs = numpy.log(numpy.array(rows, dtype=float))
    exponent, factor = numpy.polyfit(logs[:, 0], logs[:, 1], 1)
    return float(numpy.exp(factor)), float(exponent)


def costs(
    speed: Mapping[str, Any], alone: Mapping[str, Any], sketches: Sequence[Mapping[str, Any]]
) -> dict[str, tuple[float, str, str]]:
    """Name → (value, unit, how it was found). `alone` is the record of one large shard."""
    local, dask = speed["local"] | {"large": alone["local"][ALONE]}, speed["dask"]
    queries = [query for layout in local.values() for query in layout[KIND]["profiles"]]
    sizes = [[1, *_sent(query)] for query in queries]
    own, message, size = fitted(sizes, [query["coordinator_ms"] for query in queries])
    whole = {
        name: [row for query in layout[KIND]["profiles"] for row in query["rounds"] if not row[1]]
        for name, layout in local.items()
    }
    few = [row for layout in local.values() for query in layout[KIND]["profiles"] for row in query["rounds"] if row[1]]
    megabytes = {name: layout["source_mb"] / layout["shards"] for name, layout in local.items()}
    service = fitted([[1, megabytes[name]] for name in whole], [_mean(rows) for rows in whole.values()])
    ids = fitted([[row[0], row[1]] for row in few], [row[0] * row[4] for row in few])
    spread = statistics.median(
        row[5] / row[4] for name, rows in whole.items() if local[name]["shards"] > 1 for row in rows if row[4]
    )
    rounds = {name: layout["empty_round"] for name, layout in dask.items()}
    wall = fitted([[1, int(name)] for name in rounds], [one["wall_ms"] for one in rounds.values()])
    client = statistics.median(one["client_cpu_ms_a_message"] for name, one in rounds.items() if int(name) > 1)
    built = [row for name, row in speed["built"].items() if name.startswith(f"{ALONE}/")]
    source, index = (sum(row[what] for row in built) / 1e6 for what in ("source_bytes", "index_bytes"))
    memory = fitted(
        [[1, layout["source_mb"] / 1e3, layout["shards"]] for layout in local.values()],
        [layout["memory_mb"]["warm"]["pss"] for layout in local.values()],
    )
    got = fitted([[1, _sent(query)[0]] for query in queries], [_sent(query)[1] for query in queries])
    small, large = sketches[0], sketches[-1]
    words = power([*small["vocabulary"], *(pair for one in sketches[1:] for pair in one["vocabulary"])])
    best = [one["bits"]["10"] for one in (small, large)]
    way = "fit over the layouts"
    return {
        "query_cpu_ms": (own, "ms of the coordinator's CPU a query, whatever the number of shards", way),
        "merge_cpu_ms": (message, "ms of the coordinator's CPU a message, to pack, unpack, lift and merge", way),
        "merge_cpu_ms_a_kb": (size * 1e3, "ms of the coordinator's CPU a kB of answers", way),
        "got_kb": (got[0] / 1e3, "kB of answers a query, whatever the number of shards", way),
        "got_kb_a_message": (got[1] / 1e3, "kB of answers for each message more", way),
        "client_cpu_ms": (client, "ms of the coordinator's CPU a message, for Dask itself", "rounds that ask nothing"),
        "round_trip_ms": (wall[0], "ms of a round that asks nothing, with no shards", "rounds that ask nothing, fit"),
        "service_ms": (service[0], "ms of a shard's CPU a message that goes to all shards", way),
        "service_ms_a_mb": (service[1], "the same for each MB of source in the shard", way),
        "few_ms": (ids[0], "ms of a shard's CPU a message that names what it wants", way),
        "few_ms_an_id": (ids[1], "the same for each id named", way),
        "spread": (spread, "standard deviation of a shard's time in a round over the mean", "median of rounds"),
        "worker_cpu_ms": (
            _worker(local, dask),
            "ms of a worker's CPU a message, except for its shard",
            "workers' CPU less that of shards here",
        ),
        "index_cpu_s_a_mb": (
            sum(row["cpu_seconds"] for row in built) / source,
            "s of CPU to index a MB",
            f"layout {ALONE}",
        ),
        "index_a_source": (index / source, "bytes of index a byte of source", f"layout {ALONE}"),
        "memory_mb": (memory[0], "MB (PSS) of a process that searches, without shards", way),
        "memory_mb_a_gb": (memory[1], "MB (PSS) for a GB of source, open and warm", way),
        "memory_mb_a_shard": (memory[2], "MB (PSS) for each shard, open and warm", way),
        "terms_factor": (words[0], "distinct terms of a MB of source: factor of Heaps' law", "fit over shards"),
        "terms_exponent": (words[1], "exponent of Heaps' law", "fit over shards"),
        "sketch_mb_a_gb_small": (
            best[0]["mb_a_gb_of_source"],
            "MB of sketches (10 bits) a GB of source",
            f"{small['shards']} shards",
        ),
        "sketch_mb_a_gb": (
            best[1]["mb_a_gb_of_source"],
            "MB of sketches (10 bits) a GB of source",
            f"{large['shards']} shards",
        ),
        "sketch_false": (
            best[0]["false_positives"],
            "part of absent terms that seem to be there",
            f"{small['shards']} shards",
        ),
        "sketch_lookup_us": (best[1]["lookup_us"], "µs to look a term up in a sketch", f"{large['shards']} shards"),
        "lookups": (
            _lookups(best[1], large),
            "terms that a query looks up in the sketch of each shard",
            "pairs of the queries",
        ),
        "naming_us": (
            1e6 * statistics.median(row["seconds"] / row["repositories"] for row in speed["starting"]),
            "µs for each repository, to name it when a store is opened",
            "500 to 2,000 repositories",
        ),
        "row_bytes": (
            speed["starting"][-1]["bytes_each"],
            "bytes a repository in the coordinator's memory",
            "tracemalloc",
        ),
        "avoided_small": (
            _part(best[0]),
            "part of a query's messages that sketches avoid",
            f"{small['shards']} shards",
        ),
        "avoided": (_part(best[1]), "part of a query's messages that sketches avoid", f"{large['shards']} shards"),
    }


def _busy(found: Mapping[str, Any]) -> float:
    spent = found["coordinator_cpu_ms"]["mean"] + found["shards_cpu_ms"]["mean"]
    return max(1.0, float(found["wall_ms"]["mean"] / spent))


def _sent(query: Mapping[str, Any]) -> tuple[float, float]:
    return sum(row[0] for row in query["rounds"]), sum(row[3] for row in query["rounds"])


def _mean(rows: Sequence[Sequence[float]]) -> float:
    return sum(row[0] * row[4] for row in rows) / sum(row[0] for row in rows)


def _worker(local: Mapping[str, Any], dask: Mapping[str, Any]) -> float:
    """The median over layouts of several shards."""
    found = []
    for name, layout in dask.items():
        here = local[name][KIND]
        extra = layout[KIND]["workers_cpu_ms"] - here["shards_cpu_ms"]["mean"]
        found.append(max(0.0, extra / here["messages"]["mean"]))
    return float(statistics.median(found))


def _part(sketch: Mapping[str, Any]) -> float:
    return float(sketch[KIND]["messages avoided"] / sketch[KIND]["messages"])


def _lookups(sketch: Mapping[str, Any], measured: Mapping[str, Any]) -> float:
    found = sketch[KIND]
    return float((found["word pairs"] + found["name pairs"]) / measured["shards"] / measured["queries"])


ASSUMED = {
    "latency_ms": (0.25, "ms one way between machines", "two switches of a data centre"),
    "bandwidth_mb_s": (1250, "MB/s of a machine's link", "10 Gbit/s"),
    "straggling": (
        0.002,
        "part of messages that take ten times as long",
        "cold pages, neighbours, pauses; not measured",
    ),
    "scheduler_ms": (0.25, "ms of Dask's scheduler a task", "documented: 4000 tasks a second"),
    "repository_mb": (10, "MB of source a repository, mean", "10 TB over a million repositories"),
    "repository_spread": (2.0, "sigma of the logarithm of a repository's size", "most are small, few are large"),
    "process_gb": (4, "GB of memory for each worker process", "16 cores and 64 GB a machine"),
    "shards_a_worker": (4, "shards of 500 MB a worker process", "chosen: 2 GB of source"),
    "worker_days": (30, "days between failures of a machine", "chosen"),
    "term_bytes": (
        90,
        "bytes a term with its count in the coordinator's memory",
        "a Python dict with texts; by sys.getsizeof",
    ),
    "row_bytes": (
        900,
        "bytes a repository in the coordinator's memory",
        "its row, home, name and numbers; by sys.getsizeof",
    ),
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the costs."""
    parser = argparse.ArgumentParser(prog="tools.cluster_costs", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("speed", type=Path, metavar="SPEED")
    parser.add_argument("large", type=Path, metavar="LARGE")
    parser.add_argument("sketches", type=Path, nargs="+", metavar="SKETCHES", help="most shards first")
    parser.add_argument("--out", type=Path, default=COSTS, metavar="FILE")
    options = parser.parse_args(arguments)
    speed, large, *sketches = (
        json.loads(file.read_text(encoding="utf-8")) for file in (options.speed, options.large, *options.sketches)
    )
    found = costs(speed, large, sketches)
    ground = large["local"][ALONE]
    record = {
        "about": "Written by `python -m tools.cluster_costs`; every figure says its unit and where it is from.",
        "commands": [
            "python -m tools.cluster_layouts TREES FOLDER",
            "python -m tools.cluster_speed FOLDER --out SPEED",
            "python -m tools.cluster_layouts MORE_TREES LARGE_FOLDER --shards 1",
            "python -m tools.cluster_speed LARGE_FOLDER --shards 1 --out LARGE",
            "python -m tools.cluster_sketches FOLDER --shards 96 --out SKETCHES96",
            "python -m tools.cluster_sketches FOLDER --shards 6 --out SKETCHES6",
            "python -m tools.cluster_costs SPEED LARGE SKETCHES96 SKETCHES6",
        ],
        "machine": speed["machine"],
        "measured": _rows(found),
        "assumed": _rows(ASSUMED),
        "ground_mb": ground["source_mb"],
        "shard_mb": {name: round(layout["source_mb"] / layout["shards"], 2) for name, layout in speed["local"].items()},
        "busy": {name: round(_busy(layout[KIND]), 3) for name, layout in speed["local"].items()},
        "latencies": {
            way: {name: layout[KIND]["wall_ms"] for name, layout in speed[way].items()} for way in ("local", "dask")
        },
        "queries": ground[KIND]["profiles"],
    }
    head = json.dumps({name: value for name, value in record.items() if name != "queries"}, indent=1)
    tail = ",\n".join(f"  {json.dumps(query)}" for query in ground[KIND]["profiles"])
    options.out.write_text(f'{head[:-2]},\n "queries": [\n{tail}\n ]\n}}\n', encoding="utf-8")
    for name, (value, unit, way) in found.items():
        print(f"{name:24} {value:12.4f} {unit} ({way})")
    return 0


def _rows(found: Mapping[str, tuple[float, str, str]]) -> dict[str, dict[str, Any]]:
    return {
        name: {"value": float(f"{value:.5g}"), "unit": unit, "from": way} for name, (value, unit, way) in found.items()
    }


if __name__ == "__main__":
    sys.exit(main())
