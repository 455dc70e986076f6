"""The answer of `why` → a picture for the terminal: bars in green for what raises a score, in red for what lowers it."""

from __future__ import annotations

from collections.abc import Iterator

from rich.style import Style
from rich.text import Text

from codelens.model.search import Explanation, WhyResult
from codelens.render.terminal import DIM, make_console, render_texts
from codelens.render.visible import for_terminal
from codelens.render.why import (
    ScoreComparison,
    WhyView,
    account_rows,
    compare_targets,
    format_title,
    head_lines,
    largest_amount,
    loss_lines,
    position_lines,
    score_line,
)

BAR = 24  # Cells of the longest bar
_EIGHTHS = " ▏▎▍▌▋▊▉"
_BOLD = Style(bold=True)
_LOST = Style(color="yellow")


def render_why_picture(why: WhyResult, view: WhyView) -> Iterator[str]:
    """The rows of `render_why`, drawn; all bars of one answer have one scale."""
    console = make_console(view.color)
    yield render_texts(console, [Text(for_terminal(line), DIM) for line in head_lines(why.search.trace, view)])
    if comparison := compare_targets(why, view):
        yield render_texts(console, [Text(""), *_comparison_lines(comparison)])
        return
    largest = largest_amount(why, view)
    for explanation in why.explanations:
        yield render_texts(console, [Text(""), *_explanation_lines(explanation, why, view, largest)])


def bar(amount: float, largest: float, cells: int = BAR) -> str:
    """A bar of at most `cells` cells, to an eighth of a cell; empty only for zero."""
    eighths = round(abs(amount) / largest * cells * 8) if largest else 0
    eighths = max(eighths, 1 if amount else 0)
    return ("█" * (eighths // 8) + _EIGHTHS[eighths % 8]).rstrip()


def _explanation_lines(explanation: Explanation, why: WhyResult, view: WhyView, largest: float) -> Iterator[Text]:
    candidate = explanation.candidate
    if candidate is None:
        yield Text(for_terminal(f"{explanation.target}: not among the results"), _BOLD)
    else:
        yield Text(for_terminal(format_title(candidate, explanation.rank, view.paths)), _BOLD)
        rows = account_rows(candidate, view)
        width = max((len(row.label) for row in rows), default=len("score"))
        for row in rows:
            line = Text(f"  {row.label:>{width}}  {row.figures} ")
            line.append(f"{bar(row.amount, largest):{BAR}} ", _bar_style(row.amount))
            yield line.append(for_terminal(row.reason), DIM)
        yield Text(f"  {'score':>{width}}   {score_line(candidate, view)}", _BOLD)
        for text in position_lines(explanation, why.search.trace, view):
            yield Text(f"  {for_terminal(text)}", DIM)
    for text in loss_lines(explanation, why.search.options, view.same):
        yield Text(f"  {for_terminal(text)}", _LOST)


def _bar_style(amount: float) -> Style:
    return Style(color="red" if amount < 0 else "green")


def _comparison_lines(comparison: ScoreComparison) -> Iterator[Text]:
    """The bars of both targets next to each other, to one scale, and the difference."""
    yield from (Text(for_terminal(line), _BOLD) for line in comparison.titles)
    *rows, score = comparison.rows
    largest = max((max(abs(row.first), abs(row.second)) for row in rows), default=0.0)
    width, cells = max(len(row.label) for row in comparison.rows), BAR // 2
    for row in rows:
        line = Text(f"  {row.label:>{width}}")
        for amount in (row.first, row.second):
            line.append(f"  {amount:+9.6f} ").append(f"{bar(amount, largest, cells):{cells}}", _bar_style(amount))
        yield line.append(f"  {row.gap:+.6f}", DIM)
    gap = " " * cells
    yield Text(f"  {'score':>{width}}  {score.first:9.6f} {gap}  {score.second:9.6f} {gap}  {score.gap:+.6f}", _BOLD)
    yield from (Text(f"  {for_terminal(line)}", _LOST) for line in comparison.losses)
