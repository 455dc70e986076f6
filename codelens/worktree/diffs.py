"""Parses unified diffs: git's format, and the plain one of `diff -u`. Text around a diff, such as a mail, is skipped.

Text stays bytes, since a diff can hold files of any encoding. Hunks are read by the counts in their headers, so a removed line
that looks like a header stays a removed line.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from codelens.model.fast_dataclass import dataclass

NOTHING = b"/dev/null"
_HUNK = re.compile(rb"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_ESCAPE = re.compile(rb'\\([abtnvfr"\\]|[0-3][0-7]{2})')
_ESCAPED = dict(zip(b'abtnvfr"\\', b'\a\b\t\n\v\f\r"\\', strict=True))
_PREFIX = re.compile(rb"[abciow]/")  # git's prefixes, including those of diff.mnemonicPrefix


@dataclass(frozen=True, slots=True)
class Hunk:
    """A changed place of a file. Lines count from 1; a side without lines names the line above."""

    old_start: int
    new_start: int
    lines: tuple[tuple[str, bytes], ...]  # (' ', '-' or '+', text without its line end)

    @property
    def old(self) -> list[bytes]:
        return [text for mark, text in self.lines if mark != "+"]

    @property
    def new(self) -> list[bytes]:
        return [text for mark, text in self.lines if mark != "-"]


@dataclass(frozen=True, slots=True)
class FileChange:
    """The changes of one file. A path is None if the file does not exist on that side."""

    old: bytes | None
    new: bytes | None
    hunks: tuple[Hunk, ...]
    binary: bool = False

    @property
    def paths(self) -> tuple[bytes, ...]:
        """The new path, then the old one if it differs."""
        return tuple(dict.fromkeys(path for path in (self.new, self.old) if path is not None))


def read_diff(raw: bytes) -> list[FileChange]:
    """Read the files of a diff, in order, except formats like that of a merge. Never raises, whatever the bytes. A file begins
    with `diff --git`, or else with `---` before `+++`; never inside a hunk."""
    lines = raw.split(b"\n")
    files: list[tuple[list[bytes], list[Hunk]]] = []  # (lines before the first hunk, hunks) of each file
    in_header = False
    place = 0
    while place < len(lines):
        line = lines[place]
        is_git = line.startswith(b"diff --")
        is_pair = line.startswith(b"--- ") and place + 1 < len(lines) and lines[place + 1].startswith(b"+++ ")
        if is_git or (is_pair and not in_header):
            files.append(([], []))
        in_header = is_git or (in_header and not is_pair)
        header, hunks = files[-1] if files else ([], [])
        if not is_git and not is_pair and (head := _HUNK.match(line)):
            hunk, count = _read_hunk(head, lines, place)
            hunks.append(hunk)
            place += count
            in_header = False
        elif not hunks:
            header.append(line)
        place += 1
    changes = []
    for header, hunks in files:
        old, new, is_binary = _read_header(header)
        if old is not None or new is not None:
            changes.append(FileChange(old, new, tuple(hunks), is_binary and not hunks))
    return changes


def _read_hunk(head: re.Match[bytes], file: Sequence[bytes], place: int) -> tuple[Hunk, int]:
    """Read the hunk whose header is at `place`, as far as it goes. Returns it and the number of lines below its header."""
    old_start, new_start = int(head[1]), int(head[3])
    old, new = (int(count) if count is not None else 1 for count in (head[2], head[4]))
    lines: list[tuple[str, bytes]] = []
    taken = 0
    for line in map(file.__getitem__, range(place + 1, len(file))):  # a slice would copy the rest for each hunk
        if not (old > 0 or new > 0 or line.startswith(b"\\")):
            break
        mark = chr(line[0]) if line.rstrip(b"\r") else " "  # mail programs strip the space of an empty line
        if mark not in " -+\\":
            break
        taken += 1
        if mark != "\\":
            lines.append((mark, line[1:].removesuffix(b"\r")))
            old -= mark != "+"
            new -= mark != "-"
    return Hunk(old_start, new_start, tuple(lines)), taken


def _read_header(lines: Sequence[bytes]) -> tuple[bytes | None, bytes | None, bool]:
    """Read (old path, new path, is binary) from a rename, from `---` and `+++`, or else from the first line."""
    fields: dict[bytes, bytes] = {}
    binary = False
    for line in lines:
        line = line.removesuffix(b"\r")
        for key in (b"--- ", b"+++ ", b"rename from ", b"rename to ", b"copy from ", b"copy to "):
            if line.startswith(key):
                fields.setdefault(key, line[len(key) :])
        fields |= {line[:4]: line for mode in (b"new file mode", b"deleted file mode") if line.startswith(mode)}
        binary |= line.startswith((b"Binary files ", b"GIT binary patch"))
    old, new = (fields.get(b"rename " + side, fields.get(b"copy " + side)) for side in (b"from ", b"to "))
    if old is not None and new is not None:
        return _unquote_path(old), _unquote_path(new), binary
    if b"--- " in fields and b"+++ " in fields:
        before, after = _parse_path(fields[b"--- "]), _parse_path(fields[b"+++ "])
    else:
        before, after = _parse_first_line(lines[0].removesuffix(b"\r"))
        before, after = (None if b"new " in fields else before), (None if b"dele" in fields else after)
    # git's prefixes: both have them or neither.
    if all(path is None or _PREFIX.match(path) for path in (before, after)):
        before, after = (path and path[2:] for path in (before, after))
    return before, after, binary


def _parse_path(written: bytes) -> bytes | None:
    """Parse the path of a `---` or `+++` line; None for no file. A tab ends it, before a time or after a path with spaces."""
    if written.startswith(b'"'):
        return _unquote_path(written)
    path = written.partition(b"\t")[0]
    return None if path == NOTHING or not path else path


def _parse_first_line(line: bytes) -> tuple[bytes | None, bytes | None]:
    """Parse both paths of `diff --git a/x b/x`; if no other line names them, they differ only in their prefixes."""
    if not line.startswith(b"diff --git "):
        return None, None
    rest = line.removeprefix(b"diff --git ")
    if rest.startswith(b'"'):
        end = re.match(rb'"(?:\\.|[^"\\])*"', rest)
        return (_unquote_path(end[0]), _unquote_path(rest[end.end() + 1 :])) if end else (None, None)
    middle = len(rest) // 2
    return (rest[:middle], rest[middle + 1 :]) if rest[middle : middle + 1] == b" " else (None, None)


def _unquote_path(written: bytes) -> bytes:
    """Undo git's quoting of a path, which uses double quotes and C escapes for unusual bytes."""
    quoted = re.match(rb'"((?:\\.|[^"\\])*)"', written)
    if not quoted:
        return written
    return _ESCAPE.sub(lambda code: bytes([_ESCAPED.get(code[1][0]) or int(code[1], 8)]), quoted[1])
