"""Makes text that comes from a repository safe to show: names, authors, patterns, titles and lines.

Terminals obey control characters, and characters that are invisible or turn the direction of text mislead readers. All
output has them as escapes, but for the lines that a search for lines writes to a pipe: grep's readers need them as they are.
"""

from __future__ import annotations

import re

INVISIBLE = (
    "\x7f-\x9f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\U000e0000-\U000e007f"
)
"""Controls above ASCII, and characters that are invisible or change the direction, for a set of a regular expression.

The joiners U+200C and U+200D are left out, because words of Persian and Hindi, and emoji, need them.
"""
_SURROGATES = "\ud800-\udfff"
_UNSAFE = re.compile(f"[\x00-\x08\x0a-\x1f{INVISIBLE}{_SURROGATES}]")
_BREAKS = re.compile(f"[\r\n\0{_SURROGATES}]")


def escape_text(text: str) -> str:
    """Escape line breaks, controls, invisible characters and surrogates, as \\xNN or \\uNNNN; tabs stay."""
    return text if text.isprintable() else _UNSAFE.sub(_escape, text)


def escape_column(text: str) -> str:
    """Escape a cell of tab-separated output: like `escape_text`, and tabs too."""
    return escape_text(text).replace("\t", "\\t")


def escape_breaks(text: str) -> str:
    """Escape only what would break a line or its encoding, in a line of a file that goes into a pipe as it is."""
    return text if text.isprintable() else _BREAKS.sub(_escape, text)  # compiling _BREAKS takes .7 ms


def _escape(found: re.Match[str]) -> str:
    code = ord(found[0])
    return f"\\x{code:02x}" if code < 256 else ascii(found[0])[1:-1]


def format_code_span(text: str) -> str:
    """Write any text as a Markdown code span, with more backticks around it than it has inside."""
    code = escape_text(text) or " "
    ticks = "`" * (_count_longest_ticks(code) + 1)
    pad = " " if code.startswith("`") or code.endswith("`") else ""
    return f"{ticks}{pad}{code}{pad}{ticks}"


def choose_fence(code: str) -> str:
    """Choose the fence of a Markdown code block, longer than any run of backticks inside, as CommonMark requires."""
    return "`" * max(3, _count_longest_ticks(code) + 1)


def _count_longest_ticks(text: str) -> int:
    return max(map(len, re.findall(r"`+", text)), default=0)
