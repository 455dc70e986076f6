"""codelens eval --memory: tasks with simulated feedback, round by round."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from codelens.cli.eval.ablation import METRIC, SHOWN, compare_with_first, describe_row
from codelens.cli.eval.measure import EvalFlags, keep, prepare
from codelens.cli.eval.tables import comparisons_table, show
from codelens.cli.streams import say
from codelens.errors import UsageError
from codelens.evaluation.metrics import figures
from codelens.evaluation.report import measurement
from codelens.evaluation.rounds import Round, replay
from codelens.evaluation.runner import infos

MOST_ROUNDS = 100


def replay_tasks(flags: EvalFlags, command: Sequence[str]) -> int:
    """Measure the tasks that are taught and the others after each round, and compare them with round 0."""
    if not 1 <= flags.rounds <= MOST_ROUNDS:
        raise UsageError(f"--rounds must be from 1 to {MOST_ROUNDS}, not {flags.rounds}")
    batches, missing, setup = prepare(flags)
    found = replay(batches, setup, flags.rounds, lambda name: None if flags.quiet else say(f"{name}: done"))
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
        row = describe_row(f"{one.number} rounds, {part}", results, values)
        rows.append(row | (compare_with_first(first, of_metric) if first else {}))
        first = first or of_metric
    return rows
