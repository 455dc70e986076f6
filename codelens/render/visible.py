"""Text of indexed files → text that is safe to show.

A terminal obeys control characters, and a person is misled by bidirectional overrides, so both are written as escapes.
In a pipe only what would break the line or the encoding is changed: programs get the text as it is.
"""

from __future__ import annotations

import re

_CONTROLS = "\x00-\x08\x0a-\x1f\x7f-\x9f"
_OVERRIDES = "\u200e\u200f\u202a-\u202e\u2066-\u2069\u2028\u2029"
_SURROGATES = "\ud800-\udfff"
_UNSAFE = re.compile(f"[{_CONTROLS}{_OVERRIDES}{_SURROGATES}]")
_BREAKS = re.compile(f"[\r\n\0{_SURROGATES}]")


def escape_text(text: str) -> str:
    """Every character that a terminal would obey, or that hides the order of others, as \\xNN or \\uNNNN; tabs stay."""
    return _UNSAFE.sub(_escape, text)


def escape_column(text: str) -> str:
    """The path of a list, which a tab may follow: all that a terminal would obey is an escape, and tabs are."""
    return escape_text(text).replace("\t", "\\t")


def escape_line(text: str) -> str:
    """Text that stays on its line and can be encoded."""
    return text if text.isprintable() else _BREAKS.sub(_escape, text)  # compiling it takes a search .7 ms


def _escape(found: re.Match[str]) -> str:
    code = ord(found[0])
    return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}"


def format_code_span(text: str) -> str:
    """Text as a code span of Markdown, which takes any text: the fence grows with the backticks inside."""
    code = escape_line(escape_text(text)) or " "
    ticks = "`" * (_count_longest_ticks(code) + 1)
    pad = " " if code.startswith("`") or code.endswith("`") else ""
    return f"{ticks}{pad}{code}{pad}{ticks}"


def choose_fence(code: str) -> str:
    """A fence for a block of Markdown, longer than any run of backticks inside, as CommonMark wants it."""
    return "`" * max(3, _count_longest_ticks(code) + 1)


def _count_longest_ticks(text: str) -> int:
    return max(map(len, re.findall(r"`+", text)), default=0)
