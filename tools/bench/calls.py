"""Compare the call edges of an index with calls that a test run or a compiler knows: recall and precision.

    python -m tools.bench.calls INDEX CALLS.tsv [--wrong N] [--missed N]

CALLS.tsv comes from `trace_plugin` (Python) or `compiled_calls` (Go, Java). Both sides are pairs (caller, callee) of
functions; a constructor counts as its type. A call of a method that others override is right if one of them is called,
and found if it is called through what it overrides.

* recall: calls of the reference that have an edge; only those whose caller's text has the callee's name, because syntax
  cannot know others (operators, callbacks, decorators).
* precision: edges that the reference has, of those whose line ran (Python) or whose caller was compiled.
"""

from __future__ import annotations

import argparse
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from codelens.lang.registry import languages
from codelens.linking.facts import FUNCTIONS
from codelens.model.code import TYPE_KINDS, DocumentId, UnitId, UnitRow
from codelens.model.graph import RESOLVED, Edge
from codelens.store.store import Store
from codelens.store.texts import Texts

OWNERS = (*FUNCTIONS, *TYPE_KINDS)
MOST_SHOWN = 4
Name = tuple[str, str]  # (path, qualified name); without a name, the code of the file outside of functions and types
Pair = tuple[Name, Name]


class CallReference(NamedTuple):
    """The calls that are known to happen."""

    direct: frozenset[Pair]
    dynamic: frozenset[Pair]  # Calls of which the text does not say which of several methods runs (Go)
    through: frozenset[Pair]  # All of these, and those that go through a library or a wrapper
    lines: frozenset[tuple[str, int]]  # Lines that ran; empty if the reference is compiled
    callers: frozenset[Name]


class Scores(NamedTuple):
    """The result: calls of the reference, those found, edges that could be judged, those that are right."""

    calls: int
    found: int
    edges: int
    right: int

    @property
    def recall(self) -> float:
        """Found calls, as a fraction."""
        return self.found / self.calls if self.calls else 0.0

    @property
    def precision(self) -> float:
        """Right edges, as a fraction."""
        return self.right / self.edges if self.edges else 0.0


class IndexedCalls:
    """The functions and call edges of an index."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._texts = Texts(store)
        self.units: dict[UnitId, UnitRow] = {}
        self.by_path: dict[str, list[UnitRow]] = {}
        for document in store.documents.read_rows():
            self.by_path[document.path] = units = store.units.list_in_document(document.id)
            self.units |= {unit.id: unit for unit in units}
        self.documents = {document.id: document for document in store.documents.read_rows()}
        every = list(store.edges.list_all({"calls", "tests", "overrides", "extends", "implements"}))
        self.calls = [edge for edge in every if edge.kind in ("calls", "tests")]
        self.above: dict[Name, set[Name]] = {}
        """Method → those that it overrides, and type → its bases, at any distance."""
        for edge in every:
            ends = self.units.get(UnitId(edge.source)), self.units.get(UnitId(edge.target))
            if edge.kind not in ("calls", "tests") and ends[0] and ends[1]:
                self.above.setdefault(self.name(ends[0]), set()).add(self.name(ends[1]))
        self.above = {name: _closure(name, self.above) for name in self.above}

    def name(self, unit: UnitRow | None, path: str = "") -> Name:
        """The function or type that a unit is or lies in; the type, for its constructor."""
        while unit is not None and unit.kind not in OWNERS:
            unit = self.units[UnitId(unit.parent)] if unit.parent else None
        if unit is None:
            return path, ""
        language = languages()[unit.language]
        own = unit.container.rpartition(".")[2]
        if unit.kind == "method" and unit.container and unit.name in (*language.constructors, own):
            return unit.path, unit.container
        return unit.path, unit.qualified_name

    def at(self, path: str, line: int, name: str) -> Name:
        """The function at a place of the reference: that of this name whose head follows, else the innermost around."""
        units = self.by_path.get(path, [])
        if "." in name and (whole := [u for u in units if u.qualified_name == name and u.kind in OWNERS]):
            return self.name(whole[0])
        name = name.rpartition(".")[2]
        named = [u for u in units if u.name == name and u.kind in FUNCTIONS and u.end_line >= line >= u.start_line - 9]
        if named and (best := min(named, key=lambda u: (u.name_line < line, abs(u.name_line - line)))):
            return self.name(best)
        around = [u for u in units if u.start_line <= line <= u.end_line and u.kind in OWNERS]
        return self.name(max(around, key=lambda u: (u.start_line, -u.end_line), default=None), path)

    def text_of(self, name: Name) -> str:
        """The text of a function or type; of a file, all of it."""
        found = [u for u in self.by_path.get(name[0], []) if u.qualified_name == name[1]]
        documents = [d for d in self.documents.values() if d.path == name[0]]
        lines = self._texts.read_lines(documents[0]) if documents else []
        first, last = (found[0].start_line - 1, found[-1].end_line) if name[1] and found else (0, len(lines))
        return "\n".join(lines[first:last])


def _closure(name: Name, above: dict[Name, set[Name]]) -> set[Name]:
    found: set[Name] = set()
    waiting = [name]
    while waiting:
        for base in above.get(waiting.pop(), ()):
            if base not in found:
                found.add(base)
                waiting.append(base)
    return found


def read_reference(path: Path, index: IndexedCalls) -> CallReference:
    """The calls of a file between functions of the index."""
    by_how: dict[str, set[Pair]] = {"direct": set(), "dynamic": set(), "through": set()}
    lines, callers = set[tuple[str, int]](), set[Name]()
    for row in path.read_text(encoding="utf-8").splitlines():
        kind, *rest = row.split("\t")
        if kind == "line":
            lines.add((rest[0], int(rest[1])))
        elif rest[0] in index.by_path:
            caller = index.at(rest[0], int(rest[1]), rest[2])
            callers.add(caller)
            if kind == "call" and rest[3] in index.by_path:
                callee = index.at(rest[3], int(rest[4]), rest[5])
                if callee[1] and callee != caller:
                    by_how[rest[6]].add((caller, callee))
    by_how["through"] |= by_how["direct"] | by_how["dynamic"]
    direct, dynamic, through = (frozenset(pairs) for pairs in by_how.values())
    return CallReference(direct, dynamic - direct, through, frozenset(lines), frozenset(callers))


class Comparison:
    """Compares the edges of one index with one reference."""

    def __init__(self, index: IndexedCalls, reference: CallReference, least: float = RESOLVED) -> None:
        self.index, self.reference = index, reference
        self.edges: dict[Pair, Edge] = {}
        for edge in index.calls:
            target = index.units.get(UnitId(edge.target))
            if edge.confidence >= least and target is not None and target.kind in OWNERS:
                pair = self._source(edge), index.name(target)
                if pair[0] != pair[1]:
                    self.edges.setdefault(pair, edge)
        self.below: dict[Name, set[Name]] = {}
        for name, above in index.above.items():
            for base in above:
                self.below.setdefault(base, set()).add(name)

    def _source(self, edge: Edge) -> Name:
        if edge.source < 0:
            return self.index.documents[DocumentId(-edge.source)].path, ""
        unit = self.index.units[UnitId(edge.source)]
        if edge.line < unit.name_line and unit.kind in FUNCTIONS:  # a decorator is called by the code around
            return self.index.name(self.index.units[UnitId(unit.parent)] if unit.parent else None, unit.path)
        return self.index.name(unit, unit.path)

    def named(self, pairs: Iterable[Pair]) -> Iterator[Pair]:
        """The calls whose caller's text has the callee's name, in order."""
        for caller, callee in sorted(pairs):
            name = callee[1].rpartition(".")[2]
            if re.search(rf"(?<!\w){re.escape(name)}\s*(?:\(|<|::<|\[|!)", self.index.text_of(caller)):
                yield caller, callee

    def is_found(self, pair: Pair) -> bool:
        """True if an edge leads to the callee, or to what it overrides; to a constructor through any subclass."""
        caller, callee = pair
        near = {callee, *self.index.above.get(callee, ()), *self.below.get(callee, ())}
        return any((caller, name) in self.edges for name in near)

    def judged(self) -> Iterator[tuple[Pair, Edge, bool]]:
        """(edge's ends, edge, whether it is right) for each edge that the reference can judge."""
        reference, observed = self.reference, {callee for _, callee in self.reference.through}
        for pair, edge in sorted(self.edges.items()):
            near = {pair[1], *self.index.above.get(pair[1], ()), *self.below.get(pair[1], ())}
            ran = (pair[0][0], edge.line) in reference.lines if reference.lines else pair[0] in reference.callers
            units = (u for u in self.index.by_path[pair[1][0]] if u.qualified_name == pair[1][1])
            is_type = any(unit.kind in TYPE_KINDS for unit in units)
            # A type without a constructor of its own runs nothing.
            if ran and not (is_type and near.isdisjoint(observed)):
                yield pair, edge, any((pair[0], name) in reference.through for name in near)

    def scores(self) -> Scores:
        """Count."""
        calls, edges = list(self.named(self.reference.direct)), list(self.judged())
        return Scores(len(calls), sum(map(self.is_found, calls)), len(edges), sum(right for _, _, right in edges))

    def missed(self) -> list[Pair]:
        """The direct calls without an edge."""
        return [pair for pair in self.named(self.reference.direct) if not self.is_found(pair)]


def shown(pairs: Iterable[Pair], most: int) -> None:
    """Print some pairs, evenly chosen."""
    every = list(pairs)
    for (path, caller), (other, callee) in every[:: max(1, len(every) // most)][:most]:
        print(f"    {path} {caller or '(file)'} -> {other} {callee}")


def main() -> None:
    """Print the scores, and with options some of the wrong and the missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("index", type=Path)
    parser.add_argument("calls", type=Path)
    parser.add_argument("--wrong", type=int, default=0, metavar="N", help="show N wrong edges of each tier")
    parser.add_argument("--missed", type=int, default=0, metavar="N", help="show N calls without an edge")
    arguments = parser.parse_args()
    with Store.read(arguments.index, accepted=True) as store:
        index = IndexedCalls(store)
        comparison = Comparison(index, read_reference(arguments.calls, index))
        found = comparison.scores()
        print(f"recall {found.recall:.3f} ({found.found} of {found.calls} calls)", end="  ")
        print(f"precision {found.precision:.3f} ({found.right} of {found.edges} edges)")
        if dynamic := list(comparison.named(comparison.reference.dynamic)):
            print(f"  dynamic calls: {sum(map(comparison.is_found, dynamic))} of {len(dynamic)} found")
        tiers = Counter((edge.provenance, right) for _, edge, right in comparison.judged())
        for tier in sorted({tier for tier, _ in tiers}):
            right, wrong = tiers[tier, True], tiers[tier, False]
            print(f"  {tier:<9} {right / (right + wrong):.3f} of {right + wrong}")
            if arguments.wrong:
                pairs = (p for p, edge, is_right in comparison.judged() if edge.provenance == tier and not is_right)
                shown(pairs, arguments.wrong)
        if arguments.missed:
            print("  missed")
            shown(comparison.missed(), arguments.missed)


if __name__ == "__main__":
    main()
