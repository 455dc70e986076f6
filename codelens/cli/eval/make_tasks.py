"""codelens eval make-tasks: tasks of one's own, from a repository's history, documentation and names."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from codelens.cli.declare import argument, declare, option
from codelens.cli.flags import CommonFlags, JsonFlags, ProgressFlags
from codelens.cli.progress import watcher
from codelens.cli.streams import say, say_plain, write_json
from codelens.cli.workplace import working_folder
from codelens.errors import UsageError

if TYPE_CHECKING:
    from codelens.evaluation.made.making import Made

MUCH = "How much"


class MakeTasksFlags(ProgressFlags, JsonFlags, CommonFlags):
    """Of which repository, where to, and how much."""

    repo: Annotated[
        Path | None, argument("A clone with its history; a bare one too [default: this repository]", "[REPO]")
    ] = None
    out: Annotated[
        Path | None, option("--out", metavar="FOLDER", help="Where to: a new folder, or one of such tasks")
    ] = None
    name: Annotated[
        str, option("--name", metavar="NAME", help="What tasks call the repository [default: its folder's name]")
    ] = ""
    head: Annotated[str, option("--head", metavar="REV", help="The last commit that is asked for [default: HEAD]")] = (
        "HEAD"
    )
    commits: Annotated[int, option("--commits", section=MUCH, metavar="N", help="Tasks of commits [default: 60]")] = 60
    docs: Annotated[int, option("--docs", section=MUCH, metavar="N", help="Tasks of documentation [default: 40]")] = 40
    identifiers: Annotated[
        int, option("--identifiers", section=MUCH, metavar="N", help="Names to look up [default: 40]")
    ] = 40
    topics: Annotated[int, option("--topics", section=MUCH, metavar="N", help="Tasks of guides [default: 40]")] = 40
    concepts: Annotated[
        int, option("--concepts", section=MUCH, metavar="N", help="Tasks of comments that name others [default: 40]")
    ] = 40
    max_files: Annotated[
        int,
        option("--max-files", section=MUCH, metavar="N", help="Of a tree; a larger one is drawn from [default: 3000]"),
    ] = 3000


def make_tasks(flags: MakeTasksFlags) -> int:
    """Make evaluation tasks from a git history: a commit's subject asks for the definitions that it changed.

    They are asked of the tree before those commits, which is laid beside them: NAME-commits.jsonl, NAME-tasks.jsonl (with what
    commits explain), NAME-names.jsonl and NAME-topics.jsonl (sections of guides, for the definitions that they name) go with
    NAME-commits/; NAME-docs.jsonl and NAME-concepts.jsonl (comments, for their definition and those that they name) with
    NAME-docs/. Nothing of the repository is run, and the same history gives the same files.
    """
    from codelens.evaluation.made.folder import cannot_write, name_meant, repository_meant
    from codelens.evaluation.made.making import Wanted, make_tasks
    from codelens.worktree.plumbing import GitError

    if flags.out is None:
        raise UsageError("--out is missing", "name a folder for the tasks, as --out ../tasks")
    cwd = working_folder()
    repository = repository_meant(cwd / flags.repo if flags.repo else cwd)
    name = name_meant(flags.name, repository)
    counts = flags.commits, flags.docs, flags.identifiers, flags.topics, flags.concepts
    wanted = Wanted(*counts, max_files=flags.max_files)
    if min(counts) < 0 or flags.max_files < 1:
        raise UsageError(
            "--commits, --docs, --identifiers, --topics and --concepts are at least 0, --max-files at least 1"
        )
    try:
        with watcher(flags.progress, flags.quiet) as progress:
            made = make_tasks(repository, name, cwd / flags.out, wanted, flags.head, progress)
    except GitError as fault:
        raise UsageError(
            f"{flags.repo or cwd}: {fault}", "`git log` there shows what there is; --head names a commit"
        ) from None
    except OSError as fault:
        raise cannot_write(flags.out, fault) from None
    _show(flags, name, made)
    return 0 if any(count for _, count in made.tasks) else 1


def _show(flags: MakeTasksFlags, name: str, made: Made) -> None:
    if flags.json:
        from codelens.render.records import to_json

        write_json([to_json(_record(name, made))])
    if flags.quiet:
        return
    from codelens.evaluation.made.making import told

    for line in told(name, made):
        say(line)
    if not any(count for _, count in made.tasks):
        say_plain(["hint: name a repository with more history, or in another language\n"])


def _record(name: str, made: Made) -> dict[str, Any]:
    from codelens.render.records import SCHEMA

    return {
        "schema": SCHEMA,
        "name": name,
        "base": made.base,
        "head": made.head,
        "tasks": dict(made.tasks),
        "files": made.files,
        "files_left_out": made.not_drawn + made.not_written,
        "commits": made.looked_at,
        "commits_left_out": dict(made.left_out),
        "exit_code": 0 if any(count for _, count in made.tasks) else 1,
    }


command = declare(
    "make-tasks",
    MakeTasksFlags,
    make_tasks,
    epilog="Exit: 0 made, 1 nothing to ask, 2 error. Then `codelens index` the trees, and `codelens eval` the tasks.",
)
