"""JSON and TOML that others wrote → values. Whatever is wrong with a text is a ValueError: whoever reads a file adds its name.

ruff bans `json.loads` and `tomllib.loads` elsewhere, but for what codelens itself wrote (pyproject.toml lists these modules).
"""

from __future__ import annotations

import re
import tomllib
from typing import Any

TOO_DEEP = "it nests too deep"
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
    if _MANY_PARTS.search(text):
        raise ValueError("a key of too many parts")
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise ValueError(TOO_DEEP) from None
