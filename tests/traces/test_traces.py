"""Spans of OpenTelemetry to what is kept of symbols: read, matched, counted, and what the ranking makes of it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from codelens.context.sources import find_for_files
from codelens.errors import TracesFault
from codelens.index import Index
from codelens.model.context import FILES as FILES_NAMED
from codelens.model.context import ContextRequest
from codelens.model.memory import ObservedRuns, SpanRun
from codelens.model.request import SearchOptions
from codelens.render.records import build_search_record, to_json
from codelens.search.recency import summarize_runs
from codelens.store.store import Store
from codelens.traces.ingestion import read_spans
from codelens.worktree.place import locate_traces
from tests.context.layouts import CHARS
from tests.search.trees import QUICK, Tree, ask_one, checked, find

FILES = {
    "shop/cart.py": """\
class Cart:
    def total(self):
        return price(self)

    def clear(self):
        return None


class Basket:
    def total(self):
        return 0


def price(cart):
    return 1
""",
    "shop/other/cart.py": "def price(cart):\n    return 2\n",
    "server/internal/cart/order.go": "package cart\n\ntype Order struct{}\n\nfunc (o *Order) Total() int { return 1 }\n",
    "src/main/java/com/example/Shop.java": "package com.example;\n\nclass Shop {\n    int sell() { return 1; }\n}\n",
}
DAY = 86_400
NOW = 1_700_000_000


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    made = Tree(tmp_path, FILES)
    made.index().close()
    return made


@pytest.fixture
def index(tree: Tree) -> Iterator[Index]:
    with Index.open(tree.db, QUICK) as opened:
        yield opened


def span(at: int = NOW, **attributes: Any) -> dict[str, Any]:
    """A span as a collector writes it. Names of attributes are given with _ for each dot."""
    told = [
        {"key": key.replace("_", "."), "value": {"intValue" if key in ("code_lineno",) else "stringValue": str(value)}}
        for key, value in attributes.items()
    ]
    return {"name": "GET /", "startTimeUnixNano": "1", "endTimeUnixNano": str(at * 10**9 + 5), "attributes": told}


def otlp(*spans: dict[str, Any]) -> bytes:
    scope = {"scope": {"name": "tests"}, "spans": list(spans)}
    return json.dumps({"resourceSpans": [{"resource": {"attributes": []}, "scopeSpans": [scope]}]}).encode()


def ingested(index: Index, *spans: dict[str, Any]) -> dict[str, tuple[int, int]]:
    """The stored traces after these spans: path and name → (times, last)."""
    index.graph.traces().ingest([("spans.json", otlp(*spans))])
    return {place.format_label(): tuple(seen) for place, seen in index.graph.traces().list_observations().items()}


# Reading


def test_current_and_former_names_of_attributes_are_read() -> None:
    new = span(code_function_name="Cart.total", code_file_path="/app/cart.py")
    new["attributes"].append({"key": "code.line.number", "value": {"intValue": "3"}})
    old = span(code_function="total", code_namespace="Cart", code_filepath="/app/cart.py", code_lineno=3)
    assert list(read_spans(otlp(new, old), "x")) == [
        SpanRun("Cart.total", "", "/app/cart.py", 3, NOW),
        SpanRun("total", "Cart", "/app/cart.py", 3, NOW),
    ]


def test_spans_without_a_function_or_a_time_are_reported() -> None:
    timeless = {**span(code_function="f"), "endTimeUnixNano": "0", "startTimeUnixNano": None}
    assert list(read_spans(otlp(span(), timeless, span(http_route="/x")), "x")) == [None, None, None]


def test_files_with_an_object_per_line_and_former_scope_names_are_read() -> None:
    first, second = (
        otlp(span(code_function="f")),
        otlp(span(code_function="g")).replace(b"scopeSpans", b"instrumentationLibrarySpans"),
    )
    assert [ran.name for ran in read_spans(first + b"\n" + second + b"\n", "x") if ran] == ["f", "g"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "content", [b"no", b"\xff\xfe", b"[]", b"{}", b'{"resourceSpans": 1}', b"[" * 100_000], ids=range(6)
)
def test_a_file_that_is_not_otlp_is_refused_by_its_name(content: bytes, index: Index) -> None:
    with pytest.raises(TracesFault, match=r"spans\.json"):
        index.graph.traces().ingest([("spans.json", content)])
    assert not index.graph.traces().list_observations()


@pytest.mark.parametrize(
    "content",
    [
        b'{"resourceSpans": [1, {"scopeSpans": 2}, {"scopeSpans": [3, {"spans": [4, {}]}]}]}',
        b'{"resourceSpans": [{"scopeSpans": [{"spans": [{"endTimeUnixNano": [], "attributes": [{"key": [], "value": 1}]}]}]}]}',
    ],
)
def test_malformed_parts_of_a_file_are_skipped(content: bytes) -> None:
    assert [one for one in read_spans(content, "x") if one] == []


# Matching


@pytest.mark.slow
@pytest.mark.parametrize(
    ("attributes", "place"),
    [
        ({"code_function": "clear", "code_filepath": "/app/shop/cart.py"}, "shop/cart.py Cart.clear"),
        ({"code_function": "clear", "code_filepath": "C:\\app\\shop\\cart.py"}, "shop/cart.py Cart.clear"),
        ({"code_function": "total", "code_namespace": "Cart", "code_filepath": "cart.py"}, ""),
        ({"code_function_name": "Basket.total", "code_file_path": "/app/shop/cart.py"}, "shop/cart.py Basket.total"),
        ({"code_function": "total", "code_filepath": "/app/shop/cart.py", "code_lineno": 3}, "shop/cart.py Cart.total"),
        ({"code_function": "total", "code_filepath": "/app/shop/cart.py"}, ""),
        ({"code_function": "price", "code_filepath": "/app/other/cart.py"}, "shop/other/cart.py price"),
        ({"code_function": "price", "code_filepath": "/usr/lib/site-packages/shop/cart.py"}, ""),
        ({"code_function": "gone", "code_filepath": "/app/shop/cart.py"}, ""),
        ({"code_function": "price", "code_namespace": "shop.cart"}, "shop/cart.py price"),
        ({"code_function": "price"}, ""),
        ({"code_function_name": "shop.cart.Basket.total"}, "shop/cart.py Basket.total"),
        ({"code_function_name": "com.example.Shop.sell"}, "src/main/java/com/example/Shop.java Shop.sell"),
        (
            {"code_function_name": "github.com/me/shop/server/internal/cart.(*Order).Total.func1"},
            "server/internal/cart/order.go Order.Total",
        ),
        ({"code_function": "<lambda>"}, ""),
    ],
    ids=str,
)
def test_spans_are_matched_with_their_symbols(attributes: dict[str, Any], place: str, index: Index) -> None:
    assert list(ingested(index, span(**attributes))) == ([place] if place else [])


def test_installed_packages_are_not_the_repository(index: Index) -> None:
    assert not ingested(index, span(code_function="price", code_filepath="/venv/site-packages/shop/cart.py"))


# Keeping


def test_observations_are_added_and_the_last_time_is_kept(index: Index) -> None:
    clear = {"code_function": "clear", "code_filepath": "/app/shop/cart.py"}
    ingested(index, span(NOW, **clear), span(NOW - DAY, **clear))
    assert ingested(index, span(NOW - 5, **clear)) == {"shop/cart.py Cart.clear": (3, NOW)}


def test_the_same_file_counts_once(index: Index) -> None:
    content = otlp(span(code_function="clear", code_filepath="shop/cart.py"))
    assert index.graph.traces().ingest([("a.json", content)]).matched == 1
    again = index.graph.traces().ingest([("b.json", content)])
    assert (again.spans, again.known) == (0, ("b.json",))
    assert [seen.times for seen in index.graph.traces().list_observations().values()] == [1]


def test_nothing_is_stored_if_one_of_several_files_is_invalid(index: Index) -> None:
    good = otlp(span(code_function="clear", code_filepath="shop/cart.py"))
    with pytest.raises(TracesFault):
        index.graph.traces().ingest([("a.json", good), ("b.json", b"{")])
    assert not index.graph.traces().list_observations()


def test_traces_survive_a_rebuild_and_forgetting_removes_their_file(tree: Tree, index: Index) -> None:
    ingested(index, span(code_function="clear", code_filepath="shop/cart.py"))
    Index.build(tree.db, [tree.root], QUICK, rebuild=True)
    with Index.open(tree.db, QUICK) as anew:
        assert [place.name for place in anew.graph.traces().list_observations()] == ["Cart.clear"]
        assert anew.graph.traces().forget() and not anew.graph.traces().forget()
    assert sorted(file.name for file in tree.db.parent.iterdir()) == ["index.db", "tree"]


# Ranking


@pytest.mark.parametrize(
    ("days", "recency"), [(0, 1.0), (1, 1.0), (2, 0.8), (7, 0.8), (8, 0.5), (30, 0.5), (31, 0.2), (-3, 1.0)]
)
def test_observations_fall_into_bands_of_recency(days: int, recency: float) -> None:
    assert summarize_runs(ObservedRuns(1, NOW - days * DAY), NOW).recency.value == recency


@pytest.mark.parametrize(("times", "confidence"), [(1, 0.2), (10, 0.45), (100, 0.7), (1000, 0.95), (10**9, 0.95)])
def test_confidence_grows_with_the_observations(times: int, confidence: float) -> None:
    assert summarize_runs(ObservedRuns(times, NOW), NOW).confidence.value == pytest.approx(confidence)


def told(index: Index, **options: Any) -> str:
    return to_json(build_search_record(find(index, "cart price total", **options), 0))


@pytest.mark.slow
@pytest.mark.parametrize("profile", ["knowing", "knowing-base", "codelens"])
def test_without_observations_answers_are_the_same_to_the_byte(profile: str, index: Index) -> None:
    cold = told(index, profile=profile)
    assert not locate_traces(Path(index.info().path)).exists(), "searching makes no file"
    ingested(index, span(code_function="elsewhere"))
    assert told(index, profile=profile) == cold


def test_other_profiles_ignore_traces(index: Index) -> None:
    cold = told(index)
    ingested(index, span(code_function="price", code_filepath="shop/cart.py"))
    assert told(index) == cold != ""


def parts(index: Index, now: int | None = None) -> dict[str, tuple[float, str]]:
    candidate = ask_one(index, "cart price total", "Cart.total", profile="knowing", now=now).candidate
    assert candidate is not None
    return {
        one.source: (one.operands["value"], one.reason) for one in candidate.contributions if "value" in one.operands
    }


def test_why_tells_what_ran_and_when(index: Index) -> None:
    assert parts(index)["recency"] == (0.3, "no trace shows it running")
    total = {"code_function": "Cart.total", "code_filepath": "shop/cart.py"}
    newest = span(NOW, code_function="price", code_filepath="shop/cart.py")
    ingested(index, *(span(NOW - 3 * DAY - n, **total) for n in range(1000)), newest)
    assert parts(index)["recency"] == (0.8, "last seen to run 3 days before the newest trace")
    value, reason = parts(index)["confidence"]
    assert (value, reason) == (pytest.approx(0.95), "seen to run 1000 times")
    assert parts(index, NOW + 60 * DAY)["recency"] == (0.2, "last seen to run 63 days before the present as named")
    checked(index, "cart price total", profile="knowing")


def test_few_observations_take_no_confidence_away(index: Index) -> None:
    before = parts(index)["confidence"]
    ingested(index, span(code_function="Cart.total", code_filepath="shop/cart.py"))
    assert parts(index)["confidence"] == before
    assert parts(index)["recency"][0] == 1.0


def test_a_pack_for_files_prefers_what_runs(index: Index) -> None:
    def scores() -> dict[str, float]:
        asked = ContextRequest(FILES_NAMED, CHARS, SearchOptions(paths=("shop/cart.py",)), 5000)
        with Store.read(Path(index.info().path)) as store, store.reading():
            return {one.unit.qualified_name: one.score for one in find_for_files(asked, store)[0]}

    before = scores()
    ingested(index, span(code_function="clear", code_filepath="shop/cart.py"))
    after = scores()
    changed = {name: after[name] - before[name] for name in before if after[name] != before[name]}
    assert changed == {"Cart.clear": pytest.approx(0.2 * (1.0 - 0.3) + 0.25 * 0.2)}


def test_a_damaged_file_is_reported_and_left_out(index: Index) -> None:
    cold = find(index, "cart price", profile="knowing")
    locate_traces(Path(index.info().path)).write_bytes(b"SQLite format 3\0" + b"\1" * 4000)
    result = find(index, "cart price", profile="knowing")
    assert [hit.score for hit in result.hits] == [hit.score for hit in cold.hits]
    assert [notice.code for notice in result.notices] == ["traces"]
    with pytest.raises(TracesFault):
        index.graph.traces().list_observations()
    assert index.graph.traces().forget()


def test_a_file_without_matches_may_match_once_its_code_is_indexed(tree: Tree) -> None:
    content = otlp(span(code_function="late", code_filepath="shop/late.py"))
    with Index.open(tree.db, QUICK) as before:
        assert before.graph.traces().ingest([("a.json", content)]).matched == 0
    tree.write({"shop/late.py": "def late():\n    return 1\n"})
    with tree.index() as updated:
        assert updated.graph.traces().ingest([("a.json", content)]).matched == 1
