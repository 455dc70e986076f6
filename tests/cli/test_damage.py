"""An index that is damaged, unfinished, or being written by somebody else."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from codelens.store.connection import hold_writer_lock
from tests.commands import Run
from tests.writable import writable
from tools.campaign import Report
from tools.faults import damage

pytestmark = pytest.mark.slow

PAGE = 4096


@pytest.mark.parametrize(
    "command", [("search", "password"), ("why", "password"), ("status",), ("symbols", "notes/auth.py")]
)
def test_damage_found_while_reading_is_reported_as_damage(command: tuple[str, ...], own: Path, run: Run) -> None:
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


def test_no_damage_is_answered_wrongly(tmp_path: Path) -> None:
    """The first files of the campaign `python -m tools.faults.damage`, which makes thousands."""
    report = Report("damaged-files")
    damage.run(24, 1, tmp_path, report)
    assert report.tried == 24
    assert report.counts["doctor --check 3"] > 12
    assert report.failures == []


def test_index_rebuilds_a_damaged_index_and_says_so(own: Path, run: Run) -> None:
    run("index", "-q", "--no-vector", cwd=own)
    index = own / ".codelens/index.db"
    memory = index.with_name("memory.db")
    memory.write_bytes(b"whatever users said")
    before = run("search", "password", cwd=own)
    whole = index.read_bytes()
    page = len(whole) // PAGE - 2
    index.write_bytes(whole[: page * PAGE] + b"\xff" * PAGE + whole[(page + 1) * PAGE :])
    ran = run("index", "--json", cwd=own)
    assert ran.code == 0
    assert '"code":"rebuilt"' in ran.out
    assert f"the first is {page + 1}; it was rebuilt" in ran.err
    assert run("search", "password", cwd=own).raw == before.raw
    assert "vectors" not in run("index", cwd=own).err, "it is what it was: an index without vectors"
    assert memory.read_bytes() == b"whatever users said"


def test_a_damaged_list_of_folders_is_reported_when_the_index_is_built_again(own: Path, run: Run) -> None:
    run("index", "-q", cwd=own)
    index = own / ".codelens/index.db"
    with writable(index) as connection:
        ((page,),) = connection.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'repositories'").fetchall()
    content = bytearray(index.read_bytes())
    content[int(page) * PAGE - 50] ^= 1
    index.write_bytes(content)
    ran = run("index", cwd=own)
    assert ran.code == 0
    assert "which others it held cannot be read" in ran.err
    assert run("search", "password", cwd=own).code == 0


def test_doctor_check_reports_damage_in_lines_and_in_json(own: Path, run: Run) -> None:
    run("index", "-q", cwd=own)
    for asked in (("--check",), ("--check", "quick"), ("--check", "full")):
        ran = run("doctor", *asked, cwd=own)
        assert (ran.code, ran.out.split()[0]) == (0, "ok")
    assert run("doctor", "full", cwd=own).code == 2
    assert run("doctor", "--check", "deep", cwd=own).code == 2
    with writable(own / ".codelens/index.db") as connection:
        connection.execute("UPDATE units SET end_line = 100000 WHERE id = 1").fetchall()
    assert run("doctor", "--check", cwd=own).code == 0
    ran = run("doctor", "--check", "full", cwd=own)
    assert (ran.code, ran.out) == (3, "broken  units: 1 lines outside their documents\n")
    assert "codelens index --rebuild" in ran.err
    checks = json.loads(run("doctor", "--check", "full", "--json", cwd=own).out)
    assert checks["exit_code"] == 3
    assert checks["checks"] == [{"state": "broken", "what": "units", "text": "1 lines outside their documents"}]
    index = own / ".codelens/index.db"
    index.write_bytes(index.read_bytes()[:-PAGE])
    assert "the file has" in run("doctor", "--check", cwd=own).out
    index.unlink()
    assert run("doctor", "--check", cwd=own).code == 3


def test_a_damaged_index_is_rebuilt_wherever_it_lies(own: Path, run: Run) -> None:
    run("index", "-q", "--db", "mine.db", cwd=own)
    index = own / "mine.db"
    index.write_bytes(index.read_bytes()[: 10 * PAGE])
    ran = run("search", "password", "--db", "mine.db", cwd=own)
    assert ran.code == 3
    assert "`codelens index --rebuild` builds it again" in ran.err
    assert run("index", "-q", "--rebuild", "--db", "mine.db", cwd=own).code == 0
    assert run("search", "password", "--db", "mine.db", cwd=own).code == 0


def test_another_program_s_file_is_not_rebuilt(own: Path, run: Run) -> None:
    ran = run("index", "--rebuild", "--db", "README.md", cwd=own)
    assert ran.code == 2
    assert (own / "README.md").read_text().startswith("#")


def test_remove_leaves_an_index_that_is_being_written(own: Path, run: Run) -> None:
    run("index", "-q", cwd=own)
    index = own / ".codelens/index.db"
    with hold_writer_lock(index):
        ran = run("index", "--remove", "--yes", cwd=own)
        assert ran.code == 5
        assert str(os.getpid()) in ran.err
        assert index.exists()
    assert run("index", "--remove", "--yes", cwd=own).code == 0
    assert not (own / ".codelens").exists()


def test_a_build_that_was_killed_is_named_and_can_be_cleaned(own: Path, run: Run) -> None:
    run("index", "-q", cwd=own)
    index = own / ".codelens/index.db"
    index.rename(index.with_name("index.db.building"))
    ran = run("search", "password", cwd=own)
    assert ran.code == 3
    assert "index.db.building was started but never finished" in ran.err
    assert run("index", "--remove", "--yes", cwd=own).code == 0
    assert not (own / ".codelens").exists()


@pytest.mark.parametrize("speech", [{"LC_ALL": "C", "PYTHONUTF8": "0"}, {"PYTHONIOENCODING": "latin-1"}])
@pytest.mark.parametrize("form", ["--json", "--jsonl", "--sarif"])
def test_json_is_utf8_whatever_the_terminal_speaks(speech: dict[str, str], form: str, own: Path, run: Run) -> None:
    (own / "menu.py").write_text('def order_café():\n    """Ein Stück Käse – 漢字."""\n', encoding="utf-8")
    run("index", "-q", cwd=own)
    command = [sys.executable, "-m", "codelens", "search", form, "café Käse"]
    out = subprocess.run(command, cwd=own, env=os.environ | speech, capture_output=True, check=True).stdout
    assert "order_café" in out.decode("utf-8")
