"""A channel that outlasts its time is left out and said; the others answer.

With no time at all every statement is ended that SQLite looks at while it runs, which it does each 20,000 steps. That is
counted, not measured: ranking a word that 1,000 units hold takes more steps, finding the one path that holds a word fewer.
"""

# ruff: noqa: F401, F811 - a fixture that is imported is used by its name

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from codelens.config import load_weights
from codelens.index import Index
from tests.cli.conftest import Run, plain_environment, run
from tests.search.trees import QUICK, functions


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four files, each with a word that its 1,000 functions hold: no word is so common that it is not ranked."""
    folder = tmp_path_factory.mktemp("large")
    for number, word in enumerate(("widget", "mixer", "kettle", "toaster")):
        (folder / f"{number}.py").write_text(functions(1000, word))
    ship = folder / "harbour/quay/ship.py"
    ship.parent.mkdir(parents=True)
    ship.write_text("def other():\n    return 1\n")
    (folder / ".codelens").mkdir()
    Index.build(folder / ".codelens/index.db", [folder], QUICK)
    return folder


Ask = Callable[..., tuple[dict[str, Any], str]]
CHANNELS = {"equivalence", "exact", "fuzzy", "path", "symbol", "vector"}


@pytest.fixture
def ask(large: Path, run: Run) -> Ask:
    """The answer as JSON, and what was said."""

    def go(command: str, *arguments: str) -> tuple[dict[str, Any], str]:
        ran = run(command, "widget harbour", "--json", *arguments, cwd=large)
        assert ran.code == 0
        return json.loads(ran.out), ran.err

    return go


def test_slow_channels_are_left_out_and_said(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    whole, said = ask("search")
    assert (set(whole["search_modes"]), whole["notices"], said) == (CHANNELS, [], "")
    assert sum("exact" in hit["channels"] for hit in whole["results"]) > 1
    monkeypatch.setenv("CODELENS_CHANNEL_SECONDS", "0")
    less, said = ask("search")
    kept = set(less["search_modes"])
    assert "exact" not in kept
    assert "path" in kept
    texts = [f"{channel} took over 0 s and was left out" for channel in sorted(CHANNELS - kept)]
    assert less["notices"] == [{"code": "slow-channel", "text": text} for text in texts]
    assert said == "".join(f"codelens: note: {text}\n" for text in texts)
    assert "harbour/quay/ship.py" in {hit["path"] for hit in less["results"]}
    assert all(hit["channels"].keys() <= kept for hit in less["results"])


def test_the_channels_that_are_left_share_the_weight(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CODELENS_CHANNEL_SECONDS", "0")
    profile = load_weights()["rrf"]
    found, _ = ask("search", "--profile", "rrf")
    weights = {channel: profile["channels"][channel] for channel in found["search_modes"]}
    total = math.fsum(weights.values())
    for hit in found["results"]:
        ranks = hit["channels"].items()
        expected = math.fsum(weights[channel] / total / (profile["rrf_k"] + rank) for channel, rank in ranks)
        assert hit["score"] == pytest.approx(expected, rel=1e-12)


def test_why_leaves_out_the_same_and_its_sums_agree(
    ask: Ask, run: Run, large: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CODELENS_CHANNEL_SECONDS", "0")
    why, said = ask("why")
    found, said_by_search = ask("search")
    assert said == said_by_search != ""
    assert [e["candidate"]["score"] for e in why["explanations"]] == [hit["score"] for hit in found["results"]]
    assert run("why", "widget harbour", "--check", cwd=large).out.endswith(" scores recomputed, all equal\n")


def test_a_mode_whose_only_channel_is_slow_finds_nothing(
    large: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = ("search", "widget", "--mode", "exact")
    assert len(run(*asked, cwd=large).out.splitlines()) == 20
    monkeypatch.setenv("CODELENS_CHANNEL_SECONDS", "0")
    ran = run(*asked, cwd=large)
    assert (ran.code, ran.out, ran.err) == (1, "", "codelens: note: exact took over 0 s and was left out\n")
