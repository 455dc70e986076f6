"""Rankers turn the channels' matches into scored candidates. Each profile in weights.toml names its ranker."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

from codelens.model.code import UnitId
from codelens.model.fast_dataclass import dataclass
from codelens.model.search import Candidate
from codelens.search.channels import Findings
from codelens.search.evidence import Evidence
from codelens.search.run import SearchRun
from codelens.search.walk import SymbolWalk


@dataclass(frozen=True, slots=True)
class Ranking:
    """The scored candidates of a search, with the data that their scores come from."""

    run: SearchRun
    findings: Findings
    candidates: list[Candidate]
    evidence: Evidence | None = None  # None if the ranker measured nothing
    walk: SymbolWalk | None = None  # None without a walk whose paths explain scores

    def find_rank(self, unit: UnitId) -> int | None:
        """Find the rank of a unit, from 1; None if it is not a candidate."""
        return next((i for i, c in enumerate(self.candidates, start=1) if c.unit.id == unit), None)


Rank = Callable[[SearchRun, Findings], Ranking]
"""A function that makes scored candidates, in any order, from a run and the channels' findings."""


def load_ranker(name: str) -> Rank:
    """Import a ranker's module and return its function `rank`, so that a search does not import other rankers."""
    rank: Rank = import_module(f"{__name__}.{name}").rank
    return rank
