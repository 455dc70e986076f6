"""The log of an index: a line for each state, older facts derived from newer ones, digests computed only for new states."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path

import pytest

from codelens.errors import UsageError
from codelens.index import Index
from codelens.snapshots.facts import compute_content_digest
from codelens.store.store import Store
from tests.search.trees import QUICK, Tree

pytestmark = pytest.mark.slow

FILES = {f"m{n}.py": f"def f{n}(x):\n    return f{(n + 1) % 5}(x)\n" for n in range(5)}


@pytest.mark.parametrize("at_once", [1, 2, 200])
def test_each_state_can_be_read_as_it_was(tmp_path: Path, at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A difference is found and packed in batches of documents, which bound memory."""
    monkeypatch.setattr("codelens.snapshots.facts.AT_ONCE", at_once)
    tree = Tree(tmp_path, FILES)
    states = []
    for step in range(4):
        tree.write({f"m{step}.py": f"def g{step}():\n    return 0\n", f"n{step}.py": f"def n{step}():\n    pass\n"})
        if step == 2:
            (tree.root / "n0.py").unlink()
        with tree.index() as index:
            states.append(index.read_facts())
    with Index.open(tree.db) as index:
        log = index.list_snapshots()
        assert [index.read_facts(line.number) for line in reversed(log)] == states
    assert [line.documents for line in reversed(log)] == [6, 7, 7, 8]
    assert len({line.root for line in log}) == len({line.snapshot for line in log}) == 4


def test_a_run_that_finds_nothing_logs_nothing_and_writes_nothing(tmp_path: Path) -> None:
    tree = Tree(tmp_path, FILES)
    tree.index().close()
    before = tree.db.read_bytes()
    with tree.index() as index:
        assert len(index.list_snapshots()) == 1
    assert tree.db.read_bytes() == before


def test_only_the_newest_facts_are_kept(tmp_path: Path) -> None:
    tree = Tree(tmp_path, FILES, replace(QUICK, snapshots_kept=2))
    for step in range(4):
        tree.write({"m0.py": f"def f{step}():\n    pass\n"})
        tree.index().close()
    with Index.open(tree.db) as index:
        log = index.list_snapshots()
        assert [line.kept for line in log] == [True, True, False, False]
        assert "f2" in {symbol.name for document in index.read_facts(log[1].number) for symbol in document.symbols}
        with pytest.raises(UsageError, match="no longer stored"):
            index.read_facts(log[2].number)


def test_an_update_keeps_the_facts_that_a_fresh_reading_gives(tmp_path: Path) -> None:
    """Only lines of changed documents are written again, and older states stay what they were."""
    tree = Tree(tmp_path, {f"m{i}.py": f"from m{i + 1} import f\n\n\ndef f():\n    f()\n" for i in range(9)}, QUICK)
    tree.index().close()
    states = []
    edits: list[dict[str, str | None]] = [
        {"m3.py": "def f():\n    pass\n\n\ndef g():\n    f()\n"},
        {"m0.py": None, "m8.py": None},
        {"a.py": "from m3 import g\n\n\nclass A:\n    def go(self):\n        g()\n", "m4.py": None, "z.py": "x = 1\n"},
        {"m3.py": "def g():\n    pass\n", "m0.py": "from a import A\n\n\nclass B(A):\n    pass\n"},
        {"a.py": "class A:\n    def other(self):\n        pass\n"},
    ]
    for edit in edits:
        for name, text in edit.items():
            if text is None:
                (tree.root / name).unlink()
            else:
                tree.write({name: text})
        with tree.index() as index:
            log, now = index.list_snapshots(), index.read_facts()
            states.append(now)
            assert index.read_facts(log[0].number) == now
            assert log[0].symbols == sum(len(d.symbols) for d in now)
            assert [index.read_facts(line.number) for line in log[: len(states)]] == states[::-1]
        with Store.read(tree.db) as store:
            edges = store.edges.find_outgoing([*range(-99, 99)])
            assert log[0].edges == len({(edge.source, edge.kind, edge.target) for edge in edges})


def test_a_change_of_all_documents_is_one_difference(tmp_path: Path) -> None:
    tree = Tree(tmp_path, FILES, QUICK)
    tree.index().close()
    with tree.index() as index:
        before = index.read_facts()
    tree.write({name: text.replace("(x)", "(y)") for name, text in FILES.items()})
    with tree.index() as index:
        log = index.list_snapshots()
        assert index.read_facts(log[1].number) == before != index.read_facts()


def test_nothing_is_logged_where_no_state_is_kept(tmp_path: Path) -> None:
    tree = Tree(tmp_path, FILES, replace(QUICK, snapshots_kept=0))
    with tree.index() as index:
        assert index.list_snapshots() == []


def test_the_root_is_that_of_the_files_bytes(tmp_path: Path) -> None:
    tree = Tree(tmp_path, FILES)
    tree.index().close()
    tree.write({"m3.py": b"\xef\xbb\xbf# changed\r\n"})
    with tree.index() as index:
        root = index.list_snapshots()[0].root
    files = sorted(tree.root.iterdir())
    assert root == compute_content_digest(("tree", f.name, hashlib.sha256(f.read_bytes()).digest()) for f in files)


def test_the_same_state_again_is_the_same_root(tmp_path: Path) -> None:
    tree = Tree(tmp_path, FILES)
    tree.index().close()
    tree.write({"m0.py": "def other():\n    pass\n"})
    tree.index().close()
    tree.write({"m0.py": FILES["m0.py"]})
    with tree.index() as index:
        again, _, first = index.list_snapshots()
    assert (again.root, again.snapshot) == (first.root, first.snapshot)


def test_an_index_without_a_log_gets_one(tmp_path: Path) -> None:
    """The state of an older index after its migration."""
    tree = Tree(tmp_path, FILES, replace(QUICK, snapshots_kept=0))
    tree.index().close()
    with Store.write(tree.db) as store, store.writing():
        for document in store.documents.read_rows():
            store.log.set_digest(document.id, b"")
    Index.build(tree.db, [tree.root], QUICK)
    with Index.open(tree.db) as index:
        assert [line.documents for line in index.list_snapshots()] == [5]
