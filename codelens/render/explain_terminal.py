"""The answer of `why` → a picture: a bar for each contribution, to the right what lifts and in red what lowers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.style import Style
from rich.text import Text

from codelens.explained import Explanation, WhyResult
from codelens.model import Candidate, SearchOptions, SearchResult
from codelens.render.explain_text import (
    HERE,
    Difference,
    SameSearch,
    Show,
    differences,
    head_lines,
    loss_lines,
    neighbour_lines,
    raw_scores,
    title,
    two_candidates,
)
from codelens.render.terminal import DIM, make_console, styled
from codelens.render.visible import for_terminal

BAR = 24
"""Cells of the longest bar."""
_EIGHTHS = " ▏▎▍▌▋▊▉"
_BOLD = Style(bold=True)


def render_picture(
    why: WhyResult, place: Show, color: bool, side_by_side: bool = False, same: SameSearch = HERE
) -> Iterator[str]:
    """As `render_explanation`, drawn: all bars of one answer have one scale."""
    console = make_console(color)
    yield styled(console, [Text(for_terminal(line.rstrip("\n")), DIM) for line in head_lines(why.search.trace)])
    pair = two_candidates(why) if side_by_side else None
    if pair:
        yield styled(console, [Text(""), *_compared(*pair, why.search.options, place, same)])
        return
    scale = max(
        (abs(c.amount) for e in why.explanations if e.candidate for c in e.candidate.contributions), default=0.0
    )
    for explanation in why.explanations:
        yield styled(console, [Text(""), *_explained(explanation, why.search, place, scale, same)])


def bar(amount: float, scale: float, cells: int = BAR) -> str:
    """A bar of at most `cells` cells, to an eighth of a cell; anything that is not zero is seen."""
    eighths = round(abs(amount) / scale * cells * 8) if scale else 0
    eighths = max(eighths, 1 if amount else 0)
    return ("█" * (eighths // 8) + _EIGHTHS[eighths % 8]).rstrip()


def _explained(
    explanation: Explanation, search: SearchResult, place: Show, scale: float, same: SameSearch
) -> Iterator[Text]:
    candidate = explanation.candidate
    if candidate is None:
        yield Text(for_terminal(f"{explanation.target}: not among the results"), _BOLD)
    else:
        yield Text(for_terminal(title(candidate, explanation.rank, place)), _BOLD)
        yield from _contributions(candidate, scale)
        for line in (*raw_scores(candidate, search.trace), *neighbour_lines(explanation)):
            yield Text(f"  {for_terminal(line)}", DIM)
    for line in loss_lines(explanation, search.options, same):
        yield Text(f"  {for_terminal(line)}", Style(color="yellow"))


def _contributions(candidate: Candidate, scale: float) -> Iterator[Text]:
    width = max((len(c.source) for c in candidate.contributions), default=0)
    for c in candidate.contributions:
        line = Text(f"  {c.source:>{width}}  {c.amount:+.6f} ")
        line.append(f"{bar(c.amount, scale):{BAR}} ", _bar_style(c.amount))
        yield line.append(for_terminal(c.reason), DIM)
    yield Text(f"  {'score':>{width}}   {candidate.score:.6f}", _BOLD)


def _bar_style(amount: float) -> Style:
    return Style(color="red" if amount < 0 else "green")


def _compared(
    first: Explanation, second: Explanation, options: SearchOptions, place: Show, same: SameSearch
) -> Iterator[Text]:
    """Bars of both beside each other, to one scale, and which of them is ahead."""
    assert first.candidate is not None
    assert second.candidate is not None
    yield Text(for_terminal(f"A {title(first.candidate, first.rank, place)}"), _BOLD)
    yield Text(for_terminal(f"B {title(second.candidate, second.rank, place)}"), _BOLD)
    rows = differences(first.candidate, second.candidate)
    scale = max((max(abs(r.first), abs(r.second)) for r in rows), default=0.0)
    width = max((len(r.source) for r in rows), default=0)
    yield from (_compared_row(row, width, scale) for row in rows)
    total = Difference("score", first.candidate.score, second.candidate.score)
    cells = BAR // 2
    yield Text(
        f"  {'score':>{width}}  {total.first:9.6f} {'':{cells}}  {total.second:9.6f} {'':{cells}}  {total.gap:+.6f}",
        _BOLD,
    )
    yield from _losses(options, same, first, second)


def _compared_row(row: Difference, width: int, scale: float) -> Text:
    cells = BAR // 2
    line = Text(f"  {row.source:>{width}}")
    for amount in (row.first, row.second):
        line.append(f"  {amount:+9.6f} ").append(f"{bar(amount, scale, cells):{cells}}", _bar_style(amount))
    return line.append(f"  {row.gap:+.6f}", DIM)


def _losses(options: SearchOptions, same: SameSearch, *explanations: Explanation) -> Iterator[Text]:
    lines: Sequence[tuple[str, str]] = [
        (label, line) for label, e in zip("AB", explanations, strict=True) for line in loss_lines(e, options, same)
    ]
    yield from (Text(f"  {label} {for_terminal(line)}", Style(color="yellow")) for label, line in lines)
