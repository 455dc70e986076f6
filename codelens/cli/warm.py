"""Asks a running `codelens watch` or `codelens serve` for the answer: it has the index open, and Python started.

    client → answerer    version, arguments, folder, environment, and what the standard streams are
    answerer → client    a byte at once, and one more each time that it has gone on computing
    answerer → client    once the command has ended, the exit code and all of its output

Nothing is written before the whole answer is there. So a client whose answerer refuses, ends in whatever way or is silent for
PATIENCE answers itself, as if it had asked nobody. The answerer runs the same command with the folder and the environment of the
client, so the answer is the same to the byte. Imports next to nothing, not even `typing`: this is what a search costs then.
"""

from __future__ import annotations

import marshal
import os
import sys
from binascii import crc32  # hashlib takes 5 ms

from codelens import __version__

TYPE_CHECKING = False  # That of `typing`, whose import takes as long as Python's start
if TYPE_CHECKING:
    from _socket import socket
    from collections.abc import Callable, Iterator
    from typing import Any

COMMANDS = ("search", "files", "why")
NOT_ANSWERED = ("--open", "--refresh", "--help", "--memory")
"""Options that start an editor, write a file or need more than the answerer has imported."""
SWITCH = "CODELENS_WARM"  # The variable of the setting `warm`; the answerer reads the setting itself
PATIENCE = 0.2  # Seconds without a byte after which nobody is expected to answer. A search by oneself takes as long.
MOST_BYTES = 4_000_000  # Of a question, most of which is the environment, and of an answer
BEAT = b"."
PAGED = 3  # Output for stdout, through the pager where it is longer than the screen
OBJECTS = 100_000
"""More of them than were freed, before Python looks for cycles; by default 700. A search makes some 60,000 and few cycles: looking
for them took a twelfth of its time."""


class Answer:
    """An exit code, and (number of a stream, bytes) to write in this order."""

    def __init__(self, code: int, pieces: list[tuple[int, bytes]]) -> None:
        self.code, self._pieces = code, pieces

    def write(self, page: Callable[[Iterator[bytes]], Iterator[bytes]] | None = None) -> bool:
        """Write it, and forget what is written. Returns False, without `page`, before output that needs a pager."""
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
    """The answer, if somebody answered this process's command line; nothing of it has been written."""
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
        return _ask(place, arguments) if place and os.path.exists(place) else None
    except (OSError, ValueError):
        return None


def locate_socket(index: str) -> str:
    """The path of the socket at which an index is answered for, in a folder that only this user may enter; empty without one."""
    real = os.fsencode(os.path.realpath(index))
    name = f"{crc32(real):08x}{crc32(real[::-1]):08x}"
    folder = os.path.join(
        os.environ.get("XDG_RUNTIME_DIR") or os.environ.get("TMPDIR") or "/tmp", f"codelens-{os.getuid()}"
    )
    return os.path.join(folder, name)


def is_private(folder: str) -> bool:
    """True for a folder of this user's that nobody else may enter."""
    status = os.lstat(folder)
    return status.st_uid == os.getuid() and status.st_mode & 0o170077 == 0o040000


def describe_program() -> list[str]:
    """The program that answers: one of another version might answer otherwise."""
    folder = os.path.dirname(os.path.realpath(__file__))
    return [__version__, sys.version, sys.getfilesystemencoding(), folder]


def _guess_index(arguments: list[str]) -> str:
    """The index that the command probably means: --db, else the nearest above. Asking about another one is slow, and not wrong."""
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


def _ask(place: str, arguments: list[str]) -> Answer | None:
    import _socket  # socket brings enum and selectors

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
    """Send plain values, with a sum of their bytes."""
    body = marshal.dumps(message, 2)
    peer.sendall(b"=%08x" % crc32(body) + body)


def receive(peer: socket) -> Any:
    """Read until nothing more comes, and return what was sent after any beats. Raises ValueError unless that is a whole message."""
    received = b""
    while len(received) < MOST_BYTES and (part := peer.recv(65_536)):
        received += part
    head, body = (message := received.lstrip(BEAT))[:9], message[9:]
    if not body or head != b"=%08x" % crc32(body):
        raise ValueError("not a message of ours")
    return marshal.loads(body)
