"""codelens eval make-tasks: makes tasks from a repository's history, documentation and names."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from codelens.cli.declare import Section, argument, command, option
from codelens.cli.flags import CommonFlags, JsonFlags, ProgressFlags
from codelens.cli.progress import watcher
from codelens.cli.streams import say, say_plain, write_record
from codelens.cli.workplace import working_folder
from codelens.errors import UsageError

if TYPE_CHECKING:
    from codelens.evaluation.make_tasks import MadeTasks

MUCH = Section("How much")


class MakeTasksFlags(ProgressFlags, JsonFlags, CommonFlags):
    """Options: the repository, the output folder, and the number of tasks."""

    repo: Path | None = argument(None, "[REPO]", "A clone with its history; a bare one too [default: this repository]")
    out: Path | None = option(None, "--out FOLDER", "A new folder, or one that make-tasks wrote")
    name: str = option("", "--name NAME", "The repository's name in tasks [default: its folder's name]")
    head: str = option("HEAD", "--head REV", "The last commit to use [default: HEAD]")
    commits: int = MUCH.option(60, "--commits N", "Tasks of commits [default: 60]")
    docs: int = MUCH.option(40, "--docs N", "Tasks of documentation [default: 40]")
    identifiers: int = MUCH.option(40, "--identifiers N", "Names to look up [default: 40]")
    topics: int = MUCH.option(40, "--topics N", "Tasks of guides [default: 40]")
    concepts: int = MUCH.option(40, "--concepts N", "Tasks of comments that name others [default: 40]")
    queries: int = MUCH.option(
        15, "--queries N", "Short queries of each kind: messages, literals, fragments … [default: 15]"
    )
    max_files: int = MUCH.option(3000, "--max-files N", "Most files of a tree; a larger one is sampled [default: 3000]")


@command(
    epilog="Exit: 0 made, 1 nothing to ask, 2 error. Then `codelens index` the trees, and `codelens eval` the tasks."
)
def make_tasks(flags: MakeTasksFlags) -> int:
    """Make evaluation tasks from a git history. A commit's subject is the query, the definitions that it changed are the answers.

    Queries run on the tree before those commits, which is written too: NAME-commits.jsonl, NAME-tasks.jsonl (with what
    commits explain), NAME-names.jsonl, NAME-topics.jsonl (sections of guides, for the definitions that they name) and the
    short queries NAME-messages.jsonl, -literals, -fragments, -namesakes and -qualified go with NAME-commits/;
    NAME-docs.jsonl, NAME-concepts.jsonl (comments, for their definition and those that they name) and NAME-behaviours.jsonl
    (telling words of comments) with NAME-docs/. Nothing of the repository is run, and the same history gives the same files.
    """
    from codelens.evaluation.make_tasks import TaskCounts, cannot_write, make_tasks, name_meant, repository_meant
    from codelens.worktree.repository import GitError

    if flags.out is None:
        raise UsageError("--out is missing", "name a folder for the tasks, as --out ../tasks")
    cwd = working_folder()
    repository = repository_meant(cwd / flags.repo if flags.repo else cwd)
    name = name_meant(flags.name, repository)
    counts = flags.commits, flags.docs, flags.identifiers, flags.topics, flags.concepts, flags.queries
    wanted = TaskCounts(*counts, max_files=flags.max_files)
    if min(counts) < 0 or flags.max_files < 1:
        raise UsageError(
            "--commits, --docs, --identifiers, --topics, --concepts and --queries must be at least 0, --max-files at least 1"
        )
    try:
        with watcher(flags.progress, flags.quiet) as progress:
            tasks = make_tasks(repository, name, cwd / flags.out, wanted, flags.head, progress)
    except GitError as fault:
        raise UsageError(
            f"{flags.repo or cwd}: {fault}", "`git log` there shows what there is; --head names a commit"
        ) from None
    except OSError as fault:
        raise cannot_write(flags.out, fault) from None
    _show(flags, name, tasks)
    return 0 if any(count for _, count in tasks.tasks) else 1


def _show(flags: MakeTasksFlags, name: str, tasks: MadeTasks) -> None:
    if flags.json:
        write_record(_record(name, tasks))
    if flags.quiet:
        return
    from codelens.evaluation.make_tasks import summary_lines

    for line in summary_lines(name, tasks):
        say(line)
    if not any(count for _, count in tasks.tasks):
        say_plain(["hint: name a repository with more history, or in another language\n"])


def _record(name: str, tasks: MadeTasks) -> dict[str, Any]:
    from codelens.render.records import SCHEMA

    return {
        "schema": SCHEMA,
        "name": name,
        "base": tasks.base,
        "head": tasks.head,
        "tasks": dict(tasks.tasks),
        "files": tasks.files,
        "files_left_out": tasks.not_drawn + tasks.not_written,
        "commits": tasks.looked_at,
        "commits_left_out": dict(tasks.left_out),
        "exit_code": 0 if any(count for _, count in tasks.tasks) else 1,
    }
