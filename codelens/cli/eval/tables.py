"""Records of measurements → tables, and what a command writes: a table, or the object with --json; the file of --out."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from codelens.cli.streams import colored, write, write_record
from codelens.errors import CannotWrite, UsageError
from codelens.evaluation.metrics import METRICS
from codelens.render.records import to_json
from codelens.render.terminal import Columns, markdown_columns, plain_columns, screen_columns

if TYPE_CHECKING:
    from codelens.cli.eval.measure import EvalFlags

# Metrics in the order of the columns, where --metrics names none: all but the hit rate of the loose rule.
SHOWN = (
    *("P@10", "R@10", "MRR", "strict_p@10", "strict_r@10", "strict_mrr", "strict_ndcg@10", "strict_hit@10"),
    *("file@10", "candidates"),
)
INTERVAL = "strict_ndcg@10"  # The metric that is shown with its 95 % interval
ESSENTIAL = ("group", "n", "P@10", INTERVAL, "95 %", "strict_hit@10", "file@10", "candidates")


def write_result(flags: EvalFlags, record: dict[str, Any], table: Columns, color: str) -> None:
    """Write the table: with rules and colours to a terminal, aligned to a pipe. `color` is the setting."""
    if flags.json:
        write_record(record)
    elif flags.quiet:
        return
    elif flags.markdown:
        write(markdown_columns(table))
    elif sys.stdout.isatty():
        width = shutil.get_terminal_size().columns
        write(screen_columns(table, width, colored(color, True)), styled=True)
    else:
        write(plain_columns(table))


def save_run(path: Path | None, record: dict[str, Any]) -> None:
    """Write the file that --out names. Raises CannotWrite."""
    if path is None:
        return
    try:
        path.write_text(to_json(record, indent=1), encoding="utf-8", errors="backslashreplace")
    except OSError as fault:
        raise CannotWrite(f"{path}: {fault.strerror}", "name a file in an existing folder") from None


def chosen_metrics(listed: str | None) -> list[str]:
    """The metrics that --metrics lists, in its order; by default all that are shown. Raises UsageError for an unknown metric."""
    names = [name.strip() for name in (listed or "").split(",") if name.strip()]
    if unknown := [name for name in names if name not in METRICS]:
        raise UsageError(f"no metric '{unknown[0]}'", f"metrics: {', '.join(METRICS)}")
    return names or list(SHOWN)


def groups_table(groups: Sequence[dict[str, Any]], metrics: Sequence[str]) -> Columns:
    """A row for each group, its figures and the CPU milliseconds of a query."""
    heads = ["group", "n"]
    for metric in metrics:
        heads += [metric, "95 %"] if metric == INTERVAL else [metric]
    heads += ["CPU p50", "CPU p95"]
    return Columns(tuple(heads), tuple(_group_row(group, metrics) for group in groups), ESSENTIAL)


def _group_row(group: dict[str, Any], metrics: Sequence[str]) -> tuple[str, ...]:
    name = group["name"] if group["by"] in ("all", "macro") else f"{group['by']} {group['name']}"
    row = [name, str(group["n"])]
    for metric in metrics:
        figures = group["metrics"].get(metric, {})
        row.append(_short(figures["mean"]) if figures else "")
        if metric == INTERVAL:
            row.append(f"{_short(figures['low'])} to {_short(figures['high'])}" if "low" in figures else "")
    return (*row, f"{group['cpu_ms']['p50']:.0f}", f"{group['cpu_ms']['p95']:.0f}")


def comparison_table(record: dict[str, Any], metrics: Sequence[str]) -> Columns:
    """A row for each metric: both means, over tasks and over repositories, and how sure the first difference is."""
    heads = ("metric", "n", "A", "B", "A macro", "B macro", "B - A", "95 %", "p", "better", "worse")
    rows = (
        (
            *(name, str(row["n"]), *(_short(row[of]) for of in ("before", "after", "macro_before", "macro_after"))),
            *(f"{row['difference']:+.4f}", _interval(row), f"{row['p']:.4f}", str(row["better"]), str(row["worse"])),
        )
        for name, row in record["metrics"].items()
        if name in metrics
    )
    return Columns(heads, tuple(rows), ("metric", "A", "B", "B - A", "95 %", "p"))


def variants_table(record: dict[str, Any]) -> Columns:
    """A row for each ablation, with its difference to the first one."""
    heads = ("left out", *record["shown"], f"Δ {record['metric']}", "95 %", "p", "CPU p50")
    rows = (
        (
            *(row["name"], *(_short(row["means"].get(metric, 0.0)) for metric in record["shown"])),
            *((f"{row['difference']:+.4f}", _interval(row), f"{row['p']:.3f}") if "p" in row else ("", "", "")),
            f"{row['cpu_ms']['p50']:.0f}",
        )
        for row in record["rows"]
    )
    return Columns(heads, tuple(rows), ("left out", record["metric"], f"Δ {record['metric']}", "95 %", "p"))


def _interval(row: dict[str, Any]) -> str:
    return f"{row['low']:+.4f} to {row['high']:+.4f}"


def _short(value: float) -> str:
    """Without the zero before the point, as such tables are set."""
    return f"{value:.3f}".removeprefix("0") if value < 0.9995 else f"{value:.2f}"
