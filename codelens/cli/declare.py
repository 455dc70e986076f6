"""A dataclass of flags and a function → a typer command.

Flags are declared once, as annotated fields, and shared by inheritance; typer reads them as it reads a signature.
Help lists options by section, since `search` has too many for one list.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import MISSING, Field, fields
from typing import Any, TypeVar, get_type_hints

import typer
from typer.core import TyperCommand

F = TypeVar("F")

CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 100}
OTHER = "Options"
"""The section of options that name none."""


def option(*names: str, help: str, section: str = OTHER, metavar: str | None = None, **more: Any) -> Any:
    """An option: its flags, what it does, where help lists it. `help` says the default where that is not plain."""
    return typer.Option(*names, help=help, rich_help_panel=section, metavar=metavar, show_default=False, **more)


def argument(help: str, metavar: str) -> Any:
    return typer.Argument(help=help, metavar=metavar, show_default=False)


def declare(name: str, flags: type[F], run: Callable[[F], int], epilog: str = "") -> Any:
    """The command that fills `flags` and returns the exit code of `run`, whose docstring is its help."""

    def callback(**values: Any) -> int:
        return run(flags(**values))

    hints = get_type_hints(flags, include_extras=True)
    parameters = [_parameter(f, hints[f.name]) for f in fields(flags)]  # type: ignore[arg-type]
    callback.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    callback.__annotations__ = {p.name: p.annotation for p in parameters}
    app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
    app.command(name, cls=SectionedCommand, help=run.__doc__, epilog=epilog or None, context_settings=CONTEXT)(callback)
    return typer.main.get_command(app)


def _parameter(field: Field[Any], hint: Any) -> inspect.Parameter:
    default = None if field.default is MISSING else field.default
    return inspect.Parameter(field.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=hint)


class SectionedCommand(TyperCommand):
    """Help with options under the headings that they name."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        sections: dict[str, list[tuple[str, str]]] = {}
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx)
            if record is not None:
                own = getattr(param, "rich_help_panel", None) or OTHER
                sections.setdefault("Arguments" if param.param_type_name == "argument" else own, []).append(record)
        for heading in sorted(sections, key=lambda s: (s != "Arguments", s == OTHER)):
            with formatter.section(heading):
                formatter.write_dl(sections[heading])
