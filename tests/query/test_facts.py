"""Tables of metadata: the facts of a path, and the message about an invalid row."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from codelens.errors import SettingsError
from codelens.index import Index
from codelens.model.request import SearchOptions
from codelens.query.facts import EMPTY, Metadata, load_metadata
from tests.search.trees import QUICK, ask_one, find, names
from tests.worktree.git_history import DAY_1, DAY_2, DAY_3, NEW, Past, three_commits

CSV = """\
path,repository,stars,rating,installs,category,updated
src/lib,,1200,8.5,,cli,2024-01-31
src/lib/a.py,,,9,40,,
,shop,7,,,web,
src/lib,shop,1,,,,
"""


def table(tmp_path: Path, text: str) -> Metadata:
    path = tmp_path / "table"
    path.write_text(text)
    return load_metadata(str(path))


def test_a_row_for_a_file_overrides_its_folder_and_its_repository(tmp_path: Path) -> None:
    found = table(tmp_path, CSV)
    assert found.find_values("notes", "src/lib/b.py") == {
        "stars": 1200.0, "rating": 8.5, "category": "cli", "updated": 1_706_659_200,
    }  # fmt: skip
    assert found.find_values("notes", "src/lib/a.py")["rating"] == 9.0
    assert found.find_values("notes", "src/lib/a.py")["stars"] == 1200.0
    assert found.find_values("notes", "src/library.py") == {}
    assert found.find_values("shop", "x.py") == {"stars": 7.0, "category": "web"}
    assert found.find_values("shop", "src/lib/x.py")["stars"] == 1.0
    assert found.find_values("shop", "src/lib/x.py")["category"] == "cli"
    assert found.newest == 1_706_659_200
    assert found.columns == {"stars", "rating", "installs", "category", "updated"}


def test_a_json_table_equals_the_csv_table(tmp_path: Path) -> None:
    rows = [
        {"path": "src/lib", "stars": 1200, "rating": 8.5, "category": "cli", "updated": "2024-01-31T00:00:00Z"},
        {"path": "./src/lib/a.py", "rating": 9, "installs": 40, "category": None},
        {"repository": "shop", "stars": 7, "category": "web"},
        {"repository": "shop", "path": "src/lib/", "stars": 1},
    ]
    assert table(tmp_path, json.dumps(rows)) == table(tmp_path, CSV)


def test_an_empty_path_gives_no_metadata() -> None:
    assert load_metadata("") is EMPTY
    assert EMPTY.find_values("shop", "a.py") == {}


def rows(*made: Any) -> str:
    return json.dumps(made)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("path,stars\na.py,many\n", "line 2: stars must be a number from 0 on, not 'many'"),
        ("path,stars\na.py,-1\n", "line 2: stars must be a number from 0 on, not '-1'"),
        ("path,rating\na.py,7\nb.py,11\n", "line 3: rating must be a number from 0 to 10, not '11'"),
        ("path,installs\na.py,inf\n", "line 2: installs must be a number from 0 on, not 'inf'"),
        ("path,installs\na.py,nan\n", "line 2: installs must be a number from 0 on, not 'nan'"),
        ("path,updated\na.py,yesterday\n", "line 2: updated must be a day or time such as 2024-01-31, or unix seconds"),
        ("path,stars\na.py,1,2\n", "line 2: 3 cells for 2 columns"),
        ("path,stars\n,1\n", "line 2: it names neither a path nor a repository"),
        ("path,stars\na.py,1\n./a.py,2\n", "line 3: a.py is listed twice"),
        ("name,stars\na.py,1\n", "lacks a column path or repository"),
        ("path,stars,stars\na.py,1,2\n", "or repeats a column"),
        ('path,stars\n"a.py,1\n', "unexpected end of data"),
        ("", "lacks a column path or repository"),
        ("[", "Expecting value"),
        ("{}", "it is not a list of objects"),
        ("[1]", "entry 1 is not an object"),
        (
            rows({"path": "a", "stars": 1}, {"path": "b", "stars": True}),
            "entry 2: stars must be a number from 0 on, not True",
        ),
        (rows({"path": 7}), "entry 1: path must be a string, not 7"),
        (rows({"path": "a", "tags": ["x"]}), "entry 1: tags must be a string, a number, true or false"),
    ],
)
def test_an_invalid_row_is_named_by_line(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(SettingsError) as fault:
        table(tmp_path, text)
    assert str(fault.value).startswith(f"{tmp_path / 'table'}: ")
    assert message in str(fault.value)
    assert "\n" not in str(fault.value)


@pytest.fixture
def past(tmp_path: Path) -> Past:
    return three_commits(tmp_path / "tree")


def found(past: Past, query: str) -> list[str]:
    Index.build(past.root.parent / "index.db", [past.root], QUICK)
    with Index.open(past.root.parent / "index.db") as index:
        return sorted(names(find(index, f"{query} kind:function")))


@pytest.mark.slow
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
def test_conditions_on_day_and_author_of_the_last_change(condition: str, expected: list[str], past: Past) -> None:
    assert found(past, f"lamp {condition}") == expected


def test_units_of_an_edited_file_changed_when_the_file_did(past: Past) -> None:
    (past.root / "lamps.py").write_text("# new line\n" + NEW)
    assert found(past, f"lamp after:{DAY_3}") == ["lamp_mid", "lamp_new", "lamp_old"]
    assert found(past, "lamp author:bob") == []


def test_an_answer_says_that_authors_of_older_lines_are_unknown(past: Past, monkeypatch: pytest.MonkeyPatch) -> None:
    def has_notice(query: str) -> bool:
        with Index.open(past.root.parent / "index.db") as index, index.lines(query, SearchOptions()) as lines:
            ranked = "history" in {notice.code for notice in find(index, query).notices}
            assert ("history" in {notice.code for notice in lines.notices}) == ranked
            return ranked

    Index.build(past.root.parent / "index.db", [past.root], QUICK)
    assert not has_notice("lamp author:bob")
    monkeypatch.setattr("codelens.query.facts.MOST_LINE_COMMITS", 3)
    monkeypatch.setattr("codelens.search.lines.MOST_LINE_COMMITS", 3)
    assert has_notice("lamp author:bob")
    assert not has_notice(f"lamp after:{DAY_1}")


def test_without_git_no_last_change_is_known(tmp_path: Path) -> None:
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree/a.py").write_text("def lamp():\n    pass\n")
    Index.build(tmp_path / "index.db", [tmp_path / "tree"], QUICK)
    with Index.open(tmp_path / "index.db") as index:
        assert names(find(index, "lamp kind:function")) == ["lamp"]
        for condition in ("after:1990", "before:2100", "author:a"):
            assert names(find(index, f"lamp kind:function {condition}")) == []


@pytest.mark.slow
@pytest.mark.parametrize("query", ["lamp after:yesterday", "lamp before:2020-13-40", "lamp after:", "before:each lamp"])
def test_an_invalid_day_is_searched_as_text(query: str, past: Past) -> None:
    Index.build(past.root.parent / "index.db", [past.root], QUICK)
    with Index.open(past.root.parent / "index.db") as index:
        result = find(index, query)
        assert result.hits
        assert result.notices


def test_why_names_the_condition_on_the_last_change(past: Past) -> None:
    Index.build(past.root.parent / "index.db", [past.root], QUICK)
    with Index.open(past.root.parent / "index.db") as index:
        explained = ask_one(index, f"lamp after:{DAY_3}", "lamp_old")
        assert f"after:{DAY_3}" in str(explained)
