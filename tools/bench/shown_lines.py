"""Measure how often the line shown for a right hit says what was asked: `python -m tools.bench.shown_lines INDEXES TASKS …`.

INDEXES is a folder with an index REPO.db for each repository of the tasks. Of each task the first hit that is right is looked at.
Its line is good if it has the name of the answer or at least half of the words of the query, or is the line that was asked for.
"""

from __future__ import annotations

import argparse
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from codelens.config import Settings
from codelens.evaluation.metrics import NamedHit, strict
from codelens.evaluation.tasks import Task, read_tasks
from codelens.index import Index
from codelens.model.search import Hit, SearchOptions


def is_good(hit: Hit, query: str) -> bool:
    """True if the line that a pipe shows says what was asked."""
    line = next((shown.text for shown in hit.snippet if shown.number == hit.line), "").casefold()
    words = re.findall(r"\w+", query.casefold())
    asked = re.search(r":(\d+)$", query)
    return (
        hit.unit.name.casefold() in line
        or (asked is not None and int(asked[1]) == hit.line)
        or 2 * sum(word in line for word in words) >= len(words)
    )


def right_hit(index: Index, task: Task) -> Hit | None:
    """The first of ten hits that is an answer of the task."""
    for hit in index.search(task.query, SearchOptions()).hits[:10]:
        if any(strict(NamedHit(hit.unit.qualified_name, hit.unit.path), entry) for entry in task.relevant):
            return hit
    return None


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the share of good lines by kind of question."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("indexes", type=Path)
    parser.add_argument("tasks", nargs="+", type=Path)
    given = parser.parse_args(arguments)
    good, seen = Counter[str](), Counter[str]()
    tasks = read_tasks(given.tasks)
    for repository in sorted({task.repository for task in tasks}):
        with Index.open(given.indexes / f"{repository}.db", Settings()) as index:
            for task in (task for task in tasks if task.repository == repository):
                if hit := right_hit(index, task):
                    seen[task.kind] += 1
                    good[task.kind] += is_good(hit, task.query)
    for kind, count in sorted(seen.items()):
        print(f"{kind}: {good[kind]} of {count}")
    print(f"all: {good.total()} of {seen.total()}, {good.total() / max(1, seen.total()):.3f}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
