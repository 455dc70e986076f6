"""Asks a running `codelens watch` or `codelens serve` for the answer: it has the index open, and Python started.

    client → answerer    a line of JSON: version, arguments, folder, environment, encodings of the streams
    answerer → client    "go", or nothing: it is of another version, busy, or the setting `warm` is off
    client → answerer    the standard streams, as file descriptors
    answerer → client    the exit code

Until "go" nothing has happened, and whoever does not hear it in time answers itself. The answerer runs the same command on the
streams of the client, so the answer is the same to the byte. Imports next to nothing: this is what a search costs then.
"""

import os
import sys
from typing import Any

from codelens import __version__

COMMANDS = ("search", "files", "why")
OWN = ("--open", "--refresh", "--help")
"""Options that start an editor, write an index or need more than the answerer has imported."""
SWITCH = "CODELENS_WARM"  # The variable of the setting `warm`; the answerer reads the setting itself
PATIENCE = 0.3  # Seconds to wait for "go". A search by oneself takes as long.
STREAMS = ("stdin", "stdout", "stderr")


def answered() -> int | None:
    """The exit code, if somebody answered this process's command line; else None, and nothing has been written."""
    arguments = sys.argv[1:]
    if os.name == "nt" or not arguments or arguments[0] not in COMMANDS or any(a.startswith(OWN) for a in arguments):
        return None
    is_off = os.environ.get(SWITCH, "true").lower() in ("", "0", "false", "no")
    if is_off or None in (sys.stdin, sys.stdout, sys.stderr):
        return None
    try:
        place = socket_of(_index(arguments))
        return _ask(place, arguments) if place and os.path.exists(place) else None
    except OSError:
        return None


def socket_of(index: str) -> str:
    """The path of the socket at which an index is answered for, in a folder that only this user may enter; empty without one."""
    import binascii  # hashlib takes 5 ms

    real = os.fsencode(os.path.realpath(index))
    name = f"{binascii.crc32(real):08x}{binascii.crc32(real[::-1]):08x}"
    folder = os.path.join(
        os.environ.get("XDG_RUNTIME_DIR") or os.environ.get("TMPDIR") or "/tmp", f"codelens-{os.getuid()}"
    )
    return os.path.join(folder, name)


def is_private(folder: str) -> bool:
    """True for a folder of this user's that nobody else may enter."""
    found = os.lstat(folder)
    return found.st_uid == os.getuid() and found.st_mode & 0o170077 == 0o040000


def who() -> list[str]:
    """The program that answers: one of another version might answer otherwise."""
    return [__version__, sys.version, os.path.dirname(os.path.realpath(__file__))]


def _index(arguments: list[str]) -> str:
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


def _ask(place: str, arguments: list[str]) -> int | None:
    import json
    import socket

    if not is_private(os.path.dirname(place)):
        return None
    streams: list[Any] = [getattr(sys, name) for name in STREAMS]
    order = {
        "who": who(),
        "arguments": arguments,
        "folder": os.getcwd(),
        "environment": dict(os.environ),
        "encodings": [(stream.encoding, stream.errors) for stream in streams],
    }
    with socket.socket(socket.AF_UNIX) as answerer:
        answerer.settimeout(PATIENCE)
        answerer.connect(place)
        answerer.sendall(json.dumps(order).encode() + b"\n")
        if answerer.recv(2) != b"go":
            return None
        answerer.settimeout(None)
        socket.send_fds(answerer, [b"\n"], [stream.fileno() for stream in streams])
        code = answerer.recv(16)
    if not code:
        os.write(2, b"codelens: error: the process that answered has ended\ncodelens: hint: ask again\n")
        return 2
    return int(code)
