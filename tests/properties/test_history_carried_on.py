"""Random histories, extended and rewritten: an updated history equals a fresh one."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from codelens.worktree import history
from codelens.worktree.history import find_head, read_changes
from tests.tiers import examples
from tests.worktree.git_history import DAY, Past

FILE = st.sampled_from(("a.py", "b.py", "lib/c.py"))
AFTER = st.sampled_from((DAY, DAY, 0, -DAY))
STEP = st.one_of(
    st.tuples(st.just("write"), FILE, AFTER),
    st.tuples(st.just("write"), FILE, AFTER),
    st.tuples(st.just("remove"), FILE, AFTER),
    st.tuples(st.just("amend"), FILE, AFTER),
    st.tuples(st.just("back"), FILE, AFTER),
    st.tuples(st.just("branch"), FILE, AFTER),
    st.tuples(st.just("merge"), FILE, AFTER),
    st.tuples(st.just("forget"), FILE, AFTER),
)


def apply(past: Past, number: int, what: str, file: str, after: int) -> None:
    """One step; what cannot be done is nothing."""
    if what in ("write", "amend"):
        past.commit({file: f"{number}\n"}, *(["--amend"] if what == "amend" else []), after=after)
    elif what == "remove":
        past.commit({file: None}, after=after)
    elif what == "back":
        past.git("reset", "--quiet", "--hard", "HEAD~1", fails=True)
    elif what == "branch":
        past.git("branch", "--force", "side")
        past.git("reset", "--quiet", "--hard", "HEAD~2", fails=True)
    elif what == "merge":
        past.git("merge", "--quiet", "--strategy=ours", "--message=m", "side", fails=True)
    elif what == "forget":
        past.git("reflog", "expire", "--expire=now", "--all")
        past.git("gc", "--quiet", "--prune=now")


@pytest.mark.slow
@given(runs=st.lists(st.lists(STEP, min_size=1, max_size=3), min_size=1, max_size=4), most=st.sampled_from((3, 6, 50)))
@settings(max_examples=examples(25))
def test_an_updated_history_equals_a_fresh_one(runs: list[list[tuple[str, str, int]]], most: int) -> None:
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(history, "MOST_LOG_COMMITS", most)
        past = Past(Path(folder) / "tree")
        for number in range(3):
            past.commit({"a.py": f"{number}\n", "b.py": "1\n"})
        before = read_changes(find_head(past.root))
        for steps in runs:
            for step in steps:
                apply(past, past.now, *step)
            head = find_head(past.root)
            before = read_changes(head, {commit.name: commit for commit in before[1]})
            assert before == read_changes(head)
