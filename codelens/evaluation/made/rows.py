"""Tasks → rows of a file with one JSON object a line, as `evaluation.judging` reads them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from codelens.evaluation.made.commits import Changing, Place
from codelens.evaluation.made.subjects import long_query_of, query_of

Row = Mapping[str, object]
SHORT_ID = 10
"""Digits of a commit's id in a task's: as in the development tasks."""


def row(identity: str, name: str, query: str, places: Iterable[Place], kind: str) -> dict[str, object]:
    """One task; `name` is the repository's, as tasks give it."""
    relevant = [{"symbol": symbol, "files": [path]} for path, symbol in places]
    return {"id": identity, "repo": name, "query": query, "relevant": relevant, "kind": kind}


def commit_rows(name: str, base: str, tasks: Sequence[Changing]) -> list[Row]:
    """A row for each commit: its subject asks."""
    return [_of_commit(name, base, one, query_of(one.message), "commit") for one in tasks]


def long_rows(name: str, base: str, tasks: Sequence[Changing]) -> list[Row]:
    """A row for each commit that explains itself: subject and explanation ask."""
    return [_of_commit(name, base, one, asked, "task") for one in tasks if (asked := long_query_of(one.message))]


def _of_commit(name: str, base: str, one: Changing, query: str, kind: str) -> Row:
    identity = f"{name}-{'task-' if kind == 'task' else ''}{one.message.id[:SHORT_ID]}"
    return row(identity, name, query, one.places, kind) | {"commit": one.message.id, "base": base}


def write_rows(path: Path, rows: Iterable[Row]) -> None:
    """The file of these rows, in their order. Raises OSError."""
    lines = "".join(json.dumps(one, ensure_ascii=False) + "\n" for one in rows)
    path.write_text(lines, encoding="utf-8", newline="")
