"""Prose → the names and files that it mentions: code between backticks, roles, directives and tables of contents of Sphinx,
links to files.

One pass of one pattern; blocks of code are skipped. A plain word in small letters is taken for a name only where something
says so (brackets after it, a dot, an underscore, a role): what stands between backticks is as often a value or a command.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence

from codelens.derived import Reference, Unit
from codelens.lang.registry import PLAIN_TEXT, detect_language
from codelens.text.lines import TextMap

MAX_MENTION = 60
"""Characters of a name with what goes before its last dot."""
MAX_LINK = 200

# Quantifiers have bounds so that no text, however odd, costs more than its length.
_CODE = rb"(?<!`)(?P<tick>``?)(?P<code>[^`\n]{1,200})(?P=tick)(?![`_\w])"
_PATTERNS = {
    language: re.compile(b"|".join(parts), re.MULTILINE | re.DOTALL)
    for language, parts in {
        "markdown": (
            # A block of code, of which nothing is read. In other languages such a line underlines a heading.
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


def mentions(text: TextMap, language: str, units: Sequence[Unit]) -> tuple[Reference, ...]:
    """References of the kinds mention and link in order of place, each with the section that holds it."""
    starts = [unit.span.start for unit in units]
    found = []
    for kind, name, receiver, place in _found(text.utf8, _PATTERNS.get(language, _PATTERNS["markdown"])):
        unit = bisect_right(starts, place) - 1
        inside = unit if unit >= 0 and place < units[unit].span.end else None
        found.append(Reference(kind, name, receiver, inside, place, text.line_column(place)[0]))
    return tuple(found)


def _found(utf8: bytes, pattern: re.Pattern[bytes]) -> Iterator[tuple[str, str, str, int]]:
    """(kind, name, receiver, place) of each."""
    for match in pattern.finditer(utf8):
        which = match.lastgroup
        if which is None or which == "fence":
            continue
        start = match.start(which)
        if which == "toctree":
            yield from _chapters(match[which], start)
            continue
        raw = match[which].decode("utf-8", "replace")
        role = (match.groupdict().get("role") or b"").decode("ascii", "replace").rpartition(":")[2]
        if which == "argument":
            directive = (match["directive"] or b"").decode("ascii", "replace").rpartition(":")[2]
            found = _name(raw, True) if _DIRECTIVES.fullmatch(directive) else None
            found = _file(raw) if directive in _FILE_DIRECTIVES else found
        elif which != "code":
            found = _file(raw)
        elif role in _FILE_ROLES:
            found = _target_file(raw)
        elif role and not _ROLES.fullmatch(role):
            found = None
        else:
            found = _name(raw, bool(role)) or (None if role else _named_file(raw))
        if found:
            kind, name, receiver, offset = found
            yield kind, name, receiver, start + len(raw[:offset].encode())


def _chapters(block: bytes, start: int) -> Iterator[tuple[str, str, str, int]]:
    """The documents that a table of contents lists, one a line; options and patterns are left out."""
    for line in block.splitlines(keepends=True):
        raw = line.decode("utf-8", "replace")
        words = raw.strip()
        if words and words[0] not in ":." and (found := _target_file(words)):
            indent = len(raw) - len(raw.lstrip())
            yield *found[:3], start + len((raw[:indent] + words[: found[3]]).encode())
        start += len(line)


Found = tuple[str, str, str, int]


def _name(raw: str, said: bool) -> Found | None:
    """The name in a piece of code; `said` where its markup says that it is one."""
    target = _TARGET.fullmatch(raw) if said else None
    shift, code = (target.start(1), target[1]) if target else (0, raw)
    bare = code.lstrip(" ~!@.")
    shift += len(code) - len(bare)
    called = _ARGUMENTS.search(bare)
    if called and called.end() == len(bare.rstrip(" ;")):
        bare, said = bare[: called.start()], True
    bare = bare.rstrip()
    match = _NAME.fullmatch(bare)
    if not match or len(bare) > MAX_MENTION or (not said and (_PLAIN.fullmatch(bare) or _is_file(bare))):
        return None
    return "mention", match[1], bare[: match.start(1)].rstrip(".:#->"), shift + match.start(1)


def _is_file(name: str) -> bool:
    return "." in name and detect_language(name) != PLAIN_TEXT


def _named_file(raw: str) -> Found | None:
    return _file(raw) if _is_file(raw.rpartition("/")[2].partition(":")[0]) else None


def _file(raw: str) -> Found | None:
    """The path in a link without the place in it; None where it leads out of the tree."""
    path = "" if _SCHEME.match(raw) else re.split(r"[#?:]", raw, maxsplit=1)[0]
    if not _PATH.fullmatch(path) or len(path) > MAX_LINK:
        return None
    return "link", path, "", 0


def _target_file(raw: str) -> Found | None:
    """The same for `Title <path>` as for `path`."""
    target = _TARGET.fullmatch(raw)
    found = _file(target[1]) if target else _file(raw)
    return (*found[:3], target.start(1)) if found and target else found
