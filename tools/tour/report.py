"""Rows of figures → a table whose figures over a bar are marked, and two results side by side."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tools.tour.manifest import Bars
from tools.tour.measure import MB, Row

Over = Callable[[float, Row, Bars], bool]
Value = float | None
DASH = "–"
LINKING = "link"  # The phase, by the name that codelens gives it, whose share has a bar


@dataclass(frozen=True, slots=True)
class Column:
    """One figure of a tree: how it is taken from a row, None where it is not known, and when it is over its bar."""

    head: str
    value: Callable[[Row], Value]
    digits: int = 0
    over: Over = lambda value, row, bars: False
    compared: bool = False


def _per_mb(row: Row) -> Value:
    return row["cpu"] / megabytes(row) if row.get("source_bytes") else None


def _references(name: str) -> Callable[[Row], Value]:
    return lambda row: row.get("references", {}).get(name)


def _changed(row: Row) -> Value:
    change = row.get("change")
    return change["wall"] if change and not change["ended"] else None


def megabytes(row: Row) -> float:
    return float(row.get("source_bytes", 0)) / MB


def _find_peak_bar(row: Row, bars: Bars) -> float:
    """The bar on a tree's memory in MB: its own, or that of all trees up to a size."""
    common = bars.peak_mb if megabytes(row) <= bars.peak_to_mb else float("inf")
    return float(row.get("bar_peak_mb", common))


def _is_changed_late(seconds: float, row: Row, bars: Bars) -> bool:
    """True if a changed file took too long; a tree with a bar of its own for memory has none for this."""
    return seconds > bars.changed_s and megabytes(row) >= bars.changed_from_mb and "bar_peak_mb" not in row


COLUMNS = (
    Column("files", lambda r: r.get("files")),
    Column("symbols", lambda r: r.get("symbols"), compared=True),
    Column("MB", lambda r: megabytes(r) if "source_bytes" in r else None, 1),
    Column("CPU s", lambda r: r["cpu"], 1, lambda v, r, b: v > r.get("bar_cpu_s", float("inf")), compared=True),
    Column("CPU s/MB", _per_mb, 2, lambda v, r, b: v > b.cpu_per_mb),
    Column("wall s", lambda r: r["wall"], 1, compared=True),
    Column("peak MB", lambda r: r["peak"] / MB, 0, lambda v, r, b: v > _find_peak_bar(r, b), compared=True),
    Column(
        "index ÷", lambda r: r["index_bytes"] / r["source_bytes"] if r.get("source_bytes") else None, 2, compared=True
    ),
)
REFERENCES = tuple(
    Column(head, _references(name), compared=True)
    for head, name in (("resolved", "resolved"), ("guessed", "guessed"), ("out of fuel", "out_of_fuel"))
)
CHANGED = Column("changed s", _changed, 1, _is_changed_late, compared=True)


def columns(rows: Sequence[Row]) -> list[Column]:
    """All columns; between them one for each phase that some row names."""
    phases = {name: None for row in rows for name in row.get("phases", {})}
    return [*COLUMNS, *map(_phase, phases), *REFERENCES, CHANGED]


def _phase(name: str) -> Column:
    """The share of a phase in the CPU seconds of all phases."""

    def share(row: Row) -> Value:
        phases = row.get("phases", {})
        return phases[name] / sum(phases.values()) if name in phases and sum(phases.values()) else None

    def over(value: float, row: Row, bars: Bars) -> bool:
        return name == LINKING and value > bars.link_share

    return Column(f"{name} share", share, 2, over, compared=name == LINKING)


def over_bars(row: Row, bars: Bars) -> list[str]:
    """The heads of the columns whose figure is over its bar."""
    return [c.head for c in columns([row]) if (v := c.value(row)) is not None and c.over(v, row, bars)]


def failed(row: Row) -> str:
    """Why the tree, or its second run after a change, did not finish; empty if both did."""
    change = row.get("change") or {}
    return str(row["ended"] or (change.get("ended") and f"one changed file: {change['ended']}") or "")


def table(rows: Sequence[Row], bars: Bars) -> Iterator[list[str]]:
    """A head, then a line a tree. The last cell says why a tree did not finish."""
    chosen = columns(rows)
    yield ["tree", *(c.head for c in chosen), "ended"]
    for row in rows:
        yield [row["tree"], *(_cell(c, row, bars) for c in chosen), failed(row)]


def _cell(column: Column, row: Row, bars: Bars) -> str:
    value = column.value(row) if "cpu" in row else None
    if value is None:
        return DASH
    return _number(value, column.digits) + ("!" if column.over(value, row, bars) else "")


def _number(value: float, digits: int) -> str:
    return f"{value:,.{digits}f}".replace(",", " ")


def summary(rows: Sequence[Row], bars: Bars) -> str:
    over = [row for row in rows if "cpu" in row and over_bars(row, bars)]
    ended = [row for row in rows if failed(row)]
    return f"{len(rows)} trees: {len(over)} over a bar, {len(ended)} not finished"


def passes(rows: Sequence[Row], bars: Bars) -> bool:
    return not any(failed(row) or over_bars(row, bars) for row in rows)


def comparison(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[list[str]]:
    """A head, then a line for each tree of either result: before → after (their ratio)."""
    old, new = ({row["tree"]: row for row in result["rows"]} for result in (before, after))
    chosen = [c for c in columns([*old.values(), *new.values()]) if c.compared]
    yield ["tree", *(c.head for c in chosen), "ended"]
    for name in {**old, **new}:
        a, b = old.get(name), new.get(name)
        ended = [failed(row) if row else "not measured" for row in (a, b)]
        yield [name, *(_both(c, a, b) for c in chosen), " → ".join(e or "ok" for e in ended) if any(ended) else ""]


def _both(column: Column, before: Row | None, after: Row | None) -> str:
    values = [column.value(row) if row and "cpu" in row else None for row in (before, after)]
    if values == [None, None]:
        return DASH
    texts = " → ".join(DASH if v is None else _number(v, column.digits) for v in values)
    a, b = values
    return texts + (f" (×{b / a:.2f})" if a and b is not None else "")


def as_text(lines: Sequence[Sequence[str]]) -> str:
    """Aligned: the first and the last column to the left, figures to the right."""
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    last = len(widths) - 1
    return "".join(
        "  ".join(
            c.ljust(w) if i in (0, last) else c.rjust(w) for i, (c, w) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        + "\n"
        for line in lines
    )


def as_markdown(lines: Sequence[Sequence[str]]) -> str:
    head, *rest = ("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |\n" for line in lines)
    rule = "|" + "|".join(["---", *["---:"] * (len(lines[0]) - 2), "---"]) + "|\n"
    return head + rule + "".join(rest)
