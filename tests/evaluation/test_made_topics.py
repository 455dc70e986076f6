"""Tasks made from guides that name definitions: queries without the names of their answers."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from codelens.evaluation.guides import UnitsByName, contains_name, make_section_query
from codelens.evaluation.make_tasks import KINDS, TaskCounts, find_repository, make_tasks
from codelens.evaluation.tasks import read_tasks
from codelens.evaluation.trees import TreeText, read_tree
from tests.evaluation.histories import History

PORT = '''"""Boats and where they lie."""


class TideTable:
    """When water comes and goes."""

    def high_water(self):
        """Tells the next time at which every :class:`SailBoat` floats freely, from `high_water` on.

        Moves nothing; see :meth:`lift_anchor` for that.
        """


class SailBoat:
    def lift_anchor(self, crew):
        """Pulls up what holds us in place, unless :class:`TideTable` says that we would run aground.

        :raises NotAfloat: if we lie dry
        """

    def close(self):
        pass


class OarBoat:
    def close(self):
        pass


class Ferry:
    def close(self):
        pass

    def land(self):
        """Goes alongside and lets all people walk ashore, then calls :meth:`close` and `TideTable.high_water` again."""


class NotAfloat(Exception):
    def port(self):
        pass


def port():
    pass
'''
GUIDE = """# Port

What it is.

## Leaving in time

It needs `lift_anchor()` first.

Whoever waits too long will sit in the mud until evening. Ask `TideTable.high_water` and then `SailBoat.lift_anchor`.

## Closing

Every boat is shut down before people leave it for good. All have a `close()`, and so has `OarBoat`.

## NotAfloat

The keel rests upon the ground and nothing can be done. `NotAfloat` is raised by `SailBoat.lift_anchor`.

## A tide table

See the following list of what there is to read. A tide table is what every harbour has on its wall.
They are `TideTable` and `TideTable.high_water`.
"""
TEST = "class SailBoatTest:\n    def lift_anchor(self):\n        pass\n"


def history(top: Path) -> History:
    found = History(top)
    tree = {"src/port.py": PORT, "docs/guide.md": GUIDE, "tests/test_port.py": TEST}
    found.commit("Begin with the port", tree | {"CHANGELOG.md": GUIDE, "docs/upgrading.md": GUIDE})
    return found


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    top = tmp_path_factory.mktemp("ports")
    make_tasks(find_repository(history(top / "port").top), "port", top / "tasks", TaskCounts())
    return top / "tasks"


@pytest.fixture(scope="module")
def texts(folder: Path) -> list[TreeText]:
    return list(read_tree(folder / "port-commits"))


def rows(folder: Path, kind: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / f"port-{kind}.jsonl").read_text("utf-8").splitlines()]


def asked(folder: Path, kind: str) -> dict[str, set[str]]:
    return {row["query"]: {entry["symbol"] for entry in row["relevant"]} for row in rows(folder, kind)}


def test_a_section_asks_for_what_it_names(folder: Path) -> None:
    assert asked(folder, "topics") == {
        "Leaving in time. Whoever waits too long will sit in the mud until evening": {
            "TideTable.high_water",
            "SailBoat.lift_anchor",
        },
        "The keel rests upon the ground and nothing can be done": {"NotAfloat", "SailBoat.lift_anchor"},
    }
    for row in rows(folder, "topics"):
        assert list(row) == ["id", "repo", "query", "relevant", "kind"]
        assert (row["repo"], row["kind"]) == ("port", "topic")
        assert all(entry["files"] == ["src/port.py"] for entry in row["relevant"])


def test_they_are_tasks_like_the_others(folder: Path) -> None:
    assert len(read_tasks(sorted(folder.glob("port-*.jsonl")))) == sum(len(rows(folder, kind)) for kind in KINDS)


def test_so_many_are_drawn_and_always_the_same(folder: Path, tmp_path: Path) -> None:
    repository = find_repository(history(tmp_path / "port").top)
    make_tasks(repository, "port", tmp_path / "again", TaskCounts())
    make_tasks(repository, "port", tmp_path / "few", TaskCounts(topics=1))
    assert (tmp_path / "again/port-topics.jsonl").read_bytes() == (folder / "port-topics.jsonl").read_bytes()
    assert rows(tmp_path / "few", "topics") == rows(folder, "topics")[:1]


def meant(texts: list[TreeText], name: str, receiver: str = "") -> list[str]:
    return [one.unit.qualified_name for one in UnitsByName(texts).find(name, receiver)]


def test_what_a_name_means(texts: list[TreeText]) -> None:
    assert meant(texts, "TideTable") == ["TideTable"]
    assert meant(texts, "lift_anchor") == ["SailBoat.lift_anchor"], "tests are not meant"
    assert meant(texts, "close") == [], "three bear it"
    assert meant(texts, "close", "OarBoat") == ["OarBoat.close"]
    assert meant(texts, "close", "file") == []
    assert meant(texts, "TideTable", "port") == ["TideTable"], "its module"
    assert meant(texts, "port") == ["port"], "the one that needs nothing before it"
    assert meant(texts, "port", "NotAfloat") == ["NotAfloat.port"]
    assert meant(texts, "Opening") == [], "a heading"


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("Read the tide table", True),
        ("All tide tables of a year", True),
        ("What TideTable says", True),
        ("A table of tides", False),
        ("The tide tablet", False),
    ],
)
def test_a_query_says_a_name_in_one_word_or_in_several(texts: list[TreeText], query: str, expected: bool) -> None:
    assert contains_name(query, UnitsByName(texts).find("TideTable")) is expected


@pytest.mark.parametrize(
    ("title", "body", "expected"),
    [
        ("Sailing", "Go as far as the wind lets you.", "Sailing. Go as far as the wind lets you"),
        ("Wind", "Go as far as the wind lets you.", "Go as far as the wind lets you"),
        ("Overview", "Go as far as the wind lets you.", "Go as far as the wind lets you"),
        ("set_sail()", "Go as far as the wind lets you.", "Go as far as the wind lets you"),
        ("Tide tables", "Go as far as the wind lets you.", "Go as far as the wind lets you"),
        ("Sailing far", "This lets you see the whole wide sea.", "Sailing far. This lets you see the whole wide sea"),
        ("Overview", "This lets you see the whole wide sea.", ""),
        ("Sailing", "However, that is as far as the wind goes.", ""),
        ("Sailing", "Read about it in the following chapters of this.", ""),
        ("Sailing", "Call `sail` to go as far as you can.", ""),
        ("Sailing", "* Go as far as the wind lets you.", ""),
        ("Sailing", "```\nGo as far as the wind lets you.\n```\n", ""),
        ("Sailing", ".. note::\n\n    Go as far as the wind lets you.", ""),
        ("Sailing", "Read what a tide table says of the wind.", ""),
        (
            "Sailing",
            "Go to [far ports](x.md) that the **wind** lets you.",
            "Sailing. Go to far ports that the wind lets you",
        ),
    ],
)
def test_what_a_section_asks(texts: list[TreeText], title: str, body: str, expected: str) -> None:
    (guide,) = [text for text in texts if text.path == "docs/guide.md"]
    unit = replace(guide.defined.units[0], name=title)
    assert make_section_query(unit, body, UnitsByName(texts).find("TideTable")) == expected
