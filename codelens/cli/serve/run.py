"""Flags → a listening socket, a desk behind the gate, and a server that runs until it is interrupted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from codelens.cli.declare import option
from codelens.cli.flags import CommonFlags
from codelens.cli.streams import say, say_plain, write
from codelens.cli.workplace import Workplace, reading_place
from codelens.config import keys_file
from codelens.errors import UsageError
from codelens.watching.events import need_watchfiles
from codelens.watching.process import WatchProcess

if TYPE_CHECKING:
    from codelens.server.http.app import Mounted

NEEDED = ("jinja2", "pydantic", "starlette", "uvicorn")


class ServeFlags(CommonFlags):
    """Where to listen, who may ask, and with how many processes to answer."""

    host: Annotated[str, option("--host", metavar="HOST", help="The address to listen on [default: 127.0.0.1]")] = (
        "127.0.0.1"
    )
    port: Annotated[int, option("--port", metavar="N", help="The port; 0 takes a free one [default: 8640]")] = 8640
    require_key: Annotated[bool, option("--require-key", help="Ask for a key on loopback too")] = False
    watch: Annotated[
        bool, option("--watch", help="Keep the index fresh while it is served, as `codelens watch` does")
    ] = False
    workers: Annotated[
        int | None,
        option("--workers", metavar="N", help="Processes that search; 0 for none but this [default: a core each, ≤ 4]"),
    ] = None


def serve(flags: ServeFlags) -> int:
    """Serve the index over HTTP: an API of JSON objects at /api/, a page for browsers at /, tools for agents at /mcp.

    Prints its address when it listens. Whoever is on this machine may ask; others need a key: `codelens serve keys add NAME`.
    """
    place = reading_place(flags)
    _require_extra()
    if flags.watch:
        need_watchfiles()
    from codelens.server.http.app import application
    from codelens.server.http.desk import Desk, workers_here
    from codelens.server.http.gate import rules_for
    from codelens.server.http.keys import KeyRing
    from codelens.server.http.listen import address_of, listening
    from codelens.server.http.listen import serve as run

    if not 0 <= flags.port <= 65535:
        raise UsageError(f"--port is 0 to 65535, not {flags.port}")
    if flags.workers is not None and not 0 <= flags.workers <= 64:
        raise UsageError(f"--workers is 0 to 64, not {flags.workers}")
    keys, rules = KeyRing(keys_file()), rules_for(flags.host, flags.require_key)
    if rules.keys_needed and not keys.rows():
        where = f"on {flags.host}" if not flags.require_key else "with --require-key"
        raise UsageError(f"nobody could ask {where}: there is no key", "`codelens serve keys add NAME` makes one")
    place.open().close()  # whether it can be read is said now, not at the first question
    listener = listening(flags.host, flags.port)
    mounted = [] if find_spec("mcp") is None else [_tools(place)]
    desk = Desk(place.index_path, place.settings, workers_here() if flags.workers is None else flags.workers)
    if not flags.quiet:
        write([f"{address_of(listener)}\n"])
        say(f"serving {place.index_path}; {'a key is needed; ' if rules.keys_needed else ''}Ctrl-C ends it")
    watch = WatchProcess(place.index_path, tell=_watch_told) if flags.watch else None
    try:
        run(application(desk, rules, keys, mounted=mounted), listener)
    finally:
        if watch:
            watch.stop()
        desk.close()
    return 0


def _tools(place: Workplace) -> Mounted:
    """The Model Context Protocol at one address, behind the same gate. It records nothing: many may ask."""
    from codelens.server.http.app import Mounted
    from codelens.server.mcp.sdk import http_app
    from codelens.server.served import Served
    from codelens.server.upkeep import Upkeep

    served = Served(Path.cwd(), place.index_path, replace(place.settings, memory=False))
    other = http_app(served, Upkeep(served, "`codelens serve` writes nothing; --watch keeps the index fresh"), None)
    return Mounted("/mcp", other.app, other.running)


def _watch_told(told: Mapping[str, Any]) -> None:
    """Faults of the watch; what it does is seen in the answers."""
    if told["type"] == "text":
        say_plain([f"{told['text']}\n"])


def _require_extra() -> None:
    missing = [name for name in NEEDED if find_spec(name) is None]
    if missing:
        raise UsageError(f"serve needs {', '.join(missing)}", "pip install 'codelens[serve]'")
