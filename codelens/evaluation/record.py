"""A measurement → the object that `--out` keeps and `--json` prints: all that is needed to repeat and to compare it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import xxhash

from codelens import __version__
from codelens.evaluation.metrics import Values
from codelens.evaluation.qrels import Task
from codelens.evaluation.runner import Asked, Setup
from codelens.evaluation.summary import Group, shape
from codelens.model import IndexInfo, SearchOptions
from codelens.search.profiles import load_profile

SCHEMA = 1
"""Of this object: changes when a field is taken away, renamed or means something else."""
PLACES = 6
"""Decimals of what is printed or kept; the reckoning has all of them."""

Record = dict[str, Any]


def digest(tasks: Sequence[Task]) -> str:
    """The same for the same questions and answers, in whatever order and files they came."""
    rows = sorted(json.dumps(asdict(task), ensure_ascii=True, sort_keys=True) for task in tasks)
    return xxhash.xxh3_64_hexdigest("\n".join(rows).encode())


def configuration(setup: Setup) -> Record:
    """Options that are not as they come, and every number of the profile, as they hold for these answers."""
    options, usual = setup.options, SearchOptions()
    changed = {
        name: value for name, value in asdict(options).items() if value != getattr(usual, name) and name != "limit"
    }
    return {
        "rule": setup.rule.__name__,
        "model": setup.settings.model,
        "profile_name": options.profile,
        "options": changed,
        "profile": asdict(load_profile(options, setup.settings.weights)),
    }


def measurement(
    setup: Setup,
    command: Sequence[str],
    tasks: Sequence[Task],
    indexes: Mapping[str, IndexInfo],
    missing: Mapping[str, int],
    groups: Sequence[Group],
) -> Record:
    """The aggregate object."""
    return {
        "schema": SCHEMA,
        "version": __version__,
        "command": list(command),
        "tasks": {"count": len(tasks), "hash": digest(tasks)},
        "indexes": {name: _index(info) for name, info in indexes.items()},
        "missing": dict(missing),
        "configuration": configuration(setup),
        "groups": [_group(group) for group in groups],
    }


def _index(info: IndexInfo) -> Record:
    return {
        "snapshot": info.snapshot,
        "schema": info.schema,
        "embedder": info.embedder,
        "documents": sum(row.documents for row in info.repositories),
    }


def _group(group: Group) -> Record:
    return {
        "by": group.by,
        "name": group.name,
        "n": group.tasks,
        "metrics": {
            name: {"mean": _rounded(mean.mean)}
            | ({"low": _rounded(mean.low), "high": _rounded(mean.high)} if mean.low is not None else {})
            for name, mean in group.means.items()
        },
        "cpu_ms": {name: round(value, 1) for name, value in group.cpu_ms.items()},
        "wall_ms": {name: round(value, 1) for name, value in group.wall_ms.items()},
    }


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, PLACES)


def rows(asked: Sequence[Asked], values: Values) -> list[Record]:
    """One object a task, in the order they were asked; metrics are keys of it, as in the files of `score.py --out`."""
    return [
        {
            "id": answer.task.id,
            "repo": answer.task.repository,
            "tier": answer.task.tier or None,
            "kind": answer.task.kind or None,
            "shape": shape(answer.task.query),
            "query": answer.task.query,
            **{name: round(value, PLACES) for name, value in values[answer.task.key].items()},
            "candidate_count": answer.candidates,
            "cpu_ms": round(answer.cpu_ms, 1),
            "ms": round(answer.wall_ms, 1),
            "error": answer.fault or None,
            "top": [list(hit) for hit in answer.top],
        }
        for answer in asked
    ]
