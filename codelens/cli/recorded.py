"""What the commands of memory share: recording an answer, and the notebook of the index at hand."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from codelens.cli.asked import moment
from codelens.cli.flags import CommonFlags, Now
from codelens.cli.streams import say
from codelens.cli.workplace import Workplace, reading_place
from codelens.errors import MemoryFault
from codelens.index import Index
from codelens.model import UnitRow

if TYPE_CHECKING:
    from codelens.memory.notebook import Notebook


class RecordingFlags(CommonFlags):
    """What every command that records takes."""

    now: Now = None


def record(
    index: Index, query: str, found: Sequence[tuple[int, UnitRow, int]], now: int | None, words: str | None = None
) -> None:
    """Record an answer; where that cannot be, the answer has been given all the same, and a note says so."""
    try:
        index.record(query, found, words=words, now=now)
    except MemoryFault as fault:
        say(f"note: not recorded: {fault}; {fault.hint}")


@contextmanager
def notebook_here(flags: CommonFlags, now: str | None = None) -> Iterator[tuple[Notebook, Index, Workplace]]:
    """The memory of the nearest index, open for as long as the context lasts."""
    place = reading_place(flags)
    with place.open() as index:
        yield index.notebook(now=moment(now)), index, place
