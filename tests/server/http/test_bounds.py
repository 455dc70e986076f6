"""A real server and raw sockets: what a request may take of time, bytes and connections, and by which name it may ask."""

from __future__ import annotations

import http.client
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

pytest.importorskip("uvicorn", reason="the extra `serve` is not installed")

from codelens.config import Settings
from codelens.server.http import app
from codelens.server.http.app import make_application
from codelens.server.http.desk import QueryDesk
from codelens.server.http.gate import Rules, make_rules

Connect = Callable[..., socket.socket]
GET = b"GET /static/page.css HTTP/1.1\r\nHost: localhost\r\n\r\n"
POST = b"POST /api/search HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
PATIENCE = 120  # Seconds; a server that keeps a connection for ever fails by it


@pytest.fixture
def connect(built: Path) -> Iterator[Connect]:
    """Connections to a server that runs in a thread."""
    ends: list[Callable[[], None]] = []

    def start(rules: Rules | None = None) -> socket.socket:
        if not ends:
            desk = QueryDesk(built, Settings(), 0, None)
            listener = app.open_listener("127.0.0.1", 0)
            server = app.make_server(make_application(desk, rules or make_rules("127.0.0.1"), None))
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


def test_connections_are_bounded(connect: Connect, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(app, "MOST_CONNECTIONS", 4)
    held = [connect() for _ in range(4)]
    assert [status(one, GET) for one in held] == [200] * 4
    one_more = connect()
    with pytest.raises((ConnectionError, http.client.HTTPException)):
        status(one_more, GET)
    held[0].close()
    for _ in range(100):  # until the server has noticed
        try:
            if status(connect(), GET) == 200:
                return
        except (ConnectionError, http.client.HTTPException):
            time.sleep(0.05)
    pytest.fail("a place that is free again is not given")
