"""codelens memory forget: erase what is recorded, of one thing or altogether."""

import sys
from typing import Annotated

from codelens.cli.declare import argument, declare, option
from codelens.cli.flags import CommonFlags
from codelens.cli.recorded import notebook_here
from codelens.cli.streams import say
from codelens.cli.workplace import target_here
from codelens.errors import UsageError


class ForgetFlags(CommonFlags):
    """What is forgotten."""

    target: Annotated[
        str | None, argument("PATH, PATH:LINE or a symbol's name, in the index or no more", "[TARGET]")
    ] = None
    all: Annotated[bool, option("--all", help="All of it: the file goes")] = False
    yes: Annotated[bool, option("-y", "--yes", help="Do not ask before all of it goes")] = False


def forget(flags: ForgetFlags) -> int:
    """Erase all that is recorded of a symbol or file, or of everything. Queries that led to it are erased with it."""
    if (flags.target is None) == (not flags.all):
        raise UsageError("forget what?", "`codelens memory forget TARGET`, or --all")
    with notebook_here(flags) as (notebook, index, place):
        if flags.target is not None:
            gone = notebook.forget(target_here(flags.target, place, index))
            lines = [f"forgot {one.told()}" for one in gone]
        elif not notebook.path.is_file():
            lines = ["nothing was recorded"]
        elif flags.yes or _agreed(str(notebook.path)):
            notebook.forget_all()
            lines = [f"removed {notebook.path}"]
        else:
            lines = ["kept"]
    for line in lines if not flags.quiet else ():
        say(line)
    return 1 if lines == ["kept"] else 0


def _agreed(path: str) -> bool:
    if not sys.stdin.isatty():
        raise UsageError(f"this would remove {path}", "say --yes where nobody can be asked")
    sys.stderr.write(f"remove {path}? [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")


command = declare(
    "forget", ForgetFlags, forget, epilog="Exit: 0 forgotten, 1 kept, 2 nothing is recorded of it, 3 no index."
)
