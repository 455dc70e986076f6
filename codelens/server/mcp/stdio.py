"""`codelens mcp`: from the start of the process to its end, over its standard streams."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from types import FrameType
from typing import IO

from codelens.server.mcp.door import greeting
from codelens.server.served import Served
from codelens.server.upkeep import Upkeep


def serve_stdio(served: Served, upkeep: Upkeep, debug: bool = False) -> None:
    """Answer the handshake, begin what the index needs, then serve until stdin ends or somebody interrupts."""
    stdout = _stdout_alone()
    signal.signal(signal.SIGINT, _leaving(upkeep))
    first = sys.stdin.buffer.readline()
    if answer := greeting(first):
        stdout.write(answer.encode())
        stdout.flush()
    try:
        if first:
            _serve(served, upkeep, stdout, first, greeted=answer is not None, debug=debug)
    finally:
        upkeep.close()


def _serve(served: Served, upkeep: Upkeep, stdout: IO[bytes], first: bytes, greeted: bool, debug: bool) -> None:
    from codelens.server.mcp.desk import Desk
    from codelens.server.mcp.sdk import serve_pipes
    from codelens.server.mcp.tools import TOOLS

    upkeep.tend(0)
    serve_pipes(Desk(served, upkeep, TOOLS, debug), sys.stdin.buffer, stdout, first, greeted)


def _stdout_alone() -> IO[bytes]:
    """The stream of the protocol. Whatever else writes to stdout, ours or a library's, gets stderr from now on."""
    stdout = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    return stdout


def _leaving(upkeep: Upkeep) -> Callable[[int, FrameType | None], None]:
    def leave(number: int, frame: FrameType | None) -> None:
        """At once: a thread waits for stdin, and would wait on. Nothing is open but for reading."""
        upkeep.close()
        os._exit(0)

    return leave
