"""Reciprocal rank fusion of the channels and nothing else: the profiles `rrf`, `graph-memory` and `codexlens`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from codelens.model.search import Candidate, Match
from codelens.search.fuse import fuse_matches
from codelens.search.rankers import RANKERS, Ranker
from codelens.search.run import SearchRun


class RankFusion:
    """Scores by ranks alone. If --expand or a user's file of weights adds features, the learned ranker takes over."""

    def rank(self, run: SearchRun, matches: Mapping[str, Sequence[Match]]) -> list[Candidate]:
        """One contribution for each channel that found the unit."""
        return RANKERS["learned"].rank(run, matches) if run.weights else fuse_matches(run, matches)


RANKER: Ranker = RankFusion()
