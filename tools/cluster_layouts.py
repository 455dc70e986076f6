"""The same repositories cut into 1, 6, 24, 96 shards: `python -m tools.cluster_layouts TREES FOLDER [--shards 1,6,24,96]`.

Each layout is a folder FOLDER/NUMBER with an index file a shard; neighbours by name share a shard. What is there is kept,
so that another run of the measurement compares the same indexes. FOLDER/built.json says what building each cost.
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from codelens.config import Settings
from codelens.index import Index

UNLIMITED = Settings(query_seconds=0)  # No limit of time, so that an answer depends on nothing but the shards
BUILT = "built.json"


def groups(roots: Sequence[Path], shards: int) -> list[list[Path]]:
    """Neighbours share a shard; sizes differ by one repository at most."""
    return [list(roots[at * len(roots) // shards : (at + 1) * len(roots) // shards]) for at in range(shards)]


def build(trees: Path, folder: Path, shards: int) -> None:
    """Build the shards of one layout that are missing, and add what each cost to the record."""
    roots = sorted(tree.resolve() for tree in trees.iterdir() if tree.is_dir())
    record = costs(folder)
    (folder / str(shards)).mkdir(parents=True, exist_ok=True)
    for number, group in enumerate(groups(roots, shards)):
        file = folder / str(shards) / f"{number:03}.db"
        if file.is_file():
            continue
        before, start = _cpu(), time.perf_counter()
        reports = Index.build(file, group, UNLIMITED)
        record[f"{shards}/{file.name}"] = {
            "seconds": round(time.perf_counter() - start, 2),
            "cpu_seconds": round(_cpu() - before, 2),
            "source_bytes": sum(report.source_bytes for report in reports),
            "index_bytes": file.stat().st_size,
            "documents": sum(report.indexed for report in reports),
            "repositories": len(group),
        }
        (folder / BUILT).write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


def costs(folder: Path) -> dict[str, dict[str, float]]:
    """The record of what was built."""
    file = folder / BUILT
    return json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}


def files(folder: Path, shards: int) -> list[Path]:
    """The index files of a layout, in order."""
    return sorted((folder / str(shards)).glob("*.db"))


def _cpu() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def main(arguments: Sequence[str] | None = None) -> int:
    """Build what is missing."""
    parser = argparse.ArgumentParser(prog="tools.cluster_layouts", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("trees", type=Path, metavar="TREES", help="a folder of repositories")
    parser.add_argument("folder", type=Path, metavar="FOLDER", help="where the indexes lie")
    parser.add_argument("--shards", default="96,24,6,1", metavar="N,…", help="layouts [default: 96,24,6,1]")
    options = parser.parse_args(arguments)
    for shards in map(int, options.shards.split(",")):
        build(options.trees, options.folder, shards)
    return 0


if __name__ == "__main__":
    sys.exit(main())
