"""The keys of a server: their names and SHA-256 hashes, in a file that only its user may read.

A key is 256 random bits, which cannot be guessed, so its hash needs no salt and no slow function.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import re
import secrets
import stat
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from codelens.errors import CannotWrite, UsageError
from codelens.files import write_private_file
from codelens.text.notation import parse_sealed_json, seal_json

PREFIX = "codelens_"  # Start of every key, so that people and scanners recognize one
EVERY = ("*",)  # Globs of a key that may see every repository
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,63}")


class KeyRow(NamedTuple):
    """A stored key: its name, its hash, and what it gives access to."""

    name: str
    sha256: str  # Hexadecimal
    repositories: tuple[str, ...] = EVERY  # Globs of the names of repositories that the key may see


def read_keys(path: Path | None) -> tuple[KeyRow, ...]:
    """Read the keys, sorted by name; empty without a file. Raises UsageError if others may read the file or it is broken."""
    if path is None:
        return ()
    try:
        with path.open("rb") as file:
            mode = os.fstat(file.fileno()).st_mode
            raw = file.read()
    except FileNotFoundError:
        return ()
    if os.name != "nt" and stat.S_IMODE(mode) & 0o077:
        raise UsageError(f"{path} is readable by other users", f"`chmod 600 {path}`")
    try:
        rows = parse_sealed_json(raw)["keys"]
        keys = (KeyRow(str(r["name"]), str(r["sha256"]), tuple(map(str, r.get("repositories", EVERY)))) for r in rows)
        return tuple(sorted(keys, key=lambda row: row.name))
    except (ValueError, KeyError, TypeError):
        text = f"{path} is not a list of keys as codelens wrote it"
        raise UsageError(text, "remove it, and make new ones with `codelens serve keys add NAME`") from None


def add_key(path: Path, name: str, repositories: Sequence[str] = EVERY) -> str:
    """Make a key of this name and return it; it is not stored. Raises UsageError if the name is taken or malformed."""
    if not _NAME.fullmatch(name):
        raise UsageError(f"'{name}' is not a valid key name", "up to 64 letters, digits and . _ @ -")
    rows = read_keys(path)
    if any(row.name == name for row in rows):
        raise UsageError(f"there is a key '{name}'", f"`codelens serve keys revoke {name}` first, or another name")
    key = PREFIX + secrets.token_urlsafe(32)
    _write_keys(path, [*rows, KeyRow(name, hash_key(key), tuple(repositories))])
    return key


def revoke_key(path: Path, name: str) -> None:
    """Delete a key. Raises UsageError if no key has this name."""
    rows = read_keys(path)
    if all(row.name != name for row in rows):
        raise UsageError(f"no key is named '{name}'", "`codelens serve keys list` shows the names")
    _write_keys(path, [row for row in rows if row.name != name])


def hash_key(key: str) -> str:
    return hashlib.sha256(key.encode("utf-8", "replace")).hexdigest()


def find_holder(rows: Sequence[KeyRow], key: str) -> KeyRow | None:
    """Find the row of a key. Compares all rows in constant time, so that the duration reveals nothing."""
    wanted, holder = hash_key(key).encode(), None
    for row in rows:
        if hmac.compare_digest(row.sha256.encode("utf-8", "replace"), wanted):
            holder = row
    return holder


def _write_keys(path: Path, rows: Sequence[KeyRow]) -> None:
    """Replace the file of keys atomically by a new one that others cannot read."""
    keys = [row._asdict() for row in sorted(rows, key=lambda row: row.name)]
    for key in keys:
        if key["repositories"] == EVERY:
            del key["repositories"]
    try:
        write_private_file(path, seal_json({"keys": keys}, indent=1))
    except OSError as fault:
        raise CannotWrite(f"{path} cannot be written: {fault.strerror}", "the folder must be yours") from None
