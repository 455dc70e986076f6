"""codelens eval --ablate, --memory and --compare: runs without a part of the profile, after feedback, and saved before."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from codelens.cli.eval.flags import EvalFlags, PreparedRun, prepare_run
from codelens.cli.eval.tables import chosen_metrics, comparison_table, save_run, variants_table, write_result
from codelens.cli.streams import say
from codelens.cli.workplace import settings_at, working_folder
from codelens.errors import UsageError
from codelens.evaluation.ablate import Ablation, list_ablations
from codelens.evaluation.compare import PLACES, compare, compare_runs, load_run
from codelens.evaluation.metrics import compute_metrics
from codelens.evaluation.report import SCHEMA, describe_run, mean_metrics, percentiles
from codelens.evaluation.runner import TaskResult, open_workers, replay_rounds, run_tasks
from codelens.model.fast_dataclass import replace
from codelens.search.profiles import load_profile
from codelens.text.counts import quantity

METRIC = "strict_ndcg@10"  # The metric whose differences are shown and tested
SHOWN = ("P@10", "strict_p@10", METRIC, "strict_hit@10", "file@10", "candidates")
ROUNDS, MOST_ROUNDS = 10, 100


def measure_ablations(flags: EvalFlags, command: Sequence[str]) -> int:
    """Measure each ablation. A line on stderr reports each at once, because all of them may take an hour."""
    run = prepare_run(flags)
    profile = load_profile(run.setup.options, run.setup.settings.weights)
    ablations = _choose_rows(list_ablations(profile, run.setup.options), flags.rows or "")
    table = _VariantRows()
    with open_workers(flags.jobs) as pool:
        for ablation in ablations:
            changed = replace(
                run.setup, options=ablation.options(run.setup.options), change=ablation if ablation.edits else None
            )
            results = run_tasks(run.batches, changed, pool)
            row = table.add(ablation.name, results)
            if not flags.quiet:
                seconds = sum(result.wall_ms for result in results) / 1000
                say(f"{ablation.name}: {METRIC} {row['means'][METRIC]:.4f}, {seconds:.0f} s")
    return _finish(flags, run, command, table.rows, "left out")


def _choose_rows(ablations: Sequence[Ablation], wanted: str) -> list[Ablation]:
    """The first row, and the rows whose names contain one of the texts; all rows if there are no texts."""
    texts = [text.strip() for text in wanted.split(",") if text.strip()]
    for text in texts:
        if not any(text in row.name for row in ablations):
            names = ", ".join(row.name.removeprefix("- ") for row in ablations[1:])
            raise UsageError(f"--rows: nothing is named '{text}'", f"there are: {names}")
    return [row for i, row in enumerate(ablations) if not i or not texts or any(text in row.name for text in texts)]


def measure_rounds(flags: EvalFlags, command: Sequence[str]) -> int:
    """Measure the tasks that are taught and the others after each round of feedback, and compare them with round 0."""
    rounds = ROUNDS if flags.rounds is None else flags.rounds
    if not 1 <= rounds <= MOST_ROUNDS:
        raise UsageError(f"--rounds must be from 1 to {MOST_ROUNDS}, not {rounds}")
    run = prepare_run(flags)
    replayed = replay_rounds(run.batches, run.setup, rounds, lambda name: None if flags.quiet else say(f"{name}: done"))
    taught, others = _VariantRows(), _VariantRows()
    for number, (of_taught, of_others) in enumerate(replayed):
        taught.add(f"{quantity(number, 'round')}, taught", of_taught)
        others.add(f"{quantity(number, 'round')}, others", of_others)
    return _finish(flags, run, command, [*taught.rows, *others.rows], "after")


class _VariantRows:
    """Records of variants of a run: means, times, and the difference to the first one."""

    def __init__(self) -> None:
        self.rows: list[dict[str, Any]] = []
        self._first: Mapping[str, float] = {}  # Task key → METRIC of the first variant

    def add(self, name: str, results: Sequence[TaskResult]) -> dict[str, Any]:
        """Add a variant and return its record."""
        values = compute_metrics({result.task.key: result.judged for result in results})
        means = mean_metrics(list(values.values()), SHOWN)
        row: dict[str, Any] = {
            "name": name,
            "means": {metric: round(mean, PLACES) for metric, mean in means.items()},
            "cpu_ms": percentiles([result.cpu_ms for result in results]),
            "failed": sum(bool(result.fault) for result in results),
        }
        by_task = {key: metrics[METRIC] for key, metrics in values.items() if METRIC in metrics}
        if self._first:
            comparison = compare(self._first, by_task)
            row |= comparison.difference_record() | {"better": comparison.better, "worse": comparison.worse}
        self._first = self._first or by_task
        self.rows.append(row)
        return row


def _finish(flags: EvalFlags, run: PreparedRun, command: Sequence[str], rows: list[dict[str, Any]], head: str) -> int:
    record = describe_run(*run, command, ()) | {"metric": METRIC, "shown": list(SHOWN), "rows": rows}
    save_run(flags.out, record)
    write_result(flags, record, variants_table(record, head), run.setup.settings.color)
    return 0


def compare_saved_runs(flags: EvalFlags) -> int:
    """Compare the tasks that both runs have. Raises UsageError for a file that is not a run."""
    paths = flags.tasks or ()
    if len(paths) != 2 or flags.topics or flags.indexes:
        raise UsageError("--compare takes two saved runs", "`codelens eval --compare BEFORE.json AFTER.json`")
    before, after = map(load_run, paths)
    comparisons = compare_runs(before, after)
    for name, what in (("tasks", "were asked other tasks"), ("indexes", "asked other indexes")):
        is_unlike = name in before.about and name in after.about and before.about[name] != after.about[name]
        if is_unlike and not flags.quiet:
            say(f"note: the runs {what}; only tasks in both are compared")
    rows = {}
    for metric, comparison in comparisons.items():
        common = before.values[metric].keys() & after.values[metric].keys()
        means = {"before": comparison.before, "after": comparison.after}
        means |= {"macro_before": before.macro(metric, common), "macro_after": after.macro(metric, common)}
        rows[metric] = {
            "n": comparison.tasks,
            **{name: round(mean, PLACES) for name, mean in means.items()},
            **comparison.difference_record(),
            "better": comparison.better,
            "worse": comparison.worse,
        }
    record: dict[str, Any] = {"schema": SCHEMA, "runs": [str(path) for path in paths], "metrics": rows}
    save_run(flags.out, record)
    color = settings_at(working_folder(), None, flags).values.color
    write_result(flags, record, comparison_table(record, chosen_metrics(flags)), color)
    return 0
