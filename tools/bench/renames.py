"""Rename things by the places of `codelens refs`, and see whether the tree still builds.

    python -m tools.bench.renames INDEX TREE --build 'go vet ./...' [--each 10] [--seed 1]

TREE is a copy that may be written. Each thing is renamed at its definition and at its resolved and likely places, the command
runs in TREE, and the files are put back.
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from codelens.errors import TargetError
from codelens.index import Index
from codelens.model.graph import LIKELY, ONLY_BY_NAME, SURE, RelationAnswer, RelationOptions
from codelens.model.request import SearchOptions
from tools.bench.references import draw_names

KINDS = {
    **dict.fromkeys(("function", "method"), "function"),
    **dict.fromkeys(("class", "struct", "interface", "enum", "trait", "type"), "type"),
    **dict.fromkeys(("constant", "macro"), "constant"),
}
ENDING = "Renamed"


class Edit(NamedTuple):
    """A name in a file, by its bytes."""

    path: str
    start: int
    end: int


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a row for each kind, and why builds failed."""
    parser = argparse.ArgumentParser(prog="python -m tools.bench.renames", description=__doc__)
    parser.add_argument("index", type=Path)
    parser.add_argument("tree", type=Path)
    parser.add_argument("--build", required=True)
    parser.add_argument("--each", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--language", action="append", default=[])
    options = parser.parse_args(arguments)
    if fault := _build(options.tree, options.build):
        parser.error(f"the tree does not build as it is: {fault}")
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    with Index.open(options.index) as index:
        for kind, name in draw_things(index, options):
            try:
                answer = index.graph.refs(name, RelationOptions())
            except TargetError:
                continue
            rename(answer, options, counts[kind])
    print("| kind | renamed | builds | all places resolved | builds |")
    print("|---|" + "---:|" * 4)
    for kind, c in sorted(counts.items()):
        print(f"| {kind} | {c['renamed']} | {c['builds']} | {c['sure']} | {c['sure builds']} |")
    return 0


def draw_things(index: Index, options: argparse.Namespace) -> Iterator[tuple[str, str]]:
    """(kind, name) of things whose name the index defines once; fields by ctags, since the index has no units for them."""
    only = SearchOptions(languages=tuple(options.language))
    files = [path for _, path in index.files(only)]
    every = [unit for path in files for unit in index.symbols(path)]
    units = [unit for unit in every if not unit.local and "test" not in unit.roles]
    counted = Counter(unit.name for unit in every)
    chance = random.Random(options.seed)
    by_kind: dict[str, list[str]] = defaultdict(list)
    for unit in units:
        if counted[unit.name] == 1 and unit.name.isidentifier() and len(unit.name) > 2 and unit.kind in KINDS:
            by_kind[KINDS[unit.kind]].append(unit.name)
    drawn = draw_names(options.tree, frozenset(files), 1_000_000, options.seed)
    by_kind["field"] = [one.name for one in drawn if one.kind == "field" and not counted[one.name]]
    for kind, names in sorted(by_kind.items()):
        chance.shuffle(names)
        yield from ((kind, name) for name in names[: options.each])


def rename(answer: RelationAnswer, options: argparse.Namespace, counts: Counter[str]) -> None:
    """Rename one thing, build, put the files back, and count."""
    target, tree = answer.targets[0], options.tree
    edits = {
        Edit(r.place.path, r.span.start, r.span.end)
        for r in answer.relations
        if r.span.end and r.certainty in (SURE, LIKELY)
    }
    name = target.name.encode()
    before = {path: (tree / path).read_bytes() for path in {target.path, *(edit.path for edit in edits)}}
    start = before[target.path].find(name, target.start_byte)
    edits.add(Edit(target.path, start, start + len(name)))
    if any(before[edit.path][edit.start : edit.end] != name for edit in edits):
        counts["wrong range"] += 1
        return
    for path, text in before.items():
        for edit in sorted((e for e in edits if e.path == path), key=lambda e: -e.start):
            text = text[: edit.end] + ENDING.encode() + text[edit.end :]
        (tree / path).write_bytes(text)
    place = tree / target.path
    moved = place.with_stem(place.stem + ENDING) if place.stem == target.name else place  # Java's rule for public types
    place.rename(moved)
    fault = _build(tree, options.build)
    moved.rename(place)
    for path, text in before.items():
        (tree / path).write_bytes(text)
    is_sure = not any(r.certainty in (LIKELY, ONLY_BY_NAME) for r in answer.relations)
    counts["renamed"] += 1
    counts["builds"] += not fault
    counts["sure"] += is_sure
    counts["sure builds"] += is_sure and not fault
    if fault:
        print(f"{'sure ' if is_sure else ''}{target.kind} {target.qualified_name}: {fault}")


def _build(tree: Path, command: str) -> str:
    """The first line of the errors; empty if the command succeeds."""
    done = subprocess.run(command, shell=True, cwd=tree, capture_output=True, text=True, errors="replace", check=False)
    lines = [line for line in (done.stderr + done.stdout).splitlines() if line.strip() and not line.startswith("#")]
    return (lines[0][:160] if lines else f"exit {done.returncode}") if done.returncode else ""


if __name__ == "__main__":
    sys.exit(main())
