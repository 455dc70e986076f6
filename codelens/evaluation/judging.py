"""A truth and the hits → which hits are right, by two rules. Metrics are reckoned elsewhere, from what is judged here.

The loose rule is that of the published figures of the benchmark that the development tasks come from: it goes by names,
whatever their case and place, and several hits may match one entry. The strict one credits each entry once.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from pathlib import PurePosixPath

from codelens.evaluation.qrels import Relevant, Task
from codelens.nouns import dataclass

CUTOFF = 10
"""Hits that are judged: what a person looks at, and the cutoff of all published figures."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A hit as a judge sees it."""

    qualified_name: str
    path: str


Rule = Callable[[Answer, Relevant], bool]


@lru_cache(maxsize=4096)
def parts(name: str) -> tuple[str, ...]:
    """Foo::Bar#baz<T> → (Foo, Bar, baz)"""
    for _ in range(3):
        name = re.sub(r"<[^<>]*>", "", name)
    return tuple(part for part in re.split(r"::|[.#/:$]", name) if part)


def parts_of(hit: Answer) -> tuple[str, ...]:
    """Enclosing names and name of a hit, without leading package parts that only repeat its path."""
    names = parts(hit.qualified_name) or (hit.qualified_name,)
    if len(names) == 1:
        return names
    path = PurePosixPath(hit.path)
    package = {"crate", "self", *path.parts[:-1], *(part.replace("-", "_") for part in path.parts[:-1])}
    stem = path.name.split(".")[0]
    if not stem[:1].isupper():
        package.add(stem)
    while len(names) > 1 and names[0] in package:
        names = names[1:]
    return names


def loose(hit: Answer, truth: Relevant) -> bool:
    """The last names agree and either is bare or they share an enclosing one; or one stands within the other. Case aside."""
    if not _may_lie_there(hit, truth) or not truth.symbol:
        return _is_that_file(hit, truth)
    a, b = [part.lower() for part in parts_of(hit)], [part.lower() for part in parts(truth.symbol)]
    if a[-1:] == b[-1:] and (len(a) == 1 or len(b) == 1 or set(a[:-1]) & set(b[:-1])):
        return True
    return _holds(a, b) or _holds(b, a)


def strict(hit: Answer, truth: Relevant) -> bool:
    """The same name, and the same enclosing name where the truth has one."""
    if not _may_lie_there(hit, truth) or not truth.symbol:
        return _is_that_file(hit, truth)
    a, b = parts_of(hit), parts(truth.symbol)
    return a[-1:] == b[-1:] and (len(b) == 1 or a[-2:-1] == b[-2:-1])


def same_file(hit: Answer, truth: Relevant) -> bool:
    """The same name in a file that the truth names: the strict rule for what a commit changed."""
    if not truth.symbol:
        return _is_that_file(hit, truth)
    return hit.path in truth.files and parts_of(hit)[-1:] == parts(truth.symbol)[-1:]


def _may_lie_there(hit: Answer, truth: Relevant) -> bool:
    return not truth.pinned or hit.path in truth.files


def _is_that_file(hit: Answer, truth: Relevant) -> bool:
    """For an entry that names a file and nothing in it."""
    return not truth.symbol and hit.path in truth.files


def _holds(outer: Sequence[str], inner: Sequence[str]) -> bool:
    return any(outer[i : i + len(inner)] == inner for i in range(len(outer) - len(inner) + 1))


@dataclass(frozen=True, slots=True)
class Judged:
    """One answer against its truth: all that the metrics need. Of the first CUTOFF hits, but for `among_candidates`."""

    entries: int
    """How many the truth has."""
    credited: tuple[int | None, ...]
    """For each hit the entry that it is credited with by the strict rule; none twice."""
    loosely_right: tuple[bool, ...]
    """For each hit whether it matches any entry by the loose rule."""
    loosely_found: tuple[int, ...]
    """The entries that any hit matches by the loose rule."""
    in_files: tuple[bool, ...] | None
    """For each hit whether it lies in a file of the truth; None where the truth names none."""
    among_candidates: tuple[int, ...]
    """The entries that anything of the whole order fits by the strict rule."""


def judge(task: Task, hits: Sequence[Answer], rule: Rule, candidates: Iterable[Answer] = ()) -> Judged:
    """`hits` best first; `rule` is `strict` or `same_file`; `candidates` is the whole order."""
    top, truth = hits[:CUTOFF], task.relevant
    files = {file for entry in truth for file in entry.files}
    matches = [[loose(hit, entry) for entry in truth] for hit in top]
    return Judged(
        entries=len(truth),
        credited=_credited(top, truth, rule),
        loosely_right=tuple(map(any, matches)),
        loosely_found=tuple(i for i in range(len(truth)) if any(row[i] for row in matches)),
        in_files=tuple(hit.path in files for hit in top) if files else None,
        among_candidates=_found(candidates, truth, rule),
    )


def _credited(hits: Sequence[Answer], truth: Sequence[Relevant], rule: Rule) -> tuple[int | None, ...]:
    found: list[int | None] = []
    for hit in hits:
        found.append(next((i for i, entry in enumerate(truth) if i not in found and rule(hit, entry)), None))
    return tuple(found)


def _found(candidates: Iterable[Answer], truth: Sequence[Relevant], rule: Rule) -> tuple[int, ...]:
    """Candidates are hundreds: only those that bear a name of the truth, or lie in a whole file of it, are taken apart."""
    missing = dict(enumerate(truth))
    names = {part for entry in truth for part in parts(entry.symbol)[-1:]}
    whole_files = {file for entry in truth if not entry.symbol for file in entry.files}
    for candidate in candidates:
        if names.isdisjoint(parts(candidate.qualified_name)[-1:]) and candidate.path not in whole_files:
            continue
        for i in [i for i, entry in missing.items() if rule(candidate, entry)]:
            del missing[i]
        if not missing:
            break
    return tuple(i for i in range(len(truth)) if i not in missing)
