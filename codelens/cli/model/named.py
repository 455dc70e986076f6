"""A model as a person names it → its file and what it says of itself; nothing here needs numpy."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from codelens.cli.flags import CommonFlags
from codelens.cli.workplace import named_index, settings_at, working_folder
from codelens.config import LoadedSettings
from codelens.embed import open_embedder
from codelens.embed.model_file import ModelFile
from codelens.embed.places import model_place
from codelens.errors import UsageError
from codelens.worktree.place import find_index

NOT_CARD = frozenset({"name", "rows", "dimensions", "factors", "hash"})
"""Of a file's header: what is said beside the card."""


class Described(NamedTuple):
    """A model that opens. Hashing has no file, rows or card."""

    setting: str
    name: str
    digest: str
    dimensions: int
    rows: int | None
    size: int | None
    """Bytes of the file."""
    path: Path | None
    card: Mapping[str, Any]


def described(setting: str, allow_network: bool = False) -> Described:
    """What a model says of itself; one in a folder or behind an address has no card.

    Raises UsageError where there is no such model, it is damaged, or it wants the network and that is not allowed.
    """
    embedder, path = open_embedder(setting, allow_network), model_place(setting)
    if path is None or path.is_dir():
        place = path.absolute() if path else None
        return Described(setting, embedder.name, embedder.fingerprint(), embedder.dimensions, None, None, place, {})
    header = ModelFile(path).header
    card = {key: value for key, value in header.items() if key not in NOT_CARD}
    return Described(
        setting,
        embedder.name,
        embedder.fingerprint(),
        embedder.dimensions,
        int(header["rows"]),
        path.stat().st_size,
        path.absolute(),
        card,
    )


def model_file(setting: str) -> ModelFile:
    """The file of a model. Raises UsageError for what has none."""
    path = model_place(setting)
    if path is None or path.is_dir():
        raise UsageError(f"'{setting}' has no model file here", "`codelens model list` shows those that have")
    described(setting)
    return ModelFile(path)


def settings_here(flags: CommonFlags) -> LoadedSettings:
    """Those that hold in the working directory, with their origins."""
    cwd = working_folder()
    return settings_at(cwd, named_index(flags) or find_index(cwd), flags)
