"""An index → questions of three shapes, drawn from its own names and docstrings: the same tree always asks the same."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import xxhash

from codelens.config import Settings
from codelens.index import Index
from codelens.model.code import SYMBOL_KINDS, UnitRow
from codelens.model.request import SearchOptions
from codelens.training.phrases import extract_first_sentence

SHAPES = ("name", "substring", "sentence")
SHORTEST = 6  # Letters of a name. Chosen: of shorter ones there is no substring that is not a word.


def draw(index: Path, each: int) -> dict[str, list[str]]:
    """Shape → at most `each` different questions, of one file each as far as there are files with symbols."""
    drawn: dict[str, list[str]] = {shape: [] for shape in SHAPES}
    for _, units in files_with_symbols(index):
        for shape, asked in _questions(units).items():
            if asked not in drawn[shape] and len(drawn[shape]) < each:
                drawn[shape].append(asked)
        if all(len(questions) == each for questions in drawn.values()):
            break
    return drawn


def files_with_symbols(index: Path) -> Iterator[tuple[Path, list[UnitRow]]]:
    """Files and their symbols, in an order that depends on the paths alone and that mixes all folders."""
    with Index.open(index, Settings(trust_indexes=True)) as opened:
        for root, path in sorted(opened.files(SearchOptions()), key=lambda file: _draw(file[1])):
            units = [u for u in opened.symbols(path) if u.kind in SYMBOL_KINDS and not u.local and u.kind != "module"]
            if units:
                yield Path(root, path), sorted(units, key=lambda unit: _draw(unit.qualified_name))


def _questions(units: list[UnitRow]) -> Mapping[str, str]:
    names = [unit.name for unit in units if len(unit.name) >= SHORTEST and unit.name.isidentifier()]
    asked = {"name": names[0], "substring": names[-1][2:-1]} if names else {}
    said = next(filter(None, (extract_first_sentence(unit.doc, unit.name) for unit in units if unit.doc)), "")
    return asked | {"sentence": said} if said else asked


def _draw(text: str) -> int:
    return xxhash.xxh3_64_intdigest(text.encode("utf-8", "surrogateescape"))
