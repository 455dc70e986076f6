"""A search that a running process answers: the same bytes, and without one, or with another, a search as ever."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from codelens.cli import warm
from codelens.processes.python import start
from tests.search.trees import Tree

if sys.platform == "win32":
    pytest.skip("no descriptors travel there", allow_module_level=True)

FILES = {
    "tide.py": "def rising_tide(moon):\n    '''The height of the water.'''\n    return moon * 2\n",
    "gate.py": "from tide import rising_tide\n\n\ndef harbour_gate():\n    return rising_tide(1)\n",
    "größe.md": "# Maße\n\nWie hoch die Flut steht.\n",
}
LINES: Sequence[tuple[str, ...]] = (
    ("search", "water height"),
    ("search", "water height", "--json"),
    ("search", "-l0", "tide"),
    ("search", "-F", "moon * 2", "--vimgrep"),
    ("search", "Flut", "--color", "always"),
    ("search", "nothing_like_it_anywhere"),
    ("search", "-f", "-"),
    ("search", "tide", "--no-such-option"),
    ("search", "tide", "-n", "x"),
    ("search", "--db", "no/index.db", "tide"),
    ("search", "tide", "no/such/folder"),
    ("search", "tide", "--type-list"),
    ("files", "gate"),
    ("why", "rising tide", "harbour_gate"),
)
USED = "codelens.index"
"""A module that a process imports only if it answers itself."""


class Answerer:
    """A process that answers for an index, in a runtime folder of its own."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self.runtime = Path(tempfile.mkdtemp(dir="/tmp", prefix="clw-"))  # the path of a socket has 100 bytes
        self.environment = {k: v for k, v in os.environ.items() if k != warm.SWITCH}
        self.environment |= {"XDG_RUNTIME_DIR": str(self.runtime)}
        self.process = self.start()

    def start(self) -> subprocess.Popen[bytes]:
        process = start(
            "codelens.cli.answerer:answer_until_eof",
            str(self.index),
            stdin=subprocess.PIPE,
            env={k: v for k, v in self.environment.items() if not k.startswith("PYTHON")},
        )
        self.wait_for(lambda: self.ask("search", "warm up")[1])
        return process

    @property
    def index(self) -> Path:
        return self.tree.root / ".codelens/index.db"

    @property
    def sockets(self) -> list[Path]:
        return [path for path in self.runtime.glob("*/*") if path.is_socket()]

    def wait_for(self, happened: object) -> None:
        until = time.monotonic() + 60
        while not happened():  # type: ignore[operator]
            assert time.monotonic() < until
            time.sleep(0.05)

    def ask(self, *arguments: str, **variables: str) -> tuple[tuple[int, bytes, bytes], bool]:
        """((exit code, stdout, stderr), whether another process answered)."""
        ran = subprocess.run(
            [sys.executable, "-m", "codelens", *arguments],
            cwd=self.tree.root,
            env=self.environment | {"PYTHONPROFILEIMPORTTIME": "1"} | variables,
            input=b"harbour gate\n",
            capture_output=True,
            check=False,
        )
        lines = ran.stderr.splitlines(keepends=True)
        said = b"".join(line for line in lines if not line.startswith(b"import time:"))
        return (ran.returncode, ran.stdout, said), USED.encode() not in ran.stderr.split()

    def end(self) -> None:
        if self.process.stdin:
            self.process.stdin.close()
        self.process.wait()


@pytest.fixture(scope="module")
def answerer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Answerer]:
    tree = Tree(tmp_path_factory.mktemp("harbour"), FILES)
    tree.db = tree.root / ".codelens/index.db"
    tree.db.parent.mkdir()
    tree.index().close()
    made = Answerer(tree)
    yield made
    made.end()
    assert made.sockets == []
    shutil.rmtree(made.runtime)


@pytest.mark.parametrize("line", LINES, ids=" ".join)
def test_the_answer_is_the_same_to_the_byte(answerer: Answerer, line: tuple[str, ...]) -> None:
    own, by_another = answerer.ask(*line, CODELENS_WARM="false")
    assert not by_another
    until = time.monotonic() + 60
    answer, by_another = answerer.ask(*line)
    while not by_another and "no/index.db" not in line:  # on a busy machine nobody says "go" in time
        assert time.monotonic() < until
        answer, by_another = answerer.ask(*line)
    assert answer == own


def test_what_is_of_another_version_or_not_private_is_not_asked(
    answerer: Answerer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(answerer.tree.root)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(answerer.runtime))
    monkeypatch.delenv(warm.SWITCH, raising=False)
    monkeypatch.setattr(sys, "argv", ["codelens", "search", "tide"])
    monkeypatch.setattr(warm, "__version__", "0.0.0")
    assert warm.answered() is None
    folder = answerer.sockets[0].parent
    folder.chmod(0o755)
    try:
        assert not warm.is_private(str(folder))
        assert answerer.ask("search", "tide")[1] is False
    finally:
        folder.chmod(0o700)


def test_what_it_cannot_read_it_survives(answerer: Answerer) -> None:
    for said in (b"\n", b"[1]\n", b"{}\n", b'{"who": 1, "arguments": []}\n', b"\xff\n"):
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(str(answerer.sockets[0]))
            client.sendall(said)
            assert client.recv(2) == b""
    answerer.wait_for(lambda: answerer.ask("search", "tide")[1])


def test_the_setting_switches_it_off(answerer: Answerer) -> None:
    settings = answerer.tree.root / ".codelens.toml"
    settings.write_text("warm = false\n")
    try:
        assert answerer.ask("search", "tide")[1] is False
    finally:
        settings.unlink()


def test_an_update_is_in_the_next_answer(answerer: Answerer) -> None:
    (answerer.tree.root / "buoy.py").write_text("def lost_buoy():\n    return 0\n")
    answerer.tree.index().close()
    assert b"lost_buoy" in answerer.ask("search", "lost buoy")[0][1]


def test_it_ends_with_whoever_started_it_and_one_that_was_killed_is_replaced(answerer: Answerer) -> None:
    answerer.process.send_signal(signal.SIGKILL)
    answerer.process.wait()
    assert answerer.sockets
    (code, out, _), by_another = answerer.ask("search", "rising tide")
    assert (code, by_another) == (0, False)
    assert b"rising_tide" in out
    answerer.process = answerer.start()
    second = start(
        "codelens.cli.answerer:answer_until_eof", str(answerer.index), stdin=subprocess.PIPE, env=answerer.environment
    )
    assert second.stdin
    second.stdin.close()
    assert second.wait() == 0
    assert answerer.sockets


def test_watch_answers_while_it_runs(answerer: Answerer) -> None:
    answerer.end()
    answerer.wait_for(lambda: not answerer.sockets)
    command = [sys.executable, "-m", "codelens", "watch", "--poll", "60", "--until-eof"]
    watch = subprocess.Popen(
        command, cwd=answerer.tree.root, env=answerer.environment, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    answerer.wait_for(lambda: answerer.ask("search", "tide")[1])
    assert watch.stdin
    watch.stdin.close()
    watch.wait()
    answerer.wait_for(lambda: not answerer.sockets)
    answerer.process = answerer.start()
