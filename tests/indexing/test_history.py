"""File history in an index run: read once, then updated, equal to a fresh read; and an index without history."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from codelens.errors import IndexCorrupt
from codelens.index import Index
from codelens.model.history import HistoryRead
from codelens.store.store import Store
from codelens.worktree import history
from tests.indexing.here import Tree
from tests.worktree.git_history import DAY, START, Past
from tests.writable import writable
from tools.faults.kills import downgrade


@pytest.fixture
def past(tree: Tree) -> Past:
    return Past(tree.root)


def pasts(index: Path) -> dict[str, tuple[int, int]]:
    """Path → (commits, the last one's day) of the documents that have a past."""
    with Store.read(index) as store:
        rows = {row.id: row.path for row in store.documents.read_rows()}
        return {rows[i]: (h.commits, (h.changed - START) // DAY) for i, h in store.history.find_changes(rows).items()}


def read(index: Path) -> HistoryRead:
    with Store.read(index) as store:
        found = store.history.read(store.documents.list_repositories()[0].id)
    assert found is not None
    return found


def snapshot(index: Path) -> str:
    with Index.open(index) as opened:
        return opened.info().snapshot


def test_a_second_run_reads_no_history(tree: Tree, past: Past) -> None:
    past.commit({"a.py": "x = 1\n", "b.py": "x = 1\n"})
    past.commit({"a.py": "x = 2\n"})
    tree.write("new.py", "x = 1\n")
    tree.run()
    assert pasts(tree.index) == {"a.py": (2, 2), "b.py": (1, 1)}
    assert (read(tree.index).commits, read(tree.index).fault) == (2, "")
    tree.rests()


@pytest.mark.skipif(os.name == "nt", reason="makes a pipe")
@pytest.mark.parametrize("place", ["HEAD", "index", "config", "packed-refs"])
def test_a_pipe_in_the_git_folder_leaves_out_the_history_and_is_named(tree: Tree, past: Past, place: str) -> None:
    past.commit({"a.py": "x = 1\n", ".gitignore": "*.log\n"})
    past.git("pack-refs", "--all")
    tree.write("a.log", "")
    pipe = past.root / ".git" / place
    kept = pipe.read_bytes()
    pipe.unlink()
    os.mkfifo(pipe)
    report = tree.run()
    assert report.indexed == 1
    assert pasts(tree.index) == {}
    (notice,) = report.notices
    assert notice.code == "git"
    assert notice.text.startswith(f"{pipe} is not a regular file, so git was not run: the index may lack the history")

    pipe.unlink()
    pipe.write_bytes(kept)
    assert tree.run().notices == ()
    assert pasts(tree.index) == {"a.py": (1, 1)}


def test_a_commit_of_indexed_content_changes_only_the_history(tree: Tree, past: Past) -> None:
    past.commit({"a.py": "x = 1\n"})
    tree.write("a.py", "x = 2\n")
    tree.run()
    before = snapshot(tree.index)
    past.commit({})
    report = tree.run()
    assert (report.wrote, report.changed, report.unchanged) == (True, 0, 1)
    assert pasts(tree.index) == {"a.py": (2, 2)}
    assert snapshot(tree.index) != before, "what ranks by age may rank otherwise"
    tree.rests()
    tree.equals_fresh()


def test_a_file_indexed_later_has_its_history(tree: Tree, past: Past) -> None:
    past.commit({"a.py": "x = 1\n", "b.py": "x = 1\n", ".codelensignore": "b.py\n"})
    past.commit({"b.py": "x = 2\n"})
    tree.run()
    assert pasts(tree.index) == {"a.py": (1, 1)}
    past.commit({".codelensignore": None})
    (tree.root / "a.py").unlink()
    tree.run()
    assert pasts(tree.index) == {"b.py": (2, 2)}
    tree.equals_fresh()
    past.git("restore", "a.py")
    tree.run()
    assert pasts(tree.index) == {"a.py": (1, 1), "b.py": (2, 2)}
    tree.equals_fresh()


@pytest.mark.slow
def test_an_updated_history_equals_a_fresh_one(tree: Tree, past: Past, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history, "MOST_LOG_COMMITS", 5)
    for number in range(4):
        past.commit({"a.py": f"x = {number}\n", f"{number}.py": "y = 1\n"})
        tree.run()
        tree.equals_fresh()
    past.git("switch", "--quiet", "--create", "side", "HEAD~2")
    past.commit({"side.py": "z = 1\n", "a.py": "x = 70\n"})
    tree.run()
    tree.equals_fresh()
    past.git("switch", "--quiet", "main")
    past.now += DAY
    past.git("merge", "--quiet", "--strategy=ours", "--message=m", "side")
    tree.run()
    tree.equals_fresh()
    past.git("reset", "--quiet", "--hard", "HEAD~1")
    past.commit({"a.py": None}, "--amend", after=-3 * DAY)
    tree.run()
    tree.equals_fresh()
    tree.rests()


def test_force_reads_the_whole_history_again(tree: Tree, past: Past) -> None:
    past.commit({"a.py": "x = 1\n"})
    tree.run()
    with writable(tree.index) as connection:
        connection.execute("UPDATE changes SET commits = 70").fetchall()
    tree.run()
    assert pasts(tree.index) == {"a.py": (70, 1)}
    tree.run(force=True)
    assert pasts(tree.index) == {"a.py": (1, 1)}


def test_a_tree_without_git_is_indexed_and_says_so(tree: Tree) -> None:
    tree.write("a.py", "x = 1\n")
    assert tree.run().indexed == 1
    assert (read(tree.index).fault, pasts(tree.index)) == ("not a git repository", {})
    tree.rests()
    past = Past(tree.root)
    tree.run()
    assert read(tree.index).fault == "no commit yet"
    tree.rests()
    past.commit({})
    tree.run()
    assert (read(tree.index).fault, pasts(tree.index)) == ("", {"a.py": (1, 1)})
    tree.equals_fresh()


def test_without_git_the_stored_history_stays_until_head_moves(
    tree: Tree, past: Past, monkeypatch: pytest.MonkeyPatch
) -> None:
    past.commit({"a.py": "x = 1\n"})
    tree.run()
    path = os.environ["PATH"]
    monkeypatch.setenv("PATH", str(tree.root))
    tree.write("a.py", "x = 2\n")
    tree.run()
    assert pasts(tree.index) == {"a.py": (1, 1)}
    monkeypatch.setenv("PATH", path)
    past.commit({})
    monkeypatch.setenv("PATH", str(tree.root))
    tree.run()
    assert (read(tree.index).fault, pasts(tree.index)) == ("git is not installed", {})
    tree.equals_fresh()
    tree.rests()
    monkeypatch.setenv("PATH", path)
    tree.run()
    assert (read(tree.index).fault, pasts(tree.index)) == ("", {"a.py": (2, 2)})


def test_a_history_that_took_too_long_is_tried_again_only_after_a_commit(
    tree: Tree, past: Past, monkeypatch: pytest.MonkeyPatch
) -> None:
    past.commit({"a.py": "x = 1\n"})
    with monkeypatch.context() as patched:
        patched.setattr(history, "SECONDS", 0.0)
        assert tree.run().indexed == 1
    assert read(tree.index).fault == "git took longer than 0 seconds"
    tree.rests()
    past.commit({"a.py": "x = 2\n"})
    tree.run()
    assert pasts(tree.index) == {"a.py": (2, 2)}


def test_an_index_of_an_older_schema_gets_its_history(tree: Tree, past: Past) -> None:
    past.commit({"a.py": "x = 1\n"})
    tree.run()
    downgrade(tree.index, 3)
    with pytest.raises(IndexCorrupt, match="old schema 3"):
        Store.read(tree.index)
    Store.write(tree.index).close()
    with Index.open(tree.index) as opened:
        assert opened.status().repositories[0].history is None
    assert tree.run().changed == 1  # it is derived again, for its trigrams
    assert pasts(tree.index) == {"a.py": (1, 1)}
    tree.equals_fresh()


def test_each_repository_has_its_own_history(tree: Tree, past: Past, tmp_path: Path) -> None:
    past.commit({"a.py": "x = 1\n"})
    other = Past(tmp_path / "other")
    other.commit({"a.py": "x = 1\n"}, after=5 * DAY)
    tree.run(tree.root, other.root)
    with Store.read(tree.index) as store:
        read = {row.name: store.history.read_commits(row.id) for row in store.documents.list_repositories()}
    times = {name: [(one.paths, one.time) for one in commits.values()] for name, commits in read.items()}
    assert times == {"tree": [(("a.py",), START + DAY)], "other": [(("a.py",), START + 5 * DAY)]}
