"""codelens eval TASKS...: measures the ranking by tasks, once or in variants."""

from __future__ import annotations

import sys

from codelens.cli.declare import command
from codelens.cli.eval.flags import EvalFlags, prepare_run
from codelens.cli.eval.tables import chosen_metrics, groups_table, save_run, write_result
from codelens.cli.progress import watcher
from codelens.cli.streams import say
from codelens.errors import UsageError
from codelens.text.counts import quantity


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
    from codelens.evaluation.metrics import load_ir_measures
    from codelens.evaluation.report import load_figure_class

    load_ir_measures()  # before any work, if it is not installed
    if sum((flags.compare, flags.ablate, flags.memory)) > 1:
        raise UsageError("use one of --compare, --ablate and --memory")
    if flags.rows and not flags.ablate:
        raise UsageError("--rows needs --ablate")
    if flags.rounds is not None and not flags.memory:
        raise UsageError("--rounds needs --memory")
    is_variant = flags.compare or flags.ablate or flags.memory
    if flags.plot is not None:
        if is_variant:
            raise UsageError("use --plot without --compare, --ablate and --memory")
        load_figure_class()
    command = ["codelens", *sys.argv[1:]]
    if not is_variant:
        return _measure_once(flags, command)
    from codelens.cli.eval.variants import compare_saved_runs, measure_ablations, measure_rounds

    if flags.compare:
        return compare_saved_runs(flags)
    return measure_ablations(flags, command) if flags.ablate else measure_rounds(flags, command)


def _measure_once(flags: EvalFlags, command: list[str]) -> int:
    from codelens.evaluation.metrics import compute_metrics
    from codelens.evaluation.report import describe_run, plot, summarise, task_rows
    from codelens.evaluation.runner import open_workers, run_tasks

    metrics = chosen_metrics(flags)
    run = prepare_run(flags)
    with watcher(flags.progress, flags.quiet) as progress, open_workers(flags.jobs) as pool:
        results = run_tasks(run.batches, run.setup, pool, progress)
    values = compute_metrics({result.task.key: result.judged for result in results})
    failed = [result for result in results if result.fault]
    if failed and not flags.quiet:
        count = quantity(len(failed), "query", "queries")
        say(f"warning: {count} failed and score 0; the first: {failed[0].task.key}: {failed[0].fault}")
    groups = summarise(results, values)
    record = describe_run(*run, command, groups)
    save_run(flags.out, record | {"rows": task_rows(results, values)})
    write_result(flags, record, groups_table(groups, metrics), run.setup.settings.color)
    if flags.plot is not None:
        plot(groups, flags.plot, f"{quantity(len(results), 'task')}, profile {run.setup.options.profile}")
    return 0
