"""No command opens a socket, nor does any process that it starts: Python itself reports each attempt (PEP 578)."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.cli.lamps import write_lamps
from tests.hooked import python_with

GUARD = """\
import os, sys


def refuse(event, arguments):
    if event.startswith("socket."):
        note(event)
        raise PermissionError(event)


def note(line):
    os.write(journal, f"{line}\\n".encode())


journal = os.open(os.environ["JOURNAL"], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
note("start")
sys.addaudithook(refuse)
"""
"""Runs at the start of every process; the journal shows what somebody caught."""


@dataclass(frozen=True, slots=True)
class Watched:
    """A finished command, and the journal of all its processes."""

    code: int
    err: str
    journal: list[str]


class Guarded:
    """Runs Python in a tree, with the guard in that process and in all below it."""

    def __init__(self, folder: Path) -> None:
        self.tree, self._home, self._journal = folder / "tree", folder / "home", folder / "journal"
        self._home.mkdir()
        self._python = python_with(folder / "python", GUARD)
        write_lamps(self.tree)
        subprocess.run(["git", "init", "-q", str(self.tree)], check=True)

    def run(self, *arguments: str) -> Watched:
        self._journal.unlink(missing_ok=True)
        home = str(self._home)
        guarded = {"JOURNAL": str(self._journal), "XDG_CONFIG_HOME": home, "HOME": home}
        ran = subprocess.run(
            [str(self._python), *arguments], cwd=self.tree, env=os.environ | guarded, capture_output=True, text=True
        )
        return Watched(ran.returncode, ran.stderr, self._journal.read_text().splitlines())


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Guarded:
    made = Guarded(tmp_path_factory.mktemp("offline"))
    indexed = made.run("-m", "codelens", "index", "-q")
    assert (indexed.code, indexed.err) == (0, "")
    return made


@pytest.mark.parametrize(
    "script", ["import socket; socket.socket()", "import socket; socket.getaddrinfo('localhost', 80)"]
)
def test_the_guard_sees_a_socket(script: str, guarded: Guarded) -> None:
    ran = guarded.run("-c", script)
    assert ran.code == 1
    assert ran.err.splitlines()[-1].startswith("PermissionError: socket.")
    assert any(line.startswith("socket.") for line in ran.journal)


def test_the_guard_sees_the_sockets_of_a_child(guarded: Guarded) -> None:
    child = "import subprocess, sys; subprocess.run([sys.executable, '-P', '-c', 'import socket; socket.socket()'])"
    assert guarded.run("-c", child).journal == ["start", "start", "socket.__new__"]


def test_index_and_its_workers_open_no_socket(guarded: Guarded) -> None:
    ran = guarded.run("-m", "codelens", "index", "--force", "-j", "2")
    assert ran.code == 0
    assert "3 files indexed" in ran.err
    assert len(ran.journal) > 1, "workers are processes of their own, and were watched"
    assert set(ran.journal) == {"start"}


ALL = """\
import os, sys
from codelens.cli.main import main

journal = os.open(os.environ["JOURNAL"], os.O_WRONLY | os.O_APPEND)
for line in sys.argv[1:]:
    os.write(journal, f"{line}: {main(line.split())}\\n".encode())
"""
COMMANDS = [
    "index", "index --rebuild", "index --dry-run", "search lamp", "search --json lamp", "search --color always lamp",
    "search --mode vector lamp", "search --refresh lamp", "search --require-fresh lamp", "search --regex l.mp",
    "search light_lmap", "why lamp", "why --color always lamp light_lamp", "why --check lamp", "status --skipped",
    "context lamp", "context --files lamps.py", "index --clear-cache",
    "map", "map --pretty", "symbols lamps.py", "config --show-origin", "doctor --all", "--show-completion bash", "--version",
    "help query", "model list", "model info", "model use hashing",
]  # fmt: skip


@pytest.mark.slow
def test_no_command_opens_a_socket(guarded: Guarded) -> None:
    """Each command exits with 0, and the journal holds only the start of workers."""
    ran = guarded.run("-c", ALL, *COMMANDS)
    assert ran.code == 0
    assert [line for line in ran.journal if line != "start"] == [f"{command}: 0" for command in COMMANDS]
