"""Declared commands → typer's, which print help, complete, and tell what is wrong with a command line.

Help lists options by section; a command with very many lists only its `brief` ones, and all of them with --help-all.
"""

from __future__ import annotations

import inspect
import shlex
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, cast, get_type_hints

import typer
from typer.core import TyperCommand, TyperGroup

from codelens.cli.complete import SHELLS, install, offer_of, script
from codelens.cli.declare import OTHER, Command, CommandGroup, Parameter, declared_at, option, perform
from codelens.cli.streams import say, write
from codelens.cli.wellformed import mark_queries
from codelens.errors import UsageError
from codelens.text.identifiers import nearest

CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 100}
APP: Mapping[str, Any] = {
    "add_completion": False,
    "rich_markup_mode": None,
    "pretty_exceptions_enable": False,
    "suggest_commands": False,  # LazyGroup suggests only close ones
}


def typed(declared: Any) -> Any:
    """The typer command of what was declared; anything else is one already."""
    if isinstance(declared, Command):
        app = typer.Typer(**APP)
        cls = type("Command", (SectionedCommand,), {"declared": declared})
        help, epilog = declared.run.__doc__, declared.epilog or None
        app.command(declared.name, cls=cls, help=help, epilog=epilog, context_settings=CONTEXT)(_callback(declared))
    elif isinstance(declared, CommandGroup):
        own = declared.own
        cls = type("Group", (LazyGroup,), {"places": {"Commands": declared.commands}})
        app = typer.Typer(name=declared.name, cls=cls, context_settings=CONTEXT, **APP)
        help, epilog = own.run.__doc__ if own else declared.help, declared.epilog or None
        app.callback(invoke_without_command=own is not None, help=help, epilog=epilog)(_callback(own, in_group=True))
    else:
        return declared
    return typer.main.get_command(app)


def _callback(command: Command | None, in_group: bool = False) -> Callable[..., int]:
    """A function with the signature that typer reads. In a group another command may follow, which then runs instead."""

    def callback(**values: Any) -> int:
        if command is None or (in_group and values.pop("context").invoked_subcommand is not None):
            return 0
        return perform(command.flags, command.run, values)

    hints: dict[str, Any] = get_type_hints(command.flags) if command else {}
    defaults = {name: _typed_parameter(getattr(command.flags, name)) for name in hints} if command else {}
    if command and in_group:
        hints["context"], defaults["context"] = typer.Context, inspect.Parameter.empty
    callback.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=defaults[name], annotation=hint)
            for name, hint in hints.items()
        ]
    )
    callback.__annotations__ = hints
    return callback


def _typed_parameter(declared: Parameter, **more: Any) -> Any:
    settings: dict[str, Any] = {
        "help": declared.help,
        "metavar": declared.metavar,
        "show_default": False,
        "autocompletion": offer_of(declared),
        "hidden": declared.is_hidden,
    }
    if not declared.names:
        return typer.Argument(declared.default, **settings)
    return typer.Option(declared.default, *declared.names, rich_help_panel=declared.section, **settings, **more)


class SectionedCommand(TyperCommand):
    """Help with options under the headings of their sections. A query may begin with a dash."""

    declared: ClassVar[Command]

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Called by typer: arguments → parameters."""
        return super().parse_args(ctx, list(mark_queries(self.declared, args)))

    def get_params(self, ctx: Any) -> list[Any]:
        """The declared parameters, --help, and --help-all where --help is brief."""
        params = super().get_params(ctx)
        if self.declared.brief:
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
            listed = (
                is_argument or not self.declared.brief or ctx.meta.get(HELP_ALL) or param.name in self.declared.brief
            )
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
MOVED: Mapping[str, str] = {"tune": "eval tune"}  # Former name of a command of codelens → where it is now


def _show_all(ctx: Any, param: Any, value: bool) -> None:
    if value:
        ctx.meta[HELP_ALL] = True
        typer.echo(ctx.get_help())
        ctx.exit()


class LazyGroup(TyperGroup):
    """Commands by help group and name. One that is given by its place, MODULE:NAME, is imported when it is named."""

    places: ClassVar[Mapping[str, Mapping[str, Command | CommandGroup | str]]] = {}

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands = cast(Any, dict.fromkeys(self.list_commands(None)))

    def list_commands(self, ctx: Any) -> list[str]:
        """In the order of `places`, in which help shows them."""
        return [name for names in self.places.values() for name in names]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Imports the command's module; None for an unknown name."""
        for names in self.places.values():
            if declared := names.get(cmd_name):
                return typed(declared_at(declared) if isinstance(declared, str) else declared)
        return None

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The named command. Raises typer's error for an unknown name, with the command that it may mean."""
        if self.get_command(ctx, args[0]) is None and not ctx.resilient_parsing:
            moved = "" if ctx.parent else MOVED.get(args[0], "")
            meant = moved or nearest(args[0], self.list_commands(ctx), MEANT)
            if not meant:
                words = shlex.join(args)
                raise UsageError(f"no command '{args[0]}'", f"`codelens search {words}` looks for it in the code")
            ctx.fail(f"no command '{args[0]}', did you mean '{meant}'?")
        return super().resolve_command(ctx, args)

    def shell_complete(self, ctx: Any, incomplete: str) -> list[Any]:
        """Names of commands, without their help: importing all modules for it takes half a second."""
        from typer._click.shell_completion import CompletionItem

        if incomplete.startswith("-"):
            return super(TyperGroup, self).shell_complete(ctx, incomplete)
        return [CompletionItem(name) for name in self.list_commands(ctx) if name.startswith(incomplete)]

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Called by typer for help: a list for each group."""
        for heading, names in filter(all, self.places.items()):
            with formatter.section(heading):
                formatter.write_dl([(name, self.get_command(ctx, name).get_short_help_str(72)) for name in names])


def root(commands: Mapping[str, Mapping[str, str]]) -> Any:
    """All commands of codelens, by their groups in help: name → place."""
    cls = type("Commands", (LazyGroup,), {"places": commands})
    app = typer.Typer(cls=cls, context_settings=CONTEXT, **APP)
    app.callback(epilog="See also `codelens help exit-codes` and `codelens help query`.")(_root)
    return typer.main.get_command(app)


def _show_completion(shell: str | None) -> None:
    if shell:
        write([script(shell)])
        raise typer.Exit


def _install_completion(shell: str | None) -> None:
    if shell:
        say(f"installed completion for {shell} in {install(shell)}; it takes effect in a new shell")
        raise typer.Exit


def _show_version(is_given: bool) -> None:
    if is_given:
        from codelens.cli.doctor import version_lines

        write(version_lines())
        raise typer.Exit


def _eager(act: Callable[[Any], None], default: Any, usage: str, help: str, **more: Any) -> Any:
    """An option of `codelens` itself, which acts as soon as it is read."""
    return _typed_parameter(option(default, usage, help, **more), callback=act, is_eager=True)


def _root(
    version: bool = _eager(_show_version, False, "-V --version", "Print the versions of codelens and its parts"),
    install_completion: str | None = _eager(
        *(_install_completion, None, "--install-completion SHELL"),
        help="Install tab completion for bash, zsh, fish or powershell",
        values=SHELLS,
    ),
    show_completion: str | None = _eager(
        _show_completion, None, "--show-completion SHELL", "Print the completion script of a shell", values=SHELLS
    ),
) -> None:
    """Offline code search that explains every result."""
