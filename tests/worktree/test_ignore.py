"""Generated trees: the walk sees the files that git would show, and names the rule that git names."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from codelens.config import Settings
from codelens.model.code import SeenFile, Skip, SkipReason
from codelens.worktree.ignore import find_git_fault
from codelens.worktree.repository import open_repository, read_tracked_paths
from codelens.worktree.walk import explain_path, walk_tree
from tests.tiers import examples
from tests.worktree.conftest import git, git_tree, write_tree

ALL = Settings(hidden=True, include_vendored=True)
NAME = st.sampled_from(["a", "b", "ab", "x.o", "y.o", "build", "keep", ".h"])
PATH = st.lists(NAME, min_size=1, max_size=3).map("/".join)
LINE = st.builds(
    "".join,
    st.tuples(
        st.sampled_from(["", "", "", "!"]),
        st.sampled_from(["", "", "/", "**/", "a/", "build/"]),
        st.sampled_from(
            ["a", "b", "*.o", "*", "build", "keep", "x*", "**", "[ab]", "?", ".h", "a/b", "build/*", "**/b"]
        ),
        st.sampled_from(["", "", "/", "/**", " "]),
    ),
)
LINES = st.lists(LINE, min_size=1, max_size=4)


def seen(root: Path, settings: Settings = ALL) -> list[str]:
    return [step.path for step in walk_tree(root, settings) if isinstance(step, SeenFile)]


def skips(root: Path, settings: Settings = ALL) -> dict[str, tuple[SkipReason, str]]:
    return {step.path: (step.reason, step.detail) for step in walk_tree(root, settings) if isinstance(step, Skip)}


def shown_by_git(root: Path) -> list[str]:
    listed = git(root, "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--deduplicate")
    return sorted((os.fsdecode(path) for path in listed.split(b"\0")[:-1]), key=os.fsencode)


@hypothesis_settings(max_examples=examples(120), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    files=st.lists(PATH, min_size=1, max_size=14, unique=True),
    rules=st.dictionaries(st.sampled_from(["", "a", "build", "a/b", "b/build"]), LINES, max_size=4),
    exclude=st.just([]) | LINES,
    users=st.just([]) | LINES,
    forced=st.sets(st.integers(0, 13), max_size=3),
)
def test_walk_sees_what_git_shows(
    tmp_path_factory: pytest.TempPathFactory,
    quiet_git: Path,
    files: list[str],
    rules: Mapping[str, list[str]],
    exclude: list[str],
    users: list[str],
    forced: set[int],
) -> None:
    root = tmp_path_factory.getbasetemp() / "generated"
    shutil.rmtree(root, ignore_errors=True)
    files = [path for path in files if not any(other.startswith(path + "/") for other in files)]
    texts = dict.fromkeys(files, "")
    places = [folder for folder in rules if not any(folder == f or folder.startswith(f + "/") for f in files)]
    texts |= {f"{folder}/.gitignore".lstrip("/"): "\n".join(rules[folder]) for folder in places}
    git_tree(root, texts)
    (root / ".git/info").mkdir(exist_ok=True)
    (root / ".git/info/exclude").write_text("\n".join(exclude))
    write_tree(quiet_git, {".config/git/ignore": "\n".join(users)})
    try:
        chosen = [files[number] for number in forced if number < len(files)]
        if chosen:
            git(root, "add", "--force", "--", *chosen)
        assert seen(root) == shown_by_git(root)
        for path in files:
            verdict = explain_path(root, path, ALL)
            assert isinstance(verdict, SeenFile) == (path in shown_by_git(root))
    finally:
        (quiet_git / ".config/git/ignore").unlink()


@hypothesis_settings(max_examples=examples(60), deadline=None)
@given(files=st.lists(PATH, min_size=1, max_size=10, unique=True), top=LINES, below=LINES)
def test_the_source_is_the_rule_that_git_names(
    tmp_path_factory: pytest.TempPathFactory, files: list[str], top: list[str], below: list[str]
) -> None:
    root = tmp_path_factory.getbasetemp() / "sources"
    shutil.rmtree(root, ignore_errors=True)
    files = [path for path in files if not any(other.startswith(path + "/") for other in files) and path != "a"]
    git_tree(root, dict.fromkeys(files, "") | {".gitignore": "\n".join(top), "a/.gitignore": "\n".join(below)})
    for path, (reason, detail) in skips(root).items():
        assert reason is SkipReason.IGNORED
        source, line, pattern, _ = git(root, "check-ignore", "--verbose", "-z", "--stdin", given=path.encode()).split(
            b"\0"
        )[:4]
        assert detail == f"{source.decode()}:{line.decode()}: {pattern.decode()}"


def test_codelensignore_is_stronger_than_git_and_includes_again(tmp_path: Path) -> None:
    git_tree(
        tmp_path,
        {
            ".gitignore": "*.log\nbuild/\n",
            ".codelensignore": "!keep.log\n!build/\n!.github/\n!node_modules/\n*.sql\n",
            "a/.codelensignore": "!dump.sql\nkeep.log\n",
            "keep.log": "",
            "other.log": "",
            "a/keep.log": "",
            "a/dump.sql": "",
            "b/dump.sql": "",
            "build/made.py": "",
            ".github/ci.yml": "",
            "node_modules/x.js": "",
        },
    )
    plain = Settings()
    assert seen(tmp_path, plain) == [".github/ci.yml", "a/dump.sql", "build/made.py", "keep.log", "node_modules/x.js"]
    found = skips(tmp_path, plain)
    assert found["a/keep.log"] == (SkipReason.IGNORED, "a/.codelensignore:2: keep.log")
    assert found["b/dump.sql"] == (SkipReason.IGNORED, ".codelensignore:5: *.sql")
    assert found["other.log"] == (SkipReason.IGNORED, ".gitignore:1: *.log")


def test_codelensignore_leaves_out_what_git_tracks(tmp_path: Path) -> None:
    git_tree(tmp_path, {".codelensignore": "*.sql\n", "dump.sql": "", "a.py": ""})
    git(tmp_path, "add", "dump.sql")
    assert seen(tmp_path, Settings()) == ["a.py"]


def test_gitignore_counts_where_there_is_no_repository(tmp_path: Path) -> None:
    write_tree(tmp_path, {".gitignore": "*.o\n", "a/.gitignore": "/x\n", "m.o": "", "a/x": "", "a/y": "", "x": ""})
    assert seen(tmp_path, Settings()) == ["a/y", "x"]
    assert skips(tmp_path)["a/x"] == (SkipReason.IGNORED, "a/.gitignore:1: /x")


def test_no_ignore_reads_no_rule(tmp_path: Path) -> None:
    git_tree(tmp_path, {".gitignore": "*\n", ".codelensignore": "*\n", "a.py": ""})
    assert seen(tmp_path, Settings(no_ignore=True)) == ["a.py"]


def test_rules_above_the_root_count(tmp_path: Path) -> None:
    git_tree(
        tmp_path, {".gitignore": "/lib/gen/*.c\n*.o\n", ".codelensignore": "lib/secret\n", "lib/.gitignore": "*.x\n"}
    )
    write_tree(tmp_path, {"lib/gen/a.c": "", "lib/gen/b.c": "", "lib/gen/c.h": "", "lib/a.o": "", "lib/secret": ""})
    git(tmp_path, "add", "--force", "lib/gen/b.c")
    assert seen(tmp_path / "lib", Settings()) == ["gen/b.c", "gen/c.h"]
    assert seen(tmp_path / "lib/gen", Settings()) == ["b.c", "c.h"]
    assert skips(tmp_path / "lib")["a.o"] == (SkipReason.IGNORED, "../.gitignore:2: *.o")
    assert skips(tmp_path / "lib/gen")["a.c"] == (SkipReason.IGNORED, "../../.gitignore:1: /lib/gen/*.c")


def test_root_that_is_itself_ignored_is_walked(tmp_path: Path) -> None:
    git_tree(tmp_path, {".gitignore": "build/\n*.o\n", "build/a.py": "", "build/b.o": ""})
    assert seen(tmp_path / "build", Settings()) == ["a.py"]


def test_excludes_of_the_repository_and_of_the_user(tmp_path: Path, quiet_git: Path) -> None:
    root = git_tree(tmp_path / "r", {"a.one": "", "a.two": "", "a.three": "", "kept.two": ""})
    mine = tmp_path / "mine"
    mine.write_text("*.two\n*.three\n")
    git(root, "config", "core.excludesFile", str(mine))
    write_tree(root, {".git/info/exclude": "# comment\n*.one\n!kept.two\n"})
    assert seen(root) == shown_by_git(root) == ["kept.two"]
    assert skips(root)["a.one"] == (SkipReason.IGNORED, ".git/info/exclude:2: *.one")
    assert skips(root)["a.two"] == (SkipReason.IGNORED, f"{mine}:1: *.two")


def test_linked_worktree_shares_the_exclude_file(tmp_path: Path) -> None:
    main = git_tree(tmp_path / "main", {"a.py": "", ".git/info/exclude": "*.o\n"})
    git(main, "add", "a.py")
    git(main, "commit", "--quiet", "-m", "x")
    git(main, "worktree", "add", "--quiet", str(tmp_path / "linked"))
    linked = write_tree(tmp_path / "linked", {"b.o": "", "b.py": ""})
    assert seen(linked) == shown_by_git(linked) == ["a.py", "b.py"]


def test_submodule_has_its_own_rules(tmp_path: Path) -> None:
    inner = git_tree(tmp_path / "inner", {".gitignore": "*.x\n", "a.o": "", "b.py": ""})
    git(inner, "add", "--all")
    git(inner, "commit", "--quiet", "-m", "x")
    outer = git_tree(tmp_path / "outer", {".gitignore": "*.o\nsub/\n", "m.o": "", "c.py": ""})
    git(outer, "submodule", "--quiet", "add", "--force", str(inner), "sub")
    write_tree(outer, {"sub/t.x": "", "sub/m.o": ""})
    assert (outer / "sub/.git").is_file()
    assert seen(outer) == [".gitignore", ".gitmodules", "c.py", "sub/.gitignore", "sub/a.o", "sub/b.py", "sub/m.o"]
    assert skips(outer)["sub/t.x"] == (SkipReason.IGNORED, "sub/.gitignore:1: *.x")


def test_ignored_folder_with_tracked_files_shows_those_alone(tmp_path: Path) -> None:
    git_tree(
        tmp_path, {".gitignore": "out/\n", "out/kept.py": "", "out/other.py": "", "out/deep/kept.py": "", "out/d/e": ""}
    )
    git(tmp_path, "add", "--force", "out/kept.py", "out/deep/kept.py")
    assert seen(tmp_path) == shown_by_git(tmp_path) == [".gitignore", "out/deep/kept.py", "out/kept.py"]
    assert skips(tmp_path) == dict.fromkeys(["out/d/", "out/other.py"], (SkipReason.IGNORED, ".gitignore:1: out/"))


def test_ignore_file_that_is_a_link_or_huge_or_a_pipe_is_not_read(tmp_path: Path) -> None:
    git_tree(tmp_path, {"a.py": "", "rules": "*.py\n", "d/b.py": ""})
    (tmp_path / ".gitignore").symlink_to("rules")
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "d/.gitignore")
    assert seen(tmp_path, Settings()) == ["a.py", "d/b.py", "rules"]


def test_case_folding_follows_core_ignorecase(tmp_path: Path) -> None:
    git_tree(tmp_path, {".gitignore": "BUILD\nSrc/*.TXT\n", "build": "", "src/a.txt": "", "x.py": ""})
    git(tmp_path, "config", "core.ignoreCase", "true")
    assert seen(tmp_path, Settings()) == ["x.py"]


def test_works_where_git_is_not_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = git_tree(tmp_path / "r", {".gitignore": "*.o\n", "a.o": "", "a.py": ""})
    git(root, "add", "--force", "a.o")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert seen(root, Settings()) == ["a.o", "a.py"]
    assert find_git_fault(root) == ""


FORMS = {  # Form of git's index → the command that writes it, and whether only git can read it
    "version 2": (("update-index", "--index-version", "2"), False),
    "version 3": (("add", "--intent-to-add", "--force", "new.o"), False),
    "version 4": (("update-index", "--index-version", "4"), True),
    "split": (("update-index", "--split-index"), True),
}


@pytest.mark.parametrize("form", FORMS)
def test_tracked_files_are_those_of_git_in_every_form_of_its_index(
    form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = {f"{'d/' * depth}{'x' * depth}{name}.o": "" for depth in range(9) for name in "ab"}
    root = git_tree(tmp_path / "r", {".gitignore": "*.o\n", **files, "new.o": ""})
    git(root, "add", "--force", *[path for path in files if path.endswith("a.o")], ".gitignore")
    command, needs_git = FORMS[form]
    git(root, *command)
    assert seen(root) == shown_by_git(root)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert bool(find_git_fault(root)) is needs_git
    assert ("xa.o" in skips(root)) is False
    assert ("d/xa.o" in skips(root)) is needs_git


def test_a_damaged_index_of_git_is_left_to_git(tmp_path: Path) -> None:
    root = git_tree(tmp_path, {"a.o": "", "b.o": ""})
    git(root, "add", "a.o", "b.o")
    repository = open_repository(root)
    assert repository and read_tracked_paths(repository) == [b"a.o", b"b.o"]
    place = root / ".git/index"
    whole = place.read_bytes()
    for length in range(len(whole)):
        place.write_bytes(whole[:length])
        assert read_tracked_paths(repository) in (None, [b"a.o", b"b.o"])
    place.write_bytes(whole[:72] + bytes([7]) + whole[73:])
    assert read_tracked_paths(repository) is None
