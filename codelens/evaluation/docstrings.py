"""Held-out packages → how well a documentation's first sentence finds its function, with the documentation out of the way.

Each tree is copied without the documentation of its definitions and indexed as a user would, once for each embedder. Up to
CANDIDATES documented definitions of a package are drawn; up to QUESTIONS of their sentences are asked, and each must find
its own definition among them: MRR of the first ten, the mean of the packages. Channels stand alone, then fused, then all.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import xxhash

from codelens.config import Settings
from codelens.evaluation.undocumented import undocumented
from codelens.index import Index
from codelens.indexing.reading import ReadText, read_text
from codelens.lang.registry import detect_language, languages
from codelens.model import Match, SearchOptions, SeenFile, UnitId
from codelens.nouns import dataclass
from codelens.search.fuse import fuse
from codelens.search.pipeline import rank
from codelens.store.store import Store
from codelens.worktree.roles import path_roles
from codelens.worktree.walk import walk

CANDIDATES, QUESTIONS = 2000, 150
"""Of one package at most. The first is the study's figure; the second is chosen for the time that asking takes."""
CUTOFF = 10
FUSED = {
    "rrf 1:1": ("rrf", 1.0, 1.0),
    "rrf 1:2": ("rrf", 1.0, 2.0),
    "minmax .4:.6": ("minmax", 0.4, 0.6),
}
"""Name → how the word and vector channels are fused, and their weights."""

Questions = dict[tuple[str, int], str]
"""(path, line of a definition's name) → what is asked for it."""


@dataclass(frozen=True, slots=True)
class Package:
    """A tree without its documentation, and what documented it."""

    name: str
    root: Path
    questions: Questions


def without_documentation(tree: Path, into: Path, settings: Settings) -> Package:
    """Write the code of a tree, without its documentation, to a new folder; what is no code is left out.

    `settings` say which files there are.
    """
    questions: Questions = {}
    for seen in sorted((s for s in walk(tree, settings) if isinstance(s, SeenFile)), key=lambda s: s.path):
        language = languages().get(detect_language(seen.path))
        read = read_text(tree, seen, settings)
        is_code = (
            language is not None
            and language.grammar
            and language.chunks == "code"
            and "test" not in path_roles(seen.path)
        )
        if language is None or not is_code or not isinstance(read, ReadText):
            continue
        bare, asked = undocumented(read.decoded.text, language.name)
        place = into / seen.path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(bare, encoding="utf-8", newline="")
        questions.update({(seen.path, line): sentence for line, sentence in asked.items()})
    return Package(tree.name, into, _drawn(questions, CANDIDATES))


def _drawn(questions: Questions, most: int) -> Questions:
    """Some of them, by a hash of their place, and none whose sentence is another's too."""
    counts: dict[str, int] = {}
    for sentence in questions.values():
        counts[sentence] = counts.get(sentence, 0) + 1
    single = [place for place, sentence in questions.items() if counts[sentence] == 1]
    chosen = sorted(single, key=lambda place: xxhash.xxh3_64_intdigest(repr(place).encode()))[:most]
    return {place: questions[place] for place in chosen}


def ask(package: Package, index: Path, settings: Settings) -> dict[str, list[float]]:
    """Row → the reciprocal rank of each question's answer, 0 below the first ten."""
    found: dict[str, list[float]] = {}
    options = SearchOptions(limit=CUTOFF)
    with Store.read(index) as store, store.reading():
        places = _candidates(store, package.questions)
        units = {place: unit for unit, place in places.items()}
        for place in list(package.questions)[:QUESTIONS]:
            if place not in units:
                continue
            ranking = rank(package.questions[place], store, options, settings)
            rows = dict(_rows(ranking.trace.rankings, store))
            rows["codelens"] = [c.unit.id for c in ranking.candidates]
            for row, order in rows.items():
                among = [unit for unit in dict.fromkeys(order) if unit in places][:CUTOFF]
                found.setdefault(row, []).append(1 / (among.index(units[place]) + 1) if units[place] in among else 0.0)
    return found


def _candidates(store: Store, questions: Questions) -> dict[UnitId, tuple[str, int]]:
    """Unit → its place, for those that are asked for."""
    documents = {row.path: row.id for row in store.documents.rows()}
    found: dict[UnitId, tuple[str, int]] = {}
    for path in sorted({path for path, _ in questions} & set(documents)):
        for unit in store.units.of_document(documents[path]):
            if (path, unit.name_line) in questions:
                found.setdefault(unit.id, (path, unit.name_line))
    return found


def _rows(rankings: Mapping[str, Sequence[Match]], store: Store) -> Iterator[tuple[str, list[UnitId]]]:
    words, vectors = rankings.get("exact", ()), rankings.get("vector", ())
    yield "words (BM25)", [m.unit for m in words]
    yield "vectors", [m.unit for m in vectors]
    rows = store.units.rows({m.unit for m in (*words, *vectors)})
    for name, (fusion, word, vector) in FUSED.items():
        fused = fuse({"exact": words, "vector": vectors}, {"exact": word, "vector": vector}, 60, rows, fusion)
        yield name, [c.unit.id for c in sorted(fused, key=lambda c: (-c.score, c.unit.content_order()))]


def main(arguments: list[str] | None = None) -> int:
    """Print a table: a row for each way of ranking, a column for each embedder, and the packages' own figures below."""
    parser = argparse.ArgumentParser(prog="python -m codelens.evaluation.docstrings", description=__doc__)
    parser.add_argument("trees", type=Path, nargs="+")
    parser.add_argument(
        "--models", nargs="+", default=["hashing", "codelens"], help="embedders, as the setting `model` names them"
    )
    asked = parser.parse_args(arguments)
    place = Path(tempfile.mkdtemp())
    try:
        sys.stdout.writelines(table(measure(asked.trees, asked.models, place), asked.models))
    finally:
        shutil.rmtree(place)
    return 0


Figures = dict[tuple[str, str], dict[str, float]]
"""(row, model) → package → MRR of the first ten."""


def measure(trees: Sequence[Path], models: Sequence[str], place: Path) -> Figures:
    """Ask each tree with each model. `place` is an empty folder for copies and indexes."""
    figures: Figures = {}
    for tree in trees:
        package = without_documentation(tree, place / tree.name, Settings(no_ignore=True))
        index = place / f"{tree.name}.db"
        for model in models:
            settings = Settings(model=model)
            Index.build(index, [package.root], settings)
            for row, values in ask(package, index, settings).items():
                figures.setdefault((row, model), {})[tree.name] = statistics.mean(values)
        print(f"{tree.name}: {len(package.questions)} candidates", file=sys.stderr)
        shutil.rmtree(package.root)
    return figures


def table(figures: Figures, models: Sequence[str]) -> Iterator[str]:
    """Lines of Markdown: means over the packages, then each package's own."""
    rows = list(dict.fromkeys(row for row, _ in figures))
    yield f"| MRR@{CUTOFF} | {' | '.join(models)} |\n|---|{'---:|' * len(models)}\n"
    for row in rows:
        yield f"| {row} | " + " | ".join(f"{statistics.mean(figures[row, m].values()):.3f}" for m in models) + " |\n"
    yield f"\n| package | {' | '.join(f'{m}: {row}' for m in models for row in rows)} |\n|---|{'---:|' * len(models) * len(rows)}\n"
    for package in sorted({p for values in figures.values() for p in values}):
        cells = (f"{figures[row, m].get(package, 0.0):.3f}" for m in models for row in rows)
        yield f"| {package} | {' | '.join(cells)} |\n"


if __name__ == "__main__":
    sys.exit(main())
