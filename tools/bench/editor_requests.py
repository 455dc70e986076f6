"""Time and memory that `codelens lsp` needs for requests at drawn names.

    python -m tools.bench.editor_requests INDEX TREE [--language python] [--names 200]

Each kind of request is asked twice at each name, and the second answer is timed. CPU times are counted in steps of 10 ms.
"""

from __future__ import annotations

import argparse
import random
import shlex
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import psutil

from codelens.index import Index
from codelens.model.request import SearchOptions
from codelens.processes.python import build_codelens_command
from tools.bench.language_servers import LanguageServer, draw_names

REQUESTS = ("hover", "definition", "documentHighlight", "references")


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a row for each kind of request, and the memory."""
    parser = argparse.ArgumentParser(prog="python -m tools.bench.editor_requests", description=__doc__)
    parser.add_argument("index", type=Path)
    parser.add_argument("tree", type=Path)
    parser.add_argument("--language", default="python")
    parser.add_argument("--names", type=int, default=200)
    parser.add_argument("--most", type=int, default=5, help="names drawn in one file")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(arguments)
    with Index.open(options.index) as index:
        paths = [path for _, path in index.files(SearchOptions(languages=(options.language,)))]
    drawn = draw_names(options, paths, random.Random(options.seed))
    places = [place for place, _ in zip(drawn, range(options.names), strict=False)]
    command = [*build_codelens_command(), "lsp", "--no-index", "--db", str(options.index.resolve())]
    print("| request | median, ms | 95 %, ms | CPU, median, ms | CPU, 95 %, ms |\n|---|" + "---:|" * 4)
    with LanguageServer(shlex.join(command), options.tree, options.language) as server:
        process = psutil.Process(server.process_id)
        for request in REQUESTS:
            seconds, cpu = list[float](), list[float]()
            for path, line, column, _ in places:
                server.ask_at(request, path, line, column)
                began, before = time.perf_counter(), sum(process.cpu_times()[:2])
                server.ask_at(request, path, line, column)
                seconds.append(time.perf_counter() - began)
                cpu.append(sum(process.cpu_times()[:2]) - before)
            cells = [f"{1000 * share(row, part):.0f}" for row in (seconds, cpu) for part in (0.5, 0.95)]
            print(f"| {request} | {' | '.join(cells)} |")
        print(f"\n{process.memory_info().rss / 1e6:.0f} MB")
    return 0


def share(values: Sequence[float], part: float) -> float:
    """The value that this part of all do not exceed."""
    return sorted(values)[min(len(values) - 1, int(len(values) * part))]


if __name__ == "__main__":
    sys.exit(main())
