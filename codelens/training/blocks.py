"""A function's text → the comments inside it, each with the statements that it stands above.

Read line by line, by indent, alike for all languages: a block ends at a blank line, at the next comment beside it, and
where the indent falls below the comment's.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

FEWEST_LINES = 3
"""Of a block: fewer are said by themselves. Chosen."""
MOST_LINES = 40
"""Of a block: what is longer is more than its comment says. Chosen."""

_COMMENT = re.compile(r"([ \t]*)(?://+|#+|--+|;;+)[ \t]+(\S.*)")


def commented_blocks(body: str) -> Iterator[tuple[str, str, int]]:
    """(words of the comment, the block below, the comment's first line counted from 0) in order of their place."""
    lines = body.split("\n")
    at = 0
    while at < len(lines):
        found = _COMMENT.fullmatch(lines[at])
        if not found:
            at += 1
            continue
        first, words = at, []
        while at < len(lines) and (more := _COMMENT.fullmatch(lines[at])) and more[1] == found[1]:
            words.append(more[2])
            at += 1
        end = _block_end(lines, at, found[1])
        if FEWEST_LINES <= end - at <= MOST_LINES:
            yield "\n".join(words), "\n".join(lines[at:end]), first


def _block_end(lines: list[str], start: int, indent: str) -> int:
    end = start
    while end < len(lines) and lines[end].strip():
        comment = _COMMENT.fullmatch(lines[end])
        if not lines[end].startswith(indent) or (comment and comment[1] == indent):
            break
        end += 1
    return end
