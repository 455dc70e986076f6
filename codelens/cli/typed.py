"""Makes typer's commands from declared ones. They print help, offer completions, and report faults of a command line. The callback
of each returns the command bound to its flags, for `main` to run.

Help lists options by section; a command with very many lists only its `brief` ones, and all of them with --help-all.

The completion script of a shell runs codelens with `_CODELENS_COMPLETE=SHELL` and the words of the line up to the cursor, the last
of them unfinished. The answer is a line for each offer: the word, and for zsh and fish a tab and its meaning. Without offers
the shells complete file names. PowerShell uses typer's script.
"""

from __future__ import annotations

import inspect
import shlex
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

import typer
from typer._click.globals import get_current_context
from typer.core import TyperCommand, TyperGroup, TyperOption
from typer.models import ParamMeta

from codelens.cli.arguments import mark_queries
from codelens.cli.declare import (
    COMPLETION_VARIABLE,
    OTHER,
    SYMBOLS,
    Command,
    CommandGroup,
    Parameter,
    bind_flags,
    collect_parameters,
    import_object,
    option,
)
from codelens.cli.streams import say, write
from codelens.errors import UsageError
from codelens.files import write_in_one_step
from codelens.text.identifiers import find_nearest_word

SETTINGS: Mapping[str, Any] = {
    "context_settings": {"help_option_names": ["-h", "--help"], "max_content_width": 100},
    "rich_markup_mode": None,
}
HELP_ALL = "codelens.help_all"
MEANT: Mapping[str, str] = {
    **dict.fromkeys(("uninstall", "delete", "rm"), "remove"),
    "ls": "list",
    "update": "index",
    "grep": "search",
    "find": "search",
    "explain": "why",
    **dict.fromkeys(("references", "usages"), "refs"),
}  # Name of a command in other tools → its name here
MOVED: Mapping[str, str] = {"tune": "eval tune"}  # Former name of a command of codelens → its name now


def make_typer_command(declared: Command | CommandGroup) -> SectionedCommand | LazyGroup:
    """Make the typer command of a declared command or group."""
    if isinstance(declared, Command):
        return SectionedCommand(declared)
    return LazyGroup({"Commands": declared.commands}, declared)


def _make_parameters(flags: type[Any]) -> list[Any]:
    return [_make_parameter(name, declared) for name, declared in collect_parameters(flags).items()]


def _make_parameter(name: str, declared: Parameter, **more: Any) -> Any:
    settings: dict[str, Any] = {"help": declared.help, "metavar": declared.metavar, "hidden": declared.is_hidden}
    settings |= {"show_default": False, "autocompletion": _make_offer(declared), "path_type": Path, **more}
    if declared.names:
        info = typer.Option(declared.default, *declared.names, rich_help_panel=declared.section, **settings)
    else:
        info = typer.Argument(declared.default, **settings)
    return typer.main.get_click_param(ParamMeta(name=name, default=info, annotation=declared.type))[0]


def _bind_flags(command: Command, values: Mapping[str, Any]) -> Callable[[], int]:
    listed = {name: list(value) or None if isinstance(value, tuple) else value for name, value in values.items()}
    return bind_flags(command, listed)


class SectionedCommand(TyperCommand):
    """A command whose help lists options by section, and whose query may begin with a dash."""

    def __init__(self, declared: Command) -> None:
        self.declared = declared
        super().__init__(
            declared.name,
            callback=lambda **values: _bind_flags(declared, values),
            params=_make_parameters(declared.flags),
            help=inspect.getdoc(declared.run),
            epilog=declared.epilog or None,
            **SETTINGS,
        )

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse arguments; called by typer. Queries that begin with a dash are marked first."""
        return super().parse_args(ctx, mark_queries(self.declared, args))

    def get_params(self, ctx: Any) -> list[Any]:
        """The declared parameters, --help, and --help-all if --help is brief."""

        def show_all(ctx: Any, param: Any, is_given: bool) -> None:
            if is_given:
                ctx.meta[HELP_ALL] = True
                typer.echo(ctx.get_help())
                ctx.exit()

        params = super().get_params(ctx)
        if self.declared.brief:
            settings: dict[str, Any] = {"is_flag": True, "is_eager": True, "expose_value": False, "callback": show_all}
            params.append(TyperOption(param_decls=["--help-all"], help="Show all options and exit.", **settings))
        return params

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write help; called by typer. Arguments come first, options without a section last."""
        sections: dict[str, list[tuple[str, str]]] = {}
        lists_all = not self.declared.brief or ctx.meta.get(HELP_ALL)
        for param in self.get_params(ctx):
            is_argument = param.param_type_name == "argument"
            record = param.get_help_record(ctx)
            if record and (lists_all or is_argument or param.name in {*self.declared.brief, "help", "help_all"}):
                heading = "Arguments" if is_argument else getattr(param, "rich_help_panel", None) or OTHER
                sections.setdefault(heading, []).append(record)
        for heading in sorted(sections, key=lambda s: (s != "Arguments", s == OTHER)):
            with formatter.section(heading):
                formatter.write_dl(sections[heading])


class LazyGroup(TyperGroup):
    """A group of commands, by help group and name. A command given as MODULE:NAME is imported when it is used."""

    def __init__(
        self,
        places: Mapping[str, Mapping[str, Command | CommandGroup | str]],
        declared: CommandGroup,
        params: Sequence[Any] = (),
    ) -> None:
        self.places, self.declared, alone = places, declared, declared.alone
        super().__init__(
            name=declared.name,
            commands=cast(Any, dict.fromkeys(self.list_commands(None))),
            suggest_commands=False,  # `resolve_command` suggests only close ones
            invoke_without_command=alone is not None,
            callback=self._bind_alone,
            params=_make_parameters(alone.flags) if alone else [*params],
            help=inspect.getdoc(alone.run) if alone else declared.help,
            epilog=declared.epilog or None,
            **SETTINGS,
        )

    def _bind_alone(self, **values: Any) -> Callable[[], int] | None:
        """Bind the group's own command to its flags; None if a command of the group is named."""
        alone = self.declared.alone
        return _bind_flags(alone, values) if alone and get_current_context().invoked_subcommand is None else None

    def make_context(self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any) -> Any:
        """Make the context; called by typer. A group with a `default` is that command unless one of its commands is named."""
        if self.declared.default and not (args[:1] and args[0] in self.commands):
            return make_typer_command(import_object(self.declared.default)).make_context(
                info_name, args, parent, **extra
            )
        return super().make_context(info_name, args, parent, **extra)

    def list_commands(self, ctx: Any) -> list[str]:
        """List the commands in the order of `places`, as help does."""
        return [name for names in self.places.values() for name in names]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Import a command's module and make its typer command; None for an unknown name."""
        for names in self.places.values():
            if declared := names.get(cmd_name):
                return make_typer_command(import_object(declared) if isinstance(declared, str) else declared)
        return None

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find the named command. Raises typer's error for an unknown name, with a similar command if there is one."""
        if args[0] not in self.commands and not ctx.resilient_parsing:
            moved = "" if ctx.parent else MOVED.get(args[0], "")
            meant = moved or find_nearest_word(args[0], self.list_commands(ctx), MEANT)
            if not meant:
                words = shlex.join(args)
                raise UsageError(f"no command '{args[0]}'", f"`codelens search {words}` looks for it in the code")
            ctx.fail(f"no command '{args[0]}', did you mean '{meant}'?")
        return super().resolve_command(ctx, args)

    def shell_complete(self, ctx: Any, incomplete: str) -> list[Any]:
        """Offer names of commands, without their help texts: importing all modules for these takes half a second."""
        from typer._click.shell_completion import CompletionItem

        if incomplete.startswith("-"):
            return super(TyperGroup, self).shell_complete(ctx, incomplete)
        return [CompletionItem(name) for name in self.list_commands(ctx) if name.startswith(incomplete)]

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the commands of each help group; called by typer."""
        for heading, names in filter(all, self.places.items()):
            with formatter.section(heading):
                formatter.write_dl([(name, self.get_command(ctx, name).get_short_help_str(72)) for name in names])


def build_root_group(places: Mapping[str, Mapping[str, str]]) -> LazyGroup:
    """Build the root group from help group → name of a command → its place."""

    def make_callback(act: Callable[[Any], object]) -> Callable[[Any], None]:
        """Make a callback that acts on the value of an option, if it is given, and ends the command."""

        def act_and_exit(value: Any) -> None:
            if value:
                act(value)
                raise typer.Exit

        return act_and_exit

    about_shell: dict[str, Any] = {"values": SHELLS, "type": str | None}
    version = option("-V --version", "Print the versions of codelens and its parts", type=bool)
    help_of_install = "Install tab completion for bash, zsh, fish or powershell"
    installing = option("--install-completion SHELL", help_of_install, **about_shell)
    showing = option("--show-completion SHELL", "Print the completion script of a shell", **about_shell)
    params = [
        _make_parameter(name, declared, callback=make_callback(act), is_eager=True)  # runs as soon as it is parsed
        for name, declared, act in (
            ("version", version, lambda _: import_object("codelens.cli.doctor:print_versions")()),
            ("install_completion", installing, install_completion),
            ("show_completion", showing, lambda shell: write([make_completion_script(shell)])),
        )
    ]
    epilog = "See also `codelens help exit-codes` and `codelens help query`."
    declared = CommandGroup("codelens", help="Offline code search that explains every result.", epilog=epilog)
    return LazyGroup(places, declared, params)


_BASH = """\
_codelens() {
    local found
    COMPREPLY=()
    while IFS= read -r found; do
        COMPREPLY+=("$found")
    done < <(_CODELENS_COMPLETE=bash "$1" "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -o default -F _codelens codelens
"""
_ZSH = """\
#compdef codelens
_codelens() {
    local -a found
    local one
    for one in "${(@f)$(_CODELENS_COMPLETE=zsh "${words[1]}" "${(@)words[2,CURRENT]}" 2>/dev/null)}"; do
        [[ -n $one ]] && found+=("${${one//:/\\\\:}/$'\\t'/:}")
    done
    if (( $#found )); then
        _describe -V codelens found
    else
        _files
    fi
}
if [[ $funcstack[1] == _codelens ]]; then  # zsh has found this file in $fpath
    _codelens "$@"
else
    compdef _codelens codelens
fi
"""
_FISH = """\
function __codelens_offers
    set -l line (commandline -opc) (commandline -ct)
    set -l found (env _CODELENS_COMPLETE=fish $line[1] $line[2..-1] 2>/dev/null)
    if count $found >/dev/null
        printf '%s\\n' $found
    else
        __fish_complete_path (commandline -ct)
    end
end
complete --command codelens --no-files --arguments '(__codelens_offers)'
"""
SCRIPTS: Mapping[str, str] = {"bash": _BASH, "zsh": _ZSH, "fish": _FISH}
SHELLS = (*SCRIPTS, "powershell")


def make_completion_script(shell: str) -> str:
    """Make the completion script of a shell. Raises UsageError unless it is one of SHELLS."""
    if shell not in SHELLS:
        raise UsageError(f"no completion for '{shell}'", f"shells: {', '.join(SHELLS)}")
    if shell in SCRIPTS:
        return SCRIPTS[shell]
    from typer.completion import get_completion_script  # type: ignore[attr-defined]

    return f"{get_completion_script(prog_name='codelens', complete_var=COMPLETION_VARIABLE, shell=shell)}\n"


def install_completion(shell: str) -> None:
    """Write the script to where the shell reads it, with a line in its start-up file if it needs one."""
    text = make_completion_script(shell)
    from typer.completion import install  # type: ignore[attr-defined]

    _, path = install(shell=shell, prog_name="codelens")
    if shell in SCRIPTS:
        write_in_one_step(path, text.encode())
    say(f"installed completion for {shell} in {path}; it takes effect in a new shell")


def print_offers(shell: str, words: Sequence[str], group: LazyGroup) -> int:
    """Print the offers for the last of `words`, which is empty if a new word begins; nothing after any error. Returns 0."""
    if shell not in SCRIPTS:
        from typer.completion import completion_init  # type: ignore[attr-defined]

        completion_init()
        group.main(list(words), prog_name="codelens")
    from typer._click.shell_completion import _resolve_context, _resolve_incomplete

    with suppress(Exception):  # an error must not disturb the line that is typed
        # Bash splits --type=rust into three words.
        joined = [w for i, w in enumerate(words) if w != "=" or i == 0 or not words[i - 1].startswith("--")] or [""]
        *before, begun = [*joined, ""] if len(words) > 1 and joined[-1] != words[-1] else joined
        option_name = begun[: begun.index("=") + 1] if begun.startswith("--") and "=" in begun else ""
        context = _resolve_context(group, {}, "codelens", list(before))
        asked, rest = _resolve_incomplete(context, before, begun)
        offers = {item.value: " ".join((item.help or "").split()) for item in asked.shell_complete(context, rest)}
        write(
            f"{option_name}{value}\t{help}\n" if help and shell != "bash" else f"{option_name}{value}\n"
            for value, help in offers.items()
        )
    return 0


def _make_offer(parameter: Parameter) -> Any:
    """Make the function that offers values for a parameter; if its metavar ends in ",…", several separated by commas.

    A module that lists the values is imported only when a shell asks.
    """
    values = parameter.values or parameter.choices
    if not values:
        return None
    has_commas = parameter.has_commas or (parameter.metavar or "").endswith(",…")

    def offer(ctx: Any, incomplete: str) -> list[str]:
        before = incomplete[: incomplete.rfind(",") + 1] if has_commas else ""
        begun = incomplete.removeprefix(before)
        offered: Any = import_object(values) if isinstance(values, str) else values
        if callable(offered):
            offered = offered(ctx.params.get("db"), begun) if values == SYMBOLS else offered()
        return [before + value for value in offered if value.startswith(begun)]

    return offer
