"""The judged queries of the sample repositories: what a person expects comes first, for most of them.

qrels.tsv is in TREC's form (query, 0, PATH:NAME, grade): 2 is what was asked for, 1 is of use.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass

import pytest

from codelens.index import Index
from codelens.model.code import UnitRow
from tests.commands import SAMPLES
from tests.search.trees import QUICK, find

REPOSITORIES = ("notes", "shop")


@dataclass(frozen=True, slots=True)
class Judged:
    """A query, what it should find with the grade of each, and the places of the ten best hits."""

    query: str
    grades: dict[str, int]
    found: list[str]

    @property
    def asked_for(self) -> set[str]:
        return {place for place, grade in self.grades.items() if grade == 2}


def read_queries(repository: str) -> dict[str, str]:
    lines = (SAMPLES / repository / "queries.jsonl").read_text(encoding="utf-8").splitlines()
    return {row["id"]: row["query"] for row in map(json.loads, lines)}


def read_grades(repository: str) -> dict[str, dict[str, int]]:
    grades: dict[str, dict[str, int]] = {}
    for line in (SAMPLES / repository / "qrels.tsv").read_text(encoding="utf-8").splitlines():
        query, zero, place, grade = line.split("\t")
        assert zero == "0"
        grades.setdefault(query, {})[place] = int(grade)
    return grades


def place_of(unit: UnitRow) -> str:
    """A section is judged by its own heading, without those above it."""
    return f"{unit.path}:{unit.name if unit.kind == 'section' else unit.qualified_name}"


@pytest.fixture(scope="module")
def indexes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Index]]:
    """Each repository in an index of its own."""
    folder = tmp_path_factory.mktemp("judged")
    for name in REPOSITORIES:
        Index.build(folder / f"{name}.db", [SAMPLES / name / "repo"], QUICK)
    with ExitStack() as stack:
        yield {name: stack.enter_context(Index.open(folder / f"{name}.db", QUICK)) for name in REPOSITORIES}


@pytest.fixture(scope="module")
def judged(indexes: dict[str, Index]) -> list[Judged]:
    return [
        Judged(query, read_grades(name)[number], [place_of(hit.unit) for hit in find(index, query, limit=10).hits])
        for name, index in indexes.items()
        for number, query in read_queries(name).items()
    ]


@pytest.mark.slow
@pytest.mark.parametrize("repository", REPOSITORIES)
def test_every_query_is_judged_and_every_judged_place_is_indexed(repository: str, indexes: dict[str, Index]) -> None:
    grades = read_grades(repository)
    assert grades.keys() == read_queries(repository).keys()
    assert all(2 in judged.values() and set(judged.values()) <= {1, 2} for judged in grades.values())
    places = {place_of(hit.unit) for hit in find(indexes[repository], "path:*", limit=10_000).hits}
    assert {place for judged in grades.values() for place in judged} <= places


def test_most_relevant_units_are_among_the_first_ten(judged: list[Judged]) -> None:
    """28 of 31 when this was written. By path alone it would be 11, in the reverse order 4."""
    wanted = [(row.query, place) for row in judged for place in sorted(row.asked_for)]
    missed = [(row.query, place) for row in judged for place in sorted(row.asked_for.difference(row.found))]
    assert len(wanted) >= 30
    assert len(missed) <= 0.17 * len(wanted), missed


def test_nearly_every_query_finds_something_relevant(judged: list[Judged]) -> None:
    """All 20 when this was written."""
    empty = [row.query for row in judged if not row.asked_for.intersection(row.found)]
    assert len(judged) >= 20
    assert len(empty) <= 0.05 * len(judged), empty


def test_most_queries_have_it_first(judged: list[Judged]) -> None:
    """17 of 20 when this was written. By path alone it would be none."""
    others = [(row.query, row.found[:1]) for row in judged if not row.asked_for.intersection(row.found[:1])]
    assert len(others) <= 0.3 * len(judged), others


@pytest.mark.parametrize("query", ["verify_password", "SessionTable.user_of", "PlaceOrder", "format_money"])
def test_a_name_has_its_definition_first(query: str, judged: list[Judged]) -> None:
    (row,) = (row for row in judged if row.query == query)
    assert {row.found[0]} == row.asked_for
