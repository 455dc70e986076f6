"""The cost of indexing a fleet on 1, 2, … workers, next to a plain loop of `codelens index` over the same shards.

python -m tools.fleet_speed TREES [--workers 0 1 2] [--most BYTES] [--out FILE.json]

TREES is a folder of clones. 0 workers are the plain loop: one index file for each shard, one process at a time. CPU seconds are
those of all processes; `others` are the CPU seconds that the rest of the machine took meanwhile: figures need a quiet machine.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from codelens.config import Settings
from codelens.fleet.manifest import FleetManifest, Member, group_into_shards
from codelens.fleet.sources import FleetSource, look, read_fleet
from codelens.fleet.stores import open_store
from codelens.fleet.workers import open_client
from codelens.processes.python import codelens_command

MOST = 10_000_000  # Bytes of source in a shard, so that some twenty repositories make several
SAMPLE_SECONDS = 0.1


class Watched:
    """Wall time, CPU time of all processes started meanwhile, CPU time of others, and the largest memory of a worker."""

    def __enter__(self) -> Watched:
        self._begun, self._own, self._all = time.perf_counter(), _own_seconds(), _machine_seconds()
        self._peak, self._over = 0, threading.Event()
        self._thread = threading.Thread(target=self._sample)
        self._thread.start()
        return self

    def __exit__(self, *fault: object) -> None:
        self._over.set()
        self._thread.join()
        cpu = _own_seconds() - self._own
        self.figures = {
            "seconds": round(time.perf_counter() - self._begun, 2),
            "cpu_seconds": round(cpu, 2),
            "others_cpu_seconds": round(max(0.0, _machine_seconds() - self._all - cpu), 2),
            "peak_mb": round(self._peak / 1e6),
        }

    def _sample(self) -> None:
        """Note the memory of the process with the most, with its children: a worker, or the plain indexer."""
        import psutil

        while not self._over.wait(SAMPLE_SECONDS):
            for process in psutil.Process().children(recursive=True):
                try:
                    family = [process, *process.children(recursive=True)]
                    if not any("fleet_speed" in part for part in process.cmdline()):
                        self._peak = max(self._peak, sum(one.memory_info().rss for one in family))
                except psutil.Error:
                    continue


def _own_seconds() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def _machine_seconds() -> float:
    """CPU seconds that the machine was busy."""
    user, nice, system, _, _, interrupts, soft = map(int, Path("/proc/stat").read_text().split()[1:8])
    return (user + nice + system + interrupts + soft) / os.sysconf("SC_CLK_TCK")


def plain(groups: Sequence[Sequence[FleetSource]], folder: Path) -> None:
    """A loop over shards."""
    for number, group in enumerate(groups):
        command = [*codelens_command(), "index", "--no-config", "--quiet", "--jobs", "1"]
        subprocess.run([*command, "--db", str(folder / f"{number}.db"), *(s.path for s in group)], check=True)


def measure(trees: Path, workers: int, most: int) -> dict[str, Any]:
    """The figures of one way to index."""
    fleet = read_fleet(trees)
    members = {source.name: Member(look(source).bytes) for source in fleet}
    sources = {source.name: source for source in fleet}
    groups = [[sources[name] for name in names] for names in group_into_shards(members, most, [])]
    row: dict[str, Any] = {"workers": workers, "repositories": len(fleet), "shards": len(groups)}
    with tempfile.TemporaryDirectory(prefix="fleet-speed-") as folder:
        with Watched() as watched:
            if workers:
                command = [sys.executable, "-m", "tools.fleet_speed", str(trees), "--most", str(most)]
                said = subprocess.run([*command, "--one", str(workers), folder], stdout=subprocess.PIPE, check=True)
                row["indexing_seconds"] = json.loads(said.stdout)
            else:
                plain(groups, Path(folder))
        if workers:
            manifest = FleetManifest.read(open_store(folder))
            row["source_mb"] = round(sum(r.bytes for r in manifest.repositories) / 1e6, 1)
            row["index_mb"] = round(sum(shard.bytes for shard in manifest.shards) / 1e6, 1)
            row["failures"] = manifest.failures
        else:
            row["index_mb"] = round(sum(file.stat().st_size for file in Path(folder).glob("*.db")) / 1e6, 1)
    return row | watched.figures


def one(trees: Path, workers: int, store: str, most: int) -> float:
    """Index with a cluster of its own; the seconds without its start and end."""
    from codelens.fleet.build import index_fleet

    with open_client("", workers) as client:
        client.wait_for_workers(workers)
        begun = time.perf_counter()
        index_fleet(client, read_fleet(trees), store, Settings(), most=most)
        return time.perf_counter() - begun


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.fleet_speed", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("trees", type=Path, metavar="TREES", help="a folder of clones")
    parser.add_argument("--workers", type=int, nargs="+", default=[0, 1, 2], metavar="N", help="0 is the plain loop")
    parser.add_argument("--most", type=int, default=MOST, metavar="BYTES", help="source in a shard")
    parser.add_argument("--out", type=Path, metavar="FILE", help="write the figures as JSON")
    parser.add_argument("--one", nargs=2, metavar=("N", "STORE"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(round(one(options.trees, int(options.one[0]), options.one[1], options.most), 2))
        return 0
    rows = []
    for workers in options.workers:
        rows.append(measure(options.trees, workers, options.most))
        print(json.dumps(rows[-1]), flush=True)
    if options.out:
        options.out.write_text(json.dumps({"cores": os.cpu_count(), "rows": rows}, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
