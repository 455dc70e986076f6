"""codelens config: every setting in effect, and where it came from."""

import json
import re
from contextlib import suppress
from dataclasses import asdict, fields
from itertools import chain
from pathlib import Path
from typing import Any

from codelens.cli.declare import argument, command, option
from codelens.cli.flags import CommonFlags, JsonFlags
from codelens.cli.streams import write, write_fields
from codelens.cli.workplace import load_settings_here
from codelens.config import Settings
from codelens.errors import SettingsError, UsageError
from codelens.files import make_folder, write_in_one_step
from codelens.render.visible import INVISIBLE, escape_text
from codelens.text.identifiers import find_nearest_word
from codelens.text.notation import parse_toml

NAMES = tuple(field.name for field in fields(Settings))  # The settings, in the order in which they are printed


class ConfigFlags(CommonFlags, JsonFlags):
    setting: str | None = argument("[SETTING]", "Print only the value of this setting", values=NAMES)
    show_origin: bool = option("--show-origin", "Show where each value comes from")


@command()
def config(flags: ConfigFlags) -> int:
    """Print the settings in effect.

    Flags override CODELENS_* variables, which override .codelens.toml, then your own file, then the defaults.
    """
    if flags.setting is not None and flags.setting not in NAMES:
        meant = find_nearest_word(flags.setting, NAMES)
        hint = f"did you mean '{meant}'?" if meant else "`codelens config` lists the settings"
        raise UsageError(f"no setting '{flags.setting}'", hint)
    loaded = load_settings_here(flags)
    chosen = {key: value for key, value in asdict(loaded.values).items() if flags.setting in (None, key)}
    if flags.json:
        write_fields(settings={name: {"value": v, "origin": loaded.origin[name]} for name, v in chosen.items()})
    elif flags.setting is not None and not flags.show_origin:
        write(f"{escape_text(value) if isinstance(value, str) else _format_toml(value)}\n" for value in chosen.values())
    else:  # TOML that can be pasted into .codelens.toml, the origin as a comment
        lines = {key: f"{key} = {_format_toml(value)}" for key, value in chosen.items()}
        width = max(map(len, lines.values()))
        for key, line in lines.items():
            write([f"{line:{width}}  # {escape_text(loaded.origin[key])}\n" if flags.show_origin else f"{line}\n"])
    return 0


def write_setting(path: Path, key: str, value: str) -> None:
    """Write a setting to a configuration file in one step; creates the file and its folder. Raises SettingsError."""
    try:
        before = ""
        if path.exists():
            before = path.read_bytes().decode("utf-8")
        after = set_toml_key(before, key, value)
        make_folder(path.parent)
        write_in_one_step(path, after.encode())
    except OSError as fault:
        raise SettingsError(f"{path}: {fault.strerror or fault}", "set CODELENS_MODEL instead") from None
    except (UnicodeDecodeError, ValueError) as fault:
        raise SettingsError(f"{path}: {fault}", f"write {key} = {_format_toml(value)} there yourself") from None


def set_toml_key(text: str, key: str, value: str) -> str:
    """Set a top-level key in a TOML text. Raises ValueError if it is not TOML, or has the key in a form that cannot be edited."""
    wanted: dict[str, Any] = {**parse_toml(text), key: value}
    name, quoted = re.escape(key), _format_toml(value)
    line = re.compile(
        rf"""^([ \t]*(?:{name}|"{name}"|'{name}')[ \t]*=[ \t]*)("(?:[^"\\\n]|\\.)*"|'[^'\n]*')""", re.MULTILINE
    )
    end = "\r\n" if "\r\n" in text else "\n"
    before = text + ("" if not text or text.endswith("\n") else end)
    candidates = chain(  # Change its line, else add one at the end, else at the start, above all tables
        (text[: match.end(1)] + quoted + text[match.end() :] for match in line.finditer(text)),
        (f"{before}{key} = {quoted}{end}", f"{key} = {quoted}{end}{text}"),
    )
    for candidate in candidates:
        with suppress(ValueError):
            if parse_toml(candidate) == wanted:
                return candidate
    raise ValueError(f"'{key}' is written in a form that cannot be edited safely")


def _format_toml(value: bool | float | str) -> str:
    """Format a value for TOML, which writes strings, numbers and booleans as JSON does."""
    text = json.dumps(value, ensure_ascii=False)
    return re.sub(f"[{INVISIBLE}]", lambda found: f"\\U{ord(found[0]):08x}", text)
