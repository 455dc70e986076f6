"""The entry point: find the command, run it, and turn every ending into an exit code and at most two lines on stderr.

Commands are imported only when they are named, so that a search pays for nothing but itself.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Mapping, Sequence
from types import FrameType
from typing import Annotated, ClassVar, NoReturn

import typer

from codelens.cli.declare import CONTEXT, LazyGroup
from codelens.cli.streams import report, say, say_plain, silence_stdout
from codelens.errors import CodelensError

COMMANDS = (
    *("index", "search", "files", "why", "context", "refs", "callers", "callees", "path", "impact", "hierarchy", "map"),
    *("test-scope", "communities", "export", "snapshots", "diff", "prove", "verify", "note"),
    *("pin", "unpin", "rate", "feedback", "used", "open", "memory", "traces"),
    *(
        "status",
        "symbols",
        "watch",
        "hooks",
        "mcp",
        "serve",
        "clean",
        "config",
        "model",
        "eval",
        "tune",
        "doctor",
        "completions",
        "help",
    ),
)
INTERRUPTED = 130
TERMINATED = 143


class Terminated(KeyboardInterrupt):
    """SIGTERM came. Whatever an interrupt leaves in order, this does too."""


class Commands(LazyGroup):
    """Each lives in the module of its name."""

    places: ClassVar[Mapping[str, str]] = {name: f"codelens.cli.{name.replace('-', '_')}" for name in COMMANDS}


app = typer.Typer(cls=Commands, rich_markup_mode=None, context_settings=CONTEXT, pretty_exceptions_enable=False)


def _show_version(wanted: bool) -> None:
    if wanted:
        from codelens.cli.doctor import version_lines
        from codelens.cli.streams import write

        write(version_lines())
        raise typer.Exit


@app.callback(epilog="`codelens help exit-codes` and `codelens help query` say more.")
def _root(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Versions of tool, schema and parts"),
    ] = False,
) -> None:
    """Offline code search that accounts for every rank."""


def run() -> NoReturn:
    """What the `codelens` script calls."""
    _open_closed_streams()
    signal.signal(signal.SIGTERM, _terminate)
    sys.exit(main(sys.argv[1:]))


def _terminate(number: int, frame: FrameType | None) -> None:
    """Raise it once; a second one ends the process where it is."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    raise Terminated


def _open_closed_streams() -> None:
    """Whoever closed a stream wants nothing of it; left closed, the next file opened would take its number."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            nowhere = os.open(os.devnull, os.O_RDONLY if mode == "r" else os.O_WRONLY)
            setattr(sys, name, os.fdopen(nowhere, mode, encoding="utf-8"))


def main(arguments: Sequence[str]) -> int:
    """Run one command line; the exit code."""
    try:
        code = _dispatch(list(arguments) or ["--help"])
        sys.stdout.flush()
    except BrokenPipeError:
        silence_stdout()
        return 0
    except (KeyboardInterrupt, typer.Abort) as ending:
        terminated = isinstance(ending, Terminated)
        say("; ".join(["terminated" if terminated else "interrupted", *map(str, ending.args)]))
        return TERMINATED if terminated else INTERRUPTED
    except typer.Exit as ending:
        return ending.exit_code
    except CodelensError as fault:
        _trace_if_asked(arguments)
        report(fault)
        return fault.exit_code
    except Exception as fault:
        return _unexpected(fault, arguments)
    return code


def _dispatch(arguments: list[str]) -> int:
    group = typer.main.get_command(app)
    if os.environ.get("_CODELENS_COMPLETE"):
        group.main(arguments, prog_name="codelens")
    with group.make_context("codelens", arguments) as context:
        return int(group.invoke(context) or 0)


def _unexpected(fault: Exception, arguments: Sequence[str]) -> int:
    """Faults of the click that typer brings, known by their shape since that package is private; or a bug of ours."""
    _trace_if_asked(arguments)
    if hasattr(fault, "format_message"):
        context = getattr(fault, "ctx", None)
        path = context.command_path if context is not None else "codelens"
        say(f"error: {fault.format_message().rstrip('.')}")
        say_plain([f"hint: `{path} --help` lists what it takes; after `--` everything is an argument\n"])
        return int(getattr(fault, "exit_code", 2))
    say(f"error: {_told(fault)}")
    say_plain(["hint: use --debug to see where it happened\n"])
    return 2


def _told(fault: Exception) -> str:
    if isinstance(fault, OSError) and fault.strerror:
        return f"{fault.filename}: {fault.strerror}" if fault.filename else fault.strerror
    return f"{type(fault).__name__}: {fault}"


def _trace_if_asked(arguments: Sequence[str]) -> None:
    before_end = arguments[: arguments.index("--")] if "--" in arguments else arguments
    if "--debug" in before_end:
        import traceback

        traceback.print_exc()
