"""Each option of `index` that changes what is in the index, as a search then sees it."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.cli.lamps import write_lamps
from tests.commands import Run

pytestmark = pytest.mark.slow

NO_TRIGRAMS = "codelens: note: the index was built without trigrams: no substrings, no typo correction\n"
UNKNOWN = "codelens: note: 'light_lmap' does not occur in this index as a word\n"
NO_VECTORS = "codelens: note: the index was built without vectors\n"


@pytest.fixture
def lamps(tmp_path: Path) -> Path:
    return write_lamps(tmp_path / "lamps")


def test_without_trigrams_typing_mistakes_are_not_forgiven(lamps: Path, run: Run) -> None:
    asked = ("search", "--mode", "fuzzy", "light_lmap")
    run("index", "-q", "--no-fuzzy", cwd=lamps)
    ran = run(*asked, cwd=lamps)
    assert (ran.code, ran.out) == (1, "")
    assert ran.err == NO_TRIGRAMS + UNKNOWN
    assert json.loads(run(*asked, "--json", cwd=lamps).out)["trigram_available"] is False
    assert run("search", "-F", "ht_la", cwd=lamps).out == "lamps.py:4:8:def light_lamp(level):\n", (
        "by reading all files"
    )
    run("index", "-q", "--rebuild", cwd=lamps)
    ran = run(*asked, cwd=lamps)
    assert (ran.code, ran.out, ran.err) == (0, "lamps.py:4:5:def light_lamp(level):\n", UNKNOWN)


def test_without_vectors_nothing_is_near(lamps: Path, run: Run) -> None:
    asked = ("search", "level of a lamp")
    run("index", "-q", "--no-vector", cwd=lamps)
    ran = run(*asked, "--mode", "vector", cwd=lamps)
    assert (ran.code, ran.out, ran.err) == (1, "", NO_VECTORS)
    hits = json.loads(run(*asked, "--json", "--contributions", cwd=lamps).out)["results"]
    assert hits
    assert not any("vector" in hit["channels"] for hit in hits)
    run("index", "-q", "--rebuild", cwd=lamps)
    assert run(*asked, "--mode", "vector", cwd=lamps).out.startswith("lamps.py:4:5:def light_lamp(level):\n")


def test_encodings_are_detected_or_not(lamps: Path, run: Run) -> None:
    """A file of which nothing is sure is counted, and is found all the same."""
    (lamps / "tram.c").write_bytes("// проверка строки пути\nint tram;\n".encode("koi8-r") * 20)
    (lamps / "odd.c").write_bytes(b"int odd; // \xbd\n")

    def indexed(*options: str) -> tuple[dict[str, int], int]:
        only = json.loads(run("index", "--json", *options, cwd=lamps).out)["repositories"][0]
        return only["encodings"], only["encoding_errors"]

    def found(word: str) -> str:
        return run("search", "-l", word, cwd=lamps).out

    assert indexed() == ({"utf-8": 3, "cp1252": 1, "koi8-r": 1}, 1)
    assert found("проверка") == "tram.c\n"
    assert indexed("--no-detect-encoding") == ({"utf-8": 3, "cp1252": 2}, 2)
    assert found("проверка") == ""
    assert found("tram") == "tram.c\n"
    assert found("odd") == "odd.c\n"
    assert indexed("--detect-encoding") == ({"utf-8": 3, "cp1252": 1, "koi8-r": 1}, 1)


@pytest.mark.skipif(os.name == "nt", reason="no change time")
def test_a_change_that_kept_size_and_time_is_seen(lamps: Path, run: Run) -> None:
    run("index", "-q", cwd=lamps)
    file = lamps / "lamps.py"
    before = file.stat()
    with file.open("r+b") as opened:
        opened.write(b"import re")
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert file.stat().st_size == before.st_size
    assert "3 files indexed (1 changed)" in run("index", cwd=lamps).err
    assert run("search", "-F", "import re", cwd=lamps).out == "lamps.py:1:1:import re\n"
    assert "3 files indexed (nothing changed)" in run("index", "--verify", cwd=lamps).err


def test_rebuild_writes_a_new_file_with_equal_contents(lamps: Path, run: Run) -> None:
    """A rebuild keeps every tree of the old index, named or not."""
    other = write_lamps(lamps.parent / "other")
    db = lamps.parent / "both.db"
    asked = ("search", "--json", "level of a lamp", "--db", str(db))
    run("index", "-q", "--db", str(db), str(lamps), str(other), cwd=lamps)
    before = json.loads(run(*asked, cwd=lamps.parent).out)
    assert {hit["repository"] for hit in before["results"]} == {"lamps", "other"}
    old = db.stat().st_ino
    assert run("index", "--db", str(db), str(lamps), cwd=lamps).err.count("3 files indexed (nothing changed)") == 1
    assert db.stat().st_ino == old
    assert run("index", "--rebuild", "--db", str(db), str(lamps), cwd=lamps).err.count("3 files indexed (3 new)") == 2
    assert db.stat().st_ino != old
    assert json.loads(run(*asked, cwd=lamps.parent).out)["results"] == before["results"]
    assert [file.name for file in lamps.parent.glob("both.db*")] == ["both.db"]


def test_no_ignore_applies_no_rule(lamps: Path, run: Run) -> None:
    (lamps / ".gitignore").write_text("guide.md\n")
    (lamps / ".codelensignore").write_text("shop/\n")
    asked = ("search", "-l", "--sort", "path", "-g", "*", "path:*")
    run("index", "-q", cwd=lamps)
    assert run(*asked, cwd=lamps).out == "lamps.py\n"
    run("index", "-q", "--no-ignore", cwd=lamps)
    assert run(*asked, cwd=lamps).out == "guide.md\nlamps.py\nshop/lamp.go\n"
    run("index", "-q", cwd=lamps)
    assert run(*asked, cwd=lamps).out == "guide.md\nlamps.py\nshop/lamp.go\n", "what was said of an index stays said"
    run("index", "-q", "--rebuild", cwd=lamps)
    assert run(*asked, cwd=lamps).out == "lamps.py\n"


def test_an_option_of_the_index_can_be_a_setting(lamps: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CODELENS_FUZZY", "no")
    run("index", "-q", cwd=lamps)
    assert run("search", "light", cwd=lamps).err == NO_TRIGRAMS
