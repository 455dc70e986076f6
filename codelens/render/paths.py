"""Writes a hit's path in text: relative to the working directory, to the repository's root, or absolute.

Text for a pipe keeps the path's own bytes (surrogates of os.fsdecode), so that `xargs` finds the file. A name with control
or invisible characters is quoted as git does with core.quotePath=false, except where NUL bytes separate the names.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple

from codelens.model.code import RepositoryInfo, UnitRow
from codelens.model.search import Hit
from codelens.render.visible import INVISIBLE

_SPECIAL = f'\x00-\x1f"{INVISIBLE}'
_QUOTED = re.compile(f"[{_SPECIAL}]" if os.sep == "\\" else rf"[{_SPECIAL}\\]")
"""Characters for which git quotes a name (quote.c), and those that mislead a reader. On Windows a backslash separates folders
and is not part of a name."""
_ESCAPES = {**dict(zip("\a\b\t\n\v\f\r", "abtnvfr", strict=True)), '"': '"', "\\": "\\"}


def quote_path(path: str) -> str:
    """Quote a path as git does, in double quotes with C's escapes and octal numbers; ordinary paths stay as they are."""
    if not _QUOTED.search(path):
        return path
    quoted = re.sub(rf"[{_SPECIAL}\\]", _quote_character, path)
    return f'"{quoted}"'


def _quote_character(found: re.Match[str]) -> str:
    if escape := _ESCAPES.get(found[0]):
        return f"\\{escape}"
    return "".join(f"\\{byte:03o}" for byte in found[0].encode())


class PathStyle(NamedTuple):
    """How paths are written. `style` is cwd, root or absolute; `cwd` is an absolute path; `repositories` are the index's."""

    style: str
    cwd: str
    repositories: Sequence[RepositoryInfo] = ()
    quoted: bool = True  # True to quote names with odd characters; False before a NUL byte or in JSON

    def drop_quotes(self) -> PathStyle:
        return self._replace(quoted=False)

    def format_hit_path(self, hit: Hit) -> str:
        """Write the path of a hit's file in this style, with the file's own bytes."""
        return self.format_path(hit.root, restore_path(hit))

    def format_unit_place(self, unit: UnitRow) -> str:
        """Write path:line of a unit's name."""
        root = next((r.root for r in self.repositories if r.name == unit.repository), "")
        return f"{self.format_path(root, unit.path)}:{unit.name_line or unit.start_line}"

    def format_path(self, root: str, path: str) -> str:
        """Write a path that is relative to `root`; a folder's trailing slash stays."""
        text = whole = os.path.join(root, path)  # noqa: PTH118 - a Path would lose the trailing slash
        if self.style == "root":
            name = next((r.name for r in self.repositories if r.root == root), "") if len(self.repositories) > 1 else ""
            text = f"{name}/{path}" if name else path
        elif self.style == "cwd":
            with suppress(ValueError):  # the path is on another drive
                text = os.path.relpath(whole, self.cwd) + ("/" if path.endswith("/") else "")
        return quote_path(text) if self.quoted else text


def restore_path(hit: Hit) -> str:
    """Restore the path that the operating system knows, relative to the root."""
    return os.fsdecode(hit.path_bytes) if hit.path_bytes is not None else hit.unit.path
