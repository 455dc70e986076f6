"""Measure how well `--like` finds similar code: `python -m tools.bench.likeness INDEX...`.

Three truths are taken from the index itself, each of functions and methods outside tests: namesakes (the same name in another
type or file), twins (half of the tokens of the bodies are equal), siblings (of the same type). None is a person's judgement.
"""

from __future__ import annotations

import math
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from codelens.config import Settings
from codelens.evaluation.metrics import CUTOFF
from codelens.model.code import Span, UnitId, UnitRow
from codelens.model.request import SearchOptions
from codelens.model.search import Candidate
from codelens.search.pipeline import rank
from codelens.search.rankers import Ranking
from codelens.store.store import Store
from codelens.store.texts import Texts
from codelens.text.terms import tokens

MODES = ("vector", "keyword", "hybrid")
MOST_ALIKE = 12  # Things of one group; larger ones (`init`, a class of all routes) say nothing of likeness. Chosen.
LEAST_TOKENS = 20  # Minimum tokens of a body: shorter ones are twins by chance. Chosen.
TWINS = 0.5  # Share of the tokens of both bodies that both have, as multisets. Chosen.
SAMPLE = 150  # Questions of each truth and index, spread evenly over the order of their places

Truth = Mapping[UnitId, frozenset[UnitId]]


@dataclass(frozen=True, slots=True)
class Figures:
    """Means over the questions of one truth."""

    questions: int
    reciprocal_rank: float  # Reciprocal rank of the first right hit among the first ten, else 0
    recall: float  # Share of what is right, of ten at most, among the first ten


def functions_of(store: Store) -> list[UnitRow]:
    """Functions and methods that are neither tests nor local, by place."""
    found = (u for d in store.documents.read_rows() for u in store.units.list_in_document(d.id))
    wanted = [u for u in found if u.kind in ("function", "method") and not u.local and "test" not in u.roles]
    return sorted(wanted, key=UnitRow.content_order)


def namesakes(units: Sequence[UnitRow], _: Store) -> Truth:
    """Those of one name and language."""
    return _alike(units, lambda u: (u.language, u.name))


def siblings(units: Sequence[UnitRow], _: Store) -> Truth:
    """Those of one type."""
    return _alike([u for u in units if u.container], lambda u: (u.document, u.container))


def twins(units: Sequence[UnitRow], store: Store) -> Truth:
    """Units whose bodies share at least half of their tokens."""
    texts, documents = Texts(store), {d.id: d for d in store.documents.read_rows()}
    bodies: list[tuple[UnitRow, Counter[str]]] = []
    for unit in units:
        body = Counter(tokens(texts.read(documents[unit.document]).read_span(Span(unit.body_start, unit.span.end))))
        if body.total() >= LEAST_TOKENS:
            bodies.append((unit, body))
    found: dict[UnitId, set[UnitId]] = {}
    for place, (one, mine) in enumerate(bodies):
        for other, others in bodies[place + 1 :]:
            least, most = sorted((mine.total(), others.total()))
            if least < TWINS * most:
                continue
            both = (mine & others).total()
            if both >= TWINS * (least + most - both):
                found.setdefault(one.id, set()).add(other.id)
                found.setdefault(other.id, set()).add(one.id)
    return {unit: frozenset(others) for unit, others in found.items() if len(others) < MOST_ALIKE}


TRUTHS: Mapping[str, Callable[[Sequence[UnitRow], Store], Truth]] = {
    "namesakes": namesakes,
    "twins": twins,
    "siblings": siblings,
}


def questions(truth: Truth, units: Sequence[UnitRow]) -> Iterator[tuple[UnitRow, frozenset[UnitId]]]:
    """(unit, what is like it), SAMPLE of them at most."""
    units_asked = [u for u in units if u.id in truth]
    step = max(1, math.ceil(len(units_asked) / SAMPLE))
    return ((unit, truth[unit.id]) for unit in units_asked[::step])


def ask(unit: UnitRow, store: Store, mode: str) -> Ranking:
    """All that is like a unit. It is named by its place, since a name may be that of several things."""
    options = SearchOptions(like=f"{unit.path}:{unit.name_line}", profile="likeness", mode=mode)
    return rank("", store, options, Settings())


def measure(questions_asked: Iterable[tuple[UnitRow, frozenset[UnitId]]], store: Store, mode: str) -> Figures:
    """Ask for what is like each unit, and look where what is right stands."""
    figures = [figures_of(ask(unit, store, mode).candidates, right) for unit, right in questions_asked]
    count = len(figures) or 1
    return Figures(len(figures), math.fsum(f[0] for f in figures) / count, math.fsum(f[1] for f in figures) / count)


def figures_of(candidates: Sequence[Candidate], right: frozenset[UnitId]) -> tuple[float, float]:
    """(reciprocal rank, recall) within the first ten."""
    places = [place for place, c in enumerate(candidates[:CUTOFF], start=1) if c.unit.id in right]
    return (1 / places[0] if places else 0.0), len(places) / min(CUTOFF, len(right))


def _alike(units: Iterable[UnitRow], key: Callable[[UnitRow], object]) -> Truth:
    groups: dict[object, list[UnitId]] = {}
    for unit in units:
        groups.setdefault(key(unit), []).append(unit.id)
    fitting = [frozenset(ids) for ids in groups.values() if 2 <= len(ids) <= MOST_ALIKE]
    return {unit: group - {unit} for group in fitting for unit in group}


def main(arguments: Sequence[str]) -> int:
    """A row for each index, truth and mode."""
    if not arguments:
        print((__doc__ or "").splitlines()[0], file=sys.stderr)
        return 2
    print("| index | alike | questions | mode | MRR@10 | recall@10 |\n|---|---|---:|---|---:|---:|")
    for name in arguments:
        store = Store.read(Path(name))
        with store.reading():
            units = functions_of(store)
            for truth, find in TRUTHS.items():
                pairs = list(questions(find(units, store), units))
                for mode in MODES:
                    figures = measure(pairs, store, mode)
                    numbers = f"{figures.reciprocal_rank:.3f} | {figures.recall:.3f}"
                    print(f"| {Path(name).stem} | {truth} | {figures.questions} | {mode} | {numbers} |", flush=True)
        store.close()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
