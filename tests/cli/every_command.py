"""All commands, each with a line that prints something in a repository: for tests of what every command must do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from codelens.cli.declare import Command, collect_parameters, import_object
from codelens.cli.help import COMMANDS, find_entry_point

LINES: Mapping[str, str] = {
    "index": "index --dry-run",
    "search": "search {word}",
    "why": "why {word}",
    "symbols": "symbols {file}",
    "refs": "refs {used}",
    "callers": "callers {used}",
    "callees": "callees {user}",
    "path": "path {user} {used}",
    "impact": "impact {used}",
    "hierarchy": "hierarchy {class}",
    "map": "map",
    "files": "files {word}",
    "context": "context {word} --budget 500",
    "test-scope": "test-scope {used}",
    "status": "status",
    "serve keys add": "serve keys add {key}",
    "serve keys list": "serve keys list",
    "serve keys revoke": "serve keys revoke {key}",
    "note add": "note add {title} -m text --at {file}",
    "note list": "note list",
    "note show": "note show {note}",
    "note edit": "note edit {note} --tag seen",
    "memory show": "memory show",
    "snapshot list": "snapshot list",
    "snapshot diff": "snapshot diff 1",
    "graph traces": "graph traces",
    "model info": "model info codelens",
    "model list": "model list",
    "config": "config",
    "doctor": "doctor",
}
"""Command with --json → its line, with the names of a repository in braces."""
OTHERS: Mapping[str, str] = {
    "graph export": "graph export",
    "memory pin": "memory pin {used}",
    "memory rate": "memory rate {used} 7",
    "memory used": "memory used {file}",
    "memory unpin": "memory unpin {used}",
    "memory export": "memory export",
    "memory feedback": "memory feedback 1 useful",
    "memory forget": "memory forget --all --yes",
    "hooks install": "hooks install",
    "hooks status": "hooks status",
    "hooks run": "hooks run",
    "hooks remove": "hooks remove",
    "install": "install cursor --print",
    "note remove": "note remove {note}",
}
"""Command without --json → its line."""
LONG = {
    *("eval", "eval make-tasks", "eval tune", "eval compare", "eval ablate"),
    *("model train", "model eval", "model use", "watch", "serve", "mcp", "lsp", "help"),
}
"""Commands that take minutes, serve until they are ended, change the user's settings, or print constant text."""


def list_commands() -> dict[str, Command]:
    """Map the name of each command to it; those of a group have its name before theirs."""

    def walk(name: str, place: Any) -> Iterator[tuple[str, Command]]:
        found = import_object(place) if isinstance(place, str) else place
        if isinstance(found, Command):
            yield name, found
            return
        if found.alone:
            yield name, found.alone
        for member, inner in found.commands.items():
            yield from walk(f"{name} {member}", inner)

    names = [name for group in COMMANDS.values() for name in group]
    return {name: command for first in names for name, command in walk(first, find_entry_point(first))}


def has_json(command: Command) -> bool:
    return "json" in collect_parameters(command.flags)


def list_short_commands() -> dict[str, Command]:
    """The commands of the two tables, which must be all but the long ones and those of fleets."""
    commands = list_commands()
    short = {name: found for name, found in commands.items() if name not in LONG and not name.startswith("cluster ")}
    assert short.keys() == LINES.keys() | OTHERS.keys()
    assert {name for name in short if has_json(short[name])} == LINES.keys()
    return short
