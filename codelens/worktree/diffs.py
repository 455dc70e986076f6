"""A unified diff → the files that it changes, with its hunks: git's format, and the plain one of `diff -u`.

Text stays bytes: a diff holds files of any encoding. Hunks are read by the numbers in their heads, so that a removed
line that looks like a header is a removed line. What is no part of a diff (a mail around it) is passed over.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from codelens.nouns import dataclass

NOTHING = b"/dev/null"
_HUNK = re.compile(rb"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_ESCAPE = re.compile(rb'\\([abtnvfr"\\]|[0-3][0-7]{2})')
_ESCAPED = {b"a": b"\a", b"b": b"\b", b"t": b"\t", b"n": b"\n", b"v": b"\v", b"f": b"\f", b"r": b"\r"}
_PREFIX = re.compile(rb"[abciow]/")
"""git's, also with diff.mnemonicPrefix."""


@dataclass(frozen=True, slots=True)
class Hunk:
    """One place of a file. Lines count from 1; a side without lines names the line above."""

    old_start: int
    new_start: int
    lines: tuple[tuple[str, bytes], ...]
    """(' ', '-' or '+', text without its line end)."""

    @property
    def old(self) -> list[bytes]:
        """Its lines before the change."""
        return [text for mark, text in self.lines if mark != "+"]

    @property
    def new(self) -> list[bytes]:
        """Its lines after the change."""
        return [text for mark, text in self.lines if mark != "-"]


@dataclass(frozen=True, slots=True)
class FileChange:
    """One file of a diff. A path is None where the file is not there; `prefixed` paths begin with git's a/ and b/."""

    old: bytes | None
    new: bytes | None
    hunks: tuple[Hunk, ...]
    binary: bool = False

    @property
    def paths(self) -> tuple[bytes, ...]:
        """The new path, then the old one where it is another."""
        return tuple(dict.fromkeys(path for path in (self.new, self.old) if path is not None))


def read_diff(raw: bytes) -> list[FileChange]:
    """The files of a diff in its order; none where it holds none. Whatever the bytes, nothing is raised."""
    lines = raw.split(b"\n")
    starts = _starts(lines)
    files = pairwise([*starts, len(lines)])
    return [change for start, end in files if (change := _file(lines[start:end])) is not None]


def _starts(lines: Sequence[bytes]) -> list[int]:
    """Where files begin: at `diff --git`, else at `---` before `+++`; never within a hunk."""
    starts: list[int] = []
    in_header = False
    place = 0
    while place < len(lines):
        line = lines[place]
        if line.startswith(b"diff --"):
            starts.append(place)
            in_header = True
        elif line.startswith(b"--- ") and place + 1 < len(lines) and lines[place + 1].startswith(b"+++ "):
            if not in_header:
                starts.append(place)
            in_header = False
        elif head := _HUNK.match(line):
            place += _hunk(head, lines, place)[1]
            in_header = False
        place += 1
    return starts


def _hunk(head: re.Match[bytes], file: Sequence[bytes], place: int) -> tuple[Hunk, int]:
    """(the hunk whose head is at `place`, how many lines it takes below). One that ends early is taken as far as it goes."""
    old_start, new_start = int(head[1]), int(head[3])
    old, new = (int(count) if count is not None else 1 for count in (head[2], head[4]))
    lines: list[tuple[str, bytes]] = []
    taken = 0
    for line in map(file.__getitem__, range(place + 1, len(file))):  # no slice, which would copy the rest at each hunk
        if not (old > 0 or new > 0 or line.startswith(b"\\")):
            break
        mark = chr(line[0]) if line.rstrip(b"\r") else " "  # mailers strip the space of an empty line
        if mark not in " -+\\":
            break
        taken += 1
        if mark != "\\":
            lines.append((mark, line[1:].removesuffix(b"\r")))
            old -= mark != "+"
            new -= mark != "-"
    return Hunk(old_start, new_start, tuple(lines)), taken


def _file(lines: Sequence[bytes]) -> FileChange | None:
    """One file from its first line on; None for what says nothing of a file that can be read (a merge's own format)."""
    old, new, binary = _header(lines)
    hunks = tuple(_hunks(lines))
    if old is None and new is None:
        return None
    return FileChange(old, new, hunks, binary and not hunks)


def _hunks(lines: Sequence[bytes]) -> Iterator[Hunk]:
    place = 0
    while place < len(lines):
        if head := _HUNK.match(lines[place]):
            hunk, taken = _hunk(head, lines, place)
            yield hunk
            place += taken
        place += 1


def _header(lines: Sequence[bytes]) -> tuple[bytes | None, bytes | None, bool]:
    """(old path, new path, whether it is called binary): of a rename, of `---` and `+++`, else of the first line."""
    said: dict[bytes, bytes] = {}
    binary = False
    for line in lines:
        line = line.removesuffix(b"\r")
        if _HUNK.match(line):
            break
        for key in (b"--- ", b"+++ ", b"rename from ", b"rename to ", b"copy from ", b"copy to "):
            if line.startswith(key):
                said.setdefault(key, line[len(key) :])
        said |= {line[:4]: line for mode in (b"new file mode", b"deleted file mode") if line.startswith(mode)}
        binary |= line.startswith((b"Binary files ", b"GIT binary patch"))
    old, new = said.get(b"rename from ", said.get(b"copy from ")), said.get(b"rename to ", said.get(b"copy to "))
    if old is not None and new is not None:
        return _unquoted(old), _unquoted(new), binary
    if b"--- " in said and b"+++ " in said:
        before, after = _path(said[b"--- "]), _path(said[b"+++ "])
    else:
        before, after = _of_first_line(lines[0].removesuffix(b"\r"))
        before, after = (None if b"new " in said else before), (None if b"dele" in said else after)
    return *_without_prefix(before, after), binary


def _path(written: bytes) -> bytes | None:
    """The path of a `---` or `+++` line; None for no file. A tab ends it (a time follows, or it holds a space)."""
    if written.startswith(b'"'):
        return _unquoted(written)
    path = written.partition(b"\t")[0]
    return None if path == NOTHING or not path else path


def _of_first_line(line: bytes) -> tuple[bytes | None, bytes | None]:
    """The two paths of `diff --git a/x b/x`, which are equal but for their prefixes where no other line names them."""
    if not line.startswith(b"diff --git "):
        return None, None
    rest = line.removeprefix(b"diff --git ")
    if rest.startswith(b'"'):
        end = re.match(rb'"(?:\\.|[^"\\])*"', rest)
        return (_unquoted(end[0]), _unquoted(rest[end.end() + 1 :])) if end else (None, None)
    middle = len(rest) // 2
    return (rest[:middle], rest[middle + 1 :]) if rest[middle : middle + 1] == b" " else (None, None)


def _without_prefix(old: bytes | None, new: bytes | None) -> tuple[bytes | None, bytes | None]:
    """git's prefixes stand before both paths or before none."""
    if all(path is None or _PREFIX.match(path) for path in (old, new)):
        return (old[2:] if old is not None else None), (new[2:] if new is not None else None)
    return old, new


def _unquoted(written: bytes) -> bytes:
    """A path as git quotes it: in double quotes with C's escapes where it holds odd bytes."""
    quoted = re.match(rb'"((?:\\.|[^"\\])*)"', written)
    return _ESCAPE.sub(_unescaped, quoted[1]) if quoted else written


def _unescaped(found: re.Match[bytes]) -> bytes:
    return _ESCAPED.get(found[1], bytes([int(found[1], 8)]) if found[1].isdigit() else found[1])
