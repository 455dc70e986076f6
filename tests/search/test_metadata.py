"""Tables of metadata: what holds of a path, and what is said about a row that cannot be taken."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from codelens.errors import SettingsError
from codelens.search.metadata import EMPTY, Metadata, load_metadata

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


def test_what_is_said_of_a_file_goes_over_its_folder_and_its_repository(tmp_path: Path) -> None:
    found = table(tmp_path, CSV)
    assert found.of("notes", "src/lib/b.py") == {
        "stars": 1200.0, "rating": 8.5, "category": "cli", "updated": 1_706_659_200,
    }  # fmt: skip
    assert found.of("notes", "src/lib/a.py")["rating"] == 9.0
    assert found.of("notes", "src/lib/a.py")["stars"] == 1200.0
    assert found.of("notes", "src/library.py") == {}
    assert found.of("shop", "x.py") == {"stars": 7.0, "category": "web"}
    assert found.of("shop", "src/lib/x.py")["stars"] == 1.0
    assert found.of("shop", "src/lib/x.py")["category"] == "cli"
    assert found.newest == 1_706_659_200
    assert found.columns == {"stars", "rating", "installs", "category", "updated"}


def test_json_says_the_same(tmp_path: Path) -> None:
    rows = [
        {"path": "src/lib", "stars": 1200, "rating": 8.5, "category": "cli", "updated": "2024-01-31T00:00:00Z"},
        {"path": "./src/lib/a.py", "rating": 9, "installs": 40, "category": None},
        {"repository": "shop", "stars": 7, "category": "web"},
        {"repository": "shop", "path": "src/lib/", "stars": 1},
    ]
    assert table(tmp_path, json.dumps(rows)) == table(tmp_path, CSV)


def test_no_file_is_no_metadata() -> None:
    assert load_metadata("") is EMPTY
    assert EMPTY.of("shop", "a.py") == {}


def rows(*made: Any) -> str:
    return json.dumps(made)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("path,stars\na.py,many\n", "line 2: stars is a number from 0 on, not 'many'"),
        ("path,stars\na.py,-1\n", "line 2: stars is a number from 0 on, not '-1'"),
        ("path,rating\na.py,7\nb.py,11\n", "line 3: rating is a number from 0 to 10, not '11'"),
        ("path,installs\na.py,inf\n", "line 2: installs is a number from 0 on, not 'inf'"),
        ("path,installs\na.py,nan\n", "line 2: installs is a number from 0 on, not 'nan'"),
        ("path,updated\na.py,yesterday\n", "line 2: updated is a day or a time as 2024-01-31, or unix seconds"),
        ("path,stars\na.py,1,2\n", "line 2: 3 cells, and 2 columns"),
        ("path,stars\n,1\n", "line 2: it names neither a path nor a repository"),
        ("path,stars\na.py,1\n./a.py,2\n", "line 3: a.py has a row above"),
        ("name,stars\na.py,1\n", "no column path or repository"),
        ("path,stars,stars\na.py,1,2\n", "or one twice"),
        ('path,stars\n"a.py,1\n', "unexpected end of data"),
        ("", "no column path or repository"),
        ("[", "Expecting value"),
        ("{}", "it is no list of objects"),
        ("[1]", "entry 1 is no object"),
        (
            rows({"path": "a", "stars": 1}, {"path": "b", "stars": True}),
            "entry 2: stars is a number from 0 on, not True",
        ),
        (rows({"path": 7}), "entry 1: path is a text, not 7"),
        (rows({"path": "a", "tags": ["x"]}), "entry 1: tags is a text, a number, true or false"),
    ],
)
def test_a_row_that_cannot_be_taken_is_named(text: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(SettingsError) as fault:
        table(tmp_path, text)
    assert str(fault.value).startswith(f"{tmp_path / 'table'}: ")
    assert said in str(fault.value)
    assert "\n" not in str(fault.value)
