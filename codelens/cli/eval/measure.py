"""codelens eval TASKS...: measure the ranking by tasks, once or in variants, or compare two saved runs."""

import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from codelens.cli.declare import Section, argument, command, make_default_flags, option
from codelens.cli.flags import ALLOW_NETWORK, OUTPUT, CommonFlags, JsonFlags, ProgressFlags, RankingFlags, ScoreFlags
from codelens.cli.options import build_search_options
from codelens.cli.progress import show_progress
from codelens.cli.streams import inform, wants_color, write, write_record
from codelens.cli.workplace import Scope, find_working_folder, find_workplace, load_settings_at
from codelens.errors import UsageError
from codelens.evaluation.ablate import list_ablations
from codelens.evaluation.metrics import METRICS, compute_metrics, load_ir_measures, same_file, strict
from codelens.evaluation.report import (
    PLACES,
    SCHEMA,
    average_metrics,
    compare_runs,
    compare_values,
    compute_percentiles,
    describe_run,
    load_run,
    make_task_rows,
    summarise_results,
)
from codelens.evaluation.runner import Setup, TaskBatch, batch_folder, batch_one_index, open_workers, run_tasks
from codelens.evaluation.tasks import read_tasks, read_trec
from codelens.files import write_output
from codelens.index import Index
from codelens.model.fast_dataclass import replace
from codelens.render.records import Record, to_json
from codelens.render.terminal import Columns, format_markdown_columns, format_plain_columns, render_columns
from codelens.search.profiles import load_profile
from codelens.text.counts import quantity

METRIC = "strict_ndcg@10"  # The metric that is shown with its 95 % interval, and whose differences are tested
SHOWN = ("P@10", "strict_p@10", METRIC, "strict_hit@10", "file@10", "candidates")
# Metrics shown without --metrics, in order of columns: all but the hit rate of the loose rule.
COLUMNS = (
    *("P@10", "R@10", "MRR", "strict_p@10", "strict_r@10", "strict_mrr", "strict_ndcg@10", "strict_hit@10"),
    *("file@10", "candidates"),
)
ESSENTIAL = ("group", "n", "P@10", METRIC, "95 %", "strict_hit@10", "file@10", "candidates")

TASKS = Section("Tasks and indexes")
WAYS = Section("Instead of measuring once")


class EvalFlags(ProgressFlags, CommonFlags, JsonFlags, ScoreFlags):
    tasks: list[Path] | None = argument(
        "[TASKS]...", "Files of tasks as JSON Lines: id, repo, query, relevant; tier and kind where known"
    )
    topics: Path | None = TASKS("--topics FILE", "TREC topics: number, tab, query; or objects with id and query")
    qrels: Path | None = TASKS("--qrels FILE", "The judgements for --topics; a document is PATH or PATH:Container.name")
    indexes: Path | None = TASKS("--indexes FOLDER", "Folder of indexes: a task of REPO asks REPO.db [default: --db]")
    suffix: str = TASKS("--suffix TEXT", "Of their names: REPO{TEXT}.db, as in --suffix=-commits", default="")
    same_file: bool = TASKS(
        "--same-file", "Strict metrics compare name and file (as for commits) instead of name and enclosing name"
    )
    jobs: int = option(
        "--jobs N", "Processes that search; more than there are cores distorts latency [default: 1]", default=1
    )
    allow_network: bool = ALLOW_NETWORK
    out: Path | None = OUTPUT("--out FILE", "Write all results to FILE as JSON, task by task")
    compare: bool = WAYS("--compare", "Compare two runs written by --out, B against A, with a paired test")
    ablate: bool = WAYS("--ablate", "Leave out each channel, rule and signal of the profile in turn")
    rows: str | None = WAYS("--rows A,B", "Only these rows of --ablate, as in --rows channel,walk")
    metrics: str | None = OUTPUT("--metrics A,B", "Metrics in the table, such as strict_ndcg@10,candidates")
    markdown: bool = OUTPUT("--markdown", "Print a Markdown table")


class PreparedRun(NamedTuple):
    """The input of a measurement."""

    batches: list[TaskBatch]
    setup: Setup
    missing: dict[str, int]  # Repository → number of tasks without an index


def prepare_run(flags: EvalFlags) -> PreparedRun:
    """Read tasks and settings and find the indexes; tasks without an index are reported on stderr."""
    if flags.jobs < 1:
        raise UsageError(f"--jobs must be at least 1, not {flags.jobs}")
    if (flags.topics is None) != (flags.qrels is None):
        raise UsageError("use --topics and --qrels together")
    tasks = read_tasks(flags.tasks or [])
    if flags.topics is not None and flags.qrels is not None:
        of_topics, notes = read_trec(flags.topics, flags.qrels)
        tasks += of_topics
        for note in notes:
            inform(flags, f"note: {note}")
    if not tasks:
        raise UsageError("no tasks", "`codelens eval TASKS...`, files of JSON Lines; or --topics and --qrels")
    missing: dict[str, int] = {}
    folder, cwd = flags.indexes, find_working_folder()
    if folder is None:
        if flags.suffix:
            raise UsageError("--suffix needs --indexes")
        place = find_workplace(flags)
        settings = place.settings
        with Index.open(place.index_path, settings) as index:
            batches = batch_one_index(tasks, place.index_path, index.info())
    else:
        if flags.db is not None:
            raise UsageError("use either --indexes or --db, not both")
        if not folder.is_dir():
            raise UsageError(f"no such folder: {folder}", "--indexes names the folder of REPO.db")
        batches, missing = batch_folder(tasks, cwd / folder, flags.suffix)
        settings = load_settings_at(cwd, None, flags).values
    if missing:
        counts = ", ".join(f"{count} of {name or 'no repository'}" for name, count in missing.items())
        inform(flags, f"warning: skipped because there is no index: {counts}")
    ranking = make_default_flags(RankingFlags)
    vars(ranking).update({name: getattr(flags, name) for name in ScoreFlags.__annotations__})
    # Memory is off, because it would measure one user's habits.
    options = build_search_options(ranking, replace(settings, memory=False), Scope())
    return PreparedRun(batches, Setup(options, settings, same_file if flags.same_file else strict), missing)


@command(
    "eval",
    epilog="Exit: 0 measured, 2 error, 3 no index. `codelens eval make-tasks` makes tasks from a git history, `codelens eval tune` "
    "learns weights from one; files with these names are ./make-tasks and ./tune.",
)
def measure(flags: EvalFlags) -> int:
    """Measure the ranking by tasks: queries whose answers are known.

    P@10, R@10 and MRR use the loose rule, in which names may match in part; `strict_` metrics credit each answer once.
    `candidates` is the share of answers among the candidates of the ranking.
    """
    load_ir_measures()  # fails before any work if it is not installed
    if flags.compare and flags.ablate:
        raise UsageError("use either --compare or --ablate")
    if flags.rows and not flags.ablate:
        raise UsageError("--rows needs --ablate")
    command = ["codelens", *sys.argv[1:]]
    if flags.compare:
        return _compare_saved_runs(flags)
    if flags.ablate:
        return _measure_ablations(flags, command)
    metrics = choose_metrics(flags.metrics)
    run = prepare_run(flags)
    with show_progress(flags.progress, flags.quiet) as progress, open_workers(flags.jobs) as pool:
        results = run_tasks(run.batches, run.setup, pool, progress)
    values = compute_metrics({result.task.key: result.judged for result in results})
    failed = [result for result in results if result.fault]
    if failed:
        count = quantity(len(failed), "query", "queries")
        inform(flags, f"warning: {count} failed and score 0; the first: {failed[0].task.key}: {failed[0].fault}")
    groups = summarise_results(results, values)
    record = describe_run(*run, command, groups)
    save_run(flags.out, record | {"rows": make_task_rows(results, values)})
    write_result(flags, record, tabulate_groups(groups, metrics), run.setup.settings.color)
    return 0


def _measure_ablations(flags: EvalFlags, command: list[str]) -> int:
    """Measure each ablation. Each is reported on stderr when it is done, because all of them may take an hour."""
    run = prepare_run(flags)
    options = run.setup.options
    ablations = list_ablations(load_profile(options, run.setup.settings.weights), options)
    texts = [text.strip() for text in (flags.rows or "").split(",") if text.strip()]
    for text in texts:
        if not any(text in row.name for row in ablations):
            names = ", ".join(row.name.removeprefix("- ") for row in ablations[1:])
            raise UsageError(f"--rows: nothing is named '{text}'", f"there are: {names}")
    rows: list[Record] = []
    first: Mapping[str, float] = {}  # Task key → METRIC of the whole profile
    with open_workers(flags.jobs) as pool:
        for ablation in ablations:
            if rows and texts and not any(text in ablation.name for text in texts):
                continue
            changed = replace(run.setup, change=ablation if ablation.edits else None)
            results = run_tasks(run.batches, changed, pool)
            values = compute_metrics({result.task.key: result.judged for result in results})
            means = average_metrics(list(values.values()), SHOWN)
            row: Record = {
                "name": ablation.name,
                "means": {metric: round(mean, PLACES) for metric, mean in means.items()},
                "cpu_ms": compute_percentiles([result.cpu_ms for result in results]),
                "failed": sum(bool(result.fault) for result in results),
            }
            by_task = {key: metrics[METRIC] for key, metrics in values.items() if METRIC in metrics}
            if first:
                comparison = compare_values(first, by_task)
                row |= comparison.make_record() | {"better": comparison.better, "worse": comparison.worse}
            first = first or by_task
            rows.append(row)
            seconds = sum(result.wall_ms for result in results) / 1000
            inform(flags, f"{ablation.name}: {METRIC} {row['means'][METRIC]:.4f}, {seconds:.0f} s")
    record = describe_run(*run, command, ()) | {"metric": METRIC, "shown": list(SHOWN), "rows": rows}
    save_run(flags.out, record)
    write_result(flags, record, tabulate_variants(record), run.setup.settings.color)
    return 0


def _compare_saved_runs(flags: EvalFlags) -> int:
    """Compare two saved runs by the tasks that both contain. Raises UsageError for a file that is not a run."""
    paths = flags.tasks or ()
    if len(paths) != 2 or flags.topics or flags.indexes:
        raise UsageError("--compare takes two saved runs", "`codelens eval --compare BEFORE.json AFTER.json`")
    before, after = map(load_run, paths)
    comparisons = compare_runs(before, after)
    for name, what in (("tasks", "were asked other tasks"), ("indexes", "asked other indexes")):
        is_unlike = name in before.about and name in after.about and before.about[name] != after.about[name]
        if is_unlike:
            inform(flags, f"note: the runs {what}; only tasks in both are compared")
    rows = {}
    for metric, comparison in comparisons.items():
        common = before.values[metric].keys() & after.values[metric].keys()
        means = {"before": comparison.before, "after": comparison.after}
        means |= {
            f"macro_{name}": run.compute_mean(metric, common) for name, run in (("before", before), ("after", after))
        }
        rows[metric] = {
            "n": comparison.tasks,
            **{name: round(mean, PLACES) for name, mean in means.items()},
            **comparison.make_record(),
            "better": comparison.better,
            "worse": comparison.worse,
        }
    record: Record = {"schema": SCHEMA, "runs": [str(path) for path in paths], "metrics": rows}
    save_run(flags.out, record)
    color = load_settings_at(find_working_folder(), None, flags).values.color
    write_result(flags, record, tabulate_comparison(record, choose_metrics(flags.metrics)), color)
    return 0


def write_result(flags: EvalFlags, record: Record, table: Columns, color: str) -> None:
    """Write the record with --json, else the table: styled on a terminal, else aligned text. `color` is the setting."""
    if flags.json:
        write_record(record)
    elif flags.markdown:
        write(format_markdown_columns(table))
    elif sys.stdout.isatty():
        width = shutil.get_terminal_size().columns
        write(render_columns(table, width, wants_color(color, True)), styled=True)
    else:
        write(format_plain_columns(table))


def save_run(path: Path | None, record: Record) -> None:
    """Write the file that --out names. Raises CannotWrite."""
    if path is not None:
        write_output(path, to_json(record, indent=1).encode(errors="backslashreplace"))


def choose_metrics(listed: str | None) -> list[str]:
    """Choose the metrics that --metrics lists, in its order, else COLUMNS. Raises UsageError for an unknown metric."""
    names = [name.strip() for name in (listed or "").split(",") if name.strip()]
    if unknown := [name for name in names if name not in METRICS]:
        raise UsageError(f"no metric '{unknown[0]}'", f"metrics: {', '.join(METRICS)}")
    return names or list(COLUMNS)


def tabulate_groups(groups: Sequence[Record], metrics: Sequence[str]) -> Columns:
    """Tabulate groups: a row for each, with its figures and the CPU milliseconds per query."""
    heads = ["group", "n"]
    for metric in metrics:
        heads += [metric, "95 %"] if metric == METRIC else [metric]
    heads += ["CPU p50", "CPU p95"]
    rows = []
    for group in groups:
        name = group["name"] if group["by"] in ("all", "macro") else f"{group['by']} {group['name']}"
        row = [name, str(group["n"])]
        for metric in metrics:
            figures = group["metrics"].get(metric, {})
            row.append(_shorten(figures["mean"]) if figures else "")
            if metric == METRIC:
                row.append(f"{_shorten(figures['low'])} to {_shorten(figures['high'])}" if "low" in figures else "")
        rows.append((*row, f"{group['cpu_ms']['p50']:.0f}", f"{group['cpu_ms']['p95']:.0f}"))
    return Columns(tuple(heads), tuple(rows), ESSENTIAL)


def tabulate_comparison(record: Record, metrics: Sequence[str]) -> Columns:
    """Tabulate a comparison: a row per metric with both means, over tasks and over repositories, and the certainty of B - A."""
    heads = ("metric", "n", "A", "B", "A macro", "B macro", "B - A", "95 %", "p", "better", "worse")
    rows = []
    for name in (name for name in record["metrics"] if name in metrics):
        row = record["metrics"][name]
        means = (_shorten(row[of]) for of in ("before", "after", "macro_before", "macro_after"))
        certainty = (*_format_difference(row), f"{row['p']:.4f}", str(row["better"]), str(row["worse"]))
        rows.append((name, str(row["n"]), *means, *certainty))
    return Columns(heads, tuple(rows), ("metric", "A", "B", "B - A", "95 %", "p"))


def tabulate_variants(record: Record) -> Columns:
    """Tabulate ablations: a row for each, with its difference from the first one."""
    heads = ("left out", *record["shown"], f"Δ {record['metric']}", "95 %", "p", "CPU p50")
    rows = []
    for row in record["rows"]:
        means = (_shorten(row["means"].get(metric, 0.0)) for metric in record["shown"])
        certainty = (*_format_difference(row), f"{row['p']:.3f}") if "p" in row else ("", "", "")
        rows.append((row["name"], *means, *certainty, f"{row['cpu_ms']['p50']:.0f}"))
    return Columns(heads, tuple(rows), ("left out", record["metric"], f"Δ {record['metric']}", "95 %", "p"))


def _format_difference(row: Record) -> tuple[str, str]:
    """Format the difference of two means, and its 95 % interval."""
    return f"{row['difference']:+.4f}", f"{row['low']:+.4f} to {row['high']:+.4f}"


def _shorten(value: float) -> str:
    """Format a value to three decimals, without the zero before the point."""
    return f"{value:.3f}".removeprefix("0") if value < 0.9995 else f"{value:.2f}"
