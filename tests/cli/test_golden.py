"""One search and one why in every format, as text that a reviewer can read. `--golden` rewrites them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.goldens import FORMATS, GOLDEN, QUERY, shown
from tests.commands import Run

WHY = {
    "text": [QUERY, "RateLimiter.check"],
    "every_part": ["--all", QUERY, "RateLimiter.check"],
    "side_by_side": [QUERY, "RateLimiter.check", "TooManyAttempts"],
    "why_not": [QUERY, "read_form", "-m", "5"],
    "json": ["--json", QUERY, "RateLimiter.check"],
    "check": ["--check", QUERY],
    "terminal": ["--pretty", QUERY, "RateLimiter.check"],
    "terminal_every_part": ["--pretty", "-v", QUERY, "RateLimiter.check"],
    "terminal_side_by_side": ["--pretty", QUERY, "RateLimiter.check", "TooManyAttempts"],
}


@pytest.mark.parametrize("name", FORMATS)
def test_search(name: str, indexed: Path, run: Run, golden: Callable[[Path, str], None]) -> None:
    """A literal query: its hits and their scores stay the same while the ranking is tuned."""
    ran = run("search", "-F", "hash_password", "--sort", "score", "-m", "3", *FORMATS[name], cwd=indexed)
    golden(GOLDEN / "search" / f"{name}.txt", shown(ran.out, indexed))


def test_ranking(indexed: Path, run: Run, golden: Callable[[Path, str], None]) -> None:
    """The ranking of a question in prose; read it when a weight changes."""
    ran = run("search", QUERY, "--format", "{rank} {score} {path} {qualified_name}  {channels}", cwd=indexed)
    golden(GOLDEN / "search" / "ranking.txt", shown(ran.out, indexed))


@pytest.mark.parametrize("name", WHY)
def test_why(name: str, indexed: Path, run: Run, golden: Callable[[Path, str], None]) -> None:
    ran = run("why", *WHY[name], cwd=indexed)
    golden(GOLDEN / "why" / f"{name}.txt", shown(ran.out, indexed))
