"""The ways to turn the channels' matches into scored candidates. Each profile in weights.toml names its ranker."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Protocol

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


class Ranker(Protocol):
    """One way to score."""

    def rank(self, run: SearchRun, findings: Findings) -> Ranking:
        """Candidates with the contributions to their scores, in any order."""
        ...


class _Rankers(dict[str, Ranker]):
    """Name → the RANKER of the module of this name, imported at first use: a search must not pay for other rankers."""

    def __missing__(self, name: str) -> Ranker:
        ranker: Ranker = import_module(f"{__name__}.{name}").RANKER
        self[name] = ranker
        return ranker


RANKERS: Mapping[str, Ranker] = _Rankers()
