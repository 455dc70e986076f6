"""The ways to turn the channels' matches into scored candidates. Each profile in weights.toml names its ranker."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Protocol

from codelens.model.search import Candidate, Match
from codelens.search.run import SearchRun


class Ranker(Protocol):
    """One way to score."""

    def rank(self, run: SearchRun, matches: Mapping[str, Sequence[Match]]) -> list[Candidate]:
        """Candidates with the contributions to their scores, in any order; `matches` are the rankings of the channels."""
        ...


class _Rankers(dict[str, Ranker]):
    """Name → the RANKER of the module of this name, imported at first use: a search must not pay for other rankers."""

    def __missing__(self, name: str) -> Ranker:
        ranker: Ranker = import_module(f"{__name__}.{name}").RANKER
        self[name] = ranker
        return ranker


RANKERS: Mapping[str, Ranker] = _Rankers()
