"""Judge hits against the relevant entries of a task, and compute metrics with ir-measures.

The loose rule is that of the benchmark's published figures: it compares names, ignores case and place, and several hits may
match one entry. The strict rule credits each entry once.

TREC metrics count documents, but here several hits may match one entry. So runs and qrels are built from judgements, in four
ways:

* strict: each hit is the entry that it is credited with, or an unjudged document. The qrels are the entries.
* loose: each hit is a document, and the qrels are the right hits. For recall, the run is the entries found.
* files: as loose, but a hit is right if it is in a relevant file.
* candidates: the run is the entries that any candidate matches.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import PurePosixPath
from typing import Any

from codelens.errors import MissingExtra
from codelens.evaluation.tasks import ABSENT, Relevant, Task
from codelens.model.fast_dataclass import frozen_dataclass

CUTOFF = 10  # Number of judged hits, the cutoff of all published figures


@frozen_dataclass
class NamedHit:
    """A hit's qualified name and path."""

    qualified_name: str
    path: str


Rule = Callable[[NamedHit, Relevant], bool]


@lru_cache(maxsize=4096)
def split_name(name: str) -> tuple[str, ...]:
    """Split a qualified name into its parts: Foo::Bar#baz<T> → (Foo, Bar, baz)."""
    for _ in range(3):
        name = re.sub(r"<[^<>]*>", "", name)
    return tuple(part for part in re.split(r"::|[.#/:$]", name) if part)


def split_hit_name(hit: NamedHit) -> tuple[str, ...]:
    """Split a hit's name into parts, outermost first, without leading package parts that only repeat its path."""
    names = split_name(hit.qualified_name) or (hit.qualified_name,)
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


def loose(hit: NamedHit, truth: Relevant) -> bool:
    """Test a hit by the loose rule: the last names agree, and one has no container or they share an enclosing name; or one name
    contains the other. Ignores case."""
    if not truth.symbol or (truth.pinned and hit.path not in truth.files):
        return not truth.symbol and hit.path in truth.files
    a, b = [part.lower() for part in split_hit_name(hit)], [part.lower() for part in split_name(truth.symbol)]
    if a[-1:] == b[-1:] and (len(a) == 1 or len(b) == 1 or set(a[:-1]) & set(b[:-1])):
        return True
    return _contains_run(a, b) or _contains_run(b, a)


def strict(hit: NamedHit, truth: Relevant) -> bool:
    """Test a hit by the strict rule: it has the entry's name, and the entry's enclosing name if there is one."""
    if not truth.symbol or (truth.pinned and hit.path not in truth.files):
        return not truth.symbol and hit.path in truth.files
    a, b = split_hit_name(hit), split_name(truth.symbol)
    return a[-1:] == b[-1:] and (len(b) == 1 or a[-2:-1] == b[-2:-1])


def same_file(hit: NamedHit, truth: Relevant) -> bool:
    """Test a hit by the strict rule for answers from commits: it has the entry's name and is in a relevant file."""
    is_there = hit.path in truth.files
    return is_there and (not truth.symbol or split_hit_name(hit)[-1:] == split_name(truth.symbol)[-1:])


def _contains_run(outer: Sequence[str], inner: Sequence[str]) -> bool:
    return any(outer[i : i + len(inner)] == inner for i in range(len(outer) - len(inner) + 1))


@frozen_dataclass
class Judgement:
    """A judgement of one result list, for the metrics. Only `among_candidates` goes beyond the first CUTOFF hits."""

    entries: int  # Number of relevant entries
    credited: tuple[int | None, ...]  # For each hit the entry that the strict rule credits to it, each entry once
    loosely_right: tuple[bool, ...]  # True for hits that match any entry by the loose rule
    loosely_found: tuple[int, ...]  # Indices of entries that any hit matches by the loose rule
    in_files: tuple[bool, ...] | None  # True for hits in a relevant file; None if no file is named
    among_candidates: tuple[int, ...]  # Indices of entries that any candidate matches by the strict rule


def judge_hits(task: Task, hits: Sequence[NamedHit], rule: Rule) -> Judgement:
    """Judge a task's candidates, best first; `rule` is `strict` or `same_file`."""
    top, truth = hits[:CUTOFF], task.relevant
    files = {file for entry in truth for file in entry.files}
    matches = [[loose(hit, entry) for entry in truth] for hit in top]
    credited: list[int | None] = []
    for hit in top:
        credited.append(next((i for i, entry in enumerate(truth) if i not in credited and rule(hit, entry)), None))
    missing = dict(enumerate(truth))  # Entries that no candidate matches
    for hit in filter(make_match_filter(truth), hits):
        missing = {i: entry for i, entry in missing.items() if not rule(hit, entry)}
        if not missing:
            break
    return Judgement(
        entries=len(truth),
        credited=tuple(credited),
        loosely_right=tuple(map(any, matches)),
        loosely_found=tuple(i for i in range(len(truth)) if any(row[i] for row in matches)),
        in_files=tuple(hit.path in files for hit in top) if files else None,
        among_candidates=tuple(i for i in range(len(truth)) if i not in missing),
    )


def make_match_filter(truth: Sequence[Relevant]) -> Callable[[NamedHit], bool]:
    """Make a fast test, false for hits that have no entry's name and are not in a file that is an entry itself."""
    names = {part for entry in truth for part in split_name(entry.symbol)[-1:]}
    whole_files = {file for entry in truth if not entry.symbol for file in entry.files}
    return lambda hit: not names.isdisjoint(split_name(hit.qualified_name)[-1:]) or hit.path in whole_files


METRICS = (
    *("P@10", "R@10", "MRR", "hit@10"),
    *("strict_p@10", "strict_r@10", "strict_mrr", "strict_ndcg@10", "strict_hit@1", "strict_hit@3", "strict_hit@10"),
    *("file@10", "candidates", ABSENT),
)  # Metrics of the loose rule, then of the strict rule; `absent` is 1 if a task without an answer has no hit

Values = dict[str, dict[str, float]]  # Task key → metric → value; file@10 only if the task names a file

Documents = Mapping[str, float]  # Document → gain in qrels, score in a run


def load_ir_measures() -> Any:
    """Import the ir-measures library. Raises UsageError if it is not installed."""
    try:
        import ir_measures
    except ImportError:
        raise MissingExtra("measuring", ["ir-measures"], "eval") from None
    return ir_measures


def compute_metrics(judged: Mapping[str, Judgement]) -> Values:
    """Compute all metrics of judged tasks. Raises UsageError if the library is not installed."""
    m = load_ir_measures()
    k, values = CUTOFF, Values()
    names: Mapping[str, Mapping[Any, str]] = {
        "strict": {
            m.P @ k: "strict_p@10",
            m.R @ k: "strict_r@10",
            m.RR: "strict_mrr",
            m.nDCG @ k: "strict_ndcg@10",
            **{m.Success @ first: f"strict_hit@{first}" for first in (1, 3, k)},
        },
        "loose": {m.P @ k: "P@10", m.RR: "MRR", m.Success @ k: "hit@10"},
        "loose entries": {m.SetR: "R@10"},
        "files": {m.Success @ k: "file@10"},
        "candidates": {m.SetR: "candidates"},
    }
    pairs = {key: dict(_make_qrels(answer)) for key, answer in judged.items() if answer.entries}
    values |= {key: {ABSENT: float(not answer.credited)} for key, answer in judged.items() if not answer.entries}
    for picture, named in names.items():
        qrels = {key: pair[picture][0] for key, pair in pairs.items() if picture in pair}
        run = {key: pair[picture][1] for key, pair in pairs.items() if picture in pair}
        for figure in m.iter_calc(list(named), qrels, run) if qrels else ():
            values.setdefault(figure.query_id, {})[named[figure.measure]] = figure.value
    return {key: {name: values[key][name] for name in METRICS if name in values[key]} for key in judged}


def _make_qrels(answer: Judgement) -> Iterator[tuple[str, tuple[dict[str, int], Documents]]]:
    """Yield (way, (qrels, run)) of one task; recall by the loose rule is a way of its own."""
    entries = {f"entry {i}": 1 for i in range(answer.entries)}
    ranked = [f"hit {rank}" if i is None else f"entry {i}" for rank, i in enumerate(answer.credited)]
    yield "strict", (entries, _make_run(ranked))
    yield "loose", _make_hit_qrels(answer.loosely_right)
    yield "loose entries", (entries, _make_run([f"entry {i}" for i in answer.loosely_found]))
    if answer.in_files is not None:
        yield "files", _make_hit_qrels(answer.in_files)
    yield "candidates", (entries, _make_run([f"entry {i}" for i in answer.among_candidates]))


def _make_hit_qrels(right: Sequence[bool]) -> tuple[dict[str, int], Documents]:
    """Make qrels and a run whose documents are hits. Without a right hit, a missing document makes the task count."""
    qrels = {f"hit {rank}": 1 for rank, is_right in enumerate(right) if is_right}
    return qrels or {"not found": 1}, _make_run([f"hit {rank}" for rank in range(len(right))])


def _make_run(documents: Sequence[str]) -> Documents:
    return {name: -float(rank) for rank, name in enumerate(documents)}
