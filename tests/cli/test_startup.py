"""A search into a pipe pays for nothing but itself."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

HEAVY = (
    *(
        "typer",
        "rich",
        "numpy",
        "git",
        "chardet",
        "tree_sitter",
        "email",
        "asyncio",
        "multiprocessing",
        "concurrent.futures",
    ),
    *("sqlite_vec", "sqlite3", "unittest", "xml", "http.client", "pygments", "jsonschema", "logging", "ssl", "socket"),
    *(
        "codelens.indexing.run",
        "codelens.indexing.build",
        "codelens.lang.parser",
        "codelens.worktree.walk",
        "codelens.worktree.decode",
    ),
    *("codelens.render.terminal", "codelens.render.why", "codelens.cli.why", "codelens.cli.index"),
)

NOT_FOR_LINES = ("base64", "hashlib", "random", "secrets")
MODULES = 116
"""The most modules of ours that a search may import, each of which takes .3 ms or more of its CPU. Fewer are better."""

CODE = """
import sys
from codelens.cli.main import main
code = main(sys.argv[1:])
sys.stderr.write(",".join(sorted(sys.modules)))
sys.exit(code)
"""


def imported(indexed: Path, *arguments: str) -> set[str]:
    command = [sys.executable, "-c", CODE, *arguments]
    ran = subprocess.run(command, capture_output=True, text=True, cwd=indexed / "notes", check=False)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout
    return set(ran.stderr.split(","))


def test_a_search_imports_only_what_it_needs(indexed: Path) -> None:
    found = imported(indexed, "search", "verify_password")
    assert sorted(found & {*HEAVY, *NOT_FOR_LINES}) == []
    assert len([module for module in found if module.startswith("codelens")]) <= MODULES


def test_json_imports_only_what_it_needs(indexed: Path) -> None:
    assert sorted(imported(indexed, "search", "--json", "how are passwords checked") & set(HEAVY)) == []


def test_the_graph_in_a_pipe_imports_only_what_it_needs(indexed: Path) -> None:
    found = imported(indexed, "callees", "verify_password")
    assert sorted(found & {*HEAVY, "codelens.render.relations_terminal", "codelens.linking"}) == []


def test_plain_lines_do_without_other_renderers(indexed: Path) -> None:
    found = {m for m in imported(indexed, "search", "verify_password") if m.startswith("codelens.render.")}
    assert found == {
        "codelens.render.paths",
        "codelens.render.formats",
        "codelens.render.lines",
        "codelens.render.visible",
    }
