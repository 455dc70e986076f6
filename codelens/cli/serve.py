"""codelens serve: opens a socket, checks access, and serves the index over HTTP until it is interrupted."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from codelens.cli.answerer import answer_searches
from codelens.cli.declare import CommandGroup, command, option, required_argument
from codelens.cli.flags import SCHEDULER, STORE, CommonFlags, JsonFlags, ListFlags, Texts
from codelens.cli.streams import inform, say_without_prefix, silence_output, write, write_fields
from codelens.cli.workplace import Workplace, find_fleet_workplace, find_workplace
from codelens.config import find_user_place
from codelens.errors import UsageError, require_packages
from codelens.model.fast_dataclass import replace
from codelens.watching.events import require_watchfiles
from codelens.watching.process import WatchProcess

if TYPE_CHECKING:
    from codelens.server.http.app import MountedApp


class ServeFlags(CommonFlags):
    store: str | None = STORE
    scheduler: str | None = SCHEDULER
    host: str = option("--host HOST", "The address to listen on [default: 127.0.0.1]", default="127.0.0.1")
    port: int = option("--port N", "The port; 0 takes a free one [default: 8640]", default=8640, least=0, most=65535)
    require_key: bool = option("--require-key", "Require a key on loopback, too")
    watch: bool = option("--watch", "Keep the index fresh while serving, like `codelens watch`")
    workers: int | None = option(
        "--workers N", "Search processes; 0 for none but this [default: one per core, ≤ 4]", least=0, most=64
    )


@command("serve")
def serve_index(flags: ServeFlags) -> int:
    """Serve the index over HTTP.

    Serves a JSON API at /api/, a web page at /, and tools for agents at /mcp, and prints its address. Programs on this
    machine need no key; others do: `codelens serve keys add NAME`.
    """
    if flags.store is None:
        place = find_workplace(flags)
    elif flags.watch or flags.db:
        flag = "--watch" if flags.watch else "--db"
        raise UsageError(f"{flag} is about one index", "`codelens cluster index` brings a fleet up to date")
    else:
        place = find_fleet_workplace(flags)
    require_packages("serve", "jinja2", "pydantic", "starlette", "uvicorn")
    if flags.watch:
        require_watchfiles()
    from codelens.server.http.app import format_address, make_application, make_server, open_listener
    from codelens.server.http.desk import QueryDesk, count_default_workers
    from codelens.server.http.gate import make_rules
    from codelens.server.http.keys import read_keys
    from codelens.server.http.links import SourceLinks

    SourceLinks.from_settings(place.settings, is_local=True)  # a faulty URL is reported now
    keys, rules = find_user_place("keys.json"), make_rules(flags.host, flags.require_key)
    if rules.keys_needed and not read_keys(keys):
        where = f"on {flags.host}" if not flags.require_key else "with --require-key"
        text = f"no client could send requests {where}: there are no keys"
        raise UsageError(text, "`codelens serve keys add NAME` creates one")
    place.open().close()  # an unreadable index is reported now, not at the first request
    listener = open_listener(flags.host, flags.port)
    mounted = None if find_spec("mcp") is None else _build_tools_app(place)
    workers = count_default_workers() if flags.workers is None else flags.workers
    desk = QueryDesk(place.fleet or place.index_path, place.settings, workers)
    silence_output(False)  # even with --quiet: for --port 0 nothing else tells the port
    write([f"{format_address(listener)}\n"])
    need_key = "requests need a key; " if rules.keys_needed else ""
    inform(flags, f"serving {place.index_path}; {need_key}Ctrl-C stops it")

    def report_watch(record: Mapping[str, Any]) -> None:
        """Print the faults of the watch; its updates show in the answers."""
        if record["type"] == "text":
            say_without_prefix([f"{record['text']}\n"])

    watch = WatchProcess(place.index_path, report=report_watch) if flags.watch else None
    try:
        with nullcontext() if place.fleet else answer_searches(place.index_path, place.settings):
            make_server(make_application(desk, rules, keys, mounted=mounted)).run(sockets=[listener])
    finally:
        if watch:
            watch.stop()
        desk.close()
    return 0


def _build_tools_app(place: Workplace) -> MountedApp:
    """Build the app of the Model Context Protocol, with the same access checks. It records nothing, as it has many users."""
    from codelens.server.http.app import MountedApp
    from codelens.server.mcp.sdk import make_http_app
    from codelens.server.upkeep import ServedIndex, Upkeep

    served = ServedIndex(Path.cwd(), place.index_path, replace(place.settings, memory=False), place.fleet)
    tools = make_http_app(served, Upkeep(served, "`codelens serve` writes nothing; --watch keeps the index fresh"))
    return MountedApp("/mcp", tools.asgi_app, tools.run())


class KeyNameFlags(CommonFlags, JsonFlags):
    name: str = required_argument("NAME", "Whose key it is")


class KeyAddFlags(KeyNameFlags):
    repositories: Texts = option("--repo GLOB", "Only repositories whose name matches; repeatable [default: all]")


@command()
def add(flags: KeyAddFlags) -> int:
    """Create a key and print it. It is shown only once; codelens stores its SHA-256."""
    from codelens.server.http.keys import EVERY, add_key

    path = _find_keys_file()
    key = add_key(path, flags.name, flags.repositories or EVERY)
    silence_output(False)  # even with --quiet: it is not shown again
    if flags.json:
        write_fields(name=flags.name, key=key)
    else:
        write([f"{key}\n"])
    inform(flags, f"this is the key of {flags.name}; it is not shown again. Its hash is in {path}")
    return 0


@command("list", epilog="Exit: 0 keys, 1 none, 2 error.")
def list_keys(flags: ListFlags) -> int:
    """List the keys by name, with the first digits of their SHA-256."""
    from codelens.server.http.keys import read_keys

    rows = read_keys(_find_keys_file())
    if flags.json:
        write_fields(keys=[{"name": r.name, "sha256": r.sha256, "repositories": list(r.repositories)} for r in rows])
    else:
        width = max((len(row.name) for row in rows), default=0)
        write([f"{row.name:{width}}  {row.sha256[:12]}  {' '.join(row.repositories)}\n" for row in rows])
    return 0 if rows else 1


@command()
def revoke(flags: KeyNameFlags) -> int:
    """Revoke a key. A running server refuses it from the next request on."""
    from codelens.server.http.keys import revoke_key

    revoke_key(_find_keys_file(), flags.name)
    if flags.json:
        write_fields(name=flags.name)
    return 0


def _find_keys_file() -> Path:
    if path := find_user_place("keys.json"):
        return path
    raise UsageError("there is no home folder for keys", "set XDG_CONFIG_HOME to a folder of yours")


keys = CommandGroup("keys", (add, list_keys, revoke), "Create, list and revoke keys for `codelens serve`.")
serve = CommandGroup("serve", (keys,), epilog="Exit: 2 error, 3 no index, 130 interrupted.", alone=serve_index)
