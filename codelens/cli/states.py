"""What a person calls a state → its facts: a snapshot of the log, an index file, or a revision of git.

A revision is laid out in a temporary folder and indexed there, without vectors; two of them share the folder, so that the
second one costs what lies between them.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from codelens.cli.workplace import Workplace
from codelens.config import Settings
from codelens.errors import UsageError
from codelens.index import Index
from codelens.nouns import dataclass
from codelens.past import DocumentFacts

HINT = "a state is @{1}, a snapshot's digest, an index file, or a revision of git"
LEAST_DIGITS = 4
"""Of a digest, as in git."""


@dataclass(frozen=True, slots=True)
class State:
    """One of the three: a line of the log, an index file, a commit."""

    name: str
    number: int | None = None
    file: Path | None = None
    commit: str = ""

    @property
    def now(self) -> bool:
        """Whether it is what the index holds."""
        return self.number is None and self.file is None and not self.commit


def facts_of_states(names: Sequence[str], place: Workplace | None, cwd: Path) -> list[list[DocumentFacts]]:
    """The facts of each state, in that order; `place` is None where there is no index. An empty name is what is indexed now.

    Raises UsageError for what names no state, and what building an index raises.
    """
    from codelens.worktree.revisions import repository_of

    index = place.open() if place else None
    try:
        states = [_state(name, index, cwd) for name in names]
        commits = [state for state in states if state.commit]
        roots = [Path(r.root) for r in index.info().repositories] if index else []
        found = repository_of(cwd) or next(filter(None, map(repository_of, roots)), None)
        laid: list[list[DocumentFacts]] = []
        root_name = ""
        if commits and found:
            inside = next(
                (r for r in (index.info().repositories if index else ()) if _within(Path(r.root), found.top)), None
            )
            root, root_name = (Path(inside.root), inside.name) if inside else (found.top, found.top.name)
            laid = _of_commits(commits, root, root_name, cwd, place.settings if place else Settings())
        facts = [laid.pop(0) if state.commit else _facts(state, index) for state in states]
    finally:
        if index:
            index.close()
    if root_name and len(commits) < len(states):  # a revision says nothing of the other repositories of an index
        facts = [[f for f in some if f.repository == root_name] for some in facts]
    return facts


def _within(path: Path, top: Path) -> bool:
    real = path.resolve()
    return real == top.resolve() or top.resolve() in real.parents


def _state(name: str, index: Index | None, cwd: Path) -> State:
    from codelens.worktree.plumbing import GitError
    from codelens.worktree.revisions import commit_id, repository_of

    if not name:
        if index is None:
            raise UsageError("there is no index to compare with", "name two revisions, or run `codelens index`")
        return State("what is indexed")
    log = index.snapshots() if index else []
    if back := re.fullmatch(r"@\{(\d+)\}", name):
        if int(back[1]) >= len(log):
            raise UsageError(f"{name}: the log has {len(log)} snapshots", "`codelens snapshots` lists them")
        return State(name, number=log[int(back[1])].number)
    if (cwd / name).is_file():
        if not Index.is_one(cwd / name):
            raise UsageError(f"{name} is no index", HINT)
        return State(name, file=cwd / name)
    fits = [line for line in log if len(name) >= LEAST_DIGITS and line.snapshot.startswith(name.lower())]
    if len({line.snapshot for line in fits}) > 1:
        raise UsageError(f"{name} begins several digests", "`codelens snapshots` lists them")
    if fits:
        return State(name, number=fits[0].number)
    roots = [cwd, *(Path(r.root) for r in (index.info().repositories if index else ()))]
    repository = next(filter(None, map(repository_of, roots)), None)
    if repository is None:
        raise UsageError(f"'{name}' names no state", HINT)
    try:
        return State(name, commit=commit_id(repository, name))
    except GitError as fault:
        raise UsageError(f"'{name}' names no state: {fault}", HINT) from None


def _facts(state: State, index: Index | None) -> list[DocumentFacts]:
    if state.file:
        with Index.open(state.file) as other:
            return other.facts()
    assert index is not None
    return index.facts(state.number)


def _of_commits(
    states: Sequence[State], root: Path, name: str, cwd: Path, settings: Settings
) -> list[list[DocumentFacts]]:
    from codelens.worktree.laying import lay_tree
    from codelens.worktree.plumbing import GitError
    from codelens.worktree.revisions import repository_of

    repository = repository_of(root)
    assert repository is not None
    below = root.resolve().relative_to(repository.top.resolve()).as_posix()
    quick = replace(settings, vector=False, fuzzy=False, snapshots_kept=0)
    facts = []
    with tempfile.TemporaryDirectory(prefix="codelens-") as folder:
        tree, db = Path(folder) / "tree" / name, Path(folder) / "index.db"
        tree.mkdir(parents=True)
        for state in states:
            try:
                lay_tree(repository, state.commit, tree, "" if below == "." else below, settings.max_file_size)
            except GitError as fault:
                raise UsageError(f"{state.name}: {fault}") from None
            Index.build(db, [tree], quick)
            with Index.open(db, quick) as made:
                facts.append(made.facts())
    return facts
