"""codelens feedback: whether a hit was of use."""

from typing import Annotated

from codelens.cli.declare import argument, declare, option
from codelens.cli.recorded import RecordingFlags, notebook_here
from codelens.cli.streams import say
from codelens.cli.workplace import target_here
from codelens.errors import UsageError

VERDICTS = ("useful", "useless")


class FeedbackFlags(RecordingFlags):
    """Which hit, and what it was."""

    hit: Annotated[
        str | None, argument("The hit's number in the last answer, PATH:LINE, or a symbol's name", "HIT")
    ] = None
    verdict: Annotated[str | None, argument("useful or useless", "VERDICT")] = None
    query: Annotated[
        str | None, option("--query", metavar="QUERY", help="For what [default: the last recorded query]")
    ] = None


def feedback(flags: FeedbackFlags) -> int:
    """Say that a hit was useful or useless. It counts until the code around it changes.

    The words of a query come to lead to what was useful for it.
    """
    if flags.hit is None or flags.verdict not in VERDICTS:
        raise UsageError("which hit, and was it useful or useless?", "`codelens feedback 1 useful`")
    with notebook_here(flags, flags.now) as (notebook, index, place):
        hit = flags.hit if flags.hit.isdigit() else target_here(flags.hit, place, index)
        words = index.learnable(flags.query) if flags.query is not None else ()
        judged = notebook.judge(hit, flags.verdict == "useful", flags.query, words)
    if not flags.quiet:
        say(f"{flags.verdict}: {judged.told()}")
    return 0


command = declare(
    "feedback", FeedbackFlags, feedback, epilog="Exit: 0 recorded, 2 no such hit or memory is off, 3 no index."
)
