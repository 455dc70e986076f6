"""Writes a search result for a terminal: hits by rank, each with its strongest reason and a snippet.

Successive hits in one file share the heading of the file.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from io import StringIO
from itertools import groupby
from pathlib import Path
from socket import gethostname
from textwrap import wrap
from typing import Any, NamedTuple
from urllib.parse import quote

from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.style import Style
from rich.table import Table
from rich.text import Text

from codelens.errors import UsageError
from codelens.model.code import MAX_SIGNATURE, Freshness
from codelens.model.search import WEAK, FileLines, Hit, SearchResult, SnippetLine
from codelens.render.lines import OMITTED, OutputOptions, is_short_enough
from codelens.render.paths import restore_path
from codelens.render.visible import escape_text
from codelens.render.why import find_first_reason
from codelens.text.lines import count_utf8_column

MATCH = Style(bold=True, color="red")
LEXERS = {"csharp": "c#", "text": ""}
"""Our name of a language → Pygments' name, if they differ; an empty name means no highlighting."""


def render_snippet_line(line: SnippetLine, language: str, color: bool) -> Text:
    """Render a line without its line break, highlighted if Pygments knows the language."""
    raw = line.text.rstrip("\r\n")
    plain = escape_text(raw)
    text = Text(plain)
    if color and (lexer := LEXERS.get(language, language)):
        from rich.syntax import Syntax

        highlighted = Syntax("", lexer, theme="ansi_dark", background_color="default").highlight(plain)
        highlighted.rstrip()
        if highlighted.plain == plain.rstrip() and not plain.startswith("\n"):
            text = highlighted
    for start, end in shift_ranges(raw, line.matches):
        text.stylize(MATCH, start, end)
    return text


def shift_ranges(raw: str, matches: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Convert ranges of a raw text to ranges of its escaped text (`escape_text`)."""
    return [(len(escape_text(raw[:start])), len(escape_text(raw[:end]))) for start, end in matches]


HEADING = Style(color="magenta", bold=True)
DIM = Style(dim=True)
LINKS = {
    "none": "",
    "default": "file://{host}{path}",
    "file": "file://{host}{path}",
    "vscode": "vscode://file{path}:{line}:{column}",
}


def render_terminal(result: SearchResult, output: OutputOptions) -> Iterator[str]:
    """Write a text for each heading with its hits; the last line tells how many more there are. A weak answer is dim."""
    console = make_console(output.color)
    template = resolve_link_template(output.hyperlinks)
    for notice in result.notices:
        if notice.code == WEAK:
            yield render_texts(console, [Text(f"weak: {escape_text(notice.text)}"), Text("")])
    for i, (_, group) in enumerate(groupby(result.hits, key=lambda hit: (hit.root, hit.unit.path))):
        hits = list(group)
        lines = [Text("")] if i else []
        first = hits[0]
        url = fill_link(template, Path(first.root, restore_path(first)), first.line, first.column)
        lines.append(_render_heading(output.paths.format_hit_path(first), first.freshness, url, output))
        for hit in hits:
            lines += _render_hit(hit, output)
        for line in lines if result.weak else []:
            line.stylize(DIM)
        yield render_texts(console, lines)
    count = len(result.hits)
    if count < result.total:
        yield render_texts(console, [Text(f"\n{count} of {result.total}; -m N shows more", DIM)])


def make_console(color: bool) -> Console:
    """Make a console that writes to memory, with the colours of stdout, or 16 colours if stdout is not a terminal."""
    system = Console(file=sys.stdout, force_terminal=True)._color_system if color and sys.stdout.isatty() else None
    name = {1: "standard", 2: "256", 3: "truecolor"}.get(int(system or 1), "standard")
    plain: dict[str, Any] = dict.fromkeys(("legacy_windows", "emoji", "markup", "highlight"), False)
    colors: dict[str, Any] = {"no_color": not color, "color_system": name if color else None}
    return Console(file=StringIO(), force_terminal=color, width=10_000, **plain, **colors)


def render_texts(console: Console, lines: list[Text]) -> str:
    """Render lines as the console prints them, with control sequences and line breaks."""
    with console.capture() as capture:
        for line in lines:
            console.print(line, soft_wrap=True)
    return capture.get()


def render_matched_lines(files: Iterable[FileLines], output: OutputOptions) -> Iterator[str]:
    """Write matching lines below the heading of their file."""
    console = make_console(output.color)
    template = resolve_link_template(output.hyperlinks)
    for i, file in enumerate(files):
        path = Path(file.root, file.os_path)
        heading = None
        before = 0
        for line in file.lines:
            if heading is None:
                column = count_utf8_column(line.text, line.ranges[0][0] if line.ranges else 0)
                url = fill_link(template, path, line.number, column)
                heading = _render_heading(output.format_file_path(file), file.freshness, url, output)
                yield render_texts(console, [Text(""), heading] if i else [heading])
            if output.context and before and line.number > before + 1:
                yield render_texts(console, [Text("     ⋮", DIM)])
            before = line.number
            if not is_short_enough(line.text, output.longest):
                line = line._replace(text=OMITTED.format("matching" if line.matched else "context"), ranges=())
            shown = SnippetLine(line.number, line.text, line.ranges)
            yield render_texts(console, [_render_numbered_line(shown, file.language, output)])


def _render_heading(path: str, freshness: Freshness, url: str, output: OutputOptions) -> Text:
    text = Text(escape_text(path), HEADING)
    if url and output.color:
        text.stylize(Style(link=url))
    if freshness is not Freshness.FRESH:
        text.append(f"  {freshness} since it was indexed", Style(color="yellow"))
    return text


def _render_hit(hit: Hit, output: OutputOptions) -> list[Text]:
    unit = hit.unit
    head = Text(f"{hit.rank:>3}. ", DIM)
    head.append(escape_text(unit.qualified_name), Style(bold=True))
    head.append(f"  {unit.kind}  {escape_text(find_first_reason(hit.contributions, hit.channels))}".rstrip(), DIM)
    lines, before = [head], None
    signature = _join_signature(hit)
    for line in hit.snippet:
        is_parameter = 0 < line.number - unit.name_line <= signature.count(",") + 1
        if signature and is_parameter and line.text.strip() in signature:
            continue  # the joined signature shows it already
        if before is not None and line.number > before + 1:
            lines.append(Text("     ⋮", DIM))
        if signature and line.number == unit.name_line:
            lines += _wrap_signature(line, signature, output, hit)
        else:
            lines.append(_render_numbered_line(line, unit.language, output))
        before = line.number
    return lines


def _join_signature(hit: Hit) -> str:
    """Join a signature of several lines into one; empty if it ends on the line with the name."""
    first = next((line.text.strip() for line in hit.snippet if line.number == hit.unit.name_line), "")
    whole = re.sub(r"(?<=[(\[]) | (?=[)\]])", "", hit.unit.signature)
    return whole if first.endswith(("(", ",", "[")) and whole.startswith(first) else ""


def _wrap_signature(line: SnippetLine, signature: str, output: OutputOptions, hit: Hit) -> Iterator[Text]:
    """Wrap a joined signature into as few lines as possible; only the first has a line number."""
    margin = " " * (len(line.text) - len(line.text.lstrip()))
    width = max(LEAST_WIDTH, (output.width or WIDE) - len(margin) - 12)
    first, *others = wrap(signature + " …" * (len(hit.unit.signature) >= MAX_SIGNATURE - 5), width)
    yield _render_numbered_line(SnippetLine(line.number, margin + first, line.matches), hit.unit.language, output)
    gutter = 8 if output.line_numbers else 5
    for text in others:
        row = _render_numbered_line(SnippetLine(line.number, f"{margin}    {text}", ()), hit.unit.language, output)
        yield Text(" " * gutter) + row[gutter:]


def _render_numbered_line(line: SnippetLine, language: str, output: OutputOptions) -> Text:
    number = Text(f"{line.number:>6}  " if output.line_numbers else "     ", Style(color="green"))
    fitted = fit_line(line, output.width - len(number)) if output.width else line
    return number + render_snippet_line(fitted, language, output.color)


WIDE = 120  # Cells of a line if the terminal's width is not known
LEAST_WIDTH = 20  # Cells of a line that are shown even if the terminal is narrower


def fit_line(line: SnippetLine, width: int) -> SnippetLine:
    """Cut a line that is wider than the terminal, around its first match, with an ellipsis where text is left out."""
    raw, width = line.text.rstrip("\r\n"), max(width, LEAST_WIDTH)
    cells = cell_len(raw.expandtabs(8))
    if cells <= width:
        return line
    room = max(LEAST_WIDTH, width * len(raw) // cells) - 2  # for two ellipses; wide characters take two cells
    first, last = line.matches[0] if line.matches else (0, 0)
    begin = 0 if last <= room else max(0, min(first - (room - (last - first)) // 2, first, len(raw) - room))
    end = min(len(raw), begin + room)
    before, after = "…" if begin else "", "…" if end < len(raw) else ""
    shift = len(before) - begin
    matches = tuple((max(start, begin) + shift, min(stop, end) + shift) for start, stop in line.matches)
    shown = tuple((start, stop) for start, stop in matches if start < stop)
    return SnippetLine(line.number, f"{before}{raw[begin:end]}{after}", shown)


def resolve_link_template(name: str) -> str:
    """Find the URL template of a name; a URL is its own template. Raises UsageError for a URL without {path}."""
    template = LINKS.get(name, name)
    if template and not ("{path}" in template and re.match(r"[a-z][a-z0-9+.-]*:", template)):
        raise UsageError(f"--hyperlink-format: '{name}' is not a URL with {{path}}", f"names: {', '.join(LINKS)}")
    return template


def fill_link(template: str, path: Path, line: int, column: int) -> str:
    """Fill a template of `resolve_link_template` to the URL of a place; an empty template gives an empty URL."""
    if not template:
        return ""
    quoted = quote(path.as_posix().encode("utf-8", "surrogateescape"))
    fill = {"path": quoted, "line": str(line), "column": str(column), "host": gethostname()}
    return re.sub(r"\{(path|line|column|host)\}", lambda m: fill[m[1]], template)


GAP = 2  # Spaces between columns
HEAD = Style(bold=True)


class Columns(NamedTuple):
    """A table to be written as text, Markdown or for a terminal. The first column holds names, the others figures."""

    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    essential: tuple[str, ...] = ()  # Heads of the columns that a narrow terminal shows
    title: str = ""

    def measure_widths(self) -> list[int]:
        """Measure the width of each column in characters."""
        return [max(len(row[i]) for row in (self.heads, *self.rows)) for i in range(len(self.heads))]


def format_plain_columns(table: Columns) -> Iterator[str]:
    """Write a table as lines, with numbers aligned to the right."""
    if table.title:
        yield f"{table.title}\n"
    widths = table.measure_widths()
    for first, *others in (table.heads, *table.rows):
        cells = [first.ljust(widths[0]), *(c.rjust(w) for c, w in zip(others, widths[1:], strict=True))]
        yield (" " * GAP).join(cells).rstrip() + "\n"


def format_markdown_columns(table: Columns) -> Iterator[str]:
    """Write a Markdown table; the title becomes a line in bold."""

    def format_row(cells: Sequence[str]) -> str:
        return f"| {' | '.join(map(_escape_cell, cells))} |\n"

    if table.title:
        yield f"**{_escape_cell(table.title)}**\n\n"
    yield format_row(table.heads)
    yield f"|---|{'---:|' * (len(table.heads) - 1)}\n"
    yield from map(format_row, table.rows)


def _escape_cell(text: str) -> str:
    return text.replace("\\", "\\\\").replace("|", "\\|").replace("\n", " ")


def render_columns(table: Columns, width: int, color: bool) -> Iterator[str]:
    """Write a table for a terminal that is `width` characters wide."""
    is_wide = bool(table.essential) and sum(table.measure_widths()) + GAP * len(table.heads) > width
    drawn = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False, header_style=HEAD)
    drawn.title = escape_text(table.title) or None
    columns = [(i, head) for i, head in enumerate(table.heads) if not is_wide or head in table.essential]
    for place, (_, head) in enumerate(columns):
        drawn.add_column(Text(escape_text(head)), justify="right" if place else "left", no_wrap=True)
    for row in table.rows:
        drawn.add_row(*(Text(escape_text(row[i]), DIM if head == "95 %" else "") for i, head in columns))
    console = make_console(color)
    with console.capture() as captured:
        console.print(drawn)
    yield captured.get()
