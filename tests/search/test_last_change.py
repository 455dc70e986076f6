"""The filters after:, before: and author:, on symbols where their lines are known and on files where not."""

from __future__ import annotations

from pathlib import Path

import pytest

from codelens.index import Index
from tests.search.trees import QUICK, ask_one, find, names
from tests.worktree.pasts import Past

OLD = "def lamp_old():\n    return 1\n\n\ndef lamp_mid():\n    return 2\n"
MID = OLD.replace("return 2", "return 22")
NEW = MID + "\n\ndef lamp_new():\n    return 3\n"
DAY_1, DAY_2, DAY_3 = "2020-09-14", "2020-09-15", "2020-09-16"
"""Of the three commits, in UTC."""


@pytest.fixture
def past(tmp_path: Path) -> Past:
    made = Past(tmp_path / "tree")
    made.commit({"lamps.py": OLD, "other.py": "def lamp_other():\n    pass\n"}, "--author=Ann Ache <ann@x>")
    made.commit({"lamps.py": MID}, "--author=Bob <bob@y>")
    made.commit({"lamps.py": NEW}, "--author=Ann Ache <ann@x>")
    return made


def found(past: Past, query: str) -> list[str]:
    Index.build(past.root.parent / "index.db", [past.root], QUICK)
    with Index.open(past.root.parent / "index.db") as index:
        return sorted(names(find(index, f"{query} kind:function")))


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        (f"after:{DAY_1}", ["lamp_mid", "lamp_new", "lamp_old", "lamp_other"]),
        (f"after:{DAY_2}", ["lamp_mid", "lamp_new"]),
        (f"after:{DAY_3}", ["lamp_new"]),
        ("after:2021", []),
        (f"before:{DAY_2}", ["lamp_old", "lamp_other"]),
        (f"before:{DAY_3}", ["lamp_mid", "lamp_old", "lamp_other"]),
        ("before:2020-09", []),
        (f"after:{DAY_2} before:{DAY_3}", ["lamp_mid"]),
        (f"-after:{DAY_2}", ["lamp_old", "lamp_other"]),
        ("author:ann", ["lamp_new", "lamp_old", "lamp_other"]),
        ("author:bob@y", ["lamp_mid"]),
        ('author:"Ann Ache"', ["lamp_new", "lamp_old", "lamp_other"]),
        ("author:bob,nobody", ["lamp_mid"]),
        ("author:nobody", []),
        (f"(author:bob OR after:{DAY_3})", ["lamp_mid", "lamp_new"]),
        (f'"return" after:{DAY_3}', ["lamp_new"]),
    ],
)
def test_conditions(condition: str, expected: list[str], past: Past) -> None:
    assert found(past, f"lamp {condition}") == expected


def test_a_file_that_somebody_works_on_counts_as_a_whole(past: Past) -> None:
    (past.root / "lamps.py").write_text("# new line\n" + NEW)
    assert found(past, f"lamp after:{DAY_3}") == ["lamp_mid", "lamp_new", "lamp_old"]
    assert found(past, "lamp author:bob") == []


def test_without_git_nothing_is_known(tmp_path: Path) -> None:
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree/a.py").write_text("def lamp():\n    pass\n")
    Index.build(tmp_path / "index.db", [tmp_path / "tree"], QUICK)
    with Index.open(tmp_path / "index.db") as index:
        assert names(find(index, "lamp kind:function")) == ["lamp"]
        for condition in ("after:1990", "before:2100", "author:a"):
            assert names(find(index, f"lamp kind:function {condition}")) == []


@pytest.mark.parametrize("query", ["lamp after:yesterday", "lamp before:2020-13-40", "lamp after:", "before:each lamp"])
def test_what_is_no_day_is_text(query: str, past: Past) -> None:
    Index.build(past.root.parent / "index.db", [past.root], QUICK)
    with Index.open(past.root.parent / "index.db") as index:
        result = find(index, query)
        assert result.hits
        assert result.notices


def test_why_names_the_condition(past: Past) -> None:
    Index.build(past.root.parent / "index.db", [past.root], QUICK)
    with Index.open(past.root.parent / "index.db") as index:
        explained = ask_one(index, f"lamp after:{DAY_3}", "lamp_old")
        assert f"after:{DAY_3}" in str(explained)
