"""Tab completion: the scripts in the real shells, and the answers that they ask for."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest

from codelens.config import Settings
from codelens.lang.registry import languages
from tests.commands import Run

CHECK = {"bash": "-n", "zsh": "-n", "fish": "--no-execute"}
"""The flag with which a shell reads a script and runs nothing of it."""


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish", "powershell"])
def test_each_completion_script_calls_codelens(shell: str, run: Run) -> None:
    ran = run("--show-completion", shell)
    assert (ran.code, ran.err) == (0, "")
    assert "_CODELENS_COMPLETE" in ran.out


@pytest.mark.parametrize("shell", CHECK)
def test_each_shell_parses_its_script(shell: str, run: Run, tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_bytes(run("--show-completion", shell).raw)
    ran = subprocess.run([_program(shell), CHECK[shell], str(script)], capture_output=True, text=True)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")


@pytest.mark.parametrize("shell", CHECK)
def test_installing_writes_the_script_that_is_shown(
    shell: str, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    ran = run("--install-completion", shell)
    assert ran.code == 0
    installed = Path(ran.err.split(" in ", 1)[1].split(";")[0])
    assert installed.is_relative_to(tmp_path)
    assert installed.read_text(encoding="utf-8") == run("--show-completion", shell).out


def offered(words: list[str], cwd: Path, shell: str = "bash") -> list[str]:
    """The lines that codelens answers, in a process of its own as a shell starts it."""
    ran = subprocess.run(
        [sys.executable, "-m", "codelens", *words],
        env=os.environ | {"_CODELENS_COMPLETE": shell},
        cwd=cwd,
        capture_output=True,
        text=True,
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    return ran.stdout.splitlines()


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("sy", ["symbols"]),
        ("co", ["context", "config"]),
        ("hooks r", ["remove", "run"]),
        ("search --rr", ["--rrf-k"]),
        ("index --no-", ["--no-config", "--no-detect-encoding", "--no-fuzzy", "--no-ignore", "--no-vector"]),
        ("search -t ru", ["ruby", "rust"]),
        ("search --type=ru", ["--type=ruby", "--type=rust"]),
        ("search --type = ru", ["ruby", "rust"]),  # as bash splits it
        ("search --kind class,meth", ["class,method"]),
        ("search --mode k", ["keyword"]),
        ("search --profile know", ["knowing", "knowing-base"]),
        ("search --intent ta", ["task"]),
        ("refs x --kinds calls,exte", ["calls,extends"]),
        ("help ex", ["exit-codes"]),
        ("config mo", ["mode", "model"]),
        ("callers list_no", ["list_notes"]),
        ("callers NoteStore.save", ["NoteStore.save_note"]),
        ("why query NoteSt", ["NoteStore"]),
        ("search list_no", ["list_notes"]),
        ("symbols lis", []),  # files, which the shell finds itself
        ("callers --db nowhere.db list_no", []),
        ("frob x", []),
        ("frob", []),
    ],
)
def test_each_word_is_offered_its_completions(typed: str, expected: list[str], indexed: Path) -> None:
    assert sorted(offered(typed.split(), indexed / "notes")) == sorted(expected)


def test_all_values_of_a_set_are_offered(indexed: Path) -> None:
    assert offered(["config", ""], indexed) == [field.name for field in fields(Settings)]
    assert offered(["search", "-t", ""], indexed) == list(languages())
    assert {"search", "why", "hooks"} <= set(offered([""], indexed))


def test_zsh_gets_the_help_of_an_option(indexed: Path) -> None:
    assert offered(["search", "--rr"], indexed, "zsh") == [
        "--rrf-k\tThe constant k of reciprocal rank fusion [default: 60]"
    ]


def test_nothing_is_offered_without_a_usable_index(tmp_path: Path) -> None:
    assert offered(["callers", "list"], tmp_path) == []
    (tmp_path / ".codelens").mkdir()
    (tmp_path / ".codelens/index.db").write_bytes(b"SQLite format 3\0" + b"\xff" * 5000)
    assert offered(["callers", "list"], tmp_path) == []
    (tmp_path / ".codelens.toml").write_text("limit = [", encoding="utf-8")
    assert offered(["callers", "list"], tmp_path) == []


START = {
    "bash": "unset HISTFILE; source ./script; bind 'set enable-bracketed-paste off'",
    "zsh": "autoload -Uz compinit; compinit -u -D; source ./script; bindkey -e",
}
ARGUMENTS = {"bash": ["--norc", "--noprofile", "-i"], "zsh": ["-f", "-i"]}
LINES = [
    ("codelens search -t rus", "codelens search -t rust"),
    ("codelens callers list_no", "codelens callers list_notes"),
    ("codelens callers NoteStore.save", "codelens callers NoteStore.save_note"),
    ("codelens config context_", "codelens config context_lines"),
    ("codelens search --hyper", "codelens search --hyperlink-format"),
    ("codelens symbols REA", "codelens symbols README.md"),  # a file
]
"""What is typed, and the line after a tab."""


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="no pseudo-terminals there")
@pytest.mark.parametrize("shell", START)
def test_a_tab_completes_the_line(shell: str, indexed: Path, tmp_path: Path, run: Run) -> None:
    """Typed at the shell's prompt; then ^A and `echo` make the line print itself instead of running."""
    folder = _folder(shell, indexed, tmp_path, run)
    keys = [START[shell], *(f"{typed}\t\x01echo {i}: \r" for i, (typed, _) in enumerate(LINES)), "exit"]
    seen = _typed([_program(shell), *ARGUMENTS[shell]], keys, folder, tmp_path)
    for i, (_, expected) in enumerate(LINES):
        assert f"{i}: {expected}" in seen.replace(f"echo {i}: ", ""), seen
    assert "Traceback" not in seen
    assert "error" not in seen


@pytest.mark.slow
def test_fish_completes_the_line(indexed: Path, tmp_path: Path, run: Run) -> None:
    """Fish says what it offers without a terminal."""
    folder = _folder("fish", indexed, tmp_path, run)
    asked = [f"complete -C '{typed}' | string split -f 1 \\t" for typed, _ in LINES]
    ran = subprocess.run(
        [_program("fish"), "--no-config", "-c", "; ".join(["source ./script", *asked])],
        cwd=folder,
        env=_environment(tmp_path),
        capture_output=True,
        text=True,
    )
    assert ran.stderr == ""
    assert ran.stdout.splitlines() == [line.rpartition(" ")[2] for _, line in LINES]


def _program(shell: str) -> str:
    program = shutil.which(shell)
    if program is None or os.name == "nt":
        pytest.skip(f"no {shell} here")
    return program


def _folder(shell: str, indexed: Path, tmp_path: Path, run: Run) -> Path:
    """A folder with an index, the script, and a program of the name `codelens`, which is on PATH."""
    folder = tmp_path / "tree"
    shutil.copytree(indexed / "notes", folder)
    assert run("index", "-q", cwd=folder).code == 0
    program = tmp_path / "bin/codelens"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m codelens "$@"\n')
    program.chmod(0o755)
    (folder / "script").write_bytes(run("--show-completion", shell).raw)
    return folder


def _environment(tmp_path: Path) -> dict[str, str]:
    path = f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}"
    return os.environ | {"PATH": path, "HOME": str(tmp_path), "TERM": "dumb", "PS1": "", "COLUMNS": "200"}


def _typed(command: list[str], lines: list[str], folder: Path, tmp_path: Path) -> str:
    """What the terminal shows while these lines are typed at a shell. It has no echo, so that only the shell writes."""
    import fcntl
    import pty
    import termios

    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        command,
        cwd=folder,
        env=_environment(tmp_path),
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
    )
    os.close(theirs)
    os.write(ours, "".join(line if line.endswith("\r") else f"{line}\r" for line in lines).encode())
    parts = []
    try:
        while part := os.read(ours, 1 << 16):
            parts.append(part)
    except OSError:  # Linux: the last writer is gone
        pass
    os.close(ours)
    process.wait()
    return b"".join(parts).decode("utf-8", "replace")
