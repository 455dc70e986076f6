"""Finding and creating indexes."""

from __future__ import annotations

from pathlib import Path

from codelens.worktree import place
from codelens.worktree.place import find_git_top, prepare_index_folder
from tests.worktree.conftest import git, git_tree, write_tree


def find_index(start: Path) -> Path | None:
    return place.find_index(start, lambda index, folder: True)


def choose_index_place(start: Path) -> Path:
    return place.choose_index_place(start, lambda index, folder: True)


def test_an_index_that_does_not_cover_a_repository_is_passed_over(tmp_path: Path) -> None:
    write_tree(tmp_path, {".codelens/index.db": "", "a/.codelens/index.db": "", "a/plain/": ""})
    git_tree(tmp_path / "a/b/c", {"d/": ""})
    outermost, nearest, start = tmp_path / ".codelens/index.db", tmp_path / "a/.codelens/index.db", tmp_path / "a/b/c/d"
    asked = []

    def covers(index: Path, folder: Path) -> bool:
        asked.append((index, folder))
        return index == outermost

    assert place.find_index(start, covers) == outermost
    assert asked == [(nearest, tmp_path / "a/b/c"), (outermost, tmp_path / "a/b/c")]
    assert place.find_index(start, lambda index, folder: False) is None
    assert place.choose_index_place(start, lambda index, folder: False) == tmp_path / "a/b/c/.codelens/index.db"
    assert place.find_index(tmp_path / "a/plain", lambda index, folder: False) == nearest


def test_nearest_index_upwards_wins(tmp_path: Path) -> None:
    write_tree(tmp_path, {".codelens/index.db": "", "a/.codelens/index.db": "", "a/b/c/": "", "d/": ""})
    assert find_index(tmp_path / "a/b/c") == tmp_path / "a/.codelens/index.db"
    assert find_index(tmp_path / "d") == choose_index_place(tmp_path / "d") == tmp_path / ".codelens/index.db"


def test_new_index_goes_to_the_git_top_else_here(tmp_path: Path) -> None:
    git_tree(tmp_path / "r", {"a/b/": ""})
    assert find_index(tmp_path / "r/a") is None
    assert find_git_top(tmp_path / "r/a/b") == tmp_path / "r"
    assert find_git_top(tmp_path) is None
    assert choose_index_place(tmp_path / "r/a/b") == tmp_path / "r/.codelens/index.db"
    (tmp_path / "plain").mkdir()
    assert choose_index_place(tmp_path / "plain") == tmp_path / "plain/.codelens/index.db"


def test_index_folder_ignores_itself_and_keeps_what_is_there(tmp_path: Path) -> None:
    index = tmp_path / ".codelens/index.db"
    prepare_index_folder(index)
    assert (tmp_path / ".codelens/.gitignore").read_text() == "*\n!notes/\n!notes/**\n"
    (tmp_path / ".codelens/.gitignore").write_text("index.db\n")
    prepare_index_folder(index)
    assert (tmp_path / ".codelens/.gitignore").read_text() == "index.db\n"
    prepare_index_folder(tmp_path / "chosen/my.db")
    assert list((tmp_path / "chosen").iterdir()) == []


def test_an_ignore_file_that_is_a_link_leaves_what_it_leads_to_alone(tmp_path: Path) -> None:
    write_tree(tmp_path, {"elsewhere": "*\n", "tree/.codelens/": ""})
    ignore = tmp_path / "tree/.codelens/.gitignore"
    for target in ("elsewhere", "nowhere"):
        ignore.symlink_to(tmp_path / target)
        prepare_index_folder(tmp_path / "tree/.codelens/index.db")
        ignore.unlink()
    assert (tmp_path / "elsewhere").read_text() == "*\n"
    assert not (tmp_path / "nowhere").exists()


def test_a_linked_worktree_has_an_index_of_its_own(tmp_path: Path) -> None:
    """An index above it belongs to another checkout; a submodule's files belong to the enclosing tree."""
    main = git_tree(tmp_path / "main", {"a.py": "x = 1\n", ".codelens/index.db": ""})
    git(main, "add", "a.py")
    git(main, "commit", "--quiet", "-m", "first")
    git(main, "worktree", "add", "--quiet", ".trees/feature")
    linked = main / ".trees/feature"
    assert find_index(linked) is None
    assert choose_index_place(linked) == linked / ".codelens/index.db"
    git(main, "submodule", "--quiet", "add", str(git_clone(main, tmp_path / "other")), "sub")
    assert find_index(main / "sub") == main / ".codelens/index.db"


def git_clone(source: Path, target: Path) -> Path:
    git(source, "clone", "--quiet", str(source), str(target))
    return target
