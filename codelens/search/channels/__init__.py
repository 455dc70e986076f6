"""The ways to find units. Each channel ranks by itself and knows nothing of the others; a ranker joins them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from codelens.model.search import Match
from codelens.search.run import SearchRun


class Channel(Protocol):
    """One way to find units."""

    name: str

    def retrieve(self, run: SearchRun, limit: int) -> Sequence[Match]:
        """The best `limit` matches, best first, each unit once; [] if the channel finds nothing."""
        ...
