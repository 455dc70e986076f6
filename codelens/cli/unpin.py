"""codelens unpin: what `pin` did, undone."""

from codelens.cli.declare import declare
from codelens.cli.pin import PinFlags
from codelens.cli.recorded import notebook_here
from codelens.cli.streams import say
from codelens.cli.workplace import target_here
from codelens.errors import UsageError


def unpin(flags: PinFlags) -> int:
    """Take a pin away."""
    if flags.target is None:
        raise UsageError("unpin what?", "`codelens memory show` lists what is pinned")
    with notebook_here(flags, flags.now) as (notebook, index, place):
        unpinned, was = notebook.unpin(target_here(flags.target, place, index))
    if not flags.quiet:
        say(f"{'unpinned' if was else 'not pinned:'} {unpinned.told()}")
    return 0 if was else 1


command = declare(
    "unpin",
    PinFlags,
    unpin,
    epilog="Exit: 0 unpinned, 1 it was not pinned, 2 no such target or memory is off, 3 no index.",
)
