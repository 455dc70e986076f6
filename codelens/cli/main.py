"""The entry point: finds and runs the command, and turns its outcome into an exit code and at most two lines on stderr.

Only the named command is imported, so that a search does not pay for the others.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from types import FrameType
from typing import NoReturn

from codelens.cli.arguments import read_arguments
from codelens.cli.declare import COMPLETION_VARIABLE, Command, bind_flags, import_object
from codelens.cli.help import ENTRY_POINTS, find_entry_point, find_unlisted
from codelens.cli.streams import page_long_output, report_error, say, say_without_prefix, silence_output
from codelens.cli.warm import Answer
from codelens.errors import CodelensError

INTERRUPTED = 130
TERMINATED = 143


class Termination(KeyboardInterrupt):
    """Raised by SIGTERM. A KeyboardInterrupt, so that all code that cleans up after Ctrl-C does so here too."""


def run(answer: Answer | None = None) -> NoReturn:
    """Run the command line of this process, or write the rest of `answer`, and end the process."""
    for name, mode, access in (("stdin", "r", os.O_RDONLY), ("stdout", "w", os.O_WRONLY), ("stderr", "w", os.O_WRONLY)):
        if getattr(sys, name) is None:  # it was closed, and the next file opened would take its number
            setattr(sys, name, os.fdopen(os.open(os.devnull, access), mode, encoding="utf-8"))
    signal.signal(signal.SIGTERM, _raise_termination)
    code = INTERRUPTED
    with suppress(KeyboardInterrupt):  # a second Ctrl-C, while the first is being reported
        if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
            signal.signal(signal.SIGINT, signal.default_int_handler)  # until now `codelens.__main__` took it
        code = main(sys.argv[1:], answer)
    for number in (signal.SIGINT, signal.SIGTERM):  # the exit code is final: only the interpreter still has to end
        while signal.getsignal(number) is not signal.SIG_IGN:
            with suppress(KeyboardInterrupt):  # one that was pending
                signal.signal(number, signal.SIG_IGN)
    if {"atexit", "threading"}.isdisjoint(sys.modules):  # nothing has to run at exit: skip the clean-up
        with suppress(OSError, ValueError):  # Python's own exit reports it
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
    gc.freeze()  # else Python's garbage collector visits all objects once more
    sys.exit(code)


def _raise_termination(number: int, frame: FrameType | None) -> None:
    """Raise Termination once; a second signal ends the process immediately."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    raise Termination


def main(arguments: Sequence[str], answer: Answer | None = None) -> int:
    """Run one command line, or print the `answer` that another process computed; returns the exit code.

    An interrupt after the command has finished its work does not change the code.
    """
    code: int | None = None  # None until the command has finished
    silence_output(False)  # a command line before this one, in the same process, may have had --quiet
    try:
        if answer:
            answer.write(page_long_output)
            code = answer.code
        else:
            run_command = _find_command(list(arguments) or ["--help"])
            code = run_command()
        sys.stdout.flush()
    except BrokenPipeError:  # the reader went away: write nothing more, not even at exit
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
        return 0
    except KeyboardInterrupt as ending:
        return _report_interrupt(ending) if code is None else code
    except CodelensError as fault:
        _print_traceback_if_asked(arguments)
        report_error(fault)
        return fault.exit_code
    except Exception as fault:
        if typer := sys.modules.get("typer"):
            if isinstance(fault, typer.Exit):
                return int(fault.exit_code)
            if isinstance(fault, typer.Abort):
                return _report_interrupt(fault)
        return _report_unexpected(fault, arguments)
    return code


def _report_interrupt(ending: BaseException) -> int:
    terminated = isinstance(ending, Termination)
    say("; ".join(["terminated" if terminated else "interrupted", *map(str, ending.args)]))
    return TERMINATED if terminated else INTERRUPTED


def _find_command(arguments: list[str]) -> Callable[[], int]:
    """Find the command and bind it to its flags.

    A well-formed command line is read without typer, whose import takes a fifth of a search's CPU.
    """
    shell = os.environ.get(COMPLETION_VARIABLE)
    if arguments[0] == "help" and (len(arguments) == 1 or (len(arguments) == 2 and find_entry_point(arguments[1]))):
        arguments = [*arguments[1:], "--help"]
    if not shell:
        if arguments in (["--version"], ["-V"], ["search", "-V"]):
            from codelens.cli.doctor import print_versions

            return print_versions
        place = find_entry_point(arguments[0])
        command = import_object(place) if place else None
        if isinstance(command, Command) and (values := read_arguments(command, arguments[1:])) is not None:
            return bind_flags(command, values)
    from codelens.cli.typed import build_root_group, print_offers

    group = build_root_group({**ENTRY_POINTS, "More": find_unlisted(arguments[0])})
    if shell:
        return partial(print_offers, shell, arguments, group)
    with group.make_context("codelens", arguments) as context:
        return group.invoke(context)  # type: ignore[no-any-return]


def _report_unexpected(fault: Exception, arguments: Sequence[str]) -> int:
    """Report a fault of typer's private click, recognised by its attributes; any other is reported as a bug of codelens."""
    _print_traceback_if_asked(arguments)
    if not hasattr(fault, "format_message"):
        what = f"{type(fault).__name__}: {fault}"
        if isinstance(fault, OSError) and fault.strerror:
            what = f"{fault.filename}: {fault.strerror}" if fault.filename else fault.strerror
        if isinstance(fault, UnicodeEncodeError):
            odd = (text for text in arguments if text.encode(errors="ignore").decode() != text)
            what = f"this is not UTF-8: {next(odd, fault.object)}"
        say(f"error: {what}")
        say_without_prefix(["hint: use --debug to see where it happened\n"])
        return 2
    context = getattr(fault, "ctx", None)
    path = context.command_path if context is not None else "codelens"
    name = getattr(fault, "option_name", "") if hasattr(fault, "possibilities") else ""
    if name and context is not None:
        from codelens.text.identifiers import find_nearest_word

        params = context.command.get_params(context)
        options = [option for param in params for option in (*param.opts, *param.secondary_opts)]
        known = [option.removeprefix("--") for option in options if option.startswith("--")]
        meant = find_nearest_word(name.removeprefix("--"), known) if name.startswith("--") else ""
        say(f"error: no option {name}" + (f", did you mean --{meant}?" if meant else ""))
    else:
        say(f"error: {fault.format_message().rstrip('.')}")
    say_without_prefix([f"hint: `{path} --help` lists what it takes; after `--` everything is an argument\n"])
    return int(getattr(fault, "exit_code", 2))


def _print_traceback_if_asked(arguments: Sequence[str]) -> None:
    """Print the traceback of the present exception if --debug was given."""
    before_end = arguments[: arguments.index("--")] if "--" in arguments else arguments
    if "--debug" in before_end:
        import traceback

        traceback.print_exc()
