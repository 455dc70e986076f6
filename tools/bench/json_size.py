"""Measure the bytes of `search --json`: `python -m tools.bench.json_size INDEX...`, for 20 hits of each of ten questions."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from statistics import median

from codelens.config import Settings
from codelens.index import Index
from codelens.model.search import SearchOptions
from codelens.render.records import render_json

QUESTIONS = (
    *(
        "how is a request validated",
        "Session",
        "open a file",
        "close connection",
        "parse the arguments of the command line",
    ),
    *(
        "error when the connection times out",
        "user authentication",
        "cache",
        "render template",
        "where are routes matched",
    ),
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a row for each index, and one for all."""
    parser = argparse.ArgumentParser(prog="python -m tools.bench.json_size", description=__doc__)
    parser.add_argument("indexes", nargs="+", type=Path, metavar="INDEX")
    print("| index | smallest | median | largest | up to 15,000 |\n|---|---:|---:|---:|---:|")
    sizes: dict[str, list[int]] = {}
    for path in parser.parse_args(arguments).indexes:
        with Index.open(path, Settings()) as index:
            for question in QUESTIONS:
                result = index.search(question, SearchOptions(limit=20, reasons=False))
                sizes.setdefault(path.stem, []).append(len("".join(render_json(result, 0)).encode()))
    for name, found in {**sizes, "all": [size for own in sizes.values() for size in own]}.items():
        fitting = sum(size <= 15_000 for size in found)
        print(f"| {name} | {min(found)} | {median(found):.0f} | {max(found)} | {fitting} of {len(found)} |")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
