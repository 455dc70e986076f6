"""Commands at a real terminal: the pager, the first search in a tree without an index, and fewer hits where the answer is weak."""

from __future__ import annotations

import os
import re
import select
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.commands import SAMPLES, Run

PATIENCE = 120  # Seconds without output after which a command is ended
pty = pytest.importorskip("pty", reason="needs a pseudo-terminal")


def at_terminal(
    arguments: list[str], folder: Path, answer: str = "", rows: int = 24, environment: Mapping[str, str] | None = None
) -> tuple[int, str]:
    """Run codelens with all three streams on one terminal; returns the exit code and what the terminal got."""
    import fcntl
    import struct
    import termios

    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", rows, 100, 0, 0))
    settings = {**os.environ, "TERM": "xterm", "CODELENS_PAGER": "cat", **(environment or {})}
    process = subprocess.Popen(
        [sys.executable, "-m", "codelens", *arguments],
        cwd=folder,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env=settings,
        start_new_session=True,
    )
    os.close(theirs)
    os.write(ours, answer.encode())
    parts = []
    try:
        while True:
            if not select.select([ours], [], [], PATIENCE)[0]:
                process.kill()  # it waits for an answer that nobody gives
            if not (part := os.read(ours, 65_536)):
                break
            parts.append(part)
    except OSError:  # Linux reports the end of a terminal as an error
        pass
    os.close(ours)
    return process.wait(), b"".join(parts).decode().replace("\r\n", "\n")


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    shutil.copytree(SAMPLES / "notes" / "repo", tmp_path / "notes")
    return tmp_path / "notes"


PAGER = {"CODELENS_PAGER": "sed s/^/paged:/"}


def test_long_output_goes_through_the_pager(indexed: Path) -> None:
    code, text = at_terminal(["search", "password"], indexed, rows=10, environment=PAGER)
    assert code == 0
    assert all(line.startswith("paged:") for line in text.splitlines() if "codelens: " not in line)
    _, plain = at_terminal(["search", "password", "--no-pager"], indexed, rows=10, environment=PAGER)
    assert text.replace("paged:", "") == plain


@pytest.mark.parametrize("command", [["search", "-m", "1", "password"], ["search", "-F", "-m", "1", "verify_password"]])
def test_short_output_needs_no_pager(indexed: Path, command: list[str]) -> None:
    assert "paged:" not in at_terminal(command, indexed, rows=60, environment=PAGER)[1]


@pytest.mark.parametrize("pager", ["no-such-program", "", "cat"])
def test_output_is_plain_without_a_pager(indexed: Path, pager: str) -> None:
    code, text = at_terminal(["search", "password"], indexed, rows=5, environment={"CODELENS_PAGER": pager})
    assert code == 0
    assert "verify_password" in text


def test_a_pager_that_ends_early_is_no_error(indexed: Path) -> None:
    code, text = at_terminal(["search", "-F", "e"], indexed, rows=5, environment={"CODELENS_PAGER": "head -n 1"})
    assert code == 0
    assert "Traceback" not in text
    assert len(text.splitlines()) < 5


def test_the_first_search_at_a_terminal_builds_the_index(tree: Path, run: Run) -> None:
    subprocess.run(["git", "init", "-q"], cwd=tree, check=True)
    assert run("search", "verify password", cwd=tree).code == 3, "never in a pipe"
    for quiet in ("-q", "--json"):
        assert at_terminal(["search", quiet, "verify password"], tree)[0] == 3
    code, text = at_terminal(["search", "verify password"], tree)
    assert (code, (tree / ".codelens" / "index.db").is_file()) == (0, True)
    assert text.index("indexed") < text.index("verify_password")


@pytest.mark.parametrize(("answer", "code"), [("\n", 3), ("y\n", 0)])
def test_a_large_tree_is_indexed_after_a_question(tree: Path, answer: str, code: int) -> None:
    for number in range(30):
        (tree / f"words{number}.txt").write_text(f"line {number} of words that nobody needs\n" * 7_000)
    ended, text = at_terminal(["search", "verify password"], tree, answer)
    assert (ended, (tree / ".codelens" / "index.db").is_file()) == (code, code == 0)
    assert "index it now? [y/N]" in text


def test_the_reason_below_a_hit_is_the_first_sentence_of_why(indexed: Path, run: Run) -> None:
    for query in ("check that a password is right", "expired coupon", "retry with backoff"):
        heads = re.findall(
            r"^ +(\d+)\. (\S+)  \S+  (.+)$", run("search", "--pretty", "--color", "never", query, cwd=indexed).out, re.M
        )
        account = run("why", query, "-m", str(len(heads)), cwd=indexed).out
        assert heads
        for rank, name, reason in heads:
            rows = account.partition(f"#{rank} {name}")[2].splitlines()[1:]
            first = next(row for row in rows if not row.startswith("  fusion"))
            assert re.split(r"[#-]+ {2,}", first, maxsplit=1)[-1].startswith(reason)


def test_a_weak_answer_is_short_and_says_so_first(indexed: Path, run: Run) -> None:
    weak = ("search", "train a dragon to sing")
    shown = run(*weak, "--pretty", cwd=indexed)
    assert shown.out.startswith("weak: ")
    assert "weak: " not in shown.err
    assert len(re.findall(r"^ +\d+\. ", re.sub(r"\x1b\[[0-9;]*m", "", shown.out), re.M)) == 3
    assert "\x1b[2m  1. " in run(*weak, "--pretty", "--color", "always", cwd=indexed).out
    assert len(re.findall(r"^ +\d+\. ", run(*weak, "--pretty", "--color=never", "-m", "5", cwd=indexed).out, re.M)) == 5
    piped = run(*weak, cwd=indexed)
    assert len(piped.out.splitlines()) > 3
    assert "codelens: weak: " in piped.err


def test_a_signature_of_several_lines_is_shown_whole(tmp_path: Path, run: Run) -> None:
    head = "def moor_boat(\n    boat: str,\n    berth: int,\n    *,\n    lines: int = 4,\n) -> bool:\n"
    code = f"# boats\n\n\n{head}    return bool(boat)\n"
    (tmp_path / "harbour.py").write_text(code)
    run("index", "-q", cwd=tmp_path)
    shown = run("search", "--pretty", "--color", "never", "moor the boat berth", cwd=tmp_path).out
    assert "     4  def moor_boat(boat: str, berth: int, *, lines: int = 4,) -> bool:\n" in shown
    assert "boat: str,\n" not in shown
    around = run("search", "--pretty", "--color", "never", "moor the boat berth", "-C", "3", cwd=tmp_path).out
    assert "     4  def moor_boat(boat: str" in around
    assert "     3  \n" in around, "an empty line of the context"


def test_lines_without_headings_are_coloured(indexed: Path) -> None:
    for asked in (["-c", "password"], ["-n", "--no-heading", "password"], ["-o", "check a password"]):
        text = at_terminal(["search", *asked], indexed)[1]
        assert "\x1b[35m" in text
        assert "\\x1b" not in text


def test_a_folder_outside_of_repositories_is_indexed_after_a_question(tree: Path) -> None:
    assert at_terminal(["search", "verify password"], tree, "\n")[0] == 3
    assert not (tree / ".codelens").exists()


def test_a_pager_that_cannot_start_is_no_error(indexed: Path, tmp_path: Path) -> None:
    (tmp_path / "pager").write_text("#!/no/such/interpreter\n")
    (tmp_path / "pager").chmod(0o755)
    code, text = at_terminal(
        ["search", "password"], indexed, rows=5, environment={"CODELENS_PAGER": str(tmp_path / "pager")}
    )
    assert code == 0
    assert "verify_password" in text
