"""Make evaluation tasks, and the trees to search, from a git history.

Files of earlier runs are recognised by their rows; no other files are overwritten. The trees must be outside of git work trees,
whose ignore rules would apply to them.
"""

from __future__ import annotations

import re
import shutil
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from codelens.errors import CannotWrite, UsageError
from codelens.evaluation.commits import ChangingCommit, choose_commits, make_explained_query, make_subject_query
from codelens.evaluation.docstrings import write_undocumented_tree
from codelens.evaluation.guides import make_topic_rows
from codelens.evaluation.metrics import split_name
from codelens.evaluation.queries import KINDS as QUERY_KINDS
from codelens.evaluation.queries import make_query_rows
from codelens.evaluation.tasks import PlacedUnit, Row, TaskDraft, make_row, sample_rows, write_rows
from codelens.evaluation.trees import GitReader, TreeText, read_tree, sample_paths, write_tree
from codelens.files import make_folder, resolve_below, write_in_one_step
from codelens.model.code import SYMBOL_KINDS
from codelens.model.fast_dataclass import frozen_dataclass
from codelens.model.runs import ProgressSink
from codelens.text.counts import quantity
from codelens.text.notation import parse_json
from codelens.worktree.commits import resolve_commit
from codelens.worktree.repository import Repository, find_enclosing_repository, open_bare_repository

# Endings of task files, after the repository's name
KINDS = ("commits", "tasks", "docs", "names", "topics", *QUERY_KINDS)
TREES = ("commits", "docs")
LONGEST_NAME = 80
SHORT_ID = 10  # Digits of a commit id in a task id
SHORTEST = 3  # Minimum length of a name that a task looks up
_NAME = re.compile(r"\w[\w.+-]*")
_OWN = re.compile(rf"(\w[\w.+-]*)-({'|'.join(KINDS)})(\.jsonl)?")


def find_repository(place: Path) -> Repository:
    """Find the repository that contains a folder, or the bare repository in it. Raises UsageError."""
    hint = "name a clone with its history, as codelens eval make-tasks ../clone --out ../tasks"
    if not place.is_dir():
        raise UsageError(f"no such folder: {place}", hint)
    repository = open_bare_repository(place.resolve()) or find_enclosing_repository(place)
    if repository is None:
        raise UsageError(f"{place} is not in a git repository", hint)
    return repository


def choose_name(repository: Repository, name: str = "") -> str:
    """Return the repository's name in tasks and file names: `name` if given, else its folder's. Raises UsageError."""
    if name:
        if not _NAME.fullmatch(name) or len(name) > LONGEST_NAME:
            hint = "letters, digits, `_`, `-`, `+` and `.`, as --name our-code"
            raise UsageError(f"'{name}' cannot be part of a file name", hint)
        return name
    folder = repository.top.parent if repository.top.name == ".git" else repository.top
    return re.sub(r"[^\w.+-]+", "-", folder.name.removesuffix(".git")).strip("-.+")[:LONGEST_NAME] or "tree"


def prepare_folder(folder: Path, name: str) -> None:
    """Create the folder, or remove the files that an earlier run with this name made. Raises UsageError and CannotWrite."""
    resolve_below(folder)
    if find_enclosing_repository(folder) is not None:
        reason = "the ignore rules around it would decide what of the trees is indexed"
        raise UsageError(f"{folder} lies in a git repository", f"name one outside, as --out ~/tasks: {reason}")
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder} is not a folder", "name a new folder, or one made by make-tasks")
    try:
        make_folder(folder)
        foreign = next((entry.name for entry in sorted(folder.iterdir()) if not _is_own(entry)), None)
        if foreign is not None:
            problem = f"contains files that make-tasks did not write: {foreign}"
            raise UsageError(f"{folder} {problem}", "name an empty or a new folder")
        for tree in TREES:
            if (folder / f"{name}-{tree}").is_dir():
                shutil.rmtree(folder / f"{name}-{tree}")
        for kind in KINDS:  # empty files, so that an interrupted run can be recognised later
            write_in_one_step(folder / f"{name}-{kind}.jsonl", b"")
    except OSError as fault:
        raise write_error(folder, fault) from None


def write_error(folder: Path, fault: OSError) -> CannotWrite:
    """Make an error with the system's message and the path that it names, or else the folder."""
    return CannotWrite(f"{fault.filename or folder}: {fault.strerror or fault}", "name a writable folder")


def _is_own(entry: Path) -> bool:
    """Test whether an entry is a task file that make-tasks wrote, or the tree of such a file."""
    match = _OWN.fullmatch(entry.name)
    if not match or entry.is_symlink():
        return False
    name, kind, is_file = match.groups()
    if not is_file:
        return kind in TREES and entry.is_dir() and _is_own(entry.with_name(f"{entry.name}.jsonl"))
    try:
        with entry.open("rb") as file:
            line = file.readline()
        first = parse_json(line) if line else {"repo": name, "kind": ""}
    except (OSError, ValueError):
        return False
    return isinstance(first, dict) and first.get("repo") == name and "kind" in first


def make_commit_rows(repository: str, base: str, commits: Sequence[ChangingCommit], kind: str) -> list[Row]:
    """Make a task of each commit. Its query is the subject for kind `commit`, and subject and explanation for kind `task`."""
    rows = []
    for commit in commits:
        message, infix = commit.message, "task-" if kind == "task" else ""
        if query := make_explained_query(message) if kind == "task" else make_subject_query(message):
            relevant = [{"symbol": symbol, "files": [path]} for path, symbol in commit.places]
            row = make_row(f"{repository}-{infix}{message.id[:SHORT_ID]}", repository, query, relevant, kind)
            rows.append(row | {"commit": message.id, "base": base})
    return rows


def make_name_tasks(repository: str, texts: Sequence[TreeText], wanted: int) -> list[Row]:
    """Make tasks that look up unique names, every second with its container."""
    counts = Counter(unit.name for text in texts for unit in text.defined.units if unit.name)
    drafts = [
        TaskDraft(unit.name, (PlacedUnit(text.path, unit),), f"names {text.path} {unit.qualified_name}")
        for text in texts
        for unit in text.answers
        if unit.kind in SYMBOL_KINDS
        and counts[unit.name] == 1
        and len(unit.name) >= SHORTEST
        and unit.name.replace("$", "").rstrip("?!").isidentifier()
    ]
    containers = {draft.query: split_name(draft.answers[0].unit.container.replace("\\", "."))[-1:] for draft in drafts}
    rows = sample_rows(repository, "identifier", drafts, wanted)
    for row in rows[1::2]:
        row["query"] = ".".join((*containers[str(row["query"])], str(row["query"])))
    return rows


@frozen_dataclass
class TaskCounts:
    """The number of tasks to make of each kind."""

    commits: int = 60
    docs: int = 40
    identifiers: int = 40
    topics: int = 40
    queries: int = 15  # Number of tasks for each kind of short query (`evaluation.queries`)
    max_files: int = 3000
    """Maximum number of files in a tree. A larger tree is reduced to files with answers and a sample of the rest."""


@frozen_dataclass
class MadeTasks:
    """A report of make-tasks: the base, the number of tasks of each kind, and why commits were left out."""

    base: str
    head: str
    files: int  # Number of files that an index of the tree would hold
    not_drawn: int  # Number of files left out because they are too large or too many
    not_written: int  # Number of files that this file system cannot store
    tasks: dict[str, int]
    looked_at: int
    left_out: dict[str, int]  # Reason → number of commits, most first


def make_tasks(
    repository: Repository,
    name: str,
    folder: Path,
    wanted: TaskCounts,
    head: str = "HEAD",
    progress: ProgressSink | None = None,
) -> MadeTasks:
    """Write the trees NAME-commits/ and NAME-docs/ and the tasks NAME-KIND.jsonl to a folder, replacing earlier ones.

    Tasks of the kind `docs` search the second tree, all others the first. Raises UsageError, CannotWrite, GitError and OSError.
    """
    last = resolve_commit(repository, head)
    prepare_folder(folder, name)
    reader = GitReader(repository)
    chosen = choose_commits(reader, last, wanted.commits, progress)
    needed = {path for task in chosen.tasks for path, _ in task.places}
    tree = folder / f"{name}-commits"
    files = reader.list_files(chosen.base)
    paths = sample_paths(files, needed, wanted.max_files)
    failed = write_tree(reader, chosen.base, paths, tree)
    texts = list(read_tree(tree, progress, len(paths)))
    indexed = {(text.path, unit.qualified_name) for text in texts for unit in text.answers}
    left_out, commits = Counter(chosen.left_out), list[ChangingCommit]()
    for commit in chosen.tasks:
        if places := tuple(place for place in commit.places if place in indexed):
            commits.append(ChangingCommit(commit.message, places))
        else:
            left_out["changes only what an index leaves out"] += 1
    rows = {
        "commits": make_commit_rows(name, chosen.base, commits, "commit"),
        "tasks": make_commit_rows(name, chosen.base, commits, "task"),
        "docs": write_undocumented_tree(name, texts, folder / f"{name}-docs", wanted.docs),
        "names": make_name_tasks(name, texts, wanted.identifiers),
        "topics": make_topic_rows(name, texts, wanted.topics),
        **make_query_rows(name, texts, wanted.queries),
    }
    for kind, rows_of_kind in rows.items():
        write_rows(folder / f"{name}-{kind}.jsonl", rows_of_kind)
    return MadeTasks(
        chosen.base,
        chosen.head,
        files=len(texts),
        not_drawn=len(files) - len(paths),
        not_written=failed,
        tasks={kind: len(rows_of_kind) for kind, rows_of_kind in rows.items()},
        looked_at=chosen.looked_at,
        left_out=dict(sorted(left_out.items(), key=lambda entry: (-entry[1], entry[0]))),
    )


def format_summary(name: str, tasks: MadeTasks) -> Iterator[str]:
    """Yield the lines of a report: the tasks made, their commit, and what was left out and why."""
    yield f"{name}: {', '.join(f'{count} {kind}' for kind, count in tasks.tasks.items())}"
    commits, files = quantity(tasks.looked_at, "commit"), quantity(tasks.files, "file")
    yield f"{name}: the tree is that of {tasks.base[:12]}, {commits} before {tasks.head[:12]}: {files}"
    if tasks.not_drawn or tasks.not_written:
        yield f"{name}: files left out: {tasks.not_drawn} too large or too many, {tasks.not_written} that cannot be written here"
    usable = tasks.looked_at - sum(tasks.left_out.values())
    reasons = ", ".join(f"{count} {why}" for why, count in tasks.left_out.items())
    yield f"{name}: {commits} looked at, {usable} kept; left out: {reasons or 'none'}"
