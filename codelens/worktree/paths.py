"""How a path is written: the bytes that the operating system has, the form that opens it, the text that people read.

The three are one-to-one, so an index that keeps only the text can still open the file. Separators are '/' everywhere,
also on Windows, which accepts them.
"""

from __future__ import annotations

import os
import re

_MISTAKABLE = re.compile(rb"\\(?=x[0-9a-f]{2})")
_ESCAPED = re.compile(r"\\x([0-9a-f]{2})")


def shown_path(os_path: str) -> str:
    """Text for people: bytes that are not UTF-8 become \\xNN.

    A backslash that could be mistaken for such an escape is written \\x5c, so two names never share one text.
    """
    if os_path.isascii() and "\\x" not in os_path:
        return os_path
    return _MISTAKABLE.sub(rb"\\x5c", os.fsencode(os_path)).decode("utf-8", "backslashreplace")


def os_path_of(shown: str) -> str:
    """The inverse of shown_path: what opens the file."""
    if "\\x" not in shown:
        return shown
    raw = os.fsencode(_ESCAPED.sub(lambda found: os.fsdecode(bytes([int(found[1], 16)])), shown))
    return os.fsdecode(raw)


def path_bytes(shown: str) -> bytes | None:
    """The path's own bytes where the text needed escapes, else None."""
    return os.fsencode(os_path_of(shown)) if "\\x" in shown else None
