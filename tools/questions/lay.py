"""Fetch and index the packages of the collection: `python -m tools.questions.lay FOLDER`.

A second run resumes the first. Then `codelens eval --indexes FOLDER/indexes tools/questions/measure.jsonl` asks the questions.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from codelens.config import Settings
from codelens.index import Index
from tools.model import fetch
from tools.questions.collection import HERE, PARTS, index_place, read_packages, tree_place


def main(arguments: list[str] | None = None) -> int:
    """Return 1 if a package could not be fetched."""
    parser = argparse.ArgumentParser(prog="python -m tools.questions.lay", description=__doc__)
    parser.add_argument("folder", type=Path, help="where archives, trees and indexes go: some 2 GB")
    parser.add_argument("--part", choices=PARTS, help="only the packages of one part")
    options = parser.parse_args(arguments)
    failed = fetch.main([str(options.folder), "--manifest", str(HERE / "packages.tsv")])
    (options.folder / "indexes").mkdir(parents=True, exist_ok=True)
    for package in read_packages():
        tree = tree_place(options.folder, package.folder)
        if tree.is_dir() and options.part in (None, package.split):
            Index.build(index_place(options.folder, package.folder), [tree], Settings())
    return failed


if __name__ == "__main__":
    sys.exit(main())
