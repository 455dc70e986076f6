"""A fleet behind the server: the same answers as of one index, and keys that see a part of it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import pytest

pytest.importorskip("distributed", reason="the extra `cluster` is not installed")

from codelens.config import Settings
from codelens.errors import FleetIncomplete
from codelens.fleet.build import index_fleet
from codelens.fleet.manifest import FleetManifest
from codelens.fleet.open import FleetPlace
from codelens.fleet.sources import read_fleet
from codelens.fleet.stores import open_store
from codelens.fleet.workers import open_client
from codelens.index import Index
from codelens.model.request import SearchOptions
from codelens.server.http.gate import make_rules
from codelens.server.http.keys import add_key
from tests.commands import SAMPLES
from tests.server.http.conftest import Serve

pytestmark = pytest.mark.slow

QUESTIONS = (
    "search?q=apply+coupon&limit=50",
    "search?q=def&literal=true",
    "why?q=charge+an+order&target=charge",
    "context?q=order+total&budget=800",
    "symbols?path=settling.py",
    "refs?target=charge",
    "callers?target=charge",
    "callees?target=settle",
    "impact?target=charge",
    "files?limit=10",
)
SEPARATE = {"shop": "till", "shop-copy": "till", "notes": "office"}  # Repository → its group in the fleet


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A store `fleet.d` with a shard for each of two groups, and indexes of all and of the first two repositories.

    A pack counts the characters of their paths, which are equally long.
    """
    folder = tmp_path_factory.mktemp("fleet")
    lines = []
    for name, group in SEPARATE.items():
        shutil.copytree(SAMPLES / name.partition("-")[0] / "repo", folder / name)
        lines.append(json.dumps({"path": name, "group": group}))
    (folder / "shop/settling.py").write_text(
        "def charge(order):\n    return order\n\n\ndef settle(order):\n    charge(order)\n"
    )
    (folder / "shop-copy/hiding.py").write_text("def keep_hidden_zebra(order):\n    return charge(order)\n")
    (folder / "fleet.jsonl").write_text("\n".join(lines))
    with open_client("", workers=1) as client:
        index_fleet(client, read_fleet(folder / "fleet.jsonl"), str(folder / "fleet.d"), Settings())
    Index.build(folder / "full.db", [folder / name for name in SEPARATE], Settings(jobs=1))
    Index.build(folder / "part.db", [folder / "shop", folder / "shop-copy"], Settings(jobs=1))
    Index.build(folder / "some.db", [folder / "shop", folder / "notes"], Settings(jobs=1))
    yield folder


def without_index(record: Any) -> Any:
    """A record without the index and the token, which names the index."""
    apart = ("index", "more")
    return {key: value for key, value in record.items() if key not in apart} if isinstance(record, dict) else record


def test_every_question_is_answered_as_by_one_index(serve: Serve, fleet: Path) -> None:
    one, many = serve(fleet / "full.db"), serve(FleetPlace(str(fleet / "fleet.d")))
    for question in QUESTIONS:
        expected, found = one.get(f"/api/{question}"), many.get(f"/api/{question}")
        assert found.status_code == expected.status_code == 200, (question, expected.text)
        assert without_index(found.json()) == without_index(expected.json()), question


def test_status_and_page(serve: Serve, fleet: Path) -> None:
    client = serve(FleetPlace(str(fleet / "fleet.d")))
    names = [row["name"] for row in client.get("/api/status").json()["repositories"]]
    assert sorted(names) == ["notes", "shop", "shop-copy"]
    page = client.get("/", params={"q": "apply coupon"}, headers={"accept": "text/html"})
    assert page.status_code == 200
    assert "coupon" in page.text


def test_a_key_gets_the_answer_of_an_index_of_what_it_may_see(serve: Serve, fleet: Path, tmp_path: Path) -> None:
    """The same scores: so nothing of the others can be read from them."""
    keys = tmp_path / "config/keys.json"
    header = {"Authorization": f"Bearer {add_key(keys, 'till', ['shop*'])}"}
    rules = make_rules("0.0.0.0")
    many, part = serve(FleetPlace(str(fleet / "fleet.d")), rules, keys), serve(fleet / "part.db", rules, keys)
    for question in QUESTIONS:
        found = many.get(f"/api/{question}", headers=header).json()
        assert without_index(found) == without_index(part.get(f"/api/{question}", headers=header).json()), question
        assert '"notes"' not in json.dumps(found), question
    assert many.get("/api/file?path=notes/auth.py", headers=header).status_code == 404


def test_an_answer_cached_for_one_key_is_not_sent_to_another(serve: Serve, fleet: Path, tmp_path: Path) -> None:
    keys = tmp_path / "config/keys.json"
    till, every = add_key(keys, "till", ["shop*"]), add_key(keys, "every")
    client = serve(FleetPlace(str(fleet / "fleet.d")), make_rules("0.0.0.0"), keys)
    totals = []
    for key in (every, till, every, till):
        answer = client.get("/api/search?q=order+of+notes", headers={"Authorization": f"Bearer {key}"}).json()
        totals.append({hit["repository"] for hit in answer["results"]})
    assert "notes" in totals[0]
    assert totals[0] == totals[2] != totals[1] == totals[3]


PAGES = (
    "?q=keep_hidden_zebra",
    "?q=charge+an+order",
    "why?q=charge+an+order&target=charge",
    "why/panel?q=hidden+zebra&target=keep_hidden_zebra",
    "name?name=charge",
    "name/panel?name=keep_hidden_zebra",
    "file?path=hiding.py",
    "file?path=hiding.py&repository=shop-copy",
    "files",
    "help",
)
PROBES = (
    "search?q=keep_hidden_zebra",
    "search?q=keep_hiden_zebra",  # a correction would reveal the word
    "search?q=zebra*&limit=50",
    "search?q=hidden+zebra&mode=vector&limit=50",
    "search?q=zebra&literal=true",
    "search?q=z.bra&regex=true",
    "search?q=order&repositories=shop-copy",
    "search?q=repo:shop-copy",
    "why?q=order&target=keep_hidden_zebra",
    "why?q=order&target=shop-copy/hiding.py",
    "context?q=hidden+zebra&budget=2000",
    "symbols?path=hiding.py",
    "symbols?path=shop-copy/hiding.py",
    "refs?target=keep_hidden_zebra",
    "refs?target=charge&text=true",
    "callers?target=charge&depth=5",
    "callees?target=keep_hidden_zebra",
    "impact?target=charge",
    "files?limit=100",
    "file?path=hiding.py",
    "file?path=hiding.py&repository=shop-copy",
    "status",
    "status?check=true",
)


def test_a_key_may_see_some_repositories_of_a_shard(serve: Serve, fleet: Path, tmp_path: Path) -> None:
    """It gets the bytes of an index without the others, except for what describes the index."""
    keys = tmp_path / "config/keys.json"
    header = {"Authorization": f"Bearer {add_key(keys, 'some', ['shop', 'notes'])}"}
    rules = make_rules("0.0.0.0")
    many, some = serve(FleetPlace(str(fleet / "fleet.d")), rules, keys), serve(fleet / "some.db", rules, keys)
    for question in (*QUESTIONS, *PROBES[:-2]):
        found, expected = (client.get(f"/api/{question}", headers=header) for client in (many, some))
        assert found.status_code == expected.status_code, (question, found.text)
        assert without_index(found.json()) == without_index(expected.json()), question
    refused = serve(fleet / "full.db", rules, keys).get("/api/search?q=order+of+notes", headers=header)
    assert refused.status_code == 403


def test_no_address_shows_a_key_what_it_may_not_see(serve: Serve, fleet: Path, tmp_path: Path) -> None:
    """Also after a key that sees everything has asked the same."""
    keys = tmp_path / "config/keys.json"
    rules, place = make_rules("0.0.0.0"), FleetPlace(str(fleet / "fleet.d"))
    every, some = ({"Authorization": f"Bearer {add_key(keys, *key)}"} for key in (("every",), ("some", ["shop"])))
    client = serve(place, rules, keys)
    shown = 0
    for address in (*(f"/api/{question}" for question in (*QUESTIONS, *PROBES)), *(f"/{page}" for page in PAGES)):
        asked = address.partition("?")[2]
        texts = []
        for header in (every, some):
            answer = client.get(address, headers={**header, "accept": "text/html, application/json"}).text
            for values in parse_qs(asked).values():  # what was asked may be repeated
                for word in values[0].split():
                    answer = answer.replace(word, "")
            texts.append(answer)
        shown += any(word in texts[0] for word in ("shop-copy", "zebra", "hiding.py"))
        assert not any(word in texts[1] for word in ("shop-copy", "zebra", "hiding.py", '"notes"')), (address, texts[1])
    assert shown > 15
    assert client.post("/mcp", headers=some, json={}).status_code == 403


def test_a_part_of_a_shard_is_made_again_after_damage(
    serve: Serve, fleet: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    place = FleetPlace(str(fleet / "fleet.d"), visible=("shop",))
    for seconds, damage in enumerate(("header", "length"), 50):  # which make another connection
        with place._replace(seconds=seconds).open(Settings()) as index:
            assert {hit.unit.repository for hit in index.search("order", SearchOptions()).hits} == {"shop"}
        (part,) = (tmp_path / "cache").rglob("*.db")
        part.write_bytes(bytes(100) + part.read_bytes()[100:] if damage == "header" else b"")
        with pytest.raises(FleetIncomplete, match="cluster index FLEET --verify"):
            place._replace(seconds=seconds + 10).open(Settings())
        assert not part.exists()


def test_a_key_that_matches_no_repository_is_told_so(serve: Serve, fleet: Path, tmp_path: Path) -> None:
    keys = tmp_path / "config/keys.json"
    client = serve(FleetPlace(str(fleet / "fleet.d")), make_rules("0.0.0.0"), keys)
    nothing = {"Authorization": f"Bearer {add_key(keys, 'nothing', ['else*'])}"}
    refused = client.get("/api/search?q=order", headers=nothing)
    assert (refused.status_code, refused.json()["error"]) == (503, "no repository of this store can be searched")


def test_threads_ask_shards_of_their_own(fleet: Path) -> None:
    place = FleetPlace(str(fleet / "fleet.d"))

    def ask(number: int) -> list[tuple[str, float]]:
        with place.open(Settings(query_seconds=0)) as index:
            found = index.search(("order of notes", "charge an order")[number % 2], SearchOptions())
            return [(hit.unit.qualified_name, hit.score) for hit in found.hits]

    expected = [ask(0), ask(1)]
    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(ask, range(16))) == expected * 8


def test_tools_for_agents_are_for_keys_that_see_everything(serve: Serve, fleet: Path, tmp_path: Path) -> None:
    keys = tmp_path / "config/keys.json"
    header = {"Authorization": f"Bearer {add_key(keys, 'till', ['shop*'])}"}
    client = serve(FleetPlace(str(fleet / "fleet.d")), make_rules("0.0.0.0"), keys)
    assert client.post("/mcp", headers=header, json={}).status_code == 403


def test_a_lost_shard_is_reported_and_used_again_once_it_is_back(serve: Serve, fleet: Path, tmp_path: Path) -> None:
    store = tmp_path / "fleet.d"
    shutil.copytree(fleet / "fleet.d", store)
    shards = FleetManifest.read(open_store(str(store))).shards
    office = next(store / shard.file for shard in shards if shard.repositories == ("notes",))
    office.rename(tmp_path / "away.db")
    client = serve(FleetPlace(str(store)))
    found = client.get("/api/search?q=note").json()
    assert "notes" not in {hit["repository"] for hit in found["results"]}
    assert any("did not answer" in notice["text"] for notice in found["notices"])
    (tmp_path / "away.db").rename(office)
    fresh = serve(FleetPlace(str(store), seconds=29))  # another connection: a lost shard is left alone for a while
    assert "notes" in {hit["repository"] for hit in fresh.get("/api/search?q=note").json()["results"]}
