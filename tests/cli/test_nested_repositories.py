"""Repositories within repositories: which index a command uses, and what is left out of the one around."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from codelens.cli.declare import make_default_flags
from codelens.cli.stdio import McpFlags, _prepare_folder
from tests.commands import Run
from tests.worktree.conftest import git, git_tree, write_tree

INNER = {"deep/inner.py": "def inner_word(): pass\n"}


@pytest.fixture
def outer(tmp_path: Path, run: Run) -> Path:
    """An indexed repository that ignores `deps`, in which lies another repository."""
    root = git_tree(tmp_path / "outer", {".gitignore": "deps/\nbuild/\n", "outer.py": "def outer_word(): pass\n"})
    git_tree(root / "deps/lib", INNER)
    write_tree(root, {"build/made.py": "def made_word(): pass\n"})
    run("index", "-q", cwd=root)
    return root


def list_indexes(root: Path) -> list[str]:
    return sorted(path.parent.parent.relative_to(root).as_posix() for path in root.rglob(".codelens/index.db"))


def find_files(run: Run, cwd: Path, word: str) -> list[str]:
    record = json.loads(run("search", word, "--json", cwd=cwd).out)
    return [hit["path"] for hit in record["results"]]


@pytest.mark.parametrize("arguments", [[], ["."]])
@pytest.mark.parametrize("folder", ["deps/lib", "deps/lib/deep"])
def test_a_repository_that_is_ignored_gets_its_own_index(
    folder: str, arguments: list[str], outer: Path, run: Run
) -> None:
    before = (outer / ".codelens/index.db").read_bytes()
    ran = run("index", *arguments, cwd=outer / folder)
    assert ran.code == 0
    assert "indexed twice" not in ran.err
    assert list_indexes(outer) == [".", "deps/lib"]
    assert (outer / ".codelens/index.db").read_bytes() == before
    assert find_files(run, outer / folder, "inner_word")[0].endswith("inner.py")
    assert find_files(run, outer, "outer_word") == ["outer.py"]


def test_a_search_in_an_ignored_repository_names_the_index_that_leaves_it_out(outer: Path, run: Run) -> None:
    ran = run("search", "inner_word", cwd=outer / "deps/lib/deep")
    assert ran.code == 3
    assert f"{outer}/.codelens/index.db leaves {outer}/deps/lib/deep out\n" in ran.err


def test_the_hook_of_an_ignored_repository_leaves_the_index_around_alone(outer: Path, run: Run) -> None:
    write_tree(outer, {"outer.py": "def other_word(): pass\n"})
    before = (outer / ".codelens/index.db").read_bytes()
    assert run("hooks", "run", cwd=outer / "deps/lib").code == 0
    assert (outer / ".codelens/index.db").read_bytes() == before


def test_servers_resolve_a_folder_as_commands_do(outer: Path) -> None:
    for folder, index in (("deps/lib/deep", "deps/lib/.codelens/index.db"), (".", ".codelens/index.db")):
        served, _ = _prepare_folder(outer / folder, make_default_flags(McpFlags), "mcp")
        assert served.index == outer / index


def test_a_named_index_is_used_wherever_one_is(outer: Path, run: Run) -> None:
    index = str(outer / ".codelens/index.db")
    asked = ["search", "outer_word", "--json", "--root-scope"]
    assert [hit["path"] for hit in json.loads(run(*asked, "--db", index, cwd=outer / "deps/lib").out)["results"]]


@pytest.mark.parametrize(
    ("rules", "options"), [("!deps/\n", []), ("", ["--no-ignore"])], ids=["negated rule", "--no-ignore"]
)
def test_a_repository_that_a_run_enters_belongs_to_the_index_around(
    rules: str, options: list[str], outer: Path, run: Run
) -> None:
    (outer / ".codelensignore").write_text(rules)
    run("index", "-q", *options, cwd=outer)
    assert find_files(run, outer / "deps/lib", "inner_word") == ["deps/lib/deep/inner.py"]
    run("index", "-q", cwd=outer / "deps/lib")
    assert list_indexes(outer) == ["."]


@pytest.mark.parametrize("folder", [".hidden/lib", "node_modules/lib"])
def test_other_folders_that_a_run_leaves_out_are_not_covered(folder: str, outer: Path, run: Run) -> None:
    git_tree(outer / folder, INNER)
    run("index", "-q", cwd=outer / folder)
    assert list_indexes(outer) == [".", folder]


def test_an_index_of_other_trees_does_not_cover_a_repository_beside_them(outer: Path, tmp_path: Path, run: Run) -> None:
    (tmp_path / ".codelens").mkdir()
    run("index", "-q", "outer", "--db", ".codelens/index.db", cwd=tmp_path)
    beside = git_tree(tmp_path / "beside", INNER)
    assert run("search", "inner_word", cwd=beside).code == 3
    run("index", "-q", cwd=beside)
    assert find_files(run, beside, "inner_word") == ["deep/inner.py"]


def test_a_folder_that_is_ignored_and_no_repository_is_named(outer: Path, run: Run) -> None:
    for command in (["search", "made_word"], ["files", "made_word"], ["search", "-F", "made_word"]):
        ran = run(*command, cwd=outer / "build")
        assert ran.code == 1
        assert f"note: {outer}/build is not indexed: ignored: .gitignore:2: build/\n" in ran.err, command
    assert "not indexed" not in run("search", "made_word", cwd=outer).err


def test_trees_are_indexed_twice_only_if_one_is_walked_with_the_other(outer: Path, run: Run) -> None:
    git_tree(outer / "visible", INNER)
    assert "indexed twice" not in run("index", ".", "deps/lib", cwd=outer).err
    assert (
        f"{outer}/visible lies within {outer}: its files are indexed twice"
        in run("index", ".", "visible", cwd=outer).err
    )


@pytest.fixture
def main(tmp_path: Path) -> Path:
    root = git_tree(tmp_path / "main", {"src/a.py": "def a_word(): pass\n", "b.py": "def b_word(): pass\n"})
    git(root, "add", ".")
    git(root, "commit", "--quiet", "-m", "first")
    return root


def test_a_linked_worktree_in_the_tree_is_left_out_unless_it_is_named(main: Path, run: Run) -> None:
    git(main, "worktree", "add", "--quiet", "--detach", "wt")
    git(main, "worktree", "add", "--quiet", "--detach", "src/other")
    record = json.loads(run("index", "--json", cwd=main).out)["repositories"][0]
    assert (record["indexed"], record["skipped"]) == (2, {"linked worktree": 2, "index": 1})
    skip = "skipped: linked worktree: a second checkout of a repository in the tree (by wt/)"
    assert skip in run("index", "--explain-path", "wt/b.py", cwd=main).out
    assert (
        json.loads(run("search", "b_word", "--json", cwd=main).out)["index"]["repositories"][0]["tree"]["state"]
        == "fresh"
    )

    run("index", "-q", "wt", cwd=main)
    assert list_indexes(main) == [".", "wt"]
    run("index", "-q", ".", "src/other", cwd=main)
    assert len(json.loads(run("status", "--json", cwd=main).out)["repositories"]) == 2


def test_a_linked_worktree_in_a_subfolder_that_is_indexed_is_left_out(main: Path, run: Run) -> None:
    git(main, "worktree", "add", "--quiet", "--detach", "src/other")
    record = json.loads(run("index", "--json", "src", cwd=main).out)["repositories"][0]
    assert record["skipped"]["linked worktree"] == 1


def test_a_linked_worktree_whose_main_one_is_elsewhere_is_indexed(main: Path, tmp_path: Path, run: Run) -> None:
    """Nothing else in the tree has its files."""
    tree = write_tree(tmp_path / "tree", {"c.py": "c = 1\n"})
    git(main, "worktree", "add", "--quiet", "--detach", str(tree / "wt"))
    assert json.loads(run("index", "--json", cwd=tree).out)["repositories"][0]["indexed"] == 3


def test_worktrees_of_a_bare_repository_are_indexed(main: Path, tmp_path: Path, run: Run) -> None:
    project = tmp_path / "project"
    git(tmp_path, "clone", "--quiet", "--bare", str(main), str(project / ".git"))
    git(project, "worktree", "add", "--quiet", "--detach", "one")
    git(project, "worktree", "add", "--quiet", "--detach", "two")
    assert json.loads(run("index", "--json", cwd=project).out)["repositories"][0]["indexed"] == 4


def test_a_submodule_belongs_to_the_index_around_it(main: Path, tmp_path: Path, run: Run) -> None:
    other = git_tree(tmp_path / "other", INNER)
    git(other, "add", ".")
    git(other, "commit", "--quiet", "-m", "first")
    git(main, "submodule", "--quiet", "add", str(other), "sub")
    run("index", "-q", cwd=main)
    assert find_files(run, main / "sub", "inner_word") == ["sub/deep/inner.py"]
    run("index", "-q", cwd=main / "sub")
    assert list_indexes(main) == ["."]
