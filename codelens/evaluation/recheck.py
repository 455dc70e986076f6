"""`python -m codelens.evaluation.recheck INDEX [QUERIES]`: what `search --json` prints, computed again from `why --json`.

QUERIES has one query a line; without it, 200 are made from the index itself. For every hit of each the contributions are
computed from their operands, added up, and compared with the score and the rank that the search printed. Only the JSON
texts are used, and none of the ranking's code.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from codelens.config import Settings
from codelens.errors import CodelensError
from codelens.evaluation.queries import make_queries
from codelens.index import Index
from codelens.model import SearchOptions
from codelens.render.explain import why_record
from codelens.render.recompute import TOLERANCE, Record, recompute
from codelens.render.records import render_json, to_json

MADE = 200
"""Queries, where none are given."""

MADE = 200
"""Queries, where none are given."""


@dataclass(slots=True)
class Recheck:
    """What was compared, and what did not agree."""

    queries: int = 0
    without_hits: int = 0
    hits: int = 0
    contributions: int = 0
    largest: float = 0.0
    """The largest distance of a recomputed score from the printed one."""
    refused: list[str] = field(default_factory=list)
    """Queries that the search refuses: a pattern that takes too long."""
    differences: list[str] = field(default_factory=list)


def recheck(index: Index, queries: Iterable[str], options: SearchOptions) -> Recheck:
    """Ask each query twice, once as search and once as why, and compare the two texts."""
    found = Recheck()
    for query in queries:
        try:
            searched = "".join(render_json(index.search(query, options), 0))
            explained = to_json(why_record(index.why(query, (), options), 0))
        except CodelensError as fault:
            found.refused.append(f"{query}: {fault}")
            continue
        _compare(query, json.loads(searched)["results"], json.loads(explained), found)
    return found


def _compare(query: str, hits: list[Record], why: Record, found: Recheck) -> None:
    found.queries += 1
    found.without_hits += not hits
    found.hits += len(hits)
    found.differences += [f"{query}: {line}" for line in recompute(why)[1]]
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
