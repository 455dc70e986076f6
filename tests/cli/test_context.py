"""codelens context as a shell sees it."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from codelens.context.counters import estimate_tokens
from tests.cli.goldens import GOLDEN, QUERY, shown
from tests.cli.lamps import write_lamps
from tests.commands import Run
from tests.render.schema import check
from tests.worktree.conftest import git


@pytest.mark.slow
@pytest.mark.parametrize("format", ["markdown", "xml", "json", "compact"])
def test_a_pack_has_four_formats(format: str, indexed: Path, run: Run, golden: Callable[[Path, str], None]) -> None:
    """A pack for a file, because its symbols and callers stay the same while the ranking is tuned."""
    arguments = ["--files", "notes/notes/auth.py", "--format", format, "--budget", "700", "--path-style", "root"]
    ran = run("context", *arguments, "--counter", "chars", cwd=indexed)
    assert (ran.code, ran.err) == (0, "")
    assert estimate_tokens(ran.out) <= 700
    if format == "json":
        record = json.loads(ran.out)
        check(record, "context")
        assert record["tokens"] == estimate_tokens(ran.out)
        return  # its index record holds the temporary folder's length
    golden(GOLDEN / "context" / f"{format}.txt", shown(ran.out, indexed))


def test_the_json_flag_chooses_the_json_format(indexed: Path, run: Run) -> None:
    assert run("context", QUERY, "--json", cwd=indexed).out == run("context", QUERY, "--format", "json").out
    assert run("context", QUERY, "--json", "--format", "xml").code == 2


def test_nothing_found_exits_with_1(indexed: Path, run: Run) -> None:
    ran = run("context", "zzzzqqqq", cwd=indexed)
    assert (ran.code, ran.err) == (1, "codelens: nothing was found\n")
    assert run("context", QUERY, "-q").out == ""


def test_a_budget_without_room_for_a_symbol_exits_with_1(indexed: Path, run: Run) -> None:
    ran = run("context", QUERY, "--budget", "16", "--format", "compact", "--counter", "chars", cwd=indexed)
    assert (ran.code, ran.err) == (1, "codelens: nothing fits into 16 tokens\n")


@pytest.mark.parametrize(
    "arguments",
    [
        [], [""], ["  "], ["x", "--budget", "0"], ["x", "--budget", "-5"], ["x", "--budget", "1"], ["x", "--format", "html"],
        ["x", "--counter", "bytes"], ["x", "-m", "0"], ["--files"], ["--files", "nothing.py"], ["--files", "--pr", "a..b"],
        ["--pr", "HEAD"], ["--diff", "nothing.diff"], ["x", "nothing/"], ["x", "--bodies", "--signatures"],
        ["x", "--bodies", "--format", "compact"], ["x", "-t", "klingon"], ["--files", "/etc"],
    ],
)  # fmt: skip
def test_usage_errors(arguments: list[str], indexed: Path, run: Run) -> None:
    ran = run("context", *arguments, cwd=indexed)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("codelens: error: ")
    assert "hint: " in ran.err


def test_without_an_index_it_exits_with_3(tmp_path: Path, run: Run) -> None:
    assert run("context", "x", cwd=tmp_path).code == 3


def test_files_are_the_arguments(indexed: Path, run: Run) -> None:
    ran = run("context", "--files", "notes/notes/auth.py", "notes/notes/config.py", "--format", "compact", cwd=indexed)
    assert ran.code == 0
    files = [line.split(":")[0] for line in ran.out.splitlines()[1:]]
    assert set(files) >= {"notes/notes/auth.py", "notes/notes/config.py", "notes/notes/app.py"}, (
        "with those who call them"
    )
    assert "shop" not in ran.out
    below = run("context", "--files", "auth.py", "--format", "compact", "--signatures", cwd=indexed / "notes/notes")
    assert "\nauth.py:" in below.out and "\napp.py:" in below.out


def test_filters_restrict_a_pack(indexed: Path, run: Run) -> None:
    ran = run("context", "price", "-t", "go", "-g", "*pricing*", "--format", "compact", cwd=indexed)
    assert {line.split(":")[0] for line in ran.out.splitlines()[1:]} == {
        f"shop/server/internal/pricing/pricing{test}.go" for test in ("", "_test")
    }
    assert len(run("context", "price", "-m", "2", "--format", "compact").out.splitlines()) == 3
    only = run("context", "price", "notes", "--format", "compact")
    assert all(line.startswith("notes/") for line in only.out.splitlines()[1:])


@pytest.fixture
def lamps(tmp_path: Path, run: Run) -> Path:
    """A git repository, with the index of its second commit."""
    root = write_lamps(tmp_path / "lamps")
    git(root, "init", "--quiet")
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "-m", "first")
    text = (root / "lamps.py").read_text()
    (root / "lamps.py").write_text(text.replace("level - 1", "max(level - 1, 0)"))
    git(root, "commit", "--quiet", "--all", "-m", "second")
    assert run("index", "-q", cwd=root).code == 0
    return root


def test_a_change_between_commits_and_the_same_from_stdin(
    lamps: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran = run("context", "--pr", "HEAD~1..HEAD", cwd=lamps)
    assert (ran.code, ran.err) == (0, "")
    assert "`dim` · function · `lamps.py:13-14` · changed" in ran.out
    stdin = io.TextIOWrapper(io.BytesIO(git(lamps, "diff", "HEAD~1", "HEAD")))
    monkeypatch.setattr(sys, "stdin", stdin)
    assert run("context", "--diff", "-").out == ran.out
    (lamps / "a.diff").write_bytes(git(lamps, "diff", "HEAD~1", "HEAD"))
    assert run("context", "--diff", "a.diff").out == ran.out


def test_a_file_that_changed_since_is_reported(lamps: Path, run: Run) -> None:
    (lamps / "lamps.py").write_text("def other():\n    pass\n")
    ran = run("context", "light lamp", "-t", "py", cwd=lamps)
    assert "codelens: warning: files differ from the index: 1 changed (lamps.py)" in ran.err
    assert "def light_lamp" in ran.out


def test_a_task_from_stdin(lamps: Path) -> None:
    command = [sys.executable, "-m", "codelens", "context", "-", "--no-cache", "--format", "compact"]
    ran = subprocess.run(command, cwd=lamps, input=b"light lamp\n", capture_output=True, check=True)
    assert b"light_lamp" in ran.stdout


@pytest.mark.parametrize(
    ("asked", "budget"),
    [(["light lamp"], 50_000), (["--files", "lamps.py"], 50_000), (["--pr", "HEAD~1..HEAD"], 8_000)],
)
def test_default_budgets_depend_on_the_source(asked: list[str], budget: int, lamps: Path, run: Run) -> None:
    assert json.loads(run("context", *asked, "--json", cwd=lamps).out)["budget"] == budget


def test_kept_packs_are_listed_and_removed(lamps: Path, run: Run, tmp_path: Path) -> None:
    first = run("context", "light lamp", "-v", cwd=lamps)
    second = run("context", "light lamp", "-v")
    assert first.out == second.out
    assert second.err == first.err.replace("chars/4\n", "chars/4, as kept\n")
    assert run("context", "light lamp", "-v", "--no-cache").err == first.err
    assert run("index", "--clear-cache").err == "codelens: removed 1 pack\n"
    assert run("context", "light lamp", "-v").err == first.err
    assert (lamps / ".codelens/index.db").exists()


@pytest.mark.slow
def test_the_same_bytes_whatever_the_hash_seed(lamps: Path) -> None:
    command = [sys.executable, "-m", "codelens", "context", "lamp level", "--no-cache", "--json"]
    made = {
        subprocess.run(
            command,
            cwd=lamps,
            capture_output=True,
            check=True,
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": p},
        ).stdout
        for seed in ("0", "1", "2")
        for p in [str(Path(__file__).parents[2])]
    }
    assert len(made) == 1


def test_a_profile_ranks_the_task(indexed: Path, run: Run) -> None:
    """--profile is that of a search, and names that are no profile are refused as there."""

    def packed(*more: str) -> set[tuple[str, float]]:
        entries = json.loads(run("context", QUERY, "--json", *more, cwd=indexed).out)["results"]
        return {(entry["qualified_name"], entry["score"]) for entry in entries}

    found = json.loads(run("search", QUERY, "--profile", "knowing", "--json", "-m", "5", cwd=indexed).out)["results"]
    scores = {(hit["qualified_name"], hit["score"]) for hit in found}
    assert packed("--profile", "knowing", "-m", "5") <= scores
    assert len(packed("--profile", "knowing", "-m", "5")) >= 3
    assert not packed("-m", "5") & scores
    assert run("context", QUERY, "--profile", "none", cwd=indexed).code == 2


def next_token(text: str) -> str:
    return text.splitlines()[-1].split("--more ")[1].rstrip("`")


def names(text: str) -> list[str]:
    return [entry["qualified_name"] for entry in json.loads(text)["results"] if entry["form"] == "body"]


def test_a_token_continues_a_pack_with_or_without_its_request(indexed: Path, run: Run) -> None:
    asked = ["context", "price of an order", "-t", "go", "--budget", "900"]
    first = run(*asked, "--json", cwd=indexed)
    token = json.loads(first.out)["more"]
    alone = run("context", "--more", token, "--budget", "900", "--json")
    assert (alone.code, alone.err) == (0, "")
    check(json.loads(alone.out), "context")
    assert not set(names(first.out)) & set(names(alone.out))
    assert all(entry["path"].endswith(".go") for entry in json.loads(alone.out)["results"]), (
        "the token holds the filter"
    )
    assert run(*asked, "--json", "--more", token).out == alone.out


def test_every_format_ends_with_the_token(indexed: Path, run: Run) -> None:
    for format in ("markdown", "compact"):
        ran = run("context", "price of an order", "--format", format, "--budget", "400", cwd=indexed)
        assert run("context", "--more", next_token(ran.out), "--format", format, "--budget", "400").code == 0
    assert "<next token=" in run("context", "price of an order", "--format", "xml", "--budget", "400").out


def test_bad_tokens_get_one_line_and_a_hint(indexed: Path, run: Run) -> None:
    token = next_token(run("context", "price of an order", "--budget", "400", cwd=indexed).out)
    cases = {
        ("--more", "nonsense"): "this is not a token of codelens context",
        ("--more", ""): "this is not a token of codelens context",
        ("--more", token[:-1]): "this is not a token of codelens context",
        ("another task", "--more", token): "this token belongs to another request",
        ("price of an order", "-t", "py", "--more", token): "this token belongs to another request",
        ("--more", token, "-t", "py"): "--more without a task takes no --type",
        ("--more", token, "--bodies"): "--more without a task takes no --bodies",
    }
    for arguments, message in cases.items():
        ran = run("context", *arguments)
        assert (ran.code, ran.out) == (2, "")
        assert ran.err.startswith(f"codelens: error: {message}\nhint: ")
        assert ran.err.count("\n") == 2


def test_a_token_of_an_older_index_is_out_of_date(lamps: Path, run: Run) -> None:
    token = next_token(run("context", "lamp level", "--budget", "100", cwd=lamps).out)
    (lamps / "lamps.py").write_text("def other_lamp(level):\n    return level\n")
    run("index", "-q")
    ran = run("context", "--more", token)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("codelens: error: this token is out of date")


def test_parts_of_a_change(lamps: Path, run: Run) -> None:
    (lamps / "new.py").write_text("".join(f"def lamp_{n}(level):\n    return level + {n}\n\n\n" for n in range(20)))
    git(lamps, "add", "--all")
    git(lamps, "commit", "--quiet", "-m", "third")
    assert run("index", "-q", cwd=lamps).code == 0
    token = next_token(run("context", "--pr", "HEAD~1..HEAD", "--budget", "200").out)
    assert run("context", "--more", token).code == 0
    (lamps / "a.diff").write_bytes(git(lamps, "diff", "HEAD~1", "HEAD"))
    token = next_token(run("context", "--diff", "a.diff", "--budget", "200").out)
    assert "give the same diff again" in run("context", "--more", token).err
    assert run("context", "--diff", "a.diff", "--more", token).code == 0
