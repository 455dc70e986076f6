"""The work of an update grows with the change, not with the tree: statements and calls are counted, not time."""

from __future__ import annotations

from pathlib import Path

import pytest

from codelens.config import Settings
from codelens.index import Index
from codelens.indexing import build
from codelens.indexing.run import IndexRun
from tests.indexing.here import derive_here
from tests.steps import calls, statements

SETTINGS = Settings(jobs=1, vector=False)


def tree(root: Path, files: int) -> Path:
    for number in range(files):
        file = root / f"part{number // 20}" / f"m{number:03}.py"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"import json\n\n\ndef work{number}(x):\n    return json.dumps(x)\n", encoding="utf-8")
    return root


def edit(root: Path) -> None:
    with (root / "part1/m025.py").open("a", encoding="utf-8") as file:
        file.write("\n\ndef more(x):\n    return x\n")


@pytest.mark.slow
def test_the_statements_of_an_update_do_not_grow_with_the_tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    derive_here(monkeypatch)
    nothing, one = [], []
    for files in (40, 160):
        root, db = tree(tmp_path / f"tree{files}", files), tmp_path / f"{files}.db"
        Index.build(db, [root], SETTINGS)
        nothing.append(statements(lambda db=db, root=root: Index.build(db, [root], SETTINGS)))
        edit(root)
        one.append(statements(lambda db=db, root=root: Index.build(db, [root], SETTINGS)))
    assert nothing[0] == nothing[1] > 0
    assert one[0] == one[1] > nothing[0]


@pytest.mark.slow
def test_an_edit_reads_the_facts_of_few_documents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only paths of the other documents are read."""
    derive_here(monkeypatch)
    root, db = tree(tmp_path / "tree", 160), tmp_path / "index.db"
    Index.build(db, [root], SETTINGS)
    edit(root)
    made = calls(lambda: build.build_index(IndexRun(SETTINGS, db), [root]))
    assert made["documents._make_document_row"] == 0
    assert 0 < made["facts.__init__"] <= 10
    assert 160 < made["catalog.is_declaration"] <= 163  # each path once, and that of the edited file again
    assert 0 < made["facts.read_fact_lines"] <= 10


@pytest.mark.slow
def test_the_work_for_many_repositories_grows_with_their_number(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    derive_here(monkeypatch)
    work = []
    for number in (10, 40):
        roots = [tree(tmp_path / f"{number}/tree{place}", 1) for place in range(number)]
        db = tmp_path / f"{number}.db"
        Index.build(db, roots, SETTINGS)
        for root in roots:
            edit_one(root)
        made = calls(lambda db=db, roots=roots: Index.build(db, roots, SETTINGS))
        work.append(sum(made.values()))
        assert made["documents.list_repositories"] < 10, "it reads all of them"
    assert work[1] < 4.2 * work[0]


def edit_one(root: Path) -> None:
    with (root / "part0/m000.py").open("a", encoding="utf-8") as file:
        file.write("\n\ndef more(x):\n    return x\n")
