"""Measure the cost of indexing and searching a tree, and that of other installed tools.

    python -m tools.bench.speed TREE [--queries FILE] [--repeat N]

Each command runs as its own process; CPU time includes its children. The tree is copied without .git, because one file is
changed.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from codelens.processes.python import interpreter

QUERIES = (
    "parse the configuration file",
    "open a connection to the server",
    "read bytes from a stream",
    "write an entry to the log",
    "allocate a buffer",
    "free memory when the object is closed",
    "handle a timeout",
    "check permissions of a user",
    "convert a string to lower case",
    "lock before the list is changed",
    "format an error message",
    "where are command line options read",
    "hash table lookup",
    "get_value",
    "lang:python is:test",
)
"""Queries that fit any tree."""

MEASURED = """
import atexit, json, os, resource, sys
def tell(to=int(sys.argv.pop(1))):
    rows = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    os.write(to, json.dumps([row.ru_maxrss for row in rows]).encode())
atexit.register(tell)
from codelens.cli.main import run
run()
"""
"""The command line as it is, with a last word on memory: from outside, wait4 tells the larger of parent and child only."""

RSS_UNIT = 1 if sys.platform == "darwin" else 1024


@dataclass(frozen=True, slots=True)
class Cost:
    """One process with all its children: seconds, and peak memory in bytes (0 where it was not asked for)."""

    wall: float
    cpu: float
    own_rss: int = 0
    child_rss: int = 0


@dataclass(frozen=True, slots=True)
class Tool:
    """One row of the table. What a tool does not do is None, and shown as a dash."""

    name: str
    index: Cost | None = None
    index_bytes: int | None = None
    no_op: Cost | None = None
    update: Cost | None = None
    searches: Sequence[Cost] = ()


def spend(
    command: Sequence[str], cwd: Path, env: Mapping[str, str] | None = None, ends: Sequence[int] = (0, 1)
) -> Cost:
    """Run a command and wait for it. Raises SystemExit where it ends with another code than `ends`."""
    started = time.perf_counter()
    with tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(
            command, cwd=cwd, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=errors
        )
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        wall = time.perf_counter() - started
        if process.returncode not in ends:
            errors.seek(0)
            sys.exit(f"{' '.join(command)}: exit code {process.returncode}\n{errors.read().decode('utf-8', 'replace')}")
    return Cost(wall, used.ru_utime + used.ru_stime, used.ru_maxrss * RSS_UNIT)


def spend_apart(arguments: Sequence[str], cwd: Path) -> Cost:
    """Like `spend` for codelens, with separate memory of the process and its largest child."""
    reading, writing = os.pipe()
    started = time.perf_counter()
    process = subprocess.Popen(
        [*interpreter(), "-c", MEASURED, str(writing), *arguments],
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        pass_fds=[writing],
    )
    os.close(writing)
    _, status, used = os.wait4(process.pid, 0)
    wall = time.perf_counter() - started
    process.returncode = os.waitstatus_to_exitcode(status)
    with os.fdopen(reading, "rb") as pipe:
        text = pipe.read()
    if process.returncode:
        sys.exit(f"codelens {' '.join(arguments)}: exit code {process.returncode}")
    own, child = json.loads(text)
    return Cost(wall, used.ru_utime + used.ru_stime, own * RSS_UNIT, child * RSS_UNIT)


def bench_codelens(tree: Path, work: Path, queries: Sequence[str], repeat: int) -> tuple[Tool, dict[str, Any]]:
    """The row of codelens, and what its status says of the tree."""
    place = work / "codelens.db"
    index = ["index", "--quiet", "--no-config", "--db", str(place), str(tree)]
    first = spend_apart(index, tree)
    size = place.stat().st_size
    no_op = _middle([spend_apart(index, tree) for _ in range(repeat)])
    status = json.loads(_output(["status", "--json", "--no-check", "--db", str(place)], tree))
    updates = [spend_apart(index, tree) for _ in _changes(tree, place, repeat)]
    command = [*interpreter(), "-m", "codelens", "search", "--no-config", "--db", str(place), "--"]
    searches = [spend([*command, query], tree) for query in queries]
    return Tool("codelens", first, size, no_op, _middle(updates), searches), status


def _output(arguments: Sequence[str], cwd: Path) -> bytes:
    command = [*interpreter(), "-m", "codelens", *arguments]
    return subprocess.run(command, cwd=cwd, check=True, stdin=subprocess.DEVNULL, capture_output=True).stdout


def _changes(tree: Path, place: Path, count: int) -> Iterator[Path]:
    """Adds a line to one indexed file of middling size, again for each turn."""
    text = _output(["index", "--dry-run", "--no-config", "--db", str(place), str(tree)], tree).decode(
        "utf-8", "replace"
    )
    paths = [tree / line.partition("\t")[2] for line in text.splitlines() if line.startswith("index\t")]
    sized = sorted((path.stat().st_size, path) for path in paths if path.is_file())
    path = sized[len(sized) // 2][1]
    for _ in range(count):
        with path.open("ab") as file:
            file.write(b"\n")
        yield path


def bench_ctags(tree: Path, work: Path, queries: Sequence[str]) -> Tool | None:
    """Definitions only, no references and no text. Other programs of that name cannot be compared."""
    found = shutil.which("ctags")
    if not found or b"Universal" not in subprocess.run([found, "--version"], capture_output=True).stdout:
        return None
    tags = work / "tags"
    cost = spend([found, "-R", "-f", str(tags), str(tree)], tree)
    return Tool("universal-ctags", cost, tags.stat().st_size)


def bench_cindex(tree: Path, work: Path, queries: Sequence[str]) -> Tool | None:
    """Google's codesearch: trigrams of the text; a query is a regular expression over all files."""
    found, search = shutil.which("cindex"), shutil.which("csearch")
    if not found:
        return None
    place = work / "csearchindex"
    env = {**os.environ, "CSEARCHINDEX": str(place)}
    cost = spend([found, str(tree)], tree, env)
    size = place.stat().st_size
    again = spend([found, str(tree)], tree, env)
    searches = [spend([search, "-l", _rarest(q)], tree, env) for q in queries] if search else []
    return Tool("cindex / csearch", cost, size, again, again, searches)


def bench_ripgrep(tree: Path, work: Path, queries: Sequence[str]) -> Tool | None:
    """No index: every query reads the tree."""
    found = shutil.which("rg")
    if not found:
        return None
    return Tool("ripgrep", searches=[spend([found, "--no-require-git", "-l", _rarest(q)], tree) for q in queries])


OTHERS: Mapping[str, Callable[[Path, Path, Sequence[str]], Tool | None]] = {
    "universal-ctags": bench_ctags,
    "cindex": bench_cindex,
    "ripgrep": bench_ripgrep,
}


def _rarest(query: str) -> str:
    """The longest word of a query, for tools that take a pattern."""
    return max(re.findall(r"\w+", query), key=len, default="main")


def _middle(costs: Sequence[Cost]) -> Cost:
    """The one with the median CPU time."""
    return sorted(costs, key=lambda cost: cost.cpu)[len(costs) // 2]


HEAD = ("", "index s", "CPU s", "peak MB", "child MB", "index MB", "ratio", "no-op s", "1 file s", "query CPU ms")


def table(tools: Sequence[Tool], source_bytes: int) -> Iterator[str]:
    """Markdown. Seconds of no-op and update are CPU seconds too; a query is the median over all queries."""
    rows = [HEAD, *(_row(tool, source_bytes) for tool in tools)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for number, row in enumerate(rows):
        cells = (
            f"{cell:<{w}}" if at == 0 else f"{cell:>{w}}" for at, (cell, w) in enumerate(zip(row, widths, strict=True))
        )
        yield f"| {' | '.join(cells)} |"
        if number == 0:
            yield f"|{'|'.join('-' * (w + 1) + (':' if at else '-') for at, w in enumerate(widths))}|"


def _row(tool: Tool, source_bytes: int) -> tuple[str, ...]:
    index, size = tool.index, tool.index_bytes
    return (
        tool.name,
        f"{index.wall:.1f}" if index else "-",
        f"{index.cpu:.1f}" if index else "-",
        f"{index.own_rss / 1e6:.0f}" if index else "-",
        f"{index.child_rss / 1e6:.0f}" if index and index.child_rss else "-",
        f"{size / 1e6:.1f}" if size is not None else "-",
        f"{size / source_bytes:.2f}" if size is not None else "-",
        f"{tool.no_op.cpu:.2f}" if tool.no_op else "-",
        f"{tool.update.cpu:.2f}" if tool.update else "-",
        f"{statistics.median(cost.cpu for cost in tool.searches) * 1000:.0f}" if tool.searches else "-",
    )


def describe(status: Mapping[str, Any]) -> str:
    """Files, MB, symbols and chunks in one line."""
    (repository,) = status["repositories"]
    units: dict[str, int] = repository["units"]
    skipped = sum(repository["skipped"].values())
    megabytes = repository["source_bytes"] / 1e6
    return (
        f"{repository['documents']} files indexed, {skipped} skipped, {megabytes:.1f} MB, {sum(units.values())} units"
    )


def main() -> None:
    """Copies the tree, measures each tool on the copy, and prints the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("tree", type=Path, help="a folder with source code")
    parser.add_argument("--queries", type=Path, help="a file of queries, one a line")
    parser.add_argument("--repeat", type=int, default=3, help="runs of which the median counts [default: 3]")
    options = parser.parse_args()
    if not options.tree.is_dir():
        parser.error(f"not a folder: {options.tree}")
    queries = options.queries.read_text(encoding="utf-8").splitlines() if options.queries else QUERIES
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        tree = work / "tree"
        shutil.copytree(options.tree, tree, symlinks=True, ignore=shutil.ignore_patterns(".git", ".codelens"))
        # The others first: the last step of codelens changes a file.
        others = {name: run(tree, work, queries) for name, run in OTHERS.items()}
        own, status = bench_codelens(tree, work, queries, max(1, options.repeat))
    print(f"{options.tree.resolve().name}: {describe(status)}; {len(queries)} queries, {os.cpu_count()} cores\n")
    tools = [own, *(tool for tool in others.values() if tool)]
    print("\n".join(table(tools, status["repositories"][0]["source_bytes"])))
    if missing := [name for name, tool in others.items() if tool is None]:
        print(f"\nnot installed here: {', '.join(missing)}")


if __name__ == "__main__":
    main()
