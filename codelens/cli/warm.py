"""Asks a running `codelens watch` or `codelens serve` for an answer: it has already opened the index and started Python.

    client → answerer    version, arguments, folder, environment, and what the standard streams are
    answerer → client    a byte at once, then one more from time to time as long as it computes
    answerer → client    once the command has ended, the exit code and all of its output

Nothing is written before the whole answer has arrived. So if the answerer refuses, ends or is silent for PATIENCE, the
client runs the command itself, as if it had not asked. The answerer runs the same command in the same folder and environment,
so the answer is the same to the byte. This module imports hardly anything, not even `typing`, to start quickly.
"""

from __future__ import annotations

import marshal
import os
import sys
from binascii import crc32  # hashlib takes 5 ms

from codelens import __version__

TYPE_CHECKING = False  # As in `typing`, whose import takes as long as Python's start
if TYPE_CHECKING:
    from _socket import socket
    from collections.abc import Callable, Iterator
    from typing import Any

COMMANDS = ("search", "files", "why")
NOT_ANSWERED = ("--open", "--refresh", "--help", "--memory")
"""Options that the answerer refuses: they start an editor, write a file or need modules that it has not imported."""
SWITCH = "CODELENS_WARM"  # Environment variable of the setting `warm`; only the answerer reads the setting itself
PATIENCE = 0.2  # Seconds without a byte after which the client gives up; a search of its own takes as long
MOST_BYTES = 4_000_000  # Most bytes of a question, which is largely the environment, and of an answer
BEAT = b"."
PAGED = 3  # Number of the stream for stdout through the pager, if the output is longer than the screen
OBJECTS = 100_000
"""Number of new objects after which Python looks for cycles; by default 700. A search makes some 60,000 and few cycles: looking
for them took a twelfth of its time."""


class Answer:
    """An answer: the exit code, and pieces (number of a stream, bytes) to write in this order."""

    def __init__(self, code: int, pieces: list[tuple[int, bytes]]) -> None:
        self.code, self._pieces = code, pieces

    def write(self, page: Callable[[Iterator[bytes]], Iterator[bytes]] | None = None) -> bool:
        """Write the pieces, and drop those written. Without `page`, stop before output for a pager and return False."""
        while self._pieces:
            number, output = self._pieces[0]
            if number == PAGED and output.count(b"\n") >= os.get_terminal_size(1).lines:
                if page is None:
                    return False
                output = b"".join(page(iter([output])))
            rest = output[os.write(2 if number == 2 else 1, output) :]
            self._pieces[:1] = [(number, rest)] if rest else []
        return True


def ask_for_answer() -> Answer | None:
    """Ask for the answer to this process's command line; None if nobody answers. Nothing has been written yet."""
    arguments = sys.argv[1:]
    if os.name == "nt" or not arguments or arguments[0] not in COMMANDS:
        return None
    if any(a.startswith(NOT_ANSWERED) or "/dev/" in a or "/proc/" in a for a in arguments):  # such as -f /dev/stdin
        return None
    is_off = os.environ.get(SWITCH, "true").lower() in ("", "0", "false", "no")
    if is_off or None in (sys.stdin, sys.stdout, sys.stderr):
        return None
    try:
        place = locate_socket(_guess_index(arguments))
        return _ask_answerer(place, arguments) if place and os.path.exists(place) else None
    except (OSError, ValueError):
        return None


def locate_socket(index: str) -> str:
    """Locate the socket of an index's answerer, in a folder that only this user may enter; empty without such a folder."""
    real = os.fsencode(os.path.realpath(index))
    name = f"{crc32(real):08x}{crc32(real[::-1]):08x}"
    folder = os.environ.get("XDG_RUNTIME_DIR") or os.environ.get("TMPDIR") or "/tmp"
    return os.path.join(folder, f"codelens-{os.getuid()}", name)


def is_private(folder: str) -> bool:
    """True if the folder belongs to this user and nobody else may enter it."""
    status = os.lstat(folder)
    return status.st_uid == os.getuid() and status.st_mode & 0o170077 == 0o040000


def describe_program() -> list[str]:
    """List what identifies this installation. A warm process answers only clients that send the same list."""
    folder = os.path.dirname(os.path.realpath(__file__))
    return [__version__, sys.version, sys.getfilesystemencoding(), folder]


def _guess_index(arguments: list[str]) -> str:
    """Guess the index that the command means: --db, else the nearest upwards. A wrong guess costs time, but does no harm."""
    for at, argument in enumerate(arguments[:-1]):
        if argument == "--db":
            return arguments[at + 1]
    for argument in arguments:
        if argument.startswith("--db="):
            return argument.removeprefix("--db=")
    folder = os.getcwd()
    while not os.path.exists(index := os.path.join(folder, ".codelens", "index.db")):
        if folder == (folder := os.path.dirname(folder)):
            break
    return index


def _ask_answerer(place: str, arguments: list[str]) -> Answer | None:
    """Send a command line to the answerer at a socket, and wait for its answer."""
    import _socket  # `socket` would also import enum and selectors

    if not is_private(os.path.dirname(place)):
        return None
    environment = dict(os.environ)
    if sys.stdout.isatty() and not environment.get("COLUMNS", "").strip("0").isdecimal():
        environment["COLUMNS"] = str(os.get_terminal_size(1).columns or 80)
    question = {
        "program": describe_program(),
        "arguments": arguments,
        "folder": os.getcwd(),
        "environment": environment,
        "streams": [(stream.isatty(), stream.encoding, stream.errors) for stream in (sys.stdout, sys.stderr)],
    }
    answerer = _socket.socket(_socket.AF_UNIX)
    try:
        answerer.settimeout(PATIENCE)
        answerer.connect(place)
        send(answerer, question)
        answerer.shutdown(_socket.SHUT_WR)
        return Answer(*receive(answerer))
    finally:
        answerer.close()


def send(peer: socket, message: Any) -> None:
    """Send plain values with a checksum."""
    body = marshal.dumps(message, 2)
    peer.sendall(b"=%08x" % crc32(body) + body)


def receive(peer: socket) -> Any:
    """Read to the end, skip the beats and return the values sent. Raises ValueError unless they form a whole message."""
    received = b""
    while len(received) < MOST_BYTES and (part := peer.recv(65_536)):
        received += part
    head, body = (message := received.lstrip(BEAT))[:9], message[9:]
    if not body or head != b"=%08x" % crc32(body):
        raise ValueError("not a message of ours")
    return marshal.loads(body)
