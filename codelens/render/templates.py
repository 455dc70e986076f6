"""A line of one's own → a function that fills it in: what `--format` is to every command that has it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TypeVar

from codelens.errors import UsageError
from codelens.render.paths import PathStyle

T = TypeVar("T")

_PIECE = re.compile(r"\{\{|\}\}|\{([^{}]*)\}|\\([tn0r\\])|[{}]")
_ESCAPES = {"t": "\t", "n": "\n", "0": "\0", "r": "\r", "\\": "\\"}


def parse_template(
    template: str, fields: Mapping[str, Callable[[T, PathStyle], object]]
) -> Callable[[T, PathStyle], str]:
    """A template as a function of what it tells of. Only `{name}` of `fields` is known: no attributes, no format specs.

    `{{` and `}}` are braces; \\t, \\n, \\r, \\0 and \\\\ are what they are in Python. Raises UsageError.
    """
    pieces: list[str | Callable[[T, PathStyle], object]] = []
    end = 0
    for found in _PIECE.finditer(template):
        pieces += [template[end : found.start()], _piece(found, fields)]
        end = found.end()
    pieces.append(template[end:])
    raw = "\0" in "".join(
        piece for piece in pieces if isinstance(piece, str)
    )  # whoever reads it parts names by NUL bytes

    def fill(told: T, paths: PathStyle) -> str:
        paths = paths.raw() if raw else paths
        return "".join(p if isinstance(p, str) else str(p(told, paths)) for p in pieces)

    return fill


def _piece(
    found: re.Match[str], fields: Mapping[str, Callable[[T, PathStyle], object]]
) -> str | Callable[[T, PathStyle], object]:
    if found[0] in ("{{", "}}"):
        return found[0][0]
    if found[2]:
        return _ESCAPES[found[2]]
    if found[1] in fields:
        return fields[found[1]]
    what = f"unknown field {found[0]}" if found[1] is not None else f"a single '{found[0]}'"
    raise UsageError(f"--format: {what}", f"fields: {', '.join(fields)}; write {{{{ and }}}} for braces")


def ended(text: str) -> str:
    """A filled line with a line break after it, unless it ends in \\n or \\0."""
    return text if text.endswith(("\n", "\0")) else text + "\n"
