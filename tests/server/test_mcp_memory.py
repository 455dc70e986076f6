"""A client's feedback is recorded in its own session if memory is on."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.accepted import accepted
from tests.server.conftest import EVERYTHING, Client, client_of


@pytest.fixture
def remembering(shop: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Client]:
    """A server of a shop of its own, for a user who has switched memory on."""
    folder, home = tmp_path / "shop", tmp_path / "home"
    shutil.copytree(shop, folder)
    accepted(folder / ".codelens/index.db")
    (home / "codelens").mkdir(parents=True)
    (home / "codelens/config.toml").write_text("memory = true\n")
    with client_of(folder, home, "--no-index", *EVERYTHING) as client:
        yield client


def test_without_memory_nothing_is_recorded(client: Client, shop: Path) -> None:
    client.gives("search", query="price of an order")
    assert "memory is off" in client.fault("feedback", used=["web/src/money.ts"])
    assert not (shop / ".codelens/memory.db").exists()


def test_results_reported_as_used_rank_higher_next_time(remembering: Client) -> None:
    shown = remembering.gives("search", query="price of an order", limit=5)["results"]
    place = f"{shown[-1]['path']}:{shown[-1]['line']}"
    said = remembering.gives("feedback", used=[place])
    assert said == {"verdict": "useful", "places": [f"{shown[-1]['path']} {shown[-1]['name']}"]}
    (account,) = remembering.gives("why", query="price of an order", targets=[place], budget=20_000)["explanations"]
    amounts = {part["source"]: part["amount"] for part in account["contributions"]}
    assert amounts["useful"] > 0


def test_a_hit_is_judged_by_its_rank(remembering: Client) -> None:
    first = remembering.gives("search", query="price of an order", limit=3)["results"][0]
    said = remembering.gives("feedback", hit="1", verdict="useless")
    assert said == {"verdict": "useless", "places": [f"{first['path']} {first['name']}"]}
    assert "the last answer has no hit 4" in remembering.fault("feedback", hit="4", verdict="useful")


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"hit": "1"},
        {"verdict": "useful"},
        {"hit": "1", "verdict": "useful", "used": ["a"]},
        {"used": ["a"], "verdict": "useful"},
    ],
)
def test_feedback_without_verdict_or_hit_is_refused(remembering: Client, arguments: dict[str, object]) -> None:
    assert "nothing to record" in remembering.fault("feedback", **arguments)


def test_feedback_may_be_about_a_context_pack(remembering: Client) -> None:
    remembering.gives("context", task="free shipping threshold")
    said = remembering.gives("feedback", used=["server/internal/pricing/pricing.go"])
    assert said["places"]
