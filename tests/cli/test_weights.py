"""The setting `weights` in every command that ranks."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from codelens.config import Settings
from tests.commands import Run

QUERY = "where is the shopping cart total computed"
ONE = "[codelens.features]\nparts = 7.5\nbm25 = { question = 2, change = 1.0 }\n"


@pytest.fixture
def own(tmp_path: Path) -> Path:
    path = tmp_path / "own.toml"
    path.write_text(ONE)
    return path


def test_search_why_and_context_rank_by_it(run: Run, indexed: Path, own: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def order() -> list[tuple[str, float]]:
        found = json.loads(run("search", QUERY, "--json", cwd=indexed).out)
        return [(hit["qualified_name"], hit["score"]) for hit in found["results"]]

    usual, pack = order(), run("context", QUERY, cwd=indexed).out
    assert json.loads(run("why", QUERY, "--json", cwd=indexed).out)["weights_file"] is None
    monkeypatch.setenv("CODELENS_WEIGHTS", str(own))
    assert order() != usual
    assert run("context", QUERY, cwd=indexed).out != pack, "also where a pack was kept"
    told = json.loads(run("why", QUERY, "--json", cwd=indexed).out)
    assert told["weights_file"] == str(own)
    (first, *_) = told["explanations"]
    sources = {part["source"] for part in first["candidate"]["contributions"]}
    assert "nearest" not in sources
    assert f"weights from {own}\n" in run("why", QUERY, cwd=indexed).out
    assert run("why", QUERY, "--check", cwd=indexed).code == 0
    other = json.loads(run("why", QUERY, "--json", "--profile", "rrf", cwd=indexed).out)
    assert other["weights_file"] is None
    own.write_text("[codelens.features]\nbm26 = 1\n")
    ran = run("search", QUERY, cwd=indexed)
    assert (ran.code, len(ran.err.splitlines())) == (2, 2)


def test_a_setting_is_a_path_relative_to_its_file(run: Run, own: Path, tmp_path: Path) -> None:
    assert Settings().weights == ""
    (tmp_path / ".codelens.toml").write_text('weights = "own.toml"\n')
    told = json.loads(run("config", "--json", cwd=tmp_path).out)["settings"]["weights"]
    assert told["value"] == str(own)
