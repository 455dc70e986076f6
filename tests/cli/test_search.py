from __future__ import annotations

import io
import json
import math
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from codelens.cli.main import main
from codelens.config import Settings
from codelens.index import Index
from codelens.render.records import MOST_REPOSITORIES
from tests.accepted import accepted
from tests.cli.goldens import FORMATS
from tests.commands import Run
from tests.render.schema import check
from tests.steps import calls


def test_results_go_to_stdout_one_a_line(indexed: Path, run: Run) -> None:
    ran = run("search", "verify_password", "-m", "3", cwd=indexed / "notes")
    assert ran.code == 0
    assert ran.out.splitlines()[0].startswith("notes/auth.py:27:5:def verify_password(")
    assert ran.err == ""


def test_stats_tell_every_step_and_its_share(indexed: Path, run: Run) -> None:
    where = indexed / "notes"
    record = json.loads(run("search", "--json", "--stats", "verify a password", cwd=where).out)
    steps = list(record["stats"])
    assert steps[:3] == ["open", "scope", "terms"]
    assert steps[-6:] == ["literal", "features", "walk", "order", "present", "total"]
    assert set(steps[3:-6]) == set(record["search_modes"])
    *parts, total = record["stats"].values()
    assert math.isclose(sum(parts), total)
    told = run("search", "--stats", "verify a password", cwd=where)
    assert told.out == run("search", "verify a password", cwd=where).out
    line = told.err.removeprefix("codelens: ")
    assert re.findall(r"(\w+) [\d.]+ ms \(\d+%\)", line) == steps
    assert run("search", "--stats", "-F", "password", cwd=where).err.startswith("codelens: total ")
    files = json.loads(run("search", "--files-only", "--json", "--stats", "auth", cwd=where).out)["stats"]
    assert list(files) == ["open", "scope", "terms", *list(files)[3:-3], "order", "present", "total"]


@pytest.mark.slow
def test_json_fits_the_schema(indexed: Path, run: Run) -> None:
    record = json.loads(run("search", "--json", "--stats", "retry with backoff", cwd=indexed).out)
    check(record, "search")
    assert {r["name"] for r in record["index"]["repositories"]} == {"notes", "shop"}
    *hits, end = map(json.loads, run("search", "--jsonl", "retry with backoff", cwd=indexed).out.splitlines())
    for hit in hits:
        check(hit, "jsonl_hit")
    check(end, "jsonl_end")
    assert [{k: v for k, v in h.items() if k != "type"} for h in hits] == record["results"]


def test_a_limit_cuts_and_changes_nothing(indexed: Path, run: Run) -> None:
    def hits(*arguments: str) -> list[object]:
        return list(json.loads(run("search", "--json", "stock of a product", *arguments, cwd=indexed).out)["results"])

    assert hits("-m", "5") == hits("-m", "50")[:5]
    assert hits("-m", "5", "--offset", "3") == hits("-m", "8")[3:]


def test_nothing_found_is_1_and_an_empty_list(indexed: Path, run: Run) -> None:
    ran = run("search", "--json", "-F", "no such text anywhere", cwd=indexed)
    assert ran.code == 1
    assert json.loads(ran.out)["results"] == []
    assert json.loads(ran.out)["exit_code"] == 1


def test_quiet_answers_by_its_exit_code(indexed: Path, run: Run) -> None:
    ran = run("search", "-q", "verify_password", cwd=indexed)
    assert (ran.code, ran.out, ran.err) == (0, "", "")


def paths_of(out: str) -> set[str]:
    return {line.split(":")[0] for line in out.splitlines()}


def test_inside_a_folder_only_below_it(indexed: Path, run: Run) -> None:
    assert all(not p.startswith("..") for p in paths_of(run("search", "password", cwd=indexed / "notes/tests").out))
    assert any(
        p.startswith("..") for p in paths_of(run("search", "password", "--root-scope", cwd=indexed / "notes/tests").out)
    )


def test_inside_a_repository_only_there(indexed: Path, run: Run) -> None:
    record = json.loads(run("search", "--json", "-m", "50", "product title", cwd=indexed / "notes").out)
    assert {hit["repository"] for hit in record["results"]} == {"notes"}


def test_path_arguments_restrict_a_search(indexed: Path, run: Run) -> None:
    out = run("search", "password", "notes/docs", "notes/tests", cwd=indexed).out
    assert out
    assert all(p.startswith(("notes/docs/", "notes/tests/")) for p in paths_of(out))
    ran = run("search", "password", str(indexed.parent), cwd=indexed)
    assert ran.code == 0, "a folder above the roots is all of them"
    assert "lies outside" in run("search", "password", "/etc", cwd=indexed).err


@pytest.mark.slow
def test_paths_from_the_root_say_which_root(indexed: Path, run: Run) -> None:
    """Two repositories may both have a README.md; where there is only one, its name says nothing."""
    ran = run("search", "-F", "hash_password", "-l", "--path-style", "root", cwd=indexed)
    assert "notes/notes/auth.py" in ran.out.splitlines()
    place = run("why", "-F", "hash_password", "hash_password", "--path-style", "root", cwd=indexed).out
    assert "notes/notes/auth.py:21" in place
    db = indexed.parent / "one.db"
    assert run("index", "-q", "--db", str(db), str(indexed / "notes"), cwd=indexed).code == 0
    ran = run("search", "-F", "hash_password", "-l", "--path-style", "root", "--db", str(db), cwd=indexed)
    assert "notes/auth.py" in ran.out.splitlines()


def test_filters_of_the_query_restrict_the_hits(indexed: Path, run: Run) -> None:
    def found(*arguments: str) -> set[str]:
        return {p.rpartition(".")[2] for p in paths_of(run("search", "-m", "50", "cart", *arguments, cwd=indexed).out)}

    assert found("-t", "go") == {"go"}
    assert "go" not in found("-T", "go")
    assert found("-g", "*.ts") == {"ts"}


def test_files_and_counts_of_matches_are_printed(indexed: Path, run: Run) -> None:
    files = run("search", "-l", "-F", "hash_password", cwd=indexed / "notes").out.splitlines()
    assert sorted(files) == ["notes/__main__.py", "notes/auth.py", "tests/test_auth.py"]
    counts = dict(
        line.rsplit(":", 1) for line in run("search", "-c", "-F", "hash_password", cwd=indexed / "notes").out.split()
    )
    assert set(counts) == set(files)


def test_null_ends_paths_with_a_nul_byte(indexed: Path, run: Run) -> None:
    assert run("search", "-l0", "-F", "hash_password", cwd=indexed / "notes").raw.count(b"\0") == 3


def test_several_queries_are_alternatives(indexed: Path, run: Run, tmp_path: Path) -> None:
    (tmp_path / "queries").write_text("hash_password\n\nincludedTax\n")
    for arguments in (["-e", "hash_password", "-e", "includedTax"], ["-f", str(tmp_path / "queries")]):
        files = run("search", "-l", "-F", *arguments, cwd=indexed).out
        assert "notes/notes/auth.py" in files
        assert "pricing.go" in files


def test_with_e_the_first_argument_is_a_path(indexed: Path, run: Run) -> None:
    only = run("search", "-l", "-F", "-e", "hash_password", "-e", "includedTax", "shop", cwd=indexed).out
    assert only == "shop/server/internal/pricing/pricing.go\n"


def test_a_dash_reads_the_query_from_stdin(indexed: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"verify_password\n")))
    assert "verify_password" in run("search", "-", "-m", "1", cwd=indexed).out


@pytest.mark.slow
def test_a_changed_file_is_reported(own: Path, run: Run) -> None:
    run("index", "-q", cwd=own)
    (own / "notes/auth.py").write_text("# all new\n")
    ran = run("search", "--json", "verify_password", "-m", "1", cwd=own)
    assert json.loads(ran.out)["results"][0]["freshness"] == "changed"
    assert "files differ from the index: 1 changed" in ran.err
    assert run("search", "--require-fresh", "verify_password", cwd=own).code == 4
    assert "all new" in run("search", "--refresh", "-F", "all new", cwd=own).out


def test_type_list_names_the_languages(run: Run, tmp_path: Path) -> None:
    assert "python, py: *.py, *.pyi" in run("search", "--type-list", cwd=tmp_path).out


def test_strict_query_points_at_the_place(indexed: Path, run: Run) -> None:
    ran = run("search", "--strict-query", "note (", cwd=indexed)
    assert ran.code == 2
    assert ran.err.splitlines()[1:3] == ["  note (", "       ^"]
    assert run("search", "-q", "note (", cwd=indexed).code == 0, "prose never fails"


@pytest.mark.slow
@pytest.mark.parametrize("name", FORMATS)
def test_every_format_is_the_same_each_time(name: str, indexed: Path, run: Run) -> None:
    """The same bytes, whatever the hash seed: the other run is a process of its own."""
    arguments = ["search", "lock an account", "-m", "4", *FORMATS[name]]
    first = run(*arguments, cwd=indexed)
    environment = os.environ | {"PYTHONHASHSEED": "7"}
    second = subprocess.run(
        [sys.executable, "-c", "from codelens.cli.main import run; run()", *arguments],
        capture_output=True,
        env=environment,
        cwd=indexed,
    )
    assert first.raw == second.stdout


def test_a_reader_that_goes_away_is_no_fault(indexed: Path) -> None:
    code = (
        "import sys; sys.argv[1:] = ['search', 'note', '-m', '100', '--json']; from codelens.cli.main import run; run()"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=indexed
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    assert process.stderr.read() == b""
    assert process.wait() == 0


def test_why_explains_a_rank_and_its_check_agrees(indexed: Path, run: Run) -> None:
    where = indexed / "notes"
    ran = run("why", "verify_password", "notes/auth.py:27", cwd=where)
    assert ran.code == 0
    assert "#1 verify_password  function  notes/auth.py:27" in ran.out
    record = json.loads(run("why", "--json", "--stats", "verify_password", cwd=where).out)
    check(record, "why")
    searched = json.loads(run("search", "--json", "verify_password", cwd=where).out)["results"]
    assert [(e["rank"], e["candidate"]["score"]) for e in record["explanations"]] == [
        (h["rank"], h["score"]) for h in searched
    ]
    assert "scores recomputed, all equal" in run("why", "--check", "verify_password", cwd=where).out


def test_why_explains_a_missing_target(indexed: Path, run: Run) -> None:
    ran = run("why", "verify_password", "read_form", "-m", "1", cwd=indexed / "notes")
    assert ran.code == 1
    assert "lost at: " in ran.out


def test_why_of_an_unknown_target_is_an_error(indexed: Path, run: Run) -> None:
    ran = run("why", "password", "noSuchName", cwd=indexed)
    assert (ran.code, ran.out) == (2, "")
    ambiguous = run("why", "password", "close", cwd=indexed)
    assert ambiguous.code == 2
    assert "auth.py" in ambiguous.err


def test_a_target_is_meant_from_the_working_directory(indexed: Path, run: Run) -> None:
    ran = run("why", "verify_password", "auth.py:27", cwd=indexed / "notes/notes")
    assert "verify_password  function  auth.py:27" in ran.out


@pytest.mark.parametrize("fusion", ["rrf", "weighted", "minmax"])
def test_each_fusion_accounts_for_its_scores(fusion: str, indexed: Path, run: Run) -> None:
    asked = ("lock an account after wrong passwords", "--fusion", fusion)
    assert run("why", *asked, "--check", cwd=indexed).code == 0
    found = json.loads(run("search", *asked, "--json", "--contributions", cwd=indexed).out)["results"]
    rules = {part["rule"] for hit in found for part in hit["contributions"] if part["source"] in hit["channels"]}
    assert rules == ({"rrf"} if fusion == "rrf" else {"share"})


def test_json_is_brief_unless_contributions_are_wanted(indexed: Path, run: Run) -> None:
    asked = ("search", "where is a password checked", "-m", "20", "--json")
    brief, whole = run(*asked, cwd=indexed).out, run(*asked, "--contributions", cwd=indexed).out
    assert len(json.loads(brief)["results"]) == 20
    assert len(brief.encode()) < 15_000 < len(whole.encode())
    check(json.loads(whole), "search")
    fields = ("channels", "contributions")
    cut = [{k: v for k, v in hit.items() if k not in fields} for hit in json.loads(whole)["results"]]
    assert cut == json.loads(brief)["results"]
    assert all(len(hit["doc"]) <= 80 for hit in cut)
    refused = run("search", "--contributions", "password", cwd=indexed)
    assert (refused.code, refused.out) == (2, "")
    assert "--json" in refused.err


def test_an_unknown_fusion_is_named(indexed: Path, run: Run) -> None:
    ran = run("search", "cart", "--fusion", "best", cwd=indexed)
    assert ran.code == 2
    assert "fusions: rrf, weighted, minmax" in ran.err


def test_colour_in_a_pipe_changes_no_letter_and_no_layout(
    indexed: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask = ("search", "-F", "hash_password", "-m", "2")
    plain = run(*ask, cwd=indexed).out
    colored = run(*ask, "--color", "always", cwd=indexed).out
    assert re.sub(r"\x1b\[[0-9;]*m", "", colored) == plain
    assert "\x1b[1;31mhash_password\x1b[0m(" in colored
    overlapping = ("search", '"def hash_password" password hash', "--sort", "score", "-m", "2", "-C", "1")
    colored_too = run(*overlapping, "--color", "always", cwd=indexed).out
    assert "\x1b[1;31mdef\x1b[0m\x1b[1;31m hash_password\x1b[0m(" in colored_too
    assert re.sub(r"\x1b\[[0-9;]*m", "", colored_too) == run(*overlapping, cwd=indexed).out
    monkeypatch.setenv("CODELENS_COLOR", "always")
    assert run(*ask, cwd=indexed).out == colored
    monkeypatch.setenv("NO_COLOR", "1")
    assert run(*ask, cwd=indexed).out == plain
    assert run(*ask, "--color", "always", cwd=indexed).out == colored


@pytest.mark.slow
def test_an_index_that_was_moved_without_its_tree_says_so(own: Path, tmp_path: Path, run: Run) -> None:
    run("index", "-q", cwd=own)
    (tmp_path / "away").mkdir()
    (own / ".codelens/index.db").rename(tmp_path / "away/x.db")
    accepted(tmp_path / "away/x.db")
    ran = run("search", "password", "--db", "away/x.db", cwd=tmp_path)
    assert "the index was moved without its tree" in ran.err
    refused = run("index", "--db", "away/x.db", cwd=tmp_path)
    assert refused.code == 2
    assert "name the folder to index" in refused.err
    own.rename(tmp_path / "renamed")
    run("index", "-q", cwd=tmp_path / "renamed")
    (tmp_path / "renamed").rename(tmp_path / "moved")
    assert run("index", "-q", "--trust", cwd=tmp_path / "moved").code == 0
    ran = run("search", "password", cwd=tmp_path / "moved")
    assert (ran.code, ran.err) == (0, ""), "together with its tree it may go anywhere, once that is accepted"


def test_context_ends_where_the_file_ends(own: Path, run: Run) -> None:
    (own / "end.py").write_text("def last():\n    return 177\n")
    run("index", "-q", cwd=own)
    assert run("search", "-F", "return 177", "-C1", cwd=own).out.splitlines() == [
        "end.py-1-def last():",
        "end.py:2:5:    return 177",
    ]


@pytest.mark.slow
def test_only_matching_shows_every_match_once(own: Path, run: Run) -> None:
    """However many lines a hit shows, and though a class and its method both hold a match."""
    body = "".join(f"        x{n} = lamplight\n" for n in range(9))
    (own / "lit.py").write_text(f"class Lit:\n    def on(self, lamplight):\n{body}")
    run("index", "-q", cwd=own)
    lines = run("search", "-F", "lamplight", "-o", cwd=own).out.splitlines()
    assert sorted(lines) == sorted(["lit.py:2:18:lamplight", *(f"lit.py:{n}:14:lamplight" for n in range(3, 12))])


def test_an_unknown_repository_is_reported(indexed: Path, run: Run) -> None:
    ran = run("search", "repo:nope stock", cwd=indexed)
    assert ran.code == 1
    assert "no repository fits repo:nope; there are notes, shop" in ran.err
    assert run("search", "repo:sho stock", cwd=indexed).err == ""


@pytest.mark.parametrize(
    "query",
    [["content:hash_password"], ["/hash_pass\\w+/"], ['"hash_password("'], ["-F", "hash_password("], ["hash_password"]],
)
def test_files_are_those_of_all_hits_that_hold_a_match(indexed: Path, run: Run, query: list[str]) -> None:
    """However a hit was found: vectors alone find what has a condition for its words."""
    listed = run("search", "-l", *query, cwd=indexed).out.splitlines()
    assert {"notes/notes/auth.py", "notes/notes/__main__.py", "notes/tests/test_auth.py"} <= set(listed)
    for path in listed:
        if query != ["hash_password"]:
            assert "hash_pass" in (indexed / path).read_text()


def test_what_a_query_of_conditions_alone_finds_is_a_match(indexed: Path, run: Run) -> None:
    """Its own text has a vector too, which may be all that finds the definition."""
    asked = ("sym:Catalog", "--path-style", "root")
    (hit,) = json.loads(run("search", *asked, "--json", "--contributions", cwd=indexed).out)["results"]
    assert (hit["name"], set(hit["channels"])) == ("Catalog", {"vector"})
    path = "shop/server/internal/catalog/catalog.go"
    assert run("search", "-l", *asked, cwd=indexed).out == f"{path}\n"
    assert run("search", "-c", *asked, cwd=indexed).out == f"{path}:1\n"
    assert run("search", "-o", *asked, cwd=indexed).out.startswith(f"{path}:26:")
    assert path not in run("search", "-L", *asked, cwd=indexed).out.splitlines()
    assert run("files", "-l", *asked, cwd=indexed).out == f"{path}\n"
    assert run("search", "-l", "stores sym:Catalog", cwd=indexed).out == "", "a word asks for more than lies near it"


@pytest.mark.slow
def test_the_work_of_a_search_grows_with_the_number_of_roots_and_no_faster(tmp_path: Path) -> None:
    searches = (
        ["--files", str(tmp_path / "nothing/here")],
        ["repo:tree1 x"],
        ["-F", "x", "repo:other"],
        ["--json", "x"],
    )
    work: dict[str, list[int]] = {}
    for number in (10, 40):
        roots = [tmp_path / f"{number}/tree{place}" for place in range(number)]
        for root in roots:
            root.mkdir(parents=True)
            (root / "a.py").write_text("x = 1\n", encoding="utf-8")
        db = tmp_path / f"{number}.db"
        Index.build(db, roots, Settings(jobs=1, vector=False))
        for search in searches:
            made = calls(lambda db=db, search=search: main(["search", "--db", str(db), *search]))
            work.setdefault(search[0], []).append(sum(made.values()))
            assert made["filters._ends_with"] <= 2 * number, "the roots are compared once with a value of repo:"
    assert {name: few for name, (few, many) in work.items() if many > 4.2 * few} == {}


def test_repo_means_the_same_for_lines_as_for_names(tmp_path: Path, run: Run) -> None:
    """The end of a name in whole parts; a part of one only where no name ends so."""
    for name in ("app", "myapp"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.py").write_text("def total():\n    return 1\n", encoding="utf-8")
    db = str(tmp_path / "index.db")
    assert run("index", str(tmp_path / "app"), str(tmp_path / "myapp"), "--db", db).code == 0
    for query in (["total repo:app"], ['"total" repo:app'], ["/tot.l/ repo:app"]):
        found = run("search", "--db", db, "--json", *query)
        assert {row["repository"] for row in json.loads(found.out)["results"]} == {"app"}, query


def test_of_many_repositories_json_lists_those_that_the_answer_names(tmp_path: Path, run: Run) -> None:
    roots = [tmp_path / f"tree{place}" for place in range(MOST_REPOSITORIES + 1)]
    for root in roots:
        root.mkdir()
    (roots[7] / "a.py").write_text("def settle():\n    return 1\n", encoding="utf-8")
    db = tmp_path / "index.db"
    Index.build(db, roots, Settings(jobs=1, vector=False))
    for command in ("search", "why"):
        index = json.loads(run(command, "--db", str(db), "--json", "settle").out)["index"]
        assert [row["name"] for row in index["repositories"]] == ["tree7"]
        assert index["repositories_left_out"] == MOST_REPOSITORIES
    status = json.loads(run("status", "--db", str(db), "--json").out)["index"]
    assert len(status["repositories"]) == MOST_REPOSITORIES + 1
    assert "repositories_left_out" not in status


def test_a_terminal_shows_ten_hits_by_rank(indexed: Path, run: Run) -> None:
    shown = run("search", "retry a request that failed", "--pretty", "--color", "never", cwd=indexed).out
    assert re.findall(r"^ +(\d+)\. ", shown, re.MULTILINE) == [str(rank) for rank in range(1, 11)]
    literal = run("search", "-F", "hash_password", "--sort", "score", "--pretty", "--color", "never", cwd=indexed).out
    headings = [line for line in literal.splitlines() if line and not line.startswith(" ")]
    assert len(headings) > len(set(headings)), "a heading is repeated where another file comes between"
    more = run("search", "password of an account", "--pretty", "--color", "never", "-m", "12", cwd=indexed).out
    assert " 12. " in more
    assert len(run("search", "password of an account", cwd=indexed).out.splitlines()) == 20
