"""Fleets whose processes are killed, and stores whose files are damaged.

A fleet is indexed while its workers and its coordinator are killed: nothing is lost, and nothing is indexed twice. The
workers outlive a killed coordinator, as those of other machines do: they end the shard that they are at.

A store with a damaged, lost or exchanged file answers as before, or names the command that mends it; `codelens cluster index`
makes it whole.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from codelens.config import Settings
from codelens.errors import CodelensError
from codelens.fleet.build import index_fleet
from codelens.fleet.manifest import FleetManifest
from codelens.fleet.open import _RESTING, FleetPlace
from codelens.fleet.sources import read_fleet
from codelens.fleet.stores import open_store
from codelens.fleet.workers import open_client
from codelens.model.request import SearchOptions
from codelens.server.http.keys import add_key, read_keys
from tools.campaign import Campaign, Report, expect
from tools.faults.damage import UNFORESEEN, Said, ask, isolate
from tools.program import split_commands

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


def run_damage(count: int, seed: int, folder: Path, report: Report) -> None:
    """Damage a file of a store or the file of keys `count` times."""
    with isolate(folder):
        stores = _Stores(folder)
        with open_client("", 1) as client:
            stores.build(client)
            for number in range(seed, seed + count):
                with report.attempt(number):
                    report.counts[stores.try_damage(random.Random(number), client)] += 1


def _alter(luck: random.Random, content: bytes, first: int, last: int) -> bytes:
    """Change some bytes between two places."""
    altered = bytearray(content)
    at = luck.randrange(first, max(first + 1, last))
    for place in range(at, min(len(content), at + luck.choice((1, 4, 300)))):
        altered[place] ^= luck.randrange(1, 256)
    return bytes(altered)


DAMAGES: Mapping[str, Callable[[random.Random, bytes], bytes | None]] = {
    "header": lambda luck, content: _alter(luck, content, 0, min(100, len(content))),
    "middle": lambda luck, content: _alter(luck, content, len(content) // 4, len(content) * 3 // 4),
    "tail": lambda luck, content: _alter(luck, content, len(content) - 40, len(content)),
    "anywhere": lambda luck, content: _alter(luck, content, 0, len(content)),
    "shorter": lambda luck, content: content[: luck.randrange(len(content))],
    "longer": lambda luck, content: content + luck.randbytes(luck.choice((1, 4096))),
    "emptied": lambda luck, content: b"",
    "lost": lambda luck, content: None,
}
"""Kind of damage → the damaged content, None to remove the file."""
KINDS = ("shard", "record", "sketch", "manifest", "keys")
QUESTIONS = split_commands(
    "search only_r01_1; search 'step 3 of items' --json -m 50; search -F 'return items[7]' -c; search only_r02_1 --mode exact;"
    "files part1 --json; refs only_r03_1; symbols r02/part0.py; search only_r04_9; why 'do step' --json"
)
MENDS = ("`codelens cluster index", "`codelens serve keys add")


class _Stores:
    """A whole store with its keys, copied for each attempt, and what it answers."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._clones = folder, folder / "clones"
        self._store, self._whole = folder / "store", folder / "whole"
        self._keys, self._whole_keys = folder / "keys/keys.json", folder / "whole-keys.json"
        self._answers: dict[tuple[str, ...], Said] = {}

    def build(self, client: Any) -> None:
        settings = Path(os.environ["XDG_CONFIG_HOME"], "codelens/config.toml")
        settings.parent.mkdir(parents=True)
        settings.write_text("query_seconds = 0\n")
        for number in range(5):
            write_repository(self._clones / f"r{number:02}", 1)
        self._index(client)
        add_key(self._keys, "anna")
        add_key(self._keys, "ben", ["r01", "r02"])
        shutil.copytree(self._store, self._whole)
        shutil.copy2(self._keys, self._whole_keys)
        self._answers = {question: self._ask(*question) for question in QUESTIONS}
        codes = {question: said.code for question, said in self._answers.items() if said.code > 1}
        expect(not codes, f"of a whole store: {codes}")

    def try_damage(self, luck: random.Random, client: Any) -> str:
        """Lay the whole store, damage a file, and check what is given and that it is mended. Returns what was damaged."""
        self._forget_connections()
        shutil.rmtree(self._store)
        shutil.copytree(self._whole, self._store)
        shutil.copy2(self._whole_keys, self._keys)
        kind, damage = luck.choice(KINDS), luck.choice((*DAMAGES, "swapped"))
        file = self._choose_file(luck, kind)
        self._damage(luck, file, kind, damage)
        if kind == "record":  # which is read when the manifest is lost, too
            (self._store / "manifest.json").unlink()
        name = f"{kind}, {damage}"
        if kind == "keys":
            self._check_keys(name)
            return name
        for question in luck.sample(QUESTIONS, len(QUESTIONS)):
            said = self._ask(*question)
            expect(self._is_right(question, said) or self._names_mending(said), f"{name}: {question}: {said}")
        shown = self._ask("status", "--verify")
        expect(shown.code == 0 or self._names_mending(shown), f"{name}: status: {shown}")
        is_reported = b"damaged  " in shown.out or shown.code == 3
        expect(is_reported or kind not in ("shard", "sketch"), f"{name}: status calls it good: {shown}")
        manifest = self._index(client)
        self._forget_connections()
        expect(not manifest.failures, f"{name}: index: {manifest.failures}")
        for question in QUESTIONS:
            said = self._ask(*question)
            is_same = self._is_right(question, said) and said.err == self._answers[question].err
            expect(is_same, f"{name}: after index: {question}: {said}")
        shown = self._ask("status", "--verify")
        expect(shown.code == 0 and b"damaged  " not in shown.out, f"{name}: after index: status: {shown}")
        return name

    @staticmethod
    def _forget_connections() -> None:
        """Close connections to the last store, whose files may have the same inodes and times."""
        while _RESTING:
            _RESTING.pop().shards.close()

    def _choose_file(self, luck: random.Random, kind: str) -> Path:
        if kind == "manifest":
            return self._store / "manifest.json"
        if kind == "keys":
            return self._keys
        suffix = {"shard": ".db", "record": ".json", "sketch": ".sketch"}[kind]
        return luck.choice(sorted((self._store / "shards").glob(f"*{suffix}")))

    def _damage(self, luck: random.Random, file: Path, kind: str, damage: str) -> None:
        before = file.stat()
        if damage == "swapped":
            others = [
                other for other in (self._store / "shards").iterdir() if other.suffix == file.suffix and other != file
            ]
            changed: bytes | None = luck.choice(sorted(others)).read_bytes()
        else:
            changed = DAMAGES[damage](luck, file.read_bytes())
        if changed is None:
            file.unlink()
            return
        file.write_bytes(changed)
        if luck.random() < 0.5:  # as a failing disk does
            os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))

    def _check_keys(self, name: str) -> None:
        """Check that a key sees what it saw, or nothing, and that a damaged file names what makes a new one."""
        whole = {row.sha256: row.repositories for row in read_keys(self._whole_keys)}
        try:
            rows = read_keys(self._keys)
        except CodelensError as fault:
            expect(any(command in fault.hint for command in MENDS), f"{name}: {fault}, {fault.hint}")
            self._keys.unlink()
            rows = ()
        expect(all(whole.get(row.sha256) == row.repositories for row in rows), f"{name}: {rows}")

    def _index(self, client: Any) -> FleetManifest:
        """Index as a new coordinator does, which has no results of earlier runs."""
        from distributed import Client

        with Client(client.scheduler.address) as coordinator:
            return index_fleet(coordinator, read_fleet(self._clones), str(self._store), UNLIMITED, most=MOST)

    def _ask(self, *question: str) -> Said:
        return ask(self._folder, ("cluster", *question, "--store", str(self._store)))

    def _is_right(self, question: tuple[str, ...], said: Said) -> bool:
        expected = self._answers[question]
        return (said.code, _leave_index_out(said.out)) == (expected.code, _leave_index_out(expected.out))

    def _names_mending(self, said: Said) -> bool:
        is_foreseen = not any(sign in said.err for sign in UNFORESEEN)
        return is_foreseen and any(command in said.err for command in MENDS)


def _leave_index_out(out: bytes) -> Any:
    """The output without the description of the index, which names the state of the store."""
    if not out.startswith(b"{"):
        return out
    record = json.loads(out)
    record.pop("index", None)
    return record


def coordinate(scheduler: str, clones: str, store: str) -> None:
    """Index a fleet, with a line on stdout for each step."""
    from distributed import Client

    with Client(scheduler) as client:
        report = partial(print, flush=True)
        index_fleet(client, read_fleet(Path(clones)), store, Settings(), most=MOST, report=report)


CAMPAIGNS = (
    Campaign("fleet", run, 50, "kills of workers and coordinators while a fleet is indexed"),
    Campaign("fleet-damage", run_damage, 60, "stores with a file damaged, lost or exchanged"),
)

if __name__ == "__main__":
    coordinate(*sys.argv[1:])
