"""Each request, asked of a real server about a small project."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.server.lsp.client import LspClient, RequestError, find, places
from tests.server.lsp.conftest import FILES

SHAPES, REPORT = "geometry/shapes.py", "geometry/report.py"


class Asked:
    """A session with a file open, asked at the place of a text."""

    def __init__(self, client: LspClient, project: Path) -> None:
        self.client, self.project = client, project

    def at(self, method: str, file: str, needle: str, occurrence: int = 1, **more: Any) -> Any:
        place = find(FILES[file], needle, occurrence)
        return self.client.at(method, self.project / file, *place, **more)

    def places(self, method: str, file: str, needle: str, occurrence: int = 1, **more: Any) -> list[tuple[str, int]]:
        return places(self.at(method, file, needle, occurrence, **more), self.project)

    def whole(self, method: str, file: str, **more: Any) -> Any:
        document = {"uri": (self.project / file).as_uri()}
        return self.client.ask(f"textDocument/{method}", {"textDocument": document, **more})


@pytest.fixture
def asked(client: LspClient, project: Path) -> Iterator[Asked]:
    opened = [project / name for name in FILES]
    for path in opened:
        client.open(path)
    yield Asked(client, project)
    for path in opened:
        client.close(path)


def line(file: str, needle: str, occurrence: int = 1) -> tuple[str, int]:
    return file, find(FILES[file], needle, occurrence)[0] + 1


@pytest.mark.parametrize(
    ("file", "needle", "occurrence", "wanted"),
    [
        (REPORT, "make_square(side)", 1, line(SHAPES, "def make_square")),
        (REPORT, "make_square", 1, line(SHAPES, "def make_square")),
        (REPORT, "area()", 1, line(SHAPES, "def area")),
        (REPORT, "name}", 1, line(SHAPES, "self.name")),
        (REPORT, "geometry.shapes", 1, ("geometry/__init__.py", 1)),
        (REPORT, "shapes import", 1, (SHAPES, 1)),
        (REPORT, "text\n", 1, line(REPORT, "text =")),
        (REPORT, "shape.name", 1, line(REPORT, "shape: Shape")),
        (SHAPES, "side * self", 1, line(SHAPES, "self.side")),
        (SHAPES, "LIMIT)", 1, line(SHAPES, "LIMIT")),
        ("main.c", "twice", 1, line("math.c", "twice")),
        ("pair.c", "pair *of", 1, line("pair.c", "} pair")),
        ("options.ts", "limit: 1", 1, ("options.ts", 1)),
        ("options.ts", "$ref: 'x'", 1, ("options.ts", 1)),
        ("options.ts", "ref;", 1, ("options.ts", 1)),
        ("options.ts", "limit: 2", 1, ("options.ts", 1)),
        ("trim.rs", "line.trim", 1, ("trim.rs", 2)),
        ("trim.rs", "line);", 1, ("trim.rs", 3)),
        ("notes.md", "make_square", 1, line(SHAPES, "def make_square")),
    ],
)
def test_a_definition_is_found(file: str, needle: str, occurrence: int, wanted: tuple[str, int], asked: Asked) -> None:
    assert asked.places("definition", file, needle, occurrence) == [wanted]


def test_an_uncertain_name_has_several_definitions(asked: Asked) -> None:
    found = asked.places("definition", REPORT, "unbolt_it")
    assert found == [line("geometry/door.py", "def unbolt_it"), line("geometry/door.py", "def unbolt_it", 2)]


@pytest.mark.parametrize("needle", ["def describe", "for side", '"""Reports', "return text", "\n"])
def test_a_keyword_has_no_definition(needle: str, asked: Asked) -> None:
    assert not asked.at("definition", REPORT, needle)


def test_a_declaration_is_a_prototype_else_the_definition(asked: Asked) -> None:
    assert asked.places("declaration", "main.c", "twice") == [line("math.h", "twice")]
    assert asked.places("declaration", REPORT, "make_square") == [line(SHAPES, "def make_square")]


def test_the_type_of_a_value_is_found(asked: Asked) -> None:
    assert asked.places("typeDefinition", SHAPES, "square = ") == [line(SHAPES, "class Square")]
    assert asked.places("typeDefinition", REPORT, "shape.name") == [line(SHAPES, "class Shape")]
    assert asked.places("typeDefinition", REPORT, "make_square(") == [line(SHAPES, "class Square")]
    assert asked.places("typeDefinition", REPORT, "lines") == []


def test_implementations_are_subtypes_and_overriding_methods(asked: Asked) -> None:
    assert asked.places("implementation", SHAPES, "Shape:") == [line(SHAPES, "class Square")]
    assert asked.places("implementation", SHAPES, "area(") == [line(SHAPES, "def area", 2)]
    assert asked.places("implementation", SHAPES, "make_square") == [line(SHAPES, "def make_square")]


def test_references_are_found_with_their_declaration(asked: Asked) -> None:
    context = {"includeDeclaration": True}
    found = asked.places("references", SHAPES, "make_square", context=context)
    assert found == [
        *(line(*one) for one in ((SHAPES, "def make_square"), (REPORT, "make_square"), (REPORT, "make_square(side)"))),
        ("notes.md", 5),
    ]
    without = asked.places("references", SHAPES, "make_square", context={"includeDeclaration": False})
    assert without == found[1:]
    fields = asked.places("references", SHAPES, "side * self", context=context)
    assert fields == [line(SHAPES, "self.side"), *[line(SHAPES, "side * self")] * 2]
    local = asked.places("references", REPORT, "text =", context=context)
    assert local == [line(REPORT, "text ="), line(REPORT, "return text")]


def test_sure_references_come_first(asked: Asked) -> None:
    given = {"uri": (asked.project / "geometry/door.py").as_uri()}
    given["position"] = dict(zip(("line", "character"), find(FILES["geometry/door.py"], "unbolt_it"), strict=True))  # type: ignore[assignment]
    answer = asked.client.ask("workspace/executeCommand", {"command": "codelens.references", "arguments": [given]})
    assert [(p["certainty"], p["text"].strip()) for p in answer["relations"]] == [
        ("by name", "return anything.unbolt_it()")
    ]
    assert "1 by name only" in answer["notices"][0]["text"]


def test_a_hover_shows_signature_documentation_and_callers(asked: Asked) -> None:
    text = asked.at("hover", REPORT, "make_square(")["contents"]["value"]
    assert "```python\ndef make_square(side: float) -> Square:\n```" in text
    assert "Make a square if it is not too large." in text
    assert "geometry/shapes.py:26, 1 caller, 0 tests" in text
    assert "1 test" in asked.at("hover", REPORT, "report(")["contents"]["value"]
    field = asked.at("hover", REPORT, "name}")["contents"]["value"]
    assert "self.name = name" in field
    assert "field of Shape" in field
    assert "type: Square" in asked.at("hover", SHAPES, "square\n")["contents"]["value"]
    assert asked.at("hover", REPORT, "return text") is None


def test_highlights_tell_writing_from_reading(asked: Asked) -> None:
    found = asked.at("documentHighlight", REPORT, "lines = ")
    rows = [(one["range"]["start"]["line"], one["kind"]) for one in found]
    first = find(FILES[REPORT], "lines = ")[0]
    assert rows == [(first, 3), (first + 2, 2), (first + 3, 2)]


def test_symbols_of_a_document_are_nested(asked: Asked) -> None:
    found = asked.whole("documentSymbol", SHAPES)
    assert [one["name"] for one in found] == ["LIMIT", "Shape", "Square", "make_square"]
    assert [one["name"] for one in found[1]["children"]] == ["__init__", "area"]
    assert [one["kind"] for one in found] == [14, 5, 5, 12]
    assert [one["name"] for one in asked.whole("documentSymbol", "notes.md")] == ["Geometry", "Squares"]


def test_symbols_of_the_workspace_are_found_by_search(asked: Asked) -> None:
    found = asked.client.ask("workspace/symbol", {"query": "make_square"})
    assert (found[0]["name"], found[0]["kind"]) == ("make_square", 12)
    assert places([found[0]["location"]], asked.project) == [line(SHAPES, "def make_square")]
    assert asked.client.ask("workspace/symbol", {"query": " "}) == []


def test_a_call_hierarchy_lists_callers_and_callees_with_places(asked: Asked) -> None:
    (item,) = asked.at("prepareCallHierarchy", REPORT, "describe")
    (call,) = asked.client.ask("callHierarchy/incomingCalls", {"item": item})
    assert call["from"]["name"] == "report"
    assert [one["start"]["line"] + 1 for one in call["fromRanges"]] == [line(REPORT, "describe(make")[1]]
    callees = asked.client.ask("callHierarchy/outgoingCalls", {"item": call["from"]})
    assert [one["to"]["name"] for one in callees] == ["describe", "make_square"]
    assert callees[1]["fromRanges"][0]["start"] == dict(
        zip(("line", "character"), find(FILES[REPORT], "make_square(side)"), strict=True)
    )


def test_a_type_hierarchy_lists_subtypes_and_supertypes(asked: Asked) -> None:
    (item,) = asked.at("prepareTypeHierarchy", SHAPES, "Shape:")
    (below,) = asked.client.ask("typeHierarchy/subtypes", {"item": item})
    assert below["name"] == "Square"
    assert [one["name"] for one in asked.client.ask("typeHierarchy/supertypes", {"item": below})] == ["Shape"]
    assert asked.client.ask("typeHierarchy/supertypes", {"item": item}) == []
    assert asked.at("prepareTypeHierarchy", SHAPES, "make_square") == []


def test_blocks_and_sections_fold(asked: Asked) -> None:
    folds = {(one["startLine"] + 1, one["endLine"] + 1) for one in asked.whole("foldingRange", SHAPES)}
    assert {(6, 14), (26, 30)} <= folds
    assert {one["startLine"] for one in asked.whole("foldingRange", "math.c")} == {2}
    assert [one["startLine"] for one in asked.whole("foldingRange", "notes.md")] == [2]


def test_selections_grow_by_the_syntax(asked: Asked) -> None:
    character = dict(zip(("line", "character"), find(FILES[REPORT], "make_square(side)"), strict=True))
    (selection,) = asked.whole("selectionRange", REPORT, positions=[character])
    rows, texts = FILES[REPORT].split("\n"), []
    while selection:
        start, end = selection["range"]["start"], selection["range"]["end"]
        if start["line"] == end["line"]:
            texts.append(rows[start["line"]][start["character"] : end["character"]])
        selection = selection.get("parent")
    assert texts[:3] == ["make_square", "make_square(side)", "(make_square(side))"]
    assert asked.whole("selectionRange", "notes.md", positions=[character])[0]["range"]["start"] == character


def test_code_lenses_count_references_and_tests(asked: Asked) -> None:
    titles = {one["range"]["start"]["line"] + 1: one["command"] for one in asked.whole("codeLens", REPORT)}
    assert titles[line(REPORT, "def report")[1]]["title"] == "2 references, 1 test"
    assert titles[line(REPORT, "def describe")[1]]["title"] == "1 reference"
    assert titles[line(REPORT, "def describe")[1]]["command"] == "codelens.references"


# Renaming


def edited(project: Path, edit: Any) -> dict[str, str]:
    """The texts after an edit, by path."""
    texts = {}
    for uri, changes in edit["changes"].items():
        name = uri.removeprefix(project.as_uri() + "/")
        rows = FILES[name].split("\n")
        for change in sorted(changes, key=lambda one: -one["range"]["start"]["character"]):
            start, end = change["range"]["start"], change["range"]["end"]
            row = rows[start["line"]]
            rows[start["line"]] = row[: start["character"]] + change["newText"] + row[end["character"] :]
        texts[name] = "\n".join(rows)
    return texts


def test_a_function_is_renamed_where_it_is_used(asked: Asked) -> None:
    ready = asked.at("prepareRename", REPORT, "make_square")
    assert ready["placeholder"] == "make_square"
    found = edited(asked.project, asked.at("rename", REPORT, "make_square", newName="build"))
    assert found == {name: FILES[name].replace("make_square", "build") for name in (REPORT, SHAPES)}


def test_a_local_name_is_renamed_in_its_function(asked: Asked) -> None:
    found = edited(asked.project, asked.at("rename", REPORT, "text\n", newName="shown"))
    assert found == {REPORT: FILES[REPORT].replace("text", "shown")}


def test_a_parameter_is_renamed_with_the_arguments_that_name_it(asked: Asked) -> None:
    found = edited(asked.project, asked.at("rename", REPORT, "sides:", newName="edges"))
    assert found == {REPORT: FILES[REPORT].replace("sides", "edges")}
    found = edited(asked.project, asked.at("rename", "arguments.py", "factor:", newName="by"))
    assert found == {"arguments.py": FILES["arguments.py"].replace("factor", "by")}


def test_a_field_is_renamed_where_it_is_used(asked: Asked) -> None:
    found = edited(asked.project, asked.at("rename", SHAPES, "side * self", newName="edge"))
    assert found == {SHAPES: FILES[SHAPES].replace("self.side", "self.edge")}


@pytest.mark.parametrize(
    ("file", "needle", "name", "reason"),
    [
        ("geometry/door.py", "unbolt_it", "let_go", "1 place of unbolt_it cannot be resolved with certainty"),
        (REPORT, "unbolt_it", "let_go", "not certain what unbolt_it means"),
        (SHAPES, "area(", "surface", "cannot be resolved with certainty"),
        ("arguments.py", "amount:", "size", "is a parameter, which the call in arguments.py:10 may name"),
        (REPORT, "make_square", "two words", "is not a name"),
        (REPORT, "report", "describe", "is defined there already"),
        (REPORT, "return text", "give", "no definition"),
        (SHAPES, "width", "side", "is defined there already"),
    ],
)
def test_an_unsafe_rename_is_refused(file: str, needle: str, name: str, reason: str, asked: Asked) -> None:
    with pytest.raises(RequestError, match=reason):
        asked.at("rename", file, needle, newName=name)


# Commands


def command(asked: Asked, name: str, **given: Any) -> Any:
    return asked.client.ask("workspace/executeCommand", {"command": f"codelens.{name}", "arguments": [given]})


def at_place(asked: Asked, file: str, needle: str) -> dict[str, Any]:
    position = dict(zip(("line", "character"), find(FILES[file], needle), strict=True))
    return {"uri": (asked.project / file).as_uri(), "position": position}


def test_the_search_command_returns_hits_with_places(asked: Asked) -> None:
    answer = command(asked, "search", query="make a square", limit=3)
    first = answer["hits"][0]
    assert (first["name"], first["kind"], first["path"]) == ("make_square", "function", SHAPES)
    assert first["range"]["start"]["line"] + 1 == line(SHAPES, "def make_square")[1]
    assert first["signature"] == "def make_square(side: float) -> Square:"
    assert first["reason"]
    assert "def make_square" in first["snippet"][0]["text"]
    assert first["score"] > 0
    assert len(answer["hits"]) <= 3


def test_the_why_command_explains_a_rank(asked: Asked) -> None:
    answer = command(asked, "why", query="make a square", **at_place(asked, SHAPES, "make_square"))
    assert answer["explanations"][0]["candidate"]["rank"] == 1
    assert "make_square" in answer["text"]


def test_the_context_command_packs_code_within_a_budget(asked: Asked) -> None:
    uri, start = (asked.project / REPORT).as_uri(), find(FILES[REPORT], "def describe")[0]
    part = {"start": {"line": start, "character": 0}, "end": {"line": start + 1, "character": 0}}
    answer = command(asked, "context", uri=uri, range=part, budget=4000)
    assert answer["text"].index("def describe") < answer["text"].index("def report")
    assert 0 < answer["tokens"] <= 4000


def test_the_impact_command_lists_callers_and_tests(asked: Asked) -> None:
    answer = command(asked, "impact", **at_place(asked, REPORT, "describe"))
    assert [(one["source"]["name"], one["depth"], one["test"]) for one in answer["relations"]] == [
        ("report", 1, False),
        ("test_report", 2, True),
    ]
    assert "report" in answer["text"]


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("search", {}),
        ("search", {"query": 3}),
        ("search", {"query": "x", "limit": "3"}),
        ("why", {"query": "x"}),
        ("context", {}),
        ("impact", {"uri": "file:///x"}),
        ("impact", {"uri": 3, "position": {}}),
    ],
)
def test_a_command_says_what_it_needs(name: str, given: dict[str, Any], asked: Asked) -> None:
    with pytest.raises(RequestError, match="the argument needs"):
        command(asked, name, **given)


def test_an_unknown_command_is_refused(asked: Asked) -> None:
    with pytest.raises(RequestError):
        command(asked, "dance")
    with pytest.raises(RequestError, match="one argument"):
        asked.client.ask("workspace/executeCommand", {"command": "codelens.search", "arguments": []})
