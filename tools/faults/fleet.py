"""A fleet that is indexed while its workers and its coordinator are killed: nothing is lost, and nothing is indexed twice.

The workers outlive a killed coordinator, as those of other machines do: they end the shard that they are at.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from codelens.config import Settings
from codelens.fleet.manifest import FleetManifest
from codelens.fleet.open import FleetPlace
from codelens.fleet.sources import read_fleet
from codelens.fleet.stores import open_store
from codelens.model.request import SearchOptions
from tools.campaign import Campaign, Report, expect

REPOSITORIES = 12
FILES = 30
MOST = 60_000  # Bytes of source in a shard: two repositories
KEPT = (".db", ".json", ".sketch")  # Suffixes of files that a store keeps
MOST_KILLS = 4  # Kills in one attempt
RUN_SECONDS = 120.0  # Longest run of a coordinator; it takes 3 s
UNLIMITED = Settings(query_seconds=0)


def write_repository(root: Path, version: int) -> None:
    """Write a tree; a function is named by the tree and the version."""
    root.mkdir(parents=True, exist_ok=True)
    for number in range(FILES):
        lines = [f'def step_{number}_{i}(items):\n    """Do step {i}."""\n    return items[{i}]\n' for i in range(12)]
        own = f"def only_{root.name}_{version}():\n    return {number}\n" if number == 0 else ""
        (root / f"part{number}.py").write_text(own + "\n".join(lines))


class Fleet:
    """Clones, a store, and a cluster of two workers that are started again when they die."""

    def __init__(self, folder: Path, cluster: Any) -> None:
        self.clones, self.store, self._cluster = folder / "clones", folder / "store", cluster
        self._log = folder / "log"
        self.versions: dict[str, int] = {}

    def fresh(self) -> None:
        """Start with no store, and the first version of all repositories."""
        shutil.rmtree(self.store, ignore_errors=True)
        shutil.rmtree(self.clones, ignore_errors=True)
        for number in range(REPOSITORIES):
            self.change(f"r{number:02}", 1)

    def change(self, name: str, version: int) -> None:
        self.versions[name] = version
        write_repository(self.clones / name, version)

    def start(self) -> subprocess.Popen[bytes]:
        """A coordinator, which prints a line for each shard to the log."""
        command = [sys.executable, "-m", "tools.faults.fleet", self._cluster.scheduler_address]
        with self._log.open("wb") as log:
            return subprocess.Popen([*command, str(self.clones), str(self.store)], stdout=log, stderr=log)

    def lines(self) -> int:
        return self._log.read_bytes().count(b"\n")

    def finish(self, running: subprocess.Popen[bytes]) -> None:
        """Wait for its end; raise Failed unless it succeeds."""
        code = running.wait(RUN_SECONDS)
        expect(code == 0, f"a whole run ended with {code}: {self._log.read_text()[-1500:]}")

    def kill_worker(self, luck: random.Random) -> None:
        """Kill the process of a worker; its nanny starts another."""
        nannies = [worker for worker in self._cluster.workers.values() if worker.pid]
        if nannies:
            with suppress(ProcessLookupError):
                os.kill(luck.choice(nannies).pid, signal.SIGKILL)

    def check(self) -> None:
        """Check that each repository is there once, as it is now, and that no shard was built twice."""
        manifest = FleetManifest.read(open_store(str(self.store)))
        expect(manifest.failures == {}, f"failures: {manifest.failures}")
        names = [name for shard in manifest.shards for name in shard.repositories]
        expect(sorted(names) == sorted(self.versions), f"in the shards: {names}")
        expect([r.name for r in manifest.repositories] == [*dict.fromkeys(self.versions)], "another order")
        index = FleetPlace(str(self.store), require_complete=True).open(UNLIMITED)
        for name, version in self.versions.items():
            for asked in range(1, version + 1):
                word = f"only_{name}_{asked}"
                found = index.search(f"name:{word}", SearchOptions(limit=5))
                whole = [hit.unit.name for hit in found.hits if hit.unit.name == word]
                expect(len(whole) == (asked == version), f"{word} of {version} found {len(whole)} times")
        built = Counter(file.name.partition("-")[0] for file in (self.store / "shards").glob("*.db"))
        twice = [name for name, count in built.items() if count > 1]
        expect(not twice, f"built twice: {twice}")
        left = [file.name for file in (self.store / "shards").iterdir() if file.suffix not in KEPT]
        expect(len(left) <= MOST_KILLS, f"files left: {left}")


def run(count: int, seed: int, folder: Path, report: Report) -> None:
    """Kill until `count` kills have fallen into runs."""
    if sys.platform == "win32":
        report.note("skipped: needs signals")
        return
    from distributed import LocalCluster

    kept = {name: os.environ.get(name) for name in ("XDG_CACHE_HOME", "XDG_DATA_HOME")}
    os.environ.update({name: str(folder / "home") for name in kept})
    try:
        with LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address="127.0.0.1:0", silence_logs=50
        ) as cluster:
            fleet, number = Fleet(folder, cluster), seed
            while report.tried < count:
                with report.attempt(number, tries=0):
                    _attempt(fleet, random.Random(number), report)
                number += 1
    finally:
        for name, value in kept.items():
            os.environ.pop(name)
            if value is not None:
                os.environ[name] = value


def _attempt(fleet: Fleet, luck: random.Random, report: Report) -> None:
    """Index a new fleet or a changed one, with kills; then run to the end and check."""
    fleet.fresh()
    operation = luck.choice(("build", "update"))
    if operation == "update":
        fleet.finish(fleet.start())
        for name in luck.sample(sorted(fleet.versions), 5):
            fleet.change(name, 2)
    running = fleet.start()
    for _ in range(luck.randint(1, MOST_KILLS)):
        victim = luck.choice(("worker", "coordinator"))
        awaited, pause = luck.randrange(7), luck.random() * 0.8
        until = time.monotonic() + RUN_SECONDS
        while running.poll() is None and fleet.lines() < awaited and time.monotonic() < until:
            time.sleep(0.01)
        time.sleep(pause)
        if running.poll() is not None:  # the run was faster
            break
        report.tried += 1
        report.counts[f"{operation}, {victim} after {min(fleet.lines(), 7)} lines"] += 1
        if victim == "worker":
            fleet.kill_worker(luck)
        else:
            running.kill()
            running.wait()
            running = fleet.start()
    fleet.finish(running)
    fleet.finish(fleet.start())
    fleet.check()


def coordinate(scheduler: str, clones: str, store: str) -> None:
    """Index a fleet, with a line on stdout for each step."""
    from distributed import Client

    from codelens.fleet.build import index_fleet

    with Client(scheduler) as client:
        report = partial(print, flush=True)
        index_fleet(client, read_fleet(Path(clones)), store, Settings(), most=MOST, report=report)


CAMPAIGNS = (Campaign("fleet", run, 50, "kills of workers and coordinators while a fleet is indexed"),)

if __name__ == "__main__":
    coordinate(*sys.argv[1:])
