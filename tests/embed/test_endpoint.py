"""A model over the network: used only if allowed, with retries, and with a key that is never shown."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest

from codelens.embed.base import EmbeddedFields, scale_to_int8
from codelens.embed.endpoint import BATCH, parse_address
from codelens.embed.registry import open_embedder, open_indexed_embedder, resolve_setting
from codelens.errors import CodelensError, EmbedderFault, UsageError
from tests.embed.endpoints import Answer, Endpoint, endpoint, given, vector_of

KEY = "sk-secret-of-mine"


@pytest.fixture
def other() -> Iterator[Endpoint]:
    with endpoint() as found:
        yield found


@pytest.fixture(autouse=True)
def own_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CODELENS_API_KEY", KEY)
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)


def entries(number: int) -> list[EmbeddedFields]:
    return [EmbeddedFields(f"name{i}", "a.py", f"def name{i}()", f"def name{i}(): pass") for i in range(number)]


def test_nothing_is_sent_without_permission(other: Endpoint) -> None:
    with pytest.raises(UsageError, match="needs the network, which is not allowed") as told:
        open_embedder(other.setting)
    assert "--allow-network" in told.value.hint
    open_embedder(other.setting, allow_network=True).compute_fingerprint()
    assert other.asked == [], "to open it asks nothing"


def test_an_address_or_folder_named_by_an_index_is_refused(
    other: Endpoint, tmp_path_factory: pytest.TempPathFactory
) -> None:
    for setting in (other.setting, str(tmp_path_factory.mktemp("model"))):
        with pytest.raises(UsageError, match="used only if your own settings name it"):
            open_indexed_embedder(setting)
    assert resolve_setting(other.setting) == other.setting


def test_vectors_come_in_batches_and_in_order(other: Endpoint) -> None:
    embedder = open_embedder(other.setting, allow_network=True)
    found = embedder.embed_code(entries(2 * BATCH + 3))
    assert [len(asked.body["input"]) for asked in other.asked] == [BATCH, BATCH, 3]
    texts = [text for asked in other.asked for text in asked.body["input"]]
    assert texts[1] == "name1 a.py\ndef name1(): pass"
    assert found == [scale_to_int8(vector_of(text, 12)) for text in texts]
    assert (embedder.dimensions, len(found[0])) == (12, 16)
    assert {(asked.path, asked.key, asked.body["model"]) for asked in other.asked} == {
        ("/v1/embeddings", f"Bearer {KEY}", "made")
    }


def test_a_query_is_sent_alone(other: Endpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CODELENS_API_KEY")
    embedder = open_embedder(other.setting, allow_network=True)
    assert embedder.embed_query("lamp on") == scale_to_int8(vector_of("lamp on", 12))
    assert embedder.embed_query(" ") == b""
    assert [(asked.key, asked.body["input"]) for asked in other.asked] == [(None, ["lamp on"])]


def test_dimensions_may_be_requested(other: Endpoint) -> None:
    setting = other.setting.replace("#", "?dimensions=8#")
    embedder = open_embedder(setting, allow_network=True)
    assert len(embedder.embed_query("lamp")) == embedder.dimensions == other.asked[0].body["dimensions"] == 8
    assert embedder.compute_fingerprint() != open_embedder(other.setting, allow_network=True).compute_fingerprint()
    other.answers = [given({"data": [{"index": 0, "embedding": [1.0] * 9}]})]
    with pytest.raises(EmbedderFault, match="vectors of 9 dimensions, expected 8"):
        embedder.embed_query("lamp")


@pytest.mark.parametrize("status", [429, 500, 503])
def test_temporary_failures_are_tried_again(status: int, other: Endpoint) -> None:
    other.answers = [given({"error": {"message": "slow down"}}, status, Retry_After="0")]
    assert open_embedder(other.setting, allow_network=True).embed_query("lamp") == scale_to_int8(vector_of("lamp", 12))
    assert len(other.asked) == 2


def test_the_number_of_tries_is_limited(other: Endpoint) -> None:
    other.answers = [given({"error": "overloaded"}, 503)] * 9
    with pytest.raises(EmbedderFault, match=r"answers 503: .*overloaded"):
        open_embedder(other.setting, allow_network=True).embed_query("lamp")
    assert len(other.asked) == 2, "a question is tried twice"


def test_the_time_of_all_tries_is_limited(other: Endpoint) -> None:
    other.answers = [given({}, 429, Retry_After="3600")]
    with pytest.raises(EmbedderFault, match="answers 429"):
        open_embedder(other.setting, allow_network=True).embed_query("lamp")
    assert len(other.asked) == 1


@pytest.mark.parametrize("status", [401, 403])
def test_a_refused_key_is_not_printed(status: int, other: Endpoint) -> None:
    other.answers = [given({"error": f"wrong key {KEY}, or {KEY[:7]}…"}, status)]
    with pytest.raises(EmbedderFault, match="refuses the key of CODELENS_API_KEY") as told:
        open_embedder(other.setting, allow_network=True).embed_query("lamp")
    assert "sk-" not in str(told.value)
    assert len(other.asked) == 1


def test_messages_of_the_server_are_shown_without_key_and_control_characters(other: Endpoint) -> None:
    other.answers = [(400, {}, f"\x1b[31mtoo long\nfor {KEY}".encode() + b"x" * 999)]
    with pytest.raises(EmbedderFault) as told:
        open_embedder(other.setting, allow_network=True).embed_query("lamp")
    said = str(told.value)
    assert "answers 400: [31mtoo long for …x" in said
    assert len(said) < 300 and said.isprintable()


def test_a_redirection_is_not_followed(other: Endpoint) -> None:
    with endpoint() as elsewhere:
        other.answers = [given({}, status, Location=f"http://127.0.0.1:{elsewhere.port}/") for status in (302, 307)]
        for status in (302, 307):
            with pytest.raises(EmbedderFault, match=f"answers {status}"):
                open_embedder(other.setting, allow_network=True).embed_query("lamp")
        assert elsewhere.asked == []


ROW = {"index": 0, "embedding": [1.0, 2.0]}


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ((200, {}, b"<html>"), "does not answer with JSON"),
        ((200, {}, b"[" * 100_000), "does not answer"),
        ((200, {}, b"\xff\xfe"), "does not answer with JSON"),
        ((200, {"Content-Length": "99"}, b"{}"), "the answer ends too early"),
        (given([]), "`data` must be a list"),
        (given({"data": "none"}), "`data` must be a list"),
        (given({"data": []}), "0 vectors for 1 texts"),
        (given({"data": [ROW, ROW]}), "2 vectors for 1 texts"),
        (given({"data": [{**ROW, "index": 1}]}), "not those of the texts"),
        (given({"data": [{**ROW, "index": True}]}), "not those of the texts"),
        (given({"data": [{**ROW, "embedding": "AAAA"}]}), "must be a list of numbers"),
        (given({"data": [{**ROW, "embedding": [1, "2"]}]}), "must be a list of numbers"),
        (given({"data": [{**ROW, "embedding": []}]}), "a vector of 0 dimensions"),
        (given({"data": [{**ROW, "embedding": [float("nan")]}]}), "infinite or NaN"),
        (given({"data": [{**ROW, "embedding": [10**400, 1]}]}), "does not return usable vectors"),
    ],
)
def test_invalid_answers(answer: Answer, said: str, other: Endpoint) -> None:
    other.answers = [answer] * 2
    with pytest.raises(EmbedderFault, match=said) as told:
        open_embedder(other.setting, allow_network=True).embed_query("lamp")
    assert told.value.hint


def test_vectors_of_different_widths_are_refused(other: Endpoint) -> None:
    other.answers = [given({"data": [ROW, {"index": 1, "embedding": [1.0] * 3}]})]
    with pytest.raises(EmbedderFault, match="dimensions"):
        open_embedder(other.setting, allow_network=True).embed_code(entries(2))


def test_an_unreachable_host_is_reported() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.raises(EmbedderFault, match="does not answer"):
        open_embedder(f"http://127.0.0.1:{port}/v1#made", allow_network=True).embed_query("lamp")


@pytest.mark.parametrize(
    "setting",
    [
        "https://host/v1", "https:///v1#m", "https://host:port/v1#m", "https://[host/v1#m", "https://me:magic@host/v1#m",
        "https://me@host/v1#m", "https://host/v1?api-key=k#m", "https://host/v1?dimensions=x#m", "https://ho st/v1#m",
        "https://host/v1?dimensions=99999#m", "https://host/v\x1b1#m",
    ],
)  # fmt: skip
def test_invalid_addresses(setting: str) -> None:
    with pytest.raises(UsageError) as told:
        open_embedder(setting, allow_network=True)
    assert "magic" not in str(told.value) and "api-key" not in str(told.value)


def test_a_key_is_sent_only_encrypted_or_to_this_machine() -> None:
    assert parse_address("https://host/v1#m").takes_key
    assert not parse_address("http://host/v1#m").takes_key
    assert parse_address("http://localhost:11434/v1/#m").url == "http://localhost:11434/v1/embeddings"
    assert parse_address("http://localhost:11434/v1#m").takes_key


def test_a_key_that_no_header_can_hold_is_not_printed(other: Endpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CODELENS_API_KEY", "sk-a\r\nHost: b")
    with pytest.raises(CodelensError) as told:
        open_embedder(other.setting, allow_network=True).embed_query("lamp")
    assert "sk-" not in str(told.value)
    assert other.asked == []
