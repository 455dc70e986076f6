"""The headings of a marked-up text: Markdown (ATX and setext), reStructuredText (under- and overlined), AsciiDoc, Org.

Read line by line without a full parser: code fences, literal blocks and front matter hold no headings, and where a
document's meaning hangs on more than that, a heading missed only makes the section before it longer.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Heading:
    """One heading; offsets count UTF-8 bytes."""

    start: int
    """Where its first line begins: the overline, if it has one."""
    name_start: int
    name_end: int
    end: int
    """Where the text under it begins."""
    level: int
    """From 1, the outermost."""
    name: str
    """Its words without markup."""


Line = tuple[int, bytes]
"""Where it begins, and its bytes without the line end."""

_ATX = re.compile(rb" {0,3}(#{1,6})[ \t]+(.*?)(?:[ \t]+#+)?[ \t]*$")
_SETEXT = re.compile(rb" {0,3}(=+|-+)[ \t]*$")
_PARAGRAPH = re.compile(rb" {0,3}(?![#>|]|[-*+][ \t]|\d+[.)][ \t]|```|~~~|<!--|[-=]+[ \t]*$)\S")
_FENCE = re.compile(rb" {0,3}(```+|~~~+)([^`]*)$")
_ADORNMENT = re.compile(rb"([!-/:-@\[-`{-~])\1*$")
_ASCIIDOC = re.compile(rb"(={1,6}|#{1,6})[ \t]+(\S.*?)[ \t]*$")
_LISTING = re.compile(rb"(-{4,}|\.{4,}|\+{4,}|/{4,}|```+)\w*[ \t]*$")
_ORG = re.compile(rb"(\*{1,8})[ \t]+(?:(?:TODO|DONE)[ \t]+)?(\S.*?)[ \t]*(?::[\w:@]+:)?[ \t]*$")
_ORG_BLOCK = re.compile(rb"[ \t]*#\+(BEGIN|END)_\w+", re.IGNORECASE)
_LINK = re.compile(r"!?\[([^\]]*)\](?:\([^)]*\)|\[[^\]]*\])")
_ROLE = re.compile(r":[\w+:.-]+:`~?([^`<]*?)(?:\s*<[^>`]*>)?`")
_MARKS = re.compile(r"`+|\*\*|__|<[^<>]*>|\{#[^}]*\}")


def find_headings(utf8: bytes, language: str) -> list[Heading]:
    """All headings of a text in order of place, by the rules of its language, or Markdown's where it has none here."""
    return list(_SYNTAXES.get(language, _markdown)(lines_of(utf8)))


def lines_of(utf8: bytes) -> list[Line]:
    """All lines of a text, also the empty one behind its last line end."""
    lines: list[Line] = []
    start = 0
    for line in utf8.split(b"\n"):
        lines.append((start, line.removesuffix(b"\r")))
        start += len(line) + 1
    return lines


def _markdown(lines: list[Line]) -> Iterator[Heading]:
    fence = b""
    paragraph: int | None = None
    """The line that a setext underline would make a heading: a paragraph's first."""
    for i in range(_front_matter(lines), len(lines)):
        line = lines[i][1]
        if fence:
            fence = b"" if line.strip().startswith(fence) and not line.strip(b" \t" + fence[:1]) else fence
        elif opened := _FENCE.match(line):
            fence, paragraph = opened[1], None
        elif found := _ATX.match(line):
            yield _heading(lines, i, i, found, len(found[1]))
            paragraph = None
        elif paragraph == i - 1 and (under := _SETEXT.match(line)):
            yield _heading(lines, i - 1, i, None, 1 if under[1][:1] == b"=" else 2)
            paragraph = None
        else:
            follows = i and lines[i - 1][1].strip() and paragraph is None and not _ATX.match(lines[i - 1][1])
            begins = _PARAGRAPH.match(line) and not follows and paragraph != i - 1
            paragraph = i if begins else None if not line.strip() or paragraph is None else -1


def _front_matter(lines: list[Line]) -> int:
    """The line after the metadata that a document may begin with, between lines of `---`."""
    if lines[0][1].rstrip() != b"---":
        return 0
    return next((i + 1 for i in range(1, len(lines)) if lines[i][1].rstrip() in (b"---", b"...")), 0)


def _restructured(lines: list[Line]) -> Iterator[Heading]:
    levels: dict[tuple[bytes, bool], int] = {}
    for i in range(1, len(lines)):
        title, under = lines[i - 1][1].rstrip(), lines[i][1].rstrip()
        if not title or not _ADORNMENT.match(under) or _ADORNMENT.match(title):
            continue
        above = lines[i - 2][1].rstrip() if i > 1 else b""
        over = above == under
        if not over and (title[:1] in b" \t" or above):
            continue
        if len(under) < min(len(title.decode("utf-8", "replace")), 4):
            continue
        level = levels.setdefault((under[:1], over), len(levels) + 1)
        yield _heading(lines, i - 1, i, None, level, first=i - 2 if over else i - 1)


def _asciidoc(lines: list[Line]) -> Iterator[Heading]:
    block = b""
    for i, (_, line) in enumerate(lines):
        if block:
            block = b"" if line.rstrip() == block else block
        elif listing := _LISTING.match(line):
            block = listing[1]
        elif found := _ASCIIDOC.match(line):
            yield _heading(lines, i, i, found, len(found[1]))


def _org(lines: list[Line]) -> Iterator[Heading]:
    inside = False
    for i, (_, line) in enumerate(lines):
        if block := _ORG_BLOCK.match(line):
            inside = block[1].upper() == b"BEGIN"
        elif not inside and (found := _ORG.match(line)):
            yield _heading(lines, i, i, found, len(found[1]))


_SYNTAXES: dict[str, Callable[[list[Line]], Iterator[Heading]]] = {
    "markdown": _markdown,
    "rst": _restructured,
    "restructuredtext": _restructured,
    "asciidoc": _asciidoc,
    "org": _org,
}


def _heading(
    lines: list[Line], title: int, last: int, found: re.Match[bytes] | None, level: int, first: int | None = None
) -> Heading:
    """The heading whose words stand in line `title` (all of it, or group 2 of a match) and that ends in line `last`."""
    start, line = lines[title]
    left, right = found.span(2) if found else (len(line) - len(line.lstrip()), len(line.rstrip()))
    return Heading(
        start=lines[title if first is None else first][0],
        name_start=start + left,
        name_end=start + right,
        end=lines[last + 1][0] if last + 1 < len(lines) else lines[last][0] + len(lines[last][1]),
        level=level,
        name=plain_words(line[left:right].decode("utf-8", "replace")),
    )


def plain_words(title: str) -> str:
    """A title without links, roles, emphasis and anchors; as written if nothing else is left."""
    words = _MARKS.sub("", _ROLE.sub(r"\1", _LINK.sub(r"\1", title)))
    return " ".join(words.split()) or " ".join(title.split())
