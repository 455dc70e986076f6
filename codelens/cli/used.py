"""codelens used: which places of the last answer were of use, as an editor or an agent sees it."""

from typing import Annotated

from codelens.cli.declare import argument, declare
from codelens.cli.recorded import RecordingFlags, notebook_here
from codelens.cli.streams import say, write
from codelens.cli.workplace import target_here
from codelens.errors import UsageError


class UsedFlags(RecordingFlags):
    """What was used."""

    targets: Annotated[
        list[str] | None, argument("Files that were read or changed, PATH:LINE, or symbols' names", "FILE...")
    ] = None


def used(flags: UsedFlags) -> int:
    """Say what of the last search's hits, or of the last context's symbols, was used.

    Those places are judged useful; the rest of that answer is judged useless once the next is asked for.
    """
    if not flags.targets:
        raise UsageError("what was used?", "`codelens used FILE...`")
    with notebook_here(flags, flags.now) as (notebook, index, place):
        places = notebook.used([target_here(target, place, index) for target in flags.targets])
    if not flags.quiet:
        write([f"{used.told()}\n" for used in places])
    if not places and not flags.quiet:
        say("nothing of the last answer lies there")
    return 0 if places else 1


command = declare(
    "used",
    UsedFlags,
    used,
    epilog="Exit: 0 recorded, 1 nothing of the last answer was used, 2 no answer or memory is off, 3 no index.",
)
