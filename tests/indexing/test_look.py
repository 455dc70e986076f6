"""The look at a tree before an answer: what it finds, what it leaves alone, and that it says when it did not see everything."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from codelens.config import Settings
from codelens.index import Index
from codelens.indexing import look
from codelens.indexing.look import look_at_trees, name_times_key
from codelens.model.code import TreeLook, TreeState
from codelens.store.store import Store
from tests.writable import writable

SETTINGS = Settings(vector=False, fuzzy=False, jobs=1)
FRESH = TreeLook(TreeState.FRESH, 3, 3)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Three files in two folders, and an ignored one; indexed."""
    root = tmp_path / "tree"
    (root / "src").mkdir(parents=True)
    (root / ".git/objects").mkdir(parents=True)
    (root / ".git/HEAD").write_text("ref: refs/heads/main\n")
    (root / ".gitignore").write_text("*.log\nbuild/\n")
    (root / "build.rs").write_text("fn main() {}\n")
    (root / "src/a.rs").write_text("fn a() {}\n")
    (root / "src/b.rs").write_text("fn b() {}\n")
    (root / "src/run.log").write_text("ran\n")
    index(root)
    return root


def place(root: Path) -> Path:
    return root / ".codelens/index.db"


def index(root: Path) -> None:
    Index.build(place(root), [root], SETTINGS)


def looked(root: Path) -> TreeLook:
    with Store.read(place(root)) as store, store.reading():
        (found,) = look_at_trees(store, SETTINGS).values()
    return found


def later(path: Path) -> None:
    """A time that no clock of a file system takes for the one that was noted."""
    found = path.stat()
    os.utime(path, ns=(found.st_atime_ns, found.st_mtime_ns + 10**9))


def test_an_untouched_tree_is_fresh(tree: Path) -> None:
    assert looked(tree) == FRESH


def append(tree: Path) -> None:
    with (tree / "build.rs").open("a") as file:
        file.write("fn totally_new_fn() {}\n")


def same_size(tree: Path) -> None:
    (tree / "src/a.rs").write_text("fn z() {}\n")
    later(tree / "src/a.rs")


def set_back(tree: Path) -> None:
    """An edit that keeps size and modification time is told by the change time."""
    before = (tree / "src/a.rs").stat()
    (tree / "src/a.rs").write_text("fn z() {}\n")
    os.utime(tree / "src/a.rs", ns=(before.st_atime_ns, before.st_mtime_ns))


def add(tree: Path) -> None:
    (tree / "src/c.rs").write_text("fn c() {}\n")


def add_folder(tree: Path) -> None:
    (tree / "new/deep").mkdir(parents=True)
    (tree / "new/deep/d.rs").write_text("fn d() {}\n")


def delete(tree: Path) -> None:
    (tree / "src/a.rs").unlink()


def delete_folder(tree: Path) -> None:
    shutil.rmtree(tree / "src")


def rename(tree: Path) -> None:
    (tree / "src/a.rs").rename(tree / "src/z.rs")


def replace(tree: Path) -> None:
    """What most editors do: write beside, and rename."""
    (tree / "src/.tmp").write_text("fn a() { b(); }\n")
    (tree / "src/.tmp").replace(tree / "src/a.rs")


@pytest.mark.parametrize(
    ("change", "new", "changed", "deleted"),
    [
        (append, (), ("build.rs",), ()),
        (same_size, (), ("src/a.rs",), ()),
        pytest.param(
            set_back, (), ("src/a.rs",), (), marks=pytest.mark.skipif(os.name == "nt", reason="no change time")
        ),
        (add, ("src/c.rs",), (), ()),
        (add_folder, ("new/",), (), ()),
        (delete, (), (), ("src/a.rs",)),
        (delete_folder, (), (), ("src/a.rs", "src/b.rs")),
        (rename, ("src/z.rs",), (), ("src/a.rs",)),
        (replace, (), ("src/a.rs",), ()),
    ],
)
def test_changes_are_found(
    tree: Path, change: Callable[[Path], None], new: tuple[str], changed: tuple[str], deleted: tuple[str]
) -> None:
    change(tree)
    found = looked(tree)
    assert (found.state, found.new, found.changed, found.deleted) == (TreeState.CHANGED, new, changed, deleted)
    assert looked(tree) == found
    index(tree)
    assert looked(tree).state is TreeState.FRESH


def test_files_that_a_run_would_skip_are_no_change(tree: Path) -> None:
    """Ignored, hidden and empty things, files that were only touched, and codelens' own; git is not asked."""
    (tree / "src/more.log").write_text("ran\n")
    (tree / "src/.hidden").write_text("fn h() {}\n")
    (tree / "build").mkdir()
    (tree / "build/out.rs").write_text("fn o() {}\n")
    (tree / "empty/deep").mkdir(parents=True)
    (tree / "src/link.rs").symlink_to("a.rs")
    later(tree / "src/b.rs")
    (tree / ".codelens/traces.db").write_text("")
    assert looked(tree) == FRESH


def test_a_run_with_nothing_to_index_notes_the_new_times_of_folders(tree: Path) -> None:
    def noted() -> str:
        with Store.read(place(tree)) as store:
            return store.read_meta(name_times_key(store.documents.list_repositories()[0]))

    before = noted()
    (tree / "src/more.log").write_text("ran\n")
    later(tree / "src")
    index(tree)
    assert noted() != before
    once = place(tree).read_bytes()
    index(tree)
    assert place(tree).read_bytes() == once


def test_a_missing_tree_is_reported(tree: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere/index.db"
    Index.build(elsewhere, [tree], SETTINGS)
    shutil.rmtree(tree)
    with Store.read(elsewhere) as store:
        assert look_at_trees(store, SETTINGS)["tree"] == TreeLook(TreeState.GONE, 3, 0)


def test_an_index_without_noted_times_is_looked_at(tree: Path) -> None:
    with writable(place(tree)) as connection:
        connection.execute("DELETE FROM meta WHERE key LIKE 'times:%'").fetchall()
    assert looked(tree) == TreeLook(TreeState.UNKNOWN, 3, 0)


def test_a_forged_path_does_not_lead_out_of_the_tree(tree: Path) -> None:
    outside = tree.parent / "outside.rs"
    outside.write_text("fn o() {}\n")
    with writable(place(tree)) as connection:
        sql = "UPDATE meta SET value = ? WHERE key LIKE 'times:%'"
        connection.execute(sql, ("1 2\nx src/a.rs\n5 ../outside.rs\n5 src/../../outside.rs\n5 ../\n",)).fetchall()
    assert looked(tree).state is TreeState.UNKNOWN
    with writable(place(tree)) as connection:
        connection.execute(sql, ("no numbers\n\n\n \n1",)).fetchall()
    assert looked(tree).state is TreeState.UNKNOWN


@pytest.fixture
def small_budget(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name, most in (("MOST_TIMES", 6), ("MOST_FILES", 2), ("MOST_FOLDERS", 2), ("MOST_NAMES", 10)):
        monkeypatch.setattr(look, name, most)
    yield


@pytest.mark.usefixtures("small_budget")
def test_the_likeliest_changes_of_a_large_tree_are_looked_at_first(tmp_path: Path) -> None:
    root = tmp_path / "large"
    root.mkdir()
    for number in range(20):
        (root / f"{number:02}.py").write_text(f"def f{number}(): pass\n")
        os.utime(root / f"{number:02}.py", ns=(0, 10**18 + number * 10**9))
    index(root)
    assert looked(root) == TreeLook(TreeState.UNKNOWN, 20, 5)
    for path, state in (("03.py", TreeState.UNKNOWN), ("19.py", TreeState.CHANGED)):
        (root / path).write_text("def changed(): pass\n")
        assert looked(root).state is state, path


@pytest.mark.usefixtures("small_budget")
def test_many_differences_are_examined_in_part(tree: Path) -> None:
    for path in ("build.rs", "src/a.rs", "src/b.rs"):
        later(tree / path)
    assert looked(tree) == TreeLook(TreeState.UNKNOWN, 3, 2)


@pytest.mark.usefixtures("small_budget")
def test_a_moved_head_is_reported_where_the_look_was_incomplete(tmp_path: Path) -> None:
    root = tmp_path / "tracked"
    root.mkdir()
    for number in range(20):
        (root / f"{number:02}.py").write_text(f"def f{number}(): pass\n")

    def git(*arguments: str) -> None:
        identity = ["-c", "user.name=A", "-c", "user.email=a@b.c", "-c", "commit.gpgsign=false"]
        subprocess.run(["git", *identity, *arguments], cwd=root, check=True, capture_output=True)

    git("init", "-q")
    git("add", ".")
    git("commit", "-qm", "one")
    index(root)
    assert not looked(root).head_moved
    git("commit", "-qm", "two", "--allow-empty")
    assert looked(root).head_moved


def test_the_speed_of_runs_tells_how_long_an_update_takes(tree: Path) -> None:
    def pace() -> list[float]:
        with Store.read(place(tree)) as store:
            return [float(part) for part in store.read_meta("pace").split()]

    base, each = pace()
    assert base > 0
    assert each > 0
    with Store.read(place(tree)) as store:
        assert look.estimate_update_seconds(store, 10) == pytest.approx(base + 10 * each)
    append(tree)
    index(tree)
    assert pace()[1] == each
    with writable(place(tree)) as connection:
        connection.execute("UPDATE meta SET value = 'fast' WHERE key = 'pace'").fetchall()
    with Store.read(place(tree)) as store:
        assert look.estimate_update_seconds(store, 1) == float("inf")
