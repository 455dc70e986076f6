"""Twelve accounts of real queries, as text to be read: all kinds of queries, hits, and targets that are lost."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.goldens import GOLDEN, shown
from tests.commands import Run

ACCOUNTS = {
    "question": ["prevent scripts in links of a note", "-m", "3"],
    "task": ["retry failed requests with exponential backoff", "-m", "3"],
    "name": ["verify_password", "-m", "3"],
    "qualified_name": ["Cart.total", "-m", "2"],
    "mistyped_name": ["verfy_pasword", "-m", "2"],
    "phrase": ['"too many"', "-m", "2"],
    "everyday_words": ["who is allowed in", "-m", "3"],
    "beaten": ["environment variables override configuration file", "read_form", "-m", "5"],
    "filtered": ["expired coupon lang:ts", "Coupon", "-m", "5"],
    "knowing": ["two people edit the same note", "--profile", "knowing", "-m", "3"],
    "meaning": ["cart survives a page reload", "--mode", "vector", "PlaceOrder", "-m", "2"],
    "two_hits": ["value added tax included in a price", "Calculate", "CartStore.subtotal"],
}


@pytest.mark.parametrize("name", ACCOUNTS)
def test_account(name: str, indexed: Path, run: Run, golden: Callable[[Path, str], None]) -> None:
    ran = run("why", *ACCOUNTS[name], cwd=indexed)
    golden(GOLDEN / "accounts" / f"{name}.txt", shown(ran.out, indexed))
