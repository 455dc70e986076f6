"""Every option of `codelens eval TASKS...`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, NamedTuple

from codelens.cli.declare import Section, argument, declare, defaults, option
from codelens.cli.flags import ALLOW_NETWORK, OUTPUT, CommonFlags, JsonFlags, ProgressFlags, RankingFlags, ScoreFlags
from codelens.cli.options import search_options
from codelens.cli.streams import say
from codelens.cli.workplace import Scope, reading_place, settings_at, working_folder
from codelens.config import Settings
from codelens.errors import CannotWrite, UsageError
from codelens.evaluation.metrics import same_file, strict
from codelens.evaluation.runner import Setup, TaskBatch, batches_of_folder, batches_of_one, counts
from codelens.evaluation.tasks import Task, read_tasks, read_trec
from codelens.index import Index
from codelens.model.fast_dataclass import replace
from codelens.render.records import to_json
from codelens.text.counts import quantity

TASKS = Section("Tasks and indexes")
WAYS = Section("Instead of measuring once")


class EvalFlags(ProgressFlags, CommonFlags, JsonFlags, ScoreFlags):
    """Options: the tasks, the indexes, the judgement, and the output."""

    tasks: list[Path] | None = argument(
        None, "Files of tasks as JSON Lines: id, repo, query, relevant; tier and kind where known", "[TASKS]..."
    )
    topics: Path | None = TASKS.option(
        None, "--topics", metavar="FILE", help="TREC topics: <top> elements, or number, tab, query"
    )
    qrels: Path | None = TASKS.option(
        None, "--qrels", metavar="FILE", help="The judgements for --topics; a document is PATH or PATH:Container.name"
    )
    indexes: Path | None = TASKS.option(
        None, "--indexes", metavar="FOLDER", help="Folder of indexes: a task of REPO asks REPO.db [default: --db]"
    )
    suffix: str = TASKS.option(
        "", "--suffix", metavar="TEXT", help="Of their names: REPO{TEXT}.db, as in --suffix=-commits"
    )
    same_file: bool = TASKS.option(
        False,
        "--same-file",
        help="Strict metrics compare name and file (as for commits) instead of name and enclosing name",
    )
    jobs: int = option(
        1, "--jobs", metavar="N", help="Processes that search; more than there are cores distorts latency [default: 1]"
    )
    allow_network: bool = ALLOW_NETWORK
    out: Path | None = OUTPUT.option(
        None, "--out", metavar="FILE", help="Write all results to FILE as JSON, task by task"
    )
    compare: bool = WAYS.option(
        False, "--compare", help="Compare two runs written by --out, B against A, with a paired test"
    )
    ablate: bool = WAYS.option(False, "--ablate", help="Leave out each channel, rule and signal of the profile in turn")
    rows: str | None = WAYS.option(
        None, "--rows", metavar="A,B", help="Only these rows of --ablate, as in --rows channel,walk"
    )
    memory: bool = WAYS.option(
        False,
        "--memory",
        help="Simulate memory: report the right hits of every second task as used, and measure all tasks after each round",
    )
    rounds: int | None = WAYS.option(
        None, "--rounds", metavar="N", help="The number of rounds of --memory [default: 10]"
    )
    metrics: str | None = OUTPUT.option(
        None, "--metrics", metavar="A,B", help="Metrics in the table, such as strict_ndcg@10,candidates"
    )
    markdown: bool = OUTPUT.option(False, "--markdown", help="Print a Markdown table")
    plot: Path | None = OUTPUT.option(
        None, "--plot", metavar="FILE", help="Plot nDCG by repository and tier, as PNG or SVG"
    )


class Prepared(NamedTuple):
    """All that a measurement starts from."""

    batches: list[TaskBatch]
    missing: dict[str, int]  # Repository → number of tasks that have no index
    setup: Setup


def prepare(flags: EvalFlags) -> Prepared:
    """Read tasks and settings and find the indexes; tasks without an index are reported on stderr."""
    if flags.jobs < 1:
        raise UsageError(f"--jobs must be at least 1, not {flags.jobs}")
    tasks = _tasks(flags)
    settings, batches, missing = _of_folder(flags, tasks) if flags.indexes else _of_one(flags, tasks)
    if missing and not flags.quiet:
        say(f"warning: skipped because there is no index: {counts(missing)}")
    ranking = defaults(RankingFlags)
    vars(ranking).update({name: getattr(flags, name) for name in ScoreFlags.__annotations__})
    # What one person did with results would measure that person.
    options = search_options(ranking, replace(settings, memory=False), Scope())
    return Prepared(batches, missing, Setup(options, settings, same_file if flags.same_file else strict))


def _of_folder(flags: EvalFlags, tasks: list[Task]) -> tuple[Settings, list[TaskBatch], dict[str, int]]:
    folder, cwd = flags.indexes or Path(), working_folder()
    if flags.db is not None:
        raise UsageError("use either --indexes or --db, not both")
    if not folder.is_dir():
        raise UsageError(f"no such folder: {folder}", "--indexes names the folder of REPO.db")
    batches, missing = batches_of_folder(tasks, cwd / folder, flags.suffix)
    return settings_at(cwd, None, flags, _overrides(flags)).values, batches, missing


def _of_one(flags: EvalFlags, tasks: list[Task]) -> tuple[Settings, list[TaskBatch], dict[str, int]]:
    if flags.suffix:
        raise UsageError("--suffix needs --indexes")
    place = reading_place(flags, _overrides(flags))
    with Index.open(place.index_path, place.settings) as index:
        return place.settings, batches_of_one(tasks, place.index_path, index.info()), {}


def _overrides(flags: EvalFlags) -> dict[str, Any]:
    return {"allow_network": flags.allow_network or None}


def _tasks(flags: EvalFlags) -> list[Task]:
    if (flags.topics is None) != (flags.qrels is None):
        raise UsageError("use --topics and --qrels together")
    tasks = read_tasks(flags.tasks or [])
    if flags.topics is not None and flags.qrels is not None:
        found, notes = read_trec(flags.topics, flags.qrels)
        tasks += found
        for note in notes if not flags.quiet else ():
            say(f"note: {note}")
    if not tasks:
        raise UsageError("no tasks", "`codelens eval TASKS...`, files of JSON Lines; or --topics and --qrels")
    return tasks


def keep(path: Path | None, record: dict[str, Any]) -> None:
    """Write the file that --out names. Raises CannotWrite."""
    if path is None:
        return
    try:
        path.write_text(to_json(record, indent=1), encoding="utf-8", errors="backslashreplace")
    except OSError as fault:
        raise CannotWrite(f"{path}: {fault.strerror}", "name a file in an existing folder") from None


def measure(flags: EvalFlags) -> int:
    """Measure the ranking by tasks: queries whose answers are known.

    P@10, R@10 and MRR use the loose rule, in which names may match in part; `strict_` metrics credit each answer once.
    `candidates` is the share of answers among the candidates of the ranking.
    """
    from codelens.evaluation.metrics import measures

    measures()  # before any work, if it is not installed
    if sum((flags.compare, flags.ablate, flags.memory)) > 1:
        raise UsageError("use one of --compare, --ablate and --memory")
    if flags.rows and not flags.ablate:
        raise UsageError("--rows needs --ablate")
    if flags.rounds is not None and not flags.memory:
        raise UsageError("--rounds needs --memory")
    if flags.plot is not None:
        from codelens.evaluation.report import drawing

        if flags.compare or flags.ablate or flags.memory:
            raise UsageError("use --plot without --compare, --ablate and --memory")
        drawing()
    if flags.compare:
        from codelens.cli.eval.comparison import compared

        return compared(flags)
    if flags.ablate:
        from codelens.cli.eval.ablation import ablated

        return ablated(flags, _command())
    if flags.memory:
        from codelens.cli.eval.ablation import replay_tasks

        return replay_tasks(flags, _command())
    return _measured(flags)


def _measured(flags: EvalFlags) -> int:
    from codelens.cli.eval.tables import chosen, groups_table, show
    from codelens.cli.progress import watcher
    from codelens.cli.streams import say
    from codelens.evaluation.metrics import figures
    from codelens.evaluation.report import measurement, summarise, task_rows
    from codelens.evaluation.runner import ask_all, infos, workers

    metrics = chosen(flags)
    batches, missing, setup = prepare(flags)
    with watcher(flags.progress, flags.quiet) as progress, workers(flags.jobs) as pool:
        results = ask_all(batches, setup, pool, progress)
    values = figures({answer.task.key: answer.judged for answer in results})
    groups = summarise(results, values)
    failed = [answer for answer in results if answer.fault]
    if failed and not flags.quiet:
        count = quantity(len(failed), "query", "queries")
        say(f"warning: {count} failed and score 0; the first: {failed[0].task.key}: {failed[0].fault}")
    tasks = [answer.task for answer in results]
    record = measurement(setup, _command(), tasks, infos(batches, setup.settings), missing, groups)
    keep(flags.out, record | {"rows": task_rows(results, values)})
    show(flags, record, groups_table(record["groups"], metrics), setup.settings.color)
    if flags.plot is not None:
        from codelens.evaluation.report import plot

        plot(record["groups"], flags.plot, f"{quantity(len(tasks), 'task')}, profile {setup.options.profile}")
    return 0


def _command() -> list[str]:
    return ["codelens", *sys.argv[1:]]


command = declare(
    "eval",
    EvalFlags,
    measure,
    epilog="Exit: 0 measured, 2 error, 3 no index. `codelens eval make-tasks` makes tasks from a git history, `codelens eval tune` "
    "learns weights from one; files with these names are ./make-tasks and ./tune.",
)
