"""A key and a value → the user's configuration file with just that line another: comments, order and line ends stay.

The result is read again before it is written: a file in which the line cannot be told apart for certain is left as it is.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from codelens.errors import SettingsError
from codelens.notation import parse_toml


def write_setting(path: Path, key: str, value: str) -> None:
    """Whole or not at all; the file and its folder are made where they are not there. Raises SettingsError."""
    try:
        real = path.resolve()
        before = real.read_bytes().decode("utf-8") if real.exists() else ""
        after = with_setting(before, key, value)
        real.parent.mkdir(parents=True, exist_ok=True)
        beside = real.with_name(f"{real.name}.part")
        beside.write_bytes(after.encode("utf-8"))
        if real.exists():
            shutil.copymode(real, beside)
        beside.replace(real)
    except OSError as fault:
        raise SettingsError(f"{path}: {fault.strerror or fault}", "set CODELENS_MODEL instead") from None
    except (UnicodeDecodeError, ValueError) as fault:
        raise SettingsError(f"{path}: {fault}", f"write {key} = {_quoted(value)} there yourself") from None


def with_setting(text: str, key: str, value: str) -> str:
    """The TOML text with this top-level key set. Raises ValueError where it is no TOML, or has the key in a form of its own."""
    wanted: dict[str, Any] = {**parse_toml(text), key: value}
    for candidate in _candidates(text, key, value):
        try:
            if parse_toml(candidate) == wanted:
                return candidate
        except ValueError:
            continue
    raise ValueError(f"'{key}' stands there in a form that cannot be changed for certain")


def _candidates(text: str, key: str, value: str) -> Iterator[str]:
    """Its line changed, else one more at the end, else one at the start, above all tables."""
    name = re.escape(key)
    line = re.compile(
        rf"""^([ \t]*(?:{name}|"{name}"|'{name}')[ \t]*=[ \t]*)("(?:[^"\\\n]|\\.)*"|'[^'\n]*')""", re.MULTILINE
    )
    for found in line.finditer(text):
        yield text[: found.end(1)] + _quoted(value) + text[found.end() :]
    end = "\r\n" if "\r\n" in text else "\n"
    added = f"{key} = {_quoted(value)}{end}"
    yield text + ("" if not text or text.endswith("\n") else end) + added
    yield added + text


def _quoted(value: str) -> str:
    """TOML's basic strings are JSON's."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
