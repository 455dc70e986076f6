"""Lines that are read without typer mean what typer makes of them."""

from __future__ import annotations

import os
import random
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from codelens.cli.arguments import read_arguments
from codelens.cli.declare import Command, bind_flags, import_object
from codelens.cli.help import ENTRY_POINTS
from codelens.cli.main import main
from codelens.cli.typed import make_typer_command
from codelens.errors import UsageError

COMMANDS = {
    name: found
    for names in ENTRY_POINTS.values()
    for name, place in names.items()
    if isinstance(found := import_object(place), Command)
}
WORDS = (
    *(
        "light",
        "-",
        "--",
        "-client",
        "-repo:x",
        "two words",
        "",
        "-il",
        "-C3",
        "-C",
        "3",
        "-tpy",
        "-t",
        "py",
        "-g*.py",
        "-5",
    ),
    *(
        "--limit=5",
        "--limit",
        "--limit=",
        "-m",
        "-m5",
        "-m=5",
        "-n",
        "-N",
        "-nN",
        "--no-line-number",
        "--json",
        "--json=1",
    ),
    *(
        "-e",
        "-efoo",
        "--regexp=-x",
        "--",
        "--db",
        "index.db",
        "--db=",
        "secret",
        "--lim",
        "--nothing",
        "-Z",
        "--min-score",
    ),
    *(
        ".5",
        "1e3",
        "1_000",
        " 7",
        "x",
        "-h",
        "--help",
        "--help-all",
        "-lh",
        "--memory",
        "--no-memory",
        "-q",
        "-v",
        "--column",
    ),
)


@cache
def make_typed(command: Command) -> tuple[Any, list[Any]]:
    """Typer's command, and where it puts the flags that it reads."""
    seen: list[Any] = []
    return make_typer_command(command._replace(run=lambda flags: seen.append(vars(flags)) or 0)), seen


def meant_by_typer(command: Command, line: list[str]) -> dict[str, Any] | None:
    """The flags, or None where typer refuses the line or prints help."""
    typed, seen = make_typed(command)
    seen.clear()
    try:
        with typed.make_context(command.name, list(line)) as context:
            context.command.invoke(context)()
    except UsageError:
        raise
    except (Exception, SystemExit):
        return None
    return seen[0] if seen else None


def meant_without(command: Command, line: list[str]) -> dict[str, Any] | None:
    seen: list[Any] = []
    values = read_arguments(command, line)
    if values is None:
        return None
    bind_flags(command._replace(run=lambda flags: seen.append(vars(flags)) or 0), values)()
    return dict(seen[0])


def outcome(read_line: Callable[[Command, list[str]], Any], command: Command, line: list[str]) -> Any:
    """The flags, None, or the text of the fault."""
    try:
        return read_line(command, line)
    except UsageError as fault:
        return str(fault)


def lines(chance: random.Random, command: Command) -> Iterator[list[str]]:
    """Each option with and without a value, and lines of words that may mean anything."""
    names = [name for base in command.flags.__mro__ for p in vars(base).values() for name in getattr(p, "names", ())]
    for name in sorted({part for one in names for part in one.split("/")}):
        yield from ([name], [name, "3"], [name, "x", "more"], [f"{name}=3"], ["a", f"{name}3", "b"], [name, name])
    for _ in range(200):
        yield chance.choices([*WORDS, *names], k=chance.randint(0, 6))


@pytest.mark.slow
@pytest.mark.parametrize("name", COMMANDS)
def test_both_readers_agree(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    """Also that a line which typer takes needs no typer."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "secret").write_text("")
    command = COMMANDS[name]
    for line in lines(random.Random(name), command):
        wanted, found = outcome(meant_by_typer, command, line), outcome(meant_without, command, line)
        if any(word == "" or ("=" in word and word.endswith("=")) for word in line):
            assert found is None or found == wanted, line
        else:
            assert found == wanted, line


def test_a_path_that_may_not_be_read_is_left_to_typer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "here").mkdir()
    assert read_arguments(COMMANDS["search"], ["word", "here"]) is not None
    monkeypatch.setattr("os.access", lambda path, mode: mode != os.R_OK)
    assert read_arguments(COMMANDS["search"], ["word", "here"]) is None


@pytest.mark.parametrize("line", [["--version"], ["help", "query"]])
def test_typer_is_not_imported(line: list[str], monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.setitem(sys.modules, "codelens.cli.typed", None)
    assert main(line) == 0
    assert capsys.readouterr().out
