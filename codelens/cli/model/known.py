"""codelens model list: the models of this machine, and who says which one is in use."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Any

from codelens.cli.declare import declare
from codelens.cli.flags import CommonFlags, JsonFlags
from codelens.cli.model.named import described, settings_here
from codelens.cli.streams import write, write_json
from codelens.embed.places import HASHING, SHIPPED, model_place, own_models
from codelens.errors import UsageError


class ListFlags(CommonFlags, JsonFlags):
    """What every command takes."""


def list_models(flags: ListFlags) -> int:
    """List the models that there are. A * marks the one in use, and the line says where that is set."""
    loaded = settings_here(flags)
    used, origin = _same_as_a_known(loaded.values.model), loaded.origin["model"]
    rows = [
        _row(name, used, origin, loaded.values.allow_network)
        for name in dict.fromkeys((SHIPPED, HASHING, *own_models(), used))
    ]
    if flags.json:
        from codelens.render.records import SCHEMA, to_json

        write_json([to_json({"schema": SCHEMA, "models": rows, "exit_code": 0})])
    elif not flags.quiet:
        write(_lines(rows))
    return 0


def _same_as_a_known(setting: str) -> str:
    """The name of the model whose file a path names; else the setting."""
    for name, path in own_models().items():
        if os.path.realpath(setting) == os.path.realpath(path):
            return name
    return setting


def _row(setting: str, used: str, origin: str, allow_network: bool) -> dict[str, Any]:
    row: dict[str, Any] = {"model": setting, "name": None, "hash": None, "bytes": None, "path": None}
    try:
        found = described(setting, allow_network)
        row |= {"name": found.name, "hash": found.digest, "bytes": found.size}
        row["path"] = str(found.path) if found.path else None
        row["note"] = "none came with this installation: hashing stands in" if _stands_in(setting) else None
    except UsageError as fault:
        row["note"] = str(fault)
    return row | {"in_use": setting == used, "origin": origin if setting == used else None}


def _stands_in(setting: str) -> bool:
    return setting == SHIPPED and model_place(setting) is None


def _lines(rows: Sequence[dict[str, Any]]) -> Iterator[str]:
    width = max(len(row["model"]) for row in rows)
    for row in rows:
        said = [row["note"] or "", f"in use: {row['origin']}" if row["in_use"] else ""]
        line = (
            f"{'*' if row['in_use'] else ' '} {row['model']:{width}}  {row['hash'] or '-':16}  {row['bytes'] or '-':>9}"
        )
        yield f"{line}  {'; '.join(filter(None, said))}".rstrip() + "\n"


command = declare("list", ListFlags, list_models)
