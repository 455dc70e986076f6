"""Recompute the scores of `search --json` from `why --json`: `python -m tools.bench.recheck INDEX [QUERIES]`.

QUERIES has one query per line; the default is 200 queries made from the index. The contributions of every hit are computed from
their operands and added, and compared with the printed score and rank. Only the JSON texts are used, none of the ranking's
code.
"""

from __future__ import annotations

import json
import math
import random
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from codelens.config import Settings
from codelens.errors import CodelensError
from codelens.index import Index
from codelens.model.code import SYMBOL_KINDS, UnitRow
from codelens.model.request import SearchOptions
from codelens.render.records import Record, build_search_record, to_json
from codelens.render.why_json import TOLERANCE, build_why_record, recompute_scores

SEED = 7
SHAPES: Sequence[Callable[[UnitRow, UnitRow], str]] = (
    lambda u, other: u.name,
    lambda u, other: u.qualified_name,
    lambda u, other: f"kind:{u.kind} {u.name}",
    lambda u, other: u.name[:2] + u.name[3:] if len(u.name) > 5 else u.name + "x",  # a typing mistake
    lambda u, other: f"/{u.name[:3]}\\w+\\(/",
    lambda u, other: f'"{u.name}" -is:test',
    lambda u, other: f"{u.name} OR {other.name}",
    lambda u, other: f"path:{u.path.partition('/')[0]} {u.name} error handling",
    lambda u, other: f"`{u.name}` case:yes",
    lambda u, other: f"{u.name[:4]} read config file",
    lambda u, other: u.doc.partition("\n")[0] or f"{u.name} {other.container}",
    lambda u, other: f"where is {u.name} used by {other.name}",
    lambda u, other: f"lang:{u.language} {u.name} {other.name} NOT {u.container or 'nothing'}",
)  # A unit and another one → a query about them: names, mistakes, filters, patterns, alternatives, prose


def make_queries(index: Index, count: int) -> list[str]:
    """At most `count` different queries, the shapes in turn; fewer where the index holds few names."""
    paths = dict.fromkeys(path for _, path in index.files(SearchOptions()))
    units = [u for path in paths for u in index.symbols(path) if u.kind in SYMBOL_KINDS and u.name.isidentifier()]
    draw = random.Random(SEED)
    found: dict[str, None] = {}
    for turn in range(4 * count if units else 0):
        found.setdefault(SHAPES[turn % len(SHAPES)](draw.choice(units), draw.choice(units)).replace("\n", " "))
        if len(found) == count:
            break
    return list(found)


MADE = 200  # Queries, where none are given


@dataclass(slots=True)
class Recheck:
    """Counts of compared values, and the differences."""

    queries: int = 0
    without_hits: int = 0
    hits: int = 0
    contributions: int = 0
    largest: float = 0.0  # The largest distance of a recomputed score from the printed one
    refused: list[str] = field(default_factory=list)  # Queries that the search refuses: a pattern that takes too long
    differences: list[str] = field(default_factory=list)


def recheck(index: Index, queries: Iterable[str], options: SearchOptions) -> Recheck:
    """Ask each query twice, once as search and once as why, and compare the two texts."""
    found = Recheck()
    for query in queries:
        try:
            searched = to_json(build_search_record(index.search(query, options), 0))
            explained = to_json(build_why_record(index.why(query, (), options), 0))
        except CodelensError as fault:
            found.refused.append(f"{query}: {fault}")
            continue
        _compare(query, json.loads(searched)["results"], json.loads(explained), found)
    return found


def _compare(query: str, hits: list[Record], why: Record, found: Recheck) -> None:
    found.queries += 1
    found.without_hits += not hits
    found.hits += len(hits)
    found.differences += [f"{query}: {line}" for line in recompute_scores(why)[1]]
    explained = [explanation["candidate"] for explanation in why["explanations"]]
    if len(explained) != len(hits):
        found.differences.append(f"{query}: {len(hits)} hits, {len(explained)} explanations")
    for hit, candidate in zip(hits, explained, strict=False):
        found.contributions += len(candidate["contributions"])
        found.differences += [f"{query}: {line}" for line in _differences(hit, candidate)]
        found.largest = max(found.largest, abs(_sum(candidate) - hit["score"]))


def _differences(hit: Record, candidate: Record) -> Iterator[str]:
    for key in ("path", "start_byte", "end_byte", "kind", "qualified_name", "rank", "channels", "contributions"):
        if hit[key] != candidate[key]:
            yield f"#{hit['rank']} {hit['qualified_name']}: {key} is {hit[key]!r}, why says {candidate[key]!r}"
    if not candidate["contributions"]:
        yield f"#{hit['rank']} {hit['qualified_name']}: nothing contributes to it"
    if abs(_sum(candidate) - hit["score"]) > TOLERANCE:
        yield f"#{hit['rank']} {hit['qualified_name']}: score {hit['score']!r}, recomputed {_sum(candidate)!r}"


def _sum(candidate: Record) -> float:
    return math.fsum(part["amount"] for part in candidate["contributions"])


def main(arguments: list[str]) -> int:
    """Print the figures; 0 if all agree, 1 if something differs, 2 for wrong arguments."""
    if len(arguments) not in (1, 2):
        sys.stderr.write(f"{__doc__}")
        return 2
    with Index.open(Path(arguments[0]), Settings()) as index:
        if len(arguments) == 2:
            queries = [line for line in Path(arguments[1]).read_text(encoding="utf-8").splitlines() if line.strip()]
        else:
            queries = make_queries(index, MADE)
        found = recheck(index, queries, SearchOptions())
    sys.stdout.write(
        f"{found.queries} queries, {found.without_hits} of them without hits, {len(found.refused)} refused; "
        f"{found.hits} hits with {found.contributions} contributions; largest difference {found.largest:g}; "
        f"{len(found.differences)} differences\n"
    )
    sys.stdout.writelines(f"{line}\n" for line in (*found.refused, *found.differences))
    return 1 if found.differences else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
