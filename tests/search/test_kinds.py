"""Kinds and groups of kinds: `kind:doc` in a query, and --kind."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from codelens.errors import UsageError
from codelens.index import Index
from codelens.lang.registry import is_prose, languages
from codelens.model.code import QUOTING
from codelens.query.nodes import KIND_GROUPS, KINDS
from tests.commands import Run
from tests.search.trees import Tree, ask_one, find

pytestmark = pytest.mark.usefixtures("plain_environment")

FILES = {
    "src/moor.py": "import tide\n\nprint('moor the boat')\n\n\ndef moor(boat):\n    return boat\n",
    "docs/moor.md": "# Moor\n\nHow to moor a boat.\n\n```python\ndef moor_twice(boat):\n    moor(moor(boat))\n```\n",
    "notes.txt": "Moor the boat before the tide.\n",
    "moor.yaml": "moor: boat\n",
    "a.ipynb": json.dumps(
        {
            "cells": [
                {"cell_type": "markdown", "source": ["# Moor the boat"]},
                {"cell_type": "code", "source": ["moor = 'boat'\n", "print(moor)"]},
            ]
        },
        indent=1,
    ),
}


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Tree:
    made = Tree(tmp_path_factory.mktemp("kinds"), FILES)
    made.index().close()
    return made


@pytest.fixture
def index(tree: Tree) -> Iterator[Index]:
    with Index.open(tree.db) as opened:
        yield opened


def kinds(index: Index, query: str, *asked: str) -> set[tuple[str, str]]:
    return {(hit.unit.path, hit.unit.kind) for hit in find(index, query, kinds=asked).hits}


DOCS = {("docs/moor.md", "section"), ("notes.txt", "text"), ("a.ipynb", "section")}
CODE = {
    ("src/moor.py", "toplevel"),
    ("src/moor.py", "function"),
    ("docs/moor.md", "function"),
    ("a.ipynb", "toplevel"),
    ("a.ipynb", "variable"),
}


def test_doc_is_prose_and_code_is_code(index: Index) -> None:
    assert kinds(index, "moor boat kind:doc") == DOCS
    assert kinds(index, "moor boat kind:code") == CODE
    assert kinds(index, "moor boat kind:doc,code") == DOCS | CODE
    assert kinds(index, "moor boat kind:text") == {("notes.txt", "text"), ("moor.yaml", "text")}
    assert kinds(index, "moor boat -kind:code -kind:doc") == {("moor.yaml", "text")}


def test_the_option_says_what_the_filter_says(index: Index) -> None:
    assert kinds(index, "moor boat", "doc") == DOCS
    assert kinds(index, "moor boat", "doc", "function") == DOCS | {c for c in CODE if c[1] == "function"}
    assert kinds(index, "moor boat lang:py", "code") == {c for c in CODE if c[0] == "src/moor.py"}
    assert kinds(index, "`moor` OR tide", "doc") == DOCS
    assert kinds(index, "", "fn") == {c for c in CODE if c[1] == "function"}


def test_the_order_is_the_same_with_the_option_and_the_filter(index: Index) -> None:
    option, filtered = find(index, "moor boat", kinds=("doc",)), find(index, "moor boat kind:doc")
    assert [h.unit.id for h in option.hits] == [h.unit.id for h in filtered.hits]


def test_why_names_the_option_that_keeps_something_out(index: Index) -> None:
    lost = ask_one(index, "moor boat", "moor_twice", kinds=("doc",)).loss
    assert lost is not None
    assert (lost.stage, lost.text.partition(":")[0]) == ("filtered", "--kind doc does not hold")
    by_query = ask_one(index, "moor boat lang:md", "src/moor.py:6", kinds=("function",)).loss
    assert by_query is not None
    assert by_query.remedy == "leave lang:markdown out: moor boat"


def test_a_kind_that_there_is_not_is_an_error_with_what_was_meant(index: Index) -> None:
    with pytest.raises(UsageError, match="did you mean '--kind method'"):
        find(index, "moor", kinds=("methot",))


def test_every_group_is_of_kinds_that_there_are() -> None:
    assert {kind for group in KIND_GROUPS.values() for kind in group} <= set(KINDS.values())
    assert [name for name, row in languages().items() if row.chunks in ("headings", "cells") and not row.prose] == []
    assert is_prose("text") and not is_prose("yaml")
    assert {name for name, row in languages().items() if row.chunks in ("headings", "cells")} == QUOTING


def test_on_the_command_line(run: Run, tree: Tree) -> None:
    asked = (
        "search",
        "moor boat",
        "--db",
        str(tree.db),
        "--root-scope",
        "--path-style",
        "root",
        "--format",
        "{path} {kind}",
    )
    assert {tuple(line.split()) for line in run(*asked, "--kind", "doc").out.splitlines()} == DOCS
    two = run(*asked, "--kind", "section", "--kind", "text,function").out
    assert {line.split()[1] for line in two.splitlines()} == {"section", "text", "function"}
    wrong = run(*asked, "--kind", "docs")
    assert (wrong.code, wrong.out) == (2, "")
    assert "no kind is called 'docs', did you mean '--kind doc'?" in wrong.err
