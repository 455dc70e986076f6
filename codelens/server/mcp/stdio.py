"""`codelens mcp` behind its door: from the handshake to the end of the process."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from types import FrameType

from codelens.server.mcp.door import Entered
from codelens.server.served import Served
from codelens.server.upkeep import Upkeep


def serve_stdio(served: Served, upkeep: Upkeep, entered: Entered, debug: bool = False) -> None:
    """Begin what the index needs, then serve until stdin ends, or SIGINT or SIGTERM comes."""
    if not entered.first:
        return
    signal.signal(signal.SIGINT, _leaving(upkeep))
    signal.signal(signal.SIGTERM, _leaving(upkeep))
    upkeep.tend(0)
    try:
        from codelens.server.mcp.desk import Desk
        from codelens.server.mcp.sdk import serve_pipes
        from codelens.server.mcp.tools import TOOLS

        serve_pipes(Desk(served, upkeep, TOOLS, f"mcp {os.getpid()}", debug), sys.stdin.buffer, entered)
    finally:
        upkeep.close()


def _leaving(upkeep: Upkeep) -> Callable[[int, FrameType | None], None]:
    def leave(number: int, frame: FrameType | None) -> None:
        """At once: a thread waits for stdin, and would wait on. Nothing is open but for reading."""
        upkeep.close()
        os._exit(0)

    return leave
