"""The paths of a query and of a file in ARCHITECTURE.md are those that calls take."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType

import apsw
import pytest

from codelens.cli.main import main
from codelens.config import Settings
from codelens.indexing.derive import Job
from codelens.indexing.workers import derive_file
from tests.indexing.test_large import seen_file

ROOT = Path(__file__).parents[1]


def path_in_page(heading: str) -> list[str]:
    """The lines `module function` of the first code block below a heading."""
    page = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    block = re.search(rf"^### {heading}\n\n.+\n\n((?:    .+\n)+)", page, re.MULTILINE)
    assert block, heading
    return [" ".join(line.split()[:2]) for line in block[1].splitlines()]


def stack_of(frame: FrameType | None) -> list[str]:
    """Functions of the package that are running, outermost first; comprehensions belong to the function around them."""
    stack: list[str] = []
    while frame:
        module = Path(frame.f_code.co_filename)
        if ROOT / "codelens" in module.parents and "<" not in frame.f_code.co_qualname:
            stack.append(f"{module.relative_to(ROOT)} {frame.f_code.co_qualname}")
        frame = frame.f_back
    return stack[::-1]


def stacks_at_statements(run: Callable[[], object]) -> list[list[str]]:
    """The stack at each statement that SQLite executes."""
    stacks: list[list[str]] = []

    def trace(cursor: apsw.Cursor, sql: str, values: object) -> bool:
        stacks.append(stack_of(sys._getframe(1)))
        return True

    def hook(connection: apsw.Connection) -> None:
        connection.exec_trace = trace

    apsw.connection_hooks.append(hook)
    try:
        run()
    finally:
        apsw.connection_hooks.remove(hook)
    return stacks


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "basket.py").write_text("def total(prices):\n    return sum(prices)\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_query_goes_from_the_command_to_sql_as_described(tree: Path) -> None:
    main(["index", "--quiet"])
    assert path_in_page("The path of a query") in stacks_at_statements(lambda: main(["search", "total prices"]))


def test_a_file_goes_from_the_command_to_the_parser_and_to_sql_as_described(tree: Path) -> None:
    stacks = stacks_at_statements(lambda: main(["index", "--quiet"]))
    assert path_in_page("The path of a file") in stacks


def test_a_worker_goes_from_a_job_to_the_grammar_as_described(tree: Path) -> None:
    stacks: list[list[str]] = []

    def profile(frame: FrameType, event: str, argument: object) -> None:
        if event == "c_call" and getattr(argument, "__qualname__", "") == "Parser.parse":
            stacks.append(stack_of(frame))

    sys.setprofile(profile)
    try:
        derive_file(Job(str(tree), seen_file(tree, "basket.py")), Settings(), None)
    finally:
        sys.setprofile(None)
    assert path_in_page("The path of a file in a worker") in stacks
