"""codelens snapshot: list earlier states of the index, and compare two of them.

A state is a snapshot of the log, an index file, or a git revision. A revision is checked out to a temporary folder and indexed
there, without vectors; a second revision uses the same folder, so that only the files that differ are indexed again.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from codelens.cli.declare import CommandGroup, argument, command, required_argument
from codelens.cli.flags import OUTPUT, CommonFlags, JsonFlags, ListFlags
from codelens.cli.streams import inform, write_answer
from codelens.cli.workplace import Workplace, find_working_folder, find_workplace
from codelens.config import Settings
from codelens.errors import NoIndex, UsageError
from codelens.index import Index
from codelens.model.fast_dataclass import replace
from codelens.model.history import SnapshotDocument
from codelens.store.connection import is_index
from codelens.text.counts import quantity

if TYPE_CHECKING:
    from codelens.worktree.repository import Repository

HINT = "a state is @{1}, a snapshot's digest, an index file, or a revision of git"
LEAST_DIGITS = 4  # Fewest digits of a digest that name a state, as in git


class State(NamedTuple):
    """A state: a line of the log, an index file or a commit. Without any of these it is the present index."""

    name: str
    number: int | None = None
    file: Path | None = None
    commit: str = ""


def collect_facts(names: Sequence[str], place: Workplace | None, cwd: Path) -> list[list[SnapshotDocument]]:
    """Collect the documents of each state in order. `place` is None without an index; an empty name means the present index.

    Raises UsageError for a name without a state, and the errors of building an index.
    """
    from codelens.worktree.repository import find_enclosing_repository

    with nullcontext() if place is None else place.open() as index:
        rows = index.info().repositories if index else ()
        repository = next(filter(None, map(find_enclosing_repository, [cwd, *(Path(row.root) for row in rows)])), None)
        states = [_find_state(name, index, cwd, repository) for name in names]
        commits = [state for state in states if state.commit]
        facts_of_commits: list[list[SnapshotDocument]] = []
        root_name = ""
        if commits and repository:
            top = repository.top.resolve()
            inside = next((row for row in rows if Path(row.root).resolve().is_relative_to(top)), None)
            root, root_name = (Path(inside.root), inside.name) if inside else (repository.top, repository.top.name)
            facts_of_commits = _index_commits(commits, root, root_name, place.settings if place else Settings())
        facts = []
        for state in states:
            if state.commit:
                facts.append(facts_of_commits.pop(0))
            elif state.file:
                with Index.open(state.file) as other:
                    facts.append(other.read_facts())
            elif index:
                facts.append(index.read_facts(state.number))
    if root_name and len(commits) < len(states):  # a revision covers only one repository of an index
        facts = [[f for f in documents if f.repository == root_name] for documents in facts]
    return facts


def _find_state(name: str, index: Index | None, cwd: Path, repository: Repository | None) -> State:
    """Find the state that a name means. Raises UsageError for an unknown or ambiguous name."""
    from codelens.worktree.commits import resolve_commit
    from codelens.worktree.repository import GitError

    if not name:
        if index is None:
            raise UsageError("there is no index to compare with", "name two revisions, or run `codelens index`")
        return State("what is indexed")
    log = index.list_snapshots() if index else []
    listing = "`codelens snapshot list` lists them"
    if back := re.fullmatch(r"@\{(\d+)\}", name):
        if int(back[1]) >= len(log):
            raise UsageError(f"{name}: the log has {quantity(len(log), 'snapshot')}", listing)
        return State(name, number=log[int(back[1])].number)
    if (cwd / name).is_file():
        if not is_index(cwd / name):
            raise UsageError(f"{name} is not an index", HINT)
        return State(name, file=cwd / name)
    fitting = [line for line in log if len(name) >= LEAST_DIGITS and line.snapshot.startswith(name.lower())]
    if len({line.snapshot for line in fitting}) > 1:
        raise UsageError(f"{name} begins several digests", listing)
    if fitting:
        return State(name, number=fitting[0].number)
    if repository is None:
        raise UsageError(f"'{name}' names no state", HINT)
    try:
        return State(name, commit=resolve_commit(repository, name))
    except GitError as fault:
        raise UsageError(f"'{name}' names no state: {fault}", HINT) from None


def _index_commits(states: Sequence[State], root: Path, name: str, settings: Settings) -> list[list[SnapshotDocument]]:
    """Index the tree of each commit in a temporary folder, and collect its documents."""
    from codelens.worktree.commits import write_tree
    from codelens.worktree.repository import GitError, find_enclosing_repository

    repository = find_enclosing_repository(root)
    assert repository is not None
    below = root.resolve().relative_to(repository.top.resolve()).as_posix()
    quick = replace(settings, vector=False, fuzzy=False, snapshots_kept=0)
    facts = []
    with tempfile.TemporaryDirectory(prefix="codelens-") as folder:
        tree, db = Path(folder) / "tree" / name, Path(folder) / "index.db"
        tree.mkdir(parents=True)
        for state in states:
            try:
                write_tree(repository, state.commit, tree, "" if below == "." else below, settings.max_file_size)
            except GitError as fault:
                raise UsageError(f"{state.name}: {fault}") from None
            Index.build(db, [tree], quick)
            with Index.open(db, quick) as index:
                facts.append(index.read_facts())
    return facts


@command("list", epilog="Exit: 0 some, 1 none, 3 no index.")
def list_snapshots(flags: ListFlags) -> int:
    """List earlier states of the index, newest first. Shows @{0}, @{1} …, with digest, Merkle root and counts.

    The setting snapshots_kept is the number of states whose symbols and edges are kept for `diff`.
    """
    from codelens.render.reports import build_log_record, format_log

    with find_workplace(flags).open() as index:
        log = index.list_snapshots()
    exit_code = 0 if log else 1
    write_answer(flags, lambda: build_log_record(log, exit_code), lambda: format_log(log))
    return exit_code


class DiffFlags(CommonFlags, JsonFlags):
    old: str = required_argument("OLD", "@{1}, a snapshot's digest, an index file, or a revision of git")
    new: str | None = argument("[NEW]", "The same [default: the current index]")
    edges: bool = OUTPUT("--edges", "Show edges, too; JSON always has them")


@command(epilog="Exit: 0 something differs, 1 nothing, 2 no such state, 3 no index.")
def diff(flags: DiffFlags) -> int:
    """Compare the symbols of two states. Marks added (+), removed (-), moved (>) and changed signatures (~).

    A revision is read from git's objects into a temporary index; nothing that the repository configures runs.
    """
    from codelens.render.reports import build_difference_record, format_difference
    from codelens.snapshots.compare import compare_snapshots

    cwd = find_working_folder()
    try:
        place = find_workplace(flags)
    except NoIndex:
        if flags.db is not None or flags.new is None:
            raise
        place = None  # two revisions, or two index files, need no index here
    old, new = collect_facts([flags.old, flags.new or ""], place, cwd)
    difference = compare_snapshots(old, new)
    exit_code = 1 if difference.empty else 0
    write_answer(
        flags,
        lambda: build_difference_record(difference, exit_code),
        lambda: format_difference(difference, flags.edges),
    )
    hidden = 0 if flags.edges or flags.json else len(difference.edges_added) + len(difference.edges_removed)
    if hidden:
        inform(flags, f"note: {quantity(hidden, 'more edge')} changed; --edges shows them")
    return exit_code


snapshot = CommandGroup(
    "snapshot", (list_snapshots, diff), "List earlier states of the index, and compare two of them."
)
