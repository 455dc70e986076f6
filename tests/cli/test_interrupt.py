"""Ctrl-C at the start: from the first import of ours on, it ends the command with 130 and no traceback."""

from __future__ import annotations

import signal
import subprocess
import sys
import sysconfig
import time
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "codelens"
INTERRUPTING = """
import os, signal, sys

class Interrupting:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Interrupting())
sys.argv = ["codelens", "search", "--help"]
from codelens.__main__ import run
run()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="SIGINT is another thing there")
@pytest.mark.parametrize(
    "module", ["codelens.cli", "codelens.cli.main", "typer", "codelens.errors", "codelens.cli.search"]
)
def test_an_interrupt_of_any_import_leaves_no_traceback(module: str, tmp_path: Path) -> None:
    ran = subprocess.run(
        [sys.executable, "-c", INTERRUPTING.format(module=module)],
        capture_output=True,
        text=True,
        env={"PYTHONPATH": str(PACKAGE.parent)},
        cwd=tmp_path,
    )
    assert ran.returncode == 130
    assert ran.stderr in ("", "codelens: interrupted\n")


@pytest.mark.skipif(sys.platform == "win32", reason="SIGINT is another thing there")
def test_interrupts_that_the_parent_ignores_stay_ignored(tmp_path: Path) -> None:
    ran = subprocess.run(
        ["sh", "-c", 'trap "" INT; exec "$0" "$@"', sys.executable, "-c", INTERRUPTING.format(module="codelens.cli")],
        capture_output=True,
        text=True,
        env={"PYTHONPATH": str(PACKAGE.parent)},
        cwd=tmp_path,
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    assert "Usage: codelens search" in ran.stdout


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="SIGINT is another thing there")
@pytest.mark.parametrize("milliseconds", range(0, 240, 20))
def test_an_interrupt_at_any_moment_shows_none_of_our_code(milliseconds: int, tmp_path: Path) -> None:
    """Python itself says what it likes before it runs us: then the exit code is its own, and no frame is ours."""
    script = Path(sysconfig.get_path("scripts")) / "codelens"
    process = subprocess.Popen(
        [sys.executable, str(script), "help", "query"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=tmp_path
    )
    time.sleep(milliseconds / 1000)
    process.send_signal(signal.SIGINT)
    err = process.communicate()[1].decode()
    frames = [line for line in err.splitlines() if str(PACKAGE) in line]
    assert not [line for line in frames if "__main__.py" not in line]
    assert "Traceback" in err or process.returncode in (0, 130, -signal.SIGINT)
