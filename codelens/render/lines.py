"""Matching lines → text: for a pipe as grep and ripgrep write them, for a terminal a heading a file, and lists of files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from codelens.model.search import FileLines, MatchedLine
from codelens.render.paths import PathStyle
from codelens.text.lines import column_utf8

PATH, PLACE, MATCH = "35", "32", "1;31"  # SGR codes, as grep and ripgrep colour these parts


class LineView(NamedTuple):
    """How to show lines."""

    paths: PathStyle
    null: bool = False  # A NUL byte after each path
    names: bool = True  # The path before each line
    numbers: bool = True
    columns: bool = True
    only_matching: bool = False
    inverted: bool = False
    context: bool = False
    color: bool = False
    longest: int = 0  # Bytes of a line (-o: of a match) above which its place says that it was left out; 0 for no limit

    def path(self, file: FileLines) -> str:
        """The path of a file, quoted unless a NUL byte follows."""
        return (self.paths.raw() if self.null else self.paths).of(file.root, file.os_path)


def paths_of_files(files: Iterable[FileLines], view: LineView) -> Iterator[str]:
    """-l, -L: a path a line, or before a NUL byte."""
    return (view.path(file) + ("\0" if view.null else "\n") for file in files)


def counts_of_files(files: Iterable[FileLines], view: LineView) -> Iterator[str]:
    """-c: path:lines that match; with -o path:matches."""
    for file in files:
        counted = (line for line in file.lines if line.matched)
        count = sum(len(line.ranges) if view.only_matching else 1 for line in counted)
        if count:
            yield f"{_prefix(file, view, ':')}{count}\n"


def plain_lines(files: Iterable[FileLines], view: LineView) -> Iterator[str]:
    """path:line:column:text, of context path-line-text; `--` between runs of lines that do not touch, where there is context.

    The text is the file's own, so that programs get what grep would give them.
    """
    begun = False
    for file in files:
        last = 0
        for line in file.lines:
            if view.context and begun and (not last or line.number > last + 1):
                yield "--\n"
            begun, last = True, line.number
            for column, text in _shown(line, view):
                mark = ":" if line.matched else "-"
                place = colored(PLACE, str(line.number), view.color) + mark if view.numbers else ""
                place += f"{colored(PLACE, str(column), view.color)}{mark}" if column and view.columns else ""
                yield f"{_prefix(file, view, mark)}{place}{text}\n"


def vimgrep_lines(files: Iterable[FileLines], view: LineView) -> Iterator[str]:
    """path:line:column:text for each match, several on a line too: what `:cexpr` reads."""
    for file in files:
        for line in file.lines:
            for start, _ in line.ranges or ((0, 0),) if line.matched else ():
                column = column_utf8(line.text, start)
                yield f"{_prefix(file, view, ':')}{line.number}:{column}:{line.text}\n"


def _prefix(file: FileLines, view: LineView, mark: str) -> str:
    return colored(PATH, view.path(file), view.color) + ("\0" if view.null else mark) if view.names else ""


def _shown(line: MatchedLine, view: LineView) -> Iterator[tuple[int, str]]:
    """Pairs (column, 0 for context; text) of a line: one, or with -o one for each match."""
    text = line.text
    if view.only_matching and line.matched and not view.inverted:
        for start, end in line.ranges:
            part = text[start:end]
            yield column_utf8(text, start), part if fits(part, view.longest, 0) else OMITTED.format("matching")
        return
    column = column_utf8(text, line.ranges[0][0] if line.ranges else 0) if line.matched else 0
    if not fits(text, view.longest):
        yield column, OMITTED.format("matching" if line.matched else "context")
        return
    yield column, _marked(line) if view.color and line.ranges else text


OMITTED = "[Omitted long {} line]"  # The words of ripgrep in place of a line that is longer than -M


def fits(text: str, longest: int, ending: int = 1) -> bool:
    """True if a line is not longer than -M, in bytes; like ripgrep it counts the line break too."""
    return not longest or len(text.encode("utf-8", "surrogateescape")) + ending <= longest


def _marked(line: MatchedLine) -> str:
    """The text with its matches in colour."""
    parts, at = [], 0
    for start, end in line.ranges:
        parts += [line.text[at:start], colored(MATCH, line.text[start:end], True)]
        at = end
    return "".join([*parts, line.text[at:]])


def colored(code: str, text: str, color: bool) -> str:
    """The text between an SGR code and its end."""
    return f"\x1b[{code}m{text}\x1b[0m" if color and text else text
