"""What a note says of a place in the code: where it was, what stood there, and whose it was, so that it can be found again.

All of it comes from a file that anybody may have written: a path that leads out of the tree is no place.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping, Sequence

import xxhash

from codelens.lang.registry import PLAIN_TEXT, detect_language
from codelens.nouns import dataclass
from codelens.text.frontmatter import Item

WINDOW = 5
"""Lines with words that are hashed, from the place on: enough to tell one `return None` from another. Chosen."""
MOST_TEXT = 200
"""Characters of the line that are kept."""
_NAME = re.compile(r"[^\W\d][\w$]*(?:(?:\.|::|#)[^\W\d][\w$]*)*(?:\(\))?")
_DRIVE = re.compile(r"[A-Za-z]:")


class BadPlaceError(ValueError):
    """What a note gives as a place is none; says why in one line."""


@dataclass(frozen=True, slots=True)
class Anchor:
    """A place in the code as a note keeps it; what is not known is empty, or 0."""

    path: str = ""
    """Relative to the repository's root; empty where only a symbol is named."""
    line: int = 0
    symbol: str = ""
    """Qualified name of the innermost definition around the line."""
    digest: str = ""
    """Of the WINDOW lines that stood there (`digest_of`)."""
    text: str = ""
    """The line itself, without the blanks around it."""

    @property
    def shown(self) -> str:
        """As people write it: 'src/app.py:12', or the symbol's name."""
        return f"{self.path}:{self.line}" if self.line else self.path or self.symbol

    def item(self) -> Item:
        """As front matter has it: what is known, and no more."""
        said = {"path": self.path, "line": self.line, "symbol": self.symbol, "hash": self.digest, "text": self.text}
        return {key: value for key, value in said.items() if value}


def anchor_of(item: Item) -> Anchor:
    """`path:line`, a path, a symbol's name, or an object with those fields → the place. Raises BadPlaceError."""
    if isinstance(item, str):
        path, line = path_and_line(item)
        if line or is_path(path):
            return Anchor(path=safe_path(path), line=line)
        if _NAME.fullmatch(item) and len(item) <= MOST_TEXT:
            return Anchor(symbol=item.replace("::", ".").replace("#", ".").removesuffix("()"))
        raise BadPlaceError(f"{item[:80]!r} is neither a path nor a name")
    return _from_object(item)


def _from_object(item: Mapping[str, object]) -> Anchor:
    path, symbol, digest, text = (_text(item, key) for key in ("path", "symbol", "hash", "text"))
    line = item.get("line", 0)
    if not isinstance(line, int) or isinstance(line, bool) or not 0 <= line < 1 << 31:
        raise BadPlaceError("`line` is no number of a line")
    if not path and not symbol:
        raise BadPlaceError("it has neither `path` nor `symbol`")
    return Anchor(safe_path(path) if path else "", line, symbol, digest, text)


def _text(item: Mapping[str, object], key: str) -> str:
    value = item.get(key, "")
    if not isinstance(value, str) or len(value) > 1000 or any(ord(c) < 32 for c in value):
        raise BadPlaceError(f"`{key}` is no short text on one line")
    return value


def path_and_line(text: str) -> tuple[str, int]:
    """'src/app.py:12' → its parts; the line is 0 where none is given."""
    head, colon, tail = text.rpartition(":")
    if colon and head and tail.isascii() and tail.isdigit() and len(tail) < 9:
        return head, int(tail)
    return text, 0


def is_path(text: str) -> bool:
    """Whether a text without a line means a file rather than a symbol: it has a slash, or an ending of a known language."""
    return "/" in text or ("." in text and detect_language(text) != PLAIN_TEXT)


def safe_path(path: str) -> str:
    """A path below the root, tidied. Raises BadPlaceError for one that is absolute or leads out of it."""
    tidy = posixpath.normpath(path)
    if path.startswith("/") or "\\" in path or "\0" in path or _DRIVE.match(path):
        raise BadPlaceError(f"{path[:80]!r} is no path below the root")
    if tidy in (".", "..") or tidy.startswith("../"):
        raise BadPlaceError(f"{path[:80]!r} leads out of the tree")
    return tidy


def digest_of(lines: Sequence[str], line: int) -> str:
    """16 hex digits of what stands at a line (from 1): WINDOW lines with words, without blanks around them.

    Empty where there is no such line.
    """
    if not 0 < line <= len(lines):
        return ""
    stripped = (text.strip() for text in lines[line - 1 : line - 1 + WINDOW * 4])
    window = [text for text in stripped if text][:WINDOW]
    return xxhash.xxh3_64_hexdigest("\n".join(window).encode("utf-8", "surrogatepass")) if window else ""


def text_at(lines: Sequence[str], line: int) -> str:
    """The line (from 1) as an anchor keeps it."""
    return "".join(c for c in lines[line - 1].strip() if ord(c) >= 32)[:MOST_TEXT] if 0 < line <= len(lines) else ""
