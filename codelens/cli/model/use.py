"""codelens model use: write to the user's configuration which model makes vectors."""

from __future__ import annotations

import os
from typing import Annotated

from codelens.cli.declare import argument, declare
from codelens.cli.flags import CommonFlags
from codelens.cli.model.named import described, settings_here
from codelens.cli.own_setting import write_setting
from codelens.cli.streams import say, say_plain
from codelens.config import is_model_name, user_file_place
from codelens.embed import lasting_name
from codelens.errors import SettingsError, UsageError


class UseFlags(CommonFlags):
    """Which model."""

    model: Annotated[str | None, argument("codelens, hashing, the name of a model of yours, or a file", "MODEL")] = None


def use(flags: UseFlags) -> int:
    """Make a model the one in use. The setting `model` of your own configuration file; the rest of the file stays as it is."""
    if flags.model is None:
        raise UsageError("which model?", "`codelens model list` shows those that there are")
    found = described(flags.model, settings_here(flags).values.allow_network)
    place = user_file_place()
    if place is None:
        raise SettingsError("there is no home directory to keep a setting in", "set CODELENS_MODEL instead")
    setting = (
        os.path.normpath(lasting_name(flags.model)) if found.path and not is_model_name(flags.model) else flags.model
    )
    before = settings_here(flags).values.model
    write_setting(place, "model", setting)
    if not flags.quiet:
        say(f"model = {setting} ({found.name}, {found.digest}) in {place}")
        _say_what_follows(flags, setting, before)
    return 0


def _say_what_follows(flags: CommonFlags, setting: str, before: str) -> None:
    now = settings_here(flags)
    if now.values.model != setting and not flags.no_config:
        say(f"note: here {now.origin['model']} sets another, which wins: {now.values.model}")
    elif setting != before:
        say_plain(["hint: `codelens index` makes the vectors of an index anew; it parses nothing for that\n"])


command = declare("use", UseFlags, use, epilog="Exit: 0 written, 2 no such model, or the file cannot be changed.")
