"""codelens completions: the shell's part of tab completion, made by typer."""

from typing import Annotated

from codelens.cli.declare import argument, declare, option
from codelens.cli.streams import say, write
from codelens.errors import UsageError

SHELLS = ("bash", "zsh", "fish", "powershell")


class CompletionsFlags:
    """No index is opened, so it does without the common flags."""

    shell: Annotated[str | None, argument("bash, zsh, fish or powershell", "SHELL")] = None
    install: Annotated[bool, option("--install", help="Install it for this user instead of printing it")] = False
    debug: Annotated[bool, option("--debug", help="Show tracebacks")] = False


def completions(flags: CompletionsFlags) -> int:
    """Print a shell's completion script, or install it."""
    from typer.completion import get_completion_script, install  # type: ignore[attr-defined]

    if flags.shell not in SHELLS:
        raise UsageError(
            "which shell?" if flags.shell is None else f"no completion for '{flags.shell}'", ", ".join(SHELLS)
        )
    if flags.install:
        _, path = install(shell=flags.shell, prog_name="codelens")
        say(f"completion for {flags.shell} installed in {path}; it takes effect in a new shell")
    else:
        script = get_completion_script(prog_name="codelens", complete_var="_CODELENS_COMPLETE", shell=flags.shell)
        write([f"{script}\n"])
    return 0


command = declare("completions", CompletionsFlags, completions, epilog="Try: codelens completions bash >> ~/.bashrc")
