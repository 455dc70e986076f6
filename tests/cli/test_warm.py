"""A search that a running process answers: the same bytes, however that process ends."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from codelens.cli import warm
from codelens.processes.python import start
from tests.cli.test_real_terminal import OnTerminal
from tests.search.trees import Tree

if sys.platform == "win32":
    pytest.skip("no descriptors travel there", allow_module_level=True)

FILES = {
    "tide.py": "def rising_tide(moon):\n    '''The height of the water.'''\n    return moon * 2\n",
    "gate.py": "from tide import rising_tide\n\n\ndef harbour_gate():\n    return rising_tide(1)\n",
    "größe.md": "# Maße\n\nWie hoch die Flut steht.\n",
    "waves.txt": "".join(f"wave {number}{' of the storm' * 15}\n" for number in range(6_000)),
}
LINES: Sequence[tuple[str, ...]] = (
    ("search", "water height"),
    ("search", "water height", "--json"),
    ("search", "-l0", "tide"),
    ("search", "-F", "moon * 2", "--vimgrep"),
    ("search", "Flut", "--color", "always"),
    ("search", "nothing_like_it_anywhere"),
    ("search", "tide", "--verbose"),
    ("search", "tide", "--type-list"),
    ("files", "gate"),
    ("why", "rising tide", "harbour_gate"),
)
UNANSWERED: Sequence[tuple[str, ...]] = (
    ("search", "-f", "-"),
    ("search", "-f", "/dev/stdin"),
    ("search", "-F", "of the storm"),
    ("search", "tide", "--no-such-option"),
    ("search", "tide", "-n", "x"),
    ("search", "--db", "no/index.db", "tide"),
    ("search", "tide", "no/such/folder"),
    ("search", "tide", "--memory"),
    ("search", "why:", "--strict-query"),
)
"""Lines that read stdin, write more than an answer may hold, fail or record something."""
USED = "codelens.index"  # A module that a process imports only if it answers itself


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
        with self.asking(*arguments, **variables) as client:
            return self.answer_of(client)

    def asking(self, *arguments: str, **variables: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [sys.executable, "-m", "codelens", *arguments],
            cwd=self.tree.root,
            env=self.environment | {"PYTHONPROFILEIMPORTTIME": "1"} | variables,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def answer_of(self, client: subprocess.Popen[bytes], read: bytes = b"") -> tuple[tuple[int, bytes, bytes], bool]:
        """As `ask`; `read` is what was already read of stderr."""
        out, err = client.communicate(b"harbour gate\n")
        lines = (read + err).splitlines(keepends=True)
        said = b"".join(line for line in lines if not line.startswith(b"import time:"))
        return (client.returncode, out, said), USED.encode() not in (read + err).split()

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
    answer, by_another = answerer.ask(*line)
    until = time.monotonic() + 60
    while not by_another:  # on a busy machine nobody answers in time
        assert time.monotonic() < until
        assert answer == own
        answer, by_another = answerer.ask(*line)
    assert answer == own


@pytest.mark.parametrize("line", UNANSWERED, ids=" ".join)
def test_questions_that_need_the_own_process_are_not_asked(answerer: Answerer, line: tuple[str, ...]) -> None:
    own, _ = answerer.ask(*line, CODELENS_WARM="false")
    assert answerer.ask(*line) == (own, False)


@pytest.mark.parametrize("most", [5, 100])
def test_a_terminal_shows_the_same_and_the_pager_runs_there(answerer: Answerer, most: int) -> None:
    variables = answerer.environment | {"PAGER": "sed s/^/paged:/", "PYTHONPROFILEIMPORTTIME": "1"}

    def show(**more: str) -> OnTerminal:
        return OnTerminal(["search", "-F", "wave", "-m", str(most)], answerer.tree.root, **variables | more)

    def answer_is_used() -> bool:
        shown = show(CODELENS_WARM="true")
        assert (shown.seen, shown.code) == (own.seen, own.code)
        return USED not in shown.piped.split()

    own = show(CODELENS_WARM="false")
    assert own.seen.startswith("paged:") == (most == 100)
    answerer.wait_for(answer_is_used)


def test_a_reader_that_goes_away_and_a_full_disk_are_no_different(answerer: Answerer) -> None:
    command = f"{sys.executable} -m codelens search tide"

    def run(line: str, warm: str) -> tuple[bytes, bytes, int]:
        ran = subprocess.run(
            ["bash", "-c", line],
            cwd=answerer.tree.root,
            env=answerer.environment | {"CODELENS_WARM": warm},
            capture_output=True,
            check=False,
        )
        return ran.stdout, ran.stderr, ran.returncode

    for line in (f"{command} | true; echo ${{PIPESTATUS[0]}}", f"{command} >/dev/full", f"{command} --verbose 2>&1"):
        assert run(line, "true") == run(line, "false")


@contextmanager
def between(answerer: Answerer, reply: Callable[[socket.socket, bytes], None]) -> Iterator[None]:
    """Stand between clients and the answerer: `reply` passes on what it wants of an answer."""
    (place,) = answerer.sockets
    behind = place.with_suffix(".behind")
    place.rename(behind)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(place))
    listener.listen()

    def pass_on() -> None:
        with suppress(OSError):
            while True:
                client, _ = listener.accept()
                with client, socket.socket(socket.AF_UNIX) as other, suppress(OSError):
                    other.connect(str(behind))
                    other.sendall(_all(client))
                    other.shutdown(socket.SHUT_WR)
                    reply(client, _all(other))

    thread = threading.Thread(target=pass_on)
    thread.start()
    try:
        yield
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        thread.join()
        listener.close()
        behind.rename(place)


def _all(peer: socket.socket) -> bytes:
    return b"".join(iter(lambda: peer.recv(65_536), b""))


@pytest.mark.slow
def test_an_answer_that_breaks_off_anywhere_is_not_used(answerer: Answerer) -> None:
    """Whether the connection is closed then, or stays open for as long as the client waits."""
    line = ("search", "water height", "--json")
    own, _ = answerer.ask(*line, CODELENS_WARM="false")
    length = len(own[1])
    for cut in (0, 1, -length - 40, -length // 2, -1):
        for stays_open in (False, True):

            def reply(client: socket.socket, answer: bytes, cut: int = cut, stays_open: bool = stays_open) -> None:
                client.sendall(answer[:cut])
                if stays_open:
                    _all(client)

            with between(answerer, reply):
                assert answerer.ask(*line) == (own, False)


@pytest.mark.parametrize(
    "garbage",
    [b"go", b"0\n", b"=00000000", b"=00000000" + bytes(100), b"." * 5_000_000, os.urandom(5_000_000), b'{"code": 0}\n'],
    ids=["word", "number", "empty", "zeros", "beats", "random", "json"],
)
def test_garbage_is_no_answer(answerer: Answerer, garbage: bytes) -> None:
    own, _ = answerer.ask("search", "tide", CODELENS_WARM="false")
    with between(answerer, lambda client, answer: client.sendall(garbage)):
        assert answerer.ask("search", "tide") == (own, False)
    with between(answerer, lambda client, answer: client.sendall(answer[:-1] + bytes([answer[-1] ^ 1]))):
        assert answerer.ask("search", "tide") == (own, False)


def test_a_place_where_nobody_accepts_or_that_closes_at_once(answerer: Answerer) -> None:
    own, _ = answerer.ask("search", "tide", CODELENS_WARM="false")
    (place,) = answerer.sockets
    behind = place.with_suffix(".behind")
    place.rename(behind)
    try:
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(str(place))
            assert answerer.ask("search", "tide") == (own, False)  # refused
            listener.listen(1)
            assert answerer.ask("search", "tide") == (own, False)  # never accepted
            waiting = [socket.socket(socket.AF_UNIX) for _ in range(5)]
            for client in waiting:
                client.setblocking(False)
                with suppress(OSError):
                    client.connect(str(place))
            assert answerer.ask("search", "tide") == (own, False)  # no room to wait in
            for client in waiting:
                client.close()

            def close_all() -> None:
                with suppress(OSError):
                    while True:
                        listener.accept()[0].close()

            closing = threading.Thread(target=close_all)
            closing.start()
            assert answerer.ask("search", "tide") == (own, False)
            listener.shutdown(socket.SHUT_RDWR)
            closing.join()
    finally:
        place.unlink()
        behind.rename(place)


FATAL = (signal.SIGTERM, signal.SIGINT, signal.SIGKILL)
STRIKES = (*FATAL, signal.SIGSTOP)


@pytest.mark.slow
@pytest.mark.parametrize("strike", STRIKES, ids=lambda strike: strike.name)
def test_a_search_after_the_answerer_was_struck(answerer: Answerer, strike: signal.Signals) -> None:
    own, _ = answerer.ask("search", "tide", CODELENS_WARM="false")
    with struck(answerer, strike):
        assert answerer.ask("search", "tide") == (own, False)


@contextmanager
def struck(answerer: Answerer, strike: signal.Signals) -> Iterator[None]:
    answerer.process.send_signal(strike)
    if strike in FATAL:
        answerer.process.wait()
    try:
        yield
    finally:
        if strike in FATAL:
            answerer.process = answerer.start()
        else:
            answerer.process.send_signal(signal.SIGCONT)


@pytest.mark.slow
@pytest.mark.parametrize("strike", [*STRIKES, None], ids=lambda strike: strike.name if strike else "hangs")
def test_a_search_during_which_the_answerer_is_struck(answerer: Answerer, strike: signal.Signals | None) -> None:
    """It takes the question and waits at a pipe for its words, without end if nothing strikes it; so does the client after it."""
    words = answerer.runtime / "words"
    line = ("search", "-e", "tide", "-f", str(words))
    words.write_bytes(b"")
    own, _ = answerer.ask(*line, CODELENS_WARM="false")
    words.unlink()
    os.mkfifo(words)
    done = threading.Event()

    try:
        with answerer.asking(*line) as client:
            with words.open("wb", buffering=0):  # waits until somebody reads
                if strike:
                    answerer.process.send_signal(strike)
                read = bytearray()
                while USED.encode() not in read.split():
                    part = os.read(client.stderr.fileno(), 65_536)  # type: ignore[union-attr]
                    assert part
                    read += part
            threading.Thread(target=_end_pipe, args=(words, done), daemon=True).start()
            answer = answerer.answer_of(client, bytes(read))
            done.set()
        assert answer == (own, False)
    finally:
        done.set()
        words.unlink()
        if strike in FATAL:
            answerer.process.wait()
            answerer.process = answerer.start()
        elif strike:
            answerer.process.send_signal(signal.SIGCONT)
    answerer.wait_for(lambda: answerer.ask("search", "tide")[1])


def _end_pipe(pipe: Path, done: threading.Event) -> None:
    """Let each reader of a pipe see its end."""
    while not done.wait(0.01):
        with suppress(OSError):  # nobody reads
            os.close(os.open(pipe, os.O_WRONLY | os.O_NONBLOCK))


def test_another_version_or_a_shared_folder_is_not_asked(answerer: Answerer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(answerer.tree.root)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(answerer.runtime))
    monkeypatch.delenv(warm.SWITCH, raising=False)
    monkeypatch.setattr(sys, "argv", ["codelens", "search", "tide"])
    monkeypatch.setattr(warm, "__version__", "0.0.0")
    assert warm.ask_for_answer() is None
    folder = answerer.sockets[0].parent
    folder.chmod(0o755)
    try:
        assert not warm.is_private(str(folder))
        assert answerer.ask("search", "tide")[1] is False
    finally:
        folder.chmod(0o700)


def test_the_answerer_survives_unreadable_questions(answerer: Answerer) -> None:
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


@pytest.mark.slow
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
