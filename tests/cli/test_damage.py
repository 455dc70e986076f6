"""An index that is damaged, unfinished, or being written by somebody else."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from codelens.store.connection import writer_lock

from .conftest import Run

PAGE = 4096


@pytest.mark.parametrize(
    "command", [("search", "password"), ("why", "password"), ("status",), ("symbols", "notes/auth.py")]
)
def test_damage_met_while_reading_is_called_damage(command: tuple[str, ...], own: Path, run: Run) -> None:
    run("index", "-q", cwd=own)
    index = own / ".codelens/index.db"
    whole = index.read_bytes()
    codes = set()
    for page in range(1, len(whole) // PAGE, 3):
        index.write_bytes(whole[: page * PAGE] + b"\xff" * PAGE + whole[(page + 1) * PAGE :])
        ran = run(*command, cwd=own)
        codes.add(ran.code)
        if ran.code == 3:
            assert "malformed" in ran.err or "damaged" in ran.err
            assert "--rebuild" in ran.err
    assert 3 in codes
    assert codes <= {0, 1, 3}, "an answer from whole pages, or the fault by its name"


def test_a_damaged_index_is_rebuilt_wherever_it_lies(own: Path, run: Run) -> None:
    run("index", "-q", "--db", "mine.db", cwd=own)
    index = own / "mine.db"
    index.write_bytes(index.read_bytes()[: 10 * PAGE])
    ran = run("search", "password", "--db", "mine.db", cwd=own)
    assert ran.code == 3
    assert "`codelens index --rebuild` makes it anew" in ran.err
    assert run("index", "-q", "--rebuild", "--db", "mine.db", cwd=own).code == 0
    assert run("search", "password", "--db", "mine.db", cwd=own).code == 0


def test_another_program_s_file_is_not_rebuilt(own: Path, run: Run) -> None:
    ran = run("index", "--rebuild", "--db", "README.md", cwd=own)
    assert ran.code == 2
    assert (own / "README.md").read_text().startswith("#")


def test_clean_leaves_an_index_that_is_being_written(own: Path, run: Run) -> None:
    run("index", "-q", cwd=own)
    index = own / ".codelens/index.db"
    with writer_lock(index):
        ran = run("clean", "--yes", cwd=own)
        assert ran.code == 5
        assert str(os.getpid()) in ran.err
        assert index.exists()
    assert run("clean", "--yes", cwd=own).code == 0
    assert not (own / ".codelens").exists()


def test_a_build_that_was_killed_is_named_and_can_be_cleaned(own: Path, run: Run) -> None:
    run("index", "-q", cwd=own)
    index = own / ".codelens/index.db"
    index.rename(index.with_name("index.db.building"))
    ran = run("search", "password", cwd=own)
    assert ran.code == 3
    assert "index.db.building was begun and never finished" in ran.err
    assert run("clean", "--yes", cwd=own).code == 0
    assert not (own / ".codelens").exists()


@pytest.mark.parametrize("speech", [{"LC_ALL": "C", "PYTHONUTF8": "0"}, {"PYTHONIOENCODING": "latin-1"}])
@pytest.mark.parametrize("form", ["--json", "--jsonl", "--sarif"])
def test_json_is_utf8_whatever_the_terminal_speaks(speech: dict[str, str], form: str, own: Path, run: Run) -> None:
    (own / "menu.py").write_text('def order_café():\n    """Ein Stück Käse – 漢字."""\n', encoding="utf-8")
    run("index", "-q", cwd=own)
    command = [sys.executable, "-m", "codelens", "search", form, "café Käse"]
    out = subprocess.run(command, cwd=own, env=os.environ | speech, capture_output=True, check=True).stdout
    assert "order_café" in out.decode("utf-8")
