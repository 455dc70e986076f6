"""Measure context packs: `python -m tools.bench.packs INDEXES TASKS … [--suffix=-commits] [--same-file]`.

INDEXES is a folder with an index REPO.db for each repository of the tasks. For each budget it prints the share of a task's symbols
that the pack holds whole (in a body), and that it holds at all (a body or a signature), as means over the tasks. With `--parts N`
it asks for the next parts, too, and prints the shares in all of them.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from codelens.config import Settings
from codelens.context.counters import open_counter
from codelens.context.parts import resume_request
from codelens.evaluation.metrics import NamedHit, Rule, same_file, strict
from codelens.evaluation.tasks import Task, read_tasks
from codelens.index import Index
from codelens.model.code import UnitRow
from codelens.model.context import EVERYTHING, TASK, ContextRequest, Entry, Form, Pack
from codelens.model.request import SearchOptions
from codelens.render.context import FORMATS, make_layout
from codelens.render.paths import PathStyle


class Recorder:
    """A layout that remembers the last pack it wrote."""

    def __init__(self, format: str) -> None:
        self._layout = make_layout(format, PathStyle("root", ""))
        self.name, self.forms, self.pack = self._layout.name, self._layout.forms, None

    pack: Pack | None

    def format_entry(self, entry: Entry) -> str:
        """The text of an entry."""
        return self._layout.format_entry(entry)

    def format_heading(self, entry: Entry) -> str:
        """The line above the signatures of a file."""
        return self._layout.format_heading(entry)

    def format_pack(self, pack: Pack) -> str:
        """The text of a pack."""
        self.pack = pack
        return self._layout.format_pack(pack)


class Shares(NamedTuple):
    """Shares of a task's symbols, 0 to 1, and the number of entries."""

    whole: float
    at_all: float
    entries: float


def entries_of(index: Index, query: str, budget: int, format: str, parts: int) -> Iterator[Entry]:
    """The entries of a pack, and of so many parts of it."""
    counter = open_counter("chars")
    request = ContextRequest(TASK, counter, SearchOptions(limit=EVERYTHING), budget, query=query)
    for _ in range(parts):
        recorder = Recorder(format)
        packed = index.context(request, recorder, keep=False)
        yield from recorder.pack.entries if recorder.pack else ()
        if not packed.more:
            return
        request = resume_request(packed.more, counter, budget)


def shares(task: Task, rule: Rule, entries: Sequence[Entry], insides: dict[int, list[UnitRow]]) -> Shares:
    """The shares of a task that the entries hold. A body also holds the symbols inside it."""
    bodies = [entry.unit for entry in entries if entry.form is Form.BODY]
    pairs = ((body.span, unit) for body in bodies for unit in insides[body.document])
    inner = [unit for span, unit in pairs if span.start <= unit.span.start and unit.span.end <= span.end]
    symbols = [entry for entry in task.relevant if entry.symbol]

    def held(units: Sequence[UnitRow]) -> float:
        hits = [NamedHit(unit.qualified_name, unit.path) for unit in units]
        return sum(any(rule(hit, symbol) for hit in hits) for symbol in symbols) / len(symbols)

    return Shares(held(inner), held([*inner, *(entry.unit for entry in entries)]), len(entries))


def measure(index: Index, task: Task, rule: Rule, budget: int, format: str, parts: int) -> Shares:
    """The shares of one task."""
    entries = list(entries_of(index, task.query, budget, format, parts))
    paths = {entry.unit.document: entry.unit.path for entry in entries}
    return shares(task, rule, entries, {document: list(index.symbols(path)) for document, path in paths.items()})


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a row for each budget."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("indexes", type=Path)
    parser.add_argument("tasks", nargs="+", type=Path)
    parser.add_argument("--suffix", default="", help="of the indexes' names")
    parser.add_argument("--same-file", action="store_true", help="the rule for answers taken from commits")
    parser.add_argument("--budgets", type=int, nargs="+", default=[2000, 8000, 50_000])
    parser.add_argument("--format", choices=FORMATS, default="markdown")
    parser.add_argument("--parts", type=int, default=1)
    given = parser.parse_args(arguments)
    rule = same_file if given.same_file else strict
    tasks = [task for task in read_tasks(given.tasks) if any(entry.symbol for entry in task.relevant)]
    found: dict[int, list[Shares]] = {budget: [] for budget in given.budgets}
    for repository in sorted({task.repository for task in tasks}):
        with Index.open(given.indexes / f"{repository}{given.suffix}.db", Settings()) as index:
            for task in (task for task in tasks if task.repository == repository):
                for budget, rows in found.items():
                    rows.append(measure(index, task, rule, budget, given.format, given.parts))
    print(f"| budget, {given.format} | whole | at all | entries |\n|---:|---:|---:|---:|")
    for budget, rows in found.items():
        whole, at_all, count = (sum(values) / len(rows) for values in zip(*rows, strict=True))
        print(f"| {budget:,} | {whole:.3f} | {at_all:.3f} | {count:.0f} |")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
