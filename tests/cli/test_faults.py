"""Every ending is an exit code and at most two lines on stderr; stdout stays empty."""

from __future__ import annotations

import errno
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import codelens.cli.search
from codelens.cli.main import main
from codelens.errors import CannotWrite, build_write_error
from codelens.store.connection import report_write_faults
from tests.commands import Run


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["serch"], "no command 'serch', did you mean 'search'?"),
        (["hooks", "uninstall"], "no command 'uninstall', did you mean 'remove'?"),
        (["hooks", "instal"], "no command 'instal', did you mean 'install'?"),
        (["hooks", "banish"], "no command 'banish'\n"),
        (["search", "--limt", "3", "x"], "no option --limt, did you mean --limit?"),
        (["search", "--hiding", "x"], "no option --hiding\n"),
        (["search", "--hidden", "x"], "--hidden belongs to `codelens index`"),
        (["search", "--nonsense"], "no option --nonsense\n"),
        (["search", "-m"], "requires an argument"),
        (["search", "-m", "many", "x"], "'many' is not a valid int"),
        (["search", "-m", "0", "x"], "--limit must be at least 1"),
        (["search", "--offset", "-1", "x"], "--offset must be at least 0"),
        (["search", "--min-score", "7", "x"], "from 0 to 1"),
        (["search", "--weights", "exact", "x"], "not CHANNEL=NUMBER"),
        (["search", "--weights", "exact=nan", "x"], "must be from 0 to"),
        (["search", "--case", "loud", "x"], "--case must be auto, yes or no"),
        (["search", "--json", "--csv", "x"], "use either --json or --csv, not both"),
        (["search", "-t", "klingon", "x"], "unknown language 'klingon'"),
        (["search", "parse", "config"], "no such file or folder: config"),
        (["search"], "no query\nhint: `codelens search QUERY`"),
        (["why"], "no query\nhint: `codelens why QUERY`"),
        (["search", "--sort", "luck", "x"], "--sort must be score, path or modified"),
        (["search", "--format", "{x.y}", "x"], "unknown field {x.y}"),
        (["search", "--mode", "magic", "x"], "magic"),
        (["search", "--profile", "magic", "x"], "magic"),
        (["search", "--weights", "magic=1", "x"], "magic"),
        (["help", "nothing"], "no help on 'nothing'"),
        (["--show-completion", "tcsh"], "no completion for 'tcsh'"),
        (["symbols"], "no FILE"),
        (["symbols", "nowhere.py"], "nowhere.py is not in the index"),
        (["index", "nowhere"], "not a folder"),
        (["index", "--progress", "loud"], "--progress must be auto, json or none"),
    ],
)
def test_usage_errors_exit_with_2(arguments: list[str], said: str, indexed: Path, run: Run) -> None:
    ran = run(*arguments, cwd=indexed / "notes")
    assert ran.code == 2
    assert ran.out == ""
    assert ran.err.startswith("codelens: error: ")
    assert said in ran.err
    assert ran.err.splitlines()[-1].startswith("hint: ")


@pytest.mark.parametrize(
    "arguments", [["search", "x"], ["why", "x"], ["status"], ["symbols", "x.py"], ["index", "--remove"]]
)
def test_a_missing_index_exits_with_3(arguments: list[str], tmp_path: Path, run: Run) -> None:
    ran = run(*arguments, cwd=tmp_path)
    assert ran.code == 3
    assert "codelens: error: no index" in ran.err
    assert "hint: run `codelens index` first" in ran.err


def test_a_file_that_is_no_index_exits_with_3(tmp_path: Path, run: Run) -> None:
    (tmp_path / "letter.txt").write_text("Dear all, " * 200)
    ran = run("search", "x", "--db", "letter.txt", cwd=tmp_path)
    assert ran.code == 3
    assert "hint: " in ran.err


def test_an_unknown_option_can_be_a_query_after_dashes(indexed: Path, run: Run) -> None:
    assert run("search", "-q", "--", "--nonsense", cwd=indexed).code in (0, 1)


def test_an_interrupt_is_one_line(monkeypatch: pytest.MonkeyPatch, indexed: Path, run: Run) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(codelens.cli.search, "find_workplace", interrupted)
    ran = run("search", "x", cwd=indexed)
    assert (ran.code, ran.err) == (130, "codelens: interrupted\n")


def test_a_bug_is_one_line_and_a_traceback_with_debug(monkeypatch: pytest.MonkeyPatch, indexed: Path, run: Run) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("the\x1b[31m gears")

    monkeypatch.setattr(codelens.cli.search, "find_workplace", broken)
    ran = run("search", "x", cwd=indexed)
    assert ran.code == 2
    assert ran.err.splitlines() == [
        "codelens: error: RuntimeError: the\\x1b[31m gears",
        "hint: use --debug to see where it happened",
    ]
    assert "Traceback" in run("search", "x", "--debug", cwd=indexed).err
    assert "Traceback" not in run("search", "--", "--debug", cwd=indexed).err


def test_stdin_that_is_a_terminal_is_not_waited_for(monkeypatch: pytest.MonkeyPatch, indexed: Path) -> None:
    class Terminal:
        def isatty(self) -> bool:
            return True

    monkeypatch.chdir(indexed)
    monkeypatch.setattr("sys.stdin", Terminal())
    assert main(["search", "-"]) == 2
    assert main(["search", "-f", "-"]) == 2


@pytest.mark.parametrize("command", ["index", "search x", "config", "index --remove", "status"])
def test_a_folder_is_no_index_file(command: str, own: Path, run: Run) -> None:
    ran = run(*command.split(), "--db", "notes", cwd=own)
    assert (ran.code, ran.out) == (2, "")
    assert "codelens: error: --db notes is a folder" in ran.err


@pytest.mark.skipif(os.name == "nt", reason="a working directory cannot be removed there")
def test_a_removed_working_directory_is_one_error(tmp_path: Path, run: Run) -> None:
    (gone := tmp_path / "gone").mkdir()
    script = (
        "import os, sys; os.rmdir(os.getcwd()); from codelens.cli.main import main; sys.exit(main(['search', 'x']))"
    )
    ran = subprocess.run([sys.executable, "-c", script], cwd=gone, capture_output=True, text=True)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr.startswith("codelens: error: the working directory no longer exists\n")


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="shells there close no streams")
@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_streams_are_no_error(closed: str, own: Path) -> None:
    def shell(line: str) -> subprocess.CompletedProcess[str]:
        command = f"{shlex.quote(sys.executable)} -m codelens {line} --db i.db {closed}"
        return subprocess.run(["sh", "-c", command], cwd=own, capture_output=True, text=True, input="note")

    for line in ("index . --force", "search note", "status", "--help"):
        ran = shell(line) if line != "--help" else shell("search --help")
        assert ran.returncode == 0, ran.stderr
        assert "Error" not in ran.stderr
    ran = shell("search -")
    assert ran.returncode == (1 if "<" in closed else 0), ran.stdout + ran.stderr


def test_an_empty_query_is_reported(indexed: Path, run: Run) -> None:
    ran = run("search", " ", cwd=indexed)
    assert (ran.code, ran.out, ran.err) == (1, "", "codelens: note: the query is empty\n")


@pytest.mark.parametrize("command", ["index", "watch"])
def test_a_folder_that_cannot_be_written_is_named_with_the_way_out(command: str, own: Path, run: Run) -> None:
    """As root, for whom no folder is read-only, a file that lies where the index's folder would."""
    own.chmod(0o555)
    (own / ".codelens").write_text("") if os.access(own, os.W_OK) else None
    try:
        ran = run(command, cwd=own)
    finally:
        own.chmod(0o755)
    error, hint = ran.err.splitlines()
    assert ran.code == 2
    assert error.startswith(f"codelens: error: {own}/.codelens cannot be written: ")
    assert "--db FILE" in hint


@pytest.mark.parametrize("number", [errno.EROFS, errno.EACCES, errno.EPERM])
def test_a_read_only_folder_gets_a_hint_at_db(number: int, tmp_path: Path) -> None:
    fault = build_write_error(tmp_path, OSError(number, os.strerror(number)))
    assert str(fault) == f"{tmp_path} cannot be written: {os.strerror(number)}"
    assert "--db FILE" in fault.hint
    assert "room" not in fault.hint
    assert "make room" in build_write_error(tmp_path, OSError(errno.ENOSPC, "full")).hint


def test_an_index_that_cannot_be_written_says_so_too(tmp_path: Path) -> None:
    with pytest.raises(CannotWrite, match="Read-only") as told, report_write_faults(tmp_path / "index.db"):
        raise OSError(errno.EROFS, "Read-only file system", str(tmp_path / "index.db-wal"))
    assert "--db FILE" in told.value.hint
