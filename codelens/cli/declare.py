"""A class of flags and a function → a typer command.

Flags are declared once, as attributes with a type and an `option` or `argument`, and shared by inheritance. They are
plain classes, since typer fills in every value: a dataclass of sixty fields takes 20 ms to make. Help lists options by
section; a command with very many lists only its `brief` ones, and all of them with --help-all.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar, TypeVar, cast, get_type_hints

import typer
from typer.core import TyperCommand, TyperGroup

from codelens.cli.complete import Values, offering
from codelens.cli.dashes import MARK, marked, options_of
from codelens.text.identifiers import nearest

F = TypeVar("F")

CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 100}
APP: Mapping[str, Any] = {
    "add_completion": False,
    "rich_markup_mode": None,
    "pretty_exceptions_enable": False,
    "suggest_commands": False,  # LazyGroup suggests only close ones
}
OTHER = "Options"
"""The section of options that name none."""


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
    if values is not None:
        more["autocompletion"] = offering(values, listed=(metavar or "").endswith(",…"))
    return typer.Option(
        default, *names, help=help, rich_help_panel=section, metavar=metavar, show_default=False, **more
    )


def argument(default: Any, help: str, metavar: str, values: Values | None = None) -> Any:
    """A positional argument: its default, what it is, its name in help, and what shells offer for it."""
    offer = None if values is None else offering(values)
    return typer.Argument(default, help=help, metavar=metavar, show_default=False, autocompletion=offer)


def defaults(flags: type[F]) -> F:
    """An instance of `flags` in which every option has its default."""
    filled = flags()
    vars(filled).update({name: getattr(flags, name).default for name in get_type_hints(flags)})
    return filled


def declare(name: str, flags: type[F], run: Callable[[F], int], epilog: str = "", brief: Collection[str] = ()) -> Any:
    """A command that fills `flags` and returns the exit code of `run`, whose docstring is its help.

    With `brief`, --help lists only those fields of `flags`, and --help-all lists all.
    """
    app = typer.Typer(**APP)
    cls = type("Command", (SectionedCommand,), {"brief": frozenset(brief)})
    callback = _callback(flags, run)
    app.command(name, cls=cls, help=run.__doc__, epilog=epilog or None, context_settings=CONTEXT)(callback)
    return typer.main.get_command(app)


FINISHED: list[int] = []
"""The exit code of the command when it has done its work: an interrupt that comes later changes nothing."""


def _callback(flags: type[F], run: Callable[[F], int], below: bool = False) -> Callable[..., int]:
    """A function with the signature that typer reads. `below`: commands may follow, which are then run instead."""

    def callback(**values: Any) -> int:
        if below and values.pop("context").invoked_subcommand is not None:
            return 0
        filled = flags()
        vars(filled).update({name: _unmarked(value) for name, value in values.items()})
        FINISHED[:] = [run(filled)]
        return FINISHED[0]

    hints = {"context": typer.Context} if below else {}
    hints |= get_type_hints(flags)
    keyword = inspect.Parameter.KEYWORD_ONLY
    callback.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [
            inspect.Parameter(f, keyword, default=getattr(flags, f, inspect.Parameter.empty), annotation=h)
            for f, h in hints.items()
        ]
    )
    callback.__annotations__ = hints
    return callback


def _unmarked(value: Any) -> Any:
    """The argument of the command line, without the mark of `dashes.marked`."""
    if isinstance(value, list):
        return list(map(_unmarked, value))
    return type(value)(str(value)[1:]) if isinstance(value, str | Path) and str(value)[:1] == MARK else value


class SectionedCommand(TyperCommand):
    """Help with options under the headings of their sections. A query may begin with a dash."""

    brief: ClassVar[frozenset[str]] = frozenset()

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Called by typer: arguments → parameters."""
        params = self.get_params(ctx)
        if any(param.name == "query" for param in params):
            args = list(marked(args, options_of(params)))
        return super().parse_args(ctx, args)

    def get_params(self, ctx: Any) -> list[Any]:
        """The declared parameters, --help, and --help-all where --help is brief."""
        params = super().get_params(ctx)
        if self.brief:
            params.append(
                typer.core.TyperOption(
                    param_decls=["--help-all"],
                    is_flag=True,
                    is_eager=True,
                    expose_value=False,
                    callback=_show_all,
                    help="Show all options and exit.",
                )
            )
        return params

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Called by typer for help: arguments first, the section of options that name none last."""
        sections: dict[str, list[tuple[str, str]]] = {}
        for param in self.get_params(ctx):
            is_argument = param.param_type_name == "argument"
            listed = is_argument or not self.brief or ctx.meta.get(HELP_ALL) or param.name in self.brief
            record = param.get_help_record(ctx)
            if record is not None and (listed or param.name in ("help", "help_all")):
                heading = "Arguments" if is_argument else getattr(param, "rich_help_panel", None) or OTHER
                sections.setdefault(heading, []).append(record)
        for heading in sorted(sections, key=lambda s: (s != "Arguments", s == OTHER)):
            with formatter.section(heading):
                formatter.write_dl(sections[heading])


HELP_ALL = "codelens.help_all"
MEANT: Mapping[str, str] = {
    "uninstall": "remove",
    "delete": "remove",
    "rm": "remove",
    "ls": "list",
    "update": "index",
    "grep": "search",
    "find": "search",
    "explain": "why",
    "references": "refs",
    "usages": "refs",
}
"""Other tools' name of a command → ours."""


def _show_all(ctx: Any, param: Any, value: bool) -> None:
    if value:
        ctx.meta[HELP_ALL] = True
        typer.echo(ctx.get_help())
        ctx.exit()


class LazyGroup(TyperGroup):
    """Commands by help group and name, each imported when it is named: MODULE has it as `command`, MODULE:NAME as NAME."""

    places: ClassVar[Mapping[str, Mapping[str, str]]] = {}

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands = cast(Any, dict.fromkeys(self.list_commands(None)))

    def list_commands(self, ctx: Any) -> list[str]:
        """In the order of `places`, in which help shows them."""
        return [name for names in self.places.values() for name in names]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Imports the command's module; None for an unknown name."""
        for names in self.places.values():
            if place := names.get(cmd_name):
                module, _, name = place.partition(":")
                return getattr(import_module(module), name or "command")
        return None

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The named command. Raises typer's error for an unknown name, with the command that it may mean."""
        if self.get_command(ctx, args[0]) is None and not ctx.resilient_parsing:
            meant = nearest(args[0], self.list_commands(ctx), MEANT)
            ctx.fail(f"no command '{args[0]}'" + (f", did you mean '{meant}'?" if meant else ""))
        return super().resolve_command(ctx, args)

    def shell_complete(self, ctx: Any, incomplete: str) -> list[Any]:
        """Names of commands, without their help: importing all modules for it takes half a second."""
        from typer._click.shell_completion import CompletionItem

        if incomplete.startswith("-"):
            return super(TyperGroup, self).shell_complete(ctx, incomplete)
        return [CompletionItem(name) for name in self.list_commands(ctx) if name.startswith(incomplete)]

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Called by typer for help: a list for each group."""
        for heading, names in filter(lambda group: group[0], self.places.items()):
            with formatter.section(heading):
                formatter.write_dl([(name, self.get_command(ctx, name).get_short_help_str(72)) for name in names])


def group(name: str, places: Mapping[str, str], help: str, epilog: str = "") -> Any:
    """A command that only has commands below it: their names and where they are."""
    app = typer.Typer(name=name, cls=_lazy(places), context_settings=CONTEXT, **APP)

    @app.callback(help=help, epilog=epilog or None)
    def _group() -> None:
        pass

    return typer.main.get_command(app)


def declare_group(
    name: str, flags: type[F], run: Callable[[F], int], places: Mapping[str, str], epilog: str = ""
) -> Any:
    """A command that does something by itself, and has commands below it."""
    app = typer.Typer(name=name, cls=_lazy(places), context_settings=CONTEXT, **APP)
    callback = _callback(flags, run, below=True)
    app.callback(invoke_without_command=True, help=run.__doc__, epilog=epilog or None)(callback)
    return typer.main.get_command(app)


def _lazy(places: Mapping[str, str]) -> type[LazyGroup]:
    return type("Group", (LazyGroup,), {"places": {"Commands": places}})
