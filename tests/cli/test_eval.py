"""codelens eval: the sample repositories' own judgements measured, kept and compared; and what is refused."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from codelens.cli.eval.measure import COLUMNS
from codelens.errors import format_install_command
from codelens.evaluation.metrics import METRICS
from codelens.evaluation.report import PLACES
from codelens.evaluation.tasks import ABSENT
from tests.accepted import accepted
from tests.commands import SAMPLES, Run

pytestmark = pytest.mark.slow

TREC = ("--topics", str(SAMPLES / "notes/queries.jsonl"), "--qrels", str(SAMPLES / "notes/qrels.tsv"))


@pytest.fixture
def tasks(tmp_path: Path) -> Path:
    """Three of notes, one of a repository that has no index."""
    rows = [
        ("notes", "lock an account after wrong passwords", "TooManyAttempts", "notes/auth.py", "easy"),
        ("notes", "verify_password", "verify_password", "notes/auth.py", "easy"),
        ("notes", "prevent scripts in links of a note", "nothing_of_that_name", "notes/nowhere.py", "hard"),
        ("elsewhere", "x", "y", "z.py", "hard"),
    ]
    lines = [
        {
            "id": f"t{n}",
            "repo": repo,
            "query": query,
            "tier": tier,
            "kind": "task",
            "relevant": [{"symbol": name, "files": [file]}],
        }
        for n, (repo, query, name, file, tier) in enumerate(rows)
    ]
    path = tmp_path / "tasks.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


@pytest.fixture
def indexes(indexed: Path, tmp_path: Path) -> Path:
    """A folder of one index, named as its repository."""
    folder = tmp_path / "indexes"
    folder.mkdir()
    (folder / "notes-v1.db").write_bytes((indexed / ".codelens/index.db").read_bytes())
    accepted(folder / "notes-v1.db")
    return folder


def test_eval_prints_a_table(tasks: Path, indexes: Path, run: Run) -> None:
    ran = run("eval", str(tasks), "--indexes", str(indexes), "--suffix=-v1")
    assert ran.code == 0
    head, *rows = ran.out.splitlines()
    assert head.split()[:3] == ["group", "n", "P@10"]
    assert [row.split("  ")[0] for row in rows] == [
        *("ALL", "MACRO", "tier easy", "tier hard", "repo notes", "kind task"),
        *("shape change", "shape identifier", "shape question"),
    ]
    assert rows[0].split()[1] == "3"
    assert "skipped because there is no index: 1 of elsewhere" in ran.err


def test_eval_prints_a_json_object(tasks: Path, indexes: Path, run: Run) -> None:
    ran = run(
        "eval", str(tasks), "--indexes", str(indexes), "--suffix", "-v1", "--json", "--mode", "keyword", "--same-file"
    )
    record = json.loads(ran.out)
    assert record["missing"] == {"elsewhere": 1}
    assert record["tasks"]["count"] == 3
    assert record["configuration"]["options"] == {"mode": "keyword"}
    assert record["configuration"]["rule"] == "same_file"
    assert record["configuration"]["profile"]["channels"]["exact"] > 0
    assert len(record["indexes"]["notes-v1"]["snapshot"]) == 16
    whole = record["groups"][0]
    assert list(whole["metrics"]) == [name for name in METRICS if name != ABSENT]
    assert whole["metrics"]["strict_hit@10"]["mean"] == pytest.approx(2 / 3, abs=10**-PLACES)
    assert whole["metrics"]["strict_hit@10"]["low"] <= 2 / 3 <= whole["metrics"]["strict_hit@10"]["high"]


def test_metrics_choose_the_columns(tasks: Path, indexed: Path, run: Run) -> None:
    head = run("eval", str(tasks), "--metrics", "candidates, hit@10", cwd=indexed).out.splitlines()[0]
    assert head.split() == ["group", "n", "candidates", "hit@10", "CPU", "p50", "CPU", "p95"]


def test_trec_tasks_are_asked_of_one_index(indexed: Path, run: Run) -> None:
    ran = run("eval", *TREC, "--json", "--weights", "vector=0", cwd=indexed)
    record = json.loads(ran.out)
    assert record["tasks"]["count"] == len((SAMPLES / "notes/queries.jsonl").read_text().splitlines())
    assert record["groups"][0]["metrics"]["strict_mrr"]["mean"] > 0.8, "the samples' own test says so of these queries"
    assert record["configuration"]["profile"]["channels"]["vector"] == 0


def test_a_run_is_kept_and_compared(indexed: Path, run: Run, tmp_path: Path) -> None:
    before, after = (str(tmp_path / name) for name in ("before.json", "after.json"))
    assert run("eval", *TREC, "--out", before, "--mode", "fuzzy", "-q", cwd=indexed).out == ""
    assert run("eval", *TREC, "--out", after, "--jobs", "2").code == 0
    row = json.loads(Path(after).read_text())["rows"][0]
    assert row["top"][0][1] == "notes/auth.py"
    assert (row["repo"], row["error"], row["shape"]) == ("", None, "change")
    ran = run("eval", "--compare", before, after)
    rows = {line.split()[0]: line.split() for line in ran.out.splitlines()}
    assert list(rows) == ["metric", *COLUMNS]
    assert rows["strict_mrr"][6].startswith("+")
    same = json.loads(run("eval", "--compare", after, after, "--json").out)["metrics"]["strict_mrr"]
    assert (same["difference"], same["p"], same["better"], same["worse"]) == (0, 1, 0, 0)


def test_other_tasks_are_noted_when_runs_are_compared(indexed: Path, tasks: Path, run: Run, tmp_path: Path) -> None:
    runs = [str(tmp_path / name) for name in ("a.json", "b.json")]
    for asked, kept in zip((str(tasks), str(tasks.with_name("fewer"))), runs, strict=True):
        tasks.with_name("fewer").write_text("".join(tasks.read_text().splitlines(keepends=True)[:2]))
        assert run("eval", asked, "--out", kept, "-q", cwd=indexed).code == 0
    ran = run("eval", "--compare", *runs)
    assert "were asked other tasks" in ran.err
    assert ran.out.splitlines()[1].split()[1] == "2"


def test_ablate_measures_the_ranking_without_each_part(indexed: Path, run: Run) -> None:
    ran = run("eval", *TREC, "--ablate", "--rows", "feature coverage, - the walk", "--markdown", cwd=indexed)
    names = [line.split(" | ")[0] for line in ran.out.splitlines()[2:]]
    assert names == ["| codelens", "| - feature coverage", "| - the walk"]
    assert "- feature coverage: strict_ndcg@10 " in ran.err
    refused = run("eval", *TREC, "--ablate", "--rows", "magic")
    assert (refused.code, refused.out) == (2, "")
    assert "feature coverage" in refused.err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "no tasks"),
        (["--topics", "t"], "use --topics and --qrels together"),
        (["{tasks}", "--jobs", "0"], "--jobs must be at least 1"),
        (["{tasks}", "--indexes", "nowhere"], "no such folder: nowhere"),
        (["{tasks}", "--suffix", "-v1"], "--suffix needs"),
        (["{tasks}", "--db", "x.db", "--indexes", "."], "use either --indexes or --db"),
        (["{tasks}", "--metrics", "MRR,magic"], "no metric 'magic'"),
        (["{tasks}", "--mode", "magic"], "no mode 'magic'"),
        (["{tasks}", "--profile", "magic"], "no profile 'magic'"),
        (["{tasks}", "--out", "nowhere/run.json"], "nowhere/run.json"),
        (["{tasks}", "--compare"], "--compare takes two saved runs"),
        (["{tasks}", "{tasks}", "--compare"], "is not a saved run"),
        (["{tasks}", "--rows", "walk"], "--rows needs --ablate"),
        (["{tasks}", "--ablate", "--compare"], "use either --compare or --ablate"),
    ],
)
def test_contradictory_options_are_one_error_line(
    arguments: list[str], said: str, tasks: Path, indexed: Path, run: Run
) -> None:
    ran = run("eval", *(argument.format(tasks=tasks) for argument in arguments), cwd=indexed)
    assert ran.code == 2
    assert said in ran.err
    assert "Traceback" not in ran.err


def test_tasks_without_an_index_are_reported(tasks: Path, run: Run, tmp_path: Path) -> None:
    assert run("eval", str(tasks), cwd=tmp_path).code == 3
    ran = run("eval", str(tasks), "--indexes", str(tmp_path))
    assert ran.code == 3
    assert "no elsewhere.db or notes.db" in ran.err


def test_without_the_extra_it_says_what_to_install(tasks: Path, indexed: Path) -> None:
    """In a process of its own, in which the package cannot be imported."""
    code = "import sys; sys.modules['ir_measures'] = None; from codelens.cli.main import main; sys.exit(main(sys.argv[1:]))"
    ran = subprocess.run([sys.executable, "-c", code, "eval", str(tasks)], cwd=indexed, capture_output=True, text=True)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr.splitlines()[-1] == f"hint: {format_install_command('eval')}"


def test_a_file_of_tasks_may_bear_a_commands_name(indexed: Path, run: Run) -> None:
    ran = run("eval", "./make-tasks", cwd=indexed)
    assert (ran.code, "make-tasks: No such file" in ran.err) == (2, True)
