"""Random edits of git repositories: a few steps; `make faults` makes hundreds."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tools.campaign import Report
from tools.faults.edits import run


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="links, modes")
@pytest.mark.parametrize("seed", [1, 2])
def test_an_edited_tree_is_indexed_as_a_fresh_one_and_a_look_knows(seed: int, tmp_path: Path) -> None:
    report = Report("edits")
    run(8, seed, tmp_path, report)
    assert report.tried == 8
    assert report.failures == []
