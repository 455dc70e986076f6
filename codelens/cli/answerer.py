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
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import Any

from codelens.cli.flags import CommonFlags
from codelens.cli.main import OBJECTS, main
from codelens.cli.warm import COMMANDS, STREAMS, is_private, socket_of, who
from codelens.cli.workplace import settings_at
from codelens.config import Settings
from codelens.errors import CodelensError
from codelens.index import Index
from codelens.model.search import SearchOptions
from codelens.processes.child import end_at_eof
from codelens.processes.python import start
from codelens.text.notation import parse_json
from codelens.worktree.place import find_index

LONGEST_ORDER = 4_000_000  # Bytes of an order; the environment is most of it
PATIENCE = 1.0  # Seconds to wait for a client that has begun to ask
END_SECONDS = 5.0  # How long the end of a watch or server waits for the process
WAITING = 16  # Clients that may wait; each gives up after a moment, and answers itself


@contextmanager
def answering(index: Path, settings: Settings) -> Iterator[None]:
    """Answer searches of the shell about this index while the block runs, unless the setting `warm` is off."""
    if not settings.warm or not hasattr(socket, "send_fds"):
        yield
        return
    try:
        process = start("codelens.cli.answerer:answer_until_eof", str(index.absolute()), stdin=subprocess.PIPE)
    except OSError:  # the shell answers itself then
        yield
        return
    try:
        yield
    finally:
        assert process.stdin
        process.stdin.close()
        try:
            process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:  # in the midst of an answer that nobody reads
            process.kill()
            process.wait()


class _Ending(BaseException):
    """Whoever started this process has ended, or wants it to end."""


def answer_until_eof() -> int:
    """The process. Its argument is the index; stdin is the pipe to whoever started it."""
    gc.set_threshold(OBJECTS)
    os.setsid()  # Ctrl-C is for whoever started us
    signal.signal(signal.SIGTERM, _end)
    place = socket_of(sys.argv[1])
    listener = None
    try:
        end_at_eof(signal.SIGTERM)
        if (listener := _listening(place)) is None:
            return 0
        _prepare(Path(sys.argv[1]))
        while True:
            client, _ = listener.accept()
            with client, suppress(OSError, ValueError, LookupError, TypeError):  # whoever asked answers itself
                client.settimeout(PATIENCE)
                _answer(client)
    except _Ending:
        return 0
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        if listener is not None:
            Path(place).unlink(missing_ok=True)


def _end(number: int, frame: FrameType | None) -> None:
    raise _Ending


def _listening(place: str) -> socket.socket | None:
    """A socket at this path; None if somebody else answers there, or nobody can."""
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


def _prepare(path: Path) -> None:
    """Import what a search needs and read some of the index, before anybody asks."""
    import codelens.cli.search
    import codelens.cli.why
    import codelens.render.formats
    import codelens.render.records
    import codelens.render.terminal  # noqa: F401

    with suppress(CodelensError), Index.reopen(path) as index:  # perhaps it is being built
        index.search("where is it", SearchOptions(limit=1))


def _answer(client: socket.socket) -> None:
    order = _order(client)
    if order["who"] != who() or order["arguments"][0] not in COMMANDS:
        return
    with ExitStack() as stack:
        stack.enter_context(_standing_at(order["folder"], order["environment"]))
        if not _may_answer(order["arguments"]):
            return
        client.sendall(b"go")
        _, streams, _, _ = socket.recv_fds(client, 1, len(STREAMS))
        if len(streams) != len(STREAMS):  # it was not patient
            for stream in streams:
                os.close(stream)
            return
        stack.enter_context(_writing_to(streams, order["encodings"]))
        code = main(order["arguments"])
    client.sendall(str(code).encode())


def _order(client: socket.socket) -> dict[str, Any]:
    said = b""
    while not said.endswith(b"\n") and len(said) < LONGEST_ORDER:
        if not (part := client.recv(65_536)):
            break
        said += part
    order: dict[str, Any] = parse_json(said)
    return order


def _may_answer(arguments: Sequence[str]) -> bool:
    """False where the user's settings want an answer by another process, or one that updates the index first."""
    flags = CommonFlags()
    flags.no_config, flags.quiet = "--no-config" in arguments, True
    try:
        settings = settings_at(Path.cwd(), find_index(Path.cwd()), flags).values
    except (CodelensError, OSError):
        return False
    return settings.warm and settings.refresh == "never"


@contextmanager
def _standing_at(folder: str, environment: Mapping[str, str]) -> Iterator[None]:
    """In the folder and the environment of the client."""
    own = dict(os.environ)
    try:
        os.chdir(folder)
        _take(environment)
        yield
    finally:
        _take(own)
        os.chdir(sys.prefix)


def _take(environment: Mapping[str, str]) -> None:
    if os.environ != environment:
        os.environ.clear()
        os.environ.update(environment)
        time.tzset()


@contextmanager
def _writing_to(streams: Sequence[int], encodings: Sequence[Sequence[str]]) -> Iterator[None]:
    """With the client's standard streams in the place of our own."""
    own = [os.dup(number) for number in range(len(STREAMS))]
    before = [getattr(sys, name) for name in STREAMS]
    try:
        for number, stream in enumerate(streams):
            os.dup2(stream, number)
            os.close(stream)
        for number, (name, (encoding, errors)) in enumerate(zip(STREAMS, encodings, strict=True)):
            raw = open(number, "rb" if name == "stdin" else "wb", closefd=False)  # noqa: SIM115 - not a file of ours
            terminal = name == "stderr" or os.isatty(number)
            setattr(sys, name, io.TextIOWrapper(raw, encoding, errors, line_buffering=terminal))
        yield
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        for name, stream in zip(STREAMS, before, strict=True):
            setattr(sys, name, stream)
        for number, stream in enumerate(own):
            os.dup2(stream, number)
            os.close(stream)
