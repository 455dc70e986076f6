"""codelens eval --ablate and --memory: the same tasks again and again, without a part of the profile or after feedback."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from codelens.cli.eval.measure import EvalFlags, keep, prepare
from codelens.cli.eval.tables import comparisons_table, show
from codelens.cli.streams import say
from codelens.errors import UsageError
from codelens.evaluation.ablate import Ablation, rows
from codelens.evaluation.compare import compare
from codelens.evaluation.metrics import Values, figures
from codelens.evaluation.report import PLACES, measurement, percentiles
from codelens.evaluation.rounds import Round, replay
from codelens.evaluation.runner import Setup, TaskResult, ask_all, infos, workers
from codelens.model.fast_dataclass import replace
from codelens.search.profiles import load_profile
from codelens.text.counts import quantity

METRIC = "strict_ndcg@10"  # The metrics whose differences are shown and tested
SHOWN = ("P@10", "strict_p@10", METRIC, "strict_hit@10", "file@10", "candidates")


def ablated(flags: EvalFlags, command: Sequence[str]) -> int:
    """A line on stderr for each row as soon as it is there, for all of them may take an hour."""
    batches, missing, setup = prepare(flags)
    asked_rows = _chosen(rows(load_profile(setup.options, setup.settings.weights), setup.options), flags.rows or "")
    found: list[dict[str, Any]] = []
    first: Mapping[str, float] = {}
    with workers(flags.jobs) as pool:
        for row in asked_rows:
            results = ask_all(batches, _of(row, setup), pool)
            values = figures({answer.task.key: answer.judged for answer in results})
            of_metric = {key: own[METRIC] for key, own in values.items()}
            first = first or of_metric
            found.append(
                describe_row(row.name, results, values) | (compare_with_first(first, of_metric) if found else {})
            )
            if not flags.quiet:
                seconds = sum(answer.wall_ms for answer in results) / 1000
                say(f"{row.name}: {METRIC} {found[-1]['means'][METRIC]:.4f}, {seconds:.0f} s")
    tasks = [task for batch in batches for task in batch.tasks]
    record = measurement(setup, command, tasks, infos(batches, setup.settings), missing, ())
    record |= {"metric": METRIC, "shown": list(SHOWN), "rows": found}
    keep(flags.out, record)
    show(flags, record, comparisons_table(record, "left out"), setup.settings.color)
    return 0


def _chosen(found: Sequence[Ablation], wanted: str) -> list[Ablation]:
    """The first row, and the rows whose names contain one of the texts; all rows if there are no texts."""
    texts = [text.strip() for text in wanted.split(",") if text.strip()]
    for text in texts:
        if not any(text in row.name for row in found):
            names = ", ".join(row.name.removeprefix("- ") for row in found[1:])
            raise UsageError(f"--rows: nothing is named '{text}'", f"there are: {names}")
    return [row for i, row in enumerate(found) if not i or not texts or any(text in row.name for text in texts)]


def _of(row: Ablation, setup: Setup) -> Setup:
    return replace(setup, options=row.options(setup.options), change=row if row.edits else None)


def describe_row(name: str, results: Sequence[TaskResult], values: Values) -> dict[str, Any]:
    """The means and times of one row of a table."""
    means: dict[str, float] = {}
    for metric in SHOWN:
        held = [own[metric] for own in values.values() if metric in own]
        means |= {metric: round(statistics.mean(held), PLACES)} if held else {}
    return {
        "name": name,
        "means": means,
        "cpu_ms": {name: round(value, 1) for name, value in percentiles([answer.cpu_ms for answer in results]).items()},
        "failed": sum(bool(answer.fault) for answer in results),
    }


def compare_with_first(before: Mapping[str, float], after: Mapping[str, float]) -> dict[str, Any]:
    """The difference of a row to the first one, by a paired test."""
    found = compare(before, after)
    figures = {"difference": found.after - found.before, "low": found.low, "high": found.high, "p": found.p_value}
    counts = {"better": found.better, "worse": found.worse}
    return {name: round(value, PLACES) for name, value in figures.items()} | counts


ROUNDS, MOST_ROUNDS = 10, 100


def replay_tasks(flags: EvalFlags, command: Sequence[str]) -> int:
    """Measure the tasks that are taught and the others after each round, and compare them with round 0."""
    rounds = ROUNDS if flags.rounds is None else flags.rounds
    if not 1 <= rounds <= MOST_ROUNDS:
        raise UsageError(f"--rounds must be from 1 to {MOST_ROUNDS}, not {rounds}")
    batches, missing, setup = prepare(flags)
    found = replay(batches, setup, rounds, lambda name: None if flags.quiet else say(f"{name}: done"))
    tasks = [task for batch in batches for task in batch.tasks]
    record = measurement(setup, command, tasks, infos(batches, setup.settings), missing, ())
    record |= {"metric": METRIC, "shown": list(SHOWN), "rows": [*_rows(found, "taught"), *_rows(found, "others")]}
    keep(flags.out, record)
    show(flags, record, comparisons_table(record, "after"), setup.settings.color)
    return 0


def _rows(rounds: Sequence[Round], part: str) -> list[dict[str, Any]]:
    rows, first = list[dict[str, Any]](), dict[str, float]()
    for one in rounds:
        results = one.taught if part == "taught" else one.others
        values = figures({answer.task.key: answer.judged for answer in results})
        of_metric = {key: own[METRIC] for key, own in values.items() if METRIC in own}
        row = describe_row(f"{quantity(one.number, 'round')}, {part}", results, values)
        rows.append(row | (compare_with_first(first, of_metric) if first else {}))
        first = first or of_metric
    return rows
