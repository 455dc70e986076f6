"""Facts and units → which unit each reference means, over the units that codelens itself finds in the two small trees."""

from __future__ import annotations

import shutil
from collections.abc import Sequence

import pytest

from codelens.config import Settings
from codelens.index import Index
from codelens.linking.precise.indexes import IndexMatches, match_units
from codelens.linking.precise.scip import CodeUnits, Occurrence, PreciseDocument, Range, Relationship
from codelens.model.code import UnitId, UnitRow
from tests.linking.precise.indexes import CASES, converted

Units = dict[str, Sequence[UnitRow]]


@pytest.fixture(scope="module")
def units(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Units]:
    """Tree → path → units."""
    found: dict[str, Units] = {}
    for tree in ("typescript", "python"):
        root = tmp_path_factory.mktemp(tree)
        shutil.copytree(CASES / tree, root, dirs_exist_ok=True, ignore=shutil.ignore_patterns("*.scip"))
        Index.build(root / "index.db", [root], Settings(jobs=1))
        with Index.open(root / "index.db") as index:
            paths = [path.relative_to(root).as_posix() for path in root.rglob("*.[tp][sy]")]
            found[tree] = {path: index.symbols(path) for path in paths}
    return found


def matched(units: dict[str, Units], index: str) -> IndexMatches:
    return match_units(converted(index), units[index.partition("/")[0]].get)


def references(units: dict[str, Units], index: str) -> list[str]:
    """Each as 'place → path of the unit, its name'."""
    return uses(units[index.partition("/")[0]], matched(units, index))


def uses(units: Units, matches: IndexMatches) -> list[str]:
    found = []
    for path, numbers in matches.uses.items():
        for at in range(0, len(numbers), 3):
            line, column, unit = numbers[at : at + 3]
            found.append(f"{path}:{line}:{column} → {meant(units, UnitId(unit))}")
    return found


def meant(units: Units, target: UnitId) -> str:
    return next(f"{u.path} {u.qualified_name}" for rows in units.values() for u in rows if u.id == target)


SHAPES = [
    "src/shape.ts:6:32 → src/shape.ts Shape",
    "src/shape.ts:14:32 → src/shape.ts Shape",
    "src/shape.ts:22:31 → src/shape.ts Shape",
    "src/shape.ts:23:52 → src/shape.ts Shape.area",
    "src/main.ts:1:10 → src/shape.ts Circle",
    "src/main.ts:1:18 → src/shape.ts Square",
    "src/main.ts:1:26 → src/shape.ts total",
    "src/main.ts:4:21 → src/shape.ts Circle.constructor",
    "src/main.ts:4:61 → src/shape.ts total",
    "src/main.ts:4:79 → src/shape.ts Square.constructor",
    "src/main.ts:7:61 → src/main.ts größe",
]


def test_references_of_typescript(units: dict[str, Units]) -> None:
    assert references(units, "typescript/index.scip") == SHAPES


def test_references_of_python(units: dict[str, Units]) -> None:
    assert references(units, "python/index.scip") == [
        "shapes/main.py:3:26 → shapes/shape.py Circle",
        "shapes/main.py:3:34 → shapes/shape.py total",
        "shapes/main.py:8:28 → shapes/shape.py total",
        "shapes/main.py:8:35 → shapes/shape.py Circle",
        "shapes/main.py:8:46 → shapes/shape.py Circle",
        "shapes/main.py:13:15 → shapes/main.py größe",
        "shapes/shape.py:14:14 → shapes/shape.py Shape",
        "shapes/shape.py:24:24 → shapes/shape.py Shape",
        "shapes/shape.py:26:22 → shapes/shape.py Shape.area",
    ]


def test_an_index_gives_implementations(units: dict[str, Units]) -> None:
    of_tree = units["python"]
    found = matched(units, "python/index.scip").implementations
    assert [(meant(of_tree, source), meant(of_tree, target)) for source, target in found] == [
        ("shapes/shape.py Circle", "shapes/shape.py Shape"),
        ("shapes/shape.py Circle.area", "shapes/shape.py Shape.area"),
    ]


def meanings(units: Units, matches: IndexMatches) -> list[str]:
    return [use.partition(" → ")[2] for use in uses(units, matches)]


TOTAL, SHAPE = Range(22, 17, 22, 22), Range(2, 18, 2, 23)
USE = Occurrence(Range(4, 61, 4, 66), "used", False)


def said(path: str, *occurrences: Occurrence, relationships: tuple[Relationship, ...] = ()) -> PreciseDocument:
    return PreciseDocument(path, CodeUnits.UTF8, occurrences, relationships)


def test_a_use_may_come_before_its_definition(units: dict[str, Units]) -> None:
    definition = Occurrence(TOTAL, "used", True)
    found = match_units([said("src/main.ts", USE), said("src/shape.ts", definition)], units["typescript"].get)
    assert meanings(units["typescript"], found) == ["src/shape.ts total"]


def test_a_symbol_defined_twice_means_both(units: dict[str, Units]) -> None:
    both = [Occurrence(place, "used", True) for place in (TOTAL, SHAPE, TOTAL)]
    found = match_units([said("src/shape.ts", *both), said("src/main.ts", USE)], units["typescript"].get)
    assert meanings(units["typescript"], found) == ["src/shape.ts total", "src/shape.ts Shape"]


def test_a_symbol_with_many_definitions_means_nothing(units: dict[str, Units]) -> None:
    names = [unit for unit in units["typescript"]["src/shape.ts"] if unit.name]
    everywhere = [
        Occurrence(Range(unit.name_line, unit.name_column, unit.name_line, unit.name_column + 1), "used", True)
        for unit in names
    ]
    found = match_units([said("src/shape.ts", *everywhere), said("src/main.ts", USE)], units["typescript"].get)
    assert meanings(units["typescript"], found) == []


def test_a_relation_to_a_definition_defines_a_symbol(units: dict[str, Units]) -> None:
    other = said("src/shape.ts", Occurrence(TOTAL, "other", True))
    use = said("src/main.ts", USE, relationships=(Relationship("used", "other", "definition"),))
    found = match_units([use, other], units["typescript"].get)
    assert meanings(units["typescript"], found) == ["src/shape.ts total"]


def test_a_definition_that_only_overlaps_a_name_is_its(units: dict[str, Units]) -> None:
    longer = Occurrence(Range(22, 8, 22, 22), "used", True)  # 'function total'
    found = match_units([said("src/shape.ts", longer), said("src/main.ts", USE)], units["typescript"].get)
    assert meanings(units["typescript"], found) == ["src/shape.ts total"]


def test_documents_that_are_not_indexed_are_left_out(units: dict[str, Units]) -> None:
    definition = Occurrence(TOTAL, "used", True)
    found = match_units([said("other.ts", definition, USE), said("src/main.ts", USE)], units["typescript"].get)
    assert meanings(units["typescript"], found) == []
