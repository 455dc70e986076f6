"""The commands that ask the symbol graph: forms of output, exit codes, and names that mean harm."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.accepted import accepted
from tests.commands import Run
from tests.graph.linked import linked
from tests.render.schema import check

GOLDEN = Path(__file__).parents[1] / "golden" / "graph"

QUESTIONS = {
    "refs": ["refs", "Shape"],
    "refs_name": ["refs", "math.sqrt"],
    "callers": ["callers", "draw", "--depth", "2"],
    "callees": ["callees", "draw_all", "--depth", "2"],
    "path": ["path", "draw", "pi"],
    "impact": ["impact", "pi"],
    "hierarchy": ["hierarchy", "Circle", "--members"],
    "map": ["map", "--budget", "100"],
}
FORMS = {"plain": [], "pretty": ["--pretty"], "json": ["--json"], "dot": ["--dot"]}
FOUND, NOTHING, WRONG = 0, 1, 2


@pytest.fixture(scope="module")
def shapes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tree with an index where commands look for it; tests do not change it."""
    folder = tmp_path_factory.mktemp("shapes")
    linked(folder).close()
    return _settled(folder)


def _settled(folder: Path) -> Path:
    (folder / ".codelens").mkdir()
    accepted(Path(shutil.move(folder / "index.db", folder / ".codelens/index.db")))
    return folder


def shown(out: str, folder: Path) -> str:
    """The temporary folder has another name each time; colours are the business of Rich and its version."""
    out = re.sub(r"\x1b\[[0-9;]*m", "", out)
    out = re.sub(r'"indexed_at": ?"[^"]*"', '"indexed_at": …', out)
    out = re.sub(r'"schema": ?\d+, ?"snapshot": ?"[0-9a-f]+", ?"embedder": ?"[^"]*"', '"schema": …, "snapshot": …', out)
    return out.replace(str(folder), "/shapes")


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("question", QUESTIONS)
def test_each_question_prints_its_golden_text(
    question: str, form: str, shapes: Path, run: Run, golden: Callable[[Path, str], None]
) -> None:
    ran = run(*QUESTIONS[question], *FORMS[form], cwd=shapes)
    assert ran.code == FOUND
    golden(GOLDEN / f"{question}_{form}.txt", shown(ran.out, shapes))


@pytest.mark.slow
@pytest.mark.parametrize("question", QUESTIONS)
def test_json_fits_the_schema(question: str, shapes: Path, run: Run) -> None:
    record = json.loads(run(*QUESTIONS[question], "--json", cwd=shapes).out)
    check(record, "map" if question == "map" else "related")
    assert record["exit_code"] == FOUND


def test_jsonl_is_a_line_a_relation_and_an_end(shapes: Path, run: Run) -> None:
    *relations, end = map(json.loads, run("refs", "Shape", "--jsonl", "-m", "2", cwd=shapes).out.splitlines())
    for record in relations:
        check(record, "jsonl_relation")
    check(end, "jsonl_relations_end")
    assert (len(relations), end["total"]) == (2, 4)


def test_no_relations_are_an_empty_list_and_exit_1(shapes: Path, run: Run) -> None:
    ran = run("callers", "guess", "--json", cwd=shapes)
    assert (ran.code, json.loads(ran.out)["relations"], json.loads(ran.out)["exit_code"]) == (NOTHING, [], NOTHING)
    assert run("path", "pi", "draw", cwd=shapes).code == NOTHING


def test_an_ambiguous_target_lists_candidates_on_stderr(shapes: Path, run: Run) -> None:
    ran = run("callers", "area", cwd=shapes)
    assert (ran.code, ran.out) == (WRONG, "")
    assert "app/base.py:2  method Shape.area" in ran.err


@pytest.mark.parametrize(
    "arguments",
    [
        ["refs"],
        ["path", "draw"],
        ["refs", "nothing_of_this_name"],
        ["refs", "Shape", "--kinds", "calls,loves"],
        ["refs", "Shape", "--min-confidence", "2"],
        ["refs", "Shape", "-m", "0"],
        ["callers", "Shape", "--depth", "0"],
        ["refs", "Shape", "--json", "--dot"],
        ["refs", "Shape", "-t", "klingon"],
        ["refs", "Shape", "no/such/folder"],
        ["map", "--budget", "0"],
    ],
)
def test_contradictory_options_are_refused(arguments: list[str], shapes: Path, run: Run) -> None:
    ran = run(*arguments, cwd=shapes)
    assert (ran.code, ran.out) == (WRONG, "")
    assert ran.err.startswith("codelens: error: ")


def test_a_question_without_an_index_exits_with_3(tmp_path: Path, run: Run) -> None:
    assert run("refs", "Shape", cwd=tmp_path).code == 3
    assert run("map", cwd=tmp_path).code == 3


def test_filters_restrict_the_relations(shapes: Path, run: Run) -> None:
    everywhere = run("callers", "draw", cwd=shapes).out.splitlines()
    assert run("callers", "draw", "-g", "!tests/", cwd=shapes).out.splitlines() == everywhere[:2]
    assert run("callers", "draw", "tree/tests", cwd=shapes).out.splitlines() == everywhere[2:]
    assert run("callers", "draw", "-T", "py", cwd=shapes).code == NOTHING
    assert run("refs", "Shape", "--kinds", "extends", cwd=shapes).out.count("\n") == 1


def test_targets_are_paths_from_the_working_directory(shapes: Path, run: Run) -> None:
    assert (
        run("callers", "draw.py:5", cwd=shapes / "tree/app").out == run("callers", "draw", cwd=shapes / "tree/app").out
    )
    assert run("callers", "base.py", "--json", cwd=shapes / "tree/app").code == FOUND


def test_quiet_answers_by_its_exit_code(shapes: Path, run: Run) -> None:
    ran = run("callers", "Shape.name", "--by-name", "-q", cwd=shapes)
    assert (ran.code, ran.out, ran.err) == (FOUND, "", "")


def test_unknown_facts_are_reported_on_stderr(shapes: Path, run: Run) -> None:
    assert "1 edges of less confidence than 0.5 were not followed" in run("callers", "Shape.name", cwd=shapes).err
    ran = run("callers", "Shape.name", "--by-name", cwd=shapes)
    assert ran.out == "tree/app/draw.py:19:11:guess: thing.name()\n"
    assert "1 of 1 are guesses" in ran.err


def test_format_is_a_template_of_each_line(shapes: Path, run: Run) -> None:
    ran = run("callers", "draw", "--format", "{path}:{line} {source} {kind} {target} {test}", cwd=shapes)
    assert ran.out.splitlines() == [
        "tree/app/draw.py:15 draw_all calls draw ",
        "tree/app/draw.py:11 draw_all.one calls draw ",
        "tree/tests/test_draw.py:5 test_draw tests draw test",
    ]
    unknown = run("callers", "draw", "--format", "{score}", cwd=shapes)
    assert unknown.code == 2 and "fields: path, line, column" in unknown.err
    assert run("callers", "draw", "--format", "{path}", "--json", cwd=shapes).code == 2


def test_unresolved_lists_calls_that_were_not_followed(shapes: Path, run: Run) -> None:
    ran = run("callees", "guess", "--unresolved", cwd=shapes)
    assert (ran.code, ran.out) == (FOUND, "tree/app/draw.py:19:11:guess: thing.name()\n")
    assert run("callees", "pi", "--unresolved", cwd=shapes).code == NOTHING
    tests = run("test-scope", "Shape.name", "--unresolved", cwd=shapes)
    assert tests.out == ran.out
    assert run("test-scope", "Shape.name", "--unresolved", "--format", "{source}", cwd=shapes).out == "guess\n"


def test_a_reader_that_goes_away_is_no_fault(shapes: Path) -> None:
    command = f'"{sys.executable}" -m codelens refs Shape --json | head -c 1'
    ran = subprocess.run(["sh", "-c", command], cwd=shapes, capture_output=True, text=True, env=os.environ)
    assert (ran.stdout, ran.stderr) == ("{", "codelens: note: 4 resolved, 0 likely, 0 by name only\n")


NASTY = {
    'bad"dir/x\x1b[31m.py': "from y import f\n\n\ndef g():\n    f()  # \x1b]0;title\x07 \u202e\n",
    "y.py": "def f():\n    pass\n",
}


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="such names cannot be")
@pytest.mark.parametrize("form", FORMS)
def test_hostile_names_are_escaped(form: str, tmp_path: Path, run: Run) -> None:
    path = next(iter(NASTY))
    linked(tmp_path, dict(NASTY), [("g", "calls", "f", 5, "import"), (path, "imports", "f", 1, "import")]).close()
    ran = run("refs", "f", *FORMS[form], "--color", "never", cwd=_settled(tmp_path))
    assert ran.code == FOUND
    if form == "plain":
        assert len(ran.out.splitlines()) == 2  # a pipe gets the bytes as they are, on their lines
    else:
        assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", ran.out)
    if form == "dot":
        assert ran.out.count("\n") == len(ran.out.splitlines())
        assert all(line.count('"') % 2 == 0 for line in ran.out.replace('\\"', "").splitlines())


@pytest.mark.skipif(shutil.which("dot") is None, reason="no Graphviz here")
@pytest.mark.parametrize("question", QUESTIONS)
def test_graphviz_reads_the_dot(question: str, shapes: Path, run: Run) -> None:
    text = run(*QUESTIONS[question], "--dot", cwd=shapes).raw
    ran = subprocess.run(["dot", "-Tplain"], input=text, capture_output=True)
    assert (ran.returncode, ran.stderr) == (0, b"")


def test_an_empty_target_is_refused(shapes: Path, run: Run) -> None:
    ran = run("refs", "", cwd=shapes)
    assert (ran.code, ran.out) == (WRONG, "") and "no TARGET" in ran.err


def test_a_scope_without_tests_says_why(shapes: Path, run: Run) -> None:
    untested = run("test-scope", "guess", cwd=shapes)
    assert (untested.code, untested.out, untested.err) == (NOTHING, "", "codelens: no test in the index reaches this\n")
    (shapes / "empty.diff").write_text("", encoding="utf-8")
    unchanged = run("test-scope", "--diff", "empty.diff", cwd=shapes)
    assert (unchanged.code, unchanged.err) == (NOTHING, "codelens: the change touches nothing in the index\n")


def test_a_path_lists_no_calls(shapes: Path, run: Run) -> None:
    assert "no option --unresolved" in run("path", "pi", "guess", "--unresolved", cwd=shapes).err
