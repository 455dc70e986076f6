"""python -m tools.weights: learning the shipped weights from a manifest of repositories."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from codelens.config import load_weights
from tests.evaluation.boats import history
from tools.weights.__main__ import main
from tools.weights.repositories import HEAD


@pytest.fixture(scope="module")
def clones(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("clones")
    rows = ["\t".join(HEAD)]
    for name, in_tests in (("barges", True), ("canoes", False)):
        made = history(folder / name, in_tests)
        rows.append(f"{name}\tport/{name}\t{made.git('rev-parse', 'HEAD')}\tpython")
    (folder / "manifest.tsv").write_text("\n".join(rows) + "\n")
    return folder


@pytest.mark.slow
def test_the_shipped_weights_are_learned_from_a_manifest(
    clones: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def learn(out: str, *more: str) -> tuple[str, str]:
        options = (
            "--clones",
            str(clones),
            "--manifest",
            str(clones / "manifest.tsv"),
            "--work",
            str(tmp_path / "work"),
        )
        assert main([*options, "--out", str(tmp_path / out), *more]) == 0
        return capsys.readouterr()

    table, messages = learn("one.toml", "--folds", "2")
    head, *rows = table.splitlines()
    assert head.split() == ["kind", "tasks", "with", "an", "answer", "nDCG@10", "held", "out"]
    tasks = {row.split()[0]: int(row.split()[1]) for row in rows}
    assert "barges: " in messages
    assert "canoes: " in messages
    learned_from = re.search(r"(\d+) commit", messages)
    assert learned_from
    assert 30 < int(learned_from[1]) < tasks["commit"] - 30, (
        "the commits of barges change only tests, without saying so"
    )
    text = (tmp_path / "one.toml").read_text()
    assert tomllib.loads(text).keys() == load_weights().keys()
    assert "# The walk over the symbol graph." in text
    kept = {name: tmp_path / "work" / name / "measured.npz" for name in ("barges", "canoes")}
    times = {name: path.stat().st_mtime_ns for name, path in kept.items()}
    kept["canoes"].unlink()  # as after an interruption
    learn("two.toml")
    assert (tmp_path / "two.toml").read_text() == text
    assert kept["barges"].stat().st_mtime_ns == times["barges"]
    assert kept["canoes"].stat().st_mtime_ns > times["canoes"]
    kept["canoes"].write_bytes(b"half")
    learn("three.toml", "--jobs", "2")
    assert (tmp_path / "three.toml").read_text() == text


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--out", "none/w"], "no such folder"),
        (["--out", "w", "--folds", "1"], "at least 2"),
        (["--out", "w"], "no clone of"),
        (["--out", "w", "--manifest", "boat.py"], "no such table"),
    ],
)
def test_wrong_options_are_refused_before_the_work(
    options: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "boat.py").write_text("def sail(): ...\n")
    with pytest.raises(SystemExit) as end:
        main(["--clones", ".", "--work", "work", *options])
    assert end.value.code == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "work").exists()
