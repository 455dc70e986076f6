"""Tab completion: the script that a shell reads, and the answers to typed text."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.commands import Run

CHECK = {"bash": "-n", "zsh": "-n", "fish": "--no-execute"}
"""The flag with which a shell reads a script and runs nothing of it."""


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish", "powershell"])
def test_a_script_asks_codelens(shell: str, run: Run) -> None:
    ran = run("--show-completion", shell)
    assert (ran.code, ran.err) == (0, "")
    assert "_CODELENS_COMPLETE" in ran.out
    assert f"complete_{shell}" in ran.out


@pytest.mark.parametrize("shell", CHECK)
def test_the_shell_reads_its_script(shell: str, run: Run, tmp_path: Path) -> None:
    program = shutil.which(shell)
    if program is None or os.name == "nt":
        pytest.skip(f"no {shell} here")
    script = tmp_path / "script"
    script.write_bytes(run("--show-completion", shell).raw)
    ran = subprocess.run([program, CHECK[shell], str(script)], capture_output=True, text=True)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("codelens sy", ["symbols"]),
        ("codelens co", ["context", "config"]),
        ("codelens search --rr", ["--rrf-k"]),
        ("codelens index --no-", ["--no-config", "--no-fuzzy", "--no-ignore", "--no-vector"]),
        ("codelens frob", []),
    ],
)
def test_what_is_offered(typed: str, offered: list[str], tmp_path: Path) -> None:
    """Asked as the script of bash asks."""
    asked = {"COMP_WORDS": typed, "COMP_CWORD": str(typed.count(" ")), "_CODELENS_COMPLETE": "complete_bash"}
    ran = subprocess.run(
        [sys.executable, "-m", "codelens"], env=os.environ | asked, cwd=tmp_path, capture_output=True, text=True
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    assert sorted(ran.stdout.split()) == sorted(offered)


@pytest.mark.skipif(os.name == "nt" or shutil.which("bash") is None, reason="needs bash")
def test_bash_completes_with_its_script(run: Run, tmp_path: Path) -> None:
    """The function of the script, called as bash does after a tab."""
    program = tmp_path / "codelens"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m codelens "$@"\n')
    program.chmod(0o755)
    lines = [
        run("--show-completion", "bash").out,
        "COMP_WORDS=(codelens search --hyper) COMP_CWORD=2",
        f"_codelens_completion {program}",
        'printf "%s\\n" "${COMPREPLY[@]}"',
    ]
    ran = subprocess.run(["bash", "-c", "\n".join(lines)], cwd=tmp_path, capture_output=True, text=True)
    assert (ran.stdout, ran.stderr) == ("--hyperlink-format\n", "")
