"""A class of flags and a function → a typer command.

Flags are declared once, as annotated attributes, and shared by inheritance; typer reads them as it reads a signature.
They are plain classes, since typer fills in every value: a dataclass of sixty fields takes 20 ms to make.
Help lists options by section, since `search` has too many for one list.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, ClassVar, TypeVar, cast, get_type_hints

import typer
from typer.core import TyperCommand, TyperGroup

F = TypeVar("F")

CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 100}
OTHER = "Options"
"""The section of options that name none."""


def option(*names: str, help: str, section: str = OTHER, metavar: str | None = None, **more: Any) -> Any:
    """An option: its flags, what it does, where help lists it. `help` says the default where that is not plain."""
    return typer.Option(*names, help=help, rich_help_panel=section, metavar=metavar, show_default=False, **more)


def argument(help: str, metavar: str) -> Any:
    """A positional argument: what it is, and the name that help gives it. Whether it may be left out is its default's to say."""
    return typer.Argument(help=help, metavar=metavar, show_default=False)


def declare(name: str, flags: type[F], run: Callable[[F], int], epilog: str = "") -> Any:
    """The command that fills `flags` and returns the exit code of `run`, whose docstring is its help."""

    def callback(**values: Any) -> int:
        filled = flags()
        vars(filled).update(values)
        return run(filled)

    hints = get_type_hints(flags, include_extras=True)
    parameters = [_parameter(flags, field, hint) for field, hint in hints.items()]
    callback.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    callback.__annotations__ = hints
    app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
    app.command(name, cls=SectionedCommand, help=run.__doc__, epilog=epilog or None, context_settings=CONTEXT)(callback)
    return typer.main.get_command(app)


def _parameter(flags: type[object], field: str, hint: Any) -> inspect.Parameter:
    return inspect.Parameter(field, inspect.Parameter.KEYWORD_ONLY, default=getattr(flags, field), annotation=hint)


class SectionedCommand(TyperCommand):
    """Help with options under the headings that they name."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Called by typer for `--help`: arguments first, the section of options that name none last."""
        sections: dict[str, list[tuple[str, str]]] = {}
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx)
            if record is not None:
                own = getattr(param, "rich_help_panel", None) or OTHER
                sections.setdefault("Arguments" if param.param_type_name == "argument" else own, []).append(record)
        for heading in sorted(sections, key=lambda s: (s != "Arguments", s == OTHER)):
            with formatter.section(heading):
                formatter.write_dl(sections[heading])


class LazyGroup(TyperGroup):
    """Commands by name, each imported when it is named: `command` of a module, or what follows the module's name and a colon."""

    places: ClassVar[Mapping[str, str]] = {}

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands = cast(Any, dict.fromkeys(self.places))

    def list_commands(self, ctx: Any) -> list[str]:
        """In the order of `places`, in which help shows them."""
        return list(self.places)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Imports the command's module; None for a name that is no command, which typer turns into an error."""
        module, _, name = self.places.get(cmd_name, "").partition(":")
        return getattr(import_module(module), name or "command") if module else None


def group(name: str, places: Mapping[str, str], help: str, epilog: str = "") -> Any:
    """A command that only has commands below it: their names and their modules."""
    lazy = type("Group", (LazyGroup,), {"places": places})
    app = typer.Typer(
        name=name, cls=lazy, rich_markup_mode=None, context_settings=CONTEXT, pretty_exceptions_enable=False
    )

    @app.callback(help=help, epilog=epilog or None)
    def _group() -> None:
        pass

    return typer.main.get_command(app)


def declare_group(
    name: str, flags: type[F], run: Callable[[F], int], places: Mapping[str, str], epilog: str = ""
) -> Any:
    """A command that does something by itself, and has commands below it."""

    def callback(**values: Any) -> int:
        context = values.pop("context")
        if context.invoked_subcommand is not None:
            return 0
        filled = flags()
        vars(filled).update(values)
        return run(filled)

    hints = get_type_hints(flags, include_extras=True)
    own = inspect.Parameter("context", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context)
    parameters = [own, *(_parameter(flags, field, hint) for field, hint in hints.items())]
    callback.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    callback.__annotations__ = {"context": typer.Context, **hints}
    lazy = type("Group", (LazyGroup,), {"places": places})
    app = typer.Typer(
        name=name,
        cls=lazy,
        add_completion=False,
        rich_markup_mode=None,
        context_settings=CONTEXT,
        pretty_exceptions_enable=False,
    )
    app.callback(invoke_without_command=True, help=run.__doc__, epilog=epilog or None)(callback)
    return typer.main.get_command(app)
