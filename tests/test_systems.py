"""The table of the four systems names tests that exist, and commands that there are."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from codelens.cli.help import COMMANDS

ROOT = Path(__file__).parents[1]
ROWS = [
    [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
    for line in (ROOT / "docs" / "systems.md").read_text(encoding="utf-8").splitlines()
    if line.startswith("| ") and not line.startswith("| feature |")
]


def test_every_feature_says_how_and_by_which_test() -> None:
    assert len(ROWS) > 120
    bare = [row[0] for row in ROWS if len(row) != 3 or not row[1] or not row[2]]
    assert bare == []
    unshown = [row[0] for row in ROWS if row[2] == "–"]
    assert all(re.search(r"\bnot (made|here)\b", row[1]) for row in ROWS if row[0] in unshown), unshown


@pytest.mark.parametrize("row", [row for row in ROWS if row[2] != "–"], ids=lambda row: row[0][:40])
def test_the_test_is_there(row: list[str]) -> None:
    named = re.fullmatch(r"`(tests/[\w/]+\.py)::(\w+)`", row[2])
    assert named, row[2]
    assert re.search(rf"^def {named[2]}\(", (ROOT / named[1]).read_text(encoding="utf-8"), re.MULTILINE), row[2]


def test_what_looks_like_a_command_is_one() -> None:
    named = {word for row in ROWS for word in re.findall(r"`codelens ([a-z][a-z-]+)", row[1])}
    known = {name for group in COMMANDS.values() for name in group}
    assert named <= known
    assert named
