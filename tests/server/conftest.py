"""A served copy of the sample repositories, and the SDK's own client at the other end of real pipes."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio.from_thread import BlockingPortal, start_blocking_portal
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.types import CallToolResult

from codelens.cli.main import main

ROOT = Path(__file__).parents[2]
SAMPLES = ROOT / "sample_repos"
EVERYTHING = ("--tools", "all", "--structured")  # Options of `codelens mcp` for tests that read the objects of answers


class Client:
    """The SDK's session for tests that are not coroutines."""

    def __init__(self, portal: BlockingPortal, session: ClientSession, started: Any) -> None:
        self.portal, self.session, self.started = portal, session, started

    def call(self, tool: str, **arguments: Any) -> CallToolResult:
        """One call. The session itself checks structured content against the tool's output schema."""
        return self.portal.call(self.session.call_tool, tool, arguments)

    def gives(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """The structured content of a call that must not fail."""
        result = self.call(tool, **arguments)
        assert not result.isError, text_of(result)
        assert result.structuredContent is not None
        return result.structuredContent

    def fault(self, tool: str, **arguments: Any) -> str:
        """The text of a call that must fail."""
        result = self.call(tool, **arguments)
        assert result.isError
        assert result.structuredContent is None
        return text_of(result)


def text_of(result: CallToolResult) -> str:
    (block,) = result.content
    assert block.type == "text"
    return block.text


def variables(home: Path) -> dict[str, str]:
    """An environment in which nothing of this machine's user counts."""
    return {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": str(ROOT),
        "HOME": str(home),
        "XDG_CONFIG_HOME": str(home),
        "XDG_CACHE_HOME": str(home / "cache"),
        "XDG_DATA_HOME": os.environ["XDG_DATA_HOME"],  # with the key that marks the indexes of these tests
        "GIT_CEILING_DIRECTORIES": str(home.parent),
    }


@contextmanager
def client_of(folder: Path, home: Path | None, *flags: str) -> Iterator[Client]:
    """A started server for a folder, the handshake done. Without `home`, it gets the few variables that the SDK passes on."""
    environment = variables(home) if home else None
    command = StdioServerParameters(
        command=sys.executable, args=["-m", "codelens", "mcp", str(folder), *flags], env=environment
    )
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(stdio_client(command)) as streams,
        portal.wrap_async_context_manager(ClientSession(*streams)) as session,
    ):
        yield Client(portal, session, portal.call(session.initialize))


def copied(folder: Path) -> Path:
    """notes/ and shop/ below a folder."""
    for name in ("notes", "shop"):
        shutil.copytree(SAMPLES / name / "repo", folder / name)
    return folder


@pytest.fixture(scope="session")
def samples(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with notes/ and shop/ as two repositories of one index; tests do not change it."""
    folder = copied(tmp_path_factory.mktemp("served"))
    index = folder / ".codelens/index.db"
    assert main(["index", str(folder / "notes"), str(folder / "shop"), "--db", str(index), "-q", "--no-config"]) == 0
    return folder


@pytest.fixture(scope="session")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The shop alone, as one repository with its index; tests do not change it."""
    folder = tmp_path_factory.mktemp("one") / "shop"
    shutil.copytree(SAMPLES / "shop/repo", folder)
    assert main(["index", str(folder), "--db", str(folder / ".codelens/index.db"), "-q", "--no-config"]) == 0
    return folder


@pytest.fixture(scope="session")
def client(shop: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """A server of the shop that all tests may ask; it writes nothing."""
    with client_of(shop, tmp_path_factory.mktemp("home"), "--no-index", *EVERYTHING) as started:
        yield started


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    """A project without an index."""
    shutil.copytree(SAMPLES / "notes/repo", tmp_path / "project")
    return tmp_path / "project"


def patiently(client: Client, tool: str, **arguments: Any) -> CallToolResult:
    """Calls until it does not fail: an index is being made meanwhile."""
    for _ in range(60):
        result = client.call(tool, **arguments)
        if not result.isError:
            return result
        assert any(sign in text_of(result) for sign in ("being made", "being built", " yet")), text_of(result)
        client.portal.call(anyio.sleep, 0.2)
    raise AssertionError(text_of(result))
