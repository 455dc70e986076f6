"""An index run that is killed or interrupted at a random moment: the index is whole, a reader works, the next run ends the work.

The moments are drawn over a whole run. Its end (optimize, VACUUM, verify, swap) is drawn more often than its length would have it.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import IO, Any

import apsw

from codelens.errors import IndexCorrupt
from codelens.store.connection import load_vector_extension, open_writer, put_to_rest
from codelens.store.migrate import list_migrations
from codelens.store.store import Store
from codelens.worktree.place import BUILDING
from tests.dump import dump, orphans
from tools.campaign import Campaign, Report, expect
from tools.program import left_behind

FILES = 24
LATE = {"indexed": 0.15, "linked": 0.45}
"""Share of the signals that fall after the last document was read, or linked: there a build is finished and swapped in, an update
committed."""
MOST_IN_A_ROW = 3  # Signals that one attempt may send to runs that go on from each other
SEARCH = ["search", "--json", "task"]
DONE = "up to date"  # Part of an interrupted run's message when its work was already written
Content = dict[str, list[tuple[object, ...]]]
State = Content | set[str]  # The content of an index; for an unfinished build, the documents


def write_tree(root: Path, version: int) -> None:
    """Write a tree in which every file differs between two versions."""
    for number in range(FILES):
        folder = root / f"part{number % 7}"
        folder.mkdir(parents=True, exist_ok=True)
        body = "\n".join(
            f'def task_{number}_{i}(items, limit={version}):\n    """Do task {i} of part {number}."""\n    return run(items, {i})\n'
            for i in range(6)
        )
        (folder / f"module{number}.py").write_text(body)


@dataclass
class Running:
    """A command in its own session; `lines` is its stderr: progress by phase, then messages."""

    pid: int
    lines: IO[str]
    heard: list[str] = field(default_factory=list)

    def hear(self) -> str:
        """The next line; empty at the end."""
        line = self.lines.readline().rstrip("\n")
        if line:
            self.heard.append(line)
        return line

    def end(self) -> int:
        """Read to the end and return the exit code, or minus the signal that ended it."""
        self.heard += self.lines.read().splitlines()
        self.lines.close()
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])

    @property
    def messages(self) -> list[str]:
        return [line for line in self.heard if not line.startswith("@")]


def start(arguments: list[str], home: Path, variables: Mapping[str, str] = {}) -> Running:
    """Start a codelens command in a fork, since imports would take half the time of such a short run.

    It prints its progress as `@index`, …, and as `@indexed`, `@linked` at the end of a phase.
    """
    from codelens.cli import index, search  # noqa: F401 - once here, instead of in each child
    from codelens.cli.main import main
    from codelens.indexing import build  # noqa: F401
    from codelens.search import pipeline  # noqa: F401

    reading, writing = os.pipe()
    if pid := os.fork():
        os.close(writing)
        return Running(pid, os.fdopen(reading, encoding="utf-8", errors="replace"))
    code = 99
    try:
        os.setsid()
        os.environ.update({"HOME": str(home), "XDG_CONFIG_HOME": str(home), "XDG_CACHE_HOME": str(home), **variables})
        os.environ["CODELENS_COMMIT_BYTES"] = "2000"
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        os.dup2(writing, 2)
        os.close(reading)
        os.close(writing)
        sys.stdout, sys.stderr = os.fdopen(1, "w"), os.fdopen(2, "w", encoding="utf-8", errors="backslashreplace")
        signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
        _tell_each_step()
        print("@begun", file=sys.stderr, flush=True)
        code = main(arguments)
    except BaseException:
        import traceback

        traceback.print_exc()
    finally:
        with suppress(Exception):
            sys.stderr.flush()
        os._exit(code)


def _tell_each_step() -> None:
    """Print every step of a forked child: `--progress json` is too coarse to aim at."""
    import codelens.cli.progress as shown
    from codelens.model.runs import Progress

    def say(step: Progress) -> None:
        phase = f"{step.phase}ed" if step.total and step.done == step.total else step.phase
        print(f"@{phase}", file=sys.stderr, flush=True)

    shown._write_json_lines = lambda: say


def index_command(index: Path, root: Path, *more: str) -> list[str]:
    named = [part.format(root=root) for part in more]
    return ["index", str(root), "--db", str(index), "--jobs", "1", "--progress", "json", "--quiet", *named]


class Chance:
    """Draws the moment of a signal: a number of steps to wait for, and a while after the last of them."""

    def __init__(self) -> None:
        self._tails = dict.fromkeys(LATE, 0.2)
        """Seconds from the last document read, or linked, to the end; adapted, since it differs from minute to minute."""

    def signal(self, run: Running, luck: random.Random, number: int) -> str:
        """Send the signal at its moment; return the last step read before."""
        awaited = luck.choices(["", *LATE], [1 - sum(LATE.values()), *LATE.values()])[0]
        steps, heard, share = luck.randrange(FILES), "", luck.random()
        while line := run.hear():
            heard = line.removeprefix("@")
            steps -= 1
            if heard == awaited if awaited else steps < 0:
                break
        time.sleep(share * self._tails.get(awaited, 0.02))
        with suppress(ProcessLookupError, PermissionError):
            os.kill(run.pid, number)
        return heard

    def learn(self, heard: str, ended: bool) -> None:
        """Aim earlier next time if the run had ended, else later."""
        if heard in self._tails:
            self._tails[heard] = min(5.0, self._tails[heard] * (0.8 if ended else 1.25))


def index_files(index: Path) -> list[str]:
    return sorted(file.name for file in index.parent.glob(f"{index.name}*"))


def committed(building: Path) -> set[str]:
    """Documents of an unfinished build. Reading it rolls a half-written batch back, as the next run would."""
    if not building.exists():
        return set()
    with Store.write(building, accepted=True) as store:  # signed with the key of the user in `home`
        store.verify()
        return {row.path for row in store.documents.read_rows()}


@dataclass(frozen=True)
class Operation:
    """An operation on an index: a command that leads from the state made by `make` to that of a fresh build."""

    make: Callable[[Path, Path, Path], None]
    """(root, index, home) → None. Makes the tree, and the index as it is before the command."""
    more: tuple[str, ...] = ()  # Options, in which {root} stands for the tree
    variables: Mapping[str, str] = field(default_factory=dict)
    readable: bool = True  # The index can be searched before the command


def _nothing(root: Path, index: Path, home: Path) -> None:
    write_tree(root, 1)


def _older(root: Path, index: Path, home: Path) -> None:
    """An index of a tree of which every file has changed since."""
    write_tree(root, 1)
    finish(index, root, home)
    write_tree(root, 2)


def _same(root: Path, index: Path, home: Path) -> None:
    write_tree(root, 1)
    finish(index, root, home)


def _clone(root: Path, index: Path, home: Path) -> None:
    """A clone of a repository with an index, in which every file has changed since."""
    other = root.parent / "tree.other"
    write_tree(other, 1)
    for command in ("init -q", "add -A", "-c user.name=t -c user.email=t@t commit -q -m one"):
        subprocess.run(["git", *command.split()], cwd=other, check=True)
    finish(other / ".codelens/index.db", other, home)
    subprocess.run(["git", "clone", "-q", str(other), str(root)], check=True)
    write_tree(root, 2)


def _old_schema(root: Path, index: Path, home: Path) -> None:
    _older(root, index, home)
    downgrade(index, OLD_SCHEMA)


OLD_SCHEMA = 3  # The oldest schema that `downgrade` can make: older ones have a table of sqlite-vec


def downgrade(index: Path, version: int) -> None:
    """Remove everything that later migrations added. Nothing counts as linked: each schema came with its own linker."""
    old = apsw.Connection(":memory:")
    load_vector_extension(old)
    for number, file in list_migrations():
        if number <= version:
            old.execute(file.read_text(encoding="utf-8")).fetchall()
    connection, _ = open_writer(index)
    connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 0)
    virtual_first = "SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY sql NOT LIKE 'CREATE VIRTUAL%'"
    tables = [str(name) for (name,) in connection.execute(virtual_first)]  # a virtual table goes with its parts
    for table in tables:
        kept = {row[1] for row in old.execute(f"PRAGMA table_info({table})")}
        if not kept:
            with suppress(apsw.SQLError):  # a part of a virtual table that is gone
                connection.execute(f"DROP TABLE {table}").fetchall()
            continue
        columns = connection.execute(f"PRAGMA table_info({table})").fetchall()
        if (key := {row[1] for row in columns if row[5]}) and kept.isdisjoint(
            key
        ):  # another table of this name, with another primary key
            sql: Any = old.execute("SELECT sql FROM sqlite_schema WHERE name = ?", (table,)).fetchone()
            connection.execute(f"DROP TABLE {table}; {sql[0]}").fetchall()
            continue
        for row in reversed(columns):
            if row[1] not in kept:
                connection.execute(f"ALTER TABLE {table} DROP COLUMN {row[1]}").fetchall()
    objects = "SELECT type, name, sql FROM sqlite_schema WHERE sql IS NOT NULL AND name <> 'sqlite_sequence'"
    for kind, name, sql in old.execute(objects).fetchall():
        now = connection.execute("SELECT sql FROM sqlite_schema WHERE name = ?", (name,)).fetchone()
        if now != (sql,):  # made again by a later migration
            connection.execute(f"DROP {kind} IF EXISTS {name}; {sql}").fetchall()
    connection.execute("UPDATE documents SET linked = 'older'").fetchall()
    connection.pragma("user_version", version)
    connection.close()
    old.close()


OPERATIONS: Mapping[str, Operation] = {
    "build": Operation(_nothing, readable=False),
    "update": Operation(_older),
    "rebuild": Operation(_older, ("--rebuild",)),
    "copy": Operation(_clone, ("--from", "{root}.other"), readable=False),
    "migration": Operation(_old_schema, variables={"CODELENS_TRUST_INDEXES": "1"}, readable=False),
    "model": Operation(_same, variables={"CODELENS_MODEL": "hashing"}),
}
SIGNALS = {"kills": signal.SIGKILL, "interrupts": signal.SIGINT} if sys.platform != "win32" else {}


def finish(index: Path, root: Path, home: Path, operation: Operation | None = None) -> None:
    """Run to the end; raise Failed unless the run succeeds."""
    more, variables = (operation.more, operation.variables) if operation else ((), {})
    run = start(index_command(index, root, *more), home, variables)
    code = run.end()
    expect(code == 0, f"a whole run ended with {code}: {run.messages}")


class Broken:
    """One operation, interrupted by one signal again and again, each time from the same state."""

    def __init__(self, operation: Operation, number: int, folder: Path) -> None:
        self._operation, self._number, self._folder = operation, number, folder
        self._chance = Chance()
        self._home = folder / "home"
        self._root, self._index, self._start = folder / "tree", folder / "at/index.db", folder / "start"
        for new in (self._home, self._index.parent, self._start):
            new.mkdir()
        operation.make(self._root, self._index, self._home)
        self._before: State = set()
        if self._index.exists():
            shutil.copy2(self._index, self._start)
            Store.write(self._index, accepted=True).close()  # brings its schema up to date
            self._before = dump(self._index)
            self._index.unlink()
        finish(self._index, self._root, self._home, operation)
        self._after = dump(self._index)

    def attempt(self, luck: random.Random, report: Report) -> None:
        """Interrupt runs, up to MOST_IN_A_ROW in a row; then check, search, finish the work and compare."""
        shutil.rmtree(self._index.parent)
        shutil.copytree(self._start, self._index.parent)
        state = self._before
        for _ in range(luck.randint(1, MOST_IN_A_ROW)):
            report.tried += 1
            report.counts[self._broken_off(luck)] += 1
            state = self._whole(state)
        self._reader_works_or_says_why()
        finish(self._index, self._root, self._home, self._operation)
        expect(dump(self._index) == self._after, "the index differs from a fresh one after the next run")
        expect(index_files(self._index) == ["index.db"], f"files left next to the index: {index_files(self._index)}")
        expect(not orphans(self._index), f"rows that belong to nothing: {orphans(self._index)[:3]}")

    def _broken_off(self, luck: random.Random) -> str:
        operation = self._operation
        run = start(index_command(self._index, self._root, *operation.more), self._home, operation.variables)
        heard = self._chance.signal(run, luck, self._number)
        code = run.end()
        self._chance.learn(heard, ended=code == 0)
        expect(not (left := left_behind(run.pid)), f"processes left: {left}")
        self._messages = run.messages
        if self._number == signal.SIGKILL:
            expect(code in (0, -signal.SIGKILL), f"exit code {code}: {run.messages}")
        else:
            expect(code in (0, 130), f"exit code {code}: {run.messages}")
            expect(len(run.messages) == (code == 130), f"exit code {code}, and on stderr: {run.messages}")
        return f"{heard}, exit {code}"

    def _whole(self, before: State) -> State:
        """Check that the index has the state that the run reported, old or new; an unfinished build keeps its documents."""
        if not self._index.exists():
            now = committed(self._index.with_name(self._index.name + BUILDING))
            assert isinstance(before, set)
            expect(now >= before, f"committed and gone: {sorted(before - now)[:3]}")
            state: State = now
        else:
            state = self._content(before)
            expect(state in (self._before, self._after), "a state that is neither the old one nor the new")
        for message in self._messages:
            changed = state != before and not isinstance(state, set)
            expect(
                changed == (DONE in message),
                f"the index {'changed' if changed else 'stayed'}, and the run reported: {message}",
            )
        return state

    def _content(self, before: State) -> State:
        """The state that a reader sees, checked to be whole. An old schema that is not migrated yet is the state before."""
        try:
            with Store.read(self._index, accepted=True) as store:
                store.load_vectors()
                store.verify()
                stored, found = store.read_meta("snapshot"), store.documents.compute_content_id()
        except IndexCorrupt as fault:
            if "old schema" in str(fault) and not self._operation.readable:
                return before
            raise
        expect(stored in (found, ""), "the snapshot is not that of the documents")  # a migration may leave none
        with tempfile.TemporaryDirectory() as folder:  # to read a log that was left, it has to be folded in
            for name in index_files(self._index):
                shutil.copy2(self._index.with_name(name), folder)
            put_to_rest(Path(folder, self._index.name))
            return dump(Path(folder, self._index.name))

    def _reader_works_or_says_why(self) -> None:
        run = start([*SEARCH, "--db", str(self._index)], self._home, self._operation.variables)
        code = run.end()
        allowed = (0,) if self._operation.readable else (0, 3)
        expect(code in allowed, f"a search ended with {code}: {run.messages}")
        expect(code == 0 or len(run.messages) == 2, f"a search that cannot be done says: {run.messages}")


def run(name: str, operation: str, count: int, seed: int, folder: Path, report: Report) -> None:
    """Make attempts with one operation and one signal."""
    if sys.platform != "linux":
        report.note("needs Linux: it forks, and looks into /proc")
        return
    broken = Broken(OPERATIONS[operation], SIGNALS[name], folder)
    number = seed
    while report.tried < count:  # an attempt may send several
        with report.attempt(number, tries=0):
            broken.attempt(random.Random(number), report)
        number += 1


def campaigns() -> Iterator[Campaign]:
    for name in ("kills", "interrupts"):
        for operation in OPERATIONS:
            what = f"{name[:-1]}s at random moments of a {operation}"
            yield Campaign(f"{name}-{operation}", partial(run, name, operation), 200, what)
