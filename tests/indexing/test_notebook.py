"""Notebooks: places in the file, what is searched of them, and what a person sees of a hit."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codelens.indexing.extract import extract
from codelens.model.code import CHUNK_KINDS
from codelens.model.extraction import DecodedText
from codelens.model.graph import RelationOptions
from codelens.text.lines import TextMap
from codelens.text.notebook import decode_source, format_line, read_notebook
from codelens.worktree.classify import classify_bytes
from tests.search.trees import Tree, find, names, paths

CODE = """\
%matplotlib inline
import shop

def totals(cart, sep="\\t"):
    \"\"\"Add the prices of a “cart” up.\"\"\"
    return shop.prices(cart, sep)
"""
PLOT = {"data": {"image/png": "iVBORw0KGgo" * 1000, "text/plain": "noise of an output"}, "output_type": "display_data"}


def notebook(*cells: tuple[str, str], kernel: str = "python", one_string: bool = False) -> dict[str, Any]:
    made = []
    for kind, source in cells:
        cell: dict[str, Any] = {"cell_type": kind, "metadata": {"source": "not this"}}
        if kind == "code":
            cell |= {"execution_count": 1, "outputs": [PLOT]}
        made.append(cell | {"source": source if one_string else source.splitlines(keepends=True)})
    return {"cells": made, "metadata": {"kernelspec": {"language": kernel}}, "nbformat": 4, "nbformat_minor": 5}


GUIDE = notebook(
    ("markdown", "# Prices\n\nHow `totals` adds up.\n\n## Later\n"),
    ("code", CODE),
    ("markdown", "Still of the later part.\n"),
)


@pytest.mark.parametrize("indent", [1, None])
@pytest.mark.parametrize("one_string", [False, True])
@pytest.mark.parametrize("ascii_only", [False, True])
def test_units_have_the_places_of_their_source(indent: int | None, one_string: bool, ascii_only: bool) -> None:
    source = notebook(("markdown", "# Prices\n\nwords\n"), ("code", CODE), one_string=one_string)
    text = TextMap(DecodedText(json.dumps(source, indent=indent, ensure_ascii=ascii_only), "utf-8", 1.0, 0))
    found = extract(text, "a.ipynb", "jupyter")
    by_name = {unit.name: unit for unit in found.units if unit.kind not in CHUNK_KINDS}
    totals = by_name["totals"]
    written = decode_source(text.utf8[totals.span.start : totals.span.end].decode())
    assert written == CODE[CODE.index("def totals") :].removesuffix("\n")
    assert text.utf8[totals.name_span.start : totals.name_span.end] == b"totals"
    assert totals.doc == "Add the prices of a “cart” up."
    assert text.find_line_column(totals.name_span.start) == (totals.name_line, totals.name_column)
    assert [i.module for i in found.imports] == ["shop"]
    assert not found.fault


_SOURCES = st.text(st.sampled_from('ab"\\\n\té😀{}[],:#'), max_size=30)


@given(st.lists(st.tuples(st.sampled_from(["markdown", "code", "raw"]), _SOURCES), max_size=5), st.booleans())
def test_every_source_is_read_and_any_part_of_it_is_found_again(cells: list[tuple[str, str]], plain: bool) -> None:
    source = json.dumps(notebook(*cells, one_string=plain), ensure_ascii=plain).encode()
    read = read_notebook(source)
    written = [(kind, text) for kind, text in cells if text or plain]
    assert [(cell.kind, cell.source.utf8.decode()) for cell in read.cells] == written
    for cell in read.cells:
        for at in range(len(cell.source.utf8)):
            assert source[cell.source.map_offset(at)] != b'"'[0] or source[cell.source.map_offset(at) - 1] == b"\\"[0]


@given(st.text(st.sampled_from('{}[]",:\\u12ab \n"source""cells"'), max_size=80))
def test_a_broken_notebook_is_read_up_to_its_fault(source: str) -> None:
    extract(TextMap(DecodedText(source, "utf-8", 1.0, 0)), "a.ipynb", "jupyter")


def test_other_kernels_and_nbformat_3_are_read() -> None:
    rust = extract(
        TextMap(DecodedText(json.dumps(notebook(("code", "fn sum() {}"), kernel="Rust")), "utf-8", 1.0, 0)),
        "a.ipynb",
        "jupyter",
    )
    assert [unit.name for unit in rust.units] == ["sum"]
    old = {"worksheets": [{"cells": [{"cell_type": "code", "input": ["def old():\n", "    pass"]}]}], "nbformat": 3}
    found = extract(TextMap(DecodedText(json.dumps(old), "utf-8", 1.0, 0)), "a.ipynb", "jupyter")
    assert [unit.name for unit in found.units] == ["old"]


def test_a_line_is_shown_as_written_at_its_own_column() -> None:
    line = '    "def load(path, sep=\\"\\\\t\\"):\\n",'
    assert format_line(line) == '     def load(path, sep="\\t"):'
    assert format_line(line).index("def") == line.index("def")
    assert format_line('   "cell_type": "code",') == '   "cell_type": "code",'


def test_plots_do_not_make_a_notebook_a_minified_file() -> None:
    raw = json.dumps(GUIDE).encode()
    assert classify_bytes("guide.ipynb", raw) is None
    assert classify_bytes("guide.json", raw) is not None


@pytest.mark.slow
def test_searching_a_notebook_finds_what_was_written_and_no_output(tmp_path: Path) -> None:
    shop = "def prices(cart, sep):\n    return cart\n"
    tree = Tree(tmp_path, {"guide.ipynb": json.dumps(GUIDE, indent=1), "shop.py": shop})
    with tree.index() as index:
        first = find(index, "`totals`").hits[0]
        assert (first.unit.kind, first.unit.name) == ("function", "totals")
        assert first.snippet[0].text.strip() == 'def totals(cart, sep="\\t"):'
        assert paths(find(index, '"sep=\\"\\\\t\\""')) == ["guide.ipynb"]
        assert not find(index, '"noise of an output"').hits
        assert "Prices.Later" in names(find(index, "still of the later part kind:section"))


@pytest.mark.slow
def test_code_in_a_notebook_is_linked_with_the_modules_that_it_imports(tmp_path: Path) -> None:
    shop = "def prices(cart, sep):\n    return cart\n"
    tree = Tree(tmp_path, {"guide.ipynb": json.dumps(GUIDE, indent=1), "shop.py": shop})
    with tree.index() as index:
        assert [one.listed.name for one in index.graph.callers("prices", RelationOptions()).relations] == ["totals"]


@pytest.mark.slow
def test_long_and_odd_texts_take_linear_time() -> None:
    """Each of these would go on for hours otherwise; what is read is the same."""
    long = "x" * 400_000
    assert decode_source(long) == long
    assert decode_source(f'{long}\\n",\n "{long}') == f"{long}\n{long}"
    cell = b'{"cells": [{"cell_type": "code", "source": ["a = 1"]}'
    for rest in (b', "' + b'\\"' * 400_000, b', "\\', b", " + b"[" * 400_000 + b'"",' * 400_000):
        assert [one.source.utf8 for one in read_notebook(cell + rest).cells] == [b"a = 1"]
