"""Lines of code → HTML with a class for each kind of token, and marks where a query hit. Everything is escaped here.

Pygments comes with rich, and knows more languages than there are grammars; a lexer sees the lines shown, not the whole file,
so the middle of a long string may be coloured as code.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise

from markupsafe import Markup, escape
from pygments.lexer import Lexer
from pygments.lexers import find_lexer_class_by_name, find_lexer_class_for_filename
from pygments.token import Comment, Generic, Keyword, Literal, Name, Number, Operator, String, Token, _TokenType
from pygments.util import ClassNotFound

from codelens.render.visible import for_terminal

LONGEST_TEXT, LONGEST_LINE = 300_000, 2_000
"""Characters; what is longer is shown without colours: a lexer is a set of patterns, and some are slow on odd texts. Chosen."""
CLASSES = (
    (Comment, "c"),
    (Keyword, "k"),
    (String, "s"),
    (Number, "n"),
    (Literal, "s"),
    (Name.Function, "f"),
    (Name.Class, "t"),
    (Name.Namespace, "t"),
    (Name.Tag, "k"),
    (Name.Attribute, "f"),
    (Name.Decorator, "d"),
    (Name.Builtin, "b"),
    (Name.Exception, "t"),
    (Name.Constant, "b"),
    (Operator.Word, "k"),
    (Generic.Heading, "k"),
    (Generic.Subheading, "k"),
)
"""The first that holds a token's type names its class in page.css; other tokens have none."""

Marks = Sequence[tuple[int, int]]


def code_lines(lines: Sequence[str], path: str, language: str, marks: Sequence[Marks] = ()) -> list[Markup]:
    """Each line as HTML. `marks` are half-open character ranges of each line."""
    plain = [line.replace("\r", "␍").replace("\n", "␊") for line in lines]
    styled = _styled(plain, path, language)
    return [
        _line(text, classes, marks[i] if i < len(marks) else ())
        for i, (text, classes) in enumerate(zip(plain, styled, strict=True))
    ]


Styles = list[tuple[int, int, str]]
"""Half-open ranges of a line with their class."""


def _styled(lines: Sequence[str], path: str, language: str) -> list[Styles]:
    found: list[Styles] = [[] for _ in lines]
    text = "\n".join(lines) + "\n"
    lexer = _lexer(path.rpartition("/")[2], language)
    if lexer is None or len(text) > LONGEST_TEXT or any(len(line) > LONGEST_LINE for line in lines):
        return found
    number, start = 0, 0
    for at, kind, value in lexer.get_tokens_unprocessed(text):
        name = _class_of(kind)
        for part in value.splitlines(keepends=True) if "\n" in value else [value]:
            while number < len(lines) and at > start + len(lines[number]):
                start += len(lines[number]) + 1
                number += 1
            if number < len(lines) and name:
                end = min(at + len(part), start + len(lines[number]))
                if end > at:
                    found[number].append((at - start, end - start, name))
            at += len(part)
    return found


@lru_cache(maxsize=256)
def _lexer(filename: str, language: str) -> Lexer | None:
    """By the name of the language, else by that of the file; None where neither is known."""
    for find, name in ((find_lexer_class_by_name, language), (find_lexer_class_for_filename, filename)):
        try:
            if name and (kind := find(name)) is not None:
                return kind(stripnl=False, ensurenl=False)
        except ClassNotFound:
            continue
    return None


@lru_cache(maxsize=1024)
def _class_of(kind: _TokenType) -> str:
    return next((name for family, name in CLASSES if kind in family), "") if kind in Token else ""


def _line(text: str, styles: Styles, marks: Marks) -> Markup:
    ranges = [*((start, end) for start, end, _ in styles), *marks]
    ends = {0, len(text), *(min(place, len(text)) for both in ranges for place in both)}
    out, style = [], iter(styles)
    current = next(style, None)
    for start, end in pairwise(sorted(ends)):
        while current is not None and current[1] <= start:
            current = next(style, None)
        piece = escape(for_terminal(text[start:end]))
        if current is not None and current[0] <= start:
            piece = Markup('<span class="{}">{}</span>').format(current[2], piece)
        if any(first <= start and end <= last for first, last in marks):
            piece = Markup("<mark>{}</mark>").format(piece)
        out.append(piece)
    return Markup("").join(out)
