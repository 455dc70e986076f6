"""Measure what indexing and searching trees costs, for codelens and the public tools that are installed.

    python -m tools.speed TREE... [--repeat N] [--growth PICTURE] [--out FILE]
    python -m tools.speed --compare A.json B.json

Works on copies, in a git repository of one commit. Tools take turns at each step, so that a machine that gets slower or faster
in between does so for all; a figure is the median of the turns.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from tools.speed.machine import circumstances
from tools.speed.measure import TreeFigures, measure_tree
from tools.speed.tables import comparison, draw_growth, table
from tools.tour.measure import MB

GROWTH_MB = (1, 5, 20, 60, 150)


def main(arguments: Sequence[str] | None = None) -> int:
    """Prints the tables, and writes what is asked for."""
    parser = argparse.ArgumentParser(prog="tools.speed", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("trees", type=Path, nargs="*", metavar="TREE", help="a folder with source code")
    parser.add_argument("--repeat", type=int, default=3, metavar="N", help="turns of each tool [default: 3]")
    parser.add_argument(
        "--growth", type=Path, metavar="PICTURE", help="measure parts of 1 to 150 MB, one turn; draw them"
    )
    parser.add_argument("--out", type=Path, metavar="FILE", help="write all figures as JSON")
    parser.add_argument("--compare", nargs=2, type=Path, metavar="FILE", help="print two results as ratios")
    options = parser.parse_args(arguments)
    if options.compare:
        before, after = (json.loads(file.read_text(encoding="utf-8")) for file in options.compare)
        print("\n".join(comparison(before, after)))
        return 0
    for tree in options.trees:
        if not tree.is_dir():
            parser.error(f"not a folder: {tree}")
    if not options.trees:
        parser.error("name a folder with source code")
    result = {**circumstances(), "trees": []}
    for measured in _measured(options.trees, bool(options.growth), max(1, options.repeat)):
        result["trees"].append(measured)
        print("\n".join(table(measured)), end="\n\n", flush=True)
        if options.out:
            options.out.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    if options.growth:
        draw_growth(result["trees"], options.growth)
    return 0


def _measured(trees: Sequence[Path], growth: bool, repeat: int) -> Iterator[TreeFigures]:
    """Figures of each tree, or of growing parts of all of them together."""
    if not growth:
        for tree in trees:
            with tempfile.TemporaryDirectory() as folder:
                copy = Path(folder, "tree")
                shutil.copytree(tree, copy, symlinks=True, ignore=shutil.ignore_patterns(".git", ".codelens"))
                yield measure_tree(tree.resolve().name, copy, Path(folder), repeat)
        return
    files = [(tree, file) for tree in trees for file in _files(tree)]
    available = sum(file.stat().st_size for _, file in files)
    for size in (megabytes * MB for megabytes in GROWTH_MB):
        with tempfile.TemporaryDirectory() as folder:
            copy, left = Path(folder, "tree"), size
            for tree, file in files:
                if left <= 0:
                    break
                place = copy / tree.resolve().name / file.relative_to(tree)
                place.parent.mkdir(parents=True, exist_ok=True)
                left -= shutil.copyfile(file, place).stat().st_size
            yield measure_tree(f"{(size - max(left, 0)) / MB:.0f} MB", copy, Path(folder), 1)
        if size >= available:
            print(f"the trees have no more than {available / MB:.0f} MB\n", file=sys.stderr)
            return


def _files(tree: Path) -> Iterator[Path]:
    """In the order of their paths, without git's own."""
    for folder, folders, names in os.walk(tree):
        folders[:] = sorted(set(folders) - {".git", ".codelens"})
        paths = (Path(folder, name) for name in sorted(names))
        yield from (path for path in paths if path.is_file() and not path.is_symlink())


if __name__ == "__main__":
    sys.exit(main())
