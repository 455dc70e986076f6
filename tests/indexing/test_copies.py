"""The index of a new checkout begins with a copy of another one's: equal to a fresh one, of the user's own indexes alone."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from codelens.config import Settings
from codelens.errors import CodelensError, IndexCorrupt, IndexNotTrusted, NoIndex, UsageError
from codelens.index import Index
from codelens.indexing import build
from codelens.model.runs import IndexReport
from codelens.store.store import Store
from codelens.worktree.place import prepare_index_folder
from tests.dump import dump, orphans
from tests.indexing.here import Derivations, derive_here
from tests.worktree.git_history import Past
from tests.writable import writable
from tools.faults.kills import index_files

FILES = {
    "shop/cart.py": "from shop.tax import rate\n\n\nclass Cart:\n    def total(self):\n        return rate() * 2\n",
    "shop/tax.py": "def rate():\n    return 3\n",
    "shop/old.py": "def unused():\n    return 4\n",
    "notes.md": "# Tax\n\nThe rate is `rate`.\n",
    "image.bin": "\0\1\2",
}


@pytest.fixture
def derivations(monkeypatch: pytest.MonkeyPatch) -> Derivations:
    return derive_here(monkeypatch)


@pytest.fixture
def past(tmp_path: Path, derivations: Derivations) -> Past:
    """A repository with two commits, and an index of the last."""
    made = Past(tmp_path / "main")
    made.commit({**FILES, "shop/tax.py": "def rate():\n    return 2\n"})
    made.commit({**FILES, "shop/new.py": "from shop.cart import Cart\n\nCart().total()\n"})
    index(made.root)
    derivations.derived.clear()
    return made


def place(root: Path) -> Path:
    return root / ".codelens/index.db"


def index(root: Path, **how: object) -> IndexReport:
    prepare_index_folder(place(root))
    (report,) = Index.build(place(root), [root], Settings(), **how)  # type: ignore[arg-type]
    assert index_files(place(root)) == ["index.db"]
    return report


def worktree(past: Past, name: str, commit: str) -> Path:
    root = past.root.parent / name
    past.git("worktree", "add", "--quiet", "--detach", str(root), commit)
    return root


def notices(report: IndexReport) -> dict[str, str]:
    return {notice.code: notice.text for notice in report.notices}


def content(root: Path) -> tuple[object, ...]:
    """What an index holds: all tables, the log of its states, and the facts of the newest."""
    assert orphans(place(root)) == []
    with Index.open(place(root)) as opened:
        log = opened.list_snapshots()
        return dump(place(root)), log, opened.read_facts(log[0].number)


def equals_fresh(root: Path) -> None:
    copied = content(root)
    index(root, rebuild=True)
    assert copied == content(root)


def test_a_worktree_at_another_commit_reads_only_what_differs(past: Past, derivations: Derivations) -> None:
    before = place(past.root).read_bytes()
    root = worktree(past, "older", "HEAD~1")
    (root / "shop/old.py").rename(root / "shop/renamed.py")
    (root / "notes.md").write_text("# Tax\n\nAll of `Cart`.\n")
    report = index(root)
    assert (report.added, report.changed, report.renamed, report.removed, report.unchanged) == (0, 2, 1, 1, 1)
    assert derivations.derived == ["notes.md", "shop/renamed.py", "shop/tax.py"]
    assert notices(report) == {"copied": f"the index began as a copy of {place(past.root)}; 2 of 6 files were read"}
    assert place(past.root).read_bytes() == before
    equals_fresh(root)
    assert not index(root).wrote


def test_a_worktree_at_the_same_commit_reads_nothing(past: Past, derivations: Derivations) -> None:
    root = worktree(past, "same", "HEAD")
    assert (index(root).unchanged, derivations.derived) == (5, [])
    with Store.read(place(root)) as copy, Store.read(place(past.root)) as source:
        assert copy.read_meta("identity") != source.read_meta("identity")
    equals_fresh(root)


@pytest.mark.parametrize("name", ["main", "other"])
def test_a_worktree_without_files_removes_all_documents(name: str, past: Past, tmp_path: Path) -> None:
    past.commit(dict.fromkeys((*FILES, "shop/new.py")))
    index(past.root, rebuild=True)
    root = worktree(past, f"below/{name}", "HEAD")
    assert index(root).indexed == 0
    equals_fresh(root)


def test_the_nearest_commit_is_copied(past: Past) -> None:
    older = worktree(past, "older", "HEAD~1")
    index(older)
    for commit, source in (("HEAD", past.root), ("HEAD~1", older)):
        root = worktree(past, f"third-{source.name}", commit)
        assert str(place(source)) in notices(index(root))["copied"]


def test_the_main_work_tree_copies_from_a_linked_one(past: Past) -> None:
    root = worktree(past, "linked", "HEAD")
    index(root)
    shutil.rmtree(place(past.root).parent)
    assert str(place(root)) in notices(index(past.root))["copied"]
    equals_fresh(past.root)


def test_the_index_of_a_named_clone_is_copied(past: Past, tmp_path: Path) -> None:
    root, index_file = tmp_path / "clone", place(past.root)
    past.git("clone", "--quiet", str(past.root), str(root))
    assert "copied" not in notices(index(root))
    for source in (past.root, index_file):
        shutil.rmtree(place(root).parent)
        assert str(index_file) in notices(index(root, copy_from=source))["copied"]
    equals_fresh(root)


def test_an_index_at_another_place_begins_with_a_copy_where_one_is_named(past: Past, tmp_path: Path) -> None:
    root, elsewhere = worktree(past, "linked", "HEAD"), tmp_path / "elsewhere.db"
    (report,) = Index.build(elsewhere, [root], Settings())
    assert notices(report) == {}
    fresh = dump(elsewhere)
    elsewhere.unlink()
    (report,) = Index.build(elsewhere, [root], Settings(), copy_from=past.root)
    assert list(notices(report)) == ["copied"]
    assert dump(elsewhere) == fresh


def test_walk_rules_of_the_other_tree_do_not_count(past: Past) -> None:
    past.commit({".hidden.py": "def hidden():\n    pass\n"})
    Index.build(place(past.root), [past.root], Settings(hidden=True), verify=True)
    root = worktree(past, "linked", "HEAD")
    report = index(root)
    assert (report.indexed, report.removed) == (5, 1)
    equals_fresh(root)


def refusals(past: Past) -> dict[str, tuple[Callable[[Path], Path], type[CodelensError], str]]:
    """Case → (what makes the source and returns it, the error, part of its message)."""

    def nothing(folder: Path) -> Path:
        return folder

    def text(folder: Path) -> Path:
        (folder / "notes.db").write_text("words " * 1000)
        return folder / "notes.db"

    def others(folder: Path) -> Path:
        with writable(place(past.root)) as connection:
            connection.execute("UPDATE meta SET value = 'another' WHERE key = 'mark'").fetchall()
        return past.root

    def moved(folder: Path) -> Path:
        shutil.copytree(past.root, folder, dirs_exist_ok=True)
        return folder

    def unrelated(folder: Path) -> Path:
        Past(folder).commit({"a.py": "x = 1\n"})
        index(folder)
        return folder

    def several(folder: Path) -> Path:
        Index.build(folder / "index.db", [past.root, folder], Settings())
        return folder / "index.db"

    def no_repository(folder: Path) -> Path:
        index(folder)
        return folder

    def without_vectors(folder: Path) -> Path:
        Index.build(place(past.root), [past.root], Settings(vector=False), rebuild=True)
        return past.root

    def damaged(folder: Path) -> Path:
        with place(past.root).open("r+b") as file:
            file.seek(-5000, os.SEEK_END)
            file.write(b"damage")
        return past.root

    return {
        "nothing": (nothing, NoIndex, "no index at"),
        "text": (text, IndexCorrupt, "not an index"),
        "others": (others, IndexNotTrusted, "was not made here by codelens for you"),
        "moved": (moved, IndexNotTrusted, "moved or copied here"),
        "unrelated": (unrelated, UsageError, "have no first commit in common"),
        "several": (several, UsageError, "holds 2 folders"),
        "no repository": (no_repository, UsageError, "have no first commit in common"),
        "without vectors": (without_vectors, UsageError, "lacks trigrams"),
        "damaged": (damaged, IndexCorrupt, "damaged"),
    }


@pytest.mark.parametrize("case", refusals(Past.__new__(Past)))
def test_an_index_that_cannot_be_copied_is_refused_in_one_line(case: str, past: Past, tmp_path: Path) -> None:
    make, fault, message = refusals(past)[case]
    root = worktree(past, "linked", "HEAD")
    (tmp_path / "source").mkdir()
    source = make(tmp_path / "source")
    with pytest.raises(fault, match=message) as raised:
        index(root, copy_from=source)
    assert raised.value.hint
    assert index_files(place(root)) == []


@pytest.mark.parametrize("case", ["others", "damaged", "without vectors"])
def test_a_worktree_whose_neighbour_cannot_be_copied_reads_its_files(case: str, past: Past, tmp_path: Path) -> None:
    refusals(past)[case][0](tmp_path)
    report = index(worktree(past, "linked", "HEAD"))
    assert report.added == 5
    assert list(notices(report)) == ["not-copied"]


def test_the_option_from_applies_only_to_a_new_index(past: Past, tmp_path: Path) -> None:
    root = worktree(past, "linked", "HEAD")
    for how in ({"rebuild": True}, {"force": True}):
        with pytest.raises(UsageError, match="an index for one folder"):
            index(root, copy_from=past.root, **how)
    index(root)
    assert list(notices(index(root, copy_from=past.root))) == ["not-copied"]
    with pytest.raises(UsageError, match="not the top of a git repository"):
        Index.build(tmp_path / "part.db", [root / "shop"], Settings(), copy_from=past.root)


def test_the_state_before_a_writer_began_is_copied(past: Past) -> None:
    """A writer that is at work leaves a log next to the index, which a copy of the file would lack."""
    root = worktree(past, "linked", "HEAD")
    with Store.write(place(past.root)) as writer:
        writer.begin_work()
        with writer.writing():
            writer.remove_document(writer.documents.find_by_path("shop/tax.py")[0].id)
        writer.begin()
        writer.remove_document(writer.documents.find_by_path("shop/cart.py")[0].id)
        report = index(root)
        assert (report.added, report.unchanged) == (1, 4)
        writer.rollback()
        writer.end_work()
    equals_fresh(root)


@pytest.mark.parametrize("step", ["copy_index", "update_repositories", "_verify_copy", "_swap_in"])
def test_an_interrupted_copy_leaves_no_index(step: str, past: Past, monkeypatch: pytest.MonkeyPatch) -> None:
    root, done = worktree(past, "linked", "HEAD~1"), getattr(build, step)

    def interrupted(*arguments: object, **how: object) -> object:
        if step != "_swap_in":
            done(*arguments, **how)
        raise KeyboardInterrupt

    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(build, step, interrupted)
        index(root)
    assert index_files(place(root)) == []
    assert "copied" in notices(index(root))
    equals_fresh(root)


def test_a_copy_that_was_killed_is_replaced(past: Past) -> None:
    root = worktree(past, "linked", "HEAD")
    place(root).parent.mkdir()
    for beside in ("", "-wal", "-shm", "-journal"):
        place(root).with_name(f"index.db.compacted{beside}").write_bytes(b"half a copy" * 999)
    assert "copied" in notices(index(root))


def test_an_unfinished_build_is_resumed_instead_of_copied(past: Past) -> None:
    root = worktree(past, "linked", "HEAD")
    building = place(root).with_name("index.db.building")
    building.parent.mkdir()
    with Store.write(building, place(root)) as store, store.writing():
        for key, value in (("state", "building"), ("fuzzy", "1"), ("vector", "1")):
            store.set_meta(key, value)
    assert (index(root).added, building.exists()) == (5, False)
