"""codelens traces as a shell sees it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.accepted import accepted
from tests.commands import SAMPLES, Run

SPANS = SAMPLES / "shop/spans.json"


@pytest.fixture
def shop(indexed: Path, tmp_path: Path) -> Path:
    """A copy of the indexed samples; a test may write files next to its index."""
    folder = Path(shutil.copytree(indexed, tmp_path / "samples"))
    accepted(folder / ".codelens/index.db")
    return folder


def test_traces_are_imported_ranked_by_and_forgotten(shop: Path, run: Run) -> None:
    asked = ("why", "--all", "price of an order", "Checkout.price", "--profile", "knowing")
    cold = run(*asked, cwd=shop)
    assert run("graph", "traces", cwd=shop).code == 1
    read = run("graph", "traces", str(SPANS), cwd=shop)
    assert (read.code, read.out) == (0, "")
    assert read.err == ("codelens: read 4 spans: 3 of 2 symbols, 1 without a function or a time\n")
    assert run("graph", "traces", cwd=shop).out.splitlines() == [
        "server/internal/cart/order.go Checkout.price (method): ran 2 times, last 2023-11-14T22:14:20Z",
        "server/internal/pricing/pricing.go Calculate (function): ran 1 time, last 2023-11-10T07:06:40Z",
    ]
    assert "recency       +0.150000  last seen to run within a day of the newest trace" in run(*asked, cwd=shop).out
    assert run(*asked, "--check", cwd=shop).code == 0
    again = run("graph", "traces", str(SPANS), cwd=shop)
    assert again.code == 0 and "is already imported; skipped" in again.err
    assert run("graph", "traces", "--forget", cwd=shop).code == 0
    assert run(*asked, cwd=shop).raw == cold.raw


def test_graph_traces_prints_json(shop: Path, run: Run) -> None:
    assert json.loads(run("graph", "traces", str(SPANS), "--json", cwd=shop).out)["matched"] == 3
    symbols = json.loads(run("graph", "traces", "--json", cwd=shop).out)["symbols"]
    assert [(one["name"], one["times"], one["last"]) for one in symbols] == [
        ("Checkout.price", 2, 1700000060),
        ("Calculate", 1, 1699600000),
    ]


def test_forget_takes_no_files(shop: Path, run: Run) -> None:
    (shop / "bad.json").write_text("{}")
    for arguments, said in (
        (("bad.json",), "bad.json has no resourceSpans"),
        (("none.json",), "none.json: No such file or directory"),
        ((str(SPANS), "--forget"), "--forget takes no FILE"),
    ):
        ran = run("graph", "traces", *arguments, cwd=shop)
        assert (ran.code, ran.out) == (2, "")
        assert ran.err.splitlines()[0] == f"codelens: error: {said}"
    assert run("graph", "traces", cwd=shop).code == 1, "no traces were stored"
    assert sorted(p.name for p in (shop / ".codelens").iterdir()) == [".gitignore", "index.db"]


def test_a_pack_that_was_kept_is_not_served_once_there_are_traces(shop: Path, indexed: Path, run: Run) -> None:
    asked = ("context", "--files", str(indexed / "shop/server/internal/pricing/pricing.go"), "--format", "json")
    before = run(*asked, cwd=shop)
    assert before.code == 0 and run(*asked, cwd=shop).raw == before.raw
    run("graph", "traces", str(SPANS), cwd=shop)
    assert run(*asked, cwd=shop).raw != before.raw
