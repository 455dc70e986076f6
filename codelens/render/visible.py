"""Makes text of indexed files safe to show.

Terminals obey control characters and bidirectional overrides mislead readers, so both are written as escapes on a terminal.
In a pipe only characters that would break the line or the encoding are escaped, because programs need the text as it is.
"""

from __future__ import annotations

import re

_CONTROLS = "\x00-\x08\x0a-\x1f\x7f-\x9f"
_OVERRIDES = "\u200e\u200f\u202a-\u202e\u2066-\u2069\u2028\u2029"
_SURROGATES = "\ud800-\udfff"
_UNSAFE = re.compile(f"[{_CONTROLS}{_OVERRIDES}{_SURROGATES}]")
_BREAKS = re.compile(f"[\r\n\0{_SURROGATES}]")


def escape_text(text: str) -> str:
    """Escape characters that a terminal obeys or that change the order of others, as \\xNN or \\uNNNN; tabs stay."""
    return _UNSAFE.sub(_escape, text)


def escape_column(text: str) -> str:
    """Escape a cell of tab-separated output: like `escape_text`, and tabs too."""
    return escape_text(text).replace("\t", "\\t")


def escape_line(text: str) -> str:
    """Escape line breaks, NUL bytes and surrogates, so that a text stays on its line and can be encoded."""
    return text if text.isprintable() else _BREAKS.sub(_escape, text)  # compiling _BREAKS takes .7 ms


def _escape(found: re.Match[str]) -> str:
    code = ord(found[0])
    return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}"


def format_code_span(text: str) -> str:
    """Write any text as a Markdown code span, with more backticks around it than it has inside."""
    code = escape_line(escape_text(text)) or " "
    ticks = "`" * (_count_longest_ticks(code) + 1)
    pad = " " if code.startswith("`") or code.endswith("`") else ""
    return f"{ticks}{pad}{code}{pad}{ticks}"


def choose_fence(code: str) -> str:
    """Choose the fence of a Markdown code block, longer than any run of backticks inside, as CommonMark requires."""
    return "`" * max(3, _count_longest_ticks(code) + 1)


def _count_longest_ticks(text: str) -> int:
    return max(map(len, re.findall(r"`+", text)), default=0)
