"""`search --like` and `why --like`: what resembles a place, a symbol, a file or code on stdin."""

from __future__ import annotations

import io
import json
import math
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.commands import Run
from tests.render.schema import check

RESERVE = "shop/server/internal/catalog/catalog.go:70"  # Within Catalog.Reserve


def hits(run: Run, folder: Path, *arguments: str) -> list[dict[str, object]]:
    ran = run("search", "--json", "--contributions", *arguments, cwd=folder)
    assert ran.code in (0, 1), ran.err
    return list(json.loads(ran.out)["results"])


def names(found: list[dict[str, object]]) -> list[object]:
    return [hit["qualified_name"] for hit in found]


def test_a_line_stands_for_the_definition_around_it(indexed: Path, run: Run) -> None:
    record = json.loads(run("search", "--json", "--like", RESERVE, cwd=indexed).out)
    check(record, "search")
    assert (record["query"], record["search_modes"]) == ("", ["exact", "symbol", "vector"])
    assert record["like"]["name"] == "Catalog.Reserve"
    assert record["like"]["start_line"] <= 70 <= record["like"]["end_line"]
    assert names(record["results"]) == names(hits(run, indexed, "--like", "Catalog.Reserve"))
    assert "Catalog.Find" in names(record["results"])[:5]


def test_neither_itself_nor_what_lies_in_it_or_around_it_is_a_hit(indexed: Path, run: Run) -> None:
    method = hits(run, indexed, "--like", "NoteStore.get_note", "-m", "999")
    around = json.loads(run("search", "--json", "sym:NoteStore kind:class", cwd=indexed).out)["results"][0]
    assert len(method) > 10
    assert not {"NoteStore.get_note", "NoteStore"} & set(names(method))
    assert any(str(name).startswith("NoteStore.") for name in names(method))
    whole = hits(run, indexed, "--like", "NoteStore", "-m", "999")
    assert not any(
        h["path"] == around["path"] and h["start_byte"] < around["end_byte"] and around["start_byte"] < h["end_byte"]
        for h in whole
    )
    assert whole


def test_a_file_stands_for_all_in_it(indexed: Path, run: Run) -> None:
    record = json.loads(run("search", "--json", "--like", "auth.py", cwd=indexed / "notes/notes").out)
    assert (record["like"]["kind"], record["like"]["path"]) == ("file", "notes/auth.py")
    everywhere = hits(run, indexed, "--like", "notes/notes/auth.py", "-m", "999")
    assert everywhere
    assert all((h["repository"], h["path"]) != ("notes", "notes/auth.py") for h in everywhere)


def test_conditions_and_arguments_restrict_and_words_do_not(indexed: Path, run: Run) -> None:
    free = hits(run, indexed, "--like", RESERVE, "-m", "999")
    tests = hits(run, indexed, "--like", RESERVE, "-m", "999", "-e", "is:test")
    assert tests
    assert all("test" in str(h["path"]) for h in tests)
    assert {h["language"] for h in hits(run, indexed, "--like", RESERVE, "-t", "py")} == {"python"}
    below = hits(run, indexed, "--like", RESERVE, "notes")
    assert {h["repository"] for h in below} == {"notes"}
    asked = ("--json", "--contributions", "--like", RESERVE, "-m", "999", "-e", "coupon")
    loose = run("search", *asked, cwd=indexed)
    assert json.loads(loose.out)["results"] == free
    assert "words rank nothing: coupon" in loose.err


@pytest.mark.slow
def test_code_on_stdin_finds_its_copy_first(indexed: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = (indexed / "notes/notes/auth.py").read_text().splitlines(keepends=True)
    start = next(i for i, line in enumerate(lines) if line.startswith("def verify_password"))
    snippet = "".join(lines[start : start + 5])
    for arguments in ((), ("--lang", "py"), ("--mode", "vector"), ("--mode", "keyword")):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(snippet.encode())))
        record = json.loads(run("search", "--json", "--like", "-", *arguments, cwd=indexed).out)
        check(record, "search")
        assert record["like"]["language"] == "python"
        assert names(record["results"])[0] == "verify_password", arguments


def test_text_that_is_no_code_is_compared_as_text(indexed: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"the password, hashed { [ with a salt")))
    record = json.loads(run("search", "--json", "--like", "-", cwd=indexed).out)
    assert record["like"]["language"] == "text"
    assert any("password" in str(name) for name in names(record["results"])[:5])


@pytest.mark.slow
@pytest.mark.parametrize("arguments", [("--like", RESERVE), ("--like", "notes/notes/auth.py", "-t", "py")])
@pytest.mark.parametrize("fusion", ["rrf", "weighted", "minmax"])
def test_scores_are_the_sums_of_their_parts(indexed: Path, run: Run, arguments: tuple[str, ...], fusion: str) -> None:
    searched = hits(run, indexed, *arguments, "--fusion", fusion, "-m", "8")
    record = json.loads(run("why", "--json", *arguments, "--fusion", fusion, "-m", "8", cwd=indexed).out)
    check(record, "why")
    explained = [e["candidate"] for e in record["explanations"]]
    assert [(c["qualified_name"], c["score"]) for c in explained] == [
        (h["qualified_name"], h["score"]) for h in searched
    ]
    for hit in searched:
        assert hit["score"] == math.fsum(c["amount"] for c in hit["contributions"])  # type: ignore[attr-defined]
    assert run("why", *arguments, "--fusion", fusion, "--check", cwd=indexed).code == 0


def test_why_names_what_lost_a_target(indexed: Path, run: Run) -> None:
    itself = run("why", "--like", RESERVE, "Catalog.Reserve", cwd=indexed)
    assert itself.code == 1
    assert "like: Catalog.Reserve  method  server/internal/catalog/catalog.go:" in itself.out
    assert "lost at: itself: --like names this code, or code inside or around it" in itself.out
    filtered = run("why", "--like", RESERVE, "Catalog.Find", "-e", "lang:go is:test", cwd=indexed)
    assert "lost at: filtered: is:test does not hold" in filtered.out
    assert "codelens search --like " in filtered.out
    assert run("why", "--like", RESERVE, "Catalog.Find", cwd=indexed).code == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--like", "nowhere.py:3"), "nowhere.py:3 is not in the index"),
        (("--like", "shop/server"), "is not in the index"),
        (("--like", "notes/notes/auth.py:99999"), "nothing is indexed at line 99999"),
        (("--like", "no_such_name"), "nothing is named no_such_name"),
        (("--like", "__init__"), "things are named __init__"),
        (("--like", ""), "--like is empty"),
        (("--like", RESERVE, "lang:go"), "no such file or folder: lang:go"),
        (("--like", RESERVE, "--lang", "go"), "--lang needs --like -"),
        (("--like", "-", "-f", "-"), "both read stdin"),
        (("--like", RESERVE, "--mode", "fuzzy"), "profile likeness has no channel for mode fuzzy"),
        (("--like", RESERVE, "--weights", "path=1"), "profile likeness does not use the channel 'path'"),
    ],
)
def test_an_unusable_like_is_one_line_with_a_hint(
    indexed: Path, run: Run, arguments: tuple[str, ...], said: str
) -> None:
    ran = run("search", *arguments, cwd=indexed)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("codelens: error: ")
    assert said in ran.err.splitlines()[0]
    assert "\nhint: " in ran.err


def test_a_changed_file_is_reported(own: Path, run: Run) -> None:
    assert run("index", "-q", cwd=own).code == 0
    (own / "notes/auth.py").write_text("# nothing\n" + (own / "notes/auth.py").read_text())
    ran = run("search", "--like", "notes/auth.py:30", cwd=own)
    assert ran.code == 0
    assert "note: notes/auth.py is another than the one indexed" in ran.err


def test_without_vectors_names_alone_are_compared(own: Path, run: Run) -> None:
    assert run("index", "-q", "--no-vector", cwd=own).code == 0
    ran = run("search", "--json", "--like", "verify_password", cwd=own)
    record = json.loads(ran.out)
    assert record["search_modes"] == ["exact", "symbol"]
    assert [n["code"] for n in record["notices"]] == ["no-vector"]
    assert "hash_password" in names(record["results"])[:3]


@pytest.mark.parametrize("format", [["-l"], ["-c"], ["--jsonl"], ["--csv"], ["--vimgrep"], ["--markdown"], ["--sarif"]])
def test_formats_are_those_of_a_search(indexed: Path, run: Run, format: list[str]) -> None:
    ran = run("search", "--like", RESERVE, *format, cwd=indexed)
    assert ran.code == 0
    assert "catalog.go" in ran.out
    if format == ["--jsonl"]:
        check(json.loads(ran.out.splitlines()[-1]), "jsonl_end")


def test_a_limit_cuts_and_changes_nothing(indexed: Path, run: Run) -> None:
    assert hits(run, indexed, "--like", RESERVE, "-m", "4") == hits(run, indexed, "--like", RESERVE, "-m", "40")[:4]


def test_the_same_bytes_whatever_the_hash_seed(indexed: Path) -> None:
    def ask(seed: str) -> bytes:
        command = [sys.executable, "-m", "codelens", "search", "--json", "--like", "notes/notes/auth.py"]
        return subprocess.run(
            command, cwd=indexed, env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True, check=True
        ).stdout

    assert ask("1") == ask("2")


def test_what_is_alike_comes_before_its_tests_unless_a_test_is_meant(tmp_path: Path, run: Run) -> None:
    body = "def {0}(text):\n    quoted = text.replace('[', '[[')\n    return '[' + quoted + ']'\n"
    test = "from names import escape_name\n\n\ndef test_escape_name_{0}():\n    assert escape_name('a') == '[a]'\n"
    (tmp_path / "names.py").write_text(body.format("escape_name"))
    (tmp_path / "other.py").write_text(body.format("escape_column"))
    (tmp_path / "tests").mkdir()
    for name in ("short", "long", "quoted"):
        (tmp_path / f"tests/test_{name}.py").write_text(test.format(name))
    run("index", "-q", cwd=tmp_path)
    assert names(hits(run, tmp_path, "--like", "escape_name"))[0] == "escape_column"
    assert str(hits(run, tmp_path, "--like", "test_escape_name_short")[0]["path"]).startswith("tests/")
