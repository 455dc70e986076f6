"""Comments that say what is to be done, as units: `TODO: retry on timeouts`.

A mark counts where a comment, or a line of it, begins with it: prose that only speaks of a TODO is none. The unit reaches to the
next mark, to a blank line or to the end of the comment; comments of one line go on in those right below.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import tree_sitter

from codelens.derived import Unit
from codelens.lang.parser import load_grammar
from codelens.lang.registry import languages
from codelens.model import TODO, Span
from codelens.text.lines import TextMap

MOST_NAME = 160
"""Characters of the text that are its name. Chosen."""
MOST_LINES = 20
"""Lines of one comment that are of one mark. Chosen; a guard against commented-out files."""
MARK = re.compile(rb"(?<![\w.-])(?:TODO|FIXME|XXX|HACK)(?![\w-])")
_BEFORE = re.compile(rb"[^\w\n]{0,40}\Z")
"""What may stand before a mark on its line, from the comment's begin on: the marks of the comment, a dash, an @."""
_BLANK = re.compile(rb"[^\w]*\Z")


def find_todos(text: TextMap, language: str, units: Sequence[Unit]) -> list[Unit]:
    """The marked comments of a text in order of place; `units` are its definitions. Raises GrammarMissing.

    A text without a mark is not parsed again, and one in a language without comments never.
    """
    row, utf8 = languages().get(language), text.utf8
    if row is None or not row.comments or not MARK.search(utf8):
        return []
    root = load_grammar(language).parser.parse(utf8).root_node
    found: list[Unit] = []
    done = 0
    for mark in MARK.finditer(utf8):
        if mark.start() < done:
            continue  # within the words of the one before
        node = _comment_at(root, mark, row.comments)
        if node is not None and (span := _span(node, mark, utf8, row.comments)) is not None:
            found.append(_unit(span, mark, text, units))
            done = span.end
    return found


def _comment_at(root: tree_sitter.Node, mark: re.Match[bytes], comments: frozenset[str]) -> tree_sitter.Node | None:
    node = root.descendant_for_byte_range(mark.start(), mark.end())
    while node is not None and node.type not in comments:
        node = node.parent
    return node


def _span(node: tree_sitter.Node, mark: re.Match[bytes], utf8: bytes, comments: frozenset[str]) -> Span | None:
    """From the comment's begin, or that of the mark's line in it, to where its words end; None where it begins otherwise."""
    line = utf8.rfind(b"\n", node.start_byte, mark.start()) + 1
    start = line or node.start_byte
    if not _BEFORE.match(utf8[start : mark.start()]):
        return None
    end = node.end_byte
    for below in _following(node, comments) if node.start_point[0] == node.end_point[0] else ():
        if MARK.search(utf8, below.start_byte, below.end_byte):
            break
        end = below.end_byte
    start += len(utf8[start : mark.start()]) - len(utf8[start : mark.start()].lstrip())
    return Span(start, _until(utf8, mark.end(), end))


def _following(node: tree_sitter.Node, comments: frozenset[str]) -> Iterator[tree_sitter.Node]:
    """Comments of one line right below, in the same column."""
    row, column = node.start_point
    below = node.next_sibling
    while below is not None and below.type in comments and below.start_point == (row + 1, column):
        yield below
        row, below = row + 1, below.next_sibling


def _until(utf8: bytes, start: int, end: int) -> int:
    """Where the words of a mark end: before a line without words or with another mark, after MOST_LINES at most."""
    lines = utf8[start:end].split(b"\n", MOST_LINES)[:MOST_LINES]
    kept = 0
    for number, line in enumerate(lines):
        if number and (_BLANK.match(line) or MARK.search(line)):
            break
        kept += len(line) + (number > 0)
    return start + len(utf8[start : start + kept].rstrip())


def _unit(span: Span, mark: re.Match[bytes], text: TextMap, units: Sequence[Unit]) -> Unit:
    around = [u for u in units if u.span.start <= span.start and span.end <= u.span.end and not u.local]
    holder = max(around, key=lambda u: (u.span.start, -u.span.end), default=None)
    words = b" ".join(_lines(text.utf8, span, mark)).decode("utf-8", "replace")
    line, column = text.line_column(mark.start())
    return Unit(
        kind=TODO,
        name=" ".join(words.split())[:MOST_NAME],
        container=holder.qualified_name if holder else "",
        parent=None,
        span=span,
        name_span=Span(mark.start(), mark.end()),
        body_start=span.start,
        start_line=text.line_column(span.start)[0],
        end_line=text.line_column(span.end - 1)[0],
        name_line=line,
        name_column=column,
        signature="",
        doc="",
    )


_MARKS_BELOW = re.compile(rb"^\s*(?:\*+(?!/)|/{2,}!?|#+|--+|;+|%+)?[ \t]?")
_END = re.compile(rb"(?:\*{1,200}/|-->|\*\)|-\}|\]={0,20}\])\Z")
"""Bounded, for what may begin anywhere would take the square of a line's length."""


def _lines(utf8: bytes, span: Span, mark: re.Match[bytes]) -> Iterator[bytes]:
    """The words from the mark on, line by line, without what marks them as a comment."""
    first, *rest = _END.sub(b"", utf8[mark.start() : span.end].rstrip()).rstrip().split(b"\n")
    yield first
    for line in rest:
        yield _MARKS_BELOW.sub(b"", line)
