"""A repository → its tasks, and an index of each tree that they are asked of: batches for a runner."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from codelens.config import Settings
from codelens.evaluation.made.folder import KINDS, TREES
from codelens.evaluation.made.making import Made, Wanted, make_tasks
from codelens.evaluation.qrels import Task, read_tasks
from codelens.evaluation.runner import Batch
from codelens.index import Index
from codelens.runs import ProgressSink
from codelens.worktree.repository import Repository

WITHOUT_DOCUMENTATION = frozenset(("docs", "concepts"))
"""Files of tasks whose words were taken from the tree: they are asked of the one that has no documentation."""


def make_batches(
    repository: Repository,
    name: str,
    folder: Path,
    wanted: Wanted,
    settings: Settings,
    head: str = "HEAD",
    progress: ProgressSink | None = None,
) -> tuple[Made, list[Batch]]:
    """Tasks and trees below `folder`/tasks, the indexes beside it. Raises what making tasks and indexing raise."""
    made = make_tasks(repository, name, folder / "tasks", wanted, head, progress)
    return made, batches_of(name, folder, settings, progress)


def batches_of(name: str, folder: Path, settings: Settings, progress: ProgressSink | None = None) -> list[Batch]:
    """Of tasks that were made there; the indexes are brought up to date."""
    found = []
    for tree in TREES:
        tasks = _tasks(name, folder, [kind for kind in KINDS if _tree_of(kind) == tree])
        if tasks:
            index = folder / f"{tree}.db"
            Index.build(index, [folder / "tasks" / f"{name}-{tree}"], settings, progress=progress)
            found.append(Batch(index, tuple(tasks)))
    return found


def _tree_of(kind: str) -> str:
    return "docs" if kind in WITHOUT_DOCUMENTATION else "commits"


def _tasks(name: str, folder: Path, kinds: Sequence[str]) -> list[Task]:
    files = [folder / "tasks" / f"{name}-{kind}.jsonl" for kind in kinds]
    return read_tasks([file for file in files if file.is_file()])
