"""The commit that wrote each line: hunks by hand, git blame, and updates compared with full reads."""

from __future__ import annotations

import random
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from codelens.model.history import LineRun
from codelens.worktree import blame
from codelens.worktree.blame import LineChange, LinesRead, read_lines, rewrite_runs
from codelens.worktree.history import find_head
from tests.tiers import examples
from tests.worktree.git_history import DAY, START, Past


@pytest.mark.parametrize(
    ("runs", "hunks", "after"),
    [
        ([], [LineChange(0, 0, 3)], [(3, 9)]),
        ([(3, 1)], [LineChange(2, 1, 1)], [(1, 1), (1, 9), (1, 1)]),
        ([(3, 1)], [LineChange(1, 0, 2)], [(1, 1), (2, 9), (2, 1)]),
        ([(3, 1)], [LineChange(0, 0, 1)], [(1, 9), (3, 1)]),
        ([(3, 1)], [LineChange(1, 2, 0)], [(1, 1)]),
        ([(2, 1)], [LineChange(3, 0, 1)], [(2, 1), (1, 0), (1, 9)]),
        ([], [LineChange(5, 1, 1)], [(4, 0), (1, 9)]),
        ([(1, 1), (1, 0), (1, 2)], [LineChange(3, 1, 0)], [(1, 1)]),
        ([(9, 1)], [LineChange(2, 1, 2), LineChange(8, 2, 0)], [(1, 1), (2, 9), (5, 1)]),
    ],
)
def test_hunks_change_the_runs_of_lines(
    runs: list[tuple[int, int]], hunks: list[LineChange], after: list[tuple[int, int]]
) -> None:
    assert rewrite_runs([LineRun(*run) for run in runs], hunks, 9) == [LineRun(*run) for run in after]


@pytest.fixture
def past(tmp_path: Path) -> Past:
    return Past(tmp_path / "tree")


def told(read: LinesRead, path: str) -> list[int]:
    """The day on which each line was written; -1 if it is unknown."""
    file = read.files[path]
    return [
        (read.commits[run.commit].time - START) // DAY if run.commit in read.commits else -1
        for run in file.runs
        for _ in range(run.lines)
    ]


def read(past: Past) -> LinesRead:
    return read_lines(find_head(past.root))


def test_each_line_has_its_commit(past: Past) -> None:
    past.commit({"a.py": "one\ntwo\nthree\n"})
    past.commit({"a.py": "one\n2\nthree\nfour\n"})
    past.commit({"a.py": "zero\none\n2\nfour\n"})
    assert told(read(past), "a.py") == [3, 1, 2, 2]
    assert read(past).files["a.py"].blob.hex() == past.git("rev-parse", "HEAD:a.py")


def test_a_renamed_file_keeps_its_lines(past: Past) -> None:
    text = "".join(f"line {n}\n" for n in range(9))
    past.commit({"a.py": text})
    past.commit({"a.py": None, "lib/b.py": text + "more\n"})
    found = read(past)
    assert list(found.files) == ["lib/b.py"]
    assert told(found, "lib/b.py") == [1] * 9 + [2]


def test_deleted_files_have_no_lines_and_restored_ones_are_new(past: Past) -> None:
    past.commit({"a.py": "1\n", "b.py": "1\n"})
    past.commit({"a.py": None})
    assert list(read(past).files) == ["b.py"]
    past.commit({"a.py": "1\n"})
    assert told(read(past), "a.py") == [3]


def test_a_merge_owns_the_lines_it_brought_with_the_merged_author(past: Past) -> None:
    past.commit({"a.py": "1\n2\n3\n"})
    past.git("switch", "--quiet", "--create", "side")
    past.commit({"a.py": "1\n2\nthree\n"}, "--author=Ann <ann@x>")
    past.git("switch", "--quiet", "main")
    past.commit({"a.py": "one\n2\n3\n"})
    past.now += DAY
    past.git("merge", "--quiet", "--message=m", "side")
    found = read(past)
    assert told(found, "a.py") == [3, 1, 4]
    assert found.commits[found.files["a.py"].last].author == "Ann <ann@x>"


def test_lines_of_commits_before_the_window_have_no_commit(past: Past, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blame, "MOST_LINE_COMMITS", 2)
    past.commit({"a.py": "1\n2\n3\n", "b.py": "1\n"})
    past.commit({"a.py": "1\n2\n3\n4\n"})
    past.commit({"a.py": "1\ntwo\n3\n4\n"})
    assert told(read(past), "a.py") == [-1, 3, -1, 2]
    assert "b.py" not in read(past).files


def test_only_files_of_the_indexed_folder_have_lines(past: Past) -> None:
    past.commit({"lib/a.py": "1\n", "b.py": "1\n"})
    assert list(read_lines(find_head(past.root / "lib")).files) == ["a.py"]


def test_files_with_unusual_names_have_lines(past: Past) -> None:
    name = 'a "b"\tç\\x41.py'
    past.commit({name: "1\n"})
    past.commit({name: "1\n2\n"})
    first = read(past)
    past.commit({name: "1\n2\n3\n"})
    assert read_lines(find_head(past.root), head_of_before(past), first.files) == read(past)
    assert len(first.files) == 1


def head_of_before(past: Past) -> str:
    return past.git("rev-parse", "HEAD~1")


def test_a_shallow_clone_gives_what_it_has(past: Past, tmp_path: Path) -> None:
    for number in range(4):
        past.commit({"a.py": "".join(f"{n}\n" for n in range(number + 1))})
    past.git("clone", "--quiet", "--depth=2", f"file://{past.root}", str(tmp_path / "shallow"))
    found = read_lines(find_head(tmp_path / "shallow"))
    assert told(found, "a.py") == [-1, -1, -1, 4]


def test_nothing_that_the_repository_configures_is_run(past: Past, tmp_path: Path) -> None:
    trace = tmp_path / "ran"
    past.commit({"a.py": "1\n", ".gitattributes": "*.py diff=spy filter=spy\n"})
    for key in ("diff.spy.textconv", "diff.spy.command", "diff.external", "filter.spy.smudge", "core.fsmonitor"):
        past.git("config", key, f"sh -c 'touch {trace}; echo'")
    past.git("config", "diff.algorithm", "patience")
    assert told(read(past), "a.py") == [1]
    assert not trace.exists()


def test_lines_agree_with_git_blame(past: Past) -> None:
    """All lines differ, so that each has exactly one possible commit."""
    chance, text = random.Random(4), [f"line {n}" for n in range(40)]
    for step in range(25):
        for _ in range(chance.randrange(1, 4)):
            at = chance.randrange(len(text))
            text[at : at + chance.randrange(3)] = [f"{step}.{n}.{chance.random()}" for n in range(chance.randrange(4))]
        past.commit({"a.py": "\n".join(text) + "\n"})
    blamed = past.git("blame", "-s", "--abbrev=39", "HEAD", "--", "a.py").splitlines()
    found = read(past)
    mine = [run.commit for run in found.files["a.py"].runs for _ in range(run.lines)]
    assert mine == [int(line.lstrip("^")[:15], 16) for line in blamed]


STEP = st.tuples(
    st.sampled_from(("write", "write", "write", "rename", "remove", "merge", "back", "amend")),
    st.sampled_from(("a.py", "lib/b.py")),
    st.lists(st.sampled_from("abcdef"), max_size=6),
)


def apply(past: Past, what: str, file: str, text: list[str]) -> None:
    content = "".join(f"{line}\n" for line in text)
    if what in ("write", "amend"):
        past.commit({file: content}, *(["--amend"] if what == "amend" else []))
    elif what == "remove":
        past.commit({file: None})
    elif what == "rename" and (past.root / file).is_file():
        past.commit({file: None, f"{file}.txt": (past.root / file).read_text() + content})
    elif what == "back":
        past.git("reset", "--quiet", "--hard", "HEAD~1", fails=True)
    elif what == "merge":
        past.git("switch", "--quiet", "--create", f"side{past.now}")
        past.commit({file: content})
        past.git("switch", "--quiet", "main")
        past.commit({"c.py": content})
        past.git("merge", "--quiet", "--no-ff", "--strategy-option=theirs", "--message=m", "-", fails=True)


@given(runs=st.lists(st.lists(STEP, min_size=1, max_size=3), min_size=1, max_size=3), most=st.sampled_from((2, 4, 50)))
@settings(max_examples=examples(15), deadline=None)
def test_an_update_equals_a_full_read(runs: list[list[tuple[str, str, list[str]]]], most: int) -> None:
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(blame, "MOST_LINE_COMMITS", most)
        past = Past(Path(folder) / "tree")
        past.commit({"a.py": "a\nb\nc\n", "lib/b.py": "d\n"})
        head = find_head(past.root)
        before = read_lines(head)
        for steps in runs:
            for step in steps:
                apply(past, *step)
            new = find_head(past.root)
            before, head = read_lines(new, head.commit, before.files), new
            assert before == read_lines(new)


def test_a_commit_before_1970_has_lines(tmp_path: Path) -> None:
    past = Past(tmp_path / "tree")
    past.commit({"a.py": "x = 1\n"})
    past.recommit("m", -5 * DAY)
    assert read_lines(find_head(past.root)).files.keys() == {"a.py"}
