"""Options of `codelens eval TASKS...`, and the tasks, indexes and settings that they name."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from codelens.cli.declare import Section, argument, defaults, option
from codelens.cli.flags import ALLOW_NETWORK, OUTPUT, CommonFlags, JsonFlags, ProgressFlags, RankingFlags, ScoreFlags
from codelens.cli.options import search_options
from codelens.cli.streams import say
from codelens.cli.workplace import Scope, reading_place, settings_at, working_folder
from codelens.config import Settings
from codelens.errors import UsageError
from codelens.evaluation.metrics import same_file, strict
from codelens.evaluation.runner import Setup, TaskBatch, batches_of_folder, batches_of_one
from codelens.evaluation.tasks import Task, read_tasks, read_trec
from codelens.index import Index
from codelens.model.fast_dataclass import replace

TASKS = Section("Tasks and indexes")
WAYS = Section("Instead of measuring once")


class EvalFlags(ProgressFlags, CommonFlags, JsonFlags, ScoreFlags):
    """Options: the tasks, the indexes, the judgement, and the output."""

    tasks: list[Path] | None = argument(
        None, "[TASKS]...", "Files of tasks as JSON Lines: id, repo, query, relevant; tier and kind where known"
    )
    topics: Path | None = TASKS.option(None, "--topics FILE", "TREC topics: <top> elements, or number, tab, query")
    qrels: Path | None = TASKS.option(
        None, "--qrels FILE", "The judgements for --topics; a document is PATH or PATH:Container.name"
    )
    indexes: Path | None = TASKS.option(
        None, "--indexes FOLDER", "Folder of indexes: a task of REPO asks REPO.db [default: --db]"
    )
    suffix: str = TASKS.option("", "--suffix TEXT", "Of their names: REPO{TEXT}.db, as in --suffix=-commits")
    same_file: bool = TASKS.option(
        False, "--same-file", "Strict metrics compare name and file (as for commits) instead of name and enclosing name"
    )
    jobs: int = option(1, "--jobs N", "Processes that search; more than there are cores distorts latency [default: 1]")
    allow_network: bool = ALLOW_NETWORK
    out: Path | None = OUTPUT.option(None, "--out FILE", "Write all results to FILE as JSON, task by task")
    compare: bool = WAYS.option(
        False, "--compare", "Compare two runs written by --out, B against A, with a paired test"
    )
    ablate: bool = WAYS.option(False, "--ablate", "Leave out each channel, rule and signal of the profile in turn")
    rows: str | None = WAYS.option(None, "--rows A,B", "Only these rows of --ablate, as in --rows channel,walk")
    memory: bool = WAYS.option(
        False,
        "--memory",
        "Simulate memory: report the right hits of every second task as used, and measure all tasks after each round",
    )
    rounds: int | None = WAYS.option(None, "--rounds N", "The number of rounds of --memory [default: 10]")
    metrics: str | None = OUTPUT.option(
        None, "--metrics A,B", "Metrics in the table, such as strict_ndcg@10,candidates"
    )
    markdown: bool = OUTPUT.option(False, "--markdown", "Print a Markdown table")
    plot: Path | None = OUTPUT.option(None, "--plot FILE", "Plot nDCG by repository and tier, as PNG or SVG")


class PreparedRun(NamedTuple):
    """All that a measurement starts from."""

    batches: list[TaskBatch]
    setup: Setup
    missing: dict[str, int]  # Repository → number of tasks that have no index


def prepare_run(flags: EvalFlags) -> PreparedRun:
    """Read tasks and settings and find the indexes; tasks without an index are reported on stderr."""
    if flags.jobs < 1:
        raise UsageError(f"--jobs must be at least 1, not {flags.jobs}")
    tasks = _read_tasks(flags)
    settings, batches, missing = _find_indexes(flags, tasks)
    if missing and not flags.quiet:
        counts = ", ".join(f"{count} of {name or 'no repository'}" for name, count in missing.items())
        say(f"warning: skipped because there is no index: {counts}")
    ranking = defaults(RankingFlags)
    vars(ranking).update({name: getattr(flags, name) for name in ScoreFlags.__annotations__})
    # What one person did with results would measure that person.
    options = search_options(ranking, replace(settings, memory=False), Scope())
    return PreparedRun(batches, Setup(options, settings, same_file if flags.same_file else strict), missing)


def _find_indexes(flags: EvalFlags, tasks: list[Task]) -> tuple[Settings, list[TaskBatch], dict[str, int]]:
    overrides: dict[str, Any] = {"allow_network": flags.allow_network or None}
    folder, cwd = flags.indexes, working_folder()
    if folder is None:
        if flags.suffix:
            raise UsageError("--suffix needs --indexes")
        place = reading_place(flags, overrides)
        with Index.open(place.index_path, place.settings) as index:
            return place.settings, batches_of_one(tasks, place.index_path, index.info()), {}
    if flags.db is not None:
        raise UsageError("use either --indexes or --db, not both")
    if not folder.is_dir():
        raise UsageError(f"no such folder: {folder}", "--indexes names the folder of REPO.db")
    batches, missing = batches_of_folder(tasks, cwd / folder, flags.suffix)
    return settings_at(cwd, None, flags, overrides).values, batches, missing


def _read_tasks(flags: EvalFlags) -> list[Task]:
    if (flags.topics is None) != (flags.qrels is None):
        raise UsageError("use --topics and --qrels together")
    tasks = read_tasks(flags.tasks or [])
    if flags.topics is not None and flags.qrels is not None:
        of_topics, notes = read_trec(flags.topics, flags.qrels)
        tasks += of_topics
        for note in notes if not flags.quiet else ():
            say(f"note: {note}")
    if not tasks:
        raise UsageError("no tasks", "`codelens eval TASKS...`, files of JSON Lines; or --topics and --qrels")
    return tasks
