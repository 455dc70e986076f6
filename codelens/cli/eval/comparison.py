"""codelens eval --compare A B: two saved runs, metric by metric, with a paired test."""

from __future__ import annotations

from typing import Any

from codelens.cli.eval.measure import EvalFlags, keep
from codelens.cli.eval.tables import chosen, comparison_table, show
from codelens.cli.flags import CommonFlags
from codelens.cli.streams import say
from codelens.cli.workplace import settings_at, working_folder
from codelens.errors import UsageError
from codelens.evaluation.compare import Comparison, SavedRun, compare_runs, load_run
from codelens.evaluation.report import PLACES, SCHEMA


def compared(flags: EvalFlags) -> int:
    """Compare the tasks that both runs have. Raises UsageError for a file that is not a run."""
    if len(flags.tasks or ()) != 2 or flags.topics or flags.indexes:
        raise UsageError("--compare takes two saved runs", "`codelens eval --compare BEFORE.json AFTER.json`")
    before, after = map(load_run, flags.tasks or ())
    found = compare_runs(before, after)
    if not flags.quiet:
        _tell_unlike(before, after)
    record: dict[str, Any] = {
        "schema": SCHEMA,
        "runs": [str(path) for path in flags.tasks or ()],
        "metrics": {metric: _row(metric, comparison, before, after) for metric, comparison in found.items()},
    }
    keep(flags.out, record)
    show(flags, record, comparison_table(record, chosen(flags)), _color(flags))
    return 0


def _tell_unlike(before: SavedRun, after: SavedRun) -> None:
    """Differences that are not what a comparison is usually about."""
    for name, what in (("tasks", "were asked other tasks"), ("indexes", "asked other indexes")):
        if name in before.about and name in after.about and before.about[name] != after.about[name]:
            say(f"note: the runs {what}; only tasks in both are compared")


def _row(metric: str, found: Comparison, before: SavedRun, after: SavedRun) -> dict[str, Any]:
    common = before.values[metric].keys() & after.values[metric].keys()
    row: dict[str, Any] = {"n": found.tasks, "before": found.before, "after": found.after}
    row |= {"macro_before": before.macro(metric, common), "macro_after": after.macro(metric, common)}
    row |= {"difference": found.after - found.before, "low": found.low, "high": found.high, "p": found.p_value}
    return {name: round(value, PLACES) for name, value in row.items()} | {"better": found.better, "worse": found.worse}


def _color(flags: CommonFlags) -> str:
    return settings_at(working_folder(), None, flags).values.color
