"""Unsaved texts and position encodings."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lsprotocol import types

from codelens.server.lsp.workspace import SourceText, count_code_units
from tests.server.lsp.client import LspClient, find, lsp_server, places
from tests.server.lsp.conftest import FILES

SHAPES, REPORT = "geometry/shapes.py", "geometry/report.py"
ENCODINGS = ("utf-8", "utf-16", "utf-32")
TEXTS = st.text(st.sampled_from("ab(\n\ré🎉\u2028\f"), max_size=30)


@pytest.fixture
def editing(client: LspClient, project: Path) -> Iterator[LspClient]:
    """A session in which all files that a test may change are open; they are closed after it."""
    for name in (SHAPES, REPORT, "wide.py"):
        client.open(project / name)
    yield client
    for name in (SHAPES, REPORT, "wide.py"):
        client.close(project / name)


def test_definitions_and_references_count_unsaved_texts(editing: LspClient, project: Path) -> None:
    text = "# a new line\n" + FILES[SHAPES].replace("make_square", "make_quad")
    editing.change(project / SHAPES, text)
    use = "from geometry.shapes import make_quad\n\n\ndef more() -> None:\n    make_quad(1.0)\n"
    editing.change(project / REPORT, use)
    found = editing.at("definition", project / REPORT, *find(use, "make_quad(1"))
    assert places(found, project) == [(SHAPES, find(text, "make_quad")[0] + 1)]
    context = {"includeDeclaration": True}
    found = editing.at("references", project / SHAPES, *find(text, "make_quad"), context=context)
    assert places(found, project) == [(SHAPES, 27), (REPORT, 1), (REPORT, 5)]
    (item,) = editing.at("prepareCallHierarchy", project / SHAPES, *find(text, "make_quad"))
    (call,) = editing.ask("callHierarchy/incomingCalls", {"item": item})
    assert (call["from"]["name"], call["fromRanges"][0]["start"]["line"]) == ("more", 4)


def test_unchanged_definitions_move_with_the_text(editing: LspClient, project: Path) -> None:
    editing.change(project / SHAPES, "\n" * 10 + FILES[SHAPES])
    found = editing.at("definition", project / REPORT, *find(FILES[REPORT], "make_square(side)"))
    assert places(found, project) == [(SHAPES, 36)]
    symbol = editing.ask("workspace/symbol", {"query": "make_square"})[0]
    assert places([symbol["location"]], project) == [(SHAPES, 36)]
    (item,) = editing.at("prepareCallHierarchy", project / REPORT, *find(FILES[REPORT], "report("))
    callees = editing.ask("callHierarchy/outgoingCalls", {"item": item})
    assert callees[1]["to"]["selectionRange"]["start"]["line"] == 35


def test_a_definition_removed_in_an_unsaved_text_is_not_found(editing: LspClient, project: Path) -> None:
    editing.change(project / SHAPES, "nothing = 1\n")
    found = editing.at("definition", project / REPORT, *find(FILES[REPORT], "make_square(side)"))
    assert places(found, project) == [(REPORT, 3)]  # the import
    found = [one["name"] for one in editing.ask("workspace/symbol", {"query": "make_square"})]
    assert "make_square" not in found


def test_a_file_that_was_never_saved_counts(editing: LspClient, project: Path) -> None:
    new, text = project / "geometry/new.py", "from geometry.shapes import make_square\n\nmake_square(3)\n"
    editing.open(new, text)
    try:
        found = editing.at("definition", new, *find(text, "make_square(3"))
        assert places(found, project) == [(SHAPES, 26)]
        context = {"includeDeclaration": False}
        found = editing.at("references", project / SHAPES, *find(FILES[SHAPES], "make_square"), context=context)
        assert ("geometry/new.py", 3) in places(found, project)
    finally:
        editing.close(new)


def test_a_closed_file_counts_as_indexed_again(editing: LspClient, project: Path) -> None:
    editing.change(project / SHAPES, "nothing = 1\n")
    editing.close(project / SHAPES)
    found = editing.at("definition", project / REPORT, *find(FILES[REPORT], "make_square(side)"))
    assert places(found, project) == [(SHAPES, 26)]


def test_a_rename_changes_unsaved_texts(editing: LspClient, project: Path) -> None:
    text = "\n" + FILES[SHAPES]
    editing.change(project / SHAPES, text)
    edit = editing.at("rename", project / SHAPES, *find(text, "make_square"), newName="build")
    assert edit["changes"][(project / SHAPES).as_uri()][0]["range"]["start"]["line"] == 26


def test_a_rename_changes_what_a_module_exports(editing: LspClient, project: Path) -> None:
    text = '__all__ = ["Shape", "make_square", "make_square_too"]\n' + FILES[SHAPES]
    editing.change(project / SHAPES, text)
    edit = editing.at("rename", project / SHAPES, *find(text, "make_square("), newName="build")["changes"]
    rows = [one["range"]["start"] for one in edit[(project / SHAPES).as_uri()]]
    assert rows == [{"line": 0, "character": 21}, {"line": 26, "character": 4}]


@pytest.mark.parametrize(
    "encoding", [pytest.param(one, marks=pytest.mark.slow) if one == "utf-32" else one for one in ENCODINGS]
)
def test_positions_count_in_the_encoding_of_the_client(encoding: str, project: Path, tmp_path: Path) -> None:
    """Positions behind characters outside of ASCII, in the text and in the index."""
    with lsp_server(tmp_path, "--no-index") as client:
        assert client.initialize(project, encodings=("x", encoding))["positionEncoding"] == encoding
        path = project / "wide.py"
        text = client.open(path)

        def units(row: int, character: int) -> int:
            return count_code_units(text.split("\n")[row][:character].encode(), encoding)

        line, character = find(text, "greet(text)")
        found = client.at("definition", path, line, units(line, character))
        assert places(found, project) == [("wide.py", 1)]
        context = {"includeDeclaration": False}
        wanted = [units(line, find(text, part)[1]) for part in ('greet("🎉")', "greet(text)")]
        for _ in range(2):
            found = client.at("references", path, 0, units(0, 4), context=context)
            assert [one["range"]["start"]["character"] for one in found] == wanted
            client.close(path)  # the second time from the index


@given(TEXTS, st.sampled_from(ENCODINGS))
def test_a_position_leads_back_to_its_offset(text: str, encoding: str) -> None:
    text_of_editor = SourceText.from_editor(Path("a.py"), text, encoding)
    for at in range(len(text) + 1):
        if text[at - 1 : at] != "\r":
            offset = len(text[:at].encode())
            assert text_of_editor.to_offset(text_of_editor.to_position(offset)) == offset


@given(TEXTS, st.integers(0, 40), st.sampled_from(ENCODINGS))
def test_a_place_beyond_the_line_is_its_end(text: str, units: int, encoding: str) -> None:
    line = text.partition("\n")[0].removesuffix("\r").encode()
    at = SourceText.from_editor(Path("a.py"), text, encoding).to_offset(types.Position(0, units))
    assert 0 <= at <= len(line)
    line[:at].decode()
    if units >= count_code_units(line, encoding):
        assert at == len(line)


def test_half_a_surrogate_pair_is_replaced() -> None:
    assert SourceText.from_editor(Path("a.py"), "\ud83d half", "utf-16").utf8 == b"? half"
