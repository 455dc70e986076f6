"""Arguments without a fault → the values of a command's flags, as typer would fill them.

Returns None for all else: help, an option that is not there, a value that is missing or of the wrong type. Typer reads such lines
then, and says what is wrong. It would take 47 ms more than this of the 190 ms of CPU that a search takes.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import UnionType
from typing import Any, NamedTuple, get_args, get_origin, get_type_hints

from codelens.cli.dashes import Spellings, marked
from codelens.cli.declare import Command, parameters_of

HELP = ("-h", "--help", "--help-all")  # Typer's own options, and that of a command whose help is brief
Convert = Callable[[str], Any]


class NotWellFormed(Exception):
    """The line has a fault, or asks for help."""


class Slot(NamedTuple):
    """An option or argument of a command, by the type of its field."""

    field: str
    convert: Convert | None  # Text → value; None for a flag without a value
    many: bool
    flag: bool = True  # The value of a flag


Values = dict[str, list[tuple[Slot, str | None]]]  # Field → its texts in order; a flag has none


def read(command: Command, arguments: Sequence[str]) -> dict[str, Any] | None:
    """Field of the command's flags → value. Raises UsageError for options of other tools, where the command takes a query."""
    slots = _CommandSlots(command)
    values: Values = {}
    try:
        _take_positional(_take_options(slots.mark(arguments), slots.options, values), slots.positional, values)
        converted = {field: _convert(texts) for field, texts in values.items() if texts}
    except (NotWellFormed, ValueError):
        return None
    return {field: parameter.default for field, parameter in slots.parameters.items()} | converted


def mark_queries(command: Command, arguments: Sequence[str]) -> Sequence[str]:
    """The arguments, with a mark before queries that begin with a dash. Raises UsageError as `read` does."""
    return _CommandSlots(command).mark(arguments)


class _CommandSlots:
    """The options of a command by name, and its positional arguments in order."""

    def __init__(self, command: Command) -> None:
        self.options: dict[str, Slot] = {}
        self.positional: list[Slot] = []
        self.parameters = parameters_of(command.flags)
        self._help = HELP if command.brief else HELP[:2]
        for field, hint in get_type_hints(command.flags).items():
            kind, many = _kind(hint)
            names = self.parameters[field].names
            if not names:
                self.positional.append(Slot(field, CONVERTERS[kind], many))
            for name in names:
                on, _, off = name.partition("/")
                self.options[on] = Slot(field, CONVERTERS[kind], many)
                if off:
                    self.options[off] = Slot(field, None, many, flag=False)

    def mark(self, arguments: Sequence[str]) -> Sequence[str]:
        """The arguments, with a mark before queries that begin with a dash, if the command takes a query."""
        if "query" not in self.parameters:
            return arguments
        letters = {name[1] for name, slot in self.options.items() if len(name) == 2 and slot.convert is None}
        values = {
            name if len(name) > 2 else name[1]: slot.convert is int
            for name, slot in self.options.items()
            if slot.convert
        }
        return list(marked(arguments, Spellings({*letters, HELP[0][1]}, values, {*self.options, *self._help})))


def _kind(hint: Any) -> tuple[Any, bool]:
    """The type of one value, and whether there may be several. None says what is not there."""
    if isinstance(hint, UnionType):
        (hint,) = (part for part in get_args(hint) if part is not type(None))
    many = get_origin(hint) is list
    return (get_args(hint)[0] if many else hint), many


def _readable(text: str) -> Path:
    """A path; typer refuses one that may not be read."""
    if not text or "\0" in text or (os.access(text, os.F_OK) and not os.access(text, os.R_OK)):
        raise NotWellFormed
    return Path(text)


CONVERTERS: Mapping[Any, Convert | None] = {bool: None, str: str, int: int, float: float, Path: _readable}


def _take_options(arguments: Sequence[str], options: Mapping[str, Slot], values: Values) -> list[str]:
    """Collect the values of options; returns the other arguments."""
    left, rest = list(reversed(arguments)), list[str]()
    while left:
        argument = left.pop()
        if argument == "--":
            return rest + left[::-1]
        if argument.startswith("--"):
            name, equals, value = argument.partition("=")
            _take(options.get(name), value if equals else None, left, values)
        elif argument.startswith("-") and len(argument) > 1:
            for at, letter in enumerate(argument[1:], start=2):
                slot = options.get(f"-{letter}")
                inline = argument[at:] if slot and slot.convert else ""
                _take(slot, inline or None, left, values)
                if slot and slot.convert:
                    break
        else:
            rest.append(argument)
    return rest


def _take(slot: Slot | None, value: str | None, left: list[str], values: Values) -> None:
    """One option, with the value behind it or else the next argument."""
    if slot is None or (slot.convert is None and value is not None):
        raise NotWellFormed
    if slot.convert and value is None:
        if not left:
            raise NotWellFormed
        value = left.pop()
    values.setdefault(slot.field, []).append((slot, value))


def _take_positional(rest: Sequence[str], positional: Sequence[Slot], values: Values) -> None:
    left = list(rest)
    for slot in positional:
        many = len(left) if slot.many else 1
        values[slot.field] = [(slot, text) for text in left[:many]]
        del left[:many]
    if left:
        raise NotWellFormed


def _convert(found: Sequence[tuple[Slot, str | None]]) -> Any:
    """All values, or the last one. Raises ValueError for text that is not a number."""
    kept = found if found[-1][0].many else found[-1:]
    values = [slot.convert(text) if slot.convert and text is not None else slot.flag for slot, text in kept]
    return values if found[-1][0].many else values[-1]
