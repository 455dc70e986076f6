"""Finds the names and files that prose mentions, and the functions and types in its code blocks.

A plain lowercase word between backticks counts only with brackets, a dot, an underscore or a role: it is as often a value or a
command. A quoted definition is local to its section, and found only by its name (`find_quoted_units`); its text stays
part of the section. Nothing is linked to it. Variables and constants are left out: nobody searches for the `app = …` of a
hundred examples."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence

from codelens.indexing.markup import CodeBlock, find_code_blocks
from codelens.lang.captures import extract_captures
from codelens.lang.registry import PLAIN_TEXT, detect_language
from codelens.model.code import TYPE_KINDS
from codelens.model.extraction import Extraction, Reference, Unit
from codelens.model.fast_dataclass import replace
from codelens.text.lines import Excerpt, TextMap

MAX_MENTION = 60  # Characters of a name including its qualifier
MAX_LINK = 200

# Quantifiers are bounded, so that matching takes linear time.
_CODE = rb"(?<!`)(?P<tick>``?)(?P<code>[^`\n]{1,200})(?P=tick)(?![`_\w])"
_PATTERNS = {
    language: re.compile(b"|".join(parts), re.MULTILINE | re.DOTALL)
    for language, parts in {
        "markdown": (
            # A code block, which is skipped. In other languages such a line underlines a heading.
            rb"^[ \t]*(?P<fence>```+|~~~+)[^\n`]*\n(?:.*?^[ \t]*(?P=fence)|.*\Z)",
            _CODE,
            rb"\]\([ \t]*<?(?P<link>[^\s<>()]{1,200})>?(?:[ \t]+[\"'(][^\n]{0,200}?)?[ \t]*\)",
            rb"^[ ]{0,3}\[[^\]\n]{1,200}\]:[ \t]*<?(?P<definition>[^\s<>]{1,200})",
        ),
        "restructuredtext": (
            rb"(?::(?P<role>[\w:+-]{1,30}):)?" + _CODE,
            rb"^[ \t]*\.\.[ ]+toctree::[^\n]*\n(?P<toctree>(?:[ \t]*\n|[ \t]+[^\n]*(?:\n|\Z))*)",
            rb"^[ \t]*\.\.[ ]+(?P<directive>[\w:-]{1,30})::[ \t]+(?P<argument>[^\s(]{1,200})",
        ),
        "asciidoc": (_CODE, rb"(?:link|xref|include):{1,2}(?P<macro>[^\s\[\]]{1,200})\["),
        "org": (rb"(?<![\w~=])(?P<tick>[~=])(?P<code>[^~=\s]{1,200})(?P=tick)(?![\w~=])",),
    }.items()
}
_KINDS = "function|class|method|module|exception|data|attribute|decorator|property"
_ROLES = re.compile(rf"func|meth|attr|exc|mod|obj|const|macro|struct|type|member|any|{_KINDS}")
_DIRECTIVES = re.compile(rf"(?:auto|current)?(?:{_KINDS})|(?:class|static)method")
_FILE_DIRECTIVES = ("literalinclude", "include", "image", "figure")
_FILE_ROLES = ("doc", "download")
_TARGET = re.compile(r"[^<]*<([^<>]+)>")
_ARGUMENTS = re.compile(r"\([^()]*\)")
_NAME = re.compile(r"(?:[^\W\d]\w*(?:\.|::|\#|->))*([^\W\d]\w*[?!]?)")
_PLAIN = re.compile(r"[a-z]+[?!]?")
_SCHEME = re.compile(r"[\w+.-]+:(?!\d)|//")
_PATH = re.compile(r"[\w.@+~/-]*\w[\w.@+~/-]*")


def find_mentions(text: TextMap, language: str, units: Sequence[Unit]) -> tuple[Reference, ...]:
    """Find references of the kinds mention and link, in order, each with its section."""
    starts = [unit.span.start for unit in units]
    references = []
    for kind, name, receiver, place in _find_mentions(text.utf8, _PATTERNS.get(language, _PATTERNS["markdown"])):
        unit = bisect_right(starts, place) - 1
        inside = unit if unit >= 0 and place < units[unit].span.end else None
        references.append(Reference(kind, name, receiver, inside, place, text.find_line_column(place)[0]))
    return tuple(references)


def _find_mentions(utf8: bytes, pattern: re.Pattern[bytes]) -> Iterator[Mention]:
    """Yield the (kind, name, receiver, place) of each mention."""
    for match in pattern.finditer(utf8):
        which = match.lastgroup
        if which is None or which == "fence":
            continue
        start = match.start(which)
        if which == "toctree":
            yield from _read_toctree(match[which], start)
            continue
        raw = match[which].decode("utf-8", "replace")
        role = (match.groupdict().get("role") or b"").decode("ascii", "replace").rpartition(":")[2]
        if which == "argument":
            directive = (match["directive"] or b"").decode("ascii", "replace").rpartition(":")[2]
            mention = _read_name(raw, True) if _DIRECTIVES.fullmatch(directive) else None
            mention = _read_link(raw) if directive in _FILE_DIRECTIVES else mention
        elif which != "code":
            mention = _read_link(raw)
        elif role in _FILE_ROLES:
            mention = _read_target(raw)
        elif role and not _ROLES.fullmatch(role):
            mention = None
        else:
            mention = _read_name(raw, bool(role))
            if not mention and not role and _is_file(raw.rpartition("/")[2].partition(":")[0]):
                mention = _read_link(raw)
        if mention:
            kind, name, receiver, offset = mention
            yield kind, name, receiver, start + len(raw[:offset].encode())


def _read_toctree(block: bytes, start: int) -> Iterator[Mention]:
    """Read the documents in a table of contents, one per line; skip options and patterns."""
    for line in block.splitlines(keepends=True):
        raw = line.decode("utf-8", "replace")
        words = raw.strip()
        if words and words[0] not in ":." and (mention := _read_target(words)):
            indent = len(raw) - len(raw.lstrip())
            yield *mention[:3], start + len((raw[:indent] + words[: mention[3]]).encode())
        start += len(line)


Mention = tuple[str, str, str, int]  # (kind, name, receiver, start of the name in the text)


def _read_name(raw: str, explicit: bool) -> Mention | None:
    """Read the name in a piece of code; `explicit` if the markup marks it as a name."""
    target = _TARGET.fullmatch(raw) if explicit else None
    shift, code = (target.start(1), target[1]) if target else (0, raw)
    bare = code.lstrip(" ~!@.")
    shift += len(code) - len(bare)
    called = _ARGUMENTS.search(bare)
    if called and called.end() == len(bare.rstrip(" ;")):
        bare, explicit = bare[: called.start()], True
    bare = bare.rstrip()
    match = _NAME.fullmatch(bare)
    if not match or len(bare) > MAX_MENTION or (not explicit and (_PLAIN.fullmatch(bare) or _is_file(bare))):
        return None
    return "mention", match[1], bare[: match.start(1)].rstrip(".:#->"), shift + match.start(1)


def _is_file(name: str) -> bool:
    return "." in name and detect_language(name) != PLAIN_TEXT


def _read_link(raw: str) -> Mention | None:
    """Read the path of a link, without its fragment; None if it leads out of the tree."""
    path = "" if _SCHEME.match(raw) else re.split(r"[#?:]", raw, maxsplit=1)[0]
    if not _PATH.fullmatch(path) or len(path) > MAX_LINK:
        return None
    return "link", path, "", 0


def _read_target(raw: str) -> Mention | None:
    """Read the path of `Title <path>` or `path`."""
    target = _TARGET.fullmatch(raw)
    mention = _read_link(target[1] if target else raw)
    return (*mention[:3], target.start(1)) if mention and target else mention


QUOTED_KINDS = frozenset({"function", "method", *TYPE_KINDS})


def add_quoted(document: Extraction, text: TextMap, language: str) -> Extraction:
    """Add the definitions in the document's code blocks to the extraction, which holds only its sections."""
    sections = document.units
    starts = [section.span.start for section in sections]
    quoted: dict[int, list[Unit]] = {}  # Section → its quoted units, whose parents count within the list
    for block in find_code_blocks(text.utf8, language):
        for definition in _extract_definitions(block):
            place = block.code.map_span(definition[0].span)
            section = bisect_right(starts, place.start) - 1
            if section < 0 or place.end > sections[section].span.end:
                continue
            title, units = sections[section].qualified_name, quoted.setdefault(section, [])
            first = len(units)
            for unit in definition:
                container = f"{title}.{unit.container}" if unit.container else title
                parent = None if unit.parent is None else first + unit.parent
                moved = move_to_text(unit, block.code, text)
                units.append(replace(moved, parent=parent, container=container, local=True))
    if not quoted:
        return document
    merged: list[Unit] = []
    moved_to: list[int] = []  # New position of each section
    for section, unit in enumerate(sections):
        moved_to.append(len(merged))
        merged.append(unit)
        first = len(merged)
        inner = quoted.get(section, ())
        merged += [replace(u, parent=first - 1 if u.parent is None else first + u.parent) for u in inner]
    references = tuple([r if r.unit is None else r._replace(unit=moved_to[r.unit]) for r in document.references])
    return replace(document, units=tuple(merged), references=references)


def _extract_definitions(block: CodeBlock) -> list[list[Unit]]:
    """Extract functions and types: a list for each outermost one with its members. Parents are positions within that list."""
    try:
        code = extract_captures(block.code.utf8, block.language, definitions_only=True)
    except Exception:  # a missing grammar or a fault costs the document this example
        return []
    if block.guessed and code.fault:
        return []
    definitions: list[list[Unit]] = []
    positions: dict[int, int] = {}  # Position of a unit in the block → in its definition
    for place, unit in enumerate(code.units):
        if unit.kind not in QUOTED_KINDS or not (unit.parent is None or unit.parent in positions):
            continue
        if unit.parent is None:
            definitions.append([])
        positions[place] = len(definitions[-1])
        definitions[-1].append(unit if unit.parent is None else replace(unit, parent=positions[unit.parent]))
    return definitions


def move_to_text(unit: Unit, code: Excerpt, text: TextMap) -> Unit:
    """Convert the unit's offsets, lines and columns to those of the whole text."""
    span, name = code.map_span(unit.span), code.map_span(unit.name_span)
    name_line, name_column = text.find_line_column(name.start)
    return replace(
        unit,
        span=span,
        name_span=name,
        body_start=code.map_offset(unit.body_start) if unit.body_start < unit.span.end else span.end,
        start_line=text.find_line_column(span.start)[0],
        end_line=text.find_line_column(max(span.start, span.end - 1))[0],
        name_line=name_line,
        name_column=name_column,
    )
