"""Measures what a search over shards costs: `python -m tools.cluster_speed FOLDER [--queries N] [--shards 1,6,24,96] --out FILE`.

FOLDER holds layouts of `python -m tools.cluster_layouts`: the same repositories in so many shards. The queries are `questions`
of tests/cluster/queries.py: `plain` are names and sentences as they are typed, `all` is each of its forty shapes in turn.
Each layout is measured in a process of its own, first with shards in that process, then over Dask with worker processes.
"""

from __future__ import annotations

import argparse
import json
import os
import pickle
import platform
import statistics
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import psutil

from codelens.cluster.calls import find_call
from codelens.cluster.numbers import Home, Numbers
from codelens.cluster.shards import IN_PARTS, REHEARSE, Request, SetReference, Shard, Transport
from codelens.cluster.store import ShardedStore
from codelens.fleet.holding import ShardsOfWorkers
from codelens.fleet.manifest import ShardEntry
from codelens.model.code import RepositoryId, UnitRow
from codelens.store.documents import RepositoryRow
from codelens.store.store import Store
from tests.cluster.local import LocalShards, sharded
from tests.cluster.queries import Question, answer_bytes, questions
from tools.cluster_layouts import UNLIMITED, costs, files

SHAPES = 40
PLAIN = frozenset({0, 1, 2, 5, 25, 26})
"""Places of shapes that are names or sentences and no more: a name, a sentence, two names, a qualified name, a question, a fix."""
EVERY = 11
"""Each so manieth document gives units to make queries from; all of them would take longer than the measurement."""
SEED = 20
EMPTY_CALLS = 50
STARTING = (500, 1000, 2000)  # Numbers of repositories whose naming is measured


class Round(NamedTuple):
    """One round of a query."""

    methods: str
    sent: int  # Bytes to all shards
    got: int  # Bytes from all shards
    seconds: list[float]  # CPU seconds of each shard that was asked, its packing and unpacking included
    empty: int  # Shards of which all answers were empty: perfect routing would not have asked them
    ids: int
    """Units, documents or nodes that it names, which bound the shards that it asks; 0 if it asks all, however many there are."""


class Timed:
    """Shards in this process that are sent bytes, as over a network; keeps what each round cost."""

    def __init__(self, shards: Sequence[Shard]) -> None:
        self._shards = shards
        self.rounds: list[Round] = []

    def ask(self, messages: Mapping[int, Sequence[Request]]) -> dict[int, list[Any]]:
        """One after the other."""
        packed = {number: pickle.dumps(message) for number, message in messages.items()}
        seconds, came = [], {}
        for number, message in packed.items():
            start = time.thread_time()
            came[number] = pickle.dumps(self._shards[number].answers(pickle.loads(message)))
            seconds.append(time.thread_time() - start)
        answers = {number: pickle.loads(answer) for number, answer in came.items()}
        methods = dict.fromkeys(request.method for message in messages.values() for request in message)
        empty = sum(not any(map(_holds, own)) for own in answers.values())
        sent, got = (sum(map(len, side.values())) for side in (packed, came))
        self.rounds.append(Round(" + ".join(methods), sent, got, seconds, empty, _named(messages)))
        return answers


def _named(messages: Mapping[int, Sequence[Request]]) -> int:
    """The number of ids that the requests of a round name, if all of them name some."""
    counts = {0}
    for request in (request for message in messages.values() for request in message):
        if not any(place == _place(request) for place, _ in find_call(request.method).cuts) or _ids(request) is None:
            return 0
    for place in range(max(map(len, messages.values()), default=0)):
        held = [_ids(message[place]) for message in messages.values() if place < len(message)]
        counts.add(
            sum(
                len(one.units or ()) if isinstance(one, SetReference) else len(one) if hasattr(one, "__len__") else 1
                for one in held
            )
        )
    return max(counts)


def _place(request: Request) -> int:
    """The place of the argument that may name ids: work that a shard does comes before its units or documents."""
    return 1 if request.method in (IN_PARTS, REHEARSE) else 0


def _ids(request: Request) -> Any:
    return request.arguments[_place(request)]


def _holds(answer: Any) -> bool:
    """False if an answer adds nothing to that of other shards."""
    return any(answer.values()) if isinstance(answer, dict) else bool(answer)


def asked(store: ShardedStore, number: int, kinds: str = "plain") -> dict[str, list[Question]]:
    """So many queries of each kind; the same for all layouts of the same repositories."""
    named = {row.id: row.name for row in store.documents.repositories()}
    documents = sorted(store.documents.rows(), key=lambda row: (named[row.repository], row.path))[::EVERY]
    units = sorted((u for d in documents for u in store.units.of_document(d.id)), key=UnitRow.content_order)
    names = [row.name for row in store.documents.repositories()]
    made = list(questions(units, names, -(-number // len(PLAIN)) * SHAPES, SEED))
    plain = [question for place, question in enumerate(made) if place % SHAPES in PLAIN]
    return {kind: {"plain": plain, "all": made}[kind][:number] for kind in kinds.split(",")}


def quantiles(values: Iterable[float], scale: float = 1.0) -> dict[str, float]:
    """Mean, median, 95th and 99th percentile."""
    held = sorted(values)
    cuts = {"p50": 0.5, "p95": 0.95, "p99": 0.99}
    found = {name: held[min(len(held) - 1, int(cut * len(held)))] * scale for name, cut in cuts.items()}
    return {name: round(value, 4) for name, value in {"mean": statistics.fmean(held) * scale, **found}.items()}


def timed(ask: Callable[[Question], object], asked: Sequence[Question]) -> list[float]:
    """Wall seconds of each."""
    taken = []
    for question in asked:
        start = time.perf_counter()
        ask(question)
        taken.append(time.perf_counter() - start)
    return taken


def local(folder: Path, shards: int, number: int, wanted_kinds: str) -> dict[str, Any]:
    """Figures of a layout with its shards in this process."""
    process, paths = psutil.Process(), files(folder, shards)
    roots = sorted({row.root for path in paths for row in _rows(path)})
    before = process.memory_full_info()
    with ExitStack() as stack:
        stores = [stack.enter_context(Store.read(path, accepted=True)) for path in paths]
        held = [Shard(store) for store in stores]
        opened = process.memory_full_info()
        transport = Timed(held)
        many = sharded(paths[0], stores, transport, roots)
        fast = sharded(paths[0], stores, LocalShards(held), roots)
        kinds = asked(many, number, wanted_kinds)
        source = sum(_source(store) for store in stores)
        for wanted in kinds.values():
            timed(lambda question: answer_bytes(question, fast, UNLIMITED), wanted)
        warm = process.memory_full_info()
        result: dict[str, Any] = {
            "shards": len(paths),
            "source_mb": round(source / 1e6, 2),
            "index_mb": round(sum(path.stat().st_size for path in paths) / 1e6, 2),
            "memory_mb": {
                what: {
                    name: round((getattr(at, name) - getattr(before, name)) / 1e6, 1) for name in ("rss", "pss", "uss")
                }
                for what, at in (("opened", opened), ("warm", warm))
            },
        }
        for kind, wanted in kinds.items():
            walls = timed(lambda question: answer_bytes(question, fast, UNLIMITED), wanted)
            profiles = list(_profiles(many, transport, wanted))
            result[kind] = {"queries": len(wanted), "wall_ms": quantiles(walls, 1e3), **_told(profiles)}
        return result


class Profile(NamedTuple):
    """The cost of one query."""

    rounds: list[Round]
    coordinator: float  # CPU seconds


def _profiles(many: ShardedStore, transport: Timed, wanted: Sequence[Question]) -> Iterator[Profile]:
    for question in wanted:
        answer_bytes(question, many, UNLIMITED)  # what is kept over searches is known, as in a server
        transport.rounds = []
        start = time.process_time()  # tasks that go on at once have threads of their own
        answer_bytes(question, many, UNLIMITED)
        spent = time.process_time() - start
        rounds, transport.rounds = transport.rounds, []  # the next question's must not be added to these
        shards = sum(sum(one.seconds) for one in rounds)
        yield Profile(rounds, spent - shards)


def _told(profiles: Sequence[Profile]) -> dict[str, Any]:
    rounds = [one for profile in profiles for one in profile.rounds]
    wide = [one for one in rounds if not one.ids]
    return {
        "rounds": quantiles([len(p.rounds) for p in profiles]),
        "messages": quantiles([sum(len(r.seconds) for r in p.rounds) for p in profiles]),
        "sent_bytes": quantiles([sum(r.sent for r in p.rounds) for p in profiles]),
        "got_bytes": quantiles([sum(r.got for r in p.rounds) for p in profiles]),
        "coordinator_cpu_ms": quantiles([p.coordinator for p in profiles], 1e3),
        "shards_cpu_ms": quantiles([sum(sum(r.seconds) for r in p.rounds) for p in profiles], 1e3),
        "message_cpu_ms": quantiles([s for one in rounds for s in one.seconds], 1e3) if rounds else {},
        "slowest_of_round_ms": quantiles([max(one.seconds) for one in rounds], 1e3) if rounds else {},
        "wide_rounds": quantiles([sum(not r.ids for r in p.rounds) for p in profiles]),
        "wide_message_cpu_ms": quantiles([s for one in wide for s in one.seconds] or [0.0], 1e3),
        "wide_empty_fraction": round(sum(r.empty for r in wide) / max(1, sum(len(r.seconds) for r in wide)), 4),
        "narrow_shards": quantiles([len(r.seconds) for r in rounds if r.ids] or [0]),
        "profiles": [
            {"coordinator_ms": round(p.coordinator * 1e3, 2), "rounds": [_row(one) for one in p.rounds]}
            for p in profiles
        ],
    }


def _row(one: Round) -> list[float]:
    """(shards, ids, bytes to, bytes from, mean, deviation and greatest of CPU milliseconds, shards with empty answers)."""
    mean, spread, most = statistics.fmean(one.seconds), statistics.pstdev(one.seconds), max(one.seconds)
    times = [round(value * 1e3, 4) for value in (mean, spread, most)]
    return [len(one.seconds), one.ids, one.sent, one.got, *times, one.empty]


def _rows(path: Path) -> list[Any]:
    with Store.read(path, accepted=True) as store:
        return store.documents.repositories()


def _source(store: Store) -> int:
    return sum(store.documents.totals(row.id)[1] for row in store.documents.repositories())


def over_dask(folder: Path, shards: int, number: int, wanted_kinds: str, workers: int) -> dict[str, Any]:
    """Figures of a layout whose shards are held by worker processes of this machine."""
    paths = files(folder, shards)
    with _client(workers, direct=True) as client:
        transport, many = _held(client, paths)
        kinds = asked(many, number, wanted_kinds)
        result: dict[str, Any] = {"shards": len(paths), "workers": workers}
        pids = list(client.run(os.getpid).values())
        for kind, wanted in kinds.items():
            timed(lambda question: answer_bytes(question, many, UNLIMITED), wanted)
            before, start = [_used(pid) for pid in pids], time.process_time()
            walls = timed(lambda question: answer_bytes(question, many, UNLIMITED), wanted)
            spent = time.process_time() - start
            held = sum(_used(pid) - used for pid, used in zip(pids, before, strict=True))
            result[kind] = {
                "queries": len(wanted),
                "wall_ms": quantiles(walls, 1e3),
                "coordinator_cpu_ms": round(spent / len(wanted) * 1e3, 2),
                "workers_cpu_ms": round(held / len(wanted) * 1e3, 2),
            }
        result["empty_round"] = _empty_rounds(transport, len(paths))
        memory = [psutil.Process(pid).memory_full_info() for pid in pids]
        result["workers_pss_mb"] = round(sum(one.pss for one in memory) / 1e6, 1)
    with _client(workers, direct=False) as client:
        transport, _ = _held(client, paths)
        result["empty_round_by_scheduler"] = _empty_rounds(transport, len(paths))
    return result


def _empty_rounds(transport: Transport, shards: int) -> dict[str, float]:
    """Cost of rounds that ask nothing: what Dask takes for itself."""
    start, spent = time.perf_counter(), time.process_time()
    for _ in range(EMPTY_CALLS):
        transport.ask({number: [] for number in range(shards)})
    wall, spent = time.perf_counter() - start, time.process_time() - spent
    each = EMPTY_CALLS * shards
    return {"wall_ms": round(wall / EMPTY_CALLS * 1e3, 3), "client_cpu_ms_a_message": round(spent / each * 1e3, 4)}


def _used(pid: int) -> float:
    times = psutil.Process(pid).cpu_times()
    return float(times.user + times.system)


@contextmanager
def _client(workers: int, direct: bool) -> Iterator[Any]:
    """Workers of this machine. Unless they are asked directly, each message goes through the scheduler."""
    import distributed

    start: Any = distributed  # its functions have no types
    with (
        start.LocalCluster(n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=None) as cluster,
        start.Client(cluster, direct_to_workers=direct) as client,
    ):
        yield client


def _held(client: Any, paths: Sequence[Path]) -> tuple[Transport, ShardedStore]:
    """The shards as a search over a fleet has them."""
    entries = [ShardEntry(path.name, (), path.stat().st_size, "") for path in paths]
    shards = ShardsOfWorkers(client, str(paths[0].parent), entries, 600, 0)
    homes = [Home(number, row) for number, facts in shards.facts.items() for row in facts.repositories]
    homes.sort(key=lambda home: home.row.root)
    return shards, ShardedStore(paths[0], shards, shards.facts, homes)


def starting(repositories: int) -> dict[str, float]:
    """Seconds to number and name so many repositories, which is done when a store of shards is opened; bytes for each."""
    rows = (
        RepositoryRow(RepositoryId(n % 50 + 1), f"service-{n}", Path(f"/mirror/org{n % 40}/service-{n}"))
        for n in range(repositories)
    )
    tracemalloc.start()
    homes = [Home(n // 50, row) for n, row in enumerate(rows)]
    numbers = Numbers(homes)
    size = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    start = time.process_time()
    Numbers(homes)
    seconds = time.process_time() - start
    return {
        "repositories": len(numbers.repositories),
        "seconds": round(seconds, 3),
        "bytes_each": round(size / repositories),
    }


def machine() -> dict[str, Any]:
    """The place of the measurement."""
    memory = round(psutil.virtual_memory().total / 1e9, 1)
    return {"cores": os.cpu_count(), "memory_gb": memory, "python": platform.python_version()}


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure the layouts one after the other; prints a line each."""
    parser = argparse.ArgumentParser(prog="tools.cluster_speed", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path, metavar="FOLDER", help="the layouts")
    parser.add_argument("--queries", type=int, default=30, metavar="N", help="of each kind [default: 30]")
    parser.add_argument("--kinds", default="plain,all", metavar="KIND,…", help="plain, all [default: both]")
    parser.add_argument("--shards", default="1,6,24,96", metavar="N,…", help="layouts [default: 1,6,24,96]")
    parser.add_argument(
        "--workers", type=int, default=4, metavar="N", help="processes of Dask; 0 for none [default: 4]"
    )
    parser.add_argument("--out", type=Path, metavar="FILE", help="write all figures as JSON")
    parser.add_argument("--go-on", action="store_true", help="keep what the file has, and measure the rest")
    parser.add_argument("--part", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.part:
        way, shards = options.part.split(":")
        given = (options.folder, int(shards), options.queries, options.kinds)
        found = local(*given) if way == "local" else over_dask(*given, options.workers)
        print(json.dumps(found))
        return 0
    if options.go_on:
        result: dict[str, Any] = json.loads(options.out.read_text(encoding="utf-8"))
    else:
        starts = list(map(starting, STARTING))
        result = {"machine": machine(), "built": costs(options.folder), "starting": starts, "local": {}, "dask": {}}
    for way in ("local", "dask") if options.workers else ("local",):
        for shards in options.shards.split(","):
            if shards in result[way]:
                continue
            result[way][shards] = found = _part(options, f"{way}:{shards}")
            walls = {kind: found[kind]["wall_ms"] for kind in options.kinds.split(",")}
            print(f"{way:6} {shards:>3} shards: {json.dumps(walls)}", flush=True)
            if options.out:
                options.out.write_text(json.dumps(result) + "\n", encoding="utf-8")
    return 0


def _part(options: argparse.Namespace, part: str) -> dict[str, Any]:
    command = [sys.executable, "-m", "tools.cluster_speed", str(options.folder), "--part", part]
    command += ["--queries", str(options.queries), "--kinds", options.kinds, "--workers", str(options.workers)]
    ran = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    found: dict[str, Any] = json.loads(ran.stdout.splitlines()[-1])
    return found


if __name__ == "__main__":
    sys.exit(main())
