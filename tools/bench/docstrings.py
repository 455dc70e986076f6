"""Measure how well embedding models find definitions by the first sentence of their documentation.

python -m tools.bench.docstrings TREE... --models hashing codelens
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from codelens.config import Settings
from codelens.evaluation.docstrings import CUTOFF, ask, without_documentation
from codelens.index import Index


def main(arguments: list[str] | None = None) -> int:
    """Print a table with a row for each way of ranking and a column for each model, and one with the figures of each package."""
    parser = argparse.ArgumentParser(prog="python -m tools.bench.docstrings", description=__doc__)
    parser.add_argument("trees", type=Path, nargs="+")
    parser.add_argument(
        "--models", nargs="+", default=["hashing", "codelens"], help="embedders, as the setting `model` names them"
    )
    arguments_given = parser.parse_args(arguments)
    place = Path(tempfile.mkdtemp())
    try:
        sys.stdout.writelines(
            table(measure(arguments_given.trees, arguments_given.models, place), arguments_given.models)
        )
    finally:
        shutil.rmtree(place)
    return 0


Figures = dict[tuple[str, str], dict[str, float]]  # (way of ranking, model) → package → MRR@10


def measure(trees: Sequence[Path], models: Sequence[str], place: Path) -> Figures:
    """Ask each tree with each model. `place` is an empty folder for copies and indexes."""
    figures: Figures = {}
    for tree in trees:
        package = without_documentation(tree, place / tree.name, Settings(no_ignore=True))
        index = place / f"{tree.name}.db"
        for model in models:
            settings = Settings(model=model)
            Index.build(index, [package.root], settings)
            for row, values in ask(package, index, settings).items():
                figures.setdefault((row, model), {})[tree.name] = statistics.mean(values)
        print(f"{tree.name}: {len(package.questions)} candidates", file=sys.stderr)
        shutil.rmtree(package.root)
    return figures


def table(figures: Figures, models: Sequence[str]) -> Iterator[str]:
    """Lines of Markdown: means over the packages, then each package's own."""
    rows = list(dict.fromkeys(row for row, _ in figures))
    yield f"| MRR@{CUTOFF} | {' | '.join(models)} |\n|---|{'---:|' * len(models)}\n"
    for row in rows:
        yield f"| {row} | " + " | ".join(f"{statistics.mean(figures[row, m].values()):.3f}" for m in models) + " |\n"
    yield f"\n| package | {' | '.join(f'{m}: {row}' for m in models for row in rows)} |\n|---|{'---:|' * len(models) * len(rows)}\n"
    for package in sorted({p for values in figures.values() for p in values}):
        cells = (f"{figures[row, m].get(package, 0.0):.3f}" for m in models for row in rows)
        yield f"| {package} | {' | '.join(cells)} |\n"


if __name__ == "__main__":
    sys.exit(main())
