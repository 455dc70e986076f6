"""Doc comments: finding those that stand before a definition, and taking the comment marks off."""

from __future__ import annotations

import re
from collections.abc import Container, Sequence
from html import unescape
from inspect import cleandoc

import tree_sitter

from codelens.lang.gather import text_of
from codelens.lang.registry import Language

_OPEN = re.compile(
    r"^\s*(?:/\*[*!]*|\(\*+|\{-+ ?[|^]?|<!--|--\[=*\[|=begin|(?://[/!]*)|#+(?!\[)'?|--+(?: [|^])?|;+|%+|!+[<>]?"
    r"|[rRbBuUfF]{0,2}(?:\"\"\"|'''|\"|'))[ \t]?"
)
_CLOSE = re.compile(r"(?:\*+/|\*+\)|-+\}|-->|\]=*\]|=end)?\s*$")
_CLOSE_QUOTE = re.compile(r"(?:\"\"\"|'''|\"|')?\s*$")
_LINE = re.compile(r"^\s*(?:\*+(?!/)|//[/!]*|#+|--+|;+)[ \t]?")
_TAG = re.compile(r"</?[A-Za-z][^<>]*>")
_VALUE = re.compile(r"\"([^\"]*)\"")


def doc_before(node: tree_sitter.Node, language: Language, claimed: Container[int] = ()) -> tuple[list[str], list[str]]:
    """(comments that touch the definition from above, in order; annotations among them). Those that begin at a byte in
    `claimed` speak of something else."""
    while node.parent is not None and (node.parent.type in language.wrappers or _opens(node, node.parent)):
        node = node.parent
    comments: list[str] = []
    attributes: list[str] = []
    below = node
    above = node.prev_sibling
    while above is not None and (above.type in language.comments or above.type in language.attributes):
        if _end_row(above) < below.start_point[0] - 1 or above.start_byte in claimed:
            break
        if above.type in language.attributes:
            attributes.insert(0, text_of(above).strip().lstrip("#@![").rstrip("]"))
        else:
            before = above.prev_sibling
            if before is not None and _end_row(before) == above.start_point[0] and before.end_byte > before.start_byte:
                break  # it trails the line of code above
            comments.insert(0, text_of(above))
        below, above = above, above.prev_sibling
    return comments, attributes


def _opens(node: tree_sitter.Node, block: tree_sitter.Node) -> bool:
    """Whether a definition is the first thing of a block: some grammars put the comment above it before the block."""
    return block.start_byte == node.start_byte and block.parent is not None


def _end_row(node: tree_sitter.Node) -> int:
    row, column = node.end_point
    return row - 1 if column == 0 and row > node.start_point[0] else row  # some grammars count the newline in


def clean_comment(comments: Sequence[str]) -> str:
    """Comments as written → their words, without marks and common indent."""
    return "\n".join(filter(None, map(_clean, comments))).strip()


def without_tags(doc: str) -> str:
    """The words of an XML doc: `<see cref="Other"/>` leaves Other."""
    bare = _TAG.sub(lambda tag: " ".join(_VALUE.findall(tag[0])) + ("" if tag[0].endswith("/>") else " "), doc)
    return "\n".join(" ".join(line.split()) for line in unescape(bare).split("\n") if line.strip())


def _clean(comment: str) -> str:
    opened = _OPEN.match(comment)
    rest = comment[opened.end() :] if opened else comment
    quoted = opened is not None and opened[0].strip()[:1] in "\"'rRbBuUfF"
    closed = (_CLOSE_QUOTE if quoted else _CLOSE).search(rest) if opened else None
    text = rest[: closed.start()] if closed else rest
    if quoted:
        return cleandoc(text)
    lines = [_LINE.sub("", line).rstrip() for line in text.split("\n")]
    return cleandoc("\n".join(lines)).strip("\n")
