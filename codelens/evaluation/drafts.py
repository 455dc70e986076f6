"""From definitions of a tree to tasks: what prose may mean by a name, drafts of tasks, and samples of drafts.

Each maker of tasks yields drafts: a query and the definitions that answer it. A sample is drawn by hash, so that the same tree
always gives the same tasks.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence

import xxhash

from codelens.evaluation.metrics import name_parts
from codelens.evaluation.tasks import Place, Row, make_row
from codelens.evaluation.trees import TreeText
from codelens.model.code import SYMBOL_KINDS
from codelens.model.extraction import Unit
from codelens.model.fast_dataclass import dataclass
from codelens.text.identifiers import split_identifier
from codelens.worktree.classify import path_roles

MOST_NAMESAKES = 2  # Most definitions that a name may mean
SHORTEST = 3  # Minimum length of a name
# Number of answers of a topic or a concept. Fewer belong to documentation tasks, more are lists of everything.
FEWEST_ANSWERS, MOST_ANSWERS = 2, 8
LEFT_OUT = frozenset({"test", "docs", "example", "vendored", "generated"})  # Roles of paths that prose does not mean
LABELS = {"documentation": "doc", "identifier": "name"}  # Kind → its name in ids of tasks
_ITSELF = frozenset({"self", "this", "cls", "Self"})
_TESTS = frozenset({"test", "tests"})  # Names of inner modules that hold tests
_TOKEN = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class PlacedUnit:
    """A definition and its path."""

    path: str
    unit: Unit

    @property
    def place(self) -> Place:
        """(path, qualified name)"""
        return self.path, self.unit.qualified_name


@dataclass(frozen=True, slots=True)
class TaskDraft:
    """A query and the definitions that answer it. Drafts are sampled in the order of a hash of their `seed`."""

    query: str
    answers: tuple[PlacedUnit, ...]
    seed: str


def sample_rows(
    repository: str,
    kind: str,
    drafts: Iterable[TaskDraft],
    wanted: int,
    *,
    fold: Callable[[str], str] = str,
    is_usable: Callable[[TaskDraft], bool] = lambda draft: True,
) -> list[Row]:
    """Tasks of at most `wanted` drafts. Queries that are equal after `fold` are dropped."""
    drafts = sorted(drafts, key=lambda draft: (hash_text(f"codelens made {draft.seed}"), draft.query))
    counts = Counter(fold(draft.query) for draft in drafts)
    rows: list[Row] = []
    for draft in drafts:
        if len(rows) == wanted:
            break
        if counts[fold(draft.query)] == 1 and is_usable(draft):
            identity = f"{repository}-{LABELS.get(kind, kind)}-{len(rows)}"
            rows.append(make_row(identity, repository, draft.query, relevant_entries(draft.answers), kind))
    return rows


def hash_text(text: str) -> int:
    """A hash that decides what is drawn."""
    return xxhash.xxh3_64_intdigest(text.encode())


def relevant_entries(answers: Iterable[PlacedUnit]) -> list[dict[str, object]]:
    """The relevant entries of a task; a name declared and defined in two files is one entry with two files."""
    files: dict[str, set[str]] = {}
    for answer in answers:
        files.setdefault(answer.unit.qualified_name, set()).add(answer.path)
    return [{"symbol": symbol, "files": sorted(paths)} for symbol, paths in files.items()]


def contains_name(query: str, answers: Iterable[PlacedUnit]) -> bool:
    """True if a query contains one of the names, in one word or several: `json parsers` contains JsonParser."""
    words = [word for token in _TOKEN.findall(query) for word in split_identifier(token)]
    text = f" {' '.join(words)} "
    names = {" ".join(split_identifier(answer.unit.name)) for answer in answers}
    return any(f" {name} " in text or f" {name}s " in text for name in names)


class UnitsByName:
    """The definitions of a tree that prose may mean, by name."""

    def __init__(self, texts: Sequence[TreeText]) -> None:
        self._by_name: dict[str, dict[Place, PlacedUnit]] = {}
        for text in texts:
            for unit in () if LEFT_OUT & path_roles(text.path) else text.answers:
                if len(unit.name) >= SHORTEST and can_be_meant(unit):
                    placed = PlacedUnit(text.path, unit)
                    self._by_name.setdefault(unit.name, {}).setdefault(placed.place, placed)

    def find(self, name: str, receiver: str = "", around: PlacedUnit | None = None) -> tuple[PlacedUnit, ...]:
        """The definitions that a name may mean. `receiver` is the text before its last dot, `around` the definition that
        mentions it."""
        namesakes = tuple(self._by_name.get(name, {}).values())
        before = name_parts(receiver)[-1:]
        if before and before[0] not in _ITSELF:
            folded = before[0].casefold()
            units = tuple(
                unit for unit in namesakes if "".join(name_parts(unit.unit.container)[-1:]).casefold() == folded
            )
            units = units or tuple(unit for unit in namesakes if folded in _modules(unit.path))
        else:
            near = tuple(unit for unit in namesakes if around and _are_near(unit, around))
            units = near or tuple(unit for unit in namesakes if not unit.unit.container) or namesakes
        return units if len(units) <= MOST_NAMESAKES else ()


def can_be_meant(unit: Unit) -> bool:
    """True unless the unit is a test or a constructor, which goes by its type's name."""
    around = name_parts(unit.container)
    return unit.kind in SYMBOL_KINDS and around[-1:] != (unit.name,) and _TESTS.isdisjoint(around)


def _modules(path: str) -> set[str]:
    """The folder and file names that may qualify a definition."""
    return {part.partition(".")[0].casefold() for part in path.split("/")}


def _are_near(member: PlacedUnit, other: PlacedUnit) -> bool:
    """True if `member` is a member of the other, or both belong to the same type."""
    containers = {other.unit.container, other.unit.qualified_name} - {""}
    return member.path == other.path and member.unit.container in containers
