"""Arguments without a fault → the values of a command's flags, as typer would fill them.

Returns None for all else: help, an option that is not there, a value that is missing or of the wrong type. Typer reads such lines
then, and says what is wrong. Importing it takes 40 ms.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import UnionType
from typing import Any, NamedTuple, get_args, get_origin, get_type_hints

from codelens.cli.dashes import Options, marked
from codelens.cli.declare import Command, Parameter

HELP = ("-h", "--help", "--help-all")  # Typer's own options, and that of a command whose help is brief
Convert = Callable[[str], Any]


class Unusual(Exception):
    """The line has a fault, or asks for help."""


class Taken(NamedTuple):
    """An option or argument of a command, by the type of its field."""

    field: str
    convert: Convert | None  # Text → value; None for a flag without a value
    many: bool
    flag: bool = True  # The value of a flag


Given = dict[str, list[tuple[Taken, str | None]]]  # Field → what the line says of it, in order; a flag has no text


def read(command: Command, arguments: Sequence[str]) -> dict[str, Any] | None:
    """Field of the command's flags → value. Raises UsageError for options of other tools, where the command takes a query."""
    hints = get_type_hints(command.flags)
    declared: Mapping[str, Parameter] = {field: getattr(command.flags, field) for field in hints}
    try:
        options, positional = _table(hints, declared)
    except Unusual:
        return None
    if "query" in declared:
        arguments = list(marked(arguments, _shapes(options, command)))
    given: Given = {}
    try:
        _take_positional(_take_options(arguments, options, given), positional, given)
        values = {field: _converted(found) for field, found in given.items() if found}
    except (Unusual, ValueError):
        return None
    return {field: parameter.default for field, parameter in declared.items()} | values


def _table(hints: Mapping[str, Any], declared: Mapping[str, Parameter]) -> tuple[dict[str, Taken], list[Taken]]:
    """Options by name, and positional arguments in order."""
    options, positional = dict[str, Taken](), list[Taken]()
    for field, parameter in declared.items():
        kind, many = _kind(hints[field])
        if not set(parameter.more) <= {"hidden"}:
            raise Unusual
        if not parameter.names:
            positional.append(Taken(field, CONVERTERS[kind], many))
        for name in parameter.names:
            on, _, off = name.partition("/")
            options[on] = Taken(field, CONVERTERS[kind], many)
            if off:
                options[off] = Taken(field, None, many, flag=False)
    return options, positional


def _kind(hint: Any) -> tuple[Any, bool]:
    """The type of one value, and whether there may be several. None says what is not there."""
    if isinstance(hint, UnionType):
        (hint,) = (part for part in get_args(hint) if part is not type(None))
    many = get_origin(hint) is list
    kind = get_args(hint)[0] if many else hint
    if kind not in CONVERTERS:
        raise Unusual
    return kind, many


def _readable(text: str) -> Path:
    """A path; typer refuses one that may not be read."""
    if not text or "\0" in text or (os.access(text, os.F_OK) and not os.access(text, os.R_OK)):
        raise Unusual
    return Path(text)


CONVERTERS: Mapping[Any, Convert | None] = {bool: None, str: str, int: int, float: float, Path: _readable}


def _shapes(options: Mapping[str, Taken], command: Command) -> Options:
    """The options as `marked` wants them."""
    own = HELP if command.brief else HELP[:2]
    flags = {name[1] for name, taken in options.items() if len(name) == 2 and taken.convert is None}
    values = {
        name if len(name) > 2 else name[1]: taken.convert is int for name, taken in options.items() if taken.convert
    }
    return Options(flags | {HELP[0][1]}, values, {*options, *own})


def _take_options(arguments: Sequence[str], options: Mapping[str, Taken], given: Given) -> list[str]:
    """Collect the values of options; returns the other arguments."""
    left, rest = list(reversed(arguments)), list[str]()
    while left:
        argument = left.pop()
        if argument == "--":
            return rest + left[::-1]
        if argument.startswith("--"):
            name, equals, value = argument.partition("=")
            _take(options.get(name), value if equals else None, left, given)
        elif argument.startswith("-") and len(argument) > 1:
            for at, letter in enumerate(argument[1:], start=2):
                taken = options.get(f"-{letter}")
                inline = argument[at:] if taken and taken.convert else ""
                _take(taken, inline or None, left, given)
                if taken and taken.convert:
                    break
        else:
            rest.append(argument)
    return rest


def _take(taken: Taken | None, value: str | None, left: list[str], given: Given) -> None:
    """One option, with the value behind it or else the next argument."""
    if taken is None or (taken.convert is None and value is not None):
        raise Unusual
    if taken.convert and value is None:
        if not left:
            raise Unusual
        value = left.pop()
    given.setdefault(taken.field, []).append((taken, value))


def _take_positional(rest: Sequence[str], positional: Sequence[Taken], given: Given) -> None:
    left = list(rest)
    for taken in positional:
        many = len(left) if taken.many else 1
        given[taken.field] = [(taken, text) for text in left[:many]]
        del left[:many]
    if left:
        raise Unusual


def _converted(found: Sequence[tuple[Taken, str | None]]) -> Any:
    """All values, or the last one. Raises ValueError for text that is not a number."""
    kept = found if found[-1][0].many else found[-1:]
    values = [taken.convert(text) if taken.convert and text is not None else taken.flag for taken, text in kept]
    return values if found[-1][0].many else values[-1]
