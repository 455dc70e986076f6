"""Finds the headings and code blocks of Markdown, reStructuredText, AsciiDoc and Org, line by line without a full parser.

Code fences, literal blocks and front matter hold no headings. A code block counts if it names its language. Literal blocks of
reStructuredText name none: as in Sphinx, those that parse as Python are Python."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from codelens.lang.registry import languages, map_accepted_names
from codelens.model.fast_dataclass import dataclass
from codelens.text.lines import Excerpt, build_excerpt


@dataclass(frozen=True, slots=True)
class Heading:
    """One heading; offsets count UTF-8 bytes."""

    start: int  # Start of its first line, which may be an overline
    name_start: int
    name_end: int
    end: int  # Start of the text under it
    level: int  # From 1, the outermost
    name: str  # The title without markup


Line = tuple[int, bytes]  # (start, bytes without the line end)

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
    """Find all headings of a text, in order. Languages without rules here use Markdown's."""
    return list(_HEADING_SYNTAXES.get(language, _find_markdown_headings)(split_lines(utf8)))


def split_lines(utf8: bytes) -> list[Line]:
    """Split a text into lines, including the empty one after its last line end."""
    lines: list[Line] = []
    start = 0
    for line in utf8.split(b"\n"):
        lines.append((start, line.removesuffix(b"\r")))
        start += len(line) + 1
    return lines


def _find_markdown_headings(lines: list[Line]) -> Iterator[Heading]:
    fence = b""
    paragraph: int | None = None  # First line of a paragraph, which a setext underline would make a heading
    first = 0
    if lines[0][1].rstrip() == b"---":  # front matter
        first = next((i + 1 for i in range(1, len(lines)) if lines[i][1].rstrip() in (b"---", b"...")), 0)
    for i in range(first, len(lines)):
        line = lines[i][1]
        if fence:
            fence = b"" if line.strip().startswith(fence) and not line.strip(b" \t" + fence[:1]) else fence
        elif opened := _FENCE.match(line):
            fence, paragraph = opened[1], None
        elif match := _ATX.match(line):
            yield _build_heading(lines, i, match, len(match[1]))
            paragraph = None
        elif paragraph == i - 1 and (under := _SETEXT.match(line)):
            yield _build_heading(lines, i - 1, None, 1 if under[1][:1] == b"=" else 2)
            paragraph = None
        else:
            follows = i and lines[i - 1][1].strip() and paragraph is None and not _ATX.match(lines[i - 1][1])
            begins = _PARAGRAPH.match(line) and not follows and paragraph != i - 1
            paragraph = i if begins else None if not line.strip() or paragraph is None else -1


def _find_restructured_headings(lines: list[Line]) -> Iterator[Heading]:
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
        yield _build_heading(lines, i - 1, None, level, first=i - 2 if over else i - 1)


def _find_asciidoc_headings(lines: list[Line]) -> Iterator[Heading]:
    block = b""
    for i, (_, line) in enumerate(lines):
        if block:
            block = b"" if line.rstrip() == block else block
        elif listing := _LISTING.match(line):
            block = listing[1]
        elif match := _ASCIIDOC.match(line):
            yield _build_heading(lines, i, match, len(match[1]))


def _find_org_headings(lines: list[Line]) -> Iterator[Heading]:
    inside = False
    for i, (_, line) in enumerate(lines):
        if block := _ORG_BLOCK.match(line):
            inside = block[1].upper() == b"BEGIN"
        elif not inside and (match := _ORG.match(line)):
            yield _build_heading(lines, i, match, len(match[1]))


_HEADING_SYNTAXES: dict[str, Callable[[list[Line]], Iterator[Heading]]] = {
    "markdown": _find_markdown_headings,
    "restructuredtext": _find_restructured_headings,
    "asciidoc": _find_asciidoc_headings,
    "org": _find_org_headings,
}


def _build_heading(
    lines: list[Line], at: int, match: re.Match[bytes] | None, level: int, first: int | None = None
) -> Heading:
    """Build the heading in the line `at`. Its title is group 2 of the match; without a match it is the whole line, underlined."""
    start, line = lines[at]
    left, right = match.span(2) if match else (len(line) - len(line.lstrip()), len(line.rstrip()))
    last = at if match else at + 1
    title = line[left:right].decode("utf-8", "replace")
    # Without links, roles, emphasis and anchors; as written if nothing is left
    words = _MARKS.sub("", _ROLE.sub(r"\1", _LINK.sub(r"\1", title))).split() or title.split()
    return Heading(
        start=lines[at if first is None else first][0],
        name_start=start + left,
        name_end=start + right,
        end=lines[last + 1][0] if last + 1 < len(lines) else lines[last][0] + len(lines[last][1]),
        level=level,
        name=" ".join(words),
    )


MOST_BLOCKS = 500  # Limit for one document. The longest guides have about two hundred, and each costs a parse.
FALLBACK = "python"  # Language to try for a block of reStructuredText that names none

_CODE_FENCE = re.compile(rb"([ \t>]*)(`{3,}+|~{3,}+)[ \t]*+([^`\n]*)$")
_DIRECTIVE = re.compile(rb"[ \t]*\.\.[ ]+(?:code-block|code|sourcecode|testcode|ipython|prompt)::[ \t]*(.*)$")
_HIGHLIGHT = re.compile(rb"[ \t]*\.\.[ ]+highlight::[ \t]*(\S+)")
_LITERAL = re.compile(rb"[ \t]*(?!\.\. )\S.*::[ \t]*$|[ \t]*::[ \t]*$")
_OPTION = re.compile(rb"[ \t]*:[\w-]+:")
_SOURCE = re.compile(rb"\[(?:source)?(?:%[\w%]+)?[ \t]*,[ \t]*([\w+#.-]++)[^\]]*+\][ \t]*$")
_CODE_LISTING = re.compile(rb"(-{4,}|\.{4,})[ \t]*$")
_ORG_BEGIN = re.compile(rb"[ \t]*#\+BEGIN_SRC[ \t]+(\S+)", re.IGNORECASE)
_ORG_END = re.compile(rb"[ \t]*#\+END_SRC", re.IGNORECASE)
_INFO = re.compile(r"[{.]*(?:code-block\}|code\}|code-cell\})?[ \t]*\.?([\w+#-]+)")


@dataclass(frozen=True, slots=True)
class CodeBlock:
    """A code block; `code` is its text without indentation."""

    language: str
    code: Excerpt
    guessed: bool = False  # The block names no language; it counts only if it parses without an error


Block = tuple[str, int, int, bool]
"""(language as written, first line, line after the last, whether the language is a guess)"""


def find_code_blocks(utf8: bytes, language: str) -> list[CodeBlock]:
    """Find the first MOST_BLOCKS code blocks in languages with a grammar, in order."""
    find = _BLOCK_SYNTAXES.get(language)
    if find is None:
        return []
    lines, blocks = split_lines(utf8), []
    for info, first, last, guessed in find(lines):
        code_name = find_code_language(info)
        if code_name and last > first:
            block = lines[first:last]
            margin = min((_measure_indent(line) for _, line in block if line.strip()), default=0)
            spans = [(start + min(margin, _measure_indent(line)), start + len(line)) for start, line in block]
            ends = [utf8.find(b"\n", end) + 1 or len(utf8) for _, end in spans]
            code = build_excerpt((utf8[start:end], start, end) for (start, _), end in zip(spans, ends, strict=True))
            blocks.append(CodeBlock(code_name, code, guessed))
        if len(blocks) == MOST_BLOCKS:
            break
    return blocks


def find_code_language(info: str) -> str:
    """Find the language that `python`, `{.python}`, `rust,ignore` or `js title="x"` names; empty if it has no grammar."""
    named_language = _INFO.match(info.strip())
    row = languages().get(map_accepted_names().get(named_language[1].lower(), "")) if named_language else None
    return row.name if row and row.grammar else ""


Opening = tuple[bytes, int, Callable[[bytes], object]]
"""(language as written, first line of the code, test for the line that ends it)"""


def _find_delimited_blocks(
    lines: Sequence[Line], opens: Callable[[Sequence[Line], int], Opening | None]
) -> Iterator[Block]:
    """Find blocks that start with a line that `opens` recognizes, and end at a closing line or at the text's end."""
    i = 0
    while i < len(lines):
        opening = opens(lines, i)
        i += 1
        if not opening:
            continue
        language, first, ends_block = opening
        i = first
        while i < len(lines) and not ends_block(lines[i][1]):
            i += 1
        yield language.decode("utf-8", "replace"), first, i, False
        i += 1


def _match_markdown_opening(lines: Sequence[Line], i: int) -> Opening | None:
    opening = _CODE_FENCE.match(lines[i][1])
    if not opening:
        return None
    fence = opening[2]

    def ends_block(line: bytes) -> bool:
        bare = line.strip(b" \t>")
        return len(bare) >= len(fence) and not bare.strip(fence[:1])

    return opening[3], i + 1, ends_block


def _match_asciidoc_opening(lines: Sequence[Line], i: int) -> Opening | None:
    source, fence = _SOURCE.match(lines[i][1]), _CODE_FENCE.match(lines[i][1])
    if fence and fence[3].strip():
        return fence[3], i + 1, lambda line: line.rstrip() == fence[2]
    if not source:
        return None
    i += 1
    i += i < len(lines) and lines[i][1][:1] == b"." and not _CODE_LISTING.match(lines[i][1])  # a title
    listing = _CODE_LISTING.match(lines[i][1]) if i < len(lines) else None
    return (source[1], i + 1, lambda line: line.rstrip() == listing[1]) if listing else None


def _match_org_opening(lines: Sequence[Line], i: int) -> Opening | None:
    begin = _ORG_BEGIN.match(lines[i][1])
    return (begin[1], i + 1, _ORG_END.match) if begin else None


def _find_restructured_blocks(lines: Sequence[Line]) -> Iterator[Block]:
    i, default = 0, ""
    while i < len(lines):
        line = lines[i][1]
        if highlight := _HIGHLIGHT.match(line):
            default = highlight[1].decode("utf-8", "replace")
        directive, literal = _DIRECTIVE.match(line), _LITERAL.match(line)
        i += 1
        if not directive and not literal:
            continue
        indent = _measure_indent(line)
        while i < len(lines) and directive and _OPTION.match(lines[i][1]):
            i += 1
        first = i
        while i < len(lines) and (not lines[i][1].strip() or _measure_indent(lines[i][1]) > indent):
            i += 1
        named_language = directive[1].decode("utf-8", "replace").strip() if directive else ""
        yield named_language or default or FALLBACK, first, i, not named_language


def _measure_indent(line: bytes) -> int:
    return len(line) - len(line.lstrip(b" \t"))


_BLOCK_SYNTAXES: dict[str, Callable[[Sequence[Line]], Iterator[Block]]] = {
    "markdown": lambda lines: _find_delimited_blocks(lines, _match_markdown_opening),
    "restructuredtext": _find_restructured_blocks,
    "asciidoc": lambda lines: _find_delimited_blocks(lines, _match_asciidoc_opening),
    "org": lambda lines: _find_delimited_blocks(lines, _match_org_opening),
}
