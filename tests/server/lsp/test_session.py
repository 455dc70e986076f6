"""The session as a whole: background work, folders, settings, cancellation, its end, and messages that make no sense."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import subprocess
import threading
import time
from pathlib import Path
from typing import Any

import psutil
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from codelens.cli.main import main
from codelens.config import Settings
from codelens.model.budget import CANCELLED
from codelens.server.lsp.server import COMMANDS_FEATURE, REQUESTS, CodelensServer
from codelens.server.lsp.workspace import LspRequest, WorkspaceFolder
from codelens.server.upkeep import ServedIndex, Upkeep
from tests.server.lsp.client import PATIENCE, LspClient, RequestError, find, lsp_server, places
from tests.server.lsp.conftest import FILES, write_project

REPORT = "geometry/report.py"
PROGRESS = "$/progress"


def definition(client: LspClient, root: Path, name: str = "make_square(side)") -> Any:
    return client.at("definition", root / REPORT, *find((root / REPORT).read_text("utf-8"), name))


# Background work


def test_a_missing_index_is_built_while_requests_are_answered(tmp_path: Path) -> None:
    root = write_project(tmp_path / "project")
    with lsp_server(tmp_path) as client:
        client.initialize(root)
        client.open(root / REPORT)
        symbols = client.ask("textDocument/documentSymbol", {"textDocument": {"uri": (root / REPORT).as_uri()}})
        assert [one["name"] for one in symbols] == ["describe", "report", "close"]  # needs no index
        definition(client, root)  # empty, or found: whichever is faster
        client.await_notification("window/logMessage", "is up to date")
        assert places(definition(client, root), root) == [("geometry/shapes.py", 26)]
        assert (
            client.await_notification(PROGRESS, '"begin"')["params"]["value"]["title"] == "codelens: building project"
        )
        client.await_notification(PROGRESS, '"end"')
        assert (root / ".codelens/.gitignore").is_file()


def test_without_an_index_answers_are_empty(tmp_path: Path) -> None:
    root = write_project(tmp_path / "project")
    with lsp_server(tmp_path, "--no-index") as client:
        client.initialize(root)
        client.open(root / REPORT)
        assert definition(client, root) is None
        assert "no index" in client.await_notification("window/logMessage")["params"]["message"]
        assert client.ask("workspace/symbol", {"query": "report"}) == []
        assert not (root / ".codelens").exists()


@pytest.mark.slow
def test_a_saved_file_is_indexed(tmp_path: Path) -> None:
    root = write_project(tmp_path / "project")
    with lsp_server(tmp_path) as client:
        client.initialize(root)
        client.await_notification("window/logMessage", "is up to date")
        added = root / "geometry/shapes.py"
        added.write_text(FILES["geometry/shapes.py"] + "\n\ndef make_circle() -> None:\n    pass\n")
        client.notifications.clear()
        client.notify("textDocument/didSave", {"textDocument": {"uri": added.as_uri()}})
        client.await_notification("window/logMessage", "is up to date")
        assert client.ask("workspace/symbol", {"query": "make_circle"})[0]["name"] == "make_circle"
        (root / "other.py").write_text("def make_line() -> None:\n    pass\n")  # by another program
        client.notifications.clear()
        assert "client/registerCapability" in [one["method"] for one in client.asked]
        change = {"uri": (root / "other.py").as_uri(), "type": 1}
        client.notify("workspace/didChangeWatchedFiles", {"changes": [change]})
        client.await_notification("window/logMessage", "is up to date")
        assert client.ask("workspace/symbol", {"query": "make_line"})[0]["name"] == "make_line"


def test_changes_are_found_without_a_report_of_the_client(tmp_path: Path) -> None:
    root = write_project(tmp_path / "project")
    with lsp_server(tmp_path, look_seconds=0.1) as client:
        client.initialize(root)
        client.await_notification("window/logMessage", "is up to date")
        (root / "other.py").write_text("def make_line() -> None:\n    pass\n")  # a checkout, say
        deadline = time.monotonic() + PATIENCE
        while [one["name"] for one in client.ask("workspace/symbol", {"query": "make_line"})][:1] != ["make_line"]:
            assert time.monotonic() < deadline
            time.sleep(0.1)


@pytest.mark.slow
def test_an_index_copied_from_elsewhere_is_not_read(project: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(project, copy)
    with lsp_server(tmp_path, "--no-index") as client:
        client.initialize(copy)
        client.open(copy / REPORT)
        assert definition(client, copy) is None
        assert "moved or copied here" in client.await_notification("window/logMessage")["params"]["message"]
        assert client.ask("workspace/symbol", {"query": "report"}) == []


def test_an_open_text_never_gets_into_the_index(project: Path, client: LspClient) -> None:
    before = (project / ".codelens/index.db").read_bytes()
    client.open(project / REPORT, "def other(): pass\n")
    client.at("references", project / REPORT, 0, 4, context={"includeDeclaration": True})
    client.close(project / REPORT)
    assert (project / ".codelens/index.db").read_bytes() == before


# Folders


def test_several_folders_are_served_and_may_come_and_go(project: Path, tmp_path: Path) -> None:
    second = write_project(tmp_path / "second")
    assert main(["index", str(second), "--db", str(second / ".codelens/index.db"), "-q", "--no-config"]) == 0
    with lsp_server(tmp_path, "--no-index") as client:
        client.initialize(project, second)
        for root in (project, second):
            client.open(root / REPORT)
            assert places(definition(client, root), root) == [("geometry/shapes.py", 26)]
        symbols = client.ask("workspace/symbol", {"query": "make_square"})
        assert {one["location"]["uri"] for one in symbols[:2]} == {
            (root / "geometry/shapes.py").as_uri() for root in (project, second)
        }
        folder = {"uri": second.as_uri(), "name": "second"}
        client.notify("workspace/didChangeWorkspaceFolders", {"event": {"added": [], "removed": [folder]}})
        assert definition(client, second) is None
        client.notify("workspace/didChangeWorkspaceFolders", {"event": {"added": [folder], "removed": []}})
        assert places(definition(client, second), second) == [("geometry/shapes.py", 26)]


@pytest.mark.slow
def test_uris_lie_below_a_folder_that_is_a_link(project: Path, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(project)
    with lsp_server(tmp_path, "--no-index") as client:
        client.initialize(link)
        client.open(link / REPORT)
        assert places(definition(client, link), link) == [("geometry/shapes.py", 26)]
        given = {"query": "report", "uri": (link / REPORT).as_uri(), "position": {"line": 10, "character": 4}}
        assert client.ask("workspace/executeCommand", {"command": "codelens.why", "arguments": [given]})["explanations"]


@pytest.mark.slow
def test_a_folder_below_the_root_of_the_repository_is_served(project: Path, tmp_path: Path) -> None:
    with lsp_server(tmp_path, "--no-index") as client:
        client.initialize(project / "geometry")
        client.open(project / REPORT)
        assert places(definition(client, project), project) == [("geometry/shapes.py", 26)]
        line = {"line": 6, "character": 0}
        given = {"uri": (project / REPORT).as_uri(), "range": {"start": line, "end": line}}
        answer = client.ask("workspace/executeCommand", {"command": "codelens.context", "arguments": [given]})
        assert "def describe" in answer["text"]


def test_a_file_outside_of_all_folders_has_symbols_only(client: LspClient, tmp_path: Path) -> None:
    path = tmp_path / "lone.py"
    path.write_text("def alone(): pass\n")
    client.open(path)
    assert client.at("definition", path, 0, 5) is None
    document = {"textDocument": {"uri": path.as_uri()}}
    assert client.ask("textDocument/documentSymbol", document)[0]["name"] == "alone"
    untitled = {"textDocument": {"uri": "untitled:Untitled-1.py"}}
    assert client.ask("textDocument/documentSymbol", untitled) == []
    client.close(path)


# Settings


def test_only_the_features_that_are_asked_for_are_offered(project: Path, tmp_path: Path) -> None:
    with lsp_server(tmp_path, "--no-index") as client:
        offered = client.initialize(project, options={"features": ["workspaceSymbol", "hover"]})
        assert {name for name in offered if name.endswith("Provider")} == {
            "workspaceSymbolProvider",
            "hoverProvider",
            "executeCommandProvider",
        }
        assert offered["executeCommandProvider"]["commands"] == []
        assert client.ask("workspace/symbol", {"query": "report"})
        with pytest.raises(RequestError):
            client.at("definition", project / REPORT, 0, 0)


def test_the_manual_names_every_feature() -> None:
    page = (Path(__file__).parents[3] / "docs/editors.md").read_text("utf-8")
    assert not [
        name for name in {COMMANDS_FEATURE, *(feature for feature, _ in REQUESTS.values())} if f"`{name}`" not in page
    ]


# Cancellation


def test_the_thread_of_a_cancelled_request_ends() -> None:
    server = CodelensServer(lambda folder: (served := ServedIndex(folder, folder, Settings()), Upkeep(served)))
    begun, ended = threading.Event(), threading.Event()

    def wait(request: LspRequest, params: Any) -> None:
        begun.set()
        cancelled = CANCELLED.get()
        assert cancelled and cancelled.wait(PATIENCE)
        ended.set()

    async def cancel() -> None:
        task = asyncio.create_task(server.answer(wait, None))
        await asyncio.get_running_loop().run_in_executor(None, begun.wait, PATIENCE)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await asyncio.get_running_loop().run_in_executor(None, ended.wait, PATIENCE)

    asyncio.run(cancel())


def test_queries_of_a_cancelled_request_end(project: Path) -> None:
    served = ServedIndex(project, project / ".codelens/index.db", Settings())
    folder, cancelled = WorkspaceFolder(project, served, Upkeep(served, "a test")), threading.Event()
    token = CANCELLED.set(cancelled)
    try:
        with (
            folder.open_reader(LspRequest({project: folder}, {}, "utf-8", {})) as reader,
            reader.limit_time(3600),
        ):
            assert not reader.budget.is_over()
            cancelled.set()
            assert reader.budget.is_over()
    finally:
        CANCELLED.reset(token)


def test_requests_after_a_cancelled_one_are_answered(client: LspClient, project: Path) -> None:
    client.open(project / REPORT)
    position = {"textDocument": {"uri": (project / REPORT).as_uri()}, "position": {"line": 5, "character": 5}}
    numbers = [
        client.begin("textDocument/references", {**position, "context": {"includeDeclaration": True}}) for _ in range(9)
    ]
    for number in (*numbers, 12345, "never"):
        client.notify("$/cancelRequest", {"id": number})
    for number in numbers:
        try:
            client.end(number)
        except RequestError as fault:
            assert fault.code == -32800
    assert client.at("hover", project / REPORT, 5, 5)
    client.close(project / REPORT)


# The end


def list_children(process: subprocess.Popen[bytes]) -> list[psutil.Process]:
    family: list[psutil.Process] = psutil.Process(process.pid).children(recursive=True)
    return family


@pytest.mark.slow
@pytest.mark.parametrize("way", ["exit", "eof", "signal", "early exit"])
def test_no_process_is_left_after_the_session(way: str, tmp_path: Path) -> None:
    root = write_project(tmp_path / "project")
    with lsp_server(tmp_path) as client:
        client.initialize(root)
        client.await_notification(PROGRESS, '"begin"')  # the index is being built
        family = list_children(client.process)
        if way == "exit":
            assert client.ask("shutdown") is None
            with pytest.raises(RequestError, match="Invalid Request"):
                client.ask("workspace/symbol", {"query": "x"})
        if way.endswith("exit"):
            client.notify("exit")
        elif way == "eof":
            assert client.process.stdin is not None
            client.process.stdin.close()
        else:
            client.process.send_signal(signal.SIGTERM)
        assert client.process.wait(PATIENCE) == (1 if way == "early exit" else 0)
        _, alive = psutil.wait_procs(family, PATIENCE)
        assert not alive
        assert client.process.stderr is not None
        assert client.process.stderr.read() == b""


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="the input of the server ends with its client there")
def test_the_server_ends_when_its_client_has_ended(tmp_path: Path) -> None:
    gone = subprocess.Popen(["true"])
    gone.wait()
    with lsp_server(tmp_path, "--no-index") as client:
        client.ask("initialize", {"processId": gone.pid, "rootUri": None, "capabilities": {}})
        client.notify("initialized", {})
        assert client.process.wait(PATIENCE) == 1


# Messages that make no sense


METHODS = st.sampled_from([*REQUESTS])
JUNK: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**40), 2**40) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["uri", "line", "textDocument", "position", "item", "query"]), inner, max_size=3
        )
    ),
    max_leaves=8,
)
POSITIONS = st.fixed_dictionaries({"line": st.integers(0, 2**31 - 1), "character": st.integers(0, 2**31 - 1)})


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(METHODS | st.sampled_from(["workspace/executeCommand", "codelens/nothing", "$/nothing", "initialize"]), JUNK)
def test_wrong_parameters_get_an_error_and_the_server_stays(client: LspClient, method: str, params: Any) -> None:
    try:
        client.ask(method, params)
    except RequestError as fault:
        assert fault.code < 0
    assert client.process.poll() is None


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(METHODS, POSITIONS, st.sampled_from([*FILES, "none.py", ".."]))
def test_any_position_is_answered_or_refused(
    client: LspClient, project: Path, method: str, position: Any, name: str
) -> None:
    where = {"textDocument": {"uri": (project / name).as_uri()}, "position": position}
    more = {"positions": [position], "context": {"includeDeclaration": True}, "newName": "other", "query": name}
    item = {"name": "x", "kind": 12, "uri": (project / name).as_uri(), "range": {"start": position, "end": position}}
    try:
        client.ask(method, {**where, **more, "item": {**item, "selectionRange": item["range"]}})
    except RequestError as fault:
        assert fault.code == -32803  # a rename that is refused


RAW = [
    b"{",
    b"null",
    b"[]",
    b"3",
    b"[" * 100_000,
    b'{"jsonrpc": "1.0", "id": 1, "method": "shutdown"}',
    b'{"id": 1, "method": "shutdown"}',
    b'{"jsonrpc": "2.0"}',
    b'{"jsonrpc": "2.0", "method": 7}',
    b'{"jsonrpc": "2.0", "id": "x", "result": {}}',
    b'{"jsonrpc": "2.0", "id": "x", "error": {"code": 1, "message": "m"}}',
    b'{"jsonrpc": "2.0", "method": "textDocument/didChange", "params": {"textDocument": {"uri": 3}}}',
    b'{"jsonrpc": "2.0", "method": "textDocument/didClose", "params": {"textDocument": {"uri": "file:///never"}}}',
    b"\xff\xfe",
]


def test_malformed_messages_do_not_end_the_server(project: Path, tmp_path: Path) -> None:
    with lsp_server(tmp_path, "--no-index") as client:
        with pytest.raises(RequestError):  # before the handshake
            client.at("hover", project / REPORT, 5, 5)
        client.open(project / REPORT)
        client.initialize(project)
        for body in RAW:
            client.write(body)
        client.write(b"", b"Content-Length: x\r\n\r\nContent-Type: nothing\r\n\r\n")
        assert client.at("hover", project / REPORT, 5, 5)
        assert client.process.poll() is None


@pytest.mark.slow
def test_a_huge_text_is_read(project: Path, tmp_path: Path) -> None:
    with lsp_server(tmp_path, "--no-index") as client:
        client.initialize(project)
        path = project / "huge.py"
        client.open(path, "def f(): return 'é🎉'\n" * 300_000)
        change = {"range": {"start": {"line": 9, "character": 4}, "end": {"line": 9, "character": 5}}, "text": "other"}
        document = {"uri": path.as_uri(), "version": 2}
        client.notify("textDocument/didChange", {"textDocument": document, "contentChanges": [change] * 100})
        client.ask("textDocument/documentSymbol", {"textDocument": {"uri": path.as_uri()}})
        client.at("definition", path, 9, 5)
        client.close(path)
        client.open(project / REPORT)
        assert client.at("hover", project / REPORT, 5, 5)
