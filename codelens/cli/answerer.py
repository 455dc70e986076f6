"""The process next to `codelens watch` and `codelens serve` that answers searches of the shell (`codelens.cli.warm`).

One question at a time: a command has the whole process for itself, with the streams, folder and environment of whoever asks.
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
from codelens.cli.workplace import load_settings_at
from codelens.config import Settings
from codelens.errors import CodelensError
from codelens.index import Index
from codelens.model.request import SearchOptions
from codelens.processes.child import end_at_eof
from codelens.processes.python import start
from codelens.worktree.place import find_index

CODES = (0, 1)  # Exit codes that are answered. An error may be that of this process alone, such as a lack of memory.
LONGEST_OUTPUT = 1_000_000  # Bytes for a stream. A client prints longer ones itself, from the first match on.
BEAT_SECONDS = 0.05
BEAT_COMPUTED = 0.001  # Seconds of computing since the last beat that are worth another
PATIENCE = 1.0  # Seconds to wait for a client that has begun to ask
END_SECONDS = 5.0  # How long the end of a watch or server waits for the process
WAITING = 16  # Clients that may wait; each gives up after a moment, and answers itself

Pieces = list[tuple[int, bytes]]  # As in `codelens.cli.warm.Answer`


@contextmanager
def answer_searches(index: Path, settings: Settings) -> Iterator[None]:
    """Answer searches of the shell about this index while the block runs, unless the setting `warm` is off."""
    process = None
    if settings.warm and hasattr(socket, "AF_UNIX"):
        with suppress(OSError):  # the shell answers itself then
            process = start("codelens.cli.answerer:answer_until_eof", str(index.absolute()), stdin=subprocess.PIPE)
    try:
        yield
    finally:
        if process and process.stdin:
            process.stdin.close()
            try:
                process.wait(END_SECONDS)
            except subprocess.TimeoutExpired:  # in the midst of an answer that nobody reads
                process.kill()
                process.wait()


class _EndSignal(BaseException):
    """Raised when the process that started this one has ended, or ends it."""


class _Unanswerable(BaseException):
    """Raised where the client has to answer itself. No Exception, which would be an error of the command."""


def answer_until_eof() -> int:
    """Run the process. Its argument is the index; stdin is the pipe to the process that started it."""
    gc.set_threshold(OBJECTS)
    os.setsid()  # Ctrl-C is for whoever started us
    signal.signal(signal.SIGTERM, _raise_ending)
    signal.signal(signal.SIGINT, _raise_ending)
    place = locate_socket(sys.argv[1])
    listener = None
    try:
        end_at_eof(signal.SIGTERM)
        import codelens.cli.search  # what a search needs, and some of the index, before anybody asks
        import codelens.cli.why
        import codelens.render.formats
        import codelens.render.records
        import codelens.render.terminal  # noqa: F401

        with suppress(CodelensError), Index.reopen(Path(sys.argv[1])) as index:  # perhaps it is being built
            index.search("where is it", SearchOptions(limit=1))
        if (listener := _open_listener(place)) is None:
            return 0
        while True:
            client, _ = listener.accept()
            with client, suppress(Exception, _Unanswerable):  # whoever asked answers itself
                client.settimeout(PATIENCE)
                _answer(client)
    except _EndSignal:
        return 0
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        if listener is not None:
            Path(place).unlink(missing_ok=True)


def _raise_ending(number: int, frame: FrameType | None) -> None:
    raise _EndSignal


def _open_listener(place: str) -> socket.socket | None:
    """Open a socket at this path; None if another process answers there, or none can."""
    folder = Path(place).parent
    with suppress(FileExistsError):
        folder.mkdir(mode=0o700)
    if not is_private(str(folder)):
        return None
    with socket.socket(socket.AF_UNIX) as probe, suppress(OSError):
        probe.connect(place)
        return None
    Path(place).unlink(missing_ok=True)  # of one that was killed
    listener = socket.socket(socket.AF_UNIX)
    try:
        before = os.umask(0o177)
        try:
            listener.bind(place)
        finally:
            os.umask(before)
        listener.listen(WAITING)
    except OSError:
        return None
    return listener


def _answer(client: socket.socket) -> None:
    question = receive(client)
    if question["program"] != describe_program() or question["arguments"][0] not in COMMANDS:
        return
    pieces: Pieces = []
    with _send_beats(client), _using_client_environment(question["folder"], question["environment"]):
        if not _may_answer(question["arguments"]):
            return
        with _capture_output(pieces, question["streams"]):
            code = main(question["arguments"])
    if code in CODES:
        send(client, (code, pieces))


@contextmanager
def _send_beats(client: socket.socket) -> Iterator[None]:
    """Send a beat now and, while the block runs, after each time that it has gone on computing."""
    client.sendall(BEAT)
    ended = threading.Event()

    def beat() -> None:
        computed = 0.0
        with suppress(OSError):  # the client is gone
            while not ended.wait(BEAT_SECONDS):
                others = time.process_time() - time.thread_time()
                if others - computed > BEAT_COMPUTED:  # a process that only waits may wait for ever, and stays silent
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
    """True unless the user's settings want an answer by another process, or one that updates the index first."""
    flags = CommonFlags()
    flags.no_config, flags.quiet = "--no-config" in arguments, True
    try:
        settings = load_settings_at(Path.cwd(), find_index(Path.cwd()), flags).values
    except (CodelensError, OSError):
        return False
    return settings.warm and not settings.memory and settings.refresh == "never"


@contextmanager
def _using_client_environment(folder: str, environment: Mapping[str, str]) -> Iterator[None]:
    """Run the block in the folder and the environment of the client."""

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
    """A stream like that of the client, which keeps the output."""

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
        """Leave output to the client, which has the screen."""
        with io.BufferedWriter(_Stream(self._pieces, PAGED), LONGEST_OUTPUT) as whole:
            whole.writelines(chunks)
        return iter(())


@contextmanager
def _capture_output(pieces: Pieces, streams: Sequence[Any]) -> Iterator[None]:
    """Collect the output of the block. There is no stdin: what is read from it would be missing if this process ended."""
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
