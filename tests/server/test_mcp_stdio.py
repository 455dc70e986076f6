"""The process: what it writes to its pipes, how it begins and ends, what it does about an index that is not there or stale."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp.server.lowlevel import Server
from mcp.shared.memory import create_client_server_memory_streams
from mcp.shared.message import SessionMessage
from mcp.shared.version import SUPPORTED_PROTOCOL_VERSIONS
from mcp.types import JSONRPCMessage

from codelens.cli.main import main
from codelens.config import Settings
from codelens.errors import format_install_command
from codelens.model.budget import CANCELLED
from codelens.server.mcp.door import PURPOSES, VERSIONS, SessionStart, answer_handshake
from codelens.server.mcp.sdk import ToolDesk, make_mcp_server, serve_pipes
from codelens.server.mcp.tool import Tool, ToolAnswer, ToolCall
from codelens.server.mcp.tools import TOOLS
from codelens.server.upkeep import ServedIndex, Upkeep
from codelens.store.connection import hold_writer_lock
from codelens.worktree.place import BUILDING, IGNORE
from tests.server.conftest import EVERYTHING, Client, client_of, patiently, text_of, variables
from tests.writable import writable

PATIENCE = 60  # Seconds until a server that hangs fails a test
Message = dict[str, Any]
Send = Callable[[Message], Awaitable[None]]
Read = Callable[[], Awaitable[Message]]


def request(number: int | str, method: str, **params: Any) -> Message:
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}


def hello(version: str = "2025-06-18", number: int | str = 0) -> Message:
    client = {"name": "test", "version": "1"}
    return request(number, "initialize", protocolVersion=version, capabilities={}, clientInfo=client)


class Pipes:
    """A started server, spoken to line by line."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process

    def send(self, *messages: Message) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write("".join(json.dumps(m) + "\n" for m in messages).encode())
        self.process.stdin.flush()

    def read(self) -> Message:
        """The next line, which must be a message."""
        assert self.process.stdout is not None
        found = json.loads(self.process.stdout.readline())
        assert found["jsonrpc"] == "2.0"
        return dict(found)


@contextmanager
def pipes(folder: Path, home: Path, *flags: str) -> Iterator[Pipes]:
    with subprocess.Popen(
        [sys.executable, "-m", "codelens", "mcp", str(folder), *flags],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=variables(home),
    ) as process:
        try:
            yield Pipes(process)
        finally:
            process.kill()


def ended(server: Pipes) -> tuple[int, bytes, bytes]:
    """Exit code and what is left in both pipes."""
    out, err = server.process.communicate(timeout=60)
    return server.process.returncode, out, err


# The handshake


@asynccontextmanager
async def spoken_to(server: Server[Any, Any]) -> AsyncIterator[tuple[Send, Read]]:
    """The SDK's own session in this process: what sends it a message, and what reads its next one."""
    async with create_client_server_memory_streams() as (ours, theirs), anyio.create_task_group() as group:
        group.start_soon(server.run, *theirs, server.create_initialization_options())

        async def send(message: Message) -> None:
            await ours[1].send(SessionMessage(JSONRPCMessage.model_validate(message)))

        async def read() -> Message:
            answer = await ours[0].receive()
            assert isinstance(answer, SessionMessage)
            return dict(answer.message.model_dump(by_alias=True, exclude_none=True))

        yield send, read
        group.cancel_scope.cancel()


async def asked_of_the_sdk(server: Server[Any, Any], message: Message) -> Message:
    """The answer of the SDK's own session to a first message."""
    async with spoken_to(server) as (send, read):
        await send(message)
        return await read()


@pytest.mark.parametrize("version", [*SUPPORTED_PROTOCOL_VERSIONS, "1999-01-01"])
def test_the_early_handshake_equals_that_of_the_sdk(version: str, shop: Path) -> None:
    served = ServedIndex(shop, shop / ".codelens/index.db", Settings())
    line = hello(version, "first")
    wanted = anyio.run(asked_of_the_sdk, make_mcp_server(ToolDesk(served, Upkeep(served, "a test"), TOOLS)), line)
    said = answer_handshake(json.dumps(line).encode(), list(PURPOSES))
    assert said is not None
    assert json.loads(said) == wanted


def test_the_early_handshake_knows_the_versions_of_the_sdk() -> None:
    assert list(VERSIONS) == SUPPORTED_PROTOCOL_VERSIONS


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"\n",
        b"{",
        b"[" * 100_000,
        b"null",
        json.dumps(request(1, "ping")).encode(),
        json.dumps(hello() | {"id": None}).encode(),
        json.dumps(hello() | {"id": True}).encode(),
        json.dumps(hello() | {"jsonrpc": "1.0"}).encode(),
        json.dumps(request(1, "initialize", protocolVersion=3, capabilities={}, clientInfo={})).encode(),
        json.dumps(request(1, "initialize")).encode(),
    ],
)
def test_lines_other_than_a_handshake_are_left_to_the_sdk(line: bytes) -> None:
    assert answer_handshake(line, list(PURPOSES)) is None


def test_a_first_line_that_is_no_handshake_is_answered_too(shop: Path, tmp_path: Path) -> None:
    with pipes(shop, tmp_path, "--no-index") as server:
        server.send(request(7, "ping"))
        assert server.read() == {"jsonrpc": "2.0", "id": 7, "result": {}}
        server.send(request(8, "tools/list"))
        assert "error" in server.read()
        server.send(hello())
        assert server.read()["result"]["serverInfo"]["name"] == "codelens"


@pytest.mark.slow
def test_calls_that_come_with_the_handshake_are_answered(shop: Path, tmp_path: Path) -> None:
    with pipes(shop, tmp_path, "--no-index") as server:
        call = request(2, "tools/call", name="search", arguments={"query": "Calculate", "limit": 1})
        server.send(hello(), {"jsonrpc": "2.0", "method": "notifications/initialized"}, request(1, "tools/list"), call)
        answers = {found["id"]: found for found in (server.read(), server.read(), server.read())}
        assert answers[0]["result"]["protocolVersion"] == "2025-06-18"
        assert len(answers[1]["result"]["tools"]) == 4
        assert "function Calculate" in answers[2]["result"]["content"][0]["text"]
        assert "structuredContent" not in answers[2]["result"]


# Its end


@pytest.mark.slow
def test_the_server_ends_when_stdin_does(shop: Path, tmp_path: Path) -> None:
    with pipes(shop, tmp_path, "--no-index") as server:
        server.send(hello(), request(1, "tools/call", name="status", arguments={}))
        assert {server.read()["id"], server.read()["id"]} == {0, 1}
        assert ended(server) == (0, b"", b"")


def test_the_server_ends_if_stdin_is_empty(shop: Path, tmp_path: Path) -> None:
    with pipes(shop, tmp_path) as server:
        assert ended(server) == (0, b"", b"")


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="signals as POSIX has them")
@pytest.mark.parametrize("before", [[], [hello()], [hello(), request(1, "tools/call", name="status", arguments={})]])
def test_an_interrupt_ends_it_quietly(before: list[Message], shop: Path, tmp_path: Path) -> None:
    with pipes(shop, tmp_path, "--no-index") as server:
        server.send(*before)
        for _ in before:
            server.read()
        if not before:
            server.send(hello())  # else it may not have begun to listen
            server.read()
        server.process.send_signal(signal.SIGINT)
        assert server.process.wait(60) == 0
        assert ended(server) == (0, b"", b"")


# Cancelled calls


READY = {"jsonrpc": "2.0", "method": "notifications/initialized"}
WRONG = {"name": "read", "arguments": {"target": {}}}


def cancel(number: Any) -> Message:
    return {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": number}}


class WaitingTool:
    """A tool that answers when it may, or when nobody waits for it any more."""

    def __init__(self) -> None:
        self.begun, self.abandoned = threading.Event(), threading.Event()
        self.tool = Tool("wait", "Wait", "Answers late.", {}, {}, self._answer)

    def _answer(self, _: ToolCall) -> ToolAnswer:
        self.begun.set()
        cancelled = CANCELLED.get()
        if cancelled and cancelled.wait(PATIENCE):
            self.abandoned.set()
        return ToolAnswer("too late", {})


def make_waiting_server(shop: Path) -> tuple[Server[Any, Any], WaitingTool]:
    waiting, served = WaitingTool(), ServedIndex(shop, shop / ".codelens/index.db", Settings())
    desk = ToolDesk(served, Upkeep(served, "a test"), {**TOOLS, "wait": waiting.tool})
    return make_mcp_server(desk), waiting


def test_a_cancelled_call_is_given_up_and_the_next_one_answered(shop: Path) -> None:
    server, waiting = make_waiting_server(shop)

    async def talk() -> list[Message]:
        async with spoken_to(server) as (send, read):
            await send(hello())
            answers = [await read()]
            await send(READY)
            await send(request(1, "tools/call", name="wait", arguments={}))
            assert await anyio.to_thread.run_sync(waiting.begun.wait, PATIENCE)
            await send(cancel(1))
            answers.append(await read())
            assert await anyio.to_thread.run_sync(waiting.abandoned.wait, PATIENCE)
            await send(request(2, "tools/call", name="status", arguments={}))
            answers.append(await read())
        return answers

    answers = anyio.run(talk)
    assert [one["id"] for one in answers] == [0, 1, 2]
    assert "cancel" in answers[1]["error"]["message"]
    assert answers[2]["result"]["structuredContent"]["ready"] is True


def test_an_answer_that_is_being_sent_cannot_be_cancelled(shop: Path) -> None:
    """The SDK would end the session here: its scope has the write of the answer inside."""
    server, _ = make_waiting_server(shop)

    async def talk() -> list[Message]:
        async with create_client_server_memory_streams() as (ours, theirs), anyio.create_task_group() as group:
            group.start_soon(server.run, *theirs, server.create_initialization_options())
            numbers = range(4)
            for message in (hello(), READY, *(request(n, "tools/call", **WRONG) for n in numbers[1:])):
                await ours[1].send(SessionMessage(JSONRPCMessage.model_validate(message)))
            while (
                ours[0].statistics().tasks_waiting_send < 3
            ):  # all answers wait for a reader, but one that is buffered
                await anyio.sleep(0.01)
            for number in numbers:
                await ours[1].send(SessionMessage(JSONRPCMessage.model_validate(cancel(number))))
            await ours[1].send(SessionMessage(JSONRPCMessage.model_validate(request(9, "ping"))))
            answers = [await ours[0].receive() for _ in (*numbers, 9)]
            group.cancel_scope.cancel()
        return [dict(one.message.model_dump()) for one in answers if isinstance(one, SessionMessage)]

    answers = anyio.run(talk)
    assert {one["id"]: "result" in one for one in answers} == {0: True, 1: True, 2: True, 3: True, 9: True}


CANCELLATIONS: list[tuple[list[Message], set[int | str]]] = [
    ([request(1, "tools/call", **WRONG), cancel(1)], {1}),  # before the call begins, or while it is checked
    ([request(1, "tools/call", name="wait", arguments={}), cancel(1), cancel(1)], {1}),
    ([cancel(1), request(1, "tools/call", **WRONG)], {1}),  # the cancellation of an id that is not in use
    ([request(1, "tools/list"), cancel(1), request(2, "ping"), cancel(2)], {1, 2}),
    ([cancel(0), cancel("never"), cancel(10**30), cancel("x" * 10_000)], set()),  # 0 is the handshake
    ([cancel(value) for value in (None, [], [[1]], {}, {"a": 1}, True, 1.5, -1)], set()),
    ([cancel(1) | {"params": value} for value in (None, {})], set()),
    ([request("a", "tools/call", **WRONG), cancel("a"), request("a", "ping")], {"a"}),
    ([request(1, "tools/call", name="wait", arguments={}), request("1", "ping"), cancel("1"), cancel(1)], {1, "1"}),
    ([request(1, "tools/call", name="none"), cancel(1), request(2, "nothing"), cancel(2)], {1, 2}),
    ([request(1, "tools/call", **WRONG | {"name": 3}), cancel(1), request(1, "tools/call", **WRONG)], {1}),
]


@pytest.mark.parametrize("number", range(len(CANCELLATIONS)))
def test_every_request_is_answered_whenever_it_is_cancelled(number: int, shop: Path) -> None:
    server, _ = make_waiting_server(shop)
    messages, asked = CANCELLATIONS[number]
    total = sum("id" in message for message in messages)

    async def talk() -> list[Message]:
        async with spoken_to(server) as (send, read), anyio.create_task_group() as group:
            await send(hello())
            await read()

            async def send_all() -> None:
                for message in (READY, *messages, request("last", "ping")):
                    await send(message)

            group.start_soon(send_all)
            return [await read() for _ in range(total + 1)]

    answers = anyio.run(talk)
    assert {one["id"] for one in answers} == asked | {"last"}


def test_two_calls_with_one_id_are_both_answered(shop: Path) -> None:
    """An id must not be used twice; a cancellation then means the later call."""
    server, waiting = make_waiting_server(shop)

    async def talk() -> list[Message]:
        async with spoken_to(server) as (send, read):
            await send(hello())
            await read()
            for message in (
                READY,
                request(1, "tools/call", **WRONG),
                request(1, "tools/call", name="wait", arguments={}),
            ):
                await send(message)
            answers = [await read()]
            assert await anyio.to_thread.run_sync(waiting.begun.wait, PATIENCE)
            await send(cancel(1))
            answers.append(await read())
            await send(request(1, "ping"))
            answers.append(await read())
        return answers

    wrong, cancelled, free = anyio.run(talk)
    assert wrong["result"]["isError"] is True
    assert "cancel" in cancelled["error"]["message"]
    assert free["result"] == {}


@pytest.mark.slow
def test_calls_that_are_cancelled_at_once_do_not_end_the_server(shop: Path, tmp_path: Path) -> None:
    with pipes(shop, tmp_path, "--no-index") as server:
        server.send(hello(), READY)
        for number in range(1, 101):
            server.send(request(number, "tools/call", **WRONG), cancel(number))
        server.send(request("last", "ping"))
        answers = [server.read() for _ in range(102)]
        assert {one["id"] for one in answers} == {*range(101), "last"}
        assert ended(server) == (0, b"", b"")


@pytest.mark.parametrize("lines", [b"{\n" * 5, b"\xff\n" * 5, b'{"jsonrpc": "2.0", "id": null}\n' * 5])
def test_the_server_ends_when_stdin_does_after_lines_that_are_no_messages(lines: bytes, shop: Path) -> None:
    """The SDK tells a client about each such line, also one that has gone."""
    served = ServedIndex(shop, shop / ".codelens/index.db", Settings())
    with Path(os.devnull).open("wb") as out:
        serve_pipes(ToolDesk(served, Upkeep(served, "a test")), BytesIO(lines), SessionStart(out, b"", greeted=True))


@pytest.mark.slow
def test_the_server_ends_when_stdin_does_while_calls_run(shop: Path, tmp_path: Path) -> None:
    with pipes(shop, tmp_path, "--no-index") as server:
        calls = [request(n, "tools/call", name="search", arguments={"query": "order"}) for n in range(1, 30)]
        server.send(hello(), READY, *calls, cancel(7))
        code, _, err = ended(server)
        assert (code, err) == (0, b"")


# The index


def test_a_clean_environment_opens_what_a_shell_with_variables_of_its_own_made(
    bare: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.chdir(bare)
    assert main(["index", "-q"]) == 0
    with client_of(bare, None, "--no-index") as client:
        assert "login" in text_of(client.call("search", query="login"))

    with writable(bare / ".codelens/index.db") as connection:
        connection.execute("DELETE FROM meta WHERE key = 'mark'").fetchall()
    with client_of(bare, None, "--no-index") as client:
        assert f"it fits no key in {tmp_path}/home/.local/share/codelens" in client.fault("search", query="login")
    assert main(["index", "--trust"]) == 0
    with client_of(bare, None, "--no-index") as client:
        assert "login" in text_of(client.call("search", query="login"))


@pytest.mark.slow
def test_a_missing_index_is_made_meanwhile(bare: Path, tmp_path: Path) -> None:
    with client_of(bare, tmp_path, *EVERYTHING) as client:
        before = client.gives("status")
        assert before["ready"] or before["work"]["doing"] == "building"
        found = patiently(client, "search", query="hash_password", limit=1)
        assert "notes/auth.py" in text_of(found)
        assert (bare / ".codelens/.gitignore").read_text() == IGNORE


def test_with_no_index_nothing_is_written(bare: Path, tmp_path: Path) -> None:
    with client_of(bare, tmp_path, "--no-index", *EVERYTHING) as client:
        said = client.fault("search", query="x")
        assert said.startswith(
            f"error: there is no index of {bare}, and `codelens mcp --no-index` creates none\nhint: "
        )
        assert not client.gives("status")["ready"]
    assert not (bare / ".codelens").exists()


def test_a_home_folder_is_not_indexed(bare: Path) -> None:
    with client_of(bare, bare, *EVERYTHING) as client:  # whose home it is
        assert "is not a project" in client.fault("search", query="x")
    assert not (bare / ".codelens").exists()


@pytest.mark.slow
def test_an_index_that_another_process_makes_is_reported(bare: Path, tmp_path: Path) -> None:
    index = bare / ".codelens/index.db"
    index.parent.mkdir()
    index.with_name(index.name + BUILDING).touch()
    with hold_writer_lock(index):
        with client_of(bare, tmp_path, *EVERYTHING) as client:
            assert client.gives("status")["work"]["doing"] in ("building", "elsewhere")
            assert "the index is being built" in client.fault("search", query="hash_password")
        with client_of(bare, tmp_path, "--no-index", *EVERYTHING) as client:
            assert client.gives("status")["work"]["doing"] == "elsewhere"
    index.with_name(index.name + BUILDING).unlink()


@pytest.mark.slow
def test_an_edited_file_is_found_by_the_next_call(bare: Path, tmp_path: Path) -> None:
    with client_of(bare, tmp_path, *EVERYTHING) as client:
        patiently(client, "search", query="notes")
        (bare / "notes/brand_new.py").write_text("def polish_the_silverware():\n    return 1\n")
        (bare / "notes/auth.py").unlink()
        found = client.gives("search", query="polish_the_silverware", limit=1, fresh=True)
        assert found["results"][0]["path"] == "notes/brand_new.py"
        assert client.gives("search", query="path:notes/auth.py")["results"] == []


@pytest.mark.slow
def test_hits_of_changed_files_are_reported_if_nothing_may_be_written(bare: Path, tmp_path: Path) -> None:
    with client_of(bare, tmp_path, *EVERYTHING) as client:
        patiently(client, "search", query="notes")
    with client_of(bare, tmp_path, "--no-index", *EVERYTHING) as client:
        path = bare / "notes/auth.py"
        path.write_text("# moved\n" + path.read_text())
        found = client.gives("search", query="hash_password", limit=1, fresh=True)
        assert found["results"][0]["freshness"] == "changed"
        assert "changed since they were indexed" in " ".join(found["notices"])
        (changed,) = client.gives("status", check=True)["repositories"]
        assert changed["changed"] == ["notes/auth.py"]


def test_a_server_does_not_hold_what_a_writer_needs(shop: Path, client: Client) -> None:
    """At rest an index is one file: a reader left open would keep its log there."""
    client.gives("search", query="Calculate")
    index = shop / ".codelens/index.db"
    with hold_writer_lock(index):
        assert client.gives("search", query="Calculate")["results"]
    assert [path.name for path in index.parent.iterdir() if path.name.startswith("index.db")] == ["index.db"]


def test_a_damaged_index_is_a_fault_of_one_line(bare: Path, tmp_path: Path) -> None:
    index = bare / ".codelens/index.db"
    index.parent.mkdir()
    index.write_bytes(b"no database" * 1000)
    with client_of(bare, tmp_path, *EVERYTHING, "--no-index") as client:
        lines = client.fault("search", query="x").split("\n")
        assert len(lines) == 2
        assert "--rebuild" in lines[1]
    assert index.read_bytes() == b"no database" * 1000


# Others who speak the protocol


@pytest.mark.skipif(not shutil.which("mcp-inspector"), reason="the protocol's inspector is not installed")
def test_the_protocols_inspector_accepts_the_server(shop: Path, tmp_path: Path) -> None:
    settings = [f"-e={name}={value}" for name, value in variables(tmp_path).items()]
    server = [sys.executable, "-m", "codelens", "mcp", str(shop), "--no-index"]
    asked = ["--method", "tools/call", "--tool-name", "search", "--tool-arg", "query=Calculate", "limit=1"]
    ran = subprocess.run(
        ["mcp-inspector", "--cli", *settings, *server, *asked], capture_output=True, text=True, check=True
    )
    assert "function Calculate" in json.loads(ran.stdout)["content"][0]["text"]


# Its options


def test_without_the_package_one_line_says_what_to_install(
    shop: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "mcp", None)  # how Python says that there is none
    assert main(["mcp", str(shop)]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    error = "codelens: error: mcp needs mcp, which a default install does not include"
    assert said.err == f"{error}\nhint: {format_install_command('mcp')}\n"


def test_invalid_arguments_are_reported(shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["mcp", str(shop / "nowhere")]) == 2
    assert main(["mcp", str(shop), "--tools", "search,delete"]) == 2
    assert main(["mcp", str(shop), "--tools", ","]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert "no such folder" in said.err
    assert "no tool 'delete'\nhint: tools: search, read" in said.err
    assert "no tools\n" in said.err
