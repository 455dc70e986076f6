"""codelens eval TASKS…: every query asked, every answer judged, one table. Or two runs compared, or parts left out."""

from __future__ import annotations

import sys

from codelens.cli.declare import declare
from codelens.cli.eval.flags import EvalFlags
from codelens.errors import UsageError


def measure(flags: EvalFlags) -> int:
    """Measure the ranking by tasks: queries whose answers are known.

    P@10, R@10 and MRR go by the loose rule, in which names may agree in part; those with an `s` credit each answer once.
    `candidates` is the share of the answers that the ranking had at all.
    """
    from codelens.evaluation.metrics import measures

    measures()  # before any work, if it is not installed
    if flags.compare and flags.ablate:
        raise UsageError("--compare and --ablate cannot both be had")
    if flags.rows and not flags.ablate:
        raise UsageError("--rows chooses rows of --ablate")
    if flags.plot is not None:
        from codelens.evaluation.plot import drawing

        if flags.compare or flags.ablate:
            raise UsageError("--plot draws a measurement, neither --compare nor --ablate")
        drawing()
    if flags.compare:
        from codelens.cli.eval.compared import compared

        return compared(flags)
    if flags.ablate:
        from codelens.cli.eval.ablated import ablated

        return ablated(flags, _command())
    return _measured(flags)


def _measured(flags: EvalFlags) -> int:
    from codelens.cli.eval.prepared import keep, prepared
    from codelens.cli.eval.shown import chosen, groups_table, show
    from codelens.cli.progress import watcher
    from codelens.cli.streams import say
    from codelens.evaluation.metrics import figures
    from codelens.evaluation.record import measurement, rows
    from codelens.evaluation.runner import ask_all, infos, workers
    from codelens.evaluation.summary import summarise

    metrics = chosen(flags)
    batches, missing, setup = prepared(flags)
    with watcher(flags.progress, flags.quiet) as progress, workers(flags.jobs) as pool:
        asked = ask_all(batches, setup, pool, progress)
    values = figures({answer.task.key: answer.judged for answer in asked})
    groups = summarise(asked, values)
    failed = [answer for answer in asked if answer.fault]
    if failed and not flags.quiet:
        say(f"warning: {len(failed)} queries failed and score 0; first {failed[0].task.key}: {failed[0].fault}")
    tasks = [answer.task for answer in asked]
    record = measurement(setup, _command(), tasks, infos(batches, setup.settings), missing, groups)
    keep(flags.out, record | {"rows": rows(asked, values)})
    show(flags, record, groups_table(record["groups"], metrics), setup.settings.color)
    if flags.plot is not None:
        from codelens.evaluation.plot import plot

        plot(record["groups"], flags.plot, f"{len(tasks)} tasks, profile {setup.options.profile}")
    return 0


def _command() -> list[str]:
    return ["codelens", *sys.argv[1:]]


command = declare(
    "eval",
    EvalFlags,
    measure,
    epilog="Exit: 0 measured, 2 error, 3 no index. `codelens eval make-tasks` makes tasks of a history; a file of its name is "
    "./make-tasks.",
)
