"""codelens eval tune: what it measures, what it keeps, what it refuses, and that nothing of it stays behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

import pytest

from codelens.config import load_weights
from tests.commands import Run
from tests.evaluation.boats import history
from tests.evaluation.histories import History

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def strange(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A history whose answers are not where the shipped weights look first."""
    return history(tmp_path_factory.mktemp("strange") / "boats", in_tests=True).top


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def test_weights_that_improve_are_kept_and_rank(
    run: Run, strange: Path, tmp_path: Path, temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = tmp_path / "own.toml"
    ran = run("eval", "tune", str(strange), "--keep", str(own))
    assert ran.code == 0
    head, everything, *_ = ran.out.splitlines()
    assert head.split()[:4] == ["kind", "older", "newest", "nDCG@10"]
    assert everything.split()[0] == "all"
    assert "codelens: a gain: nDCG@10 " in ran.err
    assert f'hint: weights = "{own}" in your own configuration file' in ran.err
    assert list(temporary.iterdir()) == []
    held = tomllib.loads(own.read_text())["codelens"]["features"]
    shipped = load_weights()["codelens"]["features"]
    assert held["test"]["change"] > shipped["test"]["change"]
    assert held["own_class"] == load_weights()["codelens"]["features"]["own_class"]
    assert own.read_text().startswith("# Weights of codelens ")
    monkeypatch.setenv("CODELENS_WEIGHTS", str(own))
    run("index", "-q", "--db", str(tmp_path / "i.db"), str(strange))
    told = json.loads(run("why", "weigh the anchor", "--json", "--db", str(tmp_path / "i.db")).out)
    assert told["weights_file"] == str(own)


def test_tune_is_reproducible_and_prints_json(run: Run, strange: Path) -> None:
    first, second = (run("eval", "tune", str(strange), "--json") for _ in range(2))
    assert first.out == second.out
    told = json.loads(first.out)
    assert (told["name"], told["gained"], told["path"], told["exit_code"]) == ("boats", True, None, 0)
    assert told["groups"][0]["kind"] == "all"
    found = told["groups"][0]["metrics"]["nDCG@10"]
    assert found["low"] <= found["difference"] <= found["high"]
    assert found["difference"] == pytest.approx(found["after"] - found["before"], abs=1e-5)
    assert sum(told["newest"].values()) == found["n"]


def test_weights_that_do_not_improve_are_not_kept(run: Run, tmp_path: Path) -> None:
    top = history(tmp_path / "boats", in_tests=False).top
    ran = run("eval", "tune", "--keep", "own.toml", cwd=top)
    assert ran.code == 1
    assert "codelens: no gain: nDCG@10 " in ran.err
    assert "codelens: nothing written: the learned" in ran.err
    assert not (top / "own.toml").exists()


def test_too_little_history_is_a_line_and_a_hint(run: Run, tmp_path: Path) -> None:
    made = History(tmp_path / "port")
    made.commit("Begin with the boats", {"boat.py": "def sail():\n    return 1\n"})
    ran = run("eval", "tune", cwd=made.top)
    assert ran.code == 1
    line, hint = ran.err.splitlines()[-2:]
    assert line.startswith("codelens: port: too few tasks: 1 to learn from and 0 to ask; at least ")
    assert hint.startswith("hint: ")


def test_an_interrupt_leaves_nothing_behind(strange: Path, temporary: Path) -> None:
    code = "from codelens.cli.main import run; run()"
    process = subprocess.Popen(
        [sys.executable, "-c", code, "eval", "tune", str(strange), "--progress", "json"],
        env={**os.environ, "TMPDIR": str(temporary)},
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    assert process.stderr is not None
    for line in process.stderr:
        if '"measure"' in line:
            process.send_signal(signal.SIGINT)
            break
    said = process.stderr.read()
    assert process.wait() == 130
    assert said.splitlines()[-1] == "codelens: interrupted"
    assert list(temporary.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["../none"], "no such folder"),
        ([".."], "is not in a git repository"),
        (["--head", "nope"], "no commit 'nope'"),
        (["--keep", "none/own.toml"], "there is no folder"),
        (["--keep", "."], "is a folder"),
    ],
)
def test_invalid_options_are_a_line_and_a_hint(run: Run, tmp_path: Path, arguments: list[str], told: str) -> None:
    made = History(tmp_path / "port")
    made.commit("Begin with the boats", {"boat.py": "def sail():\n    return 1\n"})
    ran = run("eval", "tune", "-q", *arguments, cwd=made.top)
    assert ran.code == 2
    error, hint = ran.err.splitlines()
    assert told in error
    assert hint.startswith("hint: ")


@pytest.mark.parametrize("missing", ["scipy", "ir_measures"])
def test_a_missing_extra_is_named(missing: str, tmp_path: Path) -> None:
    code = (
        f"import sys; sys.modules[{missing!r}] = None; from codelens.cli.main import main; sys.exit(main(sys.argv[1:]))"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code, "eval", "tune"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 2
    error, hint = ran.stderr.splitlines()
    assert error.startswith("codelens: error: ")
    assert hint.startswith("hint: pip install '")
