"""Every tool over real pipes with the SDK's client, which checks each answer against the tool's output schema."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from mcp.shared.exceptions import McpError

import codelens
from codelens.server.mcp.door import PURPOSES
from codelens.server.mcp.tool import WORDINGS
from codelens.server.mcp.tools import TOOLS
from codelens.server.mcp.tools.search import SEARCH
from codelens.server.mcp.tools.structure import REFS
from tests.server.conftest import EVERYTHING, Client, client_of, text_of

ASKED: dict[str, dict[str, Any]] = {
    "search": {"query": "free shipping threshold"},
    "read": {"target": "Calculate"},
    "files": {"query": "pricing"},
    "context": {"task": "free shipping threshold"},
    "symbols": {"file": "server/internal/pricing/pricing.go"},
    "refs": {"target": "Calculate"},
    "callers": {"target": "Calculate"},
    "callees": {"target": "Calculate"},
    "impact": {"target": "Calculate"},
    "why": {"query": "free shipping threshold", "targets": ["Calculate"]},
    "notes": {},
    "status": {"check": True},
}
RECORDING = ["feedback"]  # Tools that answer only where memory is on; they are asked in test_mcp_memory


def objects(schema: Any) -> Iterator[dict[str, Any]]:
    """Every object's schema within a schema."""
    if isinstance(schema, dict):
        if schema.get("type") == "object":
            yield schema
        for value in schema.values():
            yield from objects(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from objects(value)


def test_the_handshake_names_the_server(client: Client) -> None:
    assert client.started.serverInfo.name == "codelens"
    assert "`search`" in client.started.instructions
    assert client.started.capabilities.tools is not None


def test_every_tool_is_listed_and_called_here(client: Client) -> None:
    listed = [tool.name for tool in client.portal.call(client.session.list_tools).tools]
    assert listed == [*TOOLS] == list(PURPOSES)
    assert sorted(listed) == sorted([*ASKED, *RECORDING])


def test_schemas_are_closed_and_say_what_each_argument_means(client: Client) -> None:
    for tool in client.portal.call(client.session.list_tools).tools:
        assert tool.outputSchema is not None
        for schema in (tool.inputSchema, tool.outputSchema):
            jsonschema.Draft202012Validator.check_schema(schema)
            for found in objects(schema):
                assert "additionalProperties" in found
                assert found["additionalProperties"] is not True
        assert all(row["description"] for row in tool.inputSchema["properties"].values())
        assert tool.annotations is not None
        assert tool.annotations.readOnlyHint == (tool.name not in RECORDING)


@pytest.mark.parametrize("tool", ASKED)
def test_each_tool_answers_in_both_forms(client: Client, tool: str) -> None:
    result = client.call(tool, **ASKED[tool])
    assert not result.isError, text_of(result)
    assert result.structuredContent
    assert text_of(result)


@pytest.mark.parametrize("budget", [400, 700, 1500])
@pytest.mark.parametrize("tool", ASKED)
def test_no_answer_is_larger_than_its_budget(client: Client, tool: str, budget: int) -> None:
    result = client.call(tool, **ASKED[tool], budget=budget)
    forms = [text_of(result), json.dumps(result.structuredContent, ensure_ascii=False)]
    assert max(map(len, forms)) <= 4 * budget


@pytest.fixture(scope="session")
def plain(shop: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """A server without options about its answers, as most clients start it."""
    with client_of(shop, tmp_path_factory.mktemp("home"), "--no-index") as started:
        yield started


def test_few_tools_are_listed_unless_others_are_chosen(plain: Client, shop: Path, tmp_path: Path) -> None:
    listed = plain.portal.call(plain.session.list_tools)
    assert [tool.name for tool in listed.tools] == ["search", "read", "refs", "context"]
    assert all(f"`{tool.name}`" in plain.started.instructions for tool in listed.tools)
    assert "`callers`" not in plain.started.instructions
    sent = listed.model_dump_json(by_alias=True, exclude_none=True).encode()
    assert len(sent) <= 8000
    with client_of(shop, tmp_path, "--no-index", "--tools", "why,search") as two:
        assert [tool.name for tool in two.portal.call(two.session.list_tools).tools] == ["search", "why"]
        with pytest.raises(McpError, match="no tool 'read'"):
            two.call("read", target="Calculate")


@pytest.mark.parametrize("tool", ["search", "read", "refs", "context"])
def test_the_text_of_an_answer_needs_no_object(plain: Client, client: Client, tool: str) -> None:
    listed = {t.name: t for t in plain.portal.call(plain.session.list_tools).tools}
    assert listed[tool].outputSchema is None
    result, both = (c.call(tool, **ASKED[tool], budget=20_000) for c in (plain, client))
    assert result.structuredContent is None
    assert text_of(result) == text_of(both)
    small = plain.call(tool, **ASKED[tool], budget=700)
    assert len(text_of(small)) <= 4 * 700


def test_read_gives_a_symbol_or_lines(client: Client, shop: Path) -> None:
    path = "server/internal/pricing/pricing.go"
    written = (shop / path).read_text().splitlines()
    body = client.gives("read", target="Calculate")
    assert (body["path"], body["cut"], body["total"]) == (path, 0, len(written))
    assert body["text"].splitlines() == written[body["first"] - 1 : body["last"]]
    assert "func Calculate" in body["text"]
    assert client.gives("read", target=f"{path}:{body['first'] + 1}") == body
    some = client.gives("read", target=f"{path}:2-4")
    assert (some["first"], some["last"], some["text"]) == (2, 4, "\n".join(written[1:4]))
    whole = client.gives("read", target=path)
    assert whole["text"].splitlines() == written
    said = text_of(client.call("read", target=f"{path}:2-4")).splitlines()
    assert said == [f"{path}:2-4 (the file has {len(written)} lines)", *(f"{n}| {written[n - 1]}" for n in (2, 3, 4))]


def test_read_names_the_lines_that_found_no_room(client: Client) -> None:
    path = "server/internal/pricing/pricing.go"
    whole = client.gives("read", target=path)
    first = client.gives("read", target=path, budget=400)
    assert 0 < first["last"] < whole["total"]
    rest = f"{path}:{first['last'] + 1}-{whole['total']}"
    assert f"read {rest}" in text_of(client.call("read", target=path, budget=400))
    assert f"{first['text']}\n{client.gives('read', target=rest)['text']}" == whole["text"]


@pytest.mark.parametrize(
    ("message", "client_message"),
    [
        ("nothing is likely; --min-score 0 shows 12", "nothing is likely; `min_score` 0 shows 12"),
        ("the index is old; run it, or search with --refresh", "the index is old; run it, or call with `fresh`"),
        ("3 files are not read; --unresolved lists them", "3 files are not read"),
        (
            "'x --help' has no word; -F finds it as text, --regex as a pattern",
            "'x --help' has no word; \"…\" finds it as text, /…/ as a pattern",
        ),
        ("a->b is -1; see `codelens index --rebuild`", "a->b is -1; see `codelens index --rebuild`"),
    ],
)
def test_messages_name_the_arguments_of_the_tool(message: str, client_message: str) -> None:
    assert SEARCH.reword_message(message) == client_message


def test_advice_that_a_client_cannot_follow_is_left_out() -> None:
    assert SEARCH.reword_message("add --expand bfs", advice=True) == ""
    assert SEARCH.reword_message("use a larger --budget, or --format compact", True) == "use a larger `budget`"
    assert REFS.reword_message("3 are guesses; --by-name or --min-confidence follows them") == (
        "3 are guesses; `min_confidence` follows them"
    )


def test_search_tells_places_and_lines(client: Client) -> None:
    first = client.gives("search", query="Calculate", limit=3)["results"][0]
    assert (first["path"], first["name"], first["kind"]) == (
        "server/internal/pricing/pricing.go",
        "Calculate",
        "function",
    )
    assert any("func Calculate" in line["text"] for line in first["lines"])
    assert first["freshness"] == "fresh"


def test_search_goes_on_where_the_budget_cut_it(client: Client) -> None:
    whole = client.gives("search", query="price of an order", limit=10, budget=20_000)
    assert whole["cut"] == 0
    cut = client.gives("search", query="price of an order", limit=10, budget=700)
    shown = len(cut["results"])
    assert 0 < shown < 10
    assert shown + cut["cut"] == 10
    assert cut["results"] == whole["results"][:shown]
    said = text_of(client.call("search", query="price of an order", limit=10, budget=700))
    assert f"{cut['cut']} more results found no room" in said
    rest = client.gives("search", query="price of an order", limit=10 - shown, offset=shown, budget=20_000)
    assert rest["results"] == whole["results"][shown:]


def test_search_is_restricted_by_paths_and_languages(client: Client) -> None:
    found = client.gives("search", query="cart", languages=["ts"], paths=["web/src"])["results"]
    assert found
    assert {hit["path"].rpartition("/")[0] for hit in found} == {"web/src"}
    assert {hit["language"] for hit in found} == {"typescript"}


def test_files_are_found_by_name_and_by_what_they_define(client: Client) -> None:
    assert client.gives("files", query="money.ts", limit=1)["results"][0]["path"] == "web/src/money.ts"
    first = client.gives("files", query="free shipping threshold", limit=3)["results"]
    assert "server/internal/pricing/pricing.go" in [hit["path"] for hit in first]
    assert {hit["kind"] for hit in first} == {"file"}


def test_search_is_restricted_by_kinds(client: Client) -> None:
    found = client.gives("search", query="price", kinds=["doc"])["results"]
    assert found
    assert {hit["kind"] for hit in found} <= {"section", "text"}


def test_search_by_graph_memorys_algorithm(client: Client) -> None:
    """Its defaults: five hits, which are seeds and their neighbours at one hop; its arguments change them."""

    def names(**more: Any) -> list[str]:
        asked = {"query": "free shipping threshold", "profile": "graph-memory", "budget": 20_000, **more}
        return [hit["name"] for hit in client.gives("search", **asked)["results"]]

    assert len(names()) == 5
    assert len(client.gives("search", query="free shipping threshold", budget=20_000)["results"]) == 10
    seeds, near, far = (names(limit=100, min_score=0.05, depth=depth) for depth in (0, 1, 2))
    assert len(seeds) == 5
    assert set(seeds) < set(near) < set(far)
    faded = names(limit=100, min_score=0.3, depth=2, decay=0.1)
    assert set(seeds) <= set(faded) <= set(near)
    by_words, by_meaning = (names(mode=mode, query="lock after wrong passwords") for mode in ("keyword", "vector"))
    assert set(by_words) != set(by_meaning)
    account = client.gives("why", query="free shipping threshold", profile="graph-memory", depth=1, limit=1)
    parts = account["explanations"][0]["contributions"]
    assert {part["source"] for part in parts if part["amount"]} <= {"exact", "vector", "expansion"}


def test_arguments_that_do_not_fit_are_refused(client: Client) -> None:
    for wrong in ({"profile": "nothing"}, {"decay": 2}, {"depth": -1}, {"min_score": 1.5}):
        assert client.call("search", query="cart", **wrong).isError


def test_why_accounts_for_a_rank_and_for_a_loss(client: Client) -> None:
    ranked, lost = client.gives("why", query="lang:go shipping", targets=["Calculate", "web/src/money.ts"])[
        "explanations"
    ]
    assert ranked["rank"] > 0
    assert sum(part["amount"] for part in ranked["contributions"]) == pytest.approx(ranked["score"], abs=1e-4)
    assert (lost["rank"], lost["lost_at"]) == (0, "filtered")
    assert lost["remedy_query"]


def test_context_is_for_a_task_files_or_a_change(client: Client) -> None:
    files = client.gives("context", files=["web/src/money.ts"])
    assert "web/src/money.ts" in files["pack"]
    diff = "--- a/web/src/money.ts\n+++ b/web/src/money.ts\n@@ -1,1 +1,1 @@\n-/** Amounts. */\n+//\n"
    assert "pack" in client.gives("context", diff=diff)
    assert "give exactly one" in client.fault("context", task="a", files=["web/src/money.ts"])
    assert "give exactly one" in client.fault("context")


def test_a_token_goes_on_with_a_pack(client: Client) -> None:
    first = client.gives("context", task="free shipping threshold", budget=900)
    token = first["pack"].splitlines()[-1].split("more: ")[1].rstrip("`")
    second = client.gives("context", more=token, budget=900)
    headings = [{line for line in part["pack"].splitlines() if line.startswith("## `")} for part in (first, second)]
    assert headings[0] and headings[1] and not headings[0] & headings[1]
    assert "not a token" in client.fault("context", more="c" + token[5:])
    assert "give the token alone" in client.fault("context", more=token, languages=["go"])
    assert "give exactly one" in client.fault("context", more=token, task="free shipping threshold")


def test_relations_name_their_lines(client: Client) -> None:
    callers = client.gives("callers", target="Calculate")
    assert callers["targets"][0]["path"] == "server/internal/pricing/pricing.go"
    prices = next(r for r in callers["relations"] if r["name"] == "Checkout.price")
    assert prices["path"] == "server/internal/cart/order.go"
    assert "Calculate" in prices["text"]
    callees = client.gives("callees", target="Checkout.price")
    assert "Calculate" in {r["name"] for r in callees["relations"]}
    impact = client.gives("impact", target="Calculate", depth=2)
    assert any(r["depth"] == 2 for r in impact["relations"])
    assert any(r["test"] for r in impact["relations"])
    refs = client.gives("refs", target="Calculate", kinds=["calls"])
    assert {r["kind"] for r in refs["relations"]} == {"calls"}
    assert {r["certainty"] for r in client.gives("refs", target="Calculate", sure=True)["relations"]} == {"resolved"}
    assert (
        client.gives("refs", target="Calculate", text=True)["total"] > client.gives("refs", target="Calculate")["total"]
    )


def test_symbols_outline_a_file(client: Client) -> None:
    symbols = client.gives("symbols", file="web/src/money.ts")["symbols"]
    assert {s["name"] for s in symbols} >= {"formatMoney"}
    assert symbols == sorted(symbols, key=lambda s: s["line"])


@pytest.mark.parametrize(
    ("tool", "arguments", "said"),
    [
        ("search", {}, "'query' is a required property"),
        ("search", {"query": ""}, "query: "),
        ("search", {"query": "x", "limit": 0}, "limit: 0 is less than the minimum of 1"),
        ("search", {"query": "x", "limit": "5"}, "limit: '5' is not of type 'integer'"),
        ("search", {"query": "x", "mode": "guess"}, "mode: 'guess' is not one of"),
        ("search", {"query": "x", "bogus": 1}, "'bogus' was unexpected"),
        ("search", {"query": "x", "languages": ["klingon"]}, "unknown language 'klingon'"),
        ("search", {"query": "x", "budget": 10}, "budget: 10 is less than the minimum"),
        ("refs", {"target": "no_such_thing"}, "nothing is named no_such_thing"),
        ("refs", {"target": "Calculate", "kinds": ["likes"]}, "kinds.0: 'likes' is not one of"),
        ("callers", {"target": "Calculate", "depth": 11}, "depth: 11 is greater than the maximum of 10"),
        ("symbols", {"file": "no/such.py"}, "no/such.py is not in the index"),
        ("read", {"target": "no/such.py"}, "no/such.py is not in the index"),
        ("read", {"target": "no_such_thing"}, "nothing is named no_such_thing"),
        ("read", {"target": "web/src/money.ts:900-901"}, "web/src/money.ts has lines 1 to"),
        ("read", {"target": "web/src/money.ts:9-2"}, "web/src/money.ts has lines 1 to"),
        ("context", {"revisions": "--output=/tmp/x..HEAD"}, "git"),
        ("context", {"revisions": "HEAD~1..HEAD"}, "no git repository here"),
    ],
)
def test_a_bad_argument_is_one_line_and_a_hint(client: Client, tool: str, arguments: dict[str, Any], said: str) -> None:
    fault, hint, *_ = client.fault(tool, **arguments).split("\n")
    assert fault.startswith("error: ")
    assert said in fault
    assert hint.startswith("hint: ")
    assert " --" not in hint


@pytest.mark.parametrize("path", ["/etc/passwd", "../shop/README.md", "web/../../secret", "/"])
def test_nothing_outside_of_the_root_is_read(client: Client, path: str) -> None:
    for tool, arguments in (
        ("symbols", {"file": path}),
        ("read", {"target": f"{path}:1-9" if path != "/" else "/x:1"}),
        ("refs", {"target": f"{path}:1" if path != "/" else "/x:1"}),
        ("why", {"query": "x", "targets": [f"{path}:1" if path != "/" else "/x:1"]}),
        ("search", {"query": "x", "paths": [path]}),
        ("context", {"files": [path]}),
    ):
        assert "lies outside of what is indexed" in client.fault(tool, **arguments)


def test_an_absolute_path_below_the_root_is_taken(client: Client, shop: Path) -> None:
    assert client.gives("symbols", file=str(shop / "web/src/money.ts"))["path"] == "web/src/money.ts"


def test_an_unknown_tool_is_an_error_of_the_protocol(client: Client) -> None:
    with pytest.raises(McpError, match="no tool 'delete_everything'; tools: search"):
        client.call("delete_everything")


def test_status_tells_what_is_indexed(client: Client, shop: Path) -> None:
    status = client.gives("status", check=True)
    assert status["ready"]
    (repository,) = status["repositories"]
    assert (repository["root"], repository["checked"], repository["new"]) == (str(shop), True, [])


@pytest.mark.slow
def test_of_several_repositories_paths_begin_with_their_names(samples: Path, tmp_path: Path) -> None:
    with client_of(samples, tmp_path, "--no-index", *EVERYTHING) as several:
        hit = several.gives("search", query="hash_password", limit=1)["results"][0]
        assert hit["path"] == "notes/notes/auth.py"
        assert several.gives("symbols", file=hit["path"])["path"] == hit["path"]
        assert several.gives("read", target=f"{hit['path']}:{hit['line']}")["path"] == hit["path"]
        assert several.gives("refs", target=f"{hit['path']}:{hit['line']}")["targets"][0]["name"] == "hash_password"
        found = several.gives("search", query="cart", paths=["shop/web"])["results"]
        assert found
        assert all(h["path"].startswith("shop/web/") for h in found)
        both = several.gives("search", query="README", paths=["shop", "notes/docs"])["results"]
        assert {h["path"].partition("/")[0] for h in both} == {"shop", "notes"}


def test_each_advice_for_the_command_line_that_is_reworded_exists() -> None:
    package = Path(codelens.__file__).parent
    sources = [
        p.read_text(encoding="utf-8") for p in package.rglob("*.py") if p.parts[-3:] != ("server", "mcp", "tool.py")
    ]
    assert [advice for advice in WORDINGS if not any(advice in source for source in sources)] == []
