"""The user's pager, for output that does not fit on the screen."""

import os
import sys
from collections.abc import Iterable, Iterator, Sequence
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
    if rows < most or not _show(chain(first, chunks), pager_command()):
        yield from first
        yield from chunks


def pager_command() -> list[str]:
    """CODELENS_PAGER, else PAGER, else less: the environment alone names a command. Empty if there is no usable pager."""
    import shlex
    from shutil import which

    text = os.environ.get("CODELENS_PAGER", os.environ.get("PAGER", "less"))
    with suppress(ValueError):  # quotes that are not closed
        command = shlex.split(text)
        if command and command != ["cat"] and which(command[0]) and os.environ.get("TERM") != "dumb":
            return command
    return []


def _show(chunks: Iterable[bytes], command: Sequence[str]) -> bool:
    """Run the pager until the user leaves it; returns False without a command."""
    if not command:
        return False
    import subprocess  # most answers fit on the screen

    try:
        pager = subprocess.Popen(command, stdin=subprocess.PIPE, env={**OPTIONS, **os.environ})
    except OSError:  # a script whose interpreter is missing
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
