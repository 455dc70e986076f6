"""codelens model: the embeddings that make vectors here, and one of your own from your own code."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from codelens.cli.config import write_setting
from codelens.cli.declare import CommandGroup, argument, command, required_argument
from codelens.cli.flags import CommonFlags, JsonFlags, ListFlags
from codelens.cli.streams import say, say_without_prefix, write, write_fields
from codelens.cli.workplace import find_working_folder, load_settings_here
from codelens.config import find_user_place, is_model_name
from codelens.embed.model_file import ModelFile
from codelens.embed.registry import HASHING, SHIPPED, find_model, list_own_models, open_embedder, resolve_setting
from codelens.errors import SettingsError, UsageError
from codelens.worktree.place import find_git_top


def resolve_trees(paths: Sequence[Path] | None) -> list[Path]:
    """Make paths absolute and drop duplicates. Raises UsageError if one is not a directory."""
    cwd = find_working_folder()
    if not paths:
        return [find_git_top(cwd) or cwd]
    for path in paths:
        if not (cwd / path).is_dir():
            raise UsageError(f"not a folder: {path}", "name folders of source, as repositories that you have cloned")
    return list(dict.fromkeys((cwd / path).resolve() for path in paths))


NOT_CARD = frozenset({"name", "rows", "dimensions", "factors", "hash"})
"""Keys of a file's header that are printed in addition to the card."""


class ModelDescription(NamedTuple):
    """A usable model, with the fields that `model info` prints, in that order. Hashing has no file, rows or card."""

    name: str
    hash: str
    dimensions: int
    rows: int | None
    bytes: int | None  # Size of the file
    path: str | None
    card: Mapping[str, Any]


def describe_model(setting: str, allow_network: bool = False) -> ModelDescription:
    """Describe a model. One in a folder or behind an address has no card.

    Raises UsageError if the model does not exist, is damaged, or needs the network although it is not allowed.
    """
    embedder, path = open_embedder(setting, allow_network), find_model(setting)
    header: Mapping[str, Any] = {} if path is None or path.is_dir() else ModelFile(path).header
    return ModelDescription(
        name=embedder.name,
        hash=embedder.compute_fingerprint(),
        dimensions=embedder.dimensions,
        rows=int(header["rows"]) if header else None,
        bytes=path.stat().st_size if path and header else None,
        path=str(path.absolute()) if path else None,
        card={key: value for key, value in header.items() if key not in NOT_CARD},
    )


def find_model_file(setting: str) -> ModelFile:
    """Find the file of a model. Raises UsageError for a model without a file."""
    path = find_model(setting)
    if path is None or path.is_dir():
        raise UsageError(f"'{setting}' has no model file here", "`codelens model list` shows which models have one")
    describe_model(setting)
    return ModelFile(path)


class ModelInfoFlags(CommonFlags, JsonFlags):
    model: str | None = argument("[MODEL]", "A model's name or file [default: the one in use]")


@command(epilog="Exit: 0 it opens, 2 there is no such model, or it is damaged.")
def info(flags: ModelInfoFlags) -> int:
    """Show a model's card. Prints its hash, size and file, what it was made from, how, and how well it performs."""
    settings = load_settings_here(flags).values
    setting = flags.model or settings.model
    model = describe_model(setting, settings.allow_network)
    if flags.json:
        write_fields(model=model._asdict())
    elif not flags.quiet:
        fields = {**model._asdict(), "card": None, **dict(_flatten_card(model.card))}
        write(f"{key + ':':24}{_format_value(value)}\n" for key, value in fields.items() if value is not None)
        if setting == SHIPPED and model.path is None:
            say("note: this installation has no trained model; it uses hashing instead")
    return 0


def _flatten_card(card: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    """Yield (name, value) of each entry of a card; names of nested entries are joined by dots."""
    for key, value in card.items():
        if isinstance(value, dict) and value and not _holds_counts(value):
            yield from _flatten_card(value, f"{above}{key}.")
        else:
            yield above + key, value


def _holds_counts(value: Mapping[str, Any]) -> bool:
    """True if all values are counts, as of licences; such a table is printed on one line, most frequent first."""
    return len(value) > 1 and all(type(count) is int for count in value.values())


def _format_value(value: Any) -> str:
    if isinstance(value, dict) and _holds_counts(value):
        return ", ".join(f"{name} {count}" for name, count in sorted(value.items(), key=lambda i: (-i[1], i[0])))
    if isinstance(value, list) and all(isinstance(part, (str, int, float)) for part in value):
        return ", ".join(map(str, value))
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


@command("list")
def list_models(flags: ListFlags) -> int:
    """List the available models. A * marks the one in use, and its line says where that is set."""
    loaded = load_settings_here(flags)
    setting = loaded.values.model
    files = {os.path.realpath(path): name for name, path in list_own_models().items()}
    used = files.get(os.path.realpath(setting), setting)  # a path may lead to a model that has a name
    rows: list[dict[str, Any]] = []
    for name in dict.fromkeys((SHIPPED, HASHING, *list_own_models(), used)):
        row: dict[str, Any] = {"model": name, "name": None, "hash": None, "bytes": None, "path": None, "note": None}
        try:
            model = describe_model(name, loaded.values.allow_network)
            row |= {"name": model.name, "hash": model.hash, "bytes": model.bytes, "path": model.path}
            if name == SHIPPED and model.path is None:
                row["note"] = "none came with this installation: hashing stands in"
        except UsageError as fault:
            row["note"] = str(fault)
        rows.append(row | {"in_use": name == used, "origin": loaded.origin["model"] if name == used else None})
    if flags.json:
        write_fields(models=rows)
    else:
        width = max(len(row["model"]) for row in rows)
        for row in rows:
            remarks = [row["note"] or "", f"in use: {row['origin']}" if row["in_use"] else ""]
            line = f"{'*' if row['in_use'] else ' '} {row['model']:{width}}  {row['hash'] or '-':16}"
            line += f"  {row['bytes'] or '-':>9}  {'; '.join(filter(None, remarks))}"
            write([line.rstrip() + "\n"])
    return 0


class ModelUseFlags(CommonFlags):
    model: str = required_argument("MODEL", "codelens, hashing, the name of a model of yours, or a file")


@command(epilog="Exit: 0 written, 2 no such model, or the file cannot be changed.")
def use(flags: ModelUseFlags) -> int:
    """Choose the model to use. Sets `model` in your own configuration file, and changes nothing else there."""
    before = load_settings_here(flags).values
    model = describe_model(flags.model, before.allow_network)
    place = find_user_place("config.toml")
    if place is None:
        raise SettingsError("there is no home directory for the setting", "set CODELENS_MODEL instead")
    setting = flags.model
    if model.path and not is_model_name(setting):
        setting = os.path.normpath(resolve_setting(setting))
    write_setting(place, "model", setting)
    if not flags.quiet:
        say(f"model = {setting} ({model.name}, {model.hash}) in {place}")
        now = load_settings_here(flags)
        if now.values.model != setting and not flags.no_config:
            say(f"note: here {now.origin['model']} sets another, which wins: {now.values.model}")
        elif setting != before.model:
            say_without_prefix(["hint: `codelens index` makes the vectors of an index again, without parsing\n"])
    return 0


model = CommandGroup(
    "model",
    (info, list_models, use),
    places=(("train", "codelens.cli.model.learning:train"), ("eval", "codelens.cli.model.learning:evaluate")),
    help="Inspect, choose or train an embedding model.",
    epilog="A model is `codelens` (the shipped one), `hashing` (none), the name of one of yours, or a file's path.",
)
