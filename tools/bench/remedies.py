"""Try the remedies of `why` for lost targets: `python -m tools.bench.remedies INDEX … [--targets N] [--seed N]`.

Queries are the first words of documentation, targets any definitions, and six in ten questions have options that lose some. Of
each target that is not shown, the query that `why` suggests is asked as well, with the options that it suggests; the target must be
among the hits then. It prints counts, and each target without a query that works.
"""

from __future__ import annotations

import argparse
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from codelens.config import Settings
from codelens.errors import CodelensError
from codelens.index import Index
from codelens.model.code import UnitRow
from codelens.model.request import SearchOptions
from codelens.model.search import Explanation

LENGTHS = (2, 3, 5)  # Words of a query


@dataclass
class Remedies:
    """Counts of lost targets."""

    works: Counter[str] = field(default_factory=Counter)  # Stage that lost a target → how many a suggested query shows
    failures: list[str] = field(default_factory=list)


def draw_options(target: UnitRow, draw: random.Random) -> SearchOptions:
    """Options that may keep the target out; none for four in ten."""
    folder, slash, _ = target.path.partition("/")
    choices = (
        SearchOptions(languages_not=(target.language,)),
        SearchOptions(globs=(f"!{folder}/**" if slash else f"!{folder}", "!none/**")),
        SearchOptions(kinds=("class",) if target.kind != "class" else ("function",)),
        SearchOptions(min_score=0.9),
        SearchOptions(mode="vector"),
        SearchOptions(profile=draw.choice(("rrf", "knowing"))),
    )
    return draw.choice(choices) if draw.random() < 0.6 else SearchOptions()


def try_remedies(index: Index, targets: int, seed: int) -> Remedies:
    """Ask about drawn targets until so many of them were lost, or ten times as many were asked about."""
    paths = dict.fromkeys(path for _, path in index.files(SearchOptions()))
    units = [unit for path in paths for unit in index.symbols(path)]
    documented = [unit.doc for unit in units if len(unit.doc.split()) >= max(LENGTHS)]
    draw, found = random.Random(seed), Remedies()
    for _ in range(10 * targets if documented else 0):
        query = " ".join(draw.choice(documented).split()[: draw.choice(LENGTHS)]).replace('"', "").replace("`", "")
        target = draw.choice(units)
        options = draw_options(target, draw)
        place = f"{target.path}:{target.name_line or target.start_line}"
        try:
            told = index.why(query, [place], options).explanations[0]
        except CodelensError:  # the words are read as an operator or a filter
            continue
        if told.loss is not None:
            _try_remedy(index, query, place, told, options, found)
        if found.works.total() + len(found.failures) == targets:
            break
    return found


def _try_remedy(
    index: Index, query: str, place: str, told: Explanation, options: SearchOptions, found: Remedies
) -> None:
    assert told.loss is not None
    suggested, settings = told.loss.remedy_query, told.loss.remedy_options or options
    shown = index.why(suggested, [place], replace(settings)).explanations[0].loss is None if suggested else False
    if shown:
        found.works[told.loss.stage] += 1
    else:
        found.failures.append(f"{query!r} {place}: {told.loss.stage}: {told.loss.remedy or 'no remedy'}")


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the counts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("indexes", nargs="+", type=Path)
    parser.add_argument("--targets", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args(arguments)
    for path in given.indexes:
        with Index.open(path, Settings()) as index:
            found = try_remedies(index, given.targets, given.seed)
        works = found.works.total()
        print(f"{path.name}: {works} of {works + len(found.failures)} lost targets are shown by the suggested query")
        print("  " + ", ".join(f"{stage} {n}" for stage, n in sorted(found.works.items())))
        for text in found.failures:
            print(f"  {text}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
