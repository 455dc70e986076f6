"""Writes the two tables of README with measured figures from those of docs/figures.md: `python -m tools.readme`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

ROOT = Path(__file__).parent.parent
README, FIGURES = ROOT / "README.md", ROOT / "docs" / "figures.md"
QUALITY, COST = "| strict hit rate", "| tool | index, CPU s"  # How the head of each table begins
TASKS = {"111": "questions", "391": "commit subjects"}
TOOLS = ("codelens", "semble", "codegraph", "ripgrep")


def rewritten(readme: str, figures: str) -> str:
    """README with the rows of both tables as docs/figures.md has them."""
    rows = [_cells(line) for line in figures.splitlines() if line.startswith("| ")]
    return _with_rows(_with_rows(readme, QUALITY, _quality(rows)), COST, _cost(rows))


def _quality(rows: Sequence[Sequence[str]]) -> Iterator[Sequence[str]]:
    for _, tasks, before, after, _, _, _, interval, *_ in (row for row in rows if row[0] == "strict_hit@10"):
        low, high = (f"{100 * float(end):.1f}" for end in interval.split(" to "))
        yield TASKS[tasks], _percent(before), f"**{_percent(after)}**", f"{low} to {high} points"


def _cost(rows: Sequence[Sequence[str]]) -> Iterator[Sequence[str]]:
    for name, index, memory, size, no_change, _, queries, *_ in (row for row in rows if len(row) == 9):
        tool = " ".join(name.split()[:2])
        if tool.split()[0] in TOOLS:
            cells = [tool, _cpu(index), memory, size, _cpu(no_change), _cpu(queries)]
            if tool == "codelens":
                cells[0], cells[-1] = f"**{tool}**", f"**{cells[-1]}**"
            yield cells


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def _cpu(cell: str) -> str:
    """CPU time, which figures.md has in brackets behind the time by the clock."""
    found = re.search(r"\((.+)\)", cell)
    return found[1] if found else cell


def _percent(share: str) -> str:
    return f"{100 * float(share):.1f} %"


def _with_rows(text: str, head: str, rows: Iterator[Sequence[str]]) -> str:
    body = "".join(f"| {' | '.join(row)} |\n".replace("|  |", "| |").replace("|  |", "| |") for row in rows)
    begin = text.index("\n", text.index("\n", text.index(head)) + 1) + 1
    end = next(m.start() for m in re.compile(r"^(?!\|)", re.MULTILINE).finditer(text, begin))
    return text[:begin] + body + text[end:]


if __name__ == "__main__":
    README.write_text(
        rewritten(README.read_text(encoding="utf-8"), FIGURES.read_text(encoding="utf-8")),
        encoding="utf-8",
        newline="\n",
    )
