"""Access, and the headers of every answer."""

from __future__ import annotations

import hashlib
import json
import os
from base64 import b64encode
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from codelens.errors import UsageError
from codelens.server.http.gate import Buckets, Rules, is_loopback, make_rules, read_key
from codelens.server.http.keys import add_key, find_holder, read_keys, revoke_key
from tests.server.http.conftest import Serve

ADDRESS = "/api/search?q=order&limit=1"


@pytest.fixture
def keys(tmp_path: Path) -> Path:
    return tmp_path / "config" / "keys.json"


def bearer(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"}


@pytest.mark.slow
def test_loopback_asks_for_no_key_and_takes_no_wrong_one(serve: Serve, built: Path, keys: Path) -> None:
    key = add_key(keys, "anna")
    client = serve(built, keys=keys)
    assert client.get(ADDRESS).status_code == 200
    assert client.get(ADDRESS, headers=bearer(key)).status_code == 200
    assert client.get(ADDRESS, headers=bearer(key + "x")).status_code == 401


def test_elsewhere_a_key_is_needed_for_every_answer(serve: Serve, built: Path, keys: Path) -> None:
    key = add_key(keys, "anna")
    client = serve(built, make_rules("0.0.0.0"), keys)
    for address in (ADDRESS, "/", "/openapi.json", "/file?path=README.md", "/api/nothing"):
        refused = client.get(address)
        assert refused.status_code == 401
        assert set(refused.headers.get_list("www-authenticate")) == {
            'Bearer realm="codelens"',
            'Basic realm="codelens", charset="UTF-8"',
        }
    assert client.get("/static/page.css").status_code == 200
    assert client.get(ADDRESS, headers=bearer(key)).status_code == 200
    assert client.get("/", headers={"Authorization": f"Basic {b64encode(f'me:{key}'.encode()).decode()}"}).is_success


def test_a_revoked_key_opens_nothing_from_then_on(serve: Serve, built: Path, keys: Path) -> None:
    anna, bela = add_key(keys, "anna"), add_key(keys, "bela")
    client = serve(built, make_rules("0.0.0.0"), keys)
    assert client.get(ADDRESS, headers=bearer(anna)).status_code == 200
    revoke_key(keys, "anna")
    assert client.get(ADDRESS, headers=bearer(anna)).status_code == 401
    assert client.get(ADDRESS, headers=bearer(bela)).status_code == 200


def test_a_key_is_stored_as_its_hash_in_a_private_file(keys: Path) -> None:
    key = add_key(keys, "anna")
    text = keys.read_text()
    assert key not in text
    assert json.loads(text)["keys"] == [{"name": "anna", "sha256": hashlib.sha256(key.encode()).hexdigest()}]
    if os.name != "nt":
        assert keys.stat().st_mode & 0o777 == 0o600
        keys.chmod(0o644)
        with pytest.raises(UsageError, match="readable by other users"):
            read_keys(keys)
        keys.chmod(0o600)
    row = find_holder(read_keys(keys), key)
    assert row is not None and row.name == "anna"
    assert find_holder(read_keys(keys), key[:-1]) is None
    assert [path.name for path in keys.parent.iterdir()] == ["keys.json"]


def test_only_valid_and_new_names_of_keys_are_accepted(keys: Path) -> None:
    add_key(keys, "anna")
    with pytest.raises(UsageError, match="there is a key 'anna'"):
        add_key(keys, "anna")
    for name in ("", "a b", "../x", "-x", "a" * 65):
        with pytest.raises(UsageError, match="is not a valid key name"):
            add_key(keys, name)
    with pytest.raises(UsageError, match="no key is named 'bela'"):
        revoke_key(keys, "bela")


def test_requests_with_a_key_are_limited_by_the_minute(serve: Serve, built: Path, keys: Path) -> None:
    now = [0.0]
    anna, bela = add_key(keys, "anna"), add_key(keys, "bela")
    client = serve(built, keys=keys, buckets=Buckets(2, lambda: now[0]))
    assert [client.get(ADDRESS, headers=bearer(anna)).status_code for _ in range(3)] == [200, 200, 429]
    refused = client.get(ADDRESS, headers=bearer(anna))
    assert refused.headers["retry-after"] == "30"
    assert refused.json()["hint"] == "try again in 30 s"
    assert client.get(ADDRESS, headers=bearer(bela)).status_code == 200
    assert client.get(ADDRESS).status_code == 200
    now[0] = 30.0
    assert [client.get(ADDRESS, headers=bearer(anna)).status_code for _ in range(2)] == [200, 429]


def test_a_limit_of_zero_is_no_limit(serve: Serve) -> None:
    assert [Buckets(0).take_token("anna") for _ in range(5)] == [0] * 5


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8640", "127.0.0.1.evil.example", "", "localhost."])
def test_a_foreign_host_is_refused_on_loopback(client: TestClient, host: str) -> None:
    """Or a page of that name, which points here, could read every answer (DNS rebinding)."""
    got = client.get(ADDRESS, headers={"Host": host})
    assert got.status_code == 400
    assert "results" not in got.text


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.1:8640", "LocalHost:1", "[::1]:8640", "[::1]"])
def test_hosts_that_name_loopback_are_accepted(client: TestClient, host: str) -> None:
    assert client.get("/static/page.css", headers={"Host": host}).status_code == 200


def test_nothing_is_open_to_other_pages(client: TestClient) -> None:
    for got in (
        client.get(ADDRESS, headers={"Origin": "https://evil.example"}),
        client.options(ADDRESS, headers={"Origin": "https://evil.example", "Access-Control-Request-Method": "POST"}),
        client.get("/"),
        client.get("/api/nothing"),
        client.get(ADDRESS, headers={"Host": "evil.example"}),
    ):
        assert not [name for name in got.headers if name.startswith("access-control-")]
        assert "set-cookie" not in got.headers
        assert "script-src 'self'" in got.headers["content-security-policy"]
        assert "unsafe" not in got.headers["content-security-policy"]
        assert got.headers["x-content-type-options"] == "nosniff"
        assert got.headers["cross-origin-resource-policy"] == "same-origin"


def test_loopback_addresses_are_recognized() -> None:
    assert [is_loopback(host) for host in ("127.0.0.1", "127.8.8.8", "::1", "[::1]", "localhost")] == [True] * 5
    assert [is_loopback(h) for h in ("0.0.0.0", "::", "192.168.0.4", "example.org", "")] == [False] * 5
    assert make_rules("127.0.0.1", keys_needed=True) == Rules(True, frozenset({"localhost", "127.0.0.1", "[::1]"}))


@pytest.mark.parametrize(
    ("header", "key"),
    [("", None), ("Bearer a b", "a b"), ("bearer  k", "k"), ("Basic !!", ""), ("Digest x", ""), ("Bearer", "")],
)
def test_keys_are_read_from_bearer_and_basic_headers(header: str, key: str | None) -> None:
    assert read_key(header) == key
