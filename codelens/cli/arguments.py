"""Reads well-formed command lines: arguments → the values of a command's flags, as typer would fill them.

Returns None for all others: help, an unknown option, a value that is missing or of the wrong type. Typer reads those
and reports what is wrong. Typer would add 47 ms to the 190 ms of CPU that a search takes.

Before that, queries that begin with a dash, such as `-client` and `-repo:x`, are marked, and ripgrep's options are
refused or replaced. A word after a dash is a query unless it is a valid cluster of short options, as `-il`, `-C3` or `-tpy` are.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import UnionType
from typing import Any, NamedTuple, get_args, get_origin

from codelens.cli.declare import MARK, Command, collect_parameters
from codelens.errors import UsageError

WHEN_INDEXING = "what is hidden, ignored or binary is decided when indexing"
ELSEWHERE: Mapping[str, tuple[str, str]] = {
    "--hidden": (WHEN_INDEXING, "--hidden belongs to `codelens index`"),
    "-.": (WHEN_INDEXING, "`codelens index --hidden` takes hidden files in"),
    "--no-ignore": (WHEN_INDEXING, "--no-ignore belongs to `codelens index`"),
    "-u": (WHEN_INDEXING, "`codelens index --no-ignore`; for -uu add --hidden"),
    "--unrestricted": (WHEN_INDEXING, "`codelens index --no-ignore --hidden`"),
    "-a": (WHEN_INDEXING, "binary files are not indexed: `codelens status --skipped` lists them"),
    "--text": (WHEN_INDEXING, "binary files are not indexed: `codelens status --skipped` lists them"),
    "-z": (WHEN_INDEXING, "compressed files are not indexed"),
    "--follow": ("links are not followed", "their targets are indexed under their own path"),
    "--replace": ("a search replaces nothing", "pipe it: codelens search … | sed 's/OLD/NEW/'"),
    "--max-depth": ("there is no limit of depth", "a glob says it: -g '/*' or -g '/*/*'"),
    "-d": ("there is no limit of depth", "a glob says it: -g '/*' or -g '/*/*'"),
    "--max-count": ("-m limits the whole answer, not each file", "-m N; or use rg --max-count"),
    "--count-matches": ("there is no --count-matches", "-c -o counts matches"),
    "-U": ("-U is not needed", r"--regex 'a\nb' and (?s:.) match across lines"),
    "--multiline": ("--multiline is not needed", r"--regex 'a\nb' and (?s:.) match across lines"),
    "--pcre2": ("there is one kind of pattern", "--regex (-P) knows look-around and back-references"),
    "--encoding": ("a file's encoding is detected when it is indexed", "leave --encoding out"),
    "--type-add": ("file types are languages", "-g '*.EXT' chooses by ending; --type-list lists the languages"),
    "-j": ("a search runs in one thread", "leave -j out"),
    "--threads": ("a search runs in one thread", "leave --threads out"),
    "--sortr": ("there is no --sortr", "--sort path --reverse"),
}
"""Option of ripgrep or grep → the message that refuses it, and a hint to what codelens has instead."""
EQUIVALENT: Mapping[str, Callable[[str], Sequence[str]]] = {
    "--include": lambda glob: ("-g", glob),
    "--exclude": lambda glob: ("-g", f"!{glob}"),
    "--exclude-dir": lambda glob: ("-g", f"!{glob.rstrip('/')}/"),
    "--iglob": lambda glob: ("-g", ignore_glob_case(glob)),
    "--colour": lambda when: ("--color", when),
}
"""Option of ripgrep or grep with a value → the function that makes codelens's arguments from the value."""
_LETTER = re.compile(r"\[[^]]*]|[^\W\d_]")
_NEGATED = re.compile(r'-(?:[^\W\d]\w|_|["`/(])')
_FILTERED = re.compile(r"-(?:[A-Za-z][A-Za-z_-]+|[rf]):")


class NotWellFormed(Exception):
    """The command line has a fault, or asks for help."""


class Slot(NamedTuple):
    """An option or argument of a command."""

    field: str
    convert: Callable[[str], Any] | None  # Text → value of the field's type; None for a flag without a value
    many: bool  # True if the field is a list
    flag: bool = True  # Value of a flag that is given


def read_arguments(command: Command, arguments: Sequence[str]) -> dict[str, Any] | None:
    """Read the arguments: field of the command's flags → value. If it takes a query, raises UsageError for other tools' options."""
    slots = _CommandSlots(command)
    values = {field: parameter.default for field, parameter in slots.parameters.items()}
    texts: dict[str, list[tuple[Slot, str | None]]] = {}  # Field → its texts in order; None for a flag
    marked = list(slots.mark_queries(arguments))
    try:
        for slot, text in slots.read_texts(iter(marked)):
            texts.setdefault(slot.field, []).append((slot, text))
        for field, taken in texts.items():
            many = taken[0][0].many
            converted = [
                slot.convert(text) if slot.convert and text is not None else slot.flag
                for slot, text in (taken if many else taken[-1:])
            ]
            values[field] = converted if many else converted[0]
    except (NotWellFormed, ValueError):
        return None
    return values


def mark_queries(command: Command, arguments: Sequence[str]) -> list[str]:
    """Put a mark before queries that begin with a dash. Raises UsageError as `read_arguments` does."""
    return list(_CommandSlots(command).mark_queries(arguments))


class _CommandSlots:
    """The options of a command by name, and its positional arguments in order."""

    def __init__(self, command: Command) -> None:
        self.options: dict[str, Slot] = {}
        self.positional: list[Slot] = []
        self.parameters = collect_parameters(command.flags)
        for field, parameter in self.parameters.items():
            hint = parameter.type
            if isinstance(hint, UnionType):  # None stands for an option that is not given
                (hint,) = (part for part in get_args(hint) if part is not type(None))
            many = get_origin(hint) is list
            convert = CONVERTERS[get_args(hint)[0] if many else hint]
            for name in parameter.names:
                on, _, off = name.partition("/")
                self.options[on] = Slot(field, convert, many)
                if off:
                    self.options[off] = Slot(field, None, many, flag=False)
            if not parameter.names:
                self.positional.append(Slot(field, convert, many))

    def mark_queries(self, arguments: Sequence[str]) -> Iterator[str]:
        """Put MARK before queries that begin with a dash, if the command takes a query. Raises UsageError for
        options in ELSEWHERE."""
        rest = iter(arguments)
        for argument in rest if "query" in self.parameters else ():
            name, equals, value = argument.partition("=")
            takes_next = False
            if argument == "--":
                yield argument
                break
            if name in EQUIVALENT and "-g" in self.options:
                if not (value := value if equals else next(rest, "")):
                    raise UsageError(f"{name} needs a value", f"as in {name}=VALUE")
                yield from EQUIVALENT[name](value)
                continue
            if argument.startswith("--"):
                self._refuse_foreign(name)
                takes_next = self._takes_value(argument)
            elif argument[0:1] == "-" and len(argument) > 1:
                is_cluster, takes_next = self._read_cluster(argument)
                argument = argument if is_cluster else MARK + argument
            yield argument
            if takes_next and (following := next(rest, None)) is not None:
                yield following
        yield from rest

    def _takes_value(self, name: str) -> bool:
        return name in self.options and self.options[name].convert is not None

    def _refuse_foreign(self, name: str) -> None:
        if name in ELSEWHERE and name not in self.options:
            raise UsageError(f"{name}: {ELSEWHERE[name][0]}", ELSEWHERE[name][1])

    def _read_cluster(self, argument: str) -> tuple[bool, bool]:
        """Tell if a word after one dash consists of options, and if the last of them takes the next argument."""
        if _FILTERED.match(argument):
            return False, False
        if not _NEGATED.match(argument):
            self._refuse_foreign(argument)
            return True, self._takes_value(argument)
        foreign = ""
        for at, letter in enumerate(argument[1:], start=1):
            slot = self.options.get(f"-{letter}")
            if slot and slot.convert:
                value = argument[at + 1 :]
                fits = value.isdecimal() if slot.convert is int else at == 1 and _is_value(letter, value)
                self._refuse_foreign(foreign if fits or not value else "")
                return not value or fits, not value
            if not slot and letter != "h":  # of --help
                if f"-{letter}" not in ELSEWHERE:
                    return False, False
                foreign = foreign or f"-{letter}"
        self._refuse_foreign(foreign)
        return True, False

    def read_texts(self, arguments: Iterator[str]) -> Iterator[tuple[Slot, str | None]]:
        """Yield each option or positional argument with its text. Raises NotWellFormed."""
        positional: list[str] = []
        for argument in arguments:
            if argument == "--":
                positional += arguments
            elif argument.startswith("--"):
                name, equals, value = argument.partition("=")
                yield self._read_option(name, value if equals else None, arguments)
            elif argument.startswith("-") and len(argument) > 1:
                for at, letter in enumerate(argument[1:], start=2):
                    name = f"-{letter}"
                    inline = argument[at:] if self._takes_value(name) else ""
                    yield self._read_option(name, inline or None, arguments)
                    if self._takes_value(name):
                        break
            else:
                positional.append(argument)
        for slot in self.positional:
            count = len(positional) if slot.many else 1
            yield from ((slot, text) for text in positional[:count])
            del positional[:count]
        if positional:
            raise NotWellFormed

    def _read_option(self, name: str, value: str | None, rest: Iterator[str]) -> tuple[Slot, str | None]:
        """Pair an option with the value attached to it, else with the next argument."""
        slot = self.options.get(name)
        if slot is None or (slot.convert is None and value is not None):
            raise NotWellFormed
        if slot.convert and value is None and (value := next(rest, None)) is None:
            raise NotWellFormed
        return slot, value


def _parse_path(text: str) -> Path:
    """Convert text to a path. Raises NotWellFormed if it may not be read."""
    if not text or "\0" in text or (os.access(text, os.F_OK) and not os.access(text, os.R_OK)):
        raise NotWellFormed
    return Path(text)


CONVERTERS: Mapping[Any, Callable[[str], Any] | None] = {
    bool: None,
    str: str,
    int: int,
    float: float,
    Path: _parse_path,
}


def ignore_glob_case(glob: str) -> str:
    """Make a glob ignore letter case, by a set for each letter: a → [aA]."""
    return _LETTER.sub(
        lambda found: f"[{found[0].lower()}{found[0].upper()}]" if len(found[0]) == 1 else found[0], glob
    )


def _is_value(letter: str, value: str) -> bool:
    """True if the value may follow the option's letter without a space: -tpy, -g'*.py', -efoo."""
    if letter in "tT":
        from codelens.lang.registry import map_accepted_names

        return value.lower() in map_accepted_names()
    return letter == "e" or not any(map(str.isspace, value))
