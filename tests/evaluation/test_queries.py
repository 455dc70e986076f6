"""Short queries made from a tree: messages, literals, fragments, namesakes, and qualified names, with their answers."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from codelens.evaluation.make_tasks import KINDS as ENDINGS
from codelens.evaluation.make_tasks import TaskCounts, find_repository, make_tasks
from codelens.evaluation.queries import FEWEST_WORDS, FRAGMENT, KINDS, MOST_ANSWERS, MOST_WORDS
from codelens.evaluation.tasks import Task, read_tasks
from codelens.text.identifiers import fold_identifier, split_identifier
from tests.evaluation.histories import History

LOCK = '''\
"""Boats go up and down."""

import log


class Lock:
    """Lifts boats."""

    def open_gate(self, boat):
        """Waits until the tide is level, then opens both doors slowly."""
        if boat.length > 40:
            raise TideError("the gate stays shut until the water is level again")
        return log.warn(f"boat {boat.name} waits for the keeper of the lock")

    def close_gate(self, boat):
        if boat.inside:
            return self.header("X-Boat-Inside")
        return "just a string of words that nobody prints"


class Weir:
    def open_gate(self, boat):
        raise TideError("a weir has no gate that opens")

    def options(self):
        return ["--smart-weir", "/boats/:id/moor", "4.17.1", "no literal at all", "abc"]


def lock(boat):
    return Lock().open_gate(boat)


def calculate_displacement(boat):
    """Multiplies the draught of a hull with its length and breadth."""
    return boat.weight


def one():
    return "common-key-here"


def two():
    return "common-key-here"


def three():
    return "common-key-here"


def four():
    raise TideError("error that four of them raise")


def five():
    raise TideError("error that four of them raise")


def six():
    raise TideError("error that four of them raise")


def seven():
    return "common-key-here", TideError("error that four of them raise")
'''
RUST = """\
pub struct Hull;

impl Hull {
    pub fn measure(&self) -> u8 {
        panic!("the hull is too long to measure");
    }
}

pub struct Mast;

impl Mast {
    pub fn measure(&self) -> u8 {
        2
    }
}
"""
TEST = """\
class TestLock:
    def test_messages(self):
        raise AssertionError("a message that only a test prints here")

    def test_extraordinary_circumstances(self):
        return "X-Only-In-Tests", "--only-in-tests"


class Buoy:
    pass


def buoy():
    pass
"""
DOCS = """\
# The lock

```python
def mentioned_in_documents_only():
    raise DocsError("a message that only the docs show")
```
"""
FILES = {
    "src/lock.py": LOCK,
    "src/hull.rs": RUST,
    "tests/test_lock.py": TEST,
    "docs/guide.md": DOCS,
    "examples/show.py": TEST,
}


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> History:
    found = History(tmp_path_factory.mktemp("quay") / "quay")
    found.commit("Begin with the quay", FILES)
    return found


@pytest.fixture(scope="module")
def folder(tree: History) -> Path:
    made = tree.top.parent / "tasks"
    make_tasks(find_repository(tree.top), "quay", made, TaskCounts(queries=100))
    return made


def rows(folder: Path, ending: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / f"quay-{ending}.jsonl").read_text("utf-8").splitlines()]


def asked(folder: Path, ending: str) -> dict[str, set[str]]:
    """Query → symbols of its answers."""
    return {row["query"]: {entry["symbol"] for entry in row["relevant"]} for row in rows(folder, ending)}


def tasks(folder: Path) -> Iterator[tuple[str, Task]]:
    for ending in KINDS:
        yield from ((ending, task) for task in read_tasks([folder / f"quay-{ending}.jsonl"]))


def test_a_message_asks_for_what_prints_it(folder: Path) -> None:
    found = asked(folder, "messages")
    messages = {
        "the gate stays shut until the water is level again": "Lock.open_gate",
        "waits for the keeper of the lock": "Lock.open_gate",
        "a weir has no gate that opens": "Weir.open_gate",
        "the hull is too long to measure": "Hull.measure",
    }
    assert len(found) == len(messages)
    for query, answers in found.items():
        assert FEWEST_WORDS <= len(query.split()) <= MOST_WORDS
        [whole] = [message for message in messages if f" {query} " in f" {message} "]
        assert answers == {messages[whole]}


def test_a_literal_asks_for_what_holds_it(folder: Path) -> None:
    assert asked(folder, "literals") == {
        "X-Boat-Inside": {"Lock.close_gate"},
        "--smart-weir": {"Weir.options"},
        "/boats/:id/moor": {"Weir.options"},
        "4.17.1": {"Weir.options"},
    }


def test_a_fragment_is_of_one_name_and_no_word_of_it(folder: Path) -> None:
    found = asked(folder, "fragments")
    assert {"calculate_displacement"} in found.values()
    names = re.findall(r"(?:def|class|fn|struct) (\w+)", "".join(FILES.values()))
    for query, answers in found.items():
        [symbol] = answers
        name = symbol.rpartition(".")[2]
        assert query in name
        assert FRAGMENT[0] <= len(fold_identifier(query)) <= FRAGMENT[1]
        assert query not in split_identifier(name)
        assert {other for other in names if fold_identifier(query) in fold_identifier(other)} == {name}


def test_a_namesake_asks_for_the_type(folder: Path) -> None:
    assert asked(folder, "namesakes") == {"Lock": {"Lock"}}


def test_a_qualified_name_asks_for_one_of_several(folder: Path) -> None:
    assert asked(folder, "qualified") == {
        "Lock.open_gate": {"Lock.open_gate"},
        "Weir.open_gate": {"Weir.open_gate"},
        "Hull::measure": {"Hull.measure"},
        "Mast::measure": {"Mast.measure"},
    }


def test_nothing_is_asked_of_tests_documents_and_examples(folder: Path) -> None:
    for ending, task in tasks(folder):
        assert {file for entry in task.relevant for file in entry.files} <= {"src/lock.py", "src/hull.rs"}, (
            ending,
            task,
        )


def test_what_many_hold_is_not_asked_for(folder: Path) -> None:
    for ending, task in tasks(folder):
        assert 1 <= len(task.relevant) <= MOST_ANSWERS, (ending, task)
    assert "common-key-here" not in asked(folder, "literals")


def test_each_kind_says_what_it_is(folder: Path) -> None:
    assert {ending: {task.kind for e, task in tasks(folder) if e == ending} for ending in KINDS} == {
        ending: {kind} for ending, kind in KINDS.items()
    }
    assert set(KINDS) < set(ENDINGS)


def test_so_many_are_drawn_and_always_the_same(tree: History, folder: Path, tmp_path: Path) -> None:
    for number in (0, 1, 2):
        make_tasks(find_repository(tree.top), "quay", tmp_path / "few", TaskCounts(queries=number))
        for ending in KINDS:
            assert rows(tmp_path / "few", ending) == rows(folder, ending)[:number]
