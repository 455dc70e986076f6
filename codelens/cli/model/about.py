"""codelens model info: what a model is, where it is, and what its card says."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Annotated, Any

from codelens.cli.declare import argument, declare
from codelens.cli.flags import CommonFlags, JsonFlags
from codelens.cli.model.named import Described, described, settings_here
from codelens.cli.streams import say, write, write_json
from codelens.embed.places import SHIPPED


class InfoFlags(CommonFlags, JsonFlags):
    """Which model."""

    model: Annotated[str | None, argument("A model's name or file [default: the one in use]", "[MODEL]")] = None


def info(flags: InfoFlags) -> int:
    """Say what a model is. Its hash, its size, its file, and the card: what it was made from, how, and how well it finds."""
    settings = settings_here(flags).values
    found = described(flags.model or settings.model, settings.allow_network)
    if flags.json:
        from codelens.render.records import SCHEMA, to_json

        write_json([to_json({"schema": SCHEMA, "model": _record(found), "exit_code": 0})])
        return 0
    if not flags.quiet:
        write(_lines(found))
        if found.setting == SHIPPED and found.path is None:
            say("note: no trained model came with this installation; hashing stands in for it")
    return 0


def _record(found: Described) -> dict[str, Any]:
    return {
        "name": found.name,
        "hash": found.digest,
        "dimensions": found.dimensions,
        "rows": found.rows,
        "bytes": found.size,
        "path": str(found.path) if found.path else None,
        "card": dict(found.card),
    }


def _lines(found: Described) -> Iterator[str]:
    record = _record(found)
    card = record.pop("card")
    for key, value in {**record, **dict(_flat(card))}.items():
        if value is not None:
            yield f"{key + ':':24}{_text(value)}\n"


def _flat(card: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    """A card's entries, those of entries with their names joined by a dot."""
    for key, value in card.items():
        if isinstance(value, dict) and value and not _counts(value):
            yield from _flat(value, f"{above}{key}.")
        else:
            yield above + key, value


def _counts(value: Mapping[str, Any]) -> bool:
    """Whether it counts things, as licences; such a table is one line, the most frequent first."""
    return len(value) > 1 and all(type(count) is int for count in value.values())


def _text(value: Any) -> str:
    if isinstance(value, dict) and _counts(value):
        return ", ".join(f"{name} {count}" for name, count in sorted(value.items(), key=lambda i: (-i[1], i[0])))
    if isinstance(value, list) and all(isinstance(one, (str, int, float)) for one in value):
        return ", ".join(map(str, value))
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


command = declare("info", InfoFlags, info, epilog="Exit: 0 it opens, 2 there is no such model, or it is damaged.")
