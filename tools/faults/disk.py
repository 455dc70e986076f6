"""A disk that is full, fails or is read-only, and a working directory that is gone: the fault is reported, committed work stays."""

from __future__ import annotations

import errno
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.dump import dump
from tools.campaign import Campaign, Report, expect
from tools.faults.kills import index_files
from tools.program import CommandRun, Program, split_commands

FILES = 8
OPERATIONS = {"build": (), "update": (), "rebuild": ("--rebuild",)}
TOLD = (2, 3, 5)
"""Exit codes for an index that could not be written or read: an error, an unusable index, or one that is still locked."""
COMMANDS = split_commands(
    "index; search task; why task; files task; context task; refs task_1_1; callers run; callees task_1_1; impact task_1_1;"
    "map; graph export; snapshot list; status; symbols module1.py; config; doctor; index --remove; note list; hooks status;"
    "help"
)  # Commands that a user may run in a deleted folder


def write_tree(root: Path, version: int) -> None:
    root.mkdir(exist_ok=True)
    for number in range(FILES):
        form = 'def task_{}_{}(limit={}):\n    """Do task {}."""\n    return run({})\n'
        lines = (form.format(number, i, version, i, i) for i in range(20))
        (root / f"module{number}.py").write_text("\n".join(lines))


class Disk:
    """A tree with its index in a folder of its own, before and after each operation."""

    def __init__(self, folder: Path, at: Path) -> None:
        self.program = Program(folder / "home")
        self.root, self.at, self._kept = folder / "tree", at, folder / "kept"
        for new in (self.program.home, self._kept, at):
            new.mkdir(parents=True, exist_ok=True)
        self.index = at / "index.db"
        write_tree(self.root, 1)
        self.run_index()
        shutil.copy2(self.index, self._kept)
        write_tree(self.root, 2)
        self.index.unlink()
        self.run_index()
        self.fresh = dump(self.index)

    def run_index(self, *more: str, **how: object) -> CommandRun:
        codes = how.pop("codes", (0,))
        command = ("index", str(self.root), "--db", str(self.index), "--jobs", "1", *more)
        return self.program.run(*command, codes=codes, **how)  # type: ignore[arg-type]

    def prepare(self, operation: str) -> None:
        for name in index_files(self.index):
            self.index.with_name(name).unlink()
        if operation != "build":
            shutil.copy2(self._kept / "index.db", self.index)

    def check_message(self, ran: CommandRun) -> None:
        """Check that a failed run names the file and says what to do."""
        if ran.code:
            expect("hint: " in ran.err and str(self.at) in ran.err, f"the fault is not reported: {ran}")

    def check_remains(self, operation: str, ran: CommandRun) -> None:
        """Check that a failed build left no files."""
        if ran.code and operation in ("build", "rebuild"):
            left = index_files(self.index)
            expect(set(left) <= {"index.db"}, f"files left after {ran}: {left}")

    def mended(self, operation: str) -> None:
        """Check on a working disk that a search shows the old state or the new one, and that the next run finishes the work."""
        codes = (0, 3) if operation == "build" else (0,)
        self.program.run("search", "task", "--db", str(self.index), codes=codes)
        self.run_index(*OPERATIONS[operation])
        expect(dump(self.index) == self.fresh, "the index differs from a fresh one after the next run")
        expect(index_files(self.index) == ["index.db"], f"files left next to the index: {index_files(self.index)}")


def full(count: int, seed: int, folder: Path, report: Report) -> None:
    """Fill a small file system in memory where mounting is allowed, else limit the size of each file."""
    disk = Disk(folder, folder / "at")
    most = disk.index.stat().st_size * 3
    for number in range(seed, seed + count):
        luck = random.Random(number)
        operation, room = luck.choice(list(OPERATIONS)), luck.randrange(4096, most)
        with report.attempt(number):
            disk.prepare(operation)
            with _filled(disk.at, room) as is_small:
                if not is_small:
                    report.note("no file system of memory may be mounted: a limit for each file stands for a full disk")
                ran = disk.run_index(*OPERATIONS[operation], codes=(0, *TOLD), file_bytes=None if is_small else room)
                disk.check_message(ran)
                disk.check_remains(operation, ran)
                report.counts[f"{operation}, exit {ran.code}"] += 1
            disk.mended(operation)


@contextmanager
def _filled(at: Path, room: int) -> Iterator[bool]:
    """Keep the folder on a file system with this much free room; yield False if that is not possible."""
    held = sum(file.stat().st_size for file in at.iterdir())
    small = at.with_name("small")
    small.mkdir(exist_ok=True)
    size = (held + room) // 4096 + 1
    if sys.platform != "linux" or not _ran("mount", "-t", "tmpfs", "-o", f"nr_blocks={size}", "tmpfs", str(small)):
        yield False
        return
    try:
        for file in at.iterdir():
            shutil.copy2(file, small)
        mounted = _ran("mount", "--bind", str(small), str(at))
        expect(mounted, "a folder cannot be mounted over another")
        yield True
    finally:
        left = [(file.name, file.read_bytes()) for file in small.iterdir()]
        _ran("umount", str(at))
        _ran("umount", str(small))
    for file in at.iterdir():
        file.unlink()
    for name, content in left:
        (at / name).write_bytes(content)


def _ran(*command: str) -> bool:
    with suppress(OSError):
        return subprocess.run(command, capture_output=True, check=False).returncode == 0
    return False


def compiled(folder: Path, report: Report) -> Path | None:
    """Compile the shim into a library; None, with a note, if there is no compiler."""
    compiler = next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))), None)
    if sys.platform != "linux" or compiler is None:
        report.note("skipped: the shim that fails calls needs Linux and a C compiler")
        return None
    library = folder / "shim.so"
    source = Path(__file__).with_name("shim.c")
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", str(library), str(source), "-ldl"], check=True)
    return library


KINDS = ("w", "s", "r", "o", "ws", "wso", "rwso")
ERRORS = (errno.EIO, errno.ENOSPC, errno.EROFS, errno.EDQUOT, errno.EACCES)


def failing(count: int, seed: int, folder: Path, report: Report) -> None:
    """Make calls on the index's folder fail from a random one on: once, some times, or for good."""
    library = compiled(folder, report)
    if library is None:
        return
    disk = Disk(folder, folder / "at")
    for number in range(seed, seed + count):
        luck = random.Random(number)
        operation, kinds, code = luck.choice([*OPERATIONS, "search"]), luck.choice(KINDS), luck.choice(ERRORS)
        after, times = luck.choice((luck.randrange(8), luck.randrange(120))), luck.choice((1, 4, 1_000_000))
        with report.attempt(number):
            disk.prepare(operation)
            set_to = {"LD_PRELOAD": str(library), "SHIM": f"{code}:{kinds}:{after}:{times}:{disk.at}"}
            broken = Program(disk.program.home, set_to)
            if operation == "search":
                ran = broken.run("search", "task", "--db", str(disk.index), codes=(0, 1, *TOLD))
            else:
                command = ("index", str(disk.root), "--db", str(disk.index), "--jobs", "1", *OPERATIONS[operation])
                ran = broken.run(*command, codes=(0, *TOLD))
            disk.check_message(ran)
            if "o" not in kinds:  # files can be removed
                disk.check_remains(operation, ran)
            report.counts[f"{operation}, {errno.errorcode[code]}, exit {ran.code}"] += 1
            disk.mended("update" if operation == "search" else operation)


def read_only(count: int, seed: int, folder: Path, report: Report) -> None:
    """Run each command on a read-only medium: readers answer as before, writers report why they cannot."""
    disk = Disk(folder, folder / "tree/.codelens")
    root = str(disk.root)
    mounted = _ran("mount", "--bind", root, root) and _ran("mount", "-o", "remount,ro,bind", root)
    library = None if mounted else compiled(folder, report)
    if not mounted and library is None:
        report.note("skipped: nothing may be mounted here")
        return
    variables = {} if mounted else {"LD_PRELOAD": str(library), "SHIM": f"{errno.EROFS}:wso:0:1000000:{disk.root}"}
    try:
        _each_command(Program(disk.program.home, variables), disk.root, count, seed, report)
    finally:
        if mounted:
            _ran("umount", str(disk.root))


def _each_command(
    program: Program, cwd: Path, count: int, seed: int, report: Report, prefix: tuple[str, ...] = ()
) -> None:
    for number in range(seed, seed + count):
        command = COMMANDS[number % len(COMMANDS)]
        with report.attempt(number):
            ran = program.run(*command, cwd=cwd, prefix=prefix)
            report.counts[f"{command[0]}, exit {ran.code}"] += 1


def vanished(count: int, seed: int, folder: Path, report: Report) -> None:
    """Run each command in a working directory that was deleted."""
    if os.name != "posix":
        report.note("skipped: elsewhere a folder in use cannot be removed")
        return
    program = Program(folder / "home")
    program.home.mkdir()
    gone = ("sh", "-c", 'd=$(mktemp -d) && cd "$d" && rmdir "$d" && exec "$@"', "sh")
    _each_command(program, folder, count, seed, report, gone)


CAMPAIGNS = (
    Campaign("full-disk", full, 100, "builds, updates and rebuilds on a disk with too little room"),
    Campaign("failing-disk", failing, 100, "calls on the index's folder fail: EIO, ENOSPC, EROFS, EDQUOT, EACCES"),
    Campaign("read-only", read_only, 2 * len(COMMANDS), "each command on a medium that cannot be written"),
    Campaign("vanished", vanished, len(COMMANDS), "each command in a working directory that was removed"),
)
