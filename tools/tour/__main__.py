"""A folder of source trees → a table of what indexing each of them costs.

    python -m tools.tour FOLDER [--only NAME...] [--out FILE]
    python -m tools.tour --compare BEFORE.json AFTER.json

Trees of trees.toml that are not in the folder are fetched. The exit code is 1 if a tree is over a bar or did not finish.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from codelens.processes.python import build_python_command, filter_environment
from tools.campaign import describe_commit
from tools.tour import report
from tools.tour.fetch import Unfetched, fetched
from tools.tour.manifest import Tree, read_manifest
from tools.tour.measure import MB, Limits, Row, measure


def main(arguments: Sequence[str] | None = None) -> int:
    bars, trees = read_manifest()
    parser = _parser()
    options = parser.parse_args(arguments)
    layout = report.as_markdown if options.markdown else report.as_text
    if options.compare:
        results = [json.loads(path.read_text(encoding="utf-8")) for path in options.compare]
        print(layout(list(report.comparison(*results))), end="")
        return 0
    if options.folder is None:
        parser.error("name the folder of the trees")
    if unknown := set(options.only or ()) - {tree.name for tree in trees}:
        parser.error(f"not in the manifest: {', '.join(sorted(unknown))}")
    options.folder.mkdir(parents=True, exist_ok=True)
    limits = Limits(options.seconds, options.memory * MB)
    result: dict[str, Any] = _circumstances() | {
        "limits": {"seconds": limits.seconds, "bytes": limits.bytes},
        "rows": [],
    }
    rows: list[Row] = result["rows"]
    for tree in trees:
        if options.only and tree.name not in options.only:
            continue
        row = _row(tree, options.folder.absolute(), limits, options.change_all)
        rows.append(row)
        print(_progress(row), file=sys.stderr, flush=True)
        if options.out:
            options.out.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    print(layout(list(report.table(rows, bars))) + "\n" + report.summary(rows, bars))
    return 0 if report.passes(rows, bars) else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tools.tour", description="What indexing real source trees costs.")
    parser.add_argument("folder", type=Path, nargs="?", help="where the trees are; missing ones are fetched into it")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="these trees of the manifest")
    parser.add_argument(
        "--seconds",
        type=float,
        default=600,
        help="wall time that a run may take (default 600), unless the manifest allows more",
    )
    parser.add_argument(
        "--memory", type=int, default=4000, help="MB that its processes may hold together (default 4000)"
    )
    parser.add_argument("--change-all", action="store_true", help="measure one changed file on small trees too")
    parser.add_argument("--markdown", action="store_true", help="print a Markdown table")
    parser.add_argument("--out", type=Path, metavar="FILE", help="write the results as JSON, after each tree")
    parser.add_argument(
        "--compare", type=Path, nargs=2, metavar=("BEFORE", "AFTER"), help="two such files side by side"
    )
    return parser


def _row(tree: Tree, folder: Path, limits: Limits, change_all: bool) -> Row:
    try:
        root = fetched(tree, folder)
    except Unfetched as e:
        return {"tree": tree.name, "version": tree.version, "ended": f"not fetched: {e}"}
    row = measure(tree, root, limits, change_all)
    bars = {"bar_cpu_s": tree.cpu_s, "bar_peak_mb": tree.peak_mb}
    return row | {name: bar for name, bar in bars.items() if bar is not None}


def _progress(row: Row) -> str:
    if "cpu" not in row:
        return f"{row['tree']}: {row['ended']}"
    size = f"{report.megabytes(row):.1f} MB, " if "source_bytes" in row else ""
    line = f"{row['tree']}: {size}{row['cpu']:.1f} CPU s, {row['wall']:.1f} s, peak {row['peak'] / MB:.0f} MB"
    return line + (f"; {why}" if (why := report.failed(row)) else "")


def _circumstances() -> dict[str, Any]:
    """The environment of the figures: the commit of codelens, with a plus if files differ from it, and the machine."""
    where = [*build_python_command(), "-c", "import codelens; print(codelens.__path__[0])"]
    package = subprocess.run(where, env=filter_environment(), capture_output=True, text=True, check=True).stdout.strip()
    return {**describe_commit(package), "cores": os.cpu_count(), "python": platform.python_version()}


if __name__ == "__main__":
    sys.exit(main())
