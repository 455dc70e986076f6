"""A class of flags and a function → a command.

Flags are declared once, as attributes with a type and an `option` or `argument`, and shared by inheritance. They are
plain classes, since every value is filled in: a dataclass of sixty fields takes 20 ms to make. What is declared here needs
no parser: `wellformed` reads most command lines, and `typed` makes typer's commands, for help, completion and faults.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple, TypeVar, get_type_hints

from codelens.cli.complete import Offer, Values, offering
from codelens.cli.dashes import MARK

F = TypeVar("F")

OTHER = "Options"  # The section of options that name none


class Parameter(NamedTuple):
    """An option, or without names a positional argument."""

    default: Any
    names: tuple[str, ...]
    help: str
    metavar: str | None
    section: str
    offer: Offer | None
    more: Mapping[str, Any]  # Further arguments for typer


class Command(NamedTuple):
    """A command that fills `flags` and returns the exit code of `run`."""

    name: str
    flags: type[Any]
    run: Callable[[Any], int]
    epilog: str
    brief: frozenset[str]


class CommandGroup(NamedTuple):
    """Commands by name, each with its place, MODULE or MODULE:NAME. With `flags` and `run` it does something by itself."""

    name: str
    places: Mapping[str, str]
    help: str
    epilog: str
    flags: type[Any] | None = None
    run: Callable[[Any], int] | None = None


def option(
    default: Any,
    *names: str,
    help: str,
    section: str = OTHER,
    metavar: str | None = None,
    values: Values | None = None,
    **more: Any,
) -> Any:
    """An option: its default, its flags, what it does, and the section of help that lists it. `help` states the default.

    `values` are what shells offer for it; several with commas between them if `metavar` ends in ",…".
    """
    offer = None if values is None else offering(values, listed=(metavar or "").endswith(",…"))
    return Parameter(default, names, help, metavar, section, offer, more)


class Section(NamedTuple):
    """A heading of help with options below it."""

    heading: str

    def option(self, default: Any, *names: str, help: str, **more: Any) -> Any:
        """An option that help lists below this heading; see `option`."""
        return option(default, *names, help=help, section=self.heading, **more)


def argument(default: Any, help: str, metavar: str, values: Values | None = None) -> Any:
    """A positional argument: its default, what it is, its name in help, and what shells offer for it."""
    return Parameter(default, (), help, metavar, "", None if values is None else offering(values), {})


def defaults(flags: type[F]) -> F:
    """An instance of `flags` in which every option has its default."""
    filled = flags()
    vars(filled).update({name: getattr(flags, name).default for name in get_type_hints(flags)})
    return filled


def declare(
    name: str, flags: type[F], run: Callable[[F], int], epilog: str = "", brief: Collection[str] = ()
) -> Command:
    """A command that fills `flags` and returns the exit code of `run`, whose docstring is its help.

    With `brief`, --help lists only those fields of `flags`, and --help-all lists all.
    """
    return Command(name, flags, run, epilog, frozenset(brief))


def group(name: str, places: Mapping[str, str], help: str, epilog: str = "") -> CommandGroup:
    """A command that only has commands below it: their names and where they are."""
    return CommandGroup(name, places, help, epilog)


def declare_group(
    name: str, flags: type[F], run: Callable[[F], int], places: Mapping[str, str], epilog: str = ""
) -> CommandGroup:
    """A command that does something by itself, and has commands below it."""
    return CommandGroup(name, places, run.__doc__ or "", epilog, flags, run)


def declared_at(place: str) -> Any:
    """The object at MODULE (its `command`) or MODULE:NAME. Imports the module."""
    module, _, name = place.partition(":")
    return getattr(import_module(module), name or "command")


FINISHED: list[int] = []
"""The exit code of the command when it has done its work: an interrupt that comes later changes nothing."""


def perform(flags: type[F], run: Callable[[F], int], values: Mapping[str, Any]) -> int:
    """Run a command with these values of its flags."""
    filled = flags()
    vars(filled).update({name: _unmarked(value) for name, value in values.items()})
    FINISHED[:] = [run(filled)]
    return FINISHED[0]


def _unmarked(value: Any) -> Any:
    """The argument of the command line, without the mark of `dashes.marked`."""
    if isinstance(value, list):
        return list(map(_unmarked, value))
    return type(value)(str(value)[1:]) if isinstance(value, str | Path) and str(value)[:1] == MARK else value
