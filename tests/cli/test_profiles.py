"""The named profiles on the sample repositories: their order and their account, as text that a reviewer can read."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.goldens import GOLDEN, QUERY, shown
from tests.commands import Run

PROFILES = ("knowing", "knowing-base", "graph-memory", "marketplace", "codexlens")


@pytest.mark.parametrize("profile", PROFILES)
def test_the_ranking_of_each_profile_is_golden(
    profile: str, indexed: Path, run: Run, golden: Callable[[Path, str], None]
) -> None:
    line = "{rank} {score} {path} {qualified_name}  {channels}"
    ran = run("search", "--profile", profile, QUERY, "--format", line, cwd=indexed)
    golden(GOLDEN / "profiles" / f"{profile}.txt", shown(ran.out, indexed))


@pytest.mark.parametrize("profile", PROFILES)
def test_why_is_golden_for_each_profile(
    profile: str, indexed: Path, run: Run, golden: Callable[[Path, str], None]
) -> None:
    """The account of a unit that was found and of one that was not."""
    ran = run("why", "--all", "--profile", profile, QUERY, "RateLimiter.check", "read_form", cwd=indexed)
    golden(GOLDEN / "profiles" / f"why_{profile}.txt", shown(ran.out, indexed))


@pytest.mark.parametrize(
    "options",
    [
        ["--profile", "knowing"],
        ["--profile", "graph-memory"],
        ["--profile", "marketplace"],
        ["--profile", "marketplace", "--expand", "bfs", "--weights", "vector=2", "--rrf-k", "10"],
        ["--expand", "bfs", "--depth", "2"],
    ],
)
def test_why_check_recomputes_the_scores_of_each_profile(options: list[str], indexed: Path, run: Run) -> None:
    ran = run("why", "--check", *options, QUERY, cwd=indexed)
    assert ran.out.endswith("all equal\n")
    assert ran.code == 0


def test_a_profile_may_say_how_many_it_shows(indexed: Path, run: Run) -> None:
    question = ["search", "--json", "-F", "password", "--profile", "graph-memory"]

    def shown_of(*options: str) -> int:
        return len(json.loads(run(*question, *options, cwd=indexed).out)["results"])

    assert (shown_of(), shown_of("-m", "7")) == (5, 7)


def test_a_remedy_keeps_the_expansion(indexed: Path, run: Run) -> None:
    ran = run("why", "--profile", "rrf", "--expand", "bfs", "--decay", "0.5", QUERY, "read_form", cwd=indexed)
    assert "--expand bfs --decay 0.5" in ran.out


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--expand", "sideways"], "no expansion 'sideways'"),
        (["--depth", "-1"], "--depth must be at least 0"),
        (["--depth", "2"], "--expand bfs"),
        (["--expand", "bfs", "--decay", "1.5"], "from 0 to 1, not 1.5"),
        (["--decay", "0.5"], "--expand bfs"),
        (["--profile", "marketplace", "--fusion", "minmax"], "leave out --fusion"),
        (["--profile", "marketplace", "--mode", "fuzzy"], "has no channel for mode fuzzy"),
        (["--meta", "cli"], "has no comparison"),
        (["--metadata", "none.csv"], "does not exist"),
    ],
)
def test_invalid_ranking_options_are_refused(options: list[str], said: str, indexed: Path, run: Run) -> None:
    ran = run("search", "cart", *options, cwd=indexed)
    assert ran.code == 2
    assert said in ran.err
