"""codelens snapshots, diff, prove, verify: what states are called, and proofs that need no index."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from codelens.index import Index
from tests.accepted import accepted
from tests.cli.conftest import Run
from tests.render.test_formats import check
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


def test_the_log(made: Path, run: Run) -> None:
    lines = run("snapshots", cwd=made).out.splitlines()
    assert [line.split("\t")[0] for line in lines] == ["@{0}", "@{1}"]
    record = json.loads(run("snapshots", "--json", cwd=made).out)
    check(record, "snapshots")
    assert [s["documents"] for s in record["snapshots"]] == [3, 2]
    assert record["snapshots"][0]["time"] > 0


def names(made: Path, run: Run) -> dict[str, list[str]]:
    digests = [line.split("\t")[1] for line in run("snapshots", cwd=made).out.splitlines()]
    return {
        "the log": ["@{1}", "@{0}"],
        "now": ["@{1}"],
        "digests": [digests[1][:8], digests[0]],
        "files": ["0.db", "1.db"],
        "revisions": ["HEAD~1", "HEAD"],
        "a revision and now": ["HEAD~1"],
        "a revision and a file": ["HEAD~1", "1.db"],
    }


@pytest.mark.parametrize(
    "how", ["the log", "now", "digests", "files", "revisions", "a revision and now", "a revision and a file"]
)
def test_states_by_all_their_names(how: str, made: Path, run: Run) -> None:
    ran = run("diff", *names(made, run)[how], cwd=made)
    assert (ran.code, ran.out.splitlines()) == (0, DIFFERS)
    back = names(made, run)[how][::-1]
    if len(back) == 2:
        assert run("diff", *back, cwd=made).out.splitlines()[0] == "- lamp.py:1 function light"


def test_revisions_need_no_index(made: Path, run: Run, tmp_path: Path) -> None:
    git(tmp_path, "clone", "--quiet", str(made), "other")
    ran = run("diff", "HEAD~1", "HEAD", cwd=tmp_path / "other")
    assert (ran.code, ran.out.splitlines()) == (0, DIFFERS)
    assert not (tmp_path / "other/.codelens").exists()
    assert run("diff", "HEAD", cwd=tmp_path / "other").code == NO_INDEX


def test_json_and_edges(made: Path, run: Run) -> None:
    record = json.loads(run("diff", "@{1}", "--json", cwd=made).out)
    check(record, "diff")
    assert [s["qualified_name"] for s in record["added"]] == ["light"]
    assert [c["new"]["signature"] for c in record["changed"]] == ["def total(x, tax):"]
    assert run("diff", "@{0}", cwd=made).code == SAME
    reversed_edges = run("diff", "1.db", "0.db", "--edges", cwd=made)
    assert reversed_edges.code == 0


def test_a_diff_writes_nothing(made: Path, run: Run) -> None:
    before = (made / ".codelens/index.db").read_bytes()
    run("diff", "HEAD~1", cwd=made)
    assert (made / ".codelens/index.db").read_bytes() == before


def test_a_revision_runs_nothing_that_the_repository_configures(made: Path, run: Run, tmp_path: Path) -> None:
    git(tmp_path, "clone", "--quiet", str(made), "hostile")
    hostile, trace = tmp_path / "hostile", tmp_path / "ran"
    (hostile / ".git/info/attributes").write_text("*.py filter=spy diff=spy export-subst ident\n")
    for key in ("filter.spy.smudge", "filter.spy.clean", "filter.spy.process", "diff.spy.textconv", "core.fsmonitor"):
        git(hostile, "config", key, f"sh -c 'touch {trace}; cat'")
    assert run("diff", "HEAD~1", "HEAD", cwd=hostile).out.splitlines() == DIFFERS
    assert not trace.exists()


@pytest.mark.parametrize("state", ["@{9}", "nowhere", "cart.py", "--nothing", "HEAD:cart.py"])
def test_what_is_no_state(state: str, made: Path, run: Run) -> None:
    ran = run("diff", "--", state, cwd=made)
    assert (ran.code, ran.out) == (WRONG, "")
    assert ran.err.startswith("codelens: error: ")


def test_a_proof_holds_away_from_its_index(made: Path, run: Run, tmp_path: Path) -> None:
    (tmp_path / "proof.json").write_text(run("prove", "cart.py", cwd=made).out)
    shutil.copy(made / "cart.py", tmp_path / "cart.py")
    proof = json.loads((tmp_path / "proof.json").read_text())
    check(proof, "proof")
    root = run("snapshots", cwd=made).out.splitlines()[0].split("\t")[4]
    assert proof["root"] == root
    assert run("verify", "proof.json", "--root", root, "--file", "cart.py", cwd=tmp_path).code == 0
    assert run("verify", "proof.json", "--root", root[:16], "-q", cwd=tmp_path).code == 0
    assert run("verify", "proof.json", "--root", "0" * 64, cwd=tmp_path).code == SAME
    (tmp_path / "cart.py").write_text("def total(x):\n    return 2 * x\n")
    assert run("verify", "proof.json", "--file", "cart.py", cwd=tmp_path).code == SAME


@pytest.mark.parametrize("key", ["path", "repository", "sha256", "root", "size", "index", "audit"])
def test_a_proof_that_was_touched_fails(key: str, made: Path, run: Run, tmp_path: Path) -> None:
    proof = json.loads(run("prove", "pay.py", cwd=made).out)
    other = {"size": proof["size"] + 5, "index": 0, "audit": proof["audit"][:-1], "path": "cart.py", "repository": "x"}
    proof[key] = other.get(key, "0" * 64)
    (tmp_path / "proof.json").write_text(json.dumps(proof))
    assert run("verify", "proof.json", cwd=tmp_path).code == SAME


@pytest.mark.parametrize("raw", ["", "{}", "[]", "null", '{"algorithm": "rfc6962-sha256"}', '{"a": ' * 50, "\0"])
def test_what_is_no_proof(raw: str, run: Run, tmp_path: Path) -> None:
    (tmp_path / "proof.json").write_text(raw)
    ran = run("verify", "proof.json", cwd=tmp_path)
    assert (ran.code, ran.out) == (WRONG, "")
    assert "no proof" in ran.err


def test_several_repositories_are_told_apart(tmp_path: Path, run: Run) -> None:
    for name in ("one", "two"):
        git_tree(tmp_path / name, {"a.py": f"def {name}():\n    pass\n"})
    Index.build(tmp_path / "index.db", [tmp_path / "one", tmp_path / "two"], QUICK)
    ran = run("prove", "a.py", "--db", "index.db", cwd=tmp_path)
    assert (ran.code, ran.out) == (WRONG, "")
    proofs = [json.loads(run("prove", name, "--db", "index.db", cwd=tmp_path).out) for name in ("one/a.py", "two/a.py")]
    assert [p["repository"] for p in proofs] == ["one", "two"]
    assert proofs[0]["root"] == proofs[1]["root"]
