"""codelens snapshots and diff: the names of states, and what differs between two of them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from codelens.index import Index
from tests.accepted import accepted
from tests.commands import Run
from tests.render.schema import check
from tests.search.trees import QUICK
from tests.worktree.conftest import git, git_tree

SAME, WRONG, NO_INDEX = 1, 2, 3
OLD = {
    "cart.py": "def total(x):\n    return x\n",
    "pay.py": "from cart import total\n\n\ndef pay(x):\n    return total(x)\n",
}
NEW = OLD | {"cart.py": "def total(x, tax):\n    return x\n", "lamp.py": "def light():\n    pass\n"}
DIFFERS = ["+ lamp.py:1 function light", "~ cart.py:1 function total: def total(x): → def total(x, tax):"]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A git tree of two commits, indexed at each; tests leave it as it is."""
    root = git_tree(tmp_path_factory.mktemp("past") / "tree", OLD | {".gitignore": ".codelens/\n*.db\n"})
    for number, files in enumerate((OLD, NEW)):
        git_tree(root, files)
        git(root, "add", "--all")
        git(root, "commit", "--quiet", "-m", str(number))
        Index.build(root / ".codelens/index.db", [root], QUICK)
        accepted(Path(shutil.copy(root / ".codelens/index.db", root / f"{number}.db")))
    return root


@pytest.mark.slow
def test_snapshot_list_prints_the_log(made: Path, run: Run) -> None:
    lines = run("snapshot", "list", cwd=made).out.splitlines()
    assert [line.split("\t")[0] for line in lines] == ["@{0}", "@{1}"]
    record = json.loads(run("snapshot", "list", "--json", cwd=made).out)
    check(record, "snapshots")
    assert [s["documents"] for s in record["snapshots"]] == [3, 2]
    assert record["snapshots"][0]["time"] > 0


def names(made: Path, run: Run) -> dict[str, list[str]]:
    digests = [line.split("\t")[1] for line in run("snapshot", "list", cwd=made).out.splitlines()]
    return {
        "the log": ["@{1}", "@{0}"],
        "now": ["@{1}"],
        "digests": [digests[1][:8], digests[0]],
        "files": ["0.db", "1.db"],
        "revisions": ["HEAD~1", "HEAD"],
        "a revision and now": ["HEAD~1"],
        "a revision and a file": ["HEAD~1", "1.db"],
    }


@pytest.mark.slow
@pytest.mark.parametrize(
    "how", ["the log", "now", "digests", "files", "revisions", "a revision and now", "a revision and a file"]
)
def test_a_state_is_found_by_each_of_its_names(how: str, made: Path, run: Run) -> None:
    ran = run("snapshot", "diff", *names(made, run)[how], cwd=made)
    assert (ran.code, ran.out.splitlines()) == (0, DIFFERS)
    back = names(made, run)[how][::-1]
    if len(back) == 2:
        assert run("snapshot", "diff", *back, cwd=made).out.splitlines()[0] == "- lamp.py:1 function light"


def test_revisions_need_no_index(made: Path, run: Run, tmp_path: Path) -> None:
    git(tmp_path, "clone", "--quiet", str(made), "other")
    ran = run("snapshot", "diff", "HEAD~1", "HEAD", cwd=tmp_path / "other")
    assert (ran.code, ran.out.splitlines()) == (0, DIFFERS)
    assert not (tmp_path / "other/.codelens").exists()
    assert run("snapshot", "diff", "HEAD", cwd=tmp_path / "other").code == NO_INDEX


def test_a_diff_has_edges_in_json_or_on_request(made: Path, run: Run) -> None:
    record = json.loads(run("snapshot", "diff", "@{1}", "--json", cwd=made).out)
    check(record, "diff")
    assert [s["qualified_name"] for s in record["added"]] == ["light"]
    assert [c["new"]["signature"] for c in record["changed"]] == ["def total(x, tax):"]
    assert run("snapshot", "diff", "@{0}", cwd=made).code == SAME
    reversed_edges = run("snapshot", "diff", "1.db", "0.db", "--edges", cwd=made)
    assert reversed_edges.code == 0


def test_a_diff_writes_nothing(made: Path, run: Run) -> None:
    before = (made / ".codelens/index.db").read_bytes()
    run("snapshot", "diff", "HEAD~1", cwd=made)
    assert (made / ".codelens/index.db").read_bytes() == before


@pytest.mark.slow
def test_a_revision_runs_nothing_that_the_repository_configures(made: Path, run: Run, tmp_path: Path) -> None:
    git(tmp_path, "clone", "--quiet", str(made), "hostile")
    hostile, trace = tmp_path / "hostile", tmp_path / "ran"
    (hostile / ".git/info/attributes").write_text("*.py filter=spy diff=spy export-subst ident\n")
    for key in ("filter.spy.smudge", "filter.spy.clean", "filter.spy.process", "diff.spy.textconv", "core.fsmonitor"):
        git(hostile, "config", key, f"sh -c 'touch {trace}; cat'")
    assert run("snapshot", "diff", "HEAD~1", "HEAD", cwd=hostile).out.splitlines() == DIFFERS
    assert not trace.exists()


@pytest.mark.parametrize("state", ["@{9}", "nowhere", "cart.py", "--nothing", "HEAD:cart.py"])
def test_an_unknown_state_is_one_error(state: str, made: Path, run: Run) -> None:
    ran = run("snapshot", "diff", "--", state, cwd=made)
    assert (ran.code, ran.out) == (WRONG, "")
    assert ran.err.startswith("codelens: error: ")
