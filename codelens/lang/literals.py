"""What a literal names: the variable, program, route, endpoint or flag in the text between its quotes.

Queries find the literals and say of which kind they are; which part of the text is the name is decided here, for all
languages alike. Text that cannot be such a name (a format, a sentence, an escape) names nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable

MAX_SAID = 200
"""Characters. Chosen: no route that a person wrote is longer."""

_SET = re.compile(rb"[\"'`]?\s{0,9}\]?\s{0,9}=(?![=>~])")
Part = tuple[int, int]
"""Where a name lies in a text."""

_QUOTED = re.compile(r"""@?("{3}|'{3}|["'`])(.*)\1""", re.DOTALL)
_ENV = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_PROCESS = re.compile(r"\s*(?:\w+=\S*\s+)*(?:[^\s\"'`$|;&<>]*/)?([A-Za-z0-9_][\w.+-]*)(?=\s|$|[;|&<>])", re.ASCII)
"""The first word without its folder, after `NAME=value` words as a shell takes them."""
_ROUTE = re.compile(r"(?:[A-Z]+ )?([^\s\\\"'`]+)")
"""Go 1.22 writes `GET /items/{id}`."""
_ENDPOINT = re.compile(r"(?:[A-Z]+ )?(?:(?:https?:)?//([^/?#\s\\]*))?([^?#\s\\]*)(?:[?#][^\s\\]*)?")
_LOCAL = re.compile(r"(?:localhost|127\.0\.0\.1|0\.0\.0\.0|\[::1\]|testserver)(?::\d+)?")
_FLAG = re.compile(r":?([A-Za-z0-9_][\w.:/-]*\??)", re.ASCII)


def said(kind: str, text: str, is_whole: bool = True) -> Part | None:
    """Where in a literal's text the name lies; None where it holds none. `is_whole` is false where something that is
    only known at run time follows the text."""
    quoted = _QUOTED.fullmatch(text)
    start, inner = (quoted.start(2), quoted[2]) if quoted else (0, text)
    part = _FINDERS[kind](inner, is_whole)
    if part is None or not 0 < part[1] - part[0] <= MAX_SAID:
        return None
    return start + part[0], start + part[1]


def is_set(utf8: bytes, start: int, end: int) -> bool:
    """Whether the name of a variable there stands left of an equals sign: `environ["X"] = …`, `process.env.X = …`."""
    return utf8[start - 1 : start] in (b".", b'"', b"'", b"`") and _SET.match(utf8, end) is not None


def _all_of(pattern: re.Pattern[str], group: int = 0) -> Callable[[str, bool], Part | None]:
    def find(text: str, is_whole: bool) -> Part | None:
        found = pattern.fullmatch(text) if is_whole else None
        return found.span(group) if found else None

    return find


def _process(text: str, is_whole: bool) -> Part | None:
    found = _PROCESS.match(text)
    return found.span(1) if found and (is_whole or found.end() < len(text)) else None


def _endpoint(text: str, is_whole: bool) -> Part | None:
    """The path, where it is asked of this machine or of nobody named; else host and path."""
    found = _ENDPOINT.fullmatch(text) if is_whole else None
    if not found:
        return None
    if found[1] and not _LOCAL.fullmatch(found[1]):
        return found.start(1), found.end(2)
    return found.span(2)


_FINDERS: dict[str, Callable[[str, bool], Part | None]] = {
    "env": _all_of(_ENV),
    "process": _process,
    "route": _all_of(_ROUTE, 1),
    "endpoint": _endpoint,
    "flag": _all_of(_FLAG, 1),
}
