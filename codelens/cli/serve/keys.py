"""codelens serve keys: who may ask a server. A key is shown once, when it is made."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from codelens.cli.declare import argument, declare, group
from codelens.cli.flags import CommonFlags, JsonFlags
from codelens.cli.streams import say, write, write_json
from codelens.config import keys_file
from codelens.errors import UsageError


class NameFlags(CommonFlags, JsonFlags):
    """Whose key."""

    name: Annotated[str | None, argument("Whose key it is", "NAME")] = None


class ListFlags(CommonFlags, JsonFlags):
    """What every command takes."""


def add(flags: NameFlags) -> int:
    """Make a key and print it. It is shown this once: what is kept of it is its SHA-256."""
    from codelens.server.http.keys import add_key

    path, name = _place(), _name(flags)
    key = add_key(path, name)
    if flags.json:
        _write({"name": name, "key": key})
    else:
        write([f"{key}\n"])
    if not flags.quiet:
        say(f"the key of {name}; it is not shown again. Its hash is in {path}")
    return 0


def list_keys(flags: ListFlags) -> int:
    """List the names that have a key, and the first digits of each key's SHA-256."""
    from codelens.server.http.keys import read_keys

    rows = read_keys(_place())
    if flags.json:
        _write({"keys": [{"name": row.name, "sha256": row.sha256} for row in rows]})
    elif not flags.quiet:
        width = max((len(row.name) for row in rows), default=0)
        write([f"{row.name:{width}}  {row.sha256[:12]}\n" for row in rows])
    return 0 if rows else 1


def revoke(flags: NameFlags) -> int:
    """Take a key back. A server that runs refuses it from the next question on."""
    from codelens.server.http.keys import revoke_key

    revoke_key(_place(), _name(flags))
    if flags.json:
        _write({"name": flags.name})
    return 0


def _place() -> Path:
    path = keys_file()
    if path is None:
        raise UsageError("there is no home folder for keys", "set XDG_CONFIG_HOME to a folder of yours")
    return path


def _name(flags: NameFlags) -> str:
    if flags.name is None:
        raise UsageError("no name", "`codelens serve keys add NAME`")
    return flags.name


def _write(record: dict[str, object]) -> None:
    from codelens.render.records import SCHEMA, to_json

    write_json([to_json({"schema": SCHEMA, **record, "exit_code": 0})])


adding = declare("add", NameFlags, add)
listing = declare("list", ListFlags, list_keys, epilog="Exit: 0 keys, 1 none, 2 error.")
revoking = declare("revoke", NameFlags, revoke)
command = group(
    "keys",
    {name: f"{__name__}:{place}" for name, place in (("add", "adding"), ("list", "listing"), ("revoke", "revoking"))},
    help="Make, list and take back the keys of `codelens serve`.",
)
