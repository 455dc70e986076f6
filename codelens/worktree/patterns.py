"""One line of an ignore file → a Rule: git's wildmatch as a regular expression over bytes.

Not pathspec: it differs from git on character classes, trailing tabs, '?' against bytes, 'foo**/bar' and trailing
backslashes. A '*' is matched from its leftmost fit and never retried (atomic groups), so that no pattern, however
hostile, takes more than polynomial time of small degree.
"""

from __future__ import annotations

import re
import string

from codelens.nouns import dataclass

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
    """A pattern as git reads it. `regex` must match all of the name, or of the path below the ignore file's folder."""

    text: bytes
    line: int
    again: bool
    """Begins with '!': what matches is included again."""
    folders_only: bool
    by_name: bool
    """Holds no slash, so it is compared with the last part of a path at any depth."""
    plain: bytes
    """What the text must equal where the pattern has no wildcard, else empty."""
    ending: bytes
    """What a name must end with where the pattern is a star and plain text, else empty."""
    regex: bytes


def read_rule(raw: bytes, line: int) -> Rule | None:
    """The rule on one line (without its newline); None for a blank line, a comment or an empty pattern."""
    raw = raw.partition(b"\0")[0].removesuffix(b"\r")
    if not raw or raw.startswith(b"#"):
        return None
    pattern = text = _without_trailing_spaces(raw)
    again = pattern.startswith(b"!")
    pattern = pattern[1:] if again else pattern
    folders_only = pattern.endswith(b"/")
    pattern = pattern[:-1] if folders_only else pattern
    if not pattern:
        return None
    by_name = b"/" not in pattern
    regex = name_regex(pattern) if by_name else path_regex(pattern)
    plain = b"" if _WILD.search(pattern) else pattern.removeprefix(b"/")
    ending = pattern[1:] if by_name and pattern[:1] == b"*" and not _WILD.search(pattern, 1) else b""
    return Rule(text, line, again, folders_only, by_name, plain, ending, regex)


def _without_trailing_spaces(raw: bytes) -> bytes:
    """Spaces at the end go, unless a backslash protects the first of them."""
    body = re.match(rb"(?:\\.|[^\\ ]| +(?=[^ ])|\\$)*", raw, re.DOTALL)
    return raw[: body.end()] if body else raw


def name_regex(pattern: bytes) -> bytes:
    """Regular expression for a pattern without a slash, to match a whole file name."""
    return _stars(_pieces(pattern, slashes=True), b".")


def path_regex(pattern: bytes) -> bytes:
    """Regular expression for a pattern with a slash, to match a whole path below the ignore file's folder.

    git compares the part before the first wildcard literally and the rest as a pattern of its own; hence a '**' right
    behind literal text counts as the beginning ('foo**/bar' matches 'foo/x/bar').
    """
    pattern = pattern.removeprefix(b"/")
    found = _PLAIN.match(pattern)
    plain = found.end() if found else 0
    return re.escape(pattern[:plain]) + _double_stars(pattern[plain:])


def _double_stars(pattern: bytes) -> bytes:
    """Cuts at each '**' that fills a whole path part. All stretches but the last may keep to where they first fit."""
    regex, start, opener = b"", 0, b""
    for found in _whole_double_stars(pattern):
        begin, end = found
        part = _stars(_pieces(pattern[start:begin], slashes=False), b"[^/]")
        regex += b"(?>" + opener + part + b")" if opener else part
        optional = pattern[end : end + 1] == b"/"
        opener, start = (b"(?:.*?/)??", end + 1) if optional else (b".*?", end)
    part = _stars(_pieces(pattern[start:], slashes=False), b"[^/]")
    return regex + opener + part


def _whole_double_stars(pattern: bytes) -> list[tuple[int, int]]:
    """Where a run of two or more stars stands between slashes (or the ends), outside brackets."""
    runs, place = [], 0
    while place < len(pattern):
        token = _token(pattern, place)
        end = place + len(token)
        if len(token) > 1 and token.startswith(b"*"):
            behind = pattern[end : end + 2]
            if (place == 0 or pattern[place - 1 : place] == b"/") and (behind[:1] in (b"", b"/") or behind == b"\\/"):
                runs.append((place, end))
        place = end
    return runs


def _token(pattern: bytes, place: int) -> bytes:
    if pattern[place : place + 1] == b"[":
        end, _ = _bracket(pattern, place)
        return pattern[place:end]
    found = _TOKEN.match(pattern, place)
    return found[0] if found else b""


def _pieces(pattern: bytes, slashes: bool) -> list[bytes]:
    """Regular expressions of the stretches between stars; `slashes` says whether wildcards match a slash."""
    pieces, place = [b""], 0
    while place < len(pattern):
        token = _token(pattern, place)
        head = token[:1]
        if head == b"*":
            pieces.append(b"")
        elif head == b"?":
            pieces[-1] += b"." if slashes else b"[^/]"
        elif head == b"[":
            pieces[-1] += _one_of(_bracket(pattern, place)[1], slashes)
        elif head == b"\\":
            pieces[-1] += re.escape(token[1:]) if len(token) > 1 else _NEVER
        else:
            pieces[-1] += re.escape(token)
        place += len(token)
    return pieces


def _stars(pieces: list[bytes], any_byte: bytes) -> bytes:
    """Joins the stretches: each star but the last takes the shortest fit and keeps it."""
    if len(pieces) == 1:
        return pieces[0]
    middle = b"".join(b"(?>" + any_byte + b"*?" + piece + b")" for piece in pieces[1:-1])
    return pieces[0] + middle + any_byte + b"*" + pieces[-1]


def _bracket(pattern: bytes, start: int) -> tuple[int, frozenset[int] | None]:
    """Where the bracket expression that opens at `start` ends, and the bytes that it takes; None if it is malformed."""
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


def _one_of(taken: frozenset[int] | None, slashes: bool) -> bytes:
    """A character class of these bytes, written as ranges; what can never match where there are none."""
    members = sorted(taken or ()) if slashes else sorted((taken or frozenset()) - {ord("/")})
    if not members:
        return _NEVER
    starts = [value for value in members if value - 1 not in members]
    ends = [value for value in members if value + 1 not in members]
    return b"[" + b"".join(b"\\x%02x-\\x%02x" % pair for pair in zip(starts, ends, strict=True)) + b"]"
