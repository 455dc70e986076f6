"""The ways to turn the channels' matches into scored candidates. Each profile in weights.toml names its ranker."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

from codelens.model.code import UnitId
from codelens.model.fast_dataclass import dataclass
from codelens.model.search import Candidate
from codelens.search.channels import Findings
from codelens.search.evidence import Evidence
from codelens.search.run import SearchRun
from codelens.search.walk import WalkPaths


@dataclass(frozen=True, slots=True)
class Ranking:
    """The scored candidates of a search, and what they were scored by."""

    run: SearchRun
    findings: Findings
    candidates: list[Candidate]
    evidence: Evidence | None = None  # None if the ranker measured nothing
    ways: WalkPaths | None = None  # How the walk came to units; None without a walk

    def rank_of(self, unit: UnitId) -> int | None:
        """The place of a unit in the order, from 1; None if it is not a candidate."""
        return next((i for i, c in enumerate(self.candidates, start=1) if c.unit.id == unit), None)


Rank = Callable[[SearchRun, Findings], Ranking]
"""Candidates with the contributions to their scores, in any order, of what the channels found."""


def load_ranker(name: str) -> Rank:
    """The function `rank` of the module of this name, imported at first use: a search must not pay for other rankers."""
    rank: Rank = import_module(f"{__name__}.{name}").rank
    return rank
