"""A task's truth and the hits → figures: how many of the first ten are right, and where they stand.

Two rules say when a hit is right. The loose one is that of the published figures; the strict one credits each entry once.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

CUTOFF = 10


@dataclass(frozen=True, slots=True)
class Relevant:
    """One entry of a truth: 'Container.name', and the files that it may lie in (none: anywhere)."""

    symbol: str
    files: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Task:
    """A question and what answers it."""

    id: str
    repository: str
    query: str
    relevant: tuple[Relevant, ...]


@dataclass(frozen=True, slots=True)
class Answer:
    """A hit as a scorer sees it."""

    qualified_name: str
    path: str


Rule = Callable[[Answer, Relevant], bool]


def read_tasks(path: Path) -> list[Task]:
    """Of a file with one JSON object a line: id, repo, query and relevant, each with symbol and files."""
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    return [
        Task(
            row["id"],
            row["repo"],
            row["query"],
            tuple(Relevant(entry["symbol"], tuple(entry["files"])) for entry in row["relevant"]),
        )
        for row in rows
    ]


def parts(name: str) -> list[str]:
    """Foo::Bar#baz<T> → [Foo, Bar, baz]"""
    for _ in range(3):
        name = re.sub(r"<[^<>]*>", "", name)
    return [part for part in re.split(r"::|[.#/:$]", name) if part]


def parts_of(hit: Answer) -> list[str]:
    """Enclosing names and name of a hit, without leading package parts that only repeat its path."""
    path = PurePosixPath(hit.path)
    names = parts(hit.qualified_name) or [hit.qualified_name]
    package = {"crate", "self", *path.parts[:-1], *(part.replace("-", "_") for part in path.parts[:-1])}
    stem = path.name.split(".")[0]
    if not stem[:1].isupper():
        package.add(stem)
    while len(names) > 1 and names[0] in package:
        names = names[1:]
    return names


def loose(hit: Answer, truth: Relevant) -> bool:
    """The last names agree and either is bare or they share an enclosing one; or one stands within the other. Case aside."""
    a, b = [part.lower() for part in parts_of(hit)], [part.lower() for part in parts(truth.symbol)]
    if a[-1:] == b[-1:] and (len(a) == 1 or len(b) == 1 or set(a[:-1]) & set(b[:-1])):
        return True
    return _holds(a, b) or _holds(b, a)


def strict(hit: Answer, truth: Relevant) -> bool:
    """The same name, and the same enclosing name where the truth has one."""
    a, b = parts_of(hit), parts(truth.symbol)
    return a[-1:] == b[-1:] and (len(b) == 1 or a[-2:-1] == b[-2:-1])


def same_file(hit: Answer, truth: Relevant) -> bool:
    """The same name in a file that the truth names: the strict rule for what a commit changed."""
    return parts_of(hit)[-1:] == parts(truth.symbol)[-1:] and hit.path in truth.files


def _holds(outer: Sequence[str], inner: Sequence[str]) -> bool:
    return any(outer[i : i + len(inner)] == inner for i in range(len(outer) - len(inner) + 1))


def score(task: Task, hits: Sequence[Answer], rule: Rule) -> Mapping[str, float]:
    """P@10 by the loose rule, in which several hits may match one entry; sP@10, snDCG@10 and shit@10 by `rule`."""
    top = hits[:CUTOFF]
    found: set[int] = set()
    credited = []
    for hit in top:
        entry = next((i for i, t in enumerate(task.relevant) if i not in found and rule(hit, t)), None)
        credited.append(entry is not None)
        found |= {entry} if entry is not None else set()
    return {
        "P@10": sum(any(loose(hit, t) for t in task.relevant) for hit in top) / CUTOFF,
        "sP@10": sum(credited) / CUTOFF,
        "snDCG@10": _dcg(credited) / _dcg([True] * min(CUTOFF, len(task.relevant))),
        "shit@10": float(any(credited)),
    }


def _dcg(flags: Sequence[bool]) -> float:
    return math.fsum(1 / math.log2(place + 2) for place, flag in enumerate(flags) if flag)
