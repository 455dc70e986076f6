"""The log of an index: a line for each state, older facts told by newer ones, digests that a run makes for what is new."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path

import pytest

from codelens.errors import UsageError
from codelens.index import Index
from codelens.merkle import leaf_hash, root_hash
from codelens.snapshots.facts import as_text
from codelens.store.store import Store
from tests.search.trees import QUICK, Tree

FILES = {f"m{n}.py": f"def f{n}(x):\n    return f{(n + 1) % 5}(x)\n" for n in range(5)}


def test_each_state_can_be_told_as_it_was(tmp_path: Path) -> None:
    tree = Tree(tmp_path, FILES)
    states = []
    for step in range(4):
        tree.write({f"m{step}.py": f"def g{step}():\n    return 0\n", f"n{step}.py": f"def n{step}():\n    pass\n"})
        if step == 2:
            (tree.root / "n0.py").unlink()
        with tree.index() as index:
            states.append(index.facts())
    with Index.open(tree.db) as index:
        log = index.snapshots()
        assert [index.facts(line.number) for line in reversed(log)] == states
    assert [line.documents for line in reversed(log)] == [6, 7, 7, 8]
    assert len({line.root for line in log}) == len({line.snapshot for line in log}) == 4


def test_a_run_that_finds_nothing_logs_nothing_and_writes_nothing(tmp_path: Path) -> None:
    tree = Tree(tmp_path, FILES)
    tree.index().close()
    before = tree.db.read_bytes()
    with tree.index() as index:
        assert len(index.snapshots()) == 1
    assert tree.db.read_bytes() == before


def test_only_the_last_are_kept(tmp_path: Path) -> None:
    tree = Tree(tmp_path, FILES, replace(QUICK, snapshots_kept=2))
    for step in range(4):
        tree.write({"m0.py": f"def f{step}():\n    pass\n"})
        tree.index().close()
    with Index.open(tree.db) as index:
        log = index.snapshots()
        assert [line.kept for line in log] == [True, True, False, False]
        assert "f2" in as_text(index.facts(log[1].number)).decode()
        with pytest.raises(UsageError, match="not kept"):
            index.facts(log[2].number)


def test_none_where_none_are_wanted(tmp_path: Path) -> None:
    tree = Tree(tmp_path, FILES, replace(QUICK, snapshots_kept=0))
    with tree.index() as index:
        assert index.snapshots() == []
        assert index.prove("m0.py")["size"] == 5


def test_the_root_is_that_of_the_files_bytes(tmp_path: Path) -> None:
    tree = Tree(tmp_path, FILES)
    tree.index().close()
    tree.write({"m3.py": b"\xef\xbb\xbf# changed\r\n"})
    with tree.index() as index:
        root = index.snapshots()[0].root
    leaves = [
        leaf_hash("tree", file.name, hashlib.sha256(file.read_bytes()).digest()) for file in sorted(tree.root.iterdir())
    ]
    assert root == root_hash(leaves).hex()


def test_the_same_state_again_is_the_same_root(tmp_path: Path) -> None:
    tree = Tree(tmp_path, FILES)
    tree.index().close()
    tree.write({"m0.py": "def other():\n    pass\n"})
    tree.index().close()
    tree.write({"m0.py": FILES["m0.py"]})
    with tree.index() as index:
        again, _, first = index.snapshots()
    assert (again.root, again.snapshot) == (first.root, first.snapshot)


def test_an_index_without_a_log_gets_one(tmp_path: Path) -> None:
    """As one of the schema before is, after its migration."""
    tree = Tree(tmp_path, FILES, replace(QUICK, snapshots_kept=0))
    tree.index().close()
    with Store.write(tree.db) as store, store.writing():
        store.log.set_digests([(d.id, b"") for d in store.documents.rows()])
    Index.build(tree.db, [tree.root], QUICK)
    with Index.open(tree.db) as index:
        assert [line.documents for line in index.snapshots()] == [5]
