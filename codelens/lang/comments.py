"""Find doc comments before definitions, and TODO comments, which become units.

A mark such as TODO counts at the start of a comment or of one of its lines, not within prose. Its unit ends at the next
mark, at a blank line or at the end of the comment; a one-line comment continues in those directly below it.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Sequence

import tree_sitter

from codelens.lang.matches import decode_node
from codelens.lang.parser import load_grammar
from codelens.lang.registry import Language, languages
from codelens.model.code import TODO, Span
from codelens.model.extraction import Unit
from codelens.text.lines import TextMap

_OPEN = re.compile(
    r"^\s*(?:/\*[*!]*|\(\*+|\{-+ ?[|^]?|<!--|--\[=*\[|=begin|(?://[/!]*)|#+(?!\[)'?|--+(?: [|^])?|;+|%+|!+[<>]?"
    r"|[rRbBuUfF]{0,2}(?:\"\"\"|'''|\"|'))[ \t]?"
)
_CLOSE = re.compile(r"(?:\*+/|\*+\)|-+\}|-->|\]=*\]|=end)?\s*$")
_CLOSE_QUOTE = re.compile(r"(?:\"\"\"|'''|\"|')?\s*$")
_LINE = re.compile(r"^\s*(?:\*+(?!/)|//[/!]*|#+|--+|;+)[ \t]?")
_TAG = re.compile(r"</?[A-Za-z][^<>]*>")
_VALUE = re.compile(r"\"([^\"]*)\"")


def find_doc_before(
    node: tree_sitter.Node, language: Language, claimed: Container[int] = ()
) -> tuple[list[str], list[str]]:
    """Find the comments and annotations directly above a definition; returns (comments, annotations). Comments whose start
    bytes are in `claimed` belong to something else."""
    while node.parent is not None and (node.parent.type in language.wrappers or _is_first_in_block(node, node.parent)):
        node = node.parent
    comments: list[str] = []
    attributes: list[str] = []
    below = node
    above = _find_before(node, language)
    while above is not None and (above.type in language.comments or above.type in language.attributes):
        if _end_row(above) < below.start_point[0] - 1 or above.start_byte in claimed:
            break
        if above.type in language.attributes:
            attributes.insert(0, decode_node(above).strip().lstrip("#@![").rstrip("]"))
        else:
            before = above.prev_sibling
            if before is not None and _end_row(before) == above.start_point[0] and before.end_byte > before.start_byte:
                break  # it trails the line of code above
            comments.insert(0, decode_node(above))
        below, above = above, _find_before(above, language)
    return comments, attributes


def _find_before(node: tree_sitter.Node, language: Language) -> tree_sitter.Node | None:
    """Find the node before this one, or before the block that an attribute opens; of a wrapper, take the last child."""
    above = node.prev_sibling
    if above is None and node.parent and node.type in language.attributes and _is_first_in_block(node, node.parent):
        above = node.parent.prev_sibling
    if above is not None and above.type in language.wrappers and above.named_children:
        return above.named_children[-1]
    return above


def _is_first_in_block(node: tree_sitter.Node, block: tree_sitter.Node) -> bool:
    """True for the first node of a block, since some grammars put the comment above that node before the block."""
    return block.start_byte == node.start_byte and block.parent is not None


def _end_row(node: tree_sitter.Node) -> int:
    row, column = node.end_point
    return row - 1 if column == 0 and row > node.start_point[0] else row  # some grammars include the newline


def clean_comment(comments: Sequence[str]) -> str:
    """Strip comment marks and common indentation from comments."""
    from inspect import cleandoc  # few processes read comments

    texts = []
    for comment in comments:
        opened = _OPEN.match(comment)
        rest = comment[opened.end() :] if opened else comment
        is_quoted = opened is not None and opened[0].strip()[:1] in "\"'rRbBuUfF"
        closed = (_CLOSE_QUOTE if is_quoted else _CLOSE).search(rest) if opened else None
        text = rest[: closed.start()] if closed else rest
        if not is_quoted:
            text = "\n".join(_LINE.sub("", line).rstrip() for line in text.split("\n"))
        texts.append(cleandoc(text) if is_quoted else cleandoc(text).strip("\n"))
    return "\n".join(filter(None, texts)).strip()


def strip_tags(doc: str) -> str:
    """Strip the tags from an XML doc comment; `<see cref="Other"/>` becomes Other."""
    bare = _TAG.sub(lambda tag: " ".join(_VALUE.findall(tag[0])) + ("" if tag[0].endswith("/>") else " "), doc)
    if "&" in bare:
        from html import unescape  # 3 ms for its table

        bare = unescape(bare)
    return "\n".join(" ".join(line.split()) for line in bare.split("\n") if line.strip())


MOST_NAME = 160  # Characters of a comment's text that become its unit's name
MOST_LINES = 20  # Limit of lines in one unit, for commented-out files
_MARKS = (b"TODO", b"FIXME", b"XXX", b"HACK")
MARK = re.compile(rb"(?<![\w.-])(?:%s)(?![\w-])" % b"|".join(_MARKS))
_BEFORE = re.compile(rb"[^\w\n]{0,40}\Z")
"""Text allowed before a mark on its line: comment signs, a dash, an @."""
_BLANK = re.compile(rb"[^\w]*\Z")


def find_todos(text: TextMap, language: str, units: Sequence[Unit]) -> list[Unit]:
    """Find the marked comments of a text in order; `units` are its definitions. Raises GrammarMissing, if there is a mark."""
    row, utf8 = languages().get(language), text.utf8
    if row is None or not row.comments or not any(mark in utf8 for mark in _MARKS):
        return []
    root = load_grammar(language).parse(utf8).root_node
    todos: list[Unit] = []
    for mark in MARK.finditer(utf8):
        if todos and mark.start() < todos[-1].span.end:
            continue  # part of the previous unit
        node = root.descendant_for_byte_range(mark.start(), mark.end())
        while node is not None and node.type not in row.comments:
            node = node.parent
        if node is not None and (span := _find_span(node, mark, utf8, row.comments)) is not None:
            todos.append(_make_todo(span, mark, text, units))
    return todos


def _find_span(node: tree_sitter.Node, mark: re.Match[bytes], utf8: bytes, comments: frozenset[str]) -> Span | None:
    """Find the span from the start of the comment, or of the mark's line, to the end of its text; None if a word precedes the mark.

    The text ends before a blank line or another mark, and has at most MOST_LINES lines.
    """
    start = utf8.rfind(b"\n", node.start_byte, mark.start()) + 1 or node.start_byte
    before = utf8[start : mark.start()]
    if not _BEFORE.match(before):
        return None
    end = node.end_byte
    for below in _list_following(node, comments) if node.start_point[0] == node.end_point[0] else ():
        if MARK.search(utf8, below.start_byte, below.end_byte):
            break
        end = below.end_byte
    length = 0
    for number, line in enumerate(utf8[mark.end() : end].split(b"\n", MOST_LINES)[:MOST_LINES]):
        if number and (_BLANK.match(line) or MARK.search(line)):
            break
        length += len(line) + (number > 0)
    text = utf8[mark.end() : mark.end() + length].rstrip()
    return Span(start + len(before) - len(before.lstrip()), mark.end() + len(text))


def _list_following(node: tree_sitter.Node, comments: frozenset[str]) -> Iterator[tree_sitter.Node]:
    """List the one-line comments directly below, in the same column."""
    row, column = node.start_point
    below = node.next_sibling
    while below is not None and below.type in comments and below.start_point == (row + 1, column):
        yield below
        row, below = row + 1, below.next_sibling


def _make_todo(span: Span, mark: re.Match[bytes], text: TextMap, units: Sequence[Unit]) -> Unit:
    around = [u for u in units if u.span.start <= span.start and span.end <= u.span.end and not u.local]
    holder = max(around, key=lambda u: (u.span.start, -u.span.end), default=None)
    first, *rest = _END.sub(b"", text.utf8[mark.start() : span.end].rstrip()).rstrip().split(b"\n")
    words = b" ".join([first, *(_MARKS_BELOW.sub(b"", line) for line in rest)]).decode("utf-8", "replace")
    line, column = text.find_line_column(mark.start())
    return Unit(
        kind=TODO,
        name=" ".join(words.split())[:MOST_NAME],
        container=holder.qualified_name if holder else "",
        parent=None,
        span=span,
        name_span=Span(mark.start(), mark.end()),
        body_start=span.start,
        start_line=text.find_line_column(span.start)[0],
        end_line=text.find_line_column(span.end - 1)[0],
        name_line=line,
        name_column=column,
        signature="",
        doc="",
    )


_MARKS_BELOW = re.compile(rb"^\s*(?:\*+(?!/)|/{2,}!?|#+|--+|;+|%+)?[ \t]?")
_END = re.compile(rb"(?:\*{1,200}/|-->|\*\)|-\}|\]={0,20}\])\Z")
"""Ends of comments. The repetitions are bounded, because otherwise matching could take quadratic time."""
