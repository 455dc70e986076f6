"""Tasks and an index → what every feature of every candidate is worth there: all that the learner needs to know of a task.

The order of a profile decides where the walk begins and what it finds, so the features are measured under given weights; those
that have none get one so small that it changes no order, for what weighs nothing is not measured.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from codelens.config import Settings
from codelens.errors import CodelensError, UsageError
from codelens.evaluation.judging import Answer, parts, same_file
from codelens.evaluation.qrels import Relevant, Task
from codelens.model import Candidate, SearchOptions
from codelens.nouns import dataclass
from codelens.search.features import FEATURES
from codelens.search.intent import SHAPES
from codelens.search.pipeline import Ranking, rank
from codelens.search.profiles import Profile, load_profile
from codelens.search.spread import WALK
from codelens.store.store import Store

if TYPE_CHECKING:
    import numpy as np

    Floats = np.ndarray[Any, np.dtype[np.float32]]
    Numbers = np.ndarray[Any, np.dtype[np.int16]]
    Flags = np.ndarray[Any, np.dtype[np.bool_]]

RANKS = "rrf"
"""The column of what the channels' ranks give together, in units of the best possible: its weight is 1 and not learned."""
COLUMNS = (*FEATURES, WALK, RANKS)
"""What is measured of a candidate, in the order of the columns."""
TINY = 1e-9
"""A weight that asks for a value: all of them together are less than any two scores differ."""
ASIDE = frozenset(("test", "docs", "example"))
"""Roles of files that a commit changes along with the code."""


@dataclass(frozen=True, slots=True)
class Measured:
    """One task with its candidates, in the order that they were ranked in; without any where none of them is an answer."""

    task: str
    """Its key."""
    repository: str
    kind: str
    shares: tuple[float, ...]
    """What the query takes of each set of weights, in the order of SHAPES."""
    entries: int
    """How many the truth has."""
    values: Floats
    """Candidates × COLUMNS."""
    credits: Numbers
    """For each candidate the entry of the truth that it answers, -1 for none."""
    aside: Flags
    """For each candidate whether it lies in tests, documentation or examples."""

    @property
    def answered(self) -> bool:
        """Whether any candidate is an answer."""
        return bool(len(self.credits))


def measure_tasks(
    tasks: Sequence[Task], index: Path, settings: Settings, told: Callable[[int], None] | None = None
) -> list[Measured]:
    """Of one index, one after another. A query that cannot be asked has no candidates; `told` hears how many are done.

    The weights that it is measured under are those of the settings. Raises NoIndex, IndexCorrupt, SchemaTooNew and SettingsError.
    """
    options = SearchOptions()
    settings = replace(settings, query_seconds=0.0)  # what is learned must not depend on how busy the machine is
    profile = probing(load_profile(options, settings.weights))
    found = []
    with Store.read(index) as store, store.reading():
        for task in tasks:
            try:
                ranking = rank(task.query, store, options, settings, profile)
                found.append(_measured(task, ranking))
            except UsageError:
                raise
            except CodelensError:
                found.append(_without(task, (0.0,) * len(SHAPES)))
            if told:
                told(len(found))
    return found


def probing(profile: Profile) -> Profile:
    """The profile with a weight for every feature there is, in every set."""
    asked: dict[str, float | Mapping[str, float]] = {}
    for name in (*FEATURES, WALK):
        weight = profile.features.get(name, {})
        if isinstance(weight, float | int):
            asked[name] = weight or TINY
        else:
            asked[name] = {shape: weight.get(shape) or TINY for shape in SHAPES}
    return replace(profile, features=asked)


def _measured(task: Task, ranking: Ranking) -> Measured:
    import numpy as np

    intent = ranking.trace.intent
    shares = tuple(intent.shares.get(shape, 0.0) for shape in SHAPES) if intent else (0.0,) * len(SHAPES)
    credits = _credits(ranking.candidates, task.relevant)
    if max(credits, default=-1) < 0:
        return _without(task, shares)
    place = {name: at for at, name in enumerate(COLUMNS)}
    values = np.zeros((len(credits), len(COLUMNS)), np.float32)
    for row, candidate in zip(values, ranking.candidates, strict=True):
        for name, _, value in candidate.measured:
            row[place[name]] = value
        for told in candidate.told:
            if told.source == WALK:
                row[place[told.source]] = told.operands["value"]
            elif told.source in candidate.channels:
                row[place[RANKS]] += told.amount * (ranking.profile.rrf_k + 1)
    aside = [bool(ASIDE & set(candidate.unit.roles)) for candidate in ranking.candidates]
    return Measured(
        *(task.key, task.repository, task.kind, shares, len(task.relevant), values),
        *(np.array(credits, np.int16), np.array(aside, np.bool_)),
    )


def _without(task: Task, shares: tuple[float, ...]) -> Measured:
    import numpy as np

    none = np.zeros((0, len(COLUMNS)), np.float32)
    left = np.zeros(0, np.int16), np.zeros(0, np.bool_)
    return Measured(task.key, task.repository, task.kind, shares, len(task.relevant), none, *left)


def _credits(candidates: Sequence[Candidate], truth: Sequence[Relevant]) -> list[int]:
    """For each candidate the first entry that it answers, by the rule of what a commit changed."""
    names = {part for entry in truth for part in parts(entry.symbol)[-1:]}
    whole = {file for entry in truth if not entry.symbol for file in entry.files}
    found = []
    for candidate in candidates:
        unit, credit = candidate.unit, -1
        if not names.isdisjoint(parts(unit.qualified_name)[-1:]) or unit.path in whole:
            answer = Answer(unit.qualified_name, unit.path)
            credit = next((at for at, entry in enumerate(truth) if same_file(answer, entry)), -1)
        found.append(credit)
    return found
