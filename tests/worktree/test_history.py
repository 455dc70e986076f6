"""Counts of commits by file from real histories; updating a known history equals reading everything."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from codelens.model.history import MASS_CHANGE, FileHistory, HistoryRead, PastCommit
from codelens.worktree import history
from codelens.worktree.history import collect_histories, find_head, read_changes
from codelens.worktree.repository import LONGEST_RULES, GitError, TooSlow
from tests.worktree.git_history import DAY, START, Past


@pytest.fixture
def past(tmp_path: Path) -> Past:
    return Past(tmp_path / "tree")


def day(number: int) -> int:
    return START + number * DAY


def read(root: Path) -> tuple[HistoryRead, dict[str, FileHistory]]:
    found, commits = read_changes(find_head(root))
    return found, counts(commits)


def counts(commits: Sequence[PastCommit]) -> dict[str, FileHistory]:
    return {path: FileHistory(one.commits, one.changed) for path, one in collect_histories(commits).items()}


def test_each_file_has_its_commits_and_the_time_of_the_last(past: Past) -> None:
    past.commit({"a.py": "1", "lib/b.py": "1"})
    past.commit({"a.py": "2"})
    last = past.commit({"a.py": "3", "c.py": "1"})
    found, files = read(past.root)
    assert files == {"a.py": FileHistory(3, day(3)), "lib/b.py": FileHistory(1, day(1)), "c.py": FileHistory(1, day(3))}
    assert (found.head, found.time, found.commits, found.whole, found.fault) == (last, day(3), 3, True, "")


def test_a_file_deleted_and_restored_has_all_its_commits(past: Past) -> None:
    past.commit({"a.py": "1"})
    past.commit({"a.py": None})
    assert read(past.root)[1] == {"a.py": FileHistory(2, day(2))}
    past.commit({"a.py": "2"})
    assert read(past.root)[1] == {"a.py": FileHistory(3, day(3))}


def test_a_renamed_file_keeps_its_history(past: Past) -> None:
    past.commit({"a.py": "one\ntwo\nthree\n"})
    past.commit({"a.py": None, "b.py": "one\ntwo\nthree\n"})
    past.commit({"a.py": "another\n"})
    past.commit({"b.py": None, "c.py": "one\ntwo\nthree\n"})
    assert read(past.root)[1] == {"a.py": FileHistory(1, day(3)), "c.py": FileHistory(3, day(4))}


def test_commits_have_their_messages(past: Past) -> None:
    long = "why it was needed " * 60
    past.commit({"a.py": "1"}, f"--message=reject expired coupons\n\n{long}\n\nSigned-off-by: t <t@t>")
    past.commit({"b.py": "1"})
    (past.root / "message").write_bytes("m\n\nCaf\xe9\n\nCloses: #4\n".encode("latin-1"))
    past.git("config", "i18n.commitEncoding", "latin-1")
    past.git("commit", "--quiet", "--amend", "--file=message")
    last, first = read_changes(find_head(past.root))[1]
    assert (first.subject, first.paths, first.time) == ("m", ("a.py",), day(1))
    assert first.body.startswith("reject expired coupons")
    assert len(first.body) <= history.LONGEST_BODY
    assert "Signed-off-by" not in first.body
    assert (last.subject, last.body) == ("m", "Café")


def test_no_message_is_taken_for_another_commit(past: Past) -> None:
    """The marks between commits are random, and no field of git's output can hold NUL."""
    first = past.commit({"a.py": "1"})
    past.commit({"b.py": "1"}, f"--message=\x01{first}\n\n{first} subject")
    commits = read_changes(find_head(past.root))[1]
    assert [(commit.subject, commit.paths) for commit in commits] == [("m", ("b.py",)), ("m", ("a.py",))]
    assert commits[0].body == f"\x01{first}\n\n{first} subject"


def test_the_message_of_a_mass_change_counts_for_no_file(past: Past) -> None:
    many = {f"{number}.py": "1" for number in range(MASS_CHANGE + 1)}
    past.commit({**many, "a.py": "1"})
    name = past.commit({"a.py": "2", "0.py": "2"})
    found = collect_histories(read_changes(find_head(past.root))[1])
    assert found["a.py"] == FileHistory(2, day(2), (name,))
    assert found["1.py"] == FileHistory(1, day(1))


def test_merges_do_not_count_but_merged_commits_do(past: Past) -> None:
    past.commit({"a.py": "1"})
    past.git("switch", "--quiet", "--create", "side")
    past.commit({"b.py": "1"})
    past.git("switch", "--quiet", "main")
    past.commit({"a.py": "2"})
    past.now += DAY
    past.git("merge", "--quiet", "--no-ff", "--message=m", "side")
    found, files = read(past.root)
    assert files == {"a.py": FileHistory(2, day(3)), "b.py": FileHistory(1, day(2))}
    assert (found.commits, found.time) == (3, day(4))


def test_only_the_last_commits_are_read(past: Past, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history, "MOST_LOG_COMMITS", 2)
    past.commit({"old.py": "1"})
    past.commit({"a.py": "1"})
    past.commit({"a.py": "2"})
    found, files = read(past.root)
    assert files == {"a.py": FileHistory(2, day(3))}
    assert (found.commits, found.whole) == (2, False)


def test_many_commits_are_read_by_several_processes(past: Past, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history, "COMMITS_A_CALL", 2)
    for number in range(5):
        past.commit({"a.py": str(number)})
    assert read(past.root)[1] == {"a.py": FileHistory(5, day(5))}


@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="names that not every file system has")
def test_paths_are_written_as_those_of_documents(past: Past) -> None:
    first = past.commit({"a.py": "1"})
    names = [" x", "a\nb.py", ":100644 a", "\\x41", os.fsdecode(b"caf\xe9.py"), "naïve.py", "*.py", first]
    past.commit({f"{name}/{name}": "1" for name in names})
    shown = [" x", "a\nb.py", ":100644 a", "\\x5cx41", "caf\\xe9.py", "naïve.py", "*.py", first]
    assert read(past.root)[1] == {f"{name}/{name}": FileHistory(1, day(2)) for name in shown} | {
        "a.py": FileHistory(1, day(1))
    }
    assert read(past.root / "*.py")[1] == {"*.py": FileHistory(1, day(2))}
    assert read(past.root / os.fsdecode(b"caf\xe9.py"))[1] == {"caf\\xe9.py": FileHistory(1, day(2))}


def test_a_subfolder_has_its_part_of_the_history(past: Past) -> None:
    past.commit({"app/a.py": "1", "app.py": "1"})
    past.commit({"b.py": "1"})
    found, files = read(past.root / "app")
    assert files == {"a.py": FileHistory(1, day(1))}
    assert (found.commits, found.time) == (2, day(2))
    assert found.terms != read(past.root)[0].terms


def test_absurd_times_are_limited(past: Past) -> None:
    past.commit({"a.py": "1"})
    past.recommit("m", 10**30)
    found, files = read(past.root)
    assert 0 <= found.time <= history.LATEST and 0 <= files["a.py"].changed <= history.LATEST


# Finding HEAD


def test_head_is_found_where_git_keeps_it(past: Past) -> None:
    first = past.commit({"a.py": "1"})
    second = past.commit({"a.py": "2"})
    assert find_head(past.root).commit == second
    past.git("pack-refs", "--all")
    assert find_head(past.root).commit == second
    past.git("switch", "--quiet", "--detach", first)
    assert find_head(past.root).commit == first
    past.git("symbolic-ref", "HEAD", "refs/heads/other")
    past.git("symbolic-ref", "refs/heads/other", "refs/heads/main")
    assert find_head(past.root).commit == second


def test_git_is_run_if_the_files_do_not_tell(past: Past) -> None:
    head = past.commit({"a.py": "1"})
    past.git("pack-refs", "--all")
    packed = past.root / ".git/packed-refs"
    packed.write_text(packed.read_text() + "".join(f"{head} refs/tags/{n:06}\n" for n in range(70_000)))
    assert packed.stat().st_size > LONGEST_RULES
    assert find_head(past.root).commit == head


@pytest.mark.parametrize(
    "said", ["ref: ../../../secret", "ref: refs/../../secret", "--output=x", "ref: refs/heads/main\n" * 9]
)
def test_a_head_outside_refs_is_not_followed(said: str, past: Past) -> None:
    past.commit({"a.py": "1"})
    (past.root.parent / "secret").write_text("0" * 40)
    (past.root / ".git/HEAD").write_text(said)
    with pytest.raises(GitError):
        read(past.root)


def test_a_linked_worktree_and_a_submodule_have_their_own_heads(past: Past, tmp_path: Path) -> None:
    first = past.commit({"a.py": "1"})
    past.commit({"a.py": "2"})
    past.git("worktree", "add", "--quiet", "--detach", str(tmp_path / "linked"), first)
    found, files = read(tmp_path / "linked")
    assert (found.head, files) == (first, {"a.py": FileHistory(1, day(1))})
    outer = Past(tmp_path / "outer")
    outer.git("submodule", "--quiet", "add", str(past.root), "inner")
    outer.commit({"b.py": "1"})
    assert read(outer.root / "inner")[1] == {"a.py": FileHistory(2, day(2))}
    assert "b.py" in read(outer.root)[1] and "inner/a.py" not in read(outer.root)[1]


# Missing histories


def test_a_folder_without_git_has_no_history(tmp_path: Path) -> None:
    with pytest.raises(GitError, match=r"^not a git repository$"):
        find_head(tmp_path)
    Past(tmp_path / "bare").git("clone", "--quiet", "--bare", ".", "../bare.git")
    with pytest.raises(GitError, match=r"^not a git repository$"):
        find_head(tmp_path / "bare.git")


def test_a_repository_without_commits_has_none(past: Past) -> None:
    with pytest.raises(GitError, match=r"^no commit yet$"):
        find_head(past.root)


def test_without_git_there_is_no_history(past: Past, monkeypatch: pytest.MonkeyPatch) -> None:
    past.commit({"a.py": "1"})
    monkeypatch.setenv("PATH", str(past.root))
    with pytest.raises(GitError, match=r"^git is not installed$"):
        read(past.root)


def test_objects_that_are_missing_are_a_fault(past: Past) -> None:
    past.commit({"a.py": "1"})
    shutil.rmtree(past.root / ".git/objects" / past.git("rev-parse", "HEAD^{tree}")[:2])
    with pytest.raises(GitError):
        read(past.root)


def test_reading_stops_at_the_time_limit(past: Past, monkeypatch: pytest.MonkeyPatch) -> None:
    past.commit({"a.py": "1"})
    head = find_head(past.root)
    monkeypatch.setattr(history, "SECONDS", 0.0)
    with pytest.raises(TooSlow):
        read_changes(head)


def test_a_git_that_hangs_is_ended(past: Past, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    past.commit({"a.py": "1"})
    head = find_head(past.root)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/git").write_text("#!/bin/sh\nexec sleep 600\n")
    (tmp_path / "bin/git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:{os.environ['PATH']}")
    monkeypatch.setattr(history, "SECONDS", 0.5)
    with pytest.raises(TooSlow, match="longer"):
        read_changes(head)


def test_the_last_commit_of_a_shallow_clone_is_ignored(past: Past, tmp_path: Path) -> None:
    for number in range(4):
        past.commit({"a.py": str(number), f"{number}.py": "1"})
    past.git("clone", "--quiet", "--depth=3", f"file://{past.root}", str(tmp_path / "three"))
    found, files = read(tmp_path / "three")
    assert files == {"a.py": FileHistory(2, day(4)), "2.py": FileHistory(1, day(3)), "3.py": FileHistory(1, day(4))}
    assert (found.commits, found.whole) == (2, False)
    past.git("clone", "--quiet", "--depth=1", f"file://{past.root}", str(tmp_path / "one"))
    with pytest.raises(GitError, match="shallow"):
        read(tmp_path / "one")


def test_nothing_that_a_repository_configures_is_executed(past: Past, tmp_path: Path) -> None:
    past.commit({".gitattributes": "* filter=x diff=x\n", "a.py": "1"})
    tree = past.git("rev-parse", "HEAD^{tree}")
    signature = "gpgsig -----BEGIN PGP SIGNATURE-----\n \n a\n -----END PGP SIGNATURE-----\n"
    (past.root / ".git/signed").write_text(
        f"tree {tree}\nparent {past.git('rev-parse', 'HEAD')}\nauthor a <a> 1 +0000\ncommitter a <a> 1 +0000\n{signature}\nm\n"
    )
    past.git("update-ref", "HEAD", past.git("hash-object", "-t", "commit", "-w", ".git/signed"))
    trap, script = tmp_path / "trap", tmp_path / "script"
    script.write_text(f"#!/bin/sh\ntouch {trap}\n")
    script.chmod(0o755)
    commands = (
        *("core.fsmonitor", "core.pager", "gpg.program", "gpg.ssh.program", "diff.external", "diff.x.command"),
        *("diff.x.textconv", "filter.x.smudge", "filter.x.clean", "core.sshCommand"),
    )
    for key in commands:
        past.git("config", key, str(script))
    past.git("config", "alias.rev-list", f"!{script}")
    past.git("config", "log.showSignature", "true")
    past.git("config", "log.showRoot", "false")
    past.git("config", "diff.relative", "true")
    assert read(past.root)[1]["a.py"] == FileHistory(1, day(1))
    assert not trap.exists()


# Updated histories


Read = tuple[HistoryRead, tuple[PastCommit, ...]]


def read_all(root: Path) -> Read:
    return read_changes(find_head(root))


def carried(root: Path, before: Read) -> Read:
    """The history updated from `before`, after checking that it equals a full read."""
    found = read_changes(find_head(root), {commit.name: commit for commit in before[1]})
    assert found == read_all(root)
    return found


def test_an_update_reads_only_new_commits(past: Past) -> None:
    for number in range(4):
        past.commit({"a.py": str(number), "b.py": "1"})
    before = read_all(past.root)
    past.commit({"a.py": "more"})
    made_up = {commit.name: commit._replace(paths=("z.py",)) for commit in before[1]}
    assert counts(read_changes(find_head(past.root), made_up)[1]) == {
        "a.py": FileHistory(1, day(5)),
        "z.py": FileHistory(4, day(4)),
    }
    carried(past.root, before)


def test_commits_that_leave_the_window_are_dropped(past: Past, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history, "MOST_LOG_COMMITS", 4)
    for number in range(4):
        past.commit({"a.py": str(number), f"{number}.py": "1"})
    before = read_all(past.root)
    for number in range(4, 9):
        past.commit({"a.py": str(number), f"{number}.py": "1"})
        before = carried(past.root, before)
    assert counts(before[1])["a.py"] == FileHistory(4, day(9))
    assert sorted(counts(before[1])) == ["5.py", "6.py", "7.py", "8.py", "a.py"]


def test_rewritten_history_is_followed(past: Past) -> None:
    for number in range(5):
        past.commit({"a.py": str(number), f"{number}.py": "1"})
    before = read_all(past.root)
    past.commit({"4.py": "2"}, "--amend")
    before = carried(past.root, before)
    past.git("reset", "--quiet", "--hard", "HEAD~2")
    before = carried(past.root, before)
    past.commit({"a.py": "other"})
    past.git("reflog", "expire", "--expire=now", "--all")
    past.git("gc", "--quiet", "--prune=now")
    assert counts(carried(past.root, before)[1])["a.py"] == FileHistory(4, day(7))


def test_other_limits_cause_a_full_read(past: Past, tmp_path: Path) -> None:
    for number in range(6):
        past.commit({"a.py": str(number), f"{number}.py": "1"})
    clone = tmp_path / "clone"
    past.git("clone", "--quiet", "--depth=3", f"file://{past.root}", str(clone))
    before = read_all(clone)
    assert before[0].commits == 2
    past.git("-C", str(clone), "fetch", "--quiet", "--unshallow")
    assert counts(carried(clone, before)[1])["a.py"] == FileHistory(6, day(6))
