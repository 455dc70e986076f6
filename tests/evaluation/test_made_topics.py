"""Tasks made from guides and comments that name definitions: queries without the names of their answers."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from codelens.evaluation.comments import MarkedComment, without_names
from codelens.evaluation.drafts import PlacedUnit, UnitsByName, contains_name
from codelens.evaluation.guides import section_query
from codelens.evaluation.make_tasks import KINDS, TaskCounts, find_repository, make_tasks
from codelens.evaluation.tasks import read_tasks
from codelens.evaluation.trees import TreeText, read_tree
from codelens.training.phrases import first_sentence
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


def test_a_comment_asks_for_its_definition_and_those_it_names(folder: Path) -> None:
    assert asked(folder, "concepts") == {
        "Tells the next time at which every boat floats freely": {
            "TideTable.high_water",
            "SailBoat",
            "SailBoat.lift_anchor",
        },
        "Pulls up what holds us in place, unless table says that we would run aground": {
            "SailBoat.lift_anchor",
            "TideTable",
        },
        "Goes alongside and lets all people walk ashore": {"Ferry.land", "Ferry.close", "TideTable.high_water"},
    }
    bare = (folder / "port-docs/src/port.py").read_text()
    assert "aground" not in bare
    assert [row["kind"] for row in rows(folder, "concepts")] == ["concept"] * 3


def test_they_are_tasks_like_the_others(folder: Path) -> None:
    assert len(read_tasks(sorted(folder.glob("port-*.jsonl")))) == sum(len(rows(folder, kind)) for kind in KINDS)


def test_so_many_are_drawn_and_always_the_same(folder: Path, tmp_path: Path) -> None:
    repository = find_repository(history(tmp_path / "port").top)
    make_tasks(repository, "port", tmp_path / "again", TaskCounts())
    make_tasks(repository, "port", tmp_path / "few", TaskCounts(topics=1, concepts=2))
    for kind, count in (("topics", 1), ("concepts", 2)):
        name = f"port-{kind}.jsonl"
        assert (tmp_path / "again" / name).read_bytes() == (folder / name).read_bytes()
        assert rows(tmp_path / "few", kind) == rows(folder, kind)[:count]


def meant(texts: list[TreeText], name: str, receiver: str = "", around: PlacedUnit | None = None) -> list[str]:
    return [one.unit.qualified_name for one in UnitsByName(texts).find(name, receiver, around)]


def test_what_a_name_means(texts: list[TreeText]) -> None:
    assert meant(texts, "TideTable") == ["TideTable"]
    assert meant(texts, "lift_anchor") == ["SailBoat.lift_anchor"], "tests are not meant"
    assert meant(texts, "close") == [], "three bear it"
    assert meant(texts, "close", "OarBoat") == ["OarBoat.close"]
    assert meant(texts, "close", "file") == []
    assert meant(texts, "TideTable", "port") == ["TideTable"], "its module"
    (land,) = UnitsByName(texts).find("land")
    assert meant(texts, "close", "", land) == ["Ferry.close"]
    assert meant(texts, "close", "self", land) == ["Ferry.close"]
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
    ("doc", "expected"),
    [
        ("Waits for the next {@link TideTable} and leaves.", "Waits for the next table and leaves"),
        ("Gives an {@code SailBoat} back.", "Gives a boat back"),
        ("Gives a {@link TideTable the times} back.", "Gives a the times back"),
        ("Moves the people (see {@link SailBoat#lift_anchor}) away.", "Moves the people away"),
        ("Moves the people with [`lift_anchor`] when it rains.", "Moves the people when it rains"),
        ("Moves the people by calling `lift_anchor()` first.", "Moves the people"),
        ("Asks whether the water is at `high_water` now.", "Asks whether the water"),
        ("All [SailBoat]s that lie at the wall.", "All boats that lie at the wall"),
        ("Raises NotAfloat where there is no water.", "Raises an error where there is no water"),
        ("Throws :exc:`NotAfloat` where there is no water.", "Throws an error where there is no water"),
        ("`None` where JavaScript has no water.", "None where JavaScript has no water"),
        ("Takes one of: `high_water`, `lift_anchor`.", ""),
        ('Looks at <see cref="T:TideTable"/> twice.', "Looks at table twice"),
        ("lift_anchor pulls at the chain.", "Pulls at the chain"),
    ],
)
def test_no_hole_is_left_where_a_name_was(texts: list[TreeText], doc: str, expected: str) -> None:
    bearers = UnitsByName(texts)
    (own,) = bearers.find("lift_anchor")
    naming = MarkedComment(doc, bearers, own)
    assert without_names(first_sentence(naming.marked, own.unit.name), naming) == expected


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
    assert guide.defined is not None
    unit = replace(guide.defined.units[0], name=title)
    assert section_query(unit, body, UnitsByName(texts).find("TideTable")) == expected
