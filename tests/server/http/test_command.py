"""`codelens serve` as a process of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.cli.conftest import Run, plain_environment, run  # noqa: F401 - fixtures


@pytest.fixture
def server(built: Path) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-m", "codelens", "serve", "--db", str(built), "--port", "0", "--workers", "1"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        yield process
        process.kill()


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


def test_others_need_a_key(run: Run, built: Path) -> None:  # noqa: F811
    for more in (["--host", "0.0.0.0"], ["--host", "192.0.2.1"], ["--require-key"]):
        ran = run("serve", "--db", str(built), *more)
        assert ran.code == 2
        first, second = ran.err.splitlines()
        assert "there is no key" in first
        assert second == "hint: `codelens serve keys add NAME` makes one"


def test_keys_are_made_listed_and_taken_back(run: Run) -> None:  # noqa: F811
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
        (["--port", "70000"], "--port is 0 to 65535"),
        (["--workers", "-1"], "--workers is 0 to 64"),
        (["--host", "no.such.host.invalid", "--require-key"], "there is no key"),
    ],
)
def test_options_that_make_no_sense(run: Run, built: Path, arguments: list[str], said: str) -> None:  # noqa: F811
    ran = run("serve", "--db", str(built), *arguments)
    assert ran.code == 2
    assert said in ran.err


def test_without_an_index(run: Run, tmp_path: Path) -> None:  # noqa: F811
    assert run("serve", "--db", str(tmp_path / "none.db")).code == 3
