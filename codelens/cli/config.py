"""codelens config: every setting that holds here, and where it came from."""

import json
from collections.abc import Iterator
from dataclasses import asdict
from typing import Annotated

from codelens.cli.declare import declare, option
from codelens.cli.flags import CommonFlags, JsonFlags
from codelens.cli.streams import write, write_json
from codelens.cli.workplace import named_index, settings_at, working_folder
from codelens.config import LoadedSettings
from codelens.worktree.place import find_index


class ConfigFlags(CommonFlags, JsonFlags):
    """What `config` prints, and how."""

    show_origin: Annotated[bool, option("--show-origin", help="Say for each setting where its value comes from")] = (
        False
    )


def config(flags: ConfigFlags) -> int:
    """Print the settings that hold here.

    A flag wins over a CODELENS_* variable, that over .codelens.toml, that over the user's file, that over the default.
    """
    cwd = working_folder()
    index = named_index(flags) or find_index(cwd)
    loaded = settings_at(cwd, index, flags)
    if flags.json:
        write_json(_json(loaded))
    else:
        write(_lines(loaded, flags.show_origin))
    return 0


def _lines(loaded: LoadedSettings, show_origin: bool) -> Iterator[str]:
    """TOML that can be pasted into .codelens.toml, the origin as a comment."""
    lines = {key: f"{key} = {_toml(value)}" for key, value in asdict(loaded.values).items()}
    width = max(map(len, lines.values()))
    for key, line in lines.items():
        yield f"{line:{width}}  # {loaded.origin[key]}\n" if show_origin else f"{line}\n"


def _toml(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")  # TOML's basic strings are JSON's
    return str(value)


def _json(loaded: LoadedSettings) -> Iterator[str]:
    from codelens.render.records import SCHEMA, to_json

    settings = {k: {"value": v, "origin": loaded.origin[k]} for k, v in asdict(loaded.values).items()}
    yield to_json({"schema": SCHEMA, "settings": settings, "exit_code": 0})


command = declare("config", ConfigFlags, config)
