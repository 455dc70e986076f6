"""Reads JSON, TOML and settings files that people wrote, and seals JSON with a digest. A fault in a text raises ValueError;
callers add the file's name.

ruff bans `json.loads` and `tomllib.loads` except in modules that read what codelens wrote; pyproject.toml lists them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from codelens.errors import SettingsError

TOO_DEEP = "it is nested too deeply"
_MANY_PARTS = re.compile(r"(?<![\w.\"'-])(?:[\w\"'-]++\s*+\.\s*+){50}")
"""A dotted key of 50 parts. tomllib's time grows with the square of their number: 7 CPU seconds for 20 000."""


def parse_json(text: str | bytes, **options: Any) -> Any:
    """Parse a JSON text; `options` are those of json.loads. Raises ValueError."""
    import json  # imported here because a search does not read JSON

    try:
        return json.loads(text, **options)
    except RecursionError:
        raise ValueError(TOO_DEEP) from None


SEAL = b', "seal": "'  # Separates a record from its digest


def seal_json(record: Mapping[str, Any], **options: Any) -> bytes:
    """Encode a record as JSON that ends with a digest of the rest; `options` are those of json.dumps."""
    import json

    whole = json.dumps(record, **options)
    text = whole.removesuffix("}").encode()
    return text + SEAL + _make_seal(text)


def parse_sealed_json(content: bytes) -> Any:
    """Parse the result of `seal_json`, or JSON without a digest. Raises ValueError if it has changed since."""
    text, seal, found = content.rpartition(SEAL)
    if seal and found != _make_seal(text):
        raise ValueError("its bytes are not those that were written")
    return parse_json(content)


def _make_seal(text: bytes) -> bytes:
    import xxhash

    digest = xxhash.xxh3_128_hexdigest(text)
    end = f'{digest}"}}\n'
    return end.encode()


def parse_toml(text: str) -> dict[str, Any]:
    """Parse a TOML text. Raises ValueError, also for a key of 50 parts or more."""
    import tomllib  # imported here because it imports datetime and string

    if _MANY_PARTS.search(text):
        raise ValueError("a key has too many parts")
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise ValueError(TOO_DEEP) from None


def read_own_file(path: str, kind: str, hint: str, largest: int) -> str:
    """Read a file that a setting names. `kind` describes it in messages; `largest` is the limit in bytes. Raises
    SettingsError with the hint."""
    file = Path(path)
    try:
        if not file.is_file():  # reading a pipe would block
            raise SettingsError(f"{path} does not exist", hint)
        if file.stat().st_size > largest:
            raise SettingsError(f"{path} is too large for a file of {kind}: the limit is {largest:,} bytes", hint)
        return file.read_text(encoding="utf-8-sig")
    except (OSError, ValueError) as fault:
        raise SettingsError(f"{path}: {fault}", hint) from None
