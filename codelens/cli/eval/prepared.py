"""The flags of `codelens eval` → what is asked of which index, and how. Raises UsageError and NoIndex."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from codelens.cli.asked import search_options
from codelens.cli.eval.flags import EvalFlags
from codelens.cli.flags import RankingFlags, ScoreFlags
from codelens.cli.streams import say
from codelens.cli.workplace import Scope, reading_place, settings_at, working_folder
from codelens.config import Settings
from codelens.errors import CannotWrite, UsageError
from codelens.evaluation.judging import same_file, strict
from codelens.evaluation.qrels import Task, read_tasks, read_trec
from codelens.evaluation.runner import Batch, Setup, batches_of_folder, batches_of_one, counts
from codelens.index import Index
from codelens.render.records import to_json


class Prepared(NamedTuple):
    """All that a measurement starts from."""

    batches: list[Batch]
    missing: dict[str, int]
    """Repository → number of tasks that have no index."""
    setup: Setup


def prepared(flags: EvalFlags) -> Prepared:
    """What cannot be asked is said on stderr."""
    if flags.jobs < 1:
        raise UsageError(f"--jobs is at least 1, not {flags.jobs}")
    tasks = _tasks(flags)
    settings, batches, missing = _of_folder(flags, tasks) if flags.indexes else _of_one(flags, tasks)
    if missing and not flags.quiet:
        say(f"warning: not asked, for want of an index: {counts(missing)}")
    asking = RankingFlags()
    vars(asking).update({name: getattr(flags, name) for name in ScoreFlags.__annotations__})
    # What one person did with results would measure that person.
    options = search_options(asking, replace(settings, memory=False), Scope(), literal=False, regex=False)
    return Prepared(batches, missing, Setup(options, settings, same_file if flags.same_file else strict))


def _of_folder(flags: EvalFlags, tasks: list[Task]) -> tuple[Settings, list[Batch], dict[str, int]]:
    folder, cwd = flags.indexes or Path(), working_folder()
    if flags.db is not None:
        raise UsageError("--indexes and --db cannot both be had")
    if not folder.is_dir():
        raise UsageError(f"no such folder: {folder}", "--indexes names the folder of REPO.db")
    batches, missing = batches_of_folder(tasks, cwd / folder, flags.suffix)
    return settings_at(cwd, None, flags, _overrides(flags)).values, batches, missing


def _of_one(flags: EvalFlags, tasks: list[Task]) -> tuple[Settings, list[Batch], dict[str, int]]:
    if flags.suffix:
        raise UsageError("--suffix is of the files of --indexes")
    place = reading_place(flags, _overrides(flags))
    with Index.open(place.index_path, place.settings) as index:
        return place.settings, batches_of_one(tasks, place.index_path, index.info()), {}


def _overrides(flags: EvalFlags) -> dict[str, Any]:
    return {"allow_network": flags.allow_network or None}


def _tasks(flags: EvalFlags) -> list[Task]:
    if (flags.topics is None) != (flags.qrels is None):
        raise UsageError("--topics and --qrels go together")
    tasks = read_tasks(flags.tasks or [])
    if flags.topics is not None and flags.qrels is not None:
        found, notes = read_trec(flags.topics, flags.qrels)
        tasks += found
        for note in notes if not flags.quiet else ():
            say(f"note: {note}")
    if not tasks:
        raise UsageError("no task to ask", "`codelens eval TASKS...`, files of JSON Lines; or --topics and --qrels")
    return tasks


def keep(path: Path | None, record: dict[str, Any]) -> None:
    """What --out asks for. Raises CannotWrite."""
    if path is None:
        return
    try:
        path.write_text(to_json(record, indent=1), encoding="utf-8", errors="backslashreplace")
    except OSError as fault:
        raise CannotWrite(f"{path}: {fault.strerror}", "name a file in a folder that there is") from None
