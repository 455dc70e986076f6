"""Parts of a pack: a token continues it, without repetition, and only while the index is the same."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codelens.config import Settings
from codelens.context.pack import fit_pack
from codelens.context.parts import continue_request, describe_request, read_token, resume_request, write_token
from codelens.errors import UsageError
from codelens.index import Index
from codelens.model.context import CHANGE, FILES, TASK, ContextRequest, Form, Forms, Pack, PackedText, SentParts
from codelens.model.request import SearchOptions
from codelens.render.context import FORMATS, make_layout
from codelens.render.paths import PathStyle
from tests.context.layouts import CHARS, LAYOUTS, STATE, offer, offers, request
from tests.search.trees import QUICK, Tree


def parts_of(count: int, budget: int, format: str = "markdown", forms: Forms = Forms.AUTO) -> list[Pack]:
    """All parts of a pack of so many functions, each requested with the token of the part before."""
    made = offers(
        *(offer(n, 1 / n, f"def f{n}():\n" + "    pass\n" * (n % 9), f"def f{n}():") for n in range(1, count))
    )
    asked, parts = request(budget, forms), list[Pack]()
    while not parts or parts[-1].more:
        parts.append(fit_pack(made, asked, LAYOUTS[format]))
        if parts[-1].more:
            asked = replace(asked, sent=read_token(parts[-1].more)[1])
    return parts


def symbols(parts: Sequence[Pack], form: Form) -> list[int]:
    return [e.unit.id for part in parts for e in part.entries if e.form is form]


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("forms", [Forms.AUTO, Forms.SIGNATURES])
def test_all_parts_together_hold_each_symbol_once_in_a_form(format: str, forms: Forms) -> None:
    parts = parts_of(60, 400, format, forms)
    assert len(parts) > 1
    bodies, signatures = symbols(parts, Form.BODY), symbols(parts, Form.SIGNATURE)
    assert len(bodies) == len(set(bodies)) and len(signatures) == len(set(signatures))
    whole = bodies if forms is Forms.AUTO and format != "compact" else signatures
    assert sorted(whole) == list(range(1, 60))


def test_the_next_part_has_the_next_ranks() -> None:
    """All bodies are of one size here, so each part holds the next ones by score."""
    made = offers(*(offer(n, 1 / n, "def f():\n    pass\n" * 5) for n in range(10, 60)))
    first = fit_pack(made, request(700), LAYOUTS["markdown"])
    second = fit_pack(made, replace(request(700), sent=read_token(first.more)[1]), LAYOUTS["markdown"])
    bodies = symbols([first, second], Form.BODY)
    assert bodies == list(range(10, 10 + len(bodies)))
    assert second.sent == len(symbols([first], Form.BODY))


def test_no_signature_follows_a_body_and_no_line_comes_twice() -> None:
    method = offer(1, 0.9, "    def m(self):\n        pass\n", start_byte=20, end_byte=60, path="a.py")
    whole = offer(
        2, 0.5, "class C:\n    def m(self):\n        pass\n", "class C:", start_byte=0, end_byte=60, path="a.py"
    )
    whole = replace(whole, body=replace(whole.body, unit=whole.body.unit._replace(document=method.body.unit.document)))
    sent = SentParts(STATE, (2, 0))
    [entry] = fit_pack(offers(method, whole), replace(request(500), sent=sent), LAYOUTS["markdown"]).entries
    assert (entry.unit.id, entry.form) == (2, Form.SIGNATURE)
    later = fit_pack(offers(method, whole), replace(request(500), sent=SentParts(STATE, (2, 1))), LAYOUTS["markdown"])
    assert (later.entries, later.more) == ((), "")


@given(
    st.lists(st.integers(0, 2), max_size=400),
    st.text(st.characters(exclude_categories=["Cs"])),
    st.sampled_from([TASK, FILES, CHANGE]),
    st.sampled_from(Forms),
    st.lists(st.text("abc/*.!", min_size=1), max_size=3),
)
def test_a_token_holds_request_and_parts(
    forms: list[int], query: str, source: str, allowed: Forms, globs: list[str]
) -> None:
    options = SearchOptions(limit=7, globs=tuple(globs), memory=bool(globs))
    asked = ContextRequest(source, CHARS, options, 300, allowed, query, revisions="a..b" if source == CHANGE else "")
    sent = SentParts(STATE, tuple(forms))
    token = write_token(asked, sent)
    assert token.replace("-", "").replace("_", "").isalnum() and token.isascii() and not token.startswith("-")
    assert resume_request(token, CHARS, 300) == replace(asked, sent=sent) == continue_request(asked, token)
    with pytest.raises(UsageError, match="belongs to another request"):
        continue_request(replace(asked, query=query + " more"), token)


def test_a_diff_is_in_the_token_only_as_a_hash() -> None:
    asked = ContextRequest(CHANGE, CHARS, SearchOptions(), 300, diff=b"--- a\n+++ b\n")
    token = write_token(asked, SentParts(STATE, (1,)))
    assert describe_request(asked)["diff"] not in ("", "--- a\n+++ b\n")
    with pytest.raises(UsageError, match="continues a pack for a diff"):
        resume_request(token, CHARS, 300)
    assert continue_request(asked, token).sent == SentParts(STATE, (1,))


@given(st.data())
def test_a_damaged_token_is_refused(data: st.DataObject) -> None:
    token = write_token(request(100), SentParts(STATE, (0, 1, 2) * 9))
    place = data.draw(st.integers(0, len(token) - 1))
    damaged = data.draw(
        st.sampled_from(
            [token[:place], token[:place] + "é" + token[place:], token[:place] + "AbC" + token[place + 3 :]]
        )
    )
    if damaged != token:
        with pytest.raises(UsageError, match="not a token of codelens context"):
            read_token(damaged)


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Tree:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    made = Tree(tmp_path, {f"cart{n}.py": f"def total_{n}(lines):\n    return sum(lines) + {n}\n" for n in range(30)})
    made.index().close()
    return made


def ask(tree: Tree, asked: ContextRequest, settings: Settings = QUICK) -> PackedText:
    with Index.open(tree.db, settings) as index:
        return index.context(asked, make_layout("markdown", PathStyle("root", "")))


REQUEST = ContextRequest(TASK, CHARS, SearchOptions(limit=1_000_000_000), 300, query="cart total")


def test_the_token_of_an_index_that_changed_is_stale(tree: Tree) -> None:
    token = ask(tree, REQUEST).more
    assert ask(tree, resume_request(token, CHARS, 300)).symbols
    tree.write({"cart5.py": "def total_5(lines):\n    return 0\n"})
    tree.index().close()
    with pytest.raises(UsageError, match="out of date"):
        ask(tree, resume_request(token, CHARS, 300))


def test_a_part_with_another_budget_and_the_same_twice(tree: Tree) -> None:
    token = ask(tree, REQUEST).more
    large = ask(tree, resume_request(token, CHARS, 5000))
    assert ask(tree, resume_request(token, CHARS, 5000)).text == large.text
    assert (large.more, large.symbols) == ("", large.total)


def test_reading_parts_writes_nothing_to_the_index(tree: Tree) -> None:
    before = tree.db.read_bytes()
    ask(tree, resume_request(ask(tree, REQUEST).more, CHARS, 300))
    assert tree.db.read_bytes() == before


@pytest.mark.parametrize(
    "values", [{"limit": "x"}, {"globs": (1,)}, {"word": "yes"}, {"min_score": "x"}, {"depth": 1.5}]
)
def test_a_token_with_values_that_options_cannot_have_is_refused(values: dict[str, Any]) -> None:
    asked = replace(request(100), options=replace(SearchOptions(), **values))
    with pytest.raises(UsageError, match="another version of codelens"):
        resume_request(write_token(asked, SentParts(STATE, (0, 1))), CHARS, 300)
