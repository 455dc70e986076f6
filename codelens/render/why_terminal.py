"""Draws the answer of `why` on a terminal: green bars for parts that raise a score, red bars for parts that lower it."""

from __future__ import annotations

from collections.abc import Iterator

from rich.style import Style
from rich.text import Text

from codelens.model.search import Explanation, WhyResult
from codelens.render.terminal import DIM, make_console, render_texts
from codelens.render.visible import escape_text
from codelens.render.why import (
    ScoreComparison,
    WhyView,
    compare_targets,
    find_largest_amount,
    format_head,
    format_loss,
    format_position,
    format_score,
    format_title,
    list_account_rows,
)

BAR = 24  # Cells of the longest bar
_EIGHTHS = " ▏▎▍▌▋▊▉"
_BOLD = Style(bold=True)
_LOST = Style(color="yellow")


def draw_why(why: WhyResult, view: WhyView) -> Iterator[str]:
    """Draw the rows of `render_why`; all bars of one answer have one scale."""
    console = make_console(view.color)
    yield render_texts(console, [Text(escape_text(line), DIM) for line in format_head(why.search.trace, view)])
    if comparison := compare_targets(why, view):
        yield render_texts(console, [Text(""), *_render_comparison(comparison)])
        return
    largest = find_largest_amount(why, view)
    for explanation in why.explanations:
        yield render_texts(console, [Text(""), *_render_explanation(explanation, why, view, largest)])


def draw_bar(amount: float, largest: float, cells: int = BAR) -> str:
    """Draw a bar of at most `cells` cells, exact to an eighth of a cell; empty only for zero."""
    eighths = round(abs(amount) / largest * cells * 8) if largest else 0
    eighths = max(eighths, 1 if amount else 0)
    return ("█" * (eighths // 8) + _EIGHTHS[eighths % 8]).rstrip()


def _render_explanation(explanation: Explanation, why: WhyResult, view: WhyView, largest: float) -> Iterator[Text]:
    candidate = explanation.candidate
    if candidate is None:
        yield Text(escape_text(f"{explanation.target}: not among the results"), _BOLD)
    else:
        yield Text(escape_text(format_title(candidate, explanation.rank, view.paths)), _BOLD)
        rows = list_account_rows(candidate, view)
        width = max((len(row.label) for row in rows), default=len("score"))
        for row in rows:
            line = Text(f"  {row.label:>{width}}  {row.figures} ")
            line.append(f"{draw_bar(row.amount, largest):{BAR}} ", _choose_bar_style(row.amount))
            yield line.append(escape_text(row.reason), DIM)
        yield Text(f"  {'score':>{width}}   {format_score(candidate, view)}", _BOLD)
        for text in format_position(explanation, why.search.trace, view):
            yield Text(f"  {escape_text(text)}", DIM)
    for text in format_loss(explanation, why.search.options, view):
        yield Text(f"  {escape_text(text)}", _LOST)


def _choose_bar_style(amount: float) -> Style:
    return Style(color="red" if amount < 0 else "green")


def _render_comparison(comparison: ScoreComparison) -> Iterator[Text]:
    """Draw the bars of both targets side by side, to one scale, with the difference."""
    yield from (Text(escape_text(line), _BOLD) for line in comparison.titles)
    *rows, score = comparison.rows
    largest = max((max(abs(row.first), abs(row.second)) for row in rows), default=0.0)
    width, cells = max(len(row.label) for row in comparison.rows), BAR // 2
    for row in rows:
        line = Text(f"  {row.label:>{width}}")
        for amount in (row.first, row.second):
            bar = f"{draw_bar(amount, largest, cells):{cells}}"
            line.append(f"  {amount:+9.6f} ").append(bar, _choose_bar_style(amount))
        yield line.append(f"  {row.gap:+.6f}", DIM)
    gap = " " * cells
    yield Text(f"  {'score':>{width}}  {score.first:9.6f} {gap}  {score.second:9.6f} {gap}  {score.gap:+.6f}", _BOLD)
    yield from (Text(f"  {escape_text(line)}", _LOST) for line in comparison.losses)
