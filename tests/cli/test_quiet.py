"""--quiet silences every format of every command: the exit code alone gives the answer."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.every_command import LINES, OTHERS, list_short_commands
from tests.commands import Run

NAMES = {
    "word": "password",
    "file": "notes/auth.py",
    "used": "verify_password",
    "user": "authenticate",
    "class": "Note",
    "key": "ci",
    "title": "Slow",
    "note": "slow",
}


def test_the_tables_name_all_commands() -> None:
    assert len(list_short_commands()) > 40


def test_quiet_prints_no_result_in_any_format(own: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CODELENS_MEMORY", "1")
    assert run("index", "-q", cwd=own).out == ""
    assert run("note", "add", "Slow", "-m", "text", "--at", "notes/auth.py", cwd=own).code == 0
    for name, line in {**OTHERS, **LINES}.items():
        arguments = [part.format(**NAMES) for part in line.split()]
        for form in ([], ["--json"])[: 1 + (name in LINES)]:
            ran = run(*arguments, *form, "-q")
            shown = ran.out if name != "serve keys add" else ""  # a key is shown only once
            assert shown == "", (name, form)
            assert ("note: " not in ran.err and "hint: " not in ran.err) or ran.code > 1, (name, form, ran.err)
    assert run("serve", "keys", "add", "once", "-q").out


@pytest.mark.parametrize("name", [name for name in LINES if name not in ("snapshot diff", "serve keys revoke")])
def test_without_quiet_json_is_one_object(name: str, own: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CODELENS_MEMORY", "1")
    run("index", "-q", cwd=own)
    run("note", "add", "Slow", "-m", "text", "--at", "notes/auth.py", "-q")
    ran = run(*(part.format(**NAMES) for part in LINES[name].split()), "--json")
    assert isinstance(json.loads(ran.out), dict), ran.err
