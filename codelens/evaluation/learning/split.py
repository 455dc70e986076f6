"""Tasks of one repository → the older four fifths, to learn from, and the newest fifth, to see what that gained.

A commit's subject and its explanation ask for the same, so they are on the same side. What has no age is parted by its place in
its file, which a hash decides.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from codelens.evaluation.qrels import Task

NEWEST = 0.2
"""As `codelens model train` keeps for the same purpose."""
EXPLAINED = "-task-"
"""What the id of an explained commit has, where that of its subject has nothing (made/rows.py)."""


def split(tasks: Sequence[Task]) -> tuple[list[Task], list[Task]]:
    """(older, newest), each in the order of the tasks, which has the oldest commit first."""
    kinds: dict[str, list[Task]] = {}
    for task in tasks:
        kinds.setdefault(task.kind, []).append(task)
    newest = {
        task.key
        for kind, own in kinds.items()
        for task in own[_older(own) :]
        if not (kind == "task" and kinds.get("commit"))
    }
    newest |= {task.key for task in tasks if _subject(task) in newest}
    return [task for task in tasks if task.key not in newest], [task for task in tasks if task.key in newest]


def _older(tasks: Sequence[Task]) -> int:
    return len(tasks) - round(len(tasks) * NEWEST)


def _subject(task: Task) -> str:
    """The key of the task that asks with this commit's subject alone."""
    name, explained, commit = task.id.rpartition(EXPLAINED)
    return f"{task.repository}/{name}-{commit}" if task.kind == "task" and explained else ""


def kinds_of(tasks: Sequence[Task]) -> Mapping[str, int]:
    """Kind → how many there are, by name."""
    names = sorted({task.kind for task in tasks})
    return {name: sum(task.kind == name for task in tasks) for name in names}
