"""The process that `codelens watch` and `codelens serve` start to answer searches from the shell (`codelens.cli.warm`).

It runs one command at a time, with the streams, working directory and environment of the client.
"""

import gc
import io
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import Any

from codelens.cli.flags import CommonFlags
from codelens.cli.main import main
from codelens.cli.warm import BEAT, COMMANDS, OBJECTS, PAGED, describe_program, is_private, locate_socket, receive, send
from codelens.cli.workplace import load_settings_at, locate_index
from codelens.config import Settings
from codelens.errors import CodelensError
from codelens.index import Index
from codelens.model.request import SearchOptions
from codelens.processes.child import end_at_eof
from codelens.processes.python import start

CODES = (0, 1)  # Exit codes that are sent. An error may concern this process alone, such as a lack of memory.
LONGEST_OUTPUT = 1_000_000  # Most bytes of a stream. For longer output the client runs the search itself.
BEAT_SECONDS = 0.05
BEAT_COMPUTED = 0.001  # CPU seconds after which another beat is sent
PATIENCE = 1.0  # Seconds to wait for the rest of a client's question
END_SECONDS = 5.0  # Seconds that an ending watch or server waits for this process
WAITING = 16  # Most clients that wait; each soon gives up, and runs its command itself

Pieces = list[tuple[int, bytes]]  # Output by number of its stream, as in `codelens.cli.warm.Answer`


@contextmanager
def answer_searches(index: Path, settings: Settings) -> Iterator[None]:
    """Answer searches from the shell in this index while the block runs, unless the setting `warm` is off."""
    process = None
    if settings.warm and hasattr(socket, "AF_UNIX"):
        with suppress(OSError):  # clients then run their commands themselves
            process = start("codelens.cli.answerer:answer_until_eof", str(index.absolute()), stdin=subprocess.PIPE)
    try:
        yield
    finally:
        if process and process.stdin:
            process.stdin.close()
            try:
                process.wait(END_SECONDS)
            except subprocess.TimeoutExpired:  # it is still writing an answer that nobody reads
                process.kill()
                process.wait()


class _EndSignal(BaseException):
    """Raised when the parent process has ended, or ends this one."""


class _Unanswerable(BaseException):
    """Raised if the client must run the command itself. Not an Exception, which commands would report as an error."""


def answer_until_eof() -> int:
    """Answer clients until stdin, the pipe to the parent process, is closed. The process's argument is the index."""
    gc.set_threshold(OBJECTS)
    os.setsid()  # Ctrl-C is meant for the parent process
    signal.signal(signal.SIGTERM, _raise_end_signal)
    signal.signal(signal.SIGINT, _raise_end_signal)
    place = locate_socket(sys.argv[1])
    listener = None
    try:
        end_at_eof(signal.SIGTERM)
        import codelens.cli.search  # load what a search needs, and part of the index, before the first question
        import codelens.cli.why
        import codelens.render.formats
        import codelens.render.records
        import codelens.render.terminal  # noqa: F401

        with suppress(CodelensError), Index.reopen(Path(sys.argv[1])) as index:  # it may still be under construction
            index.search("where is it", SearchOptions(limit=1))
        if (listener := _open_listener(place)) is None:
            return 0
        while True:
            client, _ = listener.accept()
            with client, suppress(Exception, _Unanswerable):  # the client then runs its command itself
                client.settimeout(PATIENCE)
                _answer_client(client)
    except _EndSignal:
        return 0
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        if listener is not None:
            Path(place).unlink(missing_ok=True)


def _raise_end_signal(number: int, frame: FrameType | None) -> None:
    raise _EndSignal


def _open_listener(place: str) -> socket.socket | None:
    """Open a socket at this path; None if another process answers there, or the system refuses."""
    folder = Path(place).parent
    with suppress(FileExistsError):
        folder.mkdir(mode=0o700)
    if not is_private(str(folder)):
        return None
    with socket.socket(socket.AF_UNIX) as probe, suppress(OSError):
        probe.connect(place)
        return None
    Path(place).unlink(missing_ok=True)  # left by a process that was killed
    listener = socket.socket(socket.AF_UNIX)
    before = os.umask(0o177)
    try:
        listener.bind(place)
        listener.listen(WAITING)
    except OSError:
        return None
    finally:
        os.umask(before)
    return listener


def _answer_client(client: socket.socket) -> None:
    """Run a client's command and send its exit code and output; nothing if the client must run it itself."""
    question = receive(client)
    if question["program"] != describe_program() or question["arguments"][0] not in COMMANDS:
        return
    pieces: Pieces = []
    with _send_beats(client), _use_client_environment(question["folder"], question["environment"]):
        if not _may_answer(question["arguments"]):
            return
        with _capture_output(pieces, question["streams"]):
            code = main(question["arguments"])
    if code in CODES:
        send(client, (code, pieces))


@contextmanager
def _send_beats(client: socket.socket) -> Iterator[None]:
    """Send a beat now, and regularly as long as the block uses CPU time."""
    client.sendall(BEAT)
    ended = threading.Event()

    def beat() -> None:
        computed = 0.0
        with suppress(OSError):  # the client is gone
            while not ended.wait(BEAT_SECONDS):
                others = time.process_time() - time.thread_time()
                if others - computed > BEAT_COMPUTED:  # no beat for a process that only waits: it may wait for ever
                    client.sendall(BEAT)
                    computed = others

    thread = threading.Thread(target=beat, name="codelens-beat", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def _may_answer(arguments: Sequence[str]) -> bool:
    """True unless the user's settings require that the client runs the command, or that the index is updated first."""
    flags = CommonFlags()
    flags.no_config, flags.quiet = "--no-config" in arguments, True
    try:
        settings = load_settings_at(Path.cwd(), locate_index(Path.cwd()), flags).values
    except (CodelensError, OSError):
        return False
    return settings.warm and not settings.memory and settings.refresh == "never"


@contextmanager
def _use_client_environment(folder: str, environment: Mapping[str, str]) -> Iterator[None]:
    """Run the block in the working directory and with the environment of the client."""

    def set_environment(variables: Mapping[str, str]) -> None:
        if os.environ != variables:
            os.environ.clear()
            os.environ.update(variables)
            time.tzset()

    before = dict(os.environ)
    try:
        os.chdir(folder)
        set_environment(environment)
        yield
    finally:
        set_environment(before)
        os.chdir(sys.prefix)


class _Stream(io.RawIOBase):
    """A stream that behaves like the client's, and collects the output."""

    def __init__(self, pieces: Pieces, number: int, is_terminal: bool = False) -> None:
        self._pieces, self._number, self._is_terminal, self._length = pieces, number, is_terminal, 0

    def isatty(self) -> bool:
        return self._is_terminal

    def writable(self) -> bool:
        return True

    def write(self, output: Any) -> int:
        self._length += len(output)
        if self._length > LONGEST_OUTPUT:
            raise _Unanswerable
        self._pieces.append((self._number, bytes(output)))
        return len(output)

    def page(self, chunks: Iterable[bytes]) -> Iterator[bytes]:
        """Collect output that the client is to show in its pager."""
        with io.BufferedWriter(_Stream(self._pieces, PAGED), LONGEST_OUTPUT) as whole:
            whole.writelines(chunks)
        return iter(())


@contextmanager
def _capture_output(pieces: Pieces, streams: Sequence[Any]) -> Iterator[None]:
    """Collect the output of the block. It has no stdin, because a client that takes over could not read the same input again."""
    before = sys.stdin, sys.stdout, sys.stderr
    try:
        sys.stdin = None
        sys.stdout, sys.stderr = (
            io.TextIOWrapper(io.BufferedWriter(_Stream(pieces, n, terminal)), encoding, errors, line_buffering=terminal)
            for n, (terminal, encoding, errors) in enumerate(streams, start=1)
        )
        yield
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        sys.stdin, sys.stdout, sys.stderr = before
