"""codelens eval make-tasks: makes tasks from a repository's history, documentation and names."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from codelens.cli.declare import Section, argument, command, option
from codelens.cli.flags import CommonFlags, JsonFlags, ProgressFlags
from codelens.cli.progress import watcher
from codelens.cli.streams import say, say_plain, write_record
from codelens.cli.workplace import working_folder
from codelens.errors import UsageError

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
    NAME-docs.jsonl (first sentences of comments) with NAME-docs/, which has none. Nothing of the repository is run, and the
    same history gives the same files.
    """
    from codelens.evaluation.make_tasks import TaskCounts, find_repository, make_tasks, name_of, summary_lines
    from codelens.render.records import SCHEMA

    if flags.out is None:
        raise UsageError("--out is missing", "name a folder for the tasks, as --out ../tasks")
    cwd = working_folder()
    repository = find_repository(cwd / flags.repo if flags.repo else cwd)
    name = name_of(repository, flags.name)
    counts = flags.commits, flags.docs, flags.identifiers, flags.topics, flags.queries
    wanted = TaskCounts(*counts, max_files=flags.max_files)
    if min(counts) < 0 or flags.max_files < 1:
        raise UsageError(
            "--commits, --docs, --identifiers, --topics and --queries must be at least 0, --max-files at least 1"
        )
    with explain_failures(flags.repo or cwd, flags.out), watcher(flags.progress, flags.quiet) as progress:
        made = make_tasks(repository, name, cwd / flags.out, wanted, flags.head, progress)
    code = 0 if any(made.tasks.values()) else 1
    if flags.json:
        record = {
            "schema": SCHEMA,
            "name": name,
            "base": made.base,
            "head": made.head,
            "tasks": made.tasks,
            "files": made.files,
            "files_left_out": made.not_drawn + made.not_written,
            "commits": made.looked_at,
            "commits_left_out": made.left_out,
            "exit_code": code,
        }
        write_record(record)
    if not flags.quiet:
        for line in summary_lines(name, made):
            say(line)
        if code:
            say_plain(["hint: name a repository with more history, or in another language\n"])
    return code


@contextmanager
def explain_failures(source: Path, folder: Path) -> Iterator[None]:
    """Turn errors of git about `source`, and of the system about `folder`, into errors for the user."""
    from codelens.evaluation.make_tasks import write_error
    from codelens.worktree.repository import GitError

    try:
        yield
    except GitError as fault:
        hint = "`git log` there shows what there is; --head names a commit"
        raise UsageError(f"{source}: {fault}", hint) from None
    except OSError as fault:
        raise write_error(folder, fault) from None
