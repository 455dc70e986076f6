"""Groups of figures → a table: aligned columns for a pipe."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

SHOWN = (
    *("P@10", "R@10", "MRR", "sP@10", "sR@10", "sMRR", "snDCG@10", "shit@10"),
    *("file@10", "candidates"),
)
"""Metrics in the order of the columns; the hit rate of the loose rule is in --json only."""
INTERVAL = "snDCG@10"
"""The metric whose 95 % interval is shown beside it."""
LATENCY = ("p50", "p95")


def cells(groups: Sequence[dict[str, Any]]) -> tuple[list[str], list[list[str]]]:
    """Heads, and a row of texts for each group."""
    heads = ["group", "n"]
    for metric in SHOWN:
        heads += [metric, "95 %"] if metric == INTERVAL else [metric]
    return [*heads, *(f"CPU {name}" for name in LATENCY)], [_row(group) for group in groups]


def _row(group: dict[str, Any]) -> list[str]:
    name = group["name"] if group["by"] in ("all", "macro") else f"{group['by']} {group['name']}"
    row = [name, str(group["n"])]
    for metric in SHOWN:
        found = group["metrics"].get(metric)
        row.append(_short(found["mean"]) if found else "")
        if metric == INTERVAL:
            row.append(f"{_short(found['low'])}-{_short(found['high'])}" if found and "low" in found else "")
    return [*row, *(f"{group['cpu_ms'][name]:.0f}" for name in LATENCY)]


def _short(value: float) -> str:
    """Without the zero before the point, as such tables are set."""
    return f"{value:.3f}".replace("0.", ".", 1) if value < 1 else f"{value:.2f}"


def plain_table(groups: Sequence[dict[str, Any]]) -> Iterator[str]:
    """Lines whose columns are aligned, numbers to the right."""
    heads, rows = cells(groups)
    widths = [max(len(row[i]) for row in [heads, *rows]) for i in range(len(heads))]
    for row in [heads, *rows]:
        first, *others = (
            cell.ljust(w) if i == 0 else cell.rjust(w) for i, (cell, w) in enumerate(zip(row, widths, strict=True))
        )
        yield f"{first}  {'  '.join(others)}".rstrip() + "\n"
