"""Writes matching lines as grep and ripgrep do, and lists and counts of files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from codelens.model.search import FileLines, MatchedLine
from codelens.render.paths import PathStyle
from codelens.text.lines import count_utf8_column

PATH, PLACE, MATCH = "35", "32", "1;31"  # SGR codes, as grep and ripgrep colour these parts


class OutputOptions(NamedTuple):
    """How hits and lines are written, from the flags that grep and ripgrep also have, and from the terminal."""

    paths: PathStyle
    template: str = ""  # For `--format`
    null: bool = False  # A NUL byte after each path instead of a colon or a line break
    names: bool = True  # Write the path before each line
    line_numbers: bool = True
    columns: bool = True
    longest: int = 0  # Bytes of a line (-o: of a match) above which its text is left out; 0 for no limit
    context: bool = False
    only_matching: bool = False
    inverted: bool = False
    color: bool = False
    hyperlinks: str = ""  # A key of `terminal.LINKS`, or a URL with {path}, {line}, {column}, {host}; or empty
    width: int = 0  # Width of the terminal in cells, to which long lines are cut; 0 to show them whole

    @property
    def path_style(self) -> PathStyle:
        """The style of paths, without quotes if a NUL byte follows each path."""
        return self.paths.drop_quotes() if self.null else self.paths

    def format_file_path(self, file: FileLines) -> str:
        return self.path_style.format_path(file.root, file.os_path)


def format_paths(files: Iterable[FileLines], output: OutputOptions) -> Iterator[str]:
    """Write each path on a line, or followed by a NUL byte (-l, -L)."""
    return (output.format_file_path(file) + ("\0" if output.null else "\n") for file in files)


def format_counts(files: Iterable[FileLines], output: OutputOptions) -> Iterator[str]:
    """Write path:count for each file (-c): the number of matching lines, or with -o of matches."""
    for file in files:
        counted = (line for line in file.lines if line.matched)
        count = sum(len(line.ranges) if output.only_matching else 1 for line in counted)
        if count:
            yield f"{_format_prefix(file, output, ':')}{count}\n"


def format_lines(files: Iterable[FileLines], output: OutputOptions) -> Iterator[str]:
    """Write path:line:column:text; with context also path-line-text, and `--` between groups of lines that are not adjacent.

    The text is not escaped, so that programs get what grep would give them.
    """
    begun = False
    for file in files:
        last = 0
        for line in file.lines:
            if output.context and begun and (not last or line.number > last + 1):
                yield "--\n"
            begun, last = True, line.number
            for column, text in _split_visible_parts(line, output):
                mark = ":" if line.matched else "-"
                place = color_text(PLACE, str(line.number), output.color) + mark if output.line_numbers else ""
                place += f"{color_text(PLACE, str(column), output.color)}{mark}" if column and output.columns else ""
                yield f"{_format_prefix(file, output, mark)}{place}{text}\n"


def format_vimgrep(files: Iterable[FileLines], output: OutputOptions) -> Iterator[str]:
    """Write path:line:column:text for each match, also for several on a line: the form that Vim's `:cexpr` reads."""
    for file in files:
        for line in file.lines:
            for start, _ in line.ranges or ((0, 0),) if line.matched else ():
                column = count_utf8_column(line.text, start)
                yield f"{_format_prefix(file, output, ':')}{line.number}:{column}:{line.text}\n"


def _format_prefix(file: FileLines, output: OutputOptions, mark: str) -> str:
    if not output.names:
        return ""
    return color_text(PATH, output.format_file_path(file), output.color) + ("\0" if output.null else mark)


def _split_visible_parts(line: MatchedLine, output: OutputOptions) -> Iterator[tuple[int, str]]:
    """Split a line into (column, text) pairs: one pair, or with -o one for each match. The column of context lines is 0."""
    text = line.text
    if output.only_matching and line.matched and not output.inverted:
        for start, end in line.ranges:
            fits = is_short_enough(text[start:end], output.longest, 0)
            yield count_utf8_column(text, start), text[start:end] if fits else OMITTED.format("matching")
        return
    column = count_utf8_column(text, line.ranges[0][0] if line.ranges else 0) if line.matched else 0
    if not is_short_enough(text, output.longest):
        yield column, OMITTED.format("matching" if line.matched else "context")
        return
    yield column, color_ranges(text, line.ranges) if output.color else text


OMITTED = "[Omitted long {} line]"  # Replaces a line that is longer than -M, in ripgrep's words


def is_short_enough(text: str, longest: int, ending: int = 1) -> bool:
    """True if a line is at most `longest` bytes long (-M). Like ripgrep, it counts the line break too."""
    return not longest or len(text.encode("utf-8", "surrogateescape")) + ending <= longest


def color_ranges(text: str, ranges: Iterable[tuple[int, int]]) -> str:
    """Color ranges of a text. They must be in the order of their starts, and may overlap."""
    parts, at = [], 0
    for start, end in ranges:
        start = max(start, at)
        parts += [text[at:start], color_text(MATCH, text[start:end], True)]
        at = max(at, end)
    return "".join([*parts, text[at:]])


def color_text(code: str, text: str, color: bool) -> str:
    """Put a text between an SGR code and its reset, if `color` is set."""
    return f"\x1b[{code}m{text}\x1b[0m" if color and text else text
