"""The user's pager, for output that does not fit on the screen."""

import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import chain

USUAL_ROWS = 24  # Of a terminal that does not tell its size
OPTIONS = {"LESS": "FRX", "LV": "-c"}  # With which git runs less and lv, unless the user has set others


def show_long(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """Send output to the pager once it is longer than the screen. Yields what the pager does not take."""
    first: list[bytes] = []
    rows, most = 0, os.get_terminal_size(sys.stdout.fileno()).lines or USUAL_ROWS
    for chunk in chunks:
        first.append(chunk)
        rows += chunk.count(b"\n")
        if rows >= most:
            break
    if rows < most or not _run_pager(chain(first, chunks)):
        yield from first
        yield from chunks


def _run_pager(chunks: Iterable[bytes]) -> bool:
    """Run CODELENS_PAGER, else PAGER, else less, until the user leaves it; returns False if there is no usable pager.

    The environment alone names a command.
    """
    import shlex
    import subprocess  # most answers fit on the screen
    from shutil import which

    try:
        command = shlex.split(os.environ.get("CODELENS_PAGER", os.environ.get("PAGER", "less")))
        if not command or command == ["cat"] or not which(command[0]) or os.environ.get("TERM") == "dumb":
            return False
        pager = subprocess.Popen(command, stdin=subprocess.PIPE, env={**OPTIONS, **os.environ})
    except (OSError, ValueError):  # a script whose interpreter is missing; quotes that are not closed
        return False
    assert pager.stdin
    try:
        with suppress(BrokenPipeError), pager.stdin:  # it may be left before the end
            for chunk in chunks:
                pager.stdin.write(chunk)
    finally:
        while pager.poll() is None:
            with suppress(KeyboardInterrupt):  # less takes Ctrl-C for itself
                pager.wait()
    return True
