"""The golden questions of tests/questions: well-formed, each with its kind, and of repositories that are pinned."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path

import pytest

from codelens.evaluation.metrics import split_name
from codelens.evaluation.tasks import ABSENT, Task, read_tasks
from codelens.text.identifiers import fold_identifier

FOLDER = Path(__file__).parents[1] / "questions"
FILES = sorted(FOLDER.glob("*.jsonl"))
KINDS = {*("name", "namesake", "fragment", "typo", "message", "concept", "behaviour", "qualified", "literal"), ABSENT}
FEWEST, MOST_RIGHT = 300, 4


@pytest.fixture(scope="module")
def tasks() -> list[Task]:
    return read_tasks(FILES)


def pinned() -> dict[str, tuple[str, str]]:
    """Name → OWNER/NAME and commit."""
    found: dict[str, tuple[str, str]] = {}
    for path in sorted(FOLDER.glob("repositories-*.tsv")):
        for line in path.read_text(encoding="utf-8").splitlines():
            name, repository, commit = line.split("\t")
            assert name not in found
            found[name] = repository, commit
    return found


def test_every_repository_is_pinned_and_asked_about(tasks: list[Task]) -> None:
    assert {task.repository for task in tasks} == pinned().keys()
    for name, (repository, commit) in pinned().items():
        assert re.fullmatch(r"[\w-]+", name)
        assert re.fullmatch(r"[\w.-]+/[\w.-]+", repository)
        assert re.fullmatch(r"[0-9a-f]{40}", commit)


def test_every_kind_is_asked_of_every_repository(tasks: list[Task]) -> None:
    assert len(tasks) >= FEWEST
    counts = Counter((task.repository, task.kind) for task in tasks)
    assert {kind for _, kind in counts} == KINDS
    for kind in KINDS:
        assert len({counts[name, kind] for name in pinned()}) == 1, f"as many of kind {kind} in each"


def test_ids_say_repository_and_kind(tasks: list[Task]) -> None:
    for task in tasks:
        assert re.fullmatch(rf"{re.escape(task.repository)}-{task.kind}-\d+", task.id)


def test_only_what_is_absent_has_no_answer(tasks: list[Task]) -> None:
    for task in tasks:
        assert task.query.strip() == task.query != "", task.id
        assert (len(task.relevant) == 0) is (task.kind == ABSENT), task.id
        assert len(task.relevant) <= MOST_RIGHT, task.id


def test_answers_are_places(tasks: list[Task]) -> None:
    for path in FILES:
        for line in path.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            places = {(entry["symbol"], *entry["files"], *entry["lines"]) for entry in row["relevant"]}
            assert len(places) == len(row["relevant"]), row["id"]
            for entry in row["relevant"]:
                first, last = entry["lines"]
                assert 1 <= first <= last, row["id"]
                [file] = entry["files"]
                assert not file.startswith("/") and "\\" not in file, row["id"]
    for task in tasks:
        assert all(entry.files and (entry.symbol or task.kind == "literal") for entry in task.relevant), task.id


def test_names_and_fragments_are_those_of_their_answers(tasks: list[Task]) -> None:
    for task in tasks:
        last = {fold_identifier(split_name(entry.symbol)[-1]) for entry in task.relevant if entry.symbol}
        if task.kind in ("name", "namesake"):
            assert fold_identifier(task.query) in last, task.id
        elif task.kind == "fragment":
            assert any(fold_identifier(task.query) in name for name in last), task.id
        elif task.kind == "typo":
            assert fold_identifier(task.query) not in last, task.id
