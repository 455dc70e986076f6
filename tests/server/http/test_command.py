"""`codelens serve` as a process of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest

from codelens.config import Settings
from codelens.index import Index
from tests.commands import Run

pytestmark = pytest.mark.usefixtures("plain_environment")


@contextmanager
def serving(index: Path, *flags: str) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-m", "codelens", "serve", "--db", str(index), "--port", "0", "--workers", "1", *flags]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        yield process
        process.kill()


@pytest.fixture
def server(built: Path) -> Iterator[subprocess.Popen[str]]:
    with serving(built) as process:
        yield process


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGINT for one process")
def test_it_says_where_it_listens_and_ends_on_interrupt(server: subprocess.Popen[str]) -> None:
    assert server.stdout is not None and server.stderr is not None
    address = server.stdout.readline().strip()
    assert address.startswith("http://127.0.0.1:")
    assert httpx.get(f"{address}api/search?q=order&limit=1", timeout=60).json()["count"] == 1
    assert httpx.get(address, headers={"Accept": "text/html"}, timeout=60).status_code == 200
    server.send_signal(signal.SIGINT)
    assert server.wait(30) == 130
    assert server.stdout.read() == ""
    assert "Traceback" not in server.stderr.read()


@pytest.mark.slow
def test_quiet_prints_the_address_alone(built: Path) -> None:
    with serving(built, "-q") as quiet:
        assert quiet.stdout is not None and quiet.stderr is not None
        address = quiet.stdout.readline().strip()
        assert httpx.get(f"{address}api/status", timeout=60).status_code == 200  # it listens, and can be ended in order
        quiet.terminate()
        assert (quiet.stdout.read(), quiet.stderr.read()) == ("", "codelens: terminated\n")


@pytest.mark.slow
def test_agents_have_their_tools_at_one_address(server: subprocess.Popen[str]) -> None:
    mcp = pytest.importorskip("mcp", reason="the extra `mcp` is not installed")
    from mcp.client.streamable_http import streamable_http_client

    assert server.stdout is not None
    address = server.stdout.readline().strip()

    async def ask() -> list[dict[str, Any]]:
        async with (
            streamable_http_client(f"{address}mcp") as (read, write, _),
            mcp.ClientSession(read, write) as session,
        ):
            await session.initialize()
            found = await session.call_tool("search", {"query": "order", "limit": 3})
            return list(found.structuredContent["results"])

    assert len(anyio.run(ask)) == 3
    assert httpx.get(f"{address}mcp/other", timeout=60).status_code == 404
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    foreign = {"Host": "evil.example", "Accept": "application/json, text/event-stream"}
    assert httpx.post(f"{address}mcp", json=body, headers=foreign, timeout=60).status_code == 400


@pytest.mark.slow
def test_with_watch_a_change_is_found(tmp_path: Path) -> None:
    pytest.importorskip("watchfiles", reason="the extra `watch` is not installed")
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "cup.py").write_text("def pour():\n    return 1\n")
    Index.build(tmp_path / "i.db", [tree], Settings(jobs=1))
    with serving(tmp_path / "i.db", "--watch") as process:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        asked = f"{address}api/search?q=sym:decant"
        assert httpx.get(asked, timeout=60).json()["count"] == 0
        (tree / "jug.py").write_text("def decant():\n    return 2\n")
        end = time.monotonic() + 60
        while not (found := httpx.get(asked, timeout=60).json()["count"]) and time.monotonic() < end:
            time.sleep(0.2)
        assert found == 1


def test_other_machines_need_a_key(run: Run, built: Path) -> None:
    for more in (["--host", "0.0.0.0"], ["--host", "192.0.2.1"], ["--require-key"]):
        ran = run("serve", "--db", str(built), *more)
        assert ran.code == 2
        first, second = ran.err.splitlines()
        assert "there are no keys" in first
        assert second == "hint: `codelens serve keys add NAME` creates one"


def test_keys_are_made_listed_and_taken_back(run: Run) -> None:
    assert run("serve", "keys", "list").code == 1
    made = run("serve", "keys", "add", "anna")
    assert made.code == 0
    assert made.out.startswith("codelens_")
    assert len(made.out.strip()) == 52
    assert made.out.strip() not in made.err
    listed = run("serve", "keys", "list")
    assert listed.code == 0
    assert listed.out.split()[0] == "anna"
    assert made.out.strip() not in listed.out
    assert run("serve", "keys", "add", "anna").code == 2
    assert run("serve", "keys", "revoke", "anna").code == 0
    assert run("serve", "keys", "revoke", "anna").code == 2


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--port", "70000"], "--port must be from 0 to 65535"),
        (["--workers", "-1"], "--workers must be from 0 to 64"),
        (["--host", "no.such.host.invalid", "--require-key"], "there are no keys"),
    ],
)
def test_invalid_options_are_refused_with_a_reason(run: Run, built: Path, arguments: list[str], said: str) -> None:
    ran = run("serve", "--db", str(built), *arguments)
    assert ran.code == 2
    assert said in ran.err


def test_serve_without_an_index_is_an_error(run: Run, tmp_path: Path) -> None:
    assert run("serve", "--db", str(tmp_path / "none.db")).code == 3
