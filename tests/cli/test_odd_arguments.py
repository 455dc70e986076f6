"""Names that are not UTF-8 as arguments: every command takes them, or refuses them with one clear line."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from tests.cli.every_command import LINES, LONG, OTHERS, list_commands
from tests.commands import Run

if sys.platform in ("win32", "darwin"):
    pytest.skip("names there are Unicode", allow_module_level=True)

ODD = os.fsdecode(b"caf\xe9")
FILE = f"{ODD}/{ODD}.py"
NAMES = (FILE, ODD, f"../{ODD}", f"{FILE}:1", f"no{ODD}", "\udcff")
WITH_NAMES = (
    *("search {}", "search -e x {}", "search x -f {}", "search x --db {}", "search x --metadata {}", "search -g {} x"),
    *("search x --format {}", "search --like {}", "search --open 1 {}", "files {}", "files x {}", "why x {}"),
    *(
        "why x --below {}",
        "context {}",
        "context --files {}",
        "context --diff {}",
        "context --pr {}",
        "context --more {}",
    ),
    *(
        "symbols {}",
        "symbols {} --ctags",
        "symbols {} --json",
        "symbols {} --blame",
        "refs {}",
        "refs x {}",
        "callers {}",
    ),
    *(
        "callees {}",
        "path {} one",
        "path one {}",
        "impact {}",
        "impact --diff {}",
        "hierarchy {}",
        "map {}",
        "test-scope {}",
    ),
    *(
        "test-scope --diff {}",
        "graph export {}",
        "graph traces {}",
        "snapshot diff {}",
        "note add {} -m x",
        "note add x -m {}",
    ),
    *("note add x -m y --at {}", "note add x -m y --tag {}", "note show {}", "note edit {} --tag x", "note remove {}"),
    *("note list {}", "note list --at {}", "memory show {}", "memory pin {}", "memory unpin {}", "memory rate {} 1"),
    *("memory used {}", "memory used --diff {}", "memory forget {} --yes", "memory feedback {} useful", "config {}"),
    *("memory feedback 1 useful --query {}", "model info {}", "model use {}", "doctor --check --db {}", "doctor {}"),
    *(
        "index {}",
        "index --explain-path {}",
        "index --from {}",
        "index --db {}.db",
        "status --db {}",
        "hooks install --db {}",
    ),
    *(
        "install cursor --print --db {}",
        "install {}",
        "install codex --yes --db {}",
        "serve keys add {}",
        "help {}",
        "{}",
    ),
    *(
        "serve keys add x --repo {}",
        "serve keys revoke {}",
        "eval {}",
        "eval --topics {} --qrels x",
        "eval make-tasks --repo {}",
    ),
    *(
        "eval compare {} {}",
        "cluster index {} --store s",
        "cluster status --store {}",
        "mcp {}",
    ),
    *(
        "watch {}",
        "model train {}",
        "model eval {}",
        "--show-completion {}",
        "search x --allow-network {}",
        "lsp --db {}",
    ),
)
"""Commands with an argument that a user may name freely, in braces."""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    folder = tmp_path / os.fsdecode(b"tr\xe9e")
    (folder / ODD).mkdir(parents=True)
    (folder / FILE).write_text("def one():\n    return two()\n\n\ndef two():\n    return 1\n")
    return folder


def test_every_command_with_free_arguments_is_tried() -> None:
    tried = {line.partition(" ")[0] for line in WITH_NAMES} | {"serve", "hooks"}
    assert {name.partition(" ")[0] for name in list_commands()} <= tried | {"status", "snapshot", "note", "memory"}
    assert LINES and OTHERS and LONG


@pytest.mark.parametrize("line", WITH_NAMES)
def test_it_is_taken_or_refused(line: str, place: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CODELENS_MEMORY", "1")
    monkeypatch.setenv("HOME", str(place.parent))
    monkeypatch.chdir(place)
    assert run("index", "-q").code == 0
    starts_server = line.partition(" ")[0] in ("mcp", "watch", "lsp")
    for name in (f"no{ODD}", "\udcff") if starts_server else NAMES:
        if starts_server and line.startswith("lsp"):
            continue
        arguments = [part.format(name, name) for part in line.split(" ")]
        ran = run(*arguments)
        case = (arguments, ran.code, ran.err)
        assert ran.code in (0, 1, 2, 3, 5, 7), case
        if "this is not UTF-8" not in ran.err:
            assert "see where it happened" not in ran.err, case
        assert "Traceback" not in ran.err, case
        if ran.code > 1 and not line.startswith("doctor"):
            assert ran.err.startswith("codelens: error: ") or "codelens: error: " in ran.err, case


def test_a_name_in_the_repository_is_found_by_its_bytes(place: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(place)
    assert run("index", "-q").code == 0
    for line in (
        f"symbols {FILE}",
        f"search one {FILE}",
        f"search one {ODD}",
        f"files one {ODD}",
        f"refs two {FILE}",
        f"map {ODD}",
    ):
        ran = run(*line.split(" "))
        assert (ran.code, bool(ran.out), "error" in ran.err) == (0, True, False), line
