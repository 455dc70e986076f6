"""codelens rate: how good a symbol or file is, in a person's eyes."""

from typing import Annotated

from codelens.cli.declare import argument, declare
from codelens.cli.recorded import RecordingFlags, notebook_here
from codelens.cli.streams import say
from codelens.cli.workplace import target_here
from codelens.errors import UsageError


class RateFlags(RecordingFlags):
    """What is rated, and how."""

    target: Annotated[str | None, argument("PATH, PATH:LINE or a symbol's name", "TARGET")] = None
    rating: Annotated[float | None, argument("0 to 10; 5 changes nothing", "RATING")] = None


def rate(flags: RateFlags) -> int:
    """Rate a file or a symbol from 0 to 10, in the place of an earlier rating. A symbol's own counts before its file's."""
    if flags.target is None or flags.rating is None:
        raise UsageError("rate what, and how?", "`codelens rate src/app.py 8`")
    with notebook_here(flags, flags.now) as (notebook, index, place):
        rated = notebook.rate(target_here(flags.target, place, index), flags.rating)
    if not flags.quiet:
        say(f"rated {rated.told()} {flags.rating:g} of 10")
    return 0


command = declare("rate", RateFlags, rate, epilog="Exit: 0 rated, 2 no such target or memory is off, 3 no index.")
