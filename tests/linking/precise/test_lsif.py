"""LSIF dumps: one that a real tool made, and what older and damaged ones look like."""

from __future__ import annotations

import json

import pytest

from codelens.errors import PreciseIndexError
from codelens.linking.precise.documents import (
    CodeUnits,
    Occurrence,
    PreciseDocument,
    Range,
    RefusedDocument,
    Relationship,
)
from codelens.linking.precise.lsif import read_lsif
from tests.linking.precise.indexes import CASES, converted, named, read

DUMP = "typescript/dump.lsif"


def vertex(number: int, label: str, **rest: object) -> dict[str, object]:
    return {"id": number, "type": "vertex", "label": label, **rest}


def edge(number: int, label: str, source: int, *targets: int, **rest: object) -> dict[str, object]:
    return {"id": number, "type": "edge", "label": label, "outV": source, "inVs": list(targets), **rest}


def span(line: int, start: int, end: int) -> dict[str, object]:
    return {"start": {"line": line, "character": start}, "end": {"line": line, "character": end}}


def dumped(*elements: dict[str, object]) -> bytes:
    return "\n".join(map(json.dumps, elements)).encode()


OLD = (
    vertex(1, "metaData", version="0.4.0", projectRoot="file:///c%3A/My%20Code/", toolInfo={"name": "lsif-go"}),
    vertex(2, "document", uri="file:///c:/My Code/area.go"),
    vertex(3, "range", **span(0, 5, 9)),
    vertex(4, "range", **span(2, 1, 5)),
    vertex(5, "resultSet"),
    {"id": 6, "type": "edge", "label": "next", "outV": 3, "inV": 5},
    {"id": 7, "type": "edge", "label": "next", "outV": 4, "inV": 5},
    {"id": 8, "type": "edge", "label": "textDocument/definition", "outV": 5, "inV": 9},
    vertex(9, "definitionResult"),
    {"id": 10, "type": "edge", "label": "item", "outV": 9, "inV": 3, "document": 2},
    {"id": 11, "type": "edge", "label": "contains", "outV": 2, "inV": 3},
    {"id": 12, "type": "edge", "label": "contains", "outV": 2, "inV": 4},
)
"""The form of LSIF 0.4: the root in the metadata, an edge for each target, an edge before what it leads to."""


def test_names_stand_where_lsif_tsc_says() -> None:
    _, main = converted(DUMP)
    assert named(DUMP, main) == [
        ("1:1", "", True),
        ("1:10", "Circle", False),
        ("1:18", "Square", False),
        ("1:26", "total", False),
        ("1:39", '"./shape"', False),
        ("3:17", "größe", True),
        ("4:9", "round", True),
        ("4:21", "Circle", False),
        ("4:38", "label", True),
        ("4:61", "total", False),
        ("4:68", "round", False),
        ("4:79", "Square", False),
        ("4:93", "label", False),
        ("4:99", "length", False),
        ("7:32", "report", True),
        ("7:61", "größe", False),
    ]


def test_equal_symbols_are_those_of_the_scip_index() -> None:
    """Two tools that look at one tree agree which names mean the same thing."""

    def groups(index: str) -> set[frozenset[tuple[str, int, int]]]:
        places: dict[str, set[tuple[str, int, int]]] = {}
        for facts in converted(index):
            for found in facts.occurrences:
                place = (facts.path, found.range.start_line, found.range.start_column)
                places.setdefault(found.symbol, set()).add(place)
        return {frozenset(group) for group in places.values()}

    lsif, scip = groups(DUMP), groups("typescript/index.scip")
    assert frozenset({("src/shape.ts", 22, 17), ("src/main.ts", 1, 26), ("src/main.ts", 4, 61)}) in lsif & scip
    assert len(lsif & scip) == 20
    # `new Circle` uses the class for one, its constructor for the other; and lsif-tsc has a symbol for the type Shape[].
    assert {place for group in lsif - scip for place in group} - {
        place for group in scip - lsif for place in group
    } == {("src/shape.ts", 22, 31)}
    assert sorted(map(len, lsif - scip)) == [1, 3, 3]
    assert sorted(map(len, scip - lsif)) == [2, 2, 2, 2]


def test_files_outside_the_root_are_refused() -> None:
    refused = [facts for facts in read(DUMP) if isinstance(facts, RefusedDocument)]
    assert len(refused) == 6
    assert all("node_modules/typescript/lib" in facts.path for facts in refused)


def test_an_overriding_method_is_related_to_what_it_overrides() -> None:
    shape = next(converted(DUMP))
    symbols = {found.range.start_line: found.symbol for found in shape.occurrences if found.is_definition}
    assert set(shape.relationships) == {
        Relationship(symbols[9], symbols[3], "reference"),
        Relationship(symbols[17], symbols[3], "reference"),
    }


@pytest.mark.parametrize("layout", ["one line", "a line each", "indented", "with a BOM"])
def test_a_dump_may_be_an_array(layout: str) -> None:
    lines = (CASES / DUMP).read_bytes().splitlines()
    elements = [json.loads(line) for line in lines]
    content = {
        "one line": json.dumps(elements).encode(),
        "a line each": b"[\n\t" + b",\n\t".join(lines) + b"\n]\n",
        "indented": json.dumps(elements, indent=2).encode(),
        "with a BOM": b"\xef\xbb\xbf" + b"\r\n".join(lines),
    }[layout]
    assert read(DUMP, content) == read(DUMP)


def test_an_old_dump() -> None:
    definition = Occurrence(Range(1, 6, 1, 10), "5", True)
    use = Occurrence(Range(3, 2, 3, 6), "5", False)
    assert read(DUMP, dumped(*OLD)) == [PreciseDocument("area.go", CodeUnits.UTF8, (definition, use))]


def test_without_a_definition_result_the_definitions_among_the_references_count() -> None:
    without = [element for element in OLD if element["id"] not in (8, 9, 10)]
    elements = (
        *without,
        edge(20, "textDocument/references", 5, 21),
        vertex(21, "referenceResult"),
        edge(22, "item", 21, 3, property="definitions", shard=2),
        edge(23, "item", 21, 4, property="references", shard=2),
    )
    (facts,) = read(DUMP, dumped(*[with_one(element) for element in elements]))
    assert isinstance(facts, PreciseDocument)
    assert [(found.symbol, found.is_definition) for found in facts.occurrences] == [("5", True), ("5", False)]


def with_one(element: dict[str, object]) -> dict[str, object]:
    """A references edge leads to one result, by `inV`."""
    targets = element.get("inVs")
    if element["label"] == "textDocument/references" and isinstance(targets, list):
        return {**element, "inV": targets[0]}
    return element


def test_a_definition_of_another_symbol_counts_for_both() -> None:
    """`import { area as size }`: the result set of the new name leads to the old name's definition."""
    elements = (
        *OLD,
        vertex(30, "range", **span(4, 0, 4)),
        vertex(31, "resultSet"),
        {"id": 32, "type": "edge", "label": "next", "outV": 30, "inV": 31},
        {"id": 33, "type": "edge", "label": "textDocument/definition", "outV": 31, "inV": 34},
        edge(35, "item", 34, 3, shard=2),
        edge(36, "contains", 2, 30),
    )
    (facts,) = read(DUMP, dumped(*elements))
    assert isinstance(facts, PreciseDocument)
    assert [(found.range.start_line, found.symbol, found.is_definition) for found in facts.occurrences] == [
        (1, "5", True),
        (1, "31", True),
        (3, "5", False),
        (5, "31", False),
    ]


def test_implementations_are_related() -> None:
    elements = (
        *OLD,
        {"id": 40, "type": "edge", "label": "textDocument/implementation", "outV": 41, "inV": 42},
        edge(43, "item", 42, 3, shard=2),
    )
    (facts,) = read(DUMP, dumped(*elements))
    assert isinstance(facts, PreciseDocument)
    assert facts.relationships == (Relationship("5", "41", "implementation"),)


def test_a_circle_of_edges_ends() -> None:
    circle = {"id": 50, "type": "edge", "label": "next", "outV": 5, "inV": 5}
    without = [element for element in OLD if element["id"] not in (8, 9, 10)]
    (facts,) = read(DUMP, dumped(*without, circle))
    assert isinstance(facts, PreciseDocument)
    assert [found.symbol for found in facts.occurrences] == ["5", "5"]


def test_ranges_that_make_no_sense_are_dropped_and_counted() -> None:
    elements = [{**element, **span(3, 9, 2)} if element["id"] == 4 else element for element in OLD]
    (facts,) = read(DUMP, dumped(*elements))
    assert isinstance(facts, PreciseDocument)
    assert (len(facts.occurrences), facts.dropped) == (1, 1)


def test_without_a_root_nothing_is_below_it() -> None:
    (facts,) = read(DUMP, dumped(vertex(1, "metaData"), OLD[1]))
    assert facts == RefusedDocument("file:///c:/My Code/area.go", "the dump does not say where its root is")


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (b"", "byte 0: not an LSIF dump: it has no metaData vertex"),
        (b"\n\n", "byte 2: not an LSIF dump: it has no metaData vertex"),
        (b'{"id":1,"type":"vertex","label":"metaData"}\n{"id"', "byte 44: not JSON: "),
        (b"[1]", "byte 0: not JSON: an element is not an object"),
        (b"\xff", "byte 0: not JSON: "),
        (b"[" * 100_000 + b'{"a":' * 100_000, "byte 0: not JSON: "),
        (b'{"type":"vertex"}', "byte 0: not an LSIF element: KeyError: 'label'"),
        (
            b'{"type":"edge","label":"next","outV":[],"inV":1}',
            "byte 0: not an LSIF element: TypeError: [] is not an id",
        ),
    ],
)
def test_a_fault_names_file_and_byte(content: bytes, fault: str) -> None:
    with pytest.raises(PreciseIndexError) as raised:
        list(read_lsif(content, "dump.lsif"))
    assert str(raised.value).startswith(f"dump.lsif, {fault}")
