"""Updates: what changed is derived, what did not is not, and the index is what a new one would be."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import apsw
import pytest

from codelens.cli.main import main
from codelens.config import Settings
from codelens.errors import IndexCorrupt, SchemaTooNew, UsageError
from codelens.index import Index
from codelens.indexing import changes, derive
from codelens.indexing import files as reading
from codelens.indexing import run as index_run
from codelens.indexing.build import BUILDING, update_file
from codelens.indexing.derive import Job
from codelens.linking.linker import DocumentLinks, Linker
from codelens.model.code import Freshness, SeenFile, Skip, SkipReason
from codelens.model.extraction import DerivedDocument
from codelens.model.memory import Place
from codelens.model.request import SearchOptions
from codelens.model.runs import Progress
from codelens.store.documents import name_by_roots
from codelens.store.migrate import find_newest_version
from codelens.store.records import Memory
from codelens.store.store import Store
from codelens.store.targets import resolve_target
from codelens.worktree.files import build_stamp, hash_content, hash_file
from codelens.worktree.place import locate_memory
from tests.accepted import accepted
from tests.dump import dump, orphans
from tests.indexing.documents import derived
from tests.indexing.here import Derivations, Tree
from tests.writable import writable

posix = pytest.mark.skipif(os.name == "nt", reason="modes and links")

PYTHON = 'import os\n\n\n@cached\ndef first(path):\n    """Say first."""\n    return os.stat(path)\n'
LUA = "local M = {}\nfunction M.greet(name) return name end\nreturn M\n"


@pytest.fixture
def some(tree: Tree) -> Tree:
    """A tree of a few languages, indexed."""
    tree.write("a.py", PYTHON)
    tree.write("lib/b.lua", LUA)
    tree.write("docs/read.md", "# Title\n\nWords here.\n\n## Part\n\nMore words.\n")
    tree.write("notes.txt", "plain words\n")
    tree.run()
    return tree


def paths(index: Path) -> dict[str, str]:
    """Path → language of all documents."""
    with Store.read(index) as store:
        return {row.path: row.language for row in store.documents.read_rows()}


def skips(index: Path) -> dict[str, str]:
    with Index.open(index) as opened:
        return {skip.path: skip.reason.value for _, skip in opened.list_skips()}


def found(index: Path, query: str) -> list[str]:
    with Index.open(index) as opened:
        return [hit.unit.path for hit in opened.search(query, SearchOptions()).hits]


# Files


def test_a_first_run_indexes_everything(tree: Tree) -> None:
    tree.write("a.py", PYTHON)
    tree.write("b.bin", b"\0\1\2\3" * 50)
    report = tree.run()
    assert (report.seen, report.indexed, report.added, report.skipped) == (2, 1, 1, {"binary": 1})
    assert report.wrote
    tree.rests()


def test_an_empty_tree_has_an_index_too(tree: Tree) -> None:
    assert tree.run().seen == 0
    tree.rests()
    tree.equals_fresh()


def test_new_changed_and_removed_files(some: Tree) -> None:
    some.write("new.py", "def new(): pass\n")
    some.write("a.py", PYTHON.replace("first", "changed_name"))
    (some.root / "notes.txt").unlink()
    report = some.run()
    assert (report.added, report.changed, report.removed, report.unchanged, report.renamed) == (1, 1, 1, 2, 0)
    assert some.derivations.derived == ["a.py", "new.py"]
    assert "a.py" in found(some.index, "changed_name")
    assert "a.py" not in found(some.index, "sym:first")
    some.rests()
    some.equals_fresh()


@pytest.mark.parametrize(
    "change", [lambda f: os.utime(f), lambda f: f.chmod(0o755), lambda f: f.write_bytes(f.read_bytes())]
)
def test_a_touched_file_is_not_derived(some: Tree, change: Callable[[Path], object]) -> None:
    change(some.root / "a.py")
    report = some.run()
    assert (report.changed, report.unchanged) == (0, 4)
    assert some.derivations.derived == []
    some.rests()


def test_a_file_with_another_inode_is_hashed(some: Tree) -> None:
    file = some.root / "a.py"
    other = some.write("a.new", PYTHON.replace("first", "other"))
    times = (file.stat().st_atime_ns, file.stat().st_mtime_ns)
    os.utime(other, ns=times)
    other.replace(file)
    assert some.run().changed == 1


def edit_unseen(file: Path) -> None:
    """Another content of the same size, in the same inode and with the same modification time."""
    times = (file.stat().st_atime_ns, file.stat().st_mtime_ns)
    file.write_text(PYTHON.replace("first", "thrid"))
    os.utime(file, ns=times)


@pytest.mark.skipif(os.name == "nt", reason="no change time")
def test_the_change_time_reveals_an_edit_of_the_same_size_and_time(some: Tree) -> None:
    edit_unseen(some.root / "a.py")
    with Index.open(some.index) as index:
        (repository,) = index.status(check=True).repositories
        assert repository.changes is not None and repository.changes.changed == ("a.py",)
        (hit, *_) = index.search("first", SearchOptions(literal=True)).hits
        assert hit.freshness is Freshness.CHANGED
    report = some.run()
    assert (report.changed, report.unchanged) == (1, 3)
    assert some.derivations.derived == ["a.py"]
    some.rests()
    some.equals_fresh()


def test_files_whose_mode_changed_are_read_once(some: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    """chmod changes the change time: the content is hashed, its stamp is noted, and that is all."""
    read = list[str]()
    monkeypatch.setattr(changes, "hash_file", lambda file: read.append(file.name) or hash_file(file))
    some.write("left-out.bin", bytes(range(256)) * 4)
    some.run()
    read.clear()
    for file in (some.root, *some.root.rglob("*")):
        file.chmod(0o755)
    report = some.run()
    assert (report.changed, report.unchanged, report.removed) == (0, 4, 0)
    assert len(read) == (0 if os.name == "nt" else 4)
    assert some.derivations.derived == []
    read.clear()
    some.rests()
    assert read == []


def test_an_index_without_change_times_stores_them_in_the_next_run(some: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    """A migrated index: learning the times reads no file, and later edits are seen."""
    some.write("left-out.bin", bytes(range(256)) * 4)
    some.run()
    with writable(some.index) as connection:
        for table in ("documents", "skips"):
            connection.execute(f"UPDATE {table} SET ctime_ns = 0").fetchall()
    read = list[str]()
    monkeypatch.setattr(changes, "hash_file", lambda file: read.append(file.name) or hash_file(file))
    monkeypatch.setattr(reading, "hash_content", lambda raw: read.append("a file") or hash_content(raw))
    report = some.run()
    assert (report.changed, report.unchanged, report.wrote, read) == (0, 4, os.name != "nt", [])
    some.rests()
    if os.name != "nt":
        edit_unseen(some.root / "a.py")
        assert some.run().changed == 1


@pytest.mark.skipif(os.name == "nt", reason="no change time")
def test_a_skipped_file_is_judged_again_when_it_changes(some: Tree) -> None:
    file = some.write("data.py", b"\0" * len(PYTHON))
    assert some.run().skipped
    edit_unseen(file)
    assert some.run().added == 1


def test_without_change_times_an_edit_of_equal_size_and_time_needs_verify(
    some: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The situation on Windows."""
    monkeypatch.setattr("codelens.worktree.walk.build_stamp", lambda found: build_stamp(found)._replace(ctime_ns=0))
    some.run()
    edit_unseen(some.root / "a.py")
    assert not some.run().wrote
    report = some.run(verify=True)
    assert (report.changed, report.unchanged) == (1, 3)
    assert some.derivations.derived == ["a.py"]
    assert not some.run(verify=True).wrote
    some.equals_fresh()


def test_force_derives_all(some: Tree) -> None:
    report = some.run(force=True)
    assert (report.changed, report.unchanged) == (4, 0)
    assert len(some.derivations.derived) == 4
    some.equals_fresh()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("path", "spoil", "reason"),
    [
        ("a.py", lambda f: f.write_bytes(b"\0\1\2\3" * 99), "binary"),
        ("a.py", lambda f: f.write_bytes(b"x = 1\n" * 400_000), "too large"),
        ("a.py", lambda f: (f.parent / ".gitignore").write_text("a.py\n"), "ignored"),
        ("a.py", lambda f: f.write_text("# Code generated by stringer. DO NOT EDIT.\nx = 1\n"), "generated"),
    ],
)
def test_a_file_can_become_skipped_and_be_indexed_again(
    some: Tree, path: str, spoil: Callable[[Path], object], reason: str
) -> None:
    before = (some.root / path).read_bytes()
    spoil(some.root / path)
    report = some.run()
    assert report.removed == 1
    assert report.indexed == 3
    assert skips(some.index)[path] == reason
    assert path not in paths(some.index)
    some.rests()
    some.equals_fresh()
    (some.root / path).write_bytes(before)
    (some.root / ".gitignore").unlink(missing_ok=True)
    report = some.run()
    assert (report.added, report.indexed) == (1, 4)
    assert path not in skips(some.index)
    some.rests()
    some.equals_fresh()


@posix
@pytest.mark.skipif(os.name != "nt" and os.geteuid() == 0, reason="root reads everything")
def test_a_file_that_cannot_be_read_is_a_skip(some: Tree) -> None:
    (some.root / "a.py").chmod(0)
    assert some.run().skipped == {"unreadable": 1}
    (some.root / "a.py").chmod(0o644)
    assert some.run().added == 1


@posix
def test_a_file_that_becomes_a_link_or_a_folder_is_removed(some: Tree) -> None:
    (some.root / "a.py").unlink()
    (some.root / "a.py").symlink_to(some.root / "notes.txt")
    (some.root / "notes.txt").rename(some.root / "old")
    some.write("notes.txt/inside.txt", "words\n")
    (some.root / "a.py").unlink()
    (some.root / "a.py").symlink_to(some.root / "old")
    report = some.run()
    assert report.skipped == {"link": 1}
    assert set(paths(some.index)) == {"lib/b.lua", "docs/read.md", "old", "notes.txt/inside.txt"}
    some.equals_fresh()


@pytest.mark.skipif(sys.platform != "linux", reason="a file system that takes any bytes")
def test_a_path_that_is_not_utf8_is_one_document(some: Tree) -> None:
    file = Path(os.fsdecode(os.fsencode(some.root) + b"/caf\xe9.py"))
    file.write_text(PYTHON)
    assert some.run().added == 1
    some.rests()
    file.unlink()
    assert some.run().removed == 1
    some.equals_fresh()


# The same content elsewhere


def test_a_renamed_file_keeps_its_extraction(some: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    (some.root / "a.py").rename(some.root / "lib" / "z.py")
    (some.root / "docs").rename(some.root / "manual")
    with monkeypatch.context() as patch:
        patch.setattr(derive, "extract", _must_not_parse)
        report = some.run()
    assert (report.renamed, report.added, report.removed, report.unchanged) == (2, 0, 0, 2)
    some.rests()
    some.equals_fresh()
    assert "lib/z.py" in found(some.index, "first")


@pytest.mark.slow
def test_renamed_large_files_are_not_parsed_again(tmp_path: Path) -> None:
    """The messages in both directions are larger than a pipe: neither side may wait for the other."""
    folder = tmp_path / "tree/old"
    folder.mkdir(parents=True)
    for number in range(8):
        lines = (f"def function_{number}_{i}(a, b):\n    return helper_{i}(a, b)\n" for i in range(1500))
        (folder / f"m{number}.py").write_text("".join(lines))
    index = tmp_path / "index.db"
    Index.build(index, [tmp_path / "tree"], Settings(jobs=1))
    folder.rename(tmp_path / "tree/new")
    (report,) = Index.build(index, [tmp_path / "tree"], Settings(jobs=1))
    assert (report.renamed, report.skipped) == (8, {})


@posix
def test_a_file_that_could_not_be_read_is_tried_again(tree: Tree) -> None:
    """A grammar or a disk that failed once may work now, and the file is as old as before."""
    tree.write("a.py", PYTHON)
    tree.run()
    with Store.write(tree.index) as store, store.writing():
        (state,) = store.documents.read_states(store.documents.list_repositories()[0].id).values()
        store.remove_document(state.id)
        failed = Skip("a.py", SkipReason.UNREADABLE, "grammar crashed (SIGSEGV)", state.stamp)
        store.documents.replace_skips(store.documents.list_repositories()[0].id, [], [failed])
    with Index.open(tree.index) as index:
        (repository,) = index.status(check=True).repositories
        assert not repository.is_stale, "the file has not changed; it only is tried again"
    report = tree.run()
    assert (report.added, report.skipped) == (1, {})


def _must_not_parse(*_: object) -> object:
    raise AssertionError("parsed again")


def test_two_files_with_equal_content_can_swap_their_names(some: Tree) -> None:
    some.write("one.py", PYTHON)
    some.write("two.py", PYTHON)
    some.run()
    (some.root / "one.py").rename(some.root / "three.py")
    (some.root / "two.py").rename(some.root / "one.py")
    report = some.run()
    assert (report.renamed, report.removed) == (1, 0)
    some.equals_fresh()


def test_a_rename_to_another_language_is_derived(some: Tree) -> None:
    (some.root / "a.py").rename(some.root / "a.txt")
    report = some.run()
    assert (report.renamed, report.added, report.removed) == (0, 1, 1)
    assert paths(some.index)["a.txt"] == "text"
    some.equals_fresh()


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "latin-1", "shift_jis"])
def test_a_renamed_file_of_any_encoding_equals_a_new_one(tree: Tree, encoding: str) -> None:
    words = "コード検索、説明" if encoding == "shift_jis" else "Bücher über Größe, schön"
    tree.write("a.py", f'"""{words}."""\n\n\ndef f():\n    return "{words}"\n'.encode(encoding))
    tree.run()
    (tree.root / "a.py").rename(tree.root / "b.py")
    assert tree.run().renamed == 1
    tree.equals_fresh()


def test_a_renamed_and_changed_file_is_a_new_one(some: Tree) -> None:
    (some.root / "a.py").rename(some.root / "z.py")
    some.write("z.py", PYTHON + "\n")
    report = some.run()
    assert (report.renamed, report.added, report.removed) == (0, 1, 1)


@pytest.mark.slow
def test_a_rename_and_a_checkout_need_no_grammar(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With real workers, which find a grammar that cannot be loaded after the first run."""
    root, index = tmp_path / "tree", tmp_path / "index.db"
    root.mkdir()

    def git(*arguments: str) -> None:
        subprocess.run(["git", "-C", str(root), "-c", "user.name=n", "-c", "user.email=e@e", *arguments], check=True)

    for name in ("one.lua", "two.lua"):
        (root / name).write_text(LUA.replace("greet", name[:3]))
    git("init", "-q", "-b", "main")
    git("add", ".")
    git("commit", "-qm", "1")
    git("checkout", "-qb", "side")
    (root / "one.lua").write_text("x = 1\n")
    git("commit", "-qam", "2")
    git("checkout", "-q", "main")
    Index.build(index, [root], Settings(jobs=1))
    (tmp_path / "wheels").mkdir()
    (tmp_path / "wheels" / "tree_sitter_lua.py").write_text("raise ImportError('must not be needed')\n")
    monkeypatch.syspath_prepend(tmp_path / "wheels")
    git("checkout", "-q", "side")
    git("checkout", "-q", "main")
    (root / "two.lua").rename(root / "moved.lua")
    (report,) = Index.build(index, [root], Settings(jobs=1))
    assert (report.renamed, report.unchanged, report.changed, report.faults) == (1, 1, 0, {})
    assert found(index, "sym:two") == ["moved.lua"]
    (root / "moved.lua").write_text(LUA)
    (report,) = Index.build(index, [root], Settings(jobs=1))
    assert list(report.faults) == ["moved.lua"], "the grammar really is gone"


# Settings


def test_a_changed_size_limit_removes_and_adds_files(some: Tree) -> None:
    small = Settings(max_file_size=80)
    report = some.run(settings=small)
    assert report.skipped == {"too large": 1}
    some.rests(small)
    some.equals_fresh(small)
    assert some.run().added == 1
    some.equals_fresh()


def test_vendored_and_generated_files_follow_their_setting(some: Tree) -> None:
    some.write("made.py", "# Code generated by stringer. DO NOT EDIT.\nx = 1\n")
    some.write("node_modules/m/index.js", "var x = 1;\n")
    assert some.run().skipped == {"generated": 1, "vendored": 1}
    every = Settings(include_vendored=True)
    report = some.run(settings=every)
    assert (report.added, report.skipped) == (2, {})
    assert len(some.derivations.derived) == 2, "what was indexed is read, and not derived"
    some.rests(every)
    some.equals_fresh(every)
    report = some.run()
    assert (report.removed, report.skipped) == (2, {"generated": 1, "vendored": 1})
    assert some.derivations.derived == []
    some.rests()
    some.equals_fresh()


def test_hidden_files_follow_their_setting(some: Tree) -> None:
    some.write(".hidden/x.py", "x = 1\n")
    assert some.run().skipped == {"hidden": 1}
    assert some.run(settings=Settings(hidden=True)).added == 1
    some.equals_fresh(Settings(hidden=True))
    assert some.run().removed == 1
    some.equals_fresh()


def test_another_threshold_for_encodings_derives_again(some: Tree) -> None:
    assert some.run(settings=Settings(encoding_threshold=0.9)).changed == 4


@pytest.mark.parametrize("without", ["fuzzy", "vector"])
def test_an_index_keeps_the_features_that_it_was_built_with(some: Tree, without: str) -> None:
    less = replace(Settings(), **{without: False})
    report = some.run(settings=less)
    assert not report.wrote
    assert [n.code for n in report.notices] == ["kept"]
    some.run(settings=less, rebuild=True)
    some.rests()
    some.equals_fresh(less)
    with Index.open(some.index) as opened:
        assert opened.status().repositories[0].stale == 0
    assert some.run(settings=Settings(), rebuild=True).notices == ()
    some.equals_fresh()


def test_an_edited_query_file_derives_its_language_and_what_may_quote_it(
    some: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = index_run.read_query_source
    monkeypatch.setattr(
        index_run, "read_query_source", lambda row: real(row) + ("; edited" if row.name == "lua" else "")
    )
    index_run.compute_recipe.cache_clear()
    try:
        with Index.open(some.index) as opened:
            assert opened.status().repositories[0].stale == 2
        assert some.run().changed == 2
        assert some.derivations.derived == ["docs/read.md", "lib/b.lua"]
        some.rests()
    finally:
        monkeypatch.undo()
        index_run.compute_recipe.cache_clear()


# Roots and places


REPOSITORIES = {
    "app": {"alpha", "beta"},
    "y/app": {"beta"},
    "./y/app/": {"beta"},
    "{second}": {"beta"},
    "y/": {"beta"},
    "?/app": {"alpha", "beta"},
    "pp": {"alpha", "beta"},
    "z/app": set[str](),
}
"""Value of `repo:` → what is found."""


def test_several_roots_have_names_of_their_own(tree: Tree, capsys: pytest.CaptureFixture[str]) -> None:
    first, second = tree.root / "x" / "app", tree.root / "y" / "app"
    for root, name in ((first, "alpha"), (second, "beta")):
        root.mkdir(parents=True)
        (root / "main.py").write_text(f"def {name}():\n    return shared_word\n")
    tree.run(first, second)
    tree.equals_fresh(None, first, second)
    with Index.open(tree.index) as opened:
        assert [r.name for r in opened.info().repositories] == ["x/app", "y/app"]
        hits = opened.search("shared_word", SearchOptions()).hits
        assert {(h.unit.repository, h.unit.path) for h in hits} == {("x/app", "main.py"), ("y/app", "main.py")}
        assert main(["search", "-l", "shared_word", "--path-style", "absolute", "--db", str(tree.index)]) == 0
        assert sorted(capsys.readouterr().out.split()) == [str(first / "main.py"), str(second / "main.py")]
        for value, found in REPOSITORIES.items():
            hits = opened.search(f"shared_word repo:{value.format(second=second)}", SearchOptions()).hits
            assert {h.unit.name for h in hits} == found, value
    (second / "main.py").unlink()
    assert tree.run(first).wrote is False, "another repository is another run's matter"
    assert tree.run(second).removed == 1
    tree.equals_fresh(None, first, second)


def test_a_name_gets_longer_when_another_root_has_it_too(tree: Tree) -> None:
    """What is kept under the name follows it: memory, and the rules of the walk."""
    first, second = tree.root / "x" / "app", tree.root / "y" / "app"
    for root in (first, second):
        root.mkdir(parents=True)
        (root / "main.py").write_text("def kept():\n    return 1\n")
    tree.run(first)
    place = Place("app", "main.py", "kept", "function")
    with Memory.open_for_writing(locate_memory(tree.index)) as memory:
        memory.pin_place(place, 1)
    with Store.read(tree.index) as store:
        rules = store.read_meta("walk:app")
    tree.run(second)
    with Store.read(tree.index) as store:
        assert [row.name for row in store.documents.list_repositories()] == ["x/app", "y/app"]
        assert rules
        assert (store.read_meta("walk:x/app"), store.read_meta("walk:app")) == (rules, "")
        assert resolve_target("x/app/main.py", store).path == "main.py"
    with Memory.open_for_reading(locate_memory(tree.index)) as memory:
        assert memory.list_places() == [place._replace(repository="x/app")]
    assert not tree.run(first).wrote


@pytest.mark.parametrize(
    ("roots", "names"),
    [
        (["/a/x"], ["x"]),
        (["/a/x", "/b/x"], ["a/x", "b/x"]),
        (["/a/c/x", "/b/c/x", "/b/d/x"], ["a/c/x", "b/c/x", "d/x"]),
        (["/x", "/a/x"], ["/x", "a/x"]),
        (["/a/x", "/a/xx"], ["x", "xx"]),
        (["/"], ["root"]),
    ],
)
def test_a_name_is_the_shortest_end_of_a_path_that_tells_it_apart(roots: list[str], names: list[str]) -> None:
    assert name_by_roots([Path(root) for root in roots]) == dict(zip(map(Path, roots), names, strict=True))


def test_settings_of_one_root_do_not_change_the_skips_of_another(tree: Tree) -> None:
    first, second = tree.root / "one", tree.root / "two"
    for root in (first, second):
        root.mkdir()
        (root / "made.py").write_text("# Code generated by stringer. DO NOT EDIT.\nx = 1\n")
    tree.run(first, second)
    every = Settings(include_vendored=True)
    assert tree.run(first, settings=every).added == 1
    assert tree.run(second, settings=every).added == 1


def test_a_root_that_is_gone_is_an_error_and_a_rebuild_forgets_it(
    tree: Tree, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second = tree.root / "one", tree.root / "two"
    for root in (first, second):
        root.mkdir()
        (root / "a.py").write_text(PYTHON)
    tree.run(first, second)
    shutil.rmtree(second)
    before = tree.index.read_bytes()
    with pytest.raises(UsageError):
        tree.run(first, second)
    assert tree.index.read_bytes() == before
    assert main(["index", "--db", str(tree.index)]) == 0, "without roots named, those that are there are updated"
    assert f"{second} is gone" in capsys.readouterr().err
    assert tree.index.read_bytes() == before
    tree.run(first, rebuild=True)
    with Index.open(tree.index) as opened:
        assert [r.name for r in opened.info().repositories] == ["one"]
    tree.equals_fresh(None, first)


def test_a_tree_that_moves_with_its_index_stays_indexed(tree: Tree) -> None:
    tree.write("a.py", PYTHON)
    inside = replace(tree, index=tree.root / ".codelens" / "index.db")
    inside.index.parent.mkdir()
    inside.run()
    moved = tree.root.with_name("elsewhere")
    tree.root.rename(moved)
    there = replace(tree, root=moved, index=moved / ".codelens" / "index.db")
    accepted(there.index)
    report = there.run()
    assert report.unchanged == 1
    with Index.open(there.index) as opened:
        assert opened.info().repositories[0].root == str(moved)


def test_an_index_in_a_subfolder_is_not_indexed(tree: Tree) -> None:
    tree.write("part/a.py", PYTHON)
    Index.build(tree.root / "part/.codelens/index.db", [tree.root / "part"], Settings())
    assert tree.run().skipped == {"index": 1}
    tree.rests()


def test_numbers_of_units_are_up_to_date(tree: Tree) -> None:
    """They are kept at the end of a run, and not counted again where nothing changed."""
    tree.write("a.py", PYTHON)
    before = tree.run()
    assert (tree.run().symbols, tree.run().chunks) == (before.symbols, before.chunks)
    tree.write("a.py", PYTHON + "\n\ndef one_more():\n    pass\n")
    assert tree.run().symbols == tree.run().symbols == before.symbols + 1
    tree.write("b.py", "def another():\n    pass\n")
    assert update_file(tree.index, tree.root, "b.py", Settings())
    assert tree.run().symbols == before.symbols + 2


def test_a_git_without_an_answer_is_a_notice(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    tree.write("a.py", PYTHON)
    tree.write(".gitignore", "*.log\n")
    subprocess.run(["git", "init", "-q", str(tree.root)], check=True)
    tree.write("a.log", "")
    subprocess.run(["git", "add", ".gitignore"], cwd=tree.root, check=True)
    subprocess.run(["git", "update-index", "--index-version", "4"], cwd=tree.root, check=True)  # which only git reads
    assert tree.run().notices == ()
    monkeypatch.setenv("PATH", str(tree.root))
    (notice,) = tree.run().notices
    assert notice.code == "git"
    assert tree.run(settings=Settings(no_ignore=True)).notices == ()
    (tree.root / "a.log").unlink()
    assert tree.run().notices == (), "nothing is left out that git might track"


# Schemas, and files that are no index


def test_a_newer_schema_is_refused_and_rebuilt(some: Tree) -> None:
    with writable(some.index) as connection:
        connection.pragma("user_version", find_newest_version() + 1)
    before = some.index.read_bytes()
    with pytest.raises(SchemaTooNew):
        some.run()
    assert some.index.read_bytes() == before
    some.run(rebuild=True)
    some.equals_fresh()


def _set_version(index: Path, version: int) -> None:
    connection = apsw.Connection(str(index))
    connection.pragma("user_version", version)
    connection.close()


def test_a_database_that_is_no_index_is_left_alone(some: Tree) -> None:
    for version in (0, 1):
        some.index.unlink()
        connection = apsw.Connection(str(some.index))
        connection.execute("CREATE TABLE accounts (x)").fetchall()
        connection.close()
        _set_version(some.index, version)
        before = some.index.read_bytes()
        with pytest.raises(IndexCorrupt):
            some.run()
        with pytest.raises(UsageError):
            some.run(rebuild=True)
        assert some.index.read_bytes() == before


def test_a_text_file_is_not_replaced_by_an_index(some: Tree) -> None:
    some.index.write_text("Dear all, " * 200)
    with pytest.raises(IndexCorrupt):
        some.run()
    with pytest.raises(UsageError):
        some.run(rebuild=True)
    assert some.index.read_text().startswith("Dear all")


def test_an_empty_file_may_become_an_index(some: Tree) -> None:
    some.index.write_bytes(b"")
    assert some.run().added == 4


def test_a_damaged_index_is_rebuilt(some: Tree) -> None:
    inside = replace(some, index=some.root / ".codelens" / "index.db")
    inside.index.parent.mkdir()
    inside.index.write_bytes(b"rubbish" * 1000)
    (notice,) = inside.run().notices
    assert notice.code == "rebuilt"
    inside.equals_fresh()


def test_an_unfinished_index_of_other_trees_is_not_resumed(some: Tree) -> None:
    def interrupt(step: Progress) -> None:
        if step.phase == "verify":
            raise KeyboardInterrupt

    other = some.root / "lib"
    some.index.unlink()
    with pytest.raises(KeyboardInterrupt):
        Index.build(some.index, [some.root], Settings(), progress=interrupt)
    assert some.index.with_name("index.db" + BUILDING).exists()
    Index.build(some.index, [other], Settings())
    assert list(paths(some.index)) == ["b.lua"]


def test_an_update_removes_an_abandoned_rebuild(some: Tree) -> None:
    some.index.with_name("index.db" + BUILDING).write_bytes(b"SQLite format 3\0half")
    some.run()
    assert [f.name for f in some.index.parent.iterdir()] == ["index.db"]


# Room and time


@pytest.mark.slow
def test_many_updates_do_not_make_the_file_grow(tmp_path: Path) -> None:
    """200 rewrites, one in ten of a file that stays as it is then: a survivor among each 1,024 vectors."""
    index, hot, files = tmp_path / "index.db", 30, 50
    versions = [
        [derived(f"m{number}.py", _functions(number, version)[: None if number < hot else 80]) for version in range(2)]
        for number in range(files)
    ]
    last = [first for first, _ in versions]
    with Store.write(index) as store:
        with store.writing():
            repository = store.documents.add_repositories([tmp_path])[0].id
            ids = [store.add_document(repository, first) for first in last]
        room = [_vector_room(index)]
        sizes = [index.stat().st_size]
        store.begin_work()
        chance = random.Random(5)
        for cycle in range(200):
            number = chance.randrange(hot) if cycle % 10 else hot + cycle // 10
            with store.writing():
                store.remove_document(ids[number])
                last[number] = versions[number][cycle % 2]
                ids[number] = store.add_document(repository, last[number])
            store.shrink()
            room.append(_vector_room(index))
        store.end_work()
        sizes.append(index.stat().st_size)
    with Store.write(tmp_path / "fresh.db") as store, store.writing():
        repository = store.documents.add_repositories([tmp_path])[0].id
        for document in last:
            store.add_document(repository, document)
    assert dump(index)["vectors"] == dump(tmp_path / "fresh.db")["vectors"]
    assert max(room) <= 3 * room[0]
    assert sizes[1] <= 2 * sizes[0]
    assert orphans(index) == []


def _functions(number: int, version: int) -> bytes:
    return "".join(f"def f_{number}_{i}(x):\n    return x + {version}\n\n\n" for i in range(50)).encode()


def _vector_room(index: Path) -> int:
    """Bytes of the table's pages, also those that are partly empty."""
    connection = apsw.Connection(str(index), flags=apsw.SQLITE_OPEN_READONLY)
    (row,) = connection.execute("SELECT sum(pgsize) FROM dbstat WHERE name = 'vectors'").fetchall()
    connection.close()
    return int(row[0])


def test_a_file_is_read_only_after_its_next_change_would_be_noticed(tmp_path: Path) -> None:
    """Within one tick of the clock a second write may leave the time as it is: git's racily clean entries."""
    for _ in range(5):
        file = tmp_path / "a.py"
        file.write_text("x = 1\n")
        (result,) = Derivations()([Job(str(tmp_path), _seen(file))], Settings())
        assert isinstance(result, DerivedDocument)
        stamp = result.seen.stamp
        assert time.time_ns() >= max(stamp.mtime_ns, stamp.ctime_ns) + reading.TICK_NS


def _seen(file: Path) -> SeenFile:
    found = file.stat()
    return SeenFile(file.name, file.name, build_stamp(found))


def test_only_files_written_in_this_tick_are_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the clock held still: how long for a file of this age in ns, to the end of the tick and no longer."""
    now, slept = 1_700_000_000_000_000_000, list[float]()
    monkeypatch.setattr(time, "time_ns", lambda: now)
    monkeypatch.setattr(time, "sleep", slept.append)
    tick = reading.TICK_NS
    for age, wait in ((0, tick), (1, tick - 1), (tick - 1, 1), (tick, 0), (10**9, 0), (-1, 0), (-3600 * 10**9, 0)):
        reading.wait_for_clock_tick(now - age)
        assert [round(seconds * 1e9) for seconds in slept] == ([wait] if wait else []), f"{age} ns old"
        slept.clear()
    reading.wait_for_clock_tick(now - 10**9, now)
    assert [round(seconds * 1e9) for seconds in slept] == [tick], (
        "a time that was set back says nothing of the last change"
    )


def test_a_new_file_in_a_folder_relinks_no_imports_of_the_folder(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    """An import of `shop.tools` asks for `tools.py`, `tools/__init__.py` or such a folder, not for other files in it."""
    linked, link = list[str](), Linker.link

    def noted(linker: Linker, document: int, whole: bool) -> DocumentLinks:
        linked.append(linker.catalog.files[document].path)
        return link(linker, document, whole)

    tree.write("main.py", "import shop.tools\nimport shop.space\nfrom shop import tools\n\ntools.one()\n")
    tree.write("shop/tools/__init__.py", "from shop.tools.one import one\n")
    tree.write("shop/tools/one.py", "def one():\n    return 1\n")
    tree.run()
    monkeypatch.setattr(Linker, "link", noted)
    for path, expected in (
        ("shop/tools/two.py", ["shop/tools/two.py"]),
        ("shop/space/deep/three.py", ["main.py", "shop/space/deep/three.py"]),
        ("shop/space/four.py", ["shop/space/four.py"]),
        ("shop/__init__.py", ["main.py", "shop/__init__.py"]),
    ):
        tree.write(path, "def two():\n    return 2\n")
        tree.run()
        assert (sorted(linked), path) == (expected, path)
        linked.clear()
        tree.equals_fresh()
        linked.clear()
