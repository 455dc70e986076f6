"""Languages whose own grammar is an extra: without it, the grammar of tree-sitter-languages gives them symbols."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec

import pytest

from codelens.lang import captures, registry
from codelens.lang.captures import extract_captures
from codelens.lang.parser import load_grammar
from tests.conftest import TESTS

pytestmark = pytest.mark.skipif(find_spec("tree_sitter_languages") is None, reason="has no wheel for this Python")

DEFINED = {
    "hcl": [
        *("struct aws_s3_bucket.logs", "variable prefix", "struct aws_iam_role.writer", "module network"),
        *("variable tags", "variable bucket"),
    ],
    "julia": [*("module M", "function M.add", "function M.f", "struct M.P", "type M.S", "constant M.K", "macro M.m")],
    "perl": ["constant LIMIT", "variable VERSION", "function add"],
    "sql": ["struct app.users", "struct active", "function add", "variable users_team", "type mood"],
}
USED = {
    "hcl": {"use var.prefix", "use module.network", "call merge"},
    "julia": {"call g", "call h", "extends Q", "import A", "import C"},
    "perl": {"call $self.check", "call My::Other.call", "import List::Util"},
    "sql": {"use app.users", "use active", "type teams", "call count"},
}


LOADED = cache(load_grammar.__wrapped__)
"""A cache of its own, which is never cleared: to free a parser of Scala's grammar breaks the heap."""


@pytest.fixture
def without_extra(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """As if the extra `languages` were not installed."""
    own = {row.grammar.partition(":")[0] for name, row in registry.languages().items() if name in DEFINED}
    monkeypatch.setattr(registry, "find_spec", lambda module: None if module in own else find_spec(module))
    monkeypatch.setattr(captures, "load_grammar", LOADED)
    registry.languages.cache_clear()
    yield
    monkeypatch.undo()
    registry.languages.cache_clear()


@pytest.mark.usefixtures("without_extra")
@pytest.mark.parametrize("language", DEFINED)
def test_a_fallback_grammar_finds_symbols_without_the_extra(language: str) -> None:
    """Of the case files, which the grammar of the extra reads in test_extraction."""
    assert registry.languages()[language].grammar == f"languages.so:{language}"
    (case,) = (TESTS / "cases" / "extraction" / language).glob("*.txt")
    found = extract_captures(case.read_text(encoding="utf-8").partition("\n---\n")[0].encode(), language)
    assert [f"{unit.kind} {unit.qualified_name}" for unit in found.units] == DEFINED[language]
    used = {f"{use.kind} {use.receiver}.{use.name}".replace(" .", " ") for use in found.references}
    assert used | {f"import {one.module}" for one in found.imports} >= USED[language]
