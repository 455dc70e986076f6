"""codelens symbols --changes: when each symbol last changed, by whom, by how many commits."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from codelens.index import Index
from tests.commands import Run
from tests.render.schema import check
from tests.search.trees import QUICK
from tests.worktree.git_history import DAY_1, DAY_2, DAY_3, Past, three_commits


@pytest.fixture
def past(tmp_path: Path) -> Past:
    return three_commits(tmp_path / "tree")


def test_symbols_tell_their_last_change(past: Past, run: Run) -> None:
    db = str(past.root.parent / "index.db")
    Index.build(Path(db), [past.root], QUICK)
    ran = run("symbols", "lamps.py", "--changes", "--db", db, cwd=past.root)
    assert [line.split() for line in ran.out.splitlines()] == [
        [DAY_1, "1", "Ann", "Ache", "1", "function", "lamp_old"],
        [DAY_2, "2", "Bob", "5", "function", "lamp_mid"],
        [DAY_3, "1", "Ann", "Ache", "9", "function", "lamp_new"],
    ]
    record = json.loads(run("symbols", "lamps.py", "--changes", "--json", "--db", db, cwd=past.root).out)
    check(record, "symbols")
    assert [s["changed"]["commits"] for s in record["symbols"]] == [1, 2, 1]


def test_changes_cannot_be_combined_with_ctags(past: Past, run: Run) -> None:
    assert run("symbols", "lamps.py", "--changes", "--ctags", cwd=past.root).code == 2
