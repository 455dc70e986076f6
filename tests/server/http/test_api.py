from __future__ import annotations

import json
import math
import os
import shutil
import sys
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from starlette.testclient import TestClient

from codelens.cli.main import main
from codelens.config import Settings
from codelens.index import Index
from codelens.model.request import SearchOptions
from codelens.search.walk import SymbolWalk
from codelens.server.http.answers import answer_question, build_response_record
from tests.accepted import accepted
from tests.server.http.conftest import Serve

SEED = {"id", "name", "slug", "description", "final_score", "rrf_score", "semantic_rank", "keyword_rank"}


def valid(record: dict[str, Any], kind: str) -> None:
    definitions = json.loads((files("codelens.render") / "schema.json").read_text(encoding="utf-8"))["$defs"]
    Draft202012Validator({"$ref": f"#/$defs/{kind}", "$defs": definitions}).validate(record)


def test_reasons_are_found_only_for_whoever_asks_for_them(built: Path) -> None:
    calls: list[object] = []
    sys.setprofile(lambda frame, event, _: calls.append(frame.f_code) if event == "call" else None)
    try:
        results = [answer_question(built, Settings(), "search", json.dumps(question)) for question in REASONED]
        counts = [calls.count(SymbolWalk.find_paths.__code__)]
        answer_question(built, Settings(), "search", json.dumps(REASONED[0] | {"contributions": True}))
        counts.append(calls.count(SymbolWalk.find_paths.__code__))
    finally:
        sys.setprofile(None)
    assert counts == [0, 1]
    assert all(len(result.body) < 15_000 for result in results)


REASONED: list[dict[str, Any]] = [{"query": query, "limit": 10} for query in ("place an order", "newOrderID", "cart")]


def test_search_is_what_the_command_prints_with_the_fields_of_the_marketplace(client: TestClient, built: Path) -> None:
    with Index.open(built) as index:
        expected = build_response_record(index.search("place an order", SearchOptions(limit=5, reasons=False)), 0)
    asked = client.get("/api/search", params={"q": "place an order", "limit": 5})
    assert asked.status_code == 200
    assert asked.headers["content-type"] == "application/json"
    assert asked.json() == json.loads(json.dumps(expected))
    assert asked.json()["count"] == 5 == len(asked.json()["results"])
    assert all(hit.keys() >= SEED for hit in asked.json()["results"])
    assert not any({"contributions", "channels"} & hit.keys() for hit in asked.json()["results"])
    whole = client.get("/api/search", params={"q": "place an order", "limit": 5, "contributions": True}).json()
    for hit in whole["results"]:
        assert hit["score"] == math.fsum(part["amount"] for part in hit["contributions"])


@pytest.mark.parametrize(
    "query",
    ['"return nil"', "/Place.rder/", 'lang:go "order"', 'content:"cart" OR content:"total"', '"nowhere at all"'],
)
def test_a_phrase_is_answered_line_by_line_as_the_command_does(
    client: TestClient, built: Path, query: str, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["search", "--db", str(built), "--no-config", "--json", "-m", "100", "--root-scope", query])
    printed = json.loads(capsys.readouterr().out)
    got = client.get("/api/search", params={"q": query, "limit": 100}).json()
    places = [(hit["repository"], hit["path"], hit["line"], hit["column"]) for hit in printed["results"]]
    assert [(hit["repository"], hit["path"], hit["line"], hit["column"]) for hit in got["results"]] == places
    assert got["total"] == printed["total"]
    assert got["search_modes"] == ["lines"]
    ranked = client.get("/api/search", params={"q": query, "mode": "keyword"}).json()
    assert ranked["search_modes"] != ["lines"], "options of ranking ask for ranked places"


def test_get_and_post_are_one_question(client: TestClient) -> None:
    body = {"query": "order", "lang": ["go"], "limit": 3, "mode": "exact", "below": ["server"]}
    got = client.get("/api/search?q=order&lang=golang&limit=3&mode=exact&below=server/")
    assert got.json() == client.post("/api/search", json=body).json()
    assert {hit["language"] for hit in got.json()["results"]} == {"go"}


def test_limit_is_20_unless_said_and_100_at_most(client: TestClient) -> None:
    assert client.get("/api/search?q=order").json()["count"] == 20
    assert client.get("/api/search?q=order&limit=100").json()["count"] > 20
    assert client.get("/api/search?q=order&limit=101").status_code == 422
    assert client.get("/api/search?q=order&limit=0").status_code == 422


def test_nothing_found_is_an_answer(client: TestClient) -> None:
    got = client.get("/api/search", params={"q": "order", "glob": "*.nowhere"})
    assert (got.status_code, got.json()["results"], got.json()["exit_code"]) == (200, [], 1)


def test_why_accounts_for_a_rank_and_says_what_lost_another(client: TestClient) -> None:
    record = client.post("/api/why", json={"query": "place order", "target": ["PlaceOrder", "shop/README.md:1"]}).json()
    valid(record, "why")
    first = record["explanations"][0]
    assert first["candidate"]["score"] == pytest.approx(sum(c["amount"] for c in first["candidate"]["contributions"]))
    assert client.get("/api/why?q=place+order&target=PlaceOrder").json()["explanations"] == [first]


def test_a_token_goes_on_with_a_pack(client: TestClient) -> None:
    first = client.post("/api/context", json={"query": "place an order", "budget": 1500}).json()
    second = client.get(f"/api/context?more={first['more']}&budget=1500").json()
    valid(second, "context")
    bodies = [
        {(r["path"], r["start_line"]) for r in part["results"] if r["form"] == "body"} for part in (first, second)
    ]
    assert bodies[0] and bodies[1] and not bodies[0] & bodies[1]
    assert client.get("/api/context?more=nonsense").status_code == 400


def test_context_packs_within_its_budget(client: TestClient) -> None:
    record = client.post("/api/context", json={"query": "place an order", "budget": 1500}).json()
    valid(record, "context")
    assert record["tokens"] <= 1500
    of_a_file = client.get("/api/context?files=server/internal/cart/order.go&budget=3000").json()
    valid(of_a_file, "context")
    assert "PlaceOrder" in json.dumps(of_a_file)


@pytest.mark.parametrize("question", ["refs", "callers", "callees", "impact"])
def test_the_graph_answers(client: TestClient, built: Path, question: str) -> None:
    record = client.get(f"/api/{question}?target=newOrderID&limit=5").json()
    valid(record, "related")
    assert record["question"] == question
    told = {relation["source"]["name"] for relation in record["relations"]}
    assert ("PlaceOrder" in told) is (question != "callees")


def test_references_are_restricted_by_certainty_and_extended_to_text(client: TestClient) -> None:
    def count(more: str) -> int:
        return len(client.get(f"/api/refs?target=Checkout.PlaceOrder{more}").json()["relations"])

    assert count("&text=true") > count("") >= count("&sure=true") > 0
    assert client.get("/api/callers?target=newOrderID&sure=true").status_code == 422


def test_symbols_file_and_files(client: TestClient, built: Path) -> None:
    outline = client.get("/api/symbols?path=server/internal/cart/order.go").json()
    valid(outline, "symbols")
    file = client.get("/api/file?path=server/internal/cart/order.go").json()
    assert file["symbols"] == outline["symbols"]
    assert file["lines"] == (built.parent / "shop/server/internal/cart/order.go").read_text().splitlines()
    assert file["freshness"] == "fresh"
    listed = client.get("/api/files?lang=go&limit=2&offset=1").json()
    every = client.get("/api/files?lang=go").json()
    assert listed["files"] == every["files"][1:3]
    assert listed["total"] == every["total"] == len(every["files"])
    assert "server/internal/cart/order.go" in {f["path"] for f in every["files"]}


def test_status_fits_its_schema(client: TestClient) -> None:
    record = client.get("/api/status?check=true").json()
    valid(record, "status")
    assert [r["name"] for r in record["repositories"]] == ["notes", "shop"]


@pytest.mark.parametrize(
    ("method", "address", "more", "status", "said"),
    [
        ("GET", "/api/search", {}, 422, "q: Field required"),
        ("GET", "/api/search?query=a", {}, 422, "query: there is no such parameter"),
        ("GET", "/api/search?q=a&q=b", {}, 422, "q: given 2 times"),
        ("GET", "/api/search?q=a&lang=klingon", {}, 422, "lang.0: unknown language 'klingon'"),
        ("POST", "/api/search", {"json": {"query": "a", "size": 3}}, 422, "size: Extra inputs are not permitted"),
        ("POST", "/api/search", {"json": {"query": "a", "limit": "3"}}, 422, "limit: Input should be a valid integer"),
        ("POST", "/api/search", {"json": [1]}, 422, "Input should be a valid dictionary"),
        ("POST", "/api/search?q=a", {"json": {"query": "a"}}, 422, "a POST takes its parameters only from the body"),
        ("POST", "/api/search", {"content": b"query=a"}, 422, "the body is not application/json"),
        (
            *("POST", "/api/search"),
            {"content": b"{", "headers": {"Content-Type": "application/json"}},
            *(400, "the body is not JSON"),
        ),
        ("GET", "/api/search?q=(&strict=true", {}, 400, "a '(' is not closed"),
        ("GET", "/api/search?q=(&regex=true", {}, 400, ""),
        ("GET", "/api/why?q=order&target=nowhereAtAll", {}, 404, "nothing is named nowhereAtAll"),
        ("GET", "/api/symbols?path=no.go", {}, 404, "no.go is not in the index"),
        ("GET", "/api/callers?target=nowhereAtAll", {}, 404, "nothing is named nowhereAtAll"),
        ("GET", "/api/nothing", {}, 404, "not found"),
        ("DELETE", "/api/search", {}, 405, "method not allowed"),
        ("POST", "/api/search", {"json": {"query": "a" * 300_000}}, 413, "the body is longer than"),
    ],
)
def test_faults_are_objects(
    client: TestClient, method: str, address: str, more: dict[str, Any], status: int, said: str
) -> None:
    got = client.request(method, address, **more)
    assert got.status_code == status, got.text
    record = got.json()
    assert said in record["error"]
    assert set(record) <= {"error", "hint", "candidates"}
    assert record["hint"]
    assert "Traceback" not in got.text


def test_an_ambiguous_target_has_its_candidates(client: TestClient) -> None:
    got = client.get("/api/symbols?path=README.md").json()
    assert got["symbols"], "an outline is of all files of the path"
    ambiguous = client.get("/api/file?path=README.md")
    assert ambiguous.status_code == 404
    assert ambiguous.json()["candidates"] == ["notes", "shop"]
    assert client.get("/api/file?path=README.md&repository=shop").status_code == 200


def test_columns_of_the_metadata_restrict_a_search(serve: Serve, built: Path, tmp_path: Path) -> None:
    table = tmp_path / "table.csv"
    table.write_text("path,category,is_paid,rating\nserver,shop,true,8.5\nweb,front,false,3\n")
    client = serve(built, settings=Settings(metadata=str(table)))
    hits = client.get("/api/search?q=order&category=shop&is_paid=true").json()["results"]
    assert {(hit["path"].split("/")[0], hit["category"], hit["avg_rating"]) for hit in hits} == {
        ("server", "shop", 8.5)
    }
    assert (
        client.post("/api/search", json={"query": "order", "meta": ["rating<4"]})
        .json()["results"][0]["path"]
        .startswith("web/")
    )


def test_without_an_index_the_service_is_not_available(serve: Serve, tmp_path: Path) -> None:
    got = serve(tmp_path / "none.db").get("/api/search?q=a")
    assert got.status_code == 503
    assert got.json() == {"error": f"no index at {tmp_path / 'none.db'}", "hint": "run `codelens index` first"}


def test_mode_of_the_settings_is_the_default(serve: Serve, built: Path) -> None:
    client = serve(built, settings=Settings(profile="rrf", mode="exact"))
    assert client.get("/api/search?q=order").json()["search_modes"] == ["exact"]
    assert client.get("/api/search?q=order&mode=hybrid").json()["search_modes"] != ["exact"]


def test_nobody_sees_what_the_owner_of_the_index_uses(serve: Serve, built: Path, tmp_path: Path) -> None:
    """Memory is the owner's: it counts on the command line, and changes no byte of an answer over HTTP."""
    index = accepted(Path(shutil.copy(built, tmp_path)))
    remembering, address = Settings(memory=True), "/api/search?q=order&limit=5"
    plain = serve(index, settings=remembering).get(address).content
    with Index.open(index, remembering) as opened:
        last = opened.search("order", SearchOptions(limit=5)).hits[-1].unit
        opened.open_notebook(now=1).pin(f"{last.path}:{last.start_line}")
        hits = opened.search("order", SearchOptions(limit=5, memory=True, now=2)).hits
        assert "pin" in {part.source for hit in hits for part in hit.contributions}
    assert serve(index, settings=remembering).get(address).content == plain


@pytest.mark.parametrize("query", ["\0order\0", "\ud800", "‮order", "😀" * 50, "(((((", '"', "'; DROP TABLE units"])
def test_any_text_is_accepted_as_a_query(client: TestClient, query: str) -> None:
    got = client.post("/api/search", content=json.dumps({"query": query}), headers={"Content-Type": "application/json"})
    assert got.status_code == 200, got.text


def test_worker_processes_give_the_same_answer(client: TestClient, serve: Serve, built: Path) -> None:
    with_processes = serve(built, workers=1)
    assert with_processes.get("/api/search?q=order").content == client.get("/api/search?q=order").content
    assert with_processes.get("/api/symbols?path=no.go").status_code == 404


def test_a_worker_that_was_killed_is_replaced_and_the_request_is_answered(serve: Serve, built: Path) -> None:
    psutil = pytest.importorskip("psutil")
    client = serve(built, workers=1)
    before = set(psutil.Process().children())
    assert client.get("/api/search?q=order").status_code == 200
    (worker,) = set(psutil.Process().children()) - before
    worker.kill()
    assert client.get("/api/search?q=catalog").status_code == 200
    (replacement,) = set(psutil.Process().children()) - before
    assert replacement.pid != worker.pid


def killed_worker(*_: object) -> None:
    os._exit(9)


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="workers are started in another way")
def test_a_request_that_kills_its_workers_fails_with_a_clear_error(
    serve: Serve, built: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = serve(built, workers=1)
    with monkeypatch.context() as patch:
        patch.setattr("codelens.server.http.desk.answer_question", killed_worker)
        got = client.get("/api/search?q=catalog")
    assert (got.status_code, got.json()["error"]) == (503, "2 worker processes died while they answered this request")
    assert got.headers["Retry-After"] == "2"
    assert client.get("/api/search?q=catalog").status_code == 200


def test_files_kinds_and_beginnings_are_those_of_the_command(client: TestClient) -> None:
    files = client.get("/api/search", params={"q": "catalog", "files_only": "true", "limit": 3}).json()["results"]
    assert files[0]["kind"] == "file"
    assert "catalog" in files[0]["path"]
    docs = client.get("/api/search", params={"q": "order", "kinds": "doc"}).json()["results"]
    assert {hit["kind"] for hit in docs} <= {"section", "text"}
    assert docs
    begun = client.get("/api/search", params={"q": "reserv", "prefix": "true"}).json()["results"]
    assert any(hit["name"].lower().startswith("reserve") for hit in begun)
