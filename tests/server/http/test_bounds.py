"""A real server and raw sockets: what a request may take of time, bytes and connections, and by which name it may ask."""

from __future__ import annotations

import asyncio
import http.client
import json
import re
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext, suppress
from pathlib import Path

import pytest

pytest.importorskip("uvicorn", reason="the extra `serve` is not installed")

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from codelens.config import Settings
from codelens.server.http import app
from codelens.server.http.app import MountedApp, make_application
from codelens.server.http.desk import QueryDesk
from codelens.server.http.gate import Rules, make_rules

Connect = Callable[..., socket.socket]
GET = b"GET /static/page.css HTTP/1.1\r\nHost: localhost\r\n\r\n"
POST = b"POST /api/search HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
PATIENCE = 120  # Seconds; a server that keeps a connection for ever fails by it


class WaitingApp:
    """An application that answers all its requests when it may."""

    def __init__(self) -> None:
        self.begun, self.may_answer = threading.Semaphore(0), threading.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.begun.release()
        while not self.may_answer.is_set():
            await asyncio.sleep(0.01)
        await Response("late")(scope, receive, send)


@pytest.fixture
def waiting() -> Iterator[WaitingApp]:
    """The application at /mcp."""
    waiting = WaitingApp()
    yield waiting
    waiting.may_answer.set()


@pytest.fixture
def connect(built: Path, waiting: WaitingApp) -> Iterator[Connect]:
    """Connections to a server that runs in a thread."""
    ends: list[Callable[[], None]] = []

    def start(rules: Rules | None = None) -> socket.socket:
        if not ends:
            desk = QueryDesk(built, Settings(), 0, None)
            listener = app.open_listener("127.0.0.1", 0)
            mounted = MountedApp("/mcp", waiting, nullcontext())
            application = make_application(desk, rules or make_rules("127.0.0.1"), None, mounted=mounted)
            server = app.make_server(application)
            thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
            thread.start()

            def end() -> None:
                server.should_exit = True
                thread.join()
                desk.close()
                listener.close()

            ends.append(end)
            start.address = listener.getsockname()[:2]  # type: ignore[attr-defined]
            while not server.started:
                time.sleep(0.01)
        found = socket.create_connection(start.address, timeout=PATIENCE)  # type: ignore[attr-defined]
        sockets.append(found)
        return found

    sockets: list[socket.socket] = []
    yield start
    waiting.may_answer.set()
    for one in sockets:
        one.close()
    for end in ends:
        end()


def answer(connection: socket.socket) -> bytes:
    """All that comes until the server closes."""
    found = b""
    try:
        while piece := connection.recv(65_536):
            found += piece
    except ConnectionError:
        pass
    return found


def status(connection: socket.socket, request: bytes) -> int:
    """The code of the answer, whose body is read as well."""
    connection.sendall(request)
    told = http.client.HTTPResponse(connection)
    told.begin()
    told.read()
    return told.status


@pytest.mark.slow
@pytest.mark.parametrize(
    ("request_line", "headers"),
    [
        (b"GET /static/page.css HTTP/1.1", b"Host:\r\n"),
        (b"GET /static/page.css HTTP/1.1", b"Host: \r\n"),
        (b"GET /static/page.css HTTP/1.1", b"Host: :80\r\n"),
        (b"GET /static/page.css HTTP/1.1", b""),
        (b"GET /static/page.css HTTP/1.0", b""),
        (b"GET /static/page.css HTTP/1.0", b"Host: localhost\r\nHost: localhost\r\n"),
        (b"GET /static/page.css HTTP/1.1", b"Host: localhost\r\nHost: evil.example\r\n"),
        (b"GET http://evil.example/static/page.css HTTP/1.1", b"Host: localhost\r\n"),
        (b"GET http://localhost/static/page.css HTTP/1.1", b"Host: localhost\r\n"),
        (b"OPTIONS * HTTP/1.1", b"Host: localhost\r\n"),
    ],
)
@pytest.mark.parametrize("open_to_all", [False, True])
def test_a_request_names_this_server_once(
    request_line: bytes, headers: bytes, open_to_all: bool, connect: Connect
) -> None:
    connection = connect(Rules(False, None) if open_to_all else None)
    assert status(connection, request_line + b"\r\n" + headers + b"\r\n") == 400


@pytest.mark.parametrize("path", [b"/", b"/static/page.css", b"/api/status", b"/openapi.json", b"/nowhere"])
def test_pages_of_other_origins_are_refused_everywhere(path: bytes, connect: Connect) -> None:
    connection = connect()
    host, port = (part.encode() if isinstance(part, str) else b"%d" % part for part in connection.getpeername())
    own = host + b":" + port
    head = b"GET " + path + b" HTTP/1.1\r\nHost: " + own + b"\r\n"

    def ask(*origins: bytes) -> int:
        return status(connection, head + b"".join(b"Origin: %s\r\n" % origin for origin in origins) + b"\r\n")

    usual = 404 if path == b"/nowhere" else 200
    assert [ask(), ask(b"http://" + own), ask(b"HTTP://" + own)] == [usual] * 3
    foreign = [
        *(b"null", b"", b"*", b"http://evil.example", own, b"file://", b"vscode-webview://" + own),
        *(b"http://" + host, b"http://localhost:" + port, b"http://[::1]:" + port, b"http://" + host + b":1"),
        *(b"http://" + own + b".evil.example", b"http://" + own + b"/", b"http://" + own + b"@evil.example"),
        *(b"http://evil.example@" + own, b"http://evil.example/" + own, b"http://" + own + b" http://evil.example"),
    ]
    assert [ask(origin) for origin in foreign] == [403] * len(foreign)
    assert ask(b"http://" + own, b"http://evil.example") == 403


def test_an_ordinary_request_is_answered(connect: Connect) -> None:
    connection = connect()
    assert [status(connection, GET) for _ in range(3)] == [200, 200, 200]


@pytest.mark.slow
@pytest.mark.parametrize("sent", [b"", b"GET / HT", b"GET /static/page.css HTTP/1.1\r\nHost: localhost\r\nX: "])
@pytest.mark.parametrize("dripping", [False, True])
def test_a_connection_with_half_a_head_is_closed(
    sent: bytes, dripping: bool, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where a byte comes now and then: the clock is that of the whole head."""
    monkeypatch.setattr(app, "HEAD_SECONDS", 0.5)
    connection = connect()
    connection.sendall(sent)
    if dripping and sent:
        drip(connection)
    else:
        assert answer(connection) == b""


def drip(connection: socket.socket) -> None:
    """A byte at a time, until the server has had enough."""
    with pytest.raises(ConnectionError):
        for _ in range(10 * PATIENCE):
            connection.sendall(b"x")
            time.sleep(0.1)


def test_each_head_of_a_connection_has_its_own_deadline(connect: Connect, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(app, "HEAD_SECONDS", 0.5)
    connection = connect()
    assert status(connection, GET) == 200
    connection.sendall(GET[:-4])
    assert answer(connection) == b""


@pytest.mark.slow
@pytest.mark.parametrize(
    "head",
    [
        POST + b"Content-Length: 100000\r\n\r\n",
        POST + b"Transfer-Encoding: chunked\r\n\r\n186a0\r\n",
        GET[:-2] + b"Content-Length: 100000\r\n\r\n",
    ],
)
@pytest.mark.parametrize("dripping", [False, True])
def test_a_connection_with_half_a_body_is_closed(
    head: bytes, dripping: bool, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(app, "BODY_SECONDS", 0.5)
    connection = connect()
    connection.sendall(head + b"xxx")
    if dripping:
        drip(connection)
    else:
        assert answer(connection)[:12] in (b"", b"HTTP/1.1 200")


@pytest.mark.parametrize("path", [b"/api/search", b"/static/page.css", b"/", b"/nowhere"])
def test_a_long_body_is_refused_before_it_is_sent(path: bytes, connect: Connect) -> None:
    connection = connect()
    connection.sendall(b"POST " + path + b" HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000000\r\n\r\n")
    told = answer(connection)
    assert told.startswith(b"HTTP/1.1 413 ")
    assert b"\r\nconnection: close\r\n" in told.lower()


def test_a_long_body_in_chunks_is_refused_at_the_limit(connect: Connect) -> None:
    connection = connect()
    connection.sendall(POST + b"Transfer-Encoding: chunked\r\n\r\n")
    chunk = b"10000\r\n" + b" " * 65_536 + b"\r\n"
    with pytest.raises(ConnectionError):
        for _ in range(1600):  # 100 MB
            connection.sendall(chunk)


def test_a_body_that_no_handler_reads_ends_at_the_limit(connect: Connect) -> None:
    connection = connect()
    connection.sendall(GET[:-2] + b"Transfer-Encoding: chunked\r\n\r\n")
    with pytest.raises(ConnectionError):
        for _ in range(10_000):
            connection.sendall(b"10000\r\n" + b" " * 65_536 + b"\r\n")


HALVES = (
    b"",
    b"GET / HT",
    GET[:-2],
    POST + b"Content-Length: 9\r\n\r\nx",
    POST + b"Transfer-Encoding: chunked\r\n\r\n9",
)
WAIT = b"GET /mcp HTTP/1.1\r\nHost: localhost\r\n\r\n"


@pytest.mark.parametrize("half", [*HALVES, GET, WAIT[:-2] + b"Content-Length: 9\r\n\r\nx"])
def test_half_requests_keep_nobody_out(half: bytes, connect: Connect, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also idle connections, whose request has been answered. The one that has waited longest goes."""
    monkeypatch.setattr(app, "MAX_CONNECTIONS", 8)
    monkeypatch.setattr(app, "MAX_RUNNING_REQUESTS", 4)
    first = connect()
    assert status(first, GET) == 200
    held = []
    for _ in range(3 * 8):
        held.append(connect())
        held[-1].sendall(half)
        assert status(connect(), GET) == 200
    assert answer(first) == b""


def test_a_request_that_is_being_answered_keeps_its_connection(
    connect: Connect, waiting: WaitingApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(app, "MAX_CONNECTIONS", 3)
    asked = connect()
    asked.sendall(WAIT)
    assert waiting.begun.acquire(timeout=PATIENCE)
    for half in HALVES:
        connect().sendall(half)
        assert status(connect(), GET) == 200
    waiting.may_answer.set()
    told = http.client.HTTPResponse(asked)
    told.begin()
    assert told.read() == b"late"


def test_requests_beyond_those_that_can_be_answered_are_told_when_to_return(
    connect: Connect, waiting: WaitingApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(app, "MAX_RUNNING_REQUESTS", 2)
    for _ in range(2):
        connect().sendall(WAIT)
        assert waiting.begun.acquire(timeout=PATIENCE)
    for request in (GET, WAIT, GET * 3, POST + b"Content-Length: 2\r\n\r\n{}", b"GET /api/search?q=order" + GET[20:]):
        connection = connect()
        connection.sendall(request)
        told = http.client.HTTPResponse(connection)
        told.begin()
        assert (told.status, told.headers["Retry-After"], told.headers["X-Content-Type-Options"]) == (
            503,
            "2",
            "nosniff",
        )
        assert json.loads(told.read())["error"] == "too many requests at once"
    waiting.may_answer.set()
    while status(connect(), GET) != 200:  # until both are answered
        time.sleep(0.05)


def test_pipelined_requests_are_answered_in_order(connect: Connect) -> None:
    connection = connect()
    connection.sendall(GET * 5 + GET.replace(b"page.css", b"nothing") + GET[:-2] + b"Connection: close\r\n\r\n")
    assert re.findall(rb"HTTP/1\.1 ([0-9]{3}) ", answer(connection)) == [b"200"] * 5 + [b"404", b"200"]


def test_a_websocket_is_answered_as_a_request(connect: Connect) -> None:
    upgrade = (
        b"Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: eA==\r\n\r\n"
    )
    assert status(connect(), GET[:-2] + upgrade) == 200


@pytest.mark.parametrize("header", [b"X: " + b"x" * 5_000_000, b"X: x\r\n" * 1_000_000])
def test_huge_headers_are_refused(header: bytes, connect: Connect) -> None:
    connection = connect()
    with suppress(ConnectionError):
        connection.sendall(GET[:-2] + header + b"\r\n\r\n")
    assert answer(connection)[:12] in (b"HTTP/1.1 400", b"")  # the answer is lost where the rest is unread
    assert status(connect(), GET) == 200
