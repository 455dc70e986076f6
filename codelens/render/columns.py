"""Heads and rows of texts → a table: aligned for a pipe, with rules and colour for a terminal, Markdown for a page.

A terminal that is too narrow gets the columns that matter most; a wrapped table of figures cannot be read.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich import box
from rich.style import Style
from rich.table import Table
from rich.text import Text

from codelens.nouns import dataclass
from codelens.render.terminal import DIM, make_console
from codelens.render.visible import for_terminal

GAP = 2
"""Spaces between columns."""
HEAD = Style(bold=True)


@dataclass(frozen=True, slots=True)
class Columns:
    """A table before it has a form. The first column holds names, the others figures."""

    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    essential: tuple[str, ...] = ()
    """Heads of the columns that a narrow terminal shows."""
    title: str = ""

    def only(self, heads: Sequence[str]) -> Columns:
        """The same with some of its columns."""
        kept = [i for i, head in enumerate(self.heads) if head in heads]
        rows = tuple(tuple(row[i] for i in kept) for row in self.rows)
        return Columns(tuple(self.heads[i] for i in kept), rows, (), self.title)

    def widths(self) -> list[int]:
        """Characters of each column."""
        return [max(len(row[i]) for row in (self.heads, *self.rows)) for i in range(len(self.heads))]


def plain_columns(table: Columns) -> Iterator[str]:
    """Lines, numbers to the right."""
    if table.title:
        yield f"{table.title}\n"
    widths = table.widths()
    for first, *others in (table.heads, *table.rows):
        cells = [first.ljust(widths[0]), *(c.rjust(w) for c, w in zip(others, widths[1:], strict=True))]
        yield (" " * GAP).join(cells).rstrip() + "\n"


def markdown_columns(table: Columns) -> Iterator[str]:
    """A table of Markdown; a title becomes a line in bold."""
    if table.title:
        yield f"**{_escaped(table.title)}**\n\n"
    yield f"| {' | '.join(map(_escaped, table.heads))} |\n"
    yield f"|---|{'---:|' * (len(table.heads) - 1)}\n"
    for row in table.rows:
        yield f"| {' | '.join(map(_escaped, row))} |\n"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("|", "\\|").replace("\n", " ")


def screen_columns(table: Columns, width: int, color: bool) -> Iterator[str]:
    """For a terminal of so many characters a line."""
    if table.essential and sum(table.widths()) + GAP * len(table.heads) > width:
        table = table.only(table.essential)
    drawn = Table(
        box=box.SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
        pad_edge=False,
        title=for_terminal(table.title) or None,
        header_style=HEAD,
    )
    for i, head in enumerate(table.heads):
        drawn.add_column(Text(for_terminal(head)), justify="right" if i else "left", no_wrap=True)
    for row in table.rows:
        drawn.add_row(
            *(
                Text(for_terminal(cell), DIM if head == "95 %" else "")
                for head, cell in zip(table.heads, row, strict=True)
            )
        )
    console = make_console(color)
    with console.capture() as captured:
        console.print(drawn)
    yield captured.get()
