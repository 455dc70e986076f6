"""Reads JSON, TOML and settings files that people wrote. Any fault in a text is a ValueError; callers add the file's name.

ruff bans `json.loads` and `tomllib.loads` elsewhere, but for what codelens itself wrote (pyproject.toml lists these modules).
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from codelens.errors import SettingsError

TOO_DEEP = "it is nested too deeply"
_MANY_PARTS = re.compile(r"(?<![\w.\"'-])(?:[\w\"'-]++\s*+\.\s*+){50}")
"""A dotted key of 50 parts. tomllib takes time by their square: 7 CPU seconds for 20 000."""


def parse_json(text: str | bytes, **options: Any) -> Any:
    """The value of a JSON text; `options` are those of json.loads. Raises ValueError."""
    import json  # a search reads none

    try:
        return json.loads(text, **options)
    except RecursionError:
        raise ValueError(TOO_DEEP) from None


def parse_toml(text: str) -> dict[str, Any]:
    """The tables of a TOML text. Raises ValueError, also for a key of 50 parts or more."""
    import tomllib  # with it come datetime and string

    if _MANY_PARTS.search(text):
        raise ValueError("a key has too many parts")
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise ValueError(TOO_DEEP) from None


def read_own_file(path: str, kind: str, hint: str, largest: int) -> str:
    """The text of a file that a setting names. `kind` is a noun for messages, `largest` the limit in bytes. Raises
    SettingsError with the hint."""
    file = Path(path)
    try:
        if not file.is_file():  # a pipe would be waited for
            raise SettingsError(f"{path} does not exist", hint)
        if file.stat().st_size > largest:
            raise SettingsError(f"{path} is too large for a file of {kind}: the limit is {largest:,} bytes", hint)
        return file.read_text(encoding="utf-8-sig")
    except (OSError, ValueError) as fault:
        raise SettingsError(f"{path}: {fault}", hint) from None
