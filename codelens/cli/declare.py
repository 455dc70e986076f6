"""Makes a command from a class of flags and a function.

Flags are declared once, as attributes with a type and an `option` or `argument`, and shared by inheritance. They are
plain classes, since every value is filled in: a dataclass of sixty fields takes 20 ms to make. What is declared here needs
no parser: `arguments` reads most command lines, and `typed` makes typer's commands, for help, completion and faults.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple, TypeVar, get_type_hints

from codelens.cli.streams import silence_output
from codelens.errors import UsageError

F = TypeVar("F")

OTHER = "Options"  # The section of options without one
MARK = "\0"
"""Put before a positional argument that begins with a dash, so that it is not parsed as an option. No argument contains it."""

# The variable by which a shell asks for completions; its value names the shell
COMPLETION_VARIABLE = "_CODELENS_COMPLETE"
SYMBOLS = "codelens.cli.workplace:list_symbol_names"  # Lists the symbol names that shells offer, as MODULE:NAME


class Parameter(NamedTuple):
    """An option, or a positional argument if it has no names."""

    names: tuple[str, ...]
    metavar: str | None
    help: str
    section: str = OTHER
    default: Any = None
    values: str | Sequence[str] | None = None
    """Values that shells offer: words, or the MODULE:NAME of a collection or of a function without arguments."""
    has_commas: bool = False  # True if it takes several values, separated by commas
    choices: Sequence[str] = ()  # The only values that it takes
    least: float | None = None  # Bounds of a number, included
    most: float | None = None
    is_required: bool = False
    is_hidden: bool = False
    type: Any = None  # Type of its field, once it is collected

    @property
    def spelling(self) -> str:
        """Its name in messages: the long flag, else the short one; for an argument its name in help."""
        names = [name.partition("/")[0] for name in self.names]
        return next((name for name in names if name.startswith("--")), names[0] if names else self.metavar or "")

    def check(self, value: Any) -> None:
        """Raise UsageError for a value that is missing, out of bounds or not among the choices."""
        if value in (None, "", []):
            if self.is_required:
                raise UsageError(f"no {self.spelling.removesuffix('...')}", "--help shows what the command takes")
        elif self.choices and value not in self.choices:
            *others, last = self.choices
            raise UsageError(f"{self.spelling} must be {', '.join(others)} or {last}, not '{value}'")
        elif not ((self.least is None or value >= self.least) and (self.most is None or value <= self.most)):  # or NaN
            bounds = f"at least {self.least:g}" if self.most is None else f"from {self.least:g} to {self.most:g}"
            raise UsageError(f"{self.spelling} must be {bounds}, not {value}")


class Command(NamedTuple):
    """A command: fills `flags` and returns the exit code of `run`, whose docstring is the help text."""

    name: str
    flags: type[Any]
    run: Callable[[Any], int]
    epilog: str
    brief: frozenset[str]  # Fields that --help lists; if there are any, --help-all lists all fields


class CommandGroup(NamedTuple):
    """A group of commands. With `alone`, it runs that command if none of its own is named."""

    name: str
    members: Sequence[Command | CommandGroup] = ()
    help: str = ""
    epilog: str = ""
    alone: Command | None = None
    places: Sequence[tuple[str, str]] = ()  # More commands: name, MODULE:NAME
    default: str = ""  # Place of the command that runs with the group's arguments if they name no command of it

    @property
    def commands(self) -> Mapping[str, Command | CommandGroup | str]:
        """The commands by name: each a command, or its place as MODULE:NAME."""
        return {**{member.name: member for member in self.members}, **dict(self.places)}


def option(usage: str, help: str, section: str = OTHER, **more: Any) -> Any:
    """Declare an option. `usage` lists its flags, then the name of its value, as in `-m --limit N`; `help` states
    the default; `more` are fields of Parameter."""
    *names, metavar = usage.split()
    if metavar.startswith("-"):
        names, metavar = [*names, metavar], ""
    return Parameter(tuple(names), metavar or None, help, section, **more)


class Section(NamedTuple):
    """A heading in help texts. A call declares an option below it, as `option` does."""

    heading: str

    def __call__(self, usage: str, help: str, **more: Any) -> Any:
        return option(usage, help, self.heading, **more)


def argument(metavar: str, help: str, **more: Any) -> Any:
    """Declare a positional argument by its name and description in help; `more` are fields of Parameter."""
    return Parameter((), metavar, help, **more)


def required_argument(metavar: str, help: str, **more: Any) -> Any:
    """Declare a positional argument that the command needs."""
    return argument(metavar, help, is_required=True, **more)


def collect_parameters(flags: type[Any]) -> dict[str, Parameter]:
    """Collect the declarations of a class of flags by field, with its type. A flag that is not given is False."""
    parameters: dict[str, Parameter] = {}
    for name, hint in get_type_hints(flags).items():
        declared: Parameter = getattr(flags, name)
        default = bool(declared.default) if hint is bool else declared.default
        parameters[name] = declared._replace(type=hint, default=default)
    return parameters


def make_default_flags(flags: type[F]) -> F:
    """Make an instance of `flags` in which every option has its default."""
    filled = flags()
    vars(filled).update({name: parameter.default for name, parameter in collect_parameters(flags).items()})
    return filled


def command(name: str = "", epilog: str = "", brief: Collection[str] = ()) -> Callable[[Callable[[F], int]], Command]:
    """Decorator: make a command of a function whose parameter `flags` has a class of flags as its type. Its name is that of
    the function unless another is given."""

    def declare(run: Callable[[F], int]) -> Command:
        flags = get_type_hints(run)["flags"]
        return Command(name or run.__name__.replace("_", "-"), flags, run, epilog, frozenset(brief))

    return declare


def import_object(place: str) -> Any:
    """Import a module and return its object, given as MODULE:NAME."""
    module, _, name = place.partition(":")
    return getattr(import_module(module), name)


def bind_flags(command: Command, values: Mapping[str, Any]) -> Callable[[], int]:
    """Bind the function of a command to these values of its flags. Raises UsageError for a value that is not allowed."""

    def remove_mark(value: Any) -> Any:
        if isinstance(value, list):
            return list(map(remove_mark, value))
        return type(value)(str(value)[1:]) if isinstance(value, str | Path) and str(value)[:1] == MARK else value

    silence_output(bool(values.get("quiet")))
    filled = command.flags()
    for name, value in values.items():
        setattr(filled, name, remove_mark(value))
        getattr(command.flags, name).check(value)
    return partial(command.run, filled)
