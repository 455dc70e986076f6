"""Flags → a listening socket, a desk behind the gate, and a server that runs until it is interrupted."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from codelens.cli.answerer import answering
from codelens.cli.declare import argument, command, group, option
from codelens.cli.flags import SCHEDULER, STORE, CommonFlags, JsonFlags
from codelens.cli.streams import say, say_plain, write, write_record
from codelens.cli.workplace import Workplace, reading_place
from codelens.config import keys_file
from codelens.errors import MissingExtra, UsageError
from codelens.model.fast_dataclass import replace
from codelens.watching.events import need_watchfiles
from codelens.watching.process import WatchProcess

if TYPE_CHECKING:
    from codelens.server.http.app import Mounted


NEEDED = ("jinja2", "pydantic", "starlette", "uvicorn")


class ServeFlags(CommonFlags):
    """Options: the address, access, and the number of processes."""

    store: str | None = STORE
    scheduler: str | None = SCHEDULER

    host: str = option("127.0.0.1", "--host HOST", "The address to listen on [default: 127.0.0.1]")
    port: int = option(8640, "--port N", "The port; 0 takes a free one [default: 8640]")
    require_key: bool = option(False, "--require-key", "Require a key on loopback, too")
    watch: bool = option(False, "--watch", "Keep the index fresh while serving, like `codelens watch`")
    workers: int | None = option(
        None, "--workers N", "Search processes; 0 for none but this [default: one per core, ≤ 4]"
    )


@command("serve")
def serve_index(flags: ServeFlags) -> int:
    """Serve the index over HTTP.

    Serves a JSON API at /api/, a web page at /, and tools for agents at /mcp, and prints its address. Programs on this
    machine need no key; others do: `codelens serve keys add NAME`.
    """
    place = reading_place(flags) if flags.store is None else _fleet_served(flags)
    _require_extra()
    if flags.watch:
        need_watchfiles()
    from codelens.server.http.app import address_of, application, listening
    from codelens.server.http.app import serve as run
    from codelens.server.http.desk import QueryDesk, workers_here
    from codelens.server.http.gate import rules_for
    from codelens.server.http.keys import KeyRing
    from codelens.server.http.links import SourceLinks

    SourceLinks.from_settings(place.settings, is_local=True)  # a faulty URL is reported now
    if not 0 <= flags.port <= 65535:
        raise UsageError(f"--port must be from 0 to 65535, not {flags.port}")
    if flags.workers is not None and not 0 <= flags.workers <= 64:
        raise UsageError(f"--workers must be from 0 to 64, not {flags.workers}")
    keys, rules = KeyRing(keys_file()), rules_for(flags.host, flags.require_key)
    if rules.keys_needed and not keys.rows():
        where = f"on {flags.host}" if not flags.require_key else "with --require-key"
        raise UsageError(
            f"no client could send requests {where}: there are no keys", "`codelens serve keys add NAME` creates one"
        )
    place.open().close()  # an unreadable index is reported now, not at the first request
    listener = listening(flags.host, flags.port)
    mounted = [] if find_spec("mcp") is None else [_tools(place)]
    desk = QueryDesk(
        place.fleet or place.index_path, place.settings, workers_here() if flags.workers is None else flags.workers
    )
    write([f"{address_of(listener)}\n"])  # with -q too: with --port 0 nothing else says which port it is
    if not flags.quiet:
        say(f"serving {place.index_path}; {'requests need a key; ' if rules.keys_needed else ''}Ctrl-C stops it")
    watch = WatchProcess(place.index_path, tell=_watch_told) if flags.watch else None
    try:
        with nullcontext() if place.fleet else answering(place.index_path, place.settings):
            run(application(desk, rules, keys, mounted=mounted), listener)
    finally:
        if watch:
            watch.stop()
        desk.close()
    return 0


def _fleet_served(flags: ServeFlags) -> Workplace:
    """The store of a fleet. Raises UsageError for options about one index."""
    from codelens.cli.workplace import fleet_at

    if flags.watch or flags.db:
        said = "--watch" if flags.watch else "--db"
        raise UsageError(f"{said} is about one index", "`codelens cluster index` brings a fleet up to date")
    return fleet_at(flags, flags.store or "", flags.scheduler)


def _tools(place: Workplace) -> Mounted:
    """The Model Context Protocol at one address, behind the same gate. It records nothing: many may ask."""
    from codelens.server.http.app import Mounted
    from codelens.server.mcp.sdk import http_app
    from codelens.server.upkeep import Served, Upkeep

    served = Served(Path.cwd(), place.index_path, replace(place.settings, memory=False), place.fleet)
    tools = http_app(served, Upkeep(served, "`codelens serve` writes nothing; --watch keeps the index fresh"), None)
    return Mounted("/mcp", tools.asgi_app, tools.run())


def _watch_told(record: Mapping[str, Any]) -> None:
    """Faults of the watch; what it does is seen in the answers."""
    if record["type"] == "text":
        say_plain([f"{record['text']}\n"])


def _require_extra() -> None:
    missing = [name for name in NEEDED if find_spec(name) is None]
    if missing:
        raise MissingExtra("serve", missing, "serve")


class KeyNameFlags(CommonFlags, JsonFlags):
    """Whose key."""

    name: str | None = argument(None, "NAME", "Whose key it is")


class KeyAddFlags(KeyNameFlags):
    """And what it opens."""

    repositories: list[str] | None = option(
        None, "--repo GLOB", "Only repositories whose name matches; repeatable [default: all]"
    )


class KeyListFlags(CommonFlags, JsonFlags):
    """Options of every command of `serve keys`."""


@command()
def add(flags: KeyAddFlags) -> int:
    """Create a key and print it. It is shown only once; codelens stores its SHA-256."""
    from codelens.server.http.keys import EVERY, add_key

    path, name = _place(), _name(flags)
    key = add_key(path, name, flags.repositories or EVERY)
    if flags.json:
        _write_key_record({"name": name, "key": key})
    else:
        write([f"{key}\n"])
    if not flags.quiet:
        say(f"this is the key of {name}; it is not shown again. Its hash is in {path}")
    return 0


@command("list", epilog="Exit: 0 keys, 1 none, 2 error.")
def list_keys(flags: KeyListFlags) -> int:
    """List the keys by name, with the first digits of their SHA-256."""
    from codelens.server.http.keys import read_keys

    rows = read_keys(_place())
    if flags.json:
        _write_key_record(
            {"keys": [{"name": r.name, "sha256": r.sha256, "repositories": list(r.repositories)} for r in rows]}
        )
    elif not flags.quiet:
        width = max((len(row.name) for row in rows), default=0)
        write([f"{row.name:{width}}  {row.sha256[:12]}  {' '.join(row.repositories)}\n" for row in rows])
    return 0 if rows else 1


@command()
def revoke(flags: KeyNameFlags) -> int:
    """Revoke a key. A running server refuses it from the next request on."""
    from codelens.server.http.keys import revoke_key

    revoke_key(_place(), _name(flags))
    if flags.json:
        _write_key_record({"name": flags.name})
    return 0


def _place() -> Path:
    path = keys_file()
    if path is None:
        raise UsageError("there is no home folder for keys", "set XDG_CONFIG_HOME to a folder of yours")
    return path


def _name(flags: KeyNameFlags) -> str:
    if flags.name is None:
        raise UsageError("no name", "`codelens serve keys add NAME`")
    return flags.name


def _write_key_record(record: dict[str, object]) -> None:
    from codelens.render.records import SCHEMA

    write_record({"schema": SCHEMA, **record, "exit_code": 0})


keys = group("keys", add, list_keys, revoke, help="Create, list and revoke keys for `codelens serve`.")
serve = group("serve", keys, own=serve_index, epilog="Exit: 2 error, 3 no index, 130 interrupted.")
