"""The files that a person's settings name, read as text: one way to say that there is none, that it is too large, no text."""

from __future__ import annotations

from pathlib import Path

from codelens.errors import SettingsError


def read_own_file(path: str, kind: str, hint: str, largest: int) -> str:
    """The file's text; `kind` says what it is of, `largest` is in bytes. Raises SettingsError with the hint."""
    file = Path(path)
    try:
        if not file.is_file():  # a pipe would be waited for
            raise SettingsError(f"{path}: there is no such file", hint)
        if file.stat().st_size > largest:
            raise SettingsError(f"{path}: too large for a file of {kind}, {largest:,} bytes at most", hint)
        return file.read_text(encoding="utf-8-sig")
    except (OSError, ValueError) as fault:
        raise SettingsError(f"{path}: {fault}", hint) from None
