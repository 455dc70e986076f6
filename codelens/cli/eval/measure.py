"""codelens eval TASKS…: every query asked, every answer judged, one table."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from codelens.cli.asked import search_options
from codelens.cli.declare import declare
from codelens.cli.eval.flags import EvalFlags
from codelens.cli.flags import RankingFlags, ScoreFlags
from codelens.cli.progress import watcher
from codelens.cli.streams import say, write, write_json
from codelens.cli.workplace import Scope, reading_place, settings_at, working_folder
from codelens.errors import CannotWrite, UsageError

if TYPE_CHECKING:
    from codelens.evaluation.qrels import Task
    from codelens.evaluation.runner import Batch, Setup


def measure(flags: EvalFlags) -> int:
    """Measure the ranking by tasks: queries whose answers are known.

    P@10, R@10 and MRR go by the loose rule, in which names may agree in part; those with an `s` credit each answer once.
    """
    from codelens.evaluation.metrics import figures, measures
    from codelens.evaluation.record import measurement, rows
    from codelens.evaluation.runner import ask_all, infos, workers
    from codelens.evaluation.summary import summarise

    measures()
    if flags.jobs < 1:
        raise UsageError(f"--jobs is at least 1, not {flags.jobs}")
    batches, missing, setup = _prepared(flags)
    with watcher(flags.progress, flags.quiet) as progress, workers(flags.jobs) as pool:
        asked = ask_all(batches, setup, pool, progress)
    values = figures({answer.task.key: answer.judged for answer in asked})
    groups = summarise(asked, values)
    failed = [answer for answer in asked if answer.fault]
    if failed and not flags.quiet:
        say(f"warning: {len(failed)} queries failed and score 0; first {failed[0].task.key}: {failed[0].fault}")
    tasks = [answer.task for answer in asked]
    record = measurement(setup, _command(), tasks, infos(batches, setup.settings), missing, groups)
    if flags.out is not None:
        _keep(flags.out, record | {"rows": rows(asked, values)})
    _show(flags, record)
    return 0


def _prepared(flags: EvalFlags) -> tuple[list[Batch], dict[str, int], Setup]:
    """Which index is asked what, how many tasks of which repository have none, and how they are asked."""
    from codelens.evaluation.judging import same_file, strict
    from codelens.evaluation.runner import Setup, batches_of_folder, batches_of_one, counts
    from codelens.index import Index

    tasks = _tasks(flags)
    if flags.indexes is not None:
        if flags.db is not None:
            raise UsageError("--indexes and --db cannot both be had")
        if not flags.indexes.is_dir():
            raise UsageError(f"no such folder: {flags.indexes}")
        cwd = working_folder()
        settings = settings_at(cwd, None, flags, _overrides(flags)).values
        batches, missing = batches_of_folder(tasks, cwd / flags.indexes, flags.suffix)
    else:
        place = reading_place(flags, _overrides(flags))
        settings, missing = place.settings, {}
        with Index.open(place.index_path, settings) as index:
            batches = batches_of_one(tasks, place.index_path, index.info())
    if missing and not flags.quiet:
        say(f"warning: not asked for want of an index: {counts(missing)}")
    asking = RankingFlags()
    vars(asking).update({name: getattr(flags, name) for name in ScoreFlags.__annotations__})
    options = search_options(asking, settings, Scope(), literal=False, regex=False)
    return batches, missing, Setup(options, settings, same_file if flags.same_file else strict)


def _tasks(flags: EvalFlags) -> list[Task]:
    from codelens.evaluation.qrels import read_tasks, read_trec

    if (flags.topics is None) != (flags.qrels is None):
        raise UsageError("--topics and --qrels go together")
    tasks = read_tasks(flags.tasks or [])
    if flags.topics is not None and flags.qrels is not None:
        found, notes = read_trec(flags.topics, flags.qrels)
        tasks += found
        for note in notes if not flags.quiet else ():
            say(f"note: {note}")
    if not tasks:
        hint = "`codelens eval TASKS...`, files of JSON Lines; or --topics and --qrels"
        raise UsageError("no task to ask", hint)
    return tasks


def _overrides(flags: EvalFlags) -> dict[str, Any]:
    return {"allow_network": flags.allow_network or None}


def _command() -> Sequence[str]:
    return ["codelens", *sys.argv[1:]]


def _keep(path: Path, record: dict[str, Any]) -> None:
    from codelens.render.records import to_json

    try:
        path.write_text(to_json(record, indent=1), encoding="utf-8", errors="backslashreplace")
    except OSError as fault:
        raise CannotWrite(f"{path}: {fault.strerror}", "name a file in a folder that there is") from None


def _show(flags: EvalFlags, record: dict[str, Any]) -> None:
    from codelens.cli.eval.shown import plain_table

    if flags.json:
        from codelens.render.records import to_json

        write_json([to_json(record)])
    elif not flags.quiet:
        write(plain_table(record["groups"]))


command = declare(
    "eval",
    EvalFlags,
    measure,
    epilog="Exit: 0 measured, 2 error, 3 no index. A file named as a command is ./NAME.",
)
