"""Runs codelens as its users do, and checks every run: exit code, stderr, memory, time, processes, files."""

from __future__ import annotations

import os
import resource
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from tools.campaign import expect

EXIT_CODES = frozenset({0, 1, 2, 3, 4, 5, 6})
"""Exit codes of `codelens help exit-codes`, without 130: nothing interrupts these runs."""
UNEXPECTED = ("Traceback", "use --debug", "Exception ignored", "leaked semaphore", "ResourceWarning")
"""Marks of an unforeseen fault on stderr."""
SECONDS = 120.0  # Wall time limit of one command: a campaign's command takes some seconds, and the machine may be busy
BYTES = 3_000_000_000
"""Address space of each process. A normal run maps about 1 GB, most of it never used: threads' stacks and libraries."""

ALONE_SECONDS = 10.0
"""Seconds in which the children of a killed run must end. codelens promises two; the rest is for a busy machine."""


def split_commands(text: str) -> tuple[tuple[str, ...], ...]:
    """Split the arguments of codelens commands, which `;` separates."""
    return tuple(tuple(shlex.split(command)) for command in text.split(";"))


@dataclass(frozen=True, slots=True)
class CommandRun:
    """The output and exit code of a command."""

    arguments: tuple[str, ...]
    code: int
    out: bytes
    err: str

    def __str__(self) -> str:
        return f"codelens {' '.join(self.arguments)!r} → {self.code}; stderr: {self.err[-900:]}"


@dataclass(frozen=True, slots=True)
class Program:
    """codelens for a user whose home is an empty folder."""

    home: Path
    variables: Mapping[str, str] = field(default_factory=dict)

    def run(
        self,
        *arguments: str | bytes,
        cwd: Path | None = None,
        codes: Iterable[int] = EXIT_CODES,
        given: bytes = b"",
        file_bytes: int | None = None,
        prefix: Iterable[str] = (),
    ) -> CommandRun:
        """Run a command. Raises Failed unless it ends with one of the codes, within limits, without a traceback or processes left.

        `file_bytes` limits each file it writes; `prefix` is a command that runs the command after it.
        """

        def limit() -> None:
            resource.setrlimit(resource.RLIMIT_AS, (BYTES, BYTES))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            if file_bytes is not None:
                resource.setrlimit(resource.RLIMIT_FSIZE, (file_bytes, file_bytes))

        process = subprocess.Popen(
            [*prefix, sys.executable, "-P", "-m", "codelens", *arguments],
            cwd=cwd or self.home,
            env=self.environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            preexec_fn=limit,
        )
        command = tuple(os.fsdecode(a) for a in arguments)
        try:
            out, err = process.communicate(given, timeout=SECONDS)
        except subprocess.TimeoutExpired:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            raise AssertionError(f"codelens {' '.join(command)!r} ran over {SECONDS:g} s") from None
        ran = CommandRun(command, process.returncode, out, err.decode("utf-8", "replace"))
        expect(ran.code in codes, f"exit code: {ran}")
        expect(not any(word in ran.err for word in UNEXPECTED), f"not foreseen: {ran}")
        expect(all(c.isprintable() or c in "\n\t" for c in ran.err), f"control characters on stderr: {ran.err!r}")
        expect(not (left := left_behind(process.pid)), f"processes left by {ran}: {left}")
        return ran

    def environment(self) -> dict[str, str]:
        """Environment variables that hide the settings of this machine's user."""
        return {
            "PATH": os.environ.get("PATH", os.defpath),
            "HOME": str(self.home),
            "XDG_CONFIG_HOME": str(self.home / "config"),
            "XDG_CACHE_HOME": str(self.home / "cache"),
            "XDG_DATA_HOME": str(self.home / "data"),
            "GIT_CEILING_DIRECTORIES": str(self.home.parent),
            "LC_ALL": "C.UTF-8",
            **self.variables,
        }


def listed(folder: Path) -> dict[str, tuple[int, int, int]]:
    """Path → (inode, size, mtime) of everything below a folder; links are not followed."""
    found: dict[str, tuple[int, int, int]] = {}
    for place, folders, files in os.walk(folder):
        for name in (*folders, *files):
            path = os.path.join(place, name)  # noqa: PTH118 - names of any bytes, and many
            with suppress(OSError):
                status = os.lstat(path)
                is_folder = os.path.isdir(path) and not os.path.islink(path)  # noqa: PTH112, PTH114
                found[path] = (
                    (status.st_ino, 0, 0) if is_folder else (status.st_ino, status.st_size, status.st_mtime_ns)
                )
    return found


def unchanged(before: Mapping[str, tuple[int, int, int]], folder: Path, but: Iterable[Path] = ()) -> None:
    """Raise Failed if something below a folder differs from `before`, except below the paths in `but`."""
    now, allowed = listed(folder), tuple(str(path) for path in but)
    other = [p for p in {**before, **now} if before.get(p) != now.get(p)]
    wrong = [p for p in other if not any(p == a or p.startswith(f"{a}{os.sep}") for a in allowed)]
    expect(not wrong, f"written outside of the index's place: {wrong[:5]}")


def of_session(leader: int) -> list[int]:
    """Processes that a command left in its session."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != leader:
            with suppress(OSError):
                if os.getsid(int(entry.name)) == leader and not _is_dead(entry):
                    found.append(int(entry.name))
    return found


def _is_dead(entry: Path) -> bool:
    return (entry / "stat").read_bytes().rpartition(b")")[2].split()[0] in (b"Z", b"X")


def left_behind(leader: int) -> list[int]:
    """Processes of the session that are still running after ALONE_SECONDS."""
    deadline = time.monotonic() + ALONE_SECONDS
    while (left := of_session(leader)) and time.monotonic() < deadline:
        time.sleep(0.05)
    return left
