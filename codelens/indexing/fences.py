"""The blocks of code in a marked-up text, each with the language that it says it is in, without its indentation.

Only what names a language is code; of reStructuredText's plain literal blocks, which name none, Sphinx's own rule says that what
parses as Python is Python. The blocks are found line by line, like the headings, and each ends where its markup says.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from codelens.indexing.headings import Line, lines_of
from codelens.lang.registry import accepted_names, languages
from codelens.nouns import dataclass
from codelens.text.excerpt import Excerpt, excerpt

MOST_BLOCKS = 500
"""Of one document. Chosen: the longest guides have some two hundred, and each costs a parse."""
FALLBACK = "python"
"""What a block in no language of its own may be in reStructuredText."""

_FENCE = re.compile(rb"([ \t>]*)(`{3,}+|~{3,}+)[ \t]*+([^`\n]*)$")
_DIRECTIVE = re.compile(rb"([ \t]*)\.\.[ ]+(?:code-block|code|sourcecode|testcode|ipython|prompt)::[ \t]*(.*)$")
_HIGHLIGHT = re.compile(rb"[ \t]*\.\.[ ]+highlight::[ \t]*(\S+)")
_LITERAL = re.compile(rb"([ \t]*)(?!\.\. )\S.*::[ \t]*$|([ \t]*)::[ \t]*$")
_OPTION = re.compile(rb"[ \t]*:[\w-]+:")
_SOURCE = re.compile(rb"\[(?:source)?(?:%[\w%]+)?[ \t]*,[ \t]*([\w+#.-]++)[^\]]*+\][ \t]*$")
_LISTING = re.compile(rb"(-{4,}|\.{4,})[ \t]*$")
_ORG_BEGIN = re.compile(rb"([ \t]*)#\+BEGIN_SRC[ \t]+(\S+)", re.IGNORECASE)
_ORG_END = re.compile(rb"[ \t]*#\+END_SRC", re.IGNORECASE)
_INFO = re.compile(r"[{.]*(?:code-block\}|code\}|code-cell\})?[ \t]*\.?([\w+#-]+)")


@dataclass(frozen=True, slots=True)
class Block:
    """One block; `code` is the excerpt of the document that a parser may read."""

    language: str
    code: Excerpt
    guessed: bool = False
    """Nothing names its language: it is in it only if it parses without a fault."""


Found = tuple[str, int, int, bool]
"""Language as written, first line, line after the last, whether it is a guess."""


def code_blocks(utf8: bytes, language: str) -> list[Block]:
    """The blocks in languages that have a grammar, in order of place, MOST_BLOCKS at most; none in a text without such markup."""
    find = _SYNTAXES.get(language)
    if find is None:
        return []
    lines, blocks = lines_of(utf8), []
    for info, first, last, guessed in find(lines):
        named = code_language(info)
        if named and last > first:
            blocks.append(Block(named, _dedented(utf8, lines[first:last]), guessed))
        if len(blocks) == MOST_BLOCKS:
            break
    return blocks


def code_language(info: str) -> str:
    """The language that `python`, `{.python}`, `rust,ignore` or `js title="x"` names; empty where it has no grammar."""
    said = _INFO.match(info.strip())
    row = languages().get(accepted_names().get(said[1].lower(), "")) if said else None
    return row.name if row and row.grammar else ""


def _dedented(utf8: bytes, lines: Sequence[Line]) -> Excerpt:
    """The lines without the indentation that all of them share, line ends included."""
    margins = [len(line) - len(line.lstrip(b" \t")) for _, line in lines if line.strip()]
    margin = min(margins, default=0)
    spans = [(start + min(margin, len(line) - len(line.lstrip(b" \t"))), start + len(line)) for start, line in lines]
    ends = [utf8.find(b"\n", end) + 1 or len(utf8) for _, end in spans]
    return excerpt((utf8[start:end], start, end) for (start, _), end in zip(spans, ends, strict=True))


def _markdown(lines: Sequence[Line]) -> Iterator[Found]:
    i = 0
    while i < len(lines):
        opened = _FENCE.match(lines[i][1])
        i += 1
        if not opened:
            continue
        first = i
        while i < len(lines) and not _closes(lines[i][1], opened[2]):
            i += 1
        yield opened[3].decode("utf-8", "replace"), first, i, False
        i += 1


def _closes(line: bytes, fence: bytes) -> bool:
    bare = line.strip(b" \t>")
    return len(bare) >= len(fence) and not bare.strip(fence[:1])


def _restructured(lines: Sequence[Line]) -> Iterator[Found]:
    i, default = 0, ""
    while i < len(lines):
        line = lines[i][1]
        if shown := _HIGHLIGHT.match(line):
            default = shown[1].decode("utf-8", "replace")
        directive, literal = _DIRECTIVE.match(line), _LITERAL.match(line)
        i += 1
        if not directive and not literal:
            continue
        indent = len(directive[1]) if directive else len(line) - len(line.lstrip(b" \t"))
        while i < len(lines) and directive and _OPTION.match(lines[i][1]):
            i += 1
        first = i
        while i < len(lines) and (not lines[i][1].strip() or _indent(lines[i][1]) > indent):
            i += 1
        said = directive[2].decode("utf-8", "replace").strip() if directive else ""
        yield said or default or FALLBACK, first, i, not said


def _indent(line: bytes) -> int:
    return len(line) - len(line.lstrip(b" \t"))


def _asciidoc(lines: Sequence[Line]) -> Iterator[Found]:
    i = 0
    while i < len(lines):
        source, fence = _SOURCE.match(lines[i][1]), _FENCE.match(lines[i][1])
        i += 1
        if fence and fence[3].strip():
            said, closing = fence[3], fence[2]
        elif source:
            i += i < len(lines) and lines[i][1][:1] == b"." and not _LISTING.match(lines[i][1])  # a title
            listing = _LISTING.match(lines[i][1]) if i < len(lines) else None
            if not listing:
                continue
            said, closing = source[1], listing[1]
            i += 1
        else:
            continue
        first = i
        while i < len(lines) and lines[i][1].rstrip() != closing:
            i += 1
        yield said.decode("utf-8", "replace"), first, i, False
        i += 1


def _org(lines: Sequence[Line]) -> Iterator[Found]:
    i = 0
    while i < len(lines):
        opened = _ORG_BEGIN.match(lines[i][1])
        i += 1
        if not opened:
            continue
        first = i
        while i < len(lines) and not _ORG_END.match(lines[i][1]):
            i += 1
        yield opened[2].decode("utf-8", "replace"), first, i, False


_SYNTAXES: dict[str, Callable[[Sequence[Line]], Iterator[Found]]] = {
    "markdown": _markdown,
    "restructuredtext": _restructured,
    "asciidoc": _asciidoc,
    "org": _org,
}
