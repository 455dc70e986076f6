"""Every option of `codelens eval TASKS...`."""

from pathlib import Path
from typing import Annotated

from codelens.cli.declare import argument, option
from codelens.cli.flags import OUTPUT, AllowNetwork, CommonFlags, JsonFlags, ProgressFlags, ScoreFlags

TASKS = "Tasks and indexes"
WAYS = "Instead of measuring once"


class EvalFlags(ProgressFlags, CommonFlags, JsonFlags, ScoreFlags):
    """What to ask, where, how it is judged, and what to do with the figures."""

    tasks: Annotated[
        list[Path] | None,
        argument("Files of tasks as JSON Lines: id, repo, query, relevant; tier and kind where known", "[TASKS]..."),
    ] = None
    topics: Annotated[
        Path | None,
        option("--topics", section=TASKS, metavar="FILE", help="TREC topics: <top> elements, or number, tab, query"),
    ] = None
    qrels: Annotated[
        Path | None,
        option(
            "--qrels", section=TASKS, metavar="FILE", help="Their judgements; a document is PATH or PATH:Container.name"
        ),
    ] = None
    indexes: Annotated[
        Path | None,
        option(
            "--indexes",
            section=TASKS,
            metavar="FOLDER",
            help="Ask REPO.db of this folder, REPO being the task's; else --db",
        ),
    ] = None
    suffix: Annotated[
        str,
        option(
            "--suffix", section=TASKS, metavar="TEXT", help="Of those files: REPO{TEXT}.db, as in --suffix=-commits"
        ),
    ] = ""
    same_file: Annotated[
        bool,
        option(
            "--same-file",
            section=TASKS,
            help="The strict rule asks for name and file, as for commits, in place of name and enclosing name",
        ),
    ] = False
    jobs: Annotated[
        int, option("--jobs", metavar="N", help="Processes that ask; more than the cores spoils latency [default: 1]")
    ] = 1
    allow_network: AllowNetwork = False
    out: Annotated[
        Path | None,
        option("--out", section=OUTPUT, metavar="FILE", help="Keep everything in FILE as JSON, task by task"),
    ] = None
    compare: Annotated[
        bool,
        option("--compare", section=WAYS, help="TASKS are two runs that --out kept: B against A, with a paired test"),
    ] = False
    ablate: Annotated[
        bool, option("--ablate", section=WAYS, help="Each channel, rule and signal of the profile left out in turn")
    ] = False
    rows: Annotated[
        str | None,
        option(
            "--rows", section=WAYS, metavar="A,B", help="Only what is named so of --ablate, as in --rows channel,walk"
        ),
    ] = None
    metrics: Annotated[
        str | None,
        option("--metrics", section=OUTPUT, metavar="A,B", help="Only these in the table, as snDCG@10,candidates"),
    ] = None
    markdown: Annotated[bool, option("--markdown", section=OUTPUT, help="A table of Markdown")] = False
    plot: Annotated[
        Path | None,
        option("--plot", section=OUTPUT, metavar="FILE", help="Draw nDCG by repository and tier: PNG or SVG"),
    ] = None
