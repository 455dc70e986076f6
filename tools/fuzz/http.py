"""Requests to `codelens serve`: what the served description allows and what it does not, broken requests, and slow clients."""

from __future__ import annotations

import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from codelens.config import Settings
from codelens.index import Index
from tools.campaign import ROOT, Campaign, Report, expect
from tools.fuzz.derive import broken
from tools.program import UNEXPECTED, Program, left_behind

EXAMPLES = 20  # Requests of one attempt, which is one address, method and kind
SLOW_CLIENTS = 800  # Connections that are held open with half a request; more than the server holds
SECONDS = 60.0
"""Seconds that a whole request may wait among them. A busy machine is slow; a server that waits for slow clients never answers."""
HELD_SECONDS = 45.0
"""Seconds in which the server drops half a request: it promises 20 s; the rest is for a busy machine."""
REQUEST = (
    b"POST /api/search HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: 30\r\n\r\n"
    + b'{"query": "order", "limit": 1}'
)


def built(folder: Path) -> Path:
    shutil.copytree(ROOT / "sample_repos/shop/repo", folder / "shop")
    Index.build(folder / "index.db", [folder / "shop"], Settings(jobs=1))
    return folder / "index.db"


def described(count: int, seed: int, folder: Path, report: Report) -> None:
    """At least `count` requests made by schemathesis from the served description, in process, each answer checked against it."""
    import schemathesis
    from hypothesis import HealthCheck, Phase, given, settings
    from hypothesis import seed as seeded

    from codelens.server.http.answers import ENDPOINTS
    from codelens.server.http.app import make_application
    from codelens.server.http.desk import QueryDesk
    from codelens.server.http.gate import Rules

    desk = QueryDesk(built(folder), Settings())
    app = make_application(desk, Rules(False, None), None)
    accepted = {"checks": {"positive_data_acceptance": {"expected-statuses": [200, 400, 404]}}}
    operations: Any = schemathesis.openapi.from_asgi(
        "/openapi.json", app, config=schemathesis.Config.from_dict(accepted)
    )
    modes = (schemathesis.GenerationMode.POSITIVE, schemathesis.GenerationMode.NEGATIVE)
    turns = [(name, method, mode) for name in sorted(ENDPOINTS) for method in ("GET", "POST") for mode in modes]
    number = seed
    while report.tried < count:
        name, method, mode = turns[number % len(turns)]

        @seeded(number)
        @settings(
            max_examples=EXAMPLES,
            deadline=None,
            database=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        @given(case=operations[f"/api/{name}"][method].as_strategy(generation_mode=mode))
        def ask(case: Any) -> None:
            report.tried += 1
            answer = case.call_and_validate()
            report.counts[f"status {answer.status_code}"] += 1

        with report.attempt(number, tries=0):
            ask()
        number += 1
    desk.close()


@contextmanager
def serving(index: Path, home: Path) -> Iterator[int]:
    """Start a server and yield its port; the server must end cleanly and leave no process."""
    home.mkdir()
    command = [sys.executable, "-P", "-m", "codelens", "serve", "--db", str(index), "--port", "0", "--workers", "1"]
    errors = tempfile.TemporaryFile("w+")  # noqa: SIM115 - a pipe that nobody reads would fill, and stop the server
    process = subprocess.Popen(
        command,
        cwd=home,
        env=Program(home, {"CODELENS_TRUST_INDEXES": "1"}).environment(),  # it was made for this process
        stdout=subprocess.PIPE,
        stderr=errors,
        text=True,
        start_new_session=True,
    )
    assert process.stdout
    try:
        yield int(process.stdout.readline().strip().rstrip("/").rpartition(":")[2])
        expect(process.poll() is None, "the server has ended")
    finally:
        process.send_signal(signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            process.wait(60)
        left = left_behind(process.pid)
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        process.stdout.close()
        errors.seek(0)
        log = errors.read()
        errors.close()
    expect(not any(word in log for word in UNEXPECTED), f"the server wrote: {log[-900:]}")
    expect(not left, f"processes left by the server: {left}")


def answered(port: int, request: bytes, whole: bool = True) -> bytes:
    """The first bytes of the answer; empty if the connection is closed without one. Nothing follows what is not `whole`."""
    with socket.create_connection(("127.0.0.1", port), timeout=SECONDS) as connection, suppress(ConnectionError):
        connection.sendall(request)
        if not whole:
            connection.shutdown(socket.SHUT_WR)
        return connection.recv(4000)
    return b""


def requests(count: int, seed: int, folder: Path, report: Report) -> None:
    """Send broken requests to a server: it answers or refuses each, and answers a whole one after it."""
    with report.attempt(seed, tries=0), serving(built(folder), folder / "home") as port:
        answered(port, REQUEST)
        for number in range(seed, seed + count):
            luck = random.Random(number)
            with report.attempt(number):
                first = answered(port, broken(REQUEST, luck), whole=False)
                report.counts[first[9:12].decode("ascii", "replace") or "closed"] += 1
                expect(not first.startswith(b"HTTP/1.1 5"), f"answered: {first!r}")
                if number % 25 == 0:
                    expect(b" 200 " in answered(port, REQUEST), "a whole request is not answered")


def slow(count: int, seed: int, folder: Path, report: Report) -> None:
    """Open many connections with half a request: the server answers whole requests meanwhile and drops the halves."""
    with report.attempt(seed, tries=0), serving(built(folder), folder / "home") as port:
        answered(port, REQUEST)
        for number in range(seed, seed + count):
            luck = random.Random(number)
            with report.attempt(number):
                held = [socket.create_connection(("127.0.0.1", port), timeout=SECONDS) for _ in range(SLOW_CLIENTS)]
                for one in held:
                    one.sendall(REQUEST[: luck.randrange(len(REQUEST))])
                expect(b" 200 " in answered(port, REQUEST), "a whole request is not answered while slow clients wait")
                if number == seed:
                    _let_go(held)
                for one in held:
                    one.close()


def _let_go(held: list[socket.socket]) -> None:
    """Raise Failed unless the server closes, or answers, each of these connections in time."""
    deadline = time.monotonic() + HELD_SECONDS
    kept = 0
    for one in held:
        one.settimeout(max(0.01, deadline - time.monotonic()))
        try:
            while one.recv(4000):
                pass
        except TimeoutError:
            kept += 1
        except ConnectionError:
            pass
    expect(not kept, f"{kept} of {len(held)} half requests are held for over {HELD_SECONDS:g} s")


CAMPAIGNS = (
    Campaign("http", described, 2000, "requests by the served description, allowed and not allowed"),
    Campaign("http-broken", requests, 2000, "broken requests to a started server"),
    Campaign("http-slow", slow, 20, f"{SLOW_CLIENTS} clients that send half a request"),
)
