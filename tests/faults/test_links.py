"""A few ways of the campaign `links`: what a repository puts in place of the files that codelens writes leads nowhere."""

from __future__ import annotations

import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from tests.tiers import many
from tools.faults.links import WAYS, Way, try_way

pytestmark = pytest.mark.skipif(
    os.name == "nt" or shutil.which("git") is None, reason="needs git, plants pipes and links"
)
FEW = {
    ".codelens: a link to what another project has": ("search treasure", "index"),
    ".codelens/index.db: a dangling link": ("index",),
    ".codelens/index.db.lock: a pipe": ("index",),
    ".mcp.json.codelens-backup: a link to a file": ("install claude-code --project --yes",),
    ".git/hooks: a link to a folder": ("hooks install", "hooks remove"),
    "named: a link to another project": ("index named",),
}
"""Ways, each of which broke, with the commands that showed it: enough for each change, while campaigns run all of them."""


def choose_ways() -> list[Way]:
    named = {way.name: way for way in WAYS}
    ways = [replace(named[name], commands=tuple(tuple(c.split()) for c in commands)) for name, commands in FEW.items()]
    return [*ways, *WAYS[::12]] if many() else ways


def test_no_two_ways_are_the_same() -> None:
    assert len({(way.place, way.kind, way.commands) for way in WAYS}) == len(WAYS) > 60


@pytest.mark.parametrize("way", choose_ways(), ids=lambda way: way.name)
def test_nothing_outside_changes_or_is_shown(way: Way, tmp_path: Path) -> None:
    try_way(tmp_path, way)
