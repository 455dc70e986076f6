"""Flags → a listening socket, a desk behind the gate, and a server that runs until it is interrupted."""

from __future__ import annotations

import importlib.util
from typing import Annotated

from codelens.cli.declare import option
from codelens.cli.flags import CommonFlags
from codelens.cli.streams import say, write
from codelens.cli.workplace import reading_place
from codelens.config import keys_file
from codelens.errors import UsageError

NEEDED = ("jinja2", "pydantic", "starlette", "uvicorn")


class ServeFlags(CommonFlags):
    """Where to listen, who may ask, and with how many processes to answer."""

    host: Annotated[str, option("--host", metavar="HOST", help="The address to listen on [default: 127.0.0.1]")] = (
        "127.0.0.1"
    )
    port: Annotated[int, option("--port", metavar="N", help="The port; 0 takes a free one [default: 8640]")] = 8640
    require_key: Annotated[bool, option("--require-key", help="Ask for a key on loopback too")] = False
    workers: Annotated[
        int | None,
        option("--workers", metavar="N", help="Processes that search; 0 for none but this [default: a core each, ≤ 4]"),
    ] = None


def serve(flags: ServeFlags) -> int:
    """Serve the index over HTTP: an API of JSON objects at /api/, and a page for browsers at /.

    Prints its address when it listens. Whoever is on this machine may ask; others need a key: `codelens serve keys add NAME`.
    """
    place = reading_place(flags)
    _require_extra()
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
    desk = Desk(place.index_path, place.settings, workers_here() if flags.workers is None else flags.workers)
    if not flags.quiet:
        write([f"{address_of(listener)}\n"])
        say(f"serving {place.index_path}; {'a key is needed; ' if rules.keys_needed else ''}Ctrl-C ends it")
    try:
        run(application(desk, rules, keys), listener)
    finally:
        desk.close()
    return 0


def _require_extra() -> None:
    missing = [name for name in NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        raise UsageError(f"serve needs {', '.join(missing)}", "pip install 'codelens[serve]'")
