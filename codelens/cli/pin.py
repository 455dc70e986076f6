"""codelens pin: what is pinned ranks a little higher wherever it fits."""

from typing import Annotated

from codelens.cli.declare import argument, declare
from codelens.cli.recorded import RecordingFlags, notebook_here
from codelens.cli.streams import say
from codelens.cli.workplace import target_here
from codelens.errors import UsageError


class PinFlags(RecordingFlags):
    """What is pinned."""

    target: Annotated[str | None, argument("PATH:LINE or a symbol's name; PATH for all of a file", "TARGET")] = None


def pin(flags: PinFlags) -> int:
    """Pin a symbol or a file: where it fits a query it ranks higher, until it is unpinned."""
    if flags.target is None:
        raise UsageError("pin what?", "`codelens pin PATH:LINE`, or a symbol's name")
    with notebook_here(flags, flags.now) as (notebook, index, place):
        pinned = notebook.pin(target_here(flags.target, place, index))
    if not flags.quiet:
        say(f"pinned {pinned.told()}")
    return 0


command = declare("pin", PinFlags, pin, epilog="Exit: 0 pinned, 2 no such target or memory is off, 3 no index.")
