"""Which questions of `search` are answered with lines, and what is said where grep's habits do not fit."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from codelens.cli.main import main
from tests.cli.goldens import GOLDEN, shown
from tests.commands import Run
from tests.render.schema import check
from tools.ripgrep import differences

FORMATS = {
    "plain": [],
    "context": ["-C", "1"],
    "files": ["-l"],
    "files_without": ["-L"],
    "counts": ["-c"],
    "matches": ["-o"],
    "numbers": ["-n"],
    "terminal": ["--pretty"],
    "heading": ["--heading"],
    "vimgrep": ["--vimgrep"],
    "json": ["--json", "-m", "2"],
    "jsonl": ["--jsonl", "-m", "2"],
    "csv": ["--csv"],
    "sarif": ["--sarif", "-m", "2"],
    "markdown": ["--markdown", "-m", "2"],
    "format": ["--format", "{path}:{line} {kind} {qualified_name} {text}"],
}


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_of_lines_is_golden(
    name: str, indexed: Path, run: Run, golden: Callable[[Path, str], None]
) -> None:
    ran = run("search", "-F", "hash_password", *FORMATS[name], cwd=indexed)
    assert (ran.code, ran.err) == (0, "")
    golden(GOLDEN / "lines" / f"{name}.txt", shown(ran.out, indexed))


def test_json_fits_the_schema(indexed: Path, run: Run) -> None:
    record = json.loads(run("search", "--json", "--contributions", "-F", "hash_password", "-m", "2", cwd=indexed).out)
    check(record, "search")
    assert record["left_out"] == record["total"] - 2 > 0
    assert {(hit["score"], len(hit["contributions"])) for hit in record["results"]} == {(0.0, 0)}
    ranked = json.loads(run("search", "--json", "lock an account", "-m", "3", "--offset", "1", cwd=indexed).out)
    check(ranked, "search")
    assert ranked["left_out"] == ranked["total"] - 4 > 0


@pytest.mark.parametrize(
    "asked",
    [
        ["-l"], ["-L"], ["-c"], ["-o"], ["-w"], ["-n"], ["-A1"], ["-B", "1"], ["-C1"], ["-x"], ["-n", "-v"],
    ],
)  # fmt: skip
def test_with_the_flags_of_grep_words_must_be_there_as_they_are_written(
    asked: list[str], indexed: Path, run: Run
) -> None:
    literally = run("search", *asked, "-F", "hash_password", cwd=indexed)
    assert run("search", *asked, "hash_password", cwd=indexed) == literally
    assert (
        run("search", *asked, "passwordhash", cwd=indexed).out
        == run("search", *asked, "-F", "passwordhash", cwd=indexed).out
    )


def test_grep_flags_apply_to_ranked_hits_of_several_words(indexed: Path, run: Run) -> None:
    """The order is that of the ranking, and the number of hits its default."""
    question = "wrong passwords lock an account"
    ranked = [line.split(":")[:2] for line in run("search", question, cwd=indexed).out.splitlines()]
    assert len(ranked) == 20
    numbered = run("search", "-n", question, cwd=indexed).out.splitlines()
    assert [line.split(":")[:2] for line in numbered] == ranked
    paths = [path for path, _ in ranked]
    for flags in (["-l"], ["-l", "--sort", "score"], ["-l", "-w"]):
        assert run("search", *flags, question, cwd=indexed).out.splitlines() == list(dict.fromkeys(paths))
    counts = run("search", "-c", question, cwd=indexed).out.splitlines()
    assert counts == [f"{path}:{paths.count(path)}" for path in dict.fromkeys(paths)]
    others = run("search", "-L", question, cwd=indexed).out.splitlines()
    assert {*others, *paths} == set(run("search", "--files", cwd=indexed).out.splitlines())
    assert not set(others) & set(paths)
    around = run("search", "-C", "2", "-m", "1", question, cwd=indexed).out.splitlines()
    assert f"{ranked[0][0]}:{ranked[0][1]}:" in "\n".join(around)
    assert 3 <= len(around) <= 5
    assert run("search", "-l", f"{question} lang:go", cwd=indexed).out.splitlines()[0].endswith(".go")
    assert "add -F for lines" in run("search", "-v", "-n", question, cwd=indexed).err


def test_exact_queries_print_every_line(indexed: Path, run: Run) -> None:
    """More than the twenty of a ranking, each line once, and nothing is said."""
    for query in (["--regex", r"\w+"], ["-F", "e"], ["/e/"], ['"e"'], ["content:e"]):
        ran = run("search", *query, cwd=indexed)
        lines = ran.out.splitlines()
        assert len(lines) > 500
        assert len(set(lines)) == len(lines)
        assert ran.err == ""
        assert run("search", *query, "-m", "7", cwd=indexed).out.splitlines() == lines[:7]


@pytest.mark.parametrize(
    "arguments",
    [
        ["-F", "hash_password", "--sort", "score"],
        ["-F", "hash_password", "--mode", "exact"],
        ['"hash_password"', "--profile", "rrf"],
        ["hash_password", "-C1", "--sort", "score"],
        ["hash_password", "-w", "--mode", "keyword"],
        ['"hash_password" password'],
        ['"hash_password" "password"'],
        ["hash_password"],
    ],
)
def test_queries_of_words_are_ranked(arguments: list[str], indexed: Path, run: Run) -> None:
    record = json.loads(run("search", "--json", *arguments, cwd=indexed).out)
    assert record["results"]
    assert "lines" not in record["search_modes"]


@pytest.mark.parametrize(
    ("arguments", "message", "hint"),
    [
        (
            ["-l", "--mode", "vector", "x"],
            "-l is about matching lines, which --mode does not rank",
            "--format '{path}'",
        ),
        (["-c", "--sort", "score", "x"], "-c is about matching lines, which --sort score does not rank", ""),
        (["-v", "x"], "-v excludes matching lines, but words alone are ranked", "--verbose says more"),
        (["-v", "x", "--mode", "exact"], "-v is about matching lines", ""),
        (["-o", "--like", "hash_password"], "-o is about matching lines, and --like has none", "leave -o out"),
        (["-o", "--files-only", "x"], "-o is about matching lines, and a search for files has none", "leave -o out"),
        (["-x", "two words"], "-x matches whole lines", "quote them, or add -F"),
        (["-i", "-s", "x"], "use either -i or -s, not both", ""),
        (["-l", "-c", "x"], "use either -l or -c, not both", ""),
        (["-u", "x"], "-u: what is hidden, ignored or binary is decided when indexing", "codelens index --no-ignore"),
        (["-uu", "x"], "-u: what is hidden", ""),
        (["-lu", "x"], "-u: what is hidden", ""),
        (["--hidden", "x"], "--hidden: what is hidden", "--hidden belongs to `codelens index`"),
        (["-r", "y", "x"], "no such file or folder: x", "sed"),
        (["-E", "\xff", "x"], "no such file or folder: x", ""),
        (["-E", "utf-8", "x"], "no such file or folder: x", "-E reads the query as a pattern"),
        (["x", "--exclude"], "--exclude needs a value", ""),
        (["--include=", "x"], "--include needs a value", ""),
        (["--encoding=utf-8", "x"], "--encoding: a file's encoding is detected", "leave"),
        (["--files", "x"], "no such file or folder: x", "`codelens files x` finds files"),
        (["--replace=y", "x"], "--replace: a search replaces nothing", "sed"),
        (["--max-depth", "2", "x"], "--max-depth: there is no limit of depth", "-g"),
        (["--max-count=1", "x"], "--max-count: -m limits the whole answer", "-m N"),
    ],
)
def test_contradictory_flags_are_named(arguments: list[str], message: str, hint: str, indexed: Path, run: Run) -> None:
    ran = run("search", *arguments, cwd=indexed)
    assert (ran.code, ran.out) == (2, "")
    told, _, said = ran.err.partition("\nhint: ")
    assert message in told
    assert hint in said


@pytest.mark.parametrize(
    ("arguments", "same"),
    [
        (["-r", "hash_password"], ["hash_password"]),
        (["-Rn", "hash_password"], ["-n", "hash_password"]),
        (["-E", "hash_(password|token)"], ["--regex", "hash_(password|token)"]),
        (["-n", "--include=*.py", "password"], ["-n", "-g", "*.py", "password"]),
        (["-n", "--include", "*.py", "--exclude", "test_*", "password"], ["-n", "-g*.py", "-g", "!test_*", "password"]),
        (["-n", "--exclude-dir=tests/", "password"], ["-n", "-g", "!tests/", "password"]),
        (["-n", "--iglob=*.PY", "password"], ["-n", "-g", "*.py", "password"]),
        (["--colour=always", "password"], ["--color", "always", "password"]),
    ],
)
def test_options_of_grep_have_their_meaning(arguments: list[str], same: list[str], indexed: Path, run: Run) -> None:
    assert run("search", *arguments, cwd=indexed) == run("search", *same, cwd=indexed)
    assert run("search", *same, cwd=indexed).code == 0


def test_o_prints_the_parts_of_hits_that_match(indexed: Path, run: Run) -> None:
    asked = ("check that a password is right", "-m", "5")
    parts = run("search", "-o", *asked, cwd=indexed).out.splitlines()
    hits = json.loads(run("search", "--json", *asked, cwd=indexed).out)["results"]
    texts = {f"{line['line']}": line["text"] for hit in hits for line in hit["snippet"]}
    assert len({part.split(":")[0] for part in parts}) > 1, "of several files"
    for part in parts:
        _, line, column, text = part.split(":", 3)
        assert texts[line].encode()[int(column) - 1 :].startswith(text.encode())
        assert text.lower() not in ("", "a", "is", "that")


@pytest.mark.parametrize(
    ("short", "long"), [("r:shop", "repo:shop"), ("f:auth.py", "file:auth.py"), ("-r:notes", "-repo:notes")]
)
def test_filters_have_short_names(short: str, long: str, indexed: Path, run: Run) -> None:
    paths = [set(run("search", "-l", f"{query} password", cwd=indexed).out.splitlines()) for query in (short, long, "")]
    assert paths[0] == paths[1] < paths[2]


def test_version_is_the_letter_v_in_capitals(indexed: Path, run: Run) -> None:
    version = run("--version", cwd=indexed)
    assert version.out.startswith("codelens ")
    assert run("-V", cwd=indexed) == run("search", "-V", cwd=indexed) == version


def test_words_without_a_command_get_a_hint(indexed: Path, run: Run) -> None:
    ran = run("check a password", "notes", cwd=indexed)
    assert (ran.code, ran.out) == (2, "")
    assert "codelens search 'check a password' notes" in ran.err


def test_files_without_a_query_lists_them(indexed: Path, run: Run) -> None:
    listed = run("files", cwd=indexed)
    assert listed == run("search", "--files", cwd=indexed)
    assert run("files", "-t", "go", "-0", cwd=indexed).out.count("\0") > 3
    assert run("files", "*.go", cwd=indexed) == run("files", "-g", "*.go", cwd=indexed)
    for flags in (["--jsonl"], ["--csv"], ["-c"], ["--format", "{path}!"]):
        assert run("files", *flags, cwd=indexed).code == 2
    pattern = run("files", "-P", "test_.*", cwd=indexed)
    assert pattern == run("search", "--files-only", "-P", "test_.*", cwd=indexed)
    assert pattern.out
    record = json.loads(run("files", "--json", cwd=indexed).out)
    assert record["total"] == len(record["files"]) == len(listed.out.splitlines())


def test_v_is_verbose_where_nothing_can_be_inverted(indexed: Path, run: Run) -> None:
    assert "candidates from" in run("search", "--verbose", "hash_password", cwd=indexed).err
    assert run("why", "-v", "hash_password", "-m", "1", cwd=indexed).code == 0


@pytest.mark.parametrize(
    "query", ["-client", "-repo:nope stock", "-is:test", "-(stock OR cart)", "-test cache", "-Memory"]
)
def test_a_query_may_begin_with_a_dash(query: str, indexed: Path, run: Run) -> None:
    for arguments in ([query], ["-m", "3", query, "shop"], [query, "-m", "3"]):
        ran = run("search", "--json", *arguments, cwd=indexed)
        assert ran.code in (0, 1), ran.err
        assert json.loads(ran.out)["query"] == query
    assert run("search", "-F", query, cwd=indexed).code == 1, "literally, with its dash"
    assert run("why", query, cwd=indexed).code in (0, 1)


def test_options_are_not_taken_for_queries(indexed: Path, run: Run) -> None:
    plain = run("search", "-n", "-i", "-F", "-m", "3", "hash", cwd=indexed).out
    for arguments in (["-niF", "-m3"], ["-inFm3"], ["-n", "-i", "-F", "-m", "3"]):
        assert run("search", *arguments, "hash", cwd=indexed).out == plain
    assert (
        run("search", "-tpy", "-l", "hash_password", cwd=indexed).out
        == run("search", "-t", "py", "-l", "hash_password", cwd=indexed).out
    )
    assert run("search", "-e", "-client", "-l", cwd=indexed).code == 0, "the files with a line that lacks it"
    assert run("search", "-test", "-m1", cwd=indexed).code == 0, "est is no language"
    assert "no option -y" in run("search", "-y", "x", cwd=indexed).err


@pytest.mark.parametrize("query", [".", "*", "!!!", "()"])
def test_a_query_without_a_word_says_so(query: str, indexed: Path, run: Run) -> None:
    ran = run("search", query, cwd=indexed)
    assert (ran.code, ran.out) == (1, "")
    assert f"'{query}' has no word to look for; -F finds it as text" in ran.err


def test_no_line_found_suggests_regex(indexed: Path, run: Run) -> None:
    assert "--regex reads it as a pattern" in run("search", "-l", "hash|verify", cwd=indexed).err
    assert run("search", "-l", "--regex", "hash|verify", cwd=indexed).code == 0
    assert run("search", "-l", "flumoxer", cwd=indexed).err == ""


def test_a_path_that_is_not_indexed_is_explained(own: Path, run: Run) -> None:
    (own / ".github").mkdir()
    (own / ".github/ci.yml").write_text("password: 1\n")
    (own / ".gitignore").write_text("built/\n")
    (own / "built").mkdir()
    (own / "built/out.py").write_text("password = 1\n")
    run("index", "-q", cwd=own)
    for flags in ([], ["-l"], ["-F"]):
        said = run("search", "password", *flags, ".github", cwd=own)
        assert (said.code, said.out) == (1, "")
        assert (
            ".github is not indexed: hidden: its name begins with a dot; `codelens index --hidden` takes it in"
            in said.err
        )
        assert (
            "built is not indexed: ignored: .gitignore:1: built/"
            in run("search", "password", *flags, "built", cwd=own).err
        )
    assert run("search", "password", "-q", ".github", cwd=own).err == ""


def test_from_the_parent_folder_a_path_finds_its_index(own: Path, run: Run) -> None:
    run("index", "-q", cwd=own)
    ran = run("search", "-l", "hash_password", "notes", cwd=own.parent)
    assert ran.out.splitlines() == ["notes/notes/__main__.py", "notes/notes/auth.py", "notes/tests/test_auth.py"]
    assert run("search", "hash_password", "notes/notes", "-m", "1", cwd=own.parent).out.startswith(
        "notes/notes/auth.py:21:"
    )
    assert run("search", "hash_password", cwd=own.parent).code == 3


def test_arguments_after_the_query_are_paths(indexed: Path, run: Run) -> None:
    found = run("search", "-l", "hash_password", "notes/notes", "shop/server", cwd=indexed).out.splitlines()
    assert found == ["notes/notes/__main__.py", "notes/notes/auth.py"]
    assert run("search", "-l", "hash_password", "notes/auth.py", cwd=indexed / "shop").out == "../notes/notes/auth.py\n"
    ran = run("search", "hash_password", "notes/notes", "password", cwd=indexed)
    assert (ran.code, ran.err.splitlines()[0]) == (2, "codelens: error: no such file or folder: password")


def test_files_lists_all_indexed_files(indexed: Path, run: Run) -> None:
    found = run("search", "--files", "notes/notes", cwd=indexed).out.splitlines()
    assert "notes/notes/auth.py" in found
    assert all(path.startswith("notes/notes/") for path in found)
    assert run("search", "--files", "-t", "go", "-0", cwd=indexed).raw.count(b"\0") == 6
    assert run("search", "--files", "-t", "rust", cwd=indexed).code == 1


def test_changed_files_are_reported(own: Path, run: Run) -> None:
    run("index", "-q", cwd=own)
    (own / "notes/auth.py").write_text("# all new\n")
    ran = run("search", "-l", "hash_password", cwd=own)
    assert "notes/auth.py" in ran.out.splitlines()
    assert "warning: files differ from the index: 1 changed (notes/auth.py)" in ran.err
    (own / "notes/auth.py").unlink()
    assert run("search", "-l", "hash_password", "notes/auth.py", cwd=own).out == "notes/auth.py\n"
    hit = json.loads(run("search", "-F", "--json", "verify_password", "notes/auth.py", cwd=own).out)["results"][0]
    assert hit["freshness"] == "deleted"


def test_an_answer_that_is_not_complete_is_an_error(own: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    (own / "slow.txt").write_text("a" * 60 + "!\n")
    run("index", "-q", cwd=own)
    monkeypatch.setenv("CODELENS_QUERY_SECONDS", "0.2")
    ran = run("search", "--regex", "^(a|aa)+$", "-c", cwd=own)
    assert ran.code == 2
    assert "over 0.2 s, so the answer ends at slow.txt" in ran.err
    ran = run("search", "--regex", "def hash_password|^(a|aa)+$", "--json", cwd=own)
    record = json.loads(ran.out)
    assert (ran.code, record["exit_code"]) == (2, 2)
    assert [hit["path"] for hit in record["results"]] == ["notes/auth.py"]
    assert "incomplete" in [notice["code"] for notice in record["notices"]]
    assert "error: the regular expression took over 0.2 s, so the answer ends at slow.txt" in ran.err


def test_text_goes_into_a_pipe_as_it_is(own: Path, run: Run) -> None:
    """As with grep: carriage returns too, and however long the line is."""
    long = "x = '" + "y" * 700 + "' # needle zyxwv\r\n"
    (own / "odd.py").write_bytes(f"{long}z = 1  # needle \x1b[1m\r\n".encode())
    run("index", "-q", cwd=own)
    assert run("search", "-n", "needle", cwd=own).raw == f"odd.py:1:{long}odd.py:2:z = 1  # needle \x1b[1m\r\n".encode()
    assert run("search", "-F", "zyxwv", "--sort", "score", cwd=own).out.count("y") > 600, "ranked hits too"


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("rg") is None, reason="needs rg")
@pytest.mark.parametrize("sample", ["notes", "shop"])
def test_ripgrep_answers_the_same(sample: str, indexed: Path) -> None:
    """Files, lines, counts, columns, order and exit codes, byte for byte."""
    assert list(differences(indexed / sample, 300)) == []


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("rg") is None, reason="needs rg")
def test_ripgrep_answers_the_same_about_this_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its server is written in several languages."""
    server = Path(__file__).parents[2] / "codelens/server"
    shutil.copytree(server, tmp_path / "server", ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.chdir(tmp_path)
    assert main(["index", "-q", "--no-vector"]) == 0
    assert list(differences(tmp_path, 120)) == []
