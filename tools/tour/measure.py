"""A tree → one row of figures: what indexing it costs, measured from outside on a process group of its own."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import psutil

from codelens.processes.python import build_python_command, filter_environment
from tools.tour.manifest import Tree

FIRST_SAMPLE, SAMPLE_SECONDS = 0.005, 0.1
"""The gaps between samples of memory grow from the one to the other, so that short commands have some too."""
MB = 1_000_000

Row = dict[str, Any]  # The figures of a tree, as in the JSON; `ended` is empty if all went well

COMMENTS = {
    **dict.fromkeys((".py", ".rb", ".sh", ".ex", ".R", ".r"), "#"),
    **dict.fromkeys((".c", ".h", ".cc", ".cpp", ".hpp", ".java", ".kt", ".scala", ".go", ".rs", ".swift", ".cs"), "//"),
    **dict.fromkeys((".js", ".ts", ".tsx", ".php", ".m", ".mm"), "//"),
    **dict.fromkeys((".lua", ".hs", ".elm"), "--"),
    **dict.fromkeys((".erl", ".hrl"), "%"),
    **dict.fromkeys((".f", ".f90"), "!"),
}  # File name extension → start of a comment
CHANGES_TRIED = 5
MEASURE_CHANGE_FROM_MB = 80


@dataclass(frozen=True, slots=True)
class Limits:
    """A process group that exceeds one of these is killed: wall seconds, and bytes of all its processes together."""

    seconds: float
    bytes: int


@dataclass(frozen=True, slots=True)
class Spent:
    """The cost of a command with all its children. CPU seconds of a killed command are a lower bound, from samples.
    `ended` says why it did not finish; empty if it did."""

    wall: float
    cpu: float
    peak: int
    ended: str
    output: str


def spend(command: Sequence[str], limits: Limits, cwd: Path, env: Mapping[str, str] | None = None) -> Spent:
    """Run a command in a process group of its own, and kill the group if it exceeds a limit. Without `env` it is a program of
    codelens."""
    started = time.perf_counter()
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(
            command,
            cwd=cwd,
            env=filter_environment() if env is None else env,
            start_new_session=True,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=errors,
        )
        watch = _Watch(process, limits, started)
        watch.run()
        output.seek(0)
        errors.seek(0)
        ended = watch.killed_by
        if not ended and process.returncode:
            lines = errors.read().decode("utf-8", "replace").strip().splitlines()
            ended = f"exit code {process.returncode}" + (f": {lines[-1]}" if lines else "")
        return Spent(watch.wall, watch.cpu, watch.peak, ended, output.read().decode("utf-8", "replace"))


class _Watch:
    """Waits for a process, and meanwhile samples memory and CPU time of it and its descendants."""

    def __init__(self, process: subprocess.Popen[bytes], limits: Limits, started: float) -> None:
        self.process, self.limits, self.started = process, limits, started
        self.wall = self.cpu = 0.0
        self.peak = 0
        self.killed_by = ""
        self._cpu_seen = 0.0
        self._seen: set[psutil.Process] = set()
        self._done = threading.Event()

    def run(self) -> None:
        waiter = threading.Thread(target=self._wait)
        waiter.start()
        try:
            gap = FIRST_SAMPLE
            while not self._done.wait(gap):
                gap = min(2 * gap, SAMPLE_SECONDS)
                memory = self._sample()
                if memory > self.limits.bytes:
                    self.killed_by = "memory limit"
                elif time.perf_counter() - self.started > self.limits.seconds:
                    self.killed_by = "time limit"
                if self.killed_by:
                    break
        finally:
            self._kill()  # an interrupt ends the group too; and no worker may outlive its parent
            waiter.join()
        if self.killed_by:
            self.cpu = max(self.cpu, self._cpu_seen)  # the children were not waited for

    def _wait(self) -> None:
        """Wait in a thread, which notices the end at once, not at the next sample."""
        _, status, used = os.wait4(self.process.pid, 0)
        self.wall = time.perf_counter() - self.started
        self.process.returncode = os.waitstatus_to_exitcode(status)
        self.cpu = used.ru_utime + used.ru_stime
        self._done.set()

    def _sample(self) -> int:
        """Bytes of all processes now. A page that several share counts once where the system tells (PSS)."""
        with contextlib.suppress(psutil.Error):
            root = psutil.Process(self.process.pid)
            self._seen |= {root, *root.children(recursive=True)}
        memory, cpu = 0, 0.0
        for process in self._seen:
            with contextlib.suppress(psutil.Error):
                used = process.memory_full_info()
                memory += getattr(used, "pss", 0) or used.rss
                cpu += sum(process.cpu_times()[:4])  # its own, and those of children that it has waited for
        self.peak, self._cpu_seen = max(self.peak, memory), max(self._cpu_seen, cpu)
        return memory

    def _kill(self) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)
        for process in self._seen:
            with contextlib.suppress(psutil.Error):
                process.kill()


def measure(tree: Tree, root: Path, limits: Limits, change_all: bool = False) -> Row:
    """Index the tree into a temporary file next to it; then again after a change, if it is large or `change_all`."""
    limits = replace(limits, seconds=max(limits.seconds, tree.seconds))
    with tempfile.TemporaryDirectory(dir=root.parent, prefix="index-") as temporary:
        folder = Path(temporary)
        command = index_command(folder / "tour.db", root)
        spent = spend(command, limits, folder)
        row: Row = {"tree": tree.name, "version": tree.version, "ended": spent.ended}
        row |= {"wall": round(spent.wall, 3), "cpu": round(spent.cpu, 3), "peak": spent.peak}
        if not spent.ended:
            row |= figures(json.loads(spent.output))
            if change_all or row["source_bytes"] >= MEASURE_CHANGE_FROM_MB * MB:
                row["change"] = _measure_change(command, root, limits, folder)
    return row


def index_command(db: Path, root: Path) -> list[str]:
    python = [*build_python_command(), "-m", "codelens"]
    return [*python, "index", "--no-config", "--progress", "none", "--json", "--db", str(db), str(root)]


def figures(record: Mapping[str, Any]) -> Row:
    """The figures from the JSON of `codelens index`, with whatever phases and counts of references it names; an older codelens
    names none."""
    repositories = record["repositories"]
    row: Row = {
        "files": sum(r["indexed"] for r in repositories),
        "symbols": sum(r["symbols"] for r in repositories),
        "source_bytes": sum(r["source_bytes"] for r in repositories),
        "index_bytes": max(r["index_bytes"] for r in repositories),
    }
    for ours, theirs in (("phases", "cpu_seconds"), ("references", "references"), ("languages", "languages")):
        total: Counter[str] = Counter()
        for r in repositories:
            total.update(r.get(theirs) or {})
        row[ours] = dict(total)
    return row


def _measure_change(command: Sequence[str], root: Path, limits: Limits, cwd: Path) -> Row:
    """One file gets a comment, and is restored later. A file that codelens skips is followed by the next one."""
    row: Row = {"ended": "no file to change"}
    for file in _mid_sized(root):
        content, status = file.read_bytes(), file.stat()
        try:
            file.write_bytes(content + f"\n{COMMENTS[file.suffix]} changed by make tour\n".encode())
            spent = spend(command, limits, cwd)
        finally:
            file.write_bytes(content)
            os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))
        row = {"file": file.relative_to(root).as_posix(), "ended": spent.ended}
        row |= {"wall": round(spent.wall, 3), "cpu": round(spent.cpu, 3), "peak": spent.peak}
        if spent.ended or any(r["changed"] for r in json.loads(spent.output)["repositories"]):
            return row
    return row | {"ended": row["ended"] or "the changed file is not indexed"}


def _mid_sized(root: Path) -> Iterator[Path]:
    """Files of the tree's most frequent code extension, from the median size upwards."""
    files: dict[str, list[tuple[int, Path]]] = {}
    for path in root.rglob("*"):
        if path.suffix in COMMENTS and path.is_file():
            files.setdefault(path.suffix, []).append((path.stat().st_size, path))
    most = max(files, key=lambda suffix: len(files[suffix]), default="")
    ranked = sorted(files.get(most, []))
    yield from (path for _, path in ranked[len(ranked) // 2 :][:CHANGES_TRIED])
