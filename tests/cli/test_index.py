from __future__ import annotations

import json
import re
from importlib.util import find_spec
from pathlib import Path

import pytest
import tree_sitter
import tree_sitter_python

from codelens.lang.parser import find_unknown_names
from tests.commands import Run
from tests.render.schema import check


def test_index_says_what_it_did_on_stderr(own: Path, run: Run) -> None:
    ran = run("index", cwd=own)
    assert ran.code == 0
    assert ran.out == ""
    assert "15 files indexed (15 new)" in ran.err
    assert (own / ".codelens/.gitignore").read_text() == "*\n!notes/\n!notes/**\n"


def test_a_second_run_says_that_nothing_changed(own: Path, run: Run) -> None:
    run("index", cwd=own)
    before = (own / ".codelens/index.db").read_bytes()
    assert "nothing changed" in run("index", cwd=own / "docs").err
    assert (own / ".codelens/index.db").read_bytes() == before


@pytest.mark.slow
def test_index_prints_a_json_report(own: Path, run: Run) -> None:
    record = json.loads(run("index", "--json", cwd=own).out)
    check(record, "index_run")
    only = record["repositories"][0]
    assert only["seen"] == only["indexed"] + sum(only["skipped"].values())


def test_dry_run_lists_and_writes_nothing(own: Path, run: Run) -> None:
    (own / "picture.png").write_bytes(b"\x89PNG\0\0")
    ran = run("index", "--dry-run", "--no-config", cwd=own)
    assert "index\tnotes/app.py\n" in ran.out
    assert not (own / ".codelens").exists()


def test_explain_path_names_the_rule(own: Path, run: Run) -> None:
    (own / ".gitignore").write_text("# built\n*.log\nbuild/\n")
    (own / "a.log").write_text("x")
    (own / "build").mkdir()
    (own / "build/b.py").write_text("x = 1\n")
    assert ".gitignore:2" in run("index", "--explain-path", "a.log", cwd=own).out
    assert ".gitignore:3" in run("index", "--explain-path", "build/b.py", cwd=own).out
    assert ": indexed" in run("index", "--explain-path", "app.py", cwd=own / "notes").out
    assert run("index", "--explain-path", "nothing.py", cwd=own).code == 2
    assert not (own / ".codelens").exists()


def test_strict_fails_on_files_with_errors(own: Path, run: Run) -> None:
    (own / "gone.py").symlink_to(own / "nowhere.py")
    ran = run("index", "--strict", cwd=own)
    assert ran.code == 6
    assert "hint: `codelens status --skipped` lists them" in ran.err


def test_strict_accepts_files_that_a_grammar_parses_in_part(own: Path, run: Run) -> None:
    (own / "half.py").write_text("def whole(): pass\ndef f(:\n")
    assert run("index", "--strict", cwd=own).code == 0
    assert "half.py\tparsed in part: syntax errors\n" in run("status", "--skipped", cwd=own).out


def test_progress_json_prints_an_object_a_line(own: Path, run: Run) -> None:
    steps = [json.loads(line) for line in run("index", "-q", "--progress", "json", cwd=own).err.splitlines()]
    assert steps
    assert all(step["type"] == "progress" for step in steps)


def test_status_counts_files_and_changes(own: Path, run: Run) -> None:
    run("index", "-q", cwd=own)
    (own / "new.py").write_text("x = 1\n")
    (own / "notes/app.py").write_text("y = 2\n")
    (own / "notes.toml").unlink()
    record = json.loads(run("status", "--json", "--skipped", cwd=own).out)
    check(record, "status")
    only = record["repositories"][0]
    assert only["changes"] == {"new": ["new.py"], "changed": ["notes/app.py"], "deleted": ["notes.toml"]}
    text = run("status", cwd=own).out
    assert "1 new, 1 changed, 1 deleted" in text
    assert run("status", "--require-fresh", "-q", cwd=own).code == 4
    assert "not checked" in run("status", "--no-check", cwd=own).out


def test_skipped_files_are_listed_with_reasons(own: Path, run: Run) -> None:
    (own / "blob.bin").write_bytes(bytes(range(256)))
    run("index", "-q", cwd=own)
    lines = dict(line.split("\t") for line in run("status", "--skipped", cwd=own).out.splitlines())
    assert lines["blob.bin"].startswith("binary")


@pytest.mark.slow
def test_symbols_lists_the_outline_of_a_file(indexed: Path, run: Run) -> None:
    ran = run("symbols", "auth.py", cwd=indexed / "notes/notes")
    assert ran.code == 0
    assert any(line.split()[:2] == ["36", "class"] or " class RateLimiter" in line for line in ran.out.splitlines())
    record = json.loads(run("symbols", "--json", "auth.py", cwd=indexed / "notes/notes").out)
    check(record, "symbols")
    assert record["path"] == "notes/auth.py"
    tags = run("symbols", "--ctags", "auth.py", cwd=indexed / "notes/notes").out.splitlines()
    names = [line.split("\t")[0] for line in tags if not line.startswith("!")]
    assert names == sorted(names)


@pytest.mark.slow
def test_remove_deletes_an_index_and_its_folder(own: Path, run: Run) -> None:
    run("index", "-q", cwd=own)
    assert run("index", "--remove", cwd=own).code == 2, "nobody can be asked, and --yes was not said"
    assert run("index", "--remove", "--yes", cwd=own / "docs").code == 0
    assert not (own / ".codelens").exists()
    assert (own / "notes.toml").exists()


def test_remove_refuses_a_file_that_is_not_an_index(own: Path, run: Run) -> None:
    ran = run("index", "--remove", "--yes", "--db", "README.md", cwd=own)
    assert ran.code == 2
    assert "is not a codelens index" in ran.err
    assert (own / "README.md").exists()


def test_remove_deletes_a_damaged_index_from_its_own_place(own: Path, run: Run) -> None:
    run("index", "-q", cwd=own)
    (own / ".codelens/index.db").write_bytes(b"rubbish" * 1000)
    assert run("index", "--remove", "--yes", cwd=own).code == 0


def test_config_says_where_values_come_from(own: Path, run: Run, monkeypatch: object) -> None:
    (own / ".codelens.toml").write_text("limit = 7\n")
    lines = run("config", "--show-origin", cwd=own).out.splitlines()
    limit = next(line for line in lines if line.startswith("limit = "))
    assert limit.split()[2] == "7"
    assert limit.endswith(".codelens.toml")
    assert "limit = 20\n" in run("config", "--no-config", cwd=own).out
    assert json.loads(run("config", "--json", cwd=own).out)["settings"]["limit"]["value"] == 7


def test_doctor_lists_what_works(own: Path, run: Run) -> None:
    ran = run("doctor", "--json", cwd=own)
    assert ran.code == 0
    states = {check["what"]: check["state"] for check in json.loads(ran.out)["checks"]}
    assert states["Python"] == states["FTS5"] == states["trigram"] == states["sqlite-vec"] == "ok"
    assert states["index"] == "less"
    needed = {"model2vec": "model2vec", "onnx": "onnxruntime", "sentence-transformers": "sentence_transformers"}
    for name, package in needed.items():
        assert states[name] == ("ok" if find_spec(package) else "absent")


@pytest.mark.slow
def test_doctor_compiles_every_query_when_asked(own: Path, run: Run) -> None:
    quick, whole = (run("doctor", *depth, cwd=own).out for depth in ((), ("--all",)))
    (count,) = re.findall(r"grammars: (\d+) languages work", quick)
    (listed,) = re.findall(r"grammars: (.*)", whole)
    assert len(listed.split("), ")) == int(count)


def test_a_query_that_does_not_fit_its_grammar_is_found_by_its_names() -> None:
    grammar = tree_sitter.Language(tree_sitter_python.language())
    query = (
        '; (no_comment)\n(class_definition name: (identifier) @x (_)) (gone field: "(string)") (ERROR) (#eq? @x "(y)")'
    )
    assert find_unknown_names(grammar, query) == ["field", "gone"]


def test_show_completion_prints_each_script(run: Run) -> None:
    for shell, mark in (
        ("bash", "complete -o"),
        ("zsh", "#compdef"),
        ("fish", "complete --"),
        ("powershell", "Import-"),
    ):
        ran = run("--show-completion", shell)
        assert ran.code == 0
        assert mark in ran.out
