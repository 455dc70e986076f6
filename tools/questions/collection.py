"""Read the collection: its packages, and the tasks of its three parts by package."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from codelens.evaluation.tasks import Task, read_tasks
from tools.model.manifest import Package, read_manifest

LEARN, CHOOSE, MEASURE = "learn", "choose", "measure"
PARTS = (LEARN, CHOOSE, MEASURE)
"""Whole packages: what is learned from, what decisions are made by, and what is only measured."""
HERE = Path(__file__).parent


def read_packages() -> list[Package]:
    """The packages of packages.tsv; the split of each is its part."""
    return read_manifest((HERE / "packages.tsv").read_text("utf-8"), PARTS)


def read_part(part: str) -> Mapping[str, list[Task]]:
    """Package → its tasks. Names are those of the packages' folders."""
    found: dict[str, list[Task]] = {}
    for task in read_tasks([HERE / f"{part}.jsonl"]):
        found.setdefault(task.repository, []).append(task)
    return found


def tree_place(folder: Path, package: str) -> Path:
    """The sources of a package, in the folder of `python -m tools.questions.lay`."""
    return folder / "trees" / package


def index_place(folder: Path, package: str) -> Path:
    """The index of a package there."""
    return folder / "indexes" / f"{package}.db"
