"""Translates git's patterns to regular expressions over bytes, and finds the owners of paths by the patterns of CODEOWNERS.

pathspec differs from git on character classes, trailing tabs, '?' against bytes, 'foo**/bar' and trailing backslashes. A '*'
takes its leftmost match and is never retried (atomic groups), so that a hostile pattern takes polynomial time at most."""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Iterator
from typing import NamedTuple

from codelens.model.fast_dataclass import dataclass

_PLAIN = re.compile(rb"[^*?\[\\]*")
_WILD = re.compile(rb"[*?\[\\]")
_TOKEN = re.compile(rb"\*+|\?|\[|\\.?|[^*?\[\\]+", re.DOTALL)
_NEVER = b"(?!)"
_CLASSES = {
    "alnum": string.ascii_letters + string.digits,
    "alpha": string.ascii_letters,
    "blank": " \t",
    "cntrl": "".join(map(chr, (*range(1, 32), 127))),
    "digit": string.digits,
    "graph": "".join(map(chr, range(33, 127))),
    "lower": string.ascii_lowercase,
    "print": "".join(map(chr, range(32, 127))),
    "punct": string.punctuation,
    "space": " \t\n\v\f\r",
    "upper": string.ascii_uppercase,
    "xdigit": string.hexdigits,
}


@dataclass(frozen=True, slots=True)
class Rule:
    """A pattern as git reads it. `regex` must match the whole name, or the whole path below the ignore file's folder."""

    text: bytes
    line: int
    is_negated: bool  # Starts with '!': matching entries are included again
    folders_only: bool
    by_name: bool  # Contains no slash, so it applies to the last part of a path at any depth
    plain: bytes  # The whole text to match, for a pattern without wildcards; else empty
    ending: bytes  # The suffix to match, for a pattern of a star and plain text; else empty
    regex: bytes


def read_rule(raw: bytes, line: int) -> Rule | None:
    """Read the rule on one line (without its newline); None for a blank line, a comment or an empty pattern."""
    raw = raw.partition(b"\0")[0].removesuffix(b"\r")
    if not raw or raw.startswith(b"#"):
        return None
    # Spaces at the end do not count, unless a backslash protects the first of them.
    body = re.match(rb"(?:\\.|[^\\ ]| +(?=[^ ])|\\$)*", raw, re.DOTALL)
    pattern = text = raw[: body.end()] if body else raw
    is_negated = pattern.startswith(b"!")
    pattern = pattern[1:] if is_negated else pattern
    folders_only = pattern.endswith(b"/")
    pattern = pattern[:-1] if folders_only else pattern
    if not pattern:
        return None
    by_name = b"/" not in pattern
    regex = _join_pieces(_translate_pieces(pattern, slashes=True), b".") if by_name else build_path_regex(pattern)
    plain = b"" if _WILD.search(pattern) else pattern.removeprefix(b"/")
    ending = pattern[1:] if by_name and pattern[:1] == b"*" and not _WILD.search(pattern, 1) else b""
    return Rule(text, line, is_negated, folders_only, by_name, plain, ending, regex)


def build_path_regex(pattern: bytes) -> bytes:
    """Build the regular expression of a pattern with a slash, for a whole path below the ignore file's folder. git compares the
    part before the first wildcard literally and the rest as a pattern of its own ('foo**/bar' matches 'foo/x/bar')."""
    pattern = pattern.removeprefix(b"/")
    literal = _PLAIN.match(pattern)
    plain = literal.end() if literal else 0
    regex, pattern = re.escape(pattern[:plain]), pattern[plain:]
    start, opener = 0, b""
    for begin, end in _find_double_stars(pattern):  # all stretches between them except the last keep their first match
        part = _join_pieces(_translate_pieces(pattern[start:begin], slashes=False), b"[^/]")
        regex += b"(?>" + opener + part + b")" if opener else part
        optional = pattern[end : end + 1] == b"/"
        opener, start = (b"(?:.*?/)??", end + 1) if optional else (b".*?", end)
    part = _join_pieces(_translate_pieces(pattern[start:], slashes=False), b"[^/]")
    return regex + opener + part


def _find_double_stars(pattern: bytes) -> list[tuple[int, int]]:
    """Find the positions of runs of two or more stars between slashes or the ends, outside brackets."""
    runs = []
    for start, token in _split_tokens(pattern):
        end = start + len(token)
        if len(token) > 1 and token.startswith(b"*") and pattern[start - 1 : start] in (b"", b"/"):
            behind = pattern[end : end + 2]
            if behind[:1] in (b"", b"/") or behind == b"\\/":
                runs.append((start, end))
    return runs


def _split_tokens(pattern: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield (start, token): bracket expressions, and texts that _TOKEN matches."""
    place = 0
    while place < len(pattern):
        token = _TOKEN.match(pattern, place)
        end = token.end() if token and token[0] != b"[" else _parse_bracket(pattern, place)[0]
        yield place, pattern[place:end]
        place = end


def _translate_pieces(pattern: bytes, slashes: bool) -> list[bytes]:
    """Translate the stretches between stars to regular expressions; `slashes` tells if wildcards match a slash."""
    pieces = [b""]
    for start, token in _split_tokens(pattern):
        head = token[:1]
        if head == b"*":
            pieces.append(b"")
        elif head == b"?":
            pieces[-1] += b"." if slashes else b"[^/]"
        elif head == b"[":
            pieces[-1] += _format_character_class(_parse_bracket(pattern, start)[1], slashes)
        elif head == b"\\":
            pieces[-1] += re.escape(token[1:]) if len(token) > 1 else _NEVER
        else:
            pieces[-1] += re.escape(token)
    return pieces


def _join_pieces(pieces: list[bytes], any_byte: bytes) -> bytes:
    """Join the stretches: each star except the last takes its shortest match and keeps it."""
    if len(pieces) == 1:
        return pieces[0]
    middle = b"".join(b"(?>" + any_byte + b"*?" + piece + b")" for piece in pieces[1:-1])
    return pieces[0] + middle + any_byte + b"*" + pieces[-1]


def _parse_bracket(pattern: bytes, start: int) -> tuple[int, frozenset[int] | None]:
    """Parse the bracket expression at `start`. Returns its end and the bytes that it matches; None if it is malformed."""
    place = start + 1
    negated = pattern[place : place + 1] in (b"!", b"^")
    place += negated
    taken: set[int] = set()
    previous, first = -1, True
    while first or pattern[place : place + 1] != b"]":
        first = False
        head = pattern[place : place + 1]
        if not head:
            return len(pattern), None
        if head == b"[" and pattern[place + 1 : place + 2] == b":":
            end = pattern.find(b"]", place + 2)
            if end < 0:
                return len(pattern), None
            if end > place + 2 and pattern[end - 1 : end] == b":":
                members = _CLASSES.get(pattern[place + 2 : end - 1].decode("latin-1"))
                if members is None:
                    return len(pattern), None
                taken.update(members.encode())
                previous, place = -1, end + 1
                continue
        ranged = head == b"-" and previous >= 0 and pattern[place + 1 : place + 2] not in (b"", b"]")
        place += ranged
        place += pattern[place : place + 1] == b"\\"
        if place >= len(pattern):
            return len(pattern), None
        value = pattern[place]
        taken.update(range(previous, value + 1) if ranged else (value,))
        previous, place = (-1 if ranged else value), place + 1
    return place + 1, frozenset(range(1, 256)) - taken if negated else frozenset(taken)


def _format_character_class(taken: frozenset[int] | None, slashes: bool) -> bytes:
    """Format a character class of these bytes as ranges; without bytes, an expression that never matches."""
    members = sorted(byte for byte in taken or () if slashes or byte != ord("/"))
    if not members:
        return _NEVER
    starts = [value for value in members if value - 1 not in members]
    ends = [value for value in members if value + 1 not in members]
    return b"[" + b"".join(b"\\x%02x-\\x%02x" % pair for pair in zip(starts, ends, strict=True)) + b"]"


PLACES = (".github/CODEOWNERS", ".gitlab/CODEOWNERS", "CODEOWNERS", "docs/CODEOWNERS")
"""Places of the CODEOWNERS file; the first that exists counts."""
_SECTION = re.compile(r"\^?\[[^\]]*\](?:\[\d+\])?\s*(.*)")
_PATTERN = re.compile(r"((?:\\.|[^\s\\])+)\s*(.*)")


class Ownership(NamedTuple):
    owners: tuple[str, ...]
    line: int


@dataclass(frozen=True, slots=True)
class _OwnersLine:
    rule: Rule
    matches: Callable[[bytes], object]
    owners: tuple[str, ...]
    direct: bool  # Ends in a single star, which does not match files in sub-folders

    def applies_to(self, path: bytes) -> bool:
        """True if the pattern matches the file or, usually, a folder above it."""
        parts = path.split(b"/")
        for length in range(len(parts), 0, -1):
            is_folder = length < len(parts)
            if is_folder and self.direct:
                return False
            if self.rule.folders_only and not is_folder:
                continue
            if self.matches(parts[length - 1] if self.rule.by_name else b"/".join(parts[:length])):
                return True
        return False


class Owners:
    """The lines of a CODEOWNERS file. The last match decides; lines without owners have those of their section, as in GitLab."""

    def __init__(self, text: str) -> None:
        self._lines: list[_OwnersLine] = []
        inherited: tuple[str, ...] = ()
        for number, raw in enumerate(text.removeprefix("\ufeff").splitlines(), start=1):
            code = re.sub(r"(?:^|\s)#.*", "", raw).strip()
            if section := _SECTION.fullmatch(code):
                inherited = tuple(section[1].split())
            elif (line := _PATTERN.fullmatch(code)) and not code.startswith("!"):
                rule = read_rule(line[1].replace("\\#", "#").encode("utf-8", "surrogateescape"), number)
                if rule:
                    matches, owners = re.compile(rule.regex, re.DOTALL).fullmatch, tuple(line[2].split()) or inherited
                    self._lines.append(_OwnersLine(rule, matches, owners, direct=line[1].endswith("/*")))

    def find_owners(self, path: str) -> Ownership | None:
        """Find the owners of a file; None if no line matches, or if the last match names nobody."""
        raw = path.encode("utf-8", "surrogateescape")
        for line in reversed(self._lines):
            if line.applies_to(raw):
                return Ownership(line.owners, line.rule.line) if line.owners else None
        return None
