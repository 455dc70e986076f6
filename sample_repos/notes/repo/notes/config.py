"""Settings from a TOML file, overridden by NOTES_* environment variables."""

from __future__ import annotations

import os
import tomllib
from dataclasses import dataclass, fields
from pathlib import Path


class ConfigError(Exception):
    """A setting that does not exist or has the wrong type."""


@dataclass(frozen=True)
class Config:
    database: str = "notes.db"
    host: str = "127.0.0.1"
    port: int = 8080
    session_lifetime_minutes: int = 720
    session_cookie: str = "notes_session"
    limits_note_bytes: int = 200_000
    limits_login_attempts: int = 5
    limits_login_window_seconds: int = 300


def load_config(path: str | Path) -> Config:
    """Read a configuration file; a missing file means the defaults."""
    values: dict[str, object] = {}
    file = Path(path)
    if file.is_file():
        values.update(flatten(tomllib.loads(file.read_text(encoding="utf-8"))))
    values.update(environment_overrides())
    known = {f.name for f in fields(Config)}
    if unknown := set(values) - known:
        raise ConfigError(f"unknown settings: {', '.join(sorted(unknown))}")
    return Config(**values)  # type: ignore[arg-type]


def flatten(table: dict[str, object], prefix: str = "") -> dict[str, object]:
    """{"session": {"cookie": "x"}} becomes {"session_cookie": "x"}."""
    flat: dict[str, object] = {}
    for key, value in table.items():
        if isinstance(value, dict):
            flat.update(flatten(value, f"{prefix}{key}_"))
        else:
            flat[prefix + key] = value
    return flat


def environment_overrides() -> dict[str, object]:
    """Settings from variables such as NOTES_PORT; numbers are converted."""
    found: dict[str, object] = {}
    for field in fields(Config):
        raw = os.environ.get(f"NOTES_{field.name.upper()}")
        if raw is not None:
            found[field.name] = int(raw) if field.type == "int" else raw
    return found
