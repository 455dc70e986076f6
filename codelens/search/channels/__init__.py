"""The ways to find things. Each ranks on its own and knows nothing of the others; fusion joins them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from codelens.model import Match
from codelens.search.expand import ExpandedQuery
from codelens.store.store import Store


class Channel(Protocol):
    """One way to find units."""

    name: str

    def retrieve(self, query: ExpandedQuery, store: Store, limit: int) -> Sequence[Match]:
        """The best `limit` matches, best first, each unit once; [] if the channel has nothing to say."""
        ...
