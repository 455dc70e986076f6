"""Diffs by git and other programs, compared with git itself where possible."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codelens.errors import UsageError
from codelens.worktree.commits import diff_range
from codelens.worktree.diffs import FileChange, read_diff
from codelens.worktree.repository import open_repository
from tests.worktree.conftest import git, git_tree, write_tree

LINES = "".join(f"line {n}\n" for n in range(1, 31))


def repository(folder: Path, before: dict[str, str | bytes], after: dict[str, str | bytes], gone: list[str]) -> Path:
    """A git tree with two commits."""
    root = git_tree(folder / "r", before)
    git(root, "add", "--all", "--force")
    git(root, "commit", "--quiet", "-m", "before")
    for path in gone:
        (root / path).unlink()
    write_tree(root, after)
    git(root, "add", "--all", "--force")
    git(root, "commit", "--quiet", "--allow-empty", "-m", "after")
    return root


def changes(root: Path, revisions: str = "HEAD~1..HEAD") -> list[FileChange]:
    found = open_repository(root)
    assert found
    return read_diff(diff_range(found, revisions))


def test_changed_lines_with_their_places(tmp_path: Path) -> None:
    after = LINES.replace("line 5\n", "line five\n").replace("line 20\n", "")
    [change] = changes(repository(tmp_path, {"a.txt": LINES}, {"a.txt": after}, []))
    assert change.paths == (b"a.txt",)
    assert [(h.old_start, h.new_start) for h in change.hunks] == [(2, 2), (17, 17)]
    first = change.hunks[0]
    assert [text for mark, text in first.lines if mark == "-"] == [b"line 5"]
    assert first.new == [b"line 2", b"line 3", b"line 4", b"line five", b"line 6", b"line 7", b"line 8"]
    assert first.old[3] == b"line 5"


def test_new_deleted_renamed_and_binary_files(tmp_path: Path) -> None:
    root = repository(
        tmp_path,
        {"gone.py": "x = 1\n", "old name.py": LINES, "same.py": LINES + "end\n", "b.bin": b"\0\1", "empty.py": ""},
        {"new.py": "y = 2\n", "new name.py": LINES + "more\n", "moved/same.py": LINES + "end\n", "b.bin": b"\0\2"},
        ["gone.py", "old name.py", "same.py", "empty.py"],
    )
    found = {(c.old, c.new): c for c in changes(root)}
    assert set(found) == {
        (b"gone.py", None),
        (None, b"new.py"),
        (b"old name.py", b"new name.py"),
        (b"same.py", b"moved/same.py"),
        (b"b.bin", b"b.bin"),
        (b"empty.py", None),
    }
    assert found[(b"b.bin", b"b.bin")].binary
    assert not found[(b"same.py", b"moved/same.py")].hunks
    assert found[(b"old name.py", b"new name.py")].hunks[0].new[-1] == b"more"
    assert found[(None, b"new.py")].hunks[0].new == [b"y = 2"]


@pytest.mark.parametrize(
    "name", ["tab\there.py", 'quo"te\\.py', "grüße.py", "new\nline.py", "a/b b/b.py", "-x.py", "b"]
)
def test_unusual_paths_are_read(name: str, tmp_path: Path) -> None:
    root = repository(tmp_path, {name: "a = 1\n"}, {name: "a = 2\n"}, [])
    [change] = changes(root)
    assert change.paths == (name.encode(),)
    (root / name).unlink()
    git(root, "commit", "--quiet", "-a", "-m", "gone")
    assert [c.old for c in changes(root)] == [name.encode()]


def test_bytes_of_any_encoding_line_ends_and_a_last_line_without_one(tmp_path: Path) -> None:
    before, after = b"caf\xe9\r\nb\r\nend", b"th\xe9\r\nb\r\nend."
    [change] = changes(repository(tmp_path, {"a.txt": before}, {"a.txt": after}, []))
    assert change.hunks[0].lines == (
        ("-", b"caf\xe9"), ("+", b"th\xe9"), (" ", b"b"), ("-", b"end"), ("+", b"end."),
    )  # fmt: skip


def test_removed_lines_that_look_like_headers(tmp_path: Path) -> None:
    tricky = "-- a/other.py\n++ b/other.py\n@@ -1 +1 @@\ndiff --git a/x b/x\n"
    [change] = changes(repository(tmp_path, {"a.sql": tricky + "z\n"}, {"a.sql": "++ b/q\n" + "z\n"}, []))
    assert change.paths == (b"a.sql",)
    assert len(change.hunks[0].old) == 5


def test_a_range_may_omit_an_end_or_start_at_the_merge_base(tmp_path: Path) -> None:
    root = repository(tmp_path, {"a.py": "a = 1\n"}, {"b.py": "b = 1\n"}, [])
    git(root, "checkout", "--quiet", "-b", "side", "HEAD~1")
    write_tree(root, {"c.py": "c = 1\n"})
    git(root, "add", "c.py")
    git(root, "commit", "--quiet", "-m", "side")
    git(root, "branch", "-f", "top", "side@{1}")
    assert [c.paths for c in changes(root, "HEAD~1..")] == [(b"c.py",)]
    main = git(root, "rev-parse", "side~1").decode().strip()
    assert [c.paths for c in changes(root, f"{main}...side")] == [(b"c.py",)]


@pytest.mark.parametrize("revisions", ["", "HEAD", "nothing..HEAD", "--output=x..HEAD", "HEAD..--help", "a b..c"])
def test_invalid_ranges_are_refused(revisions: str, tmp_path: Path) -> None:
    root = repository(tmp_path, {"a.py": ""}, {"a.py": "1\n"}, [])
    with pytest.raises(UsageError):
        changes(root, revisions)
    assert sorted(p.name for p in root.iterdir()) == [".git", "a.py"]


def test_settings_of_a_repository_change_nothing_and_run_nothing(tmp_path: Path) -> None:
    root = repository(tmp_path, {"a.py": "a = 1\n", ".gitattributes": "*.py diff=x\n"}, {"a.py": "a = 2\n"}, [])
    plain = changes(root)
    trap = tmp_path / "trap"
    for key in ("diff.external", "diff.x.command", "diff.x.textconv", "core.pager", "filter.x.smudge"):
        git(root, "config", key, f"touch {trap};")
    for key, value in (("diff.noprefix", "true"), ("diff.mnemonicPrefix", "true"), ("color.ui", "always"),
                       ("diff.orderFile", "none"), ("diff.renames", "false"), ("diff.context", "0")):  # fmt: skip
        git(root, "config", key, value)
    assert changes(root) == plain
    assert not trap.exists()


PLAIN = b"""\
Some words of a mail
--- old/a.c\t2026-01-01 00:00:00.000000000 +0000
+++ new/a.c\t2026-01-02 00:00:00.000000000 +0000
@@ -1,3 +1,3 @@ int main()
 one

-two
+deux
--- b.c
+++ b.c
@@ -0,0 +1 @@
+x
\\ No newline at end of file
"""


def test_a_diff_from_another_program() -> None:
    first, second = read_diff(PLAIN)
    assert (first.paths, second.paths) == ((b"new/a.c", b"old/a.c"), (b"b.c",))
    assert first.hunks[0].new == [b"one", b"", b"deux"]
    assert second.hunks[0].lines == (("+", b"x"),)


def test_prefixes_that_git_can_be_configured_to_write() -> None:
    assert read_diff(b"--- i/a.c\n+++ w/a.c\n@@ -1 +1 @@\n-a\n+b\n")[0].paths == (b"a.c",)
    assert read_diff(b"diff --git a.c a.c\n--- a.c\n+++ a.c\n@@ -1 +1 @@\n-a\n+b\n")[0].paths == (b"a.c",)
    assert read_diff(b"diff --git a/m b/m\nold mode 100644\nnew mode 100755\n")[0] == FileChange(b"m", b"m", ())


def test_the_combined_format_of_a_merge_is_ignored() -> None:
    assert (
        read_diff(b"diff --cc a.py\nindex 1,2..3\n--- a/a.py\n+++ b/a.py\n@@@ -1,1 -1,1 +1,1 @@@\n- a\n++b\n")[0].hunks
        == ()
    )
    assert read_diff(b"diff --cc a.py\n") == []


def test_a_truncated_hunk_is_read_as_far_as_it_goes() -> None:
    [change] = read_diff(b"--- a/x\n+++ b/x\n@@ -1,9 +1,9 @@\n a\n-b\n")
    assert change.hunks[0].old == [b"a", b"b", b""] or change.hunks[0].old == [b"a", b"b"]


PIECES = [
    *(b"diff --git a/x b/x", b"--- a/x", b"+++ b/x", b"--- /dev/null", b"+++ /dev/null", b"@@ -1 +1 @@", b"-a", b"+b"),
    *(b"@@ -1,999999999 +0,0 @@", b" c", b"", b"\\ No newline", b"rename from x", b"rename to y", b"GIT binary patch"),
    *(b'--- "a/\\303\\777"', b'+++ "b', b"Binary files a/x and b/y differ", b"new file mode 100644", b"\r"),
    *(b'diff --git "a/x" "', b"diff --git "),
]


@given(st.one_of(st.binary(), st.lists(st.sampled_from(PIECES)).map(b"\n".join)))
def test_any_bytes_are_read(raw: bytes) -> None:
    for change in read_diff(raw):
        assert change.paths
        assert all(mark in "+- " for hunk in change.hunks for mark, _ in hunk.lines)
