"""The server: pygls's protocol, with requests answered in threads, and the indexes of the workspace kept fresh meanwhile."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path
from threading import Event
from typing import Any, BinaryIO, cast

from lsprotocol import types
from pygls.capabilities import get_capability
from pygls.exceptions import FeatureRequestError, JsonRpcException, JsonRpcInvalidParams
from pygls.lsp.server import LanguageServer
from pygls.protocol import LanguageServerProtocol, default_converter, lsp_method

from codelens import __version__
from codelens.errors import CodelensError
from codelens.model.budget import OutOfTime
from codelens.server.lsp import hierarchies, navigation, outline
from codelens.server.lsp.buffers import Buffer
from codelens.server.lsp.commands import COMMANDS
from codelens.server.lsp.folders import UNREADABLE, Folders, LspRequest, Serve, WorkspaceFolder, path_from_uri
from codelens.server.mcp.door import stdout_alone

Answer = Callable[[LspRequest, Any], Any]
REQUESTS: tuple[tuple[str, str, Answer], ...] = (
    ("definition", types.TEXT_DOCUMENT_DEFINITION, navigation.find_definition),
    ("declaration", types.TEXT_DOCUMENT_DECLARATION, navigation.find_declaration),
    ("typeDefinition", types.TEXT_DOCUMENT_TYPE_DEFINITION, navigation.find_type_definition),
    ("implementation", types.TEXT_DOCUMENT_IMPLEMENTATION, navigation.find_implementation),
    ("references", types.TEXT_DOCUMENT_REFERENCES, navigation.find_references),
    ("hover", types.TEXT_DOCUMENT_HOVER, navigation.hover),
    ("documentHighlight", types.TEXT_DOCUMENT_DOCUMENT_HIGHLIGHT, navigation.find_highlights),
    ("rename", types.TEXT_DOCUMENT_RENAME, navigation.rename),
    ("rename", types.TEXT_DOCUMENT_PREPARE_RENAME, navigation.prepare_rename),
    ("documentSymbol", types.TEXT_DOCUMENT_DOCUMENT_SYMBOL, outline.find_symbols),
    ("workspaceSymbol", types.WORKSPACE_SYMBOL, outline.find_workspace_symbols),
    ("foldingRange", types.TEXT_DOCUMENT_FOLDING_RANGE, outline.find_folds),
    ("selectionRange", types.TEXT_DOCUMENT_SELECTION_RANGE, outline.find_selections),
    ("codeLens", types.TEXT_DOCUMENT_CODE_LENS, outline.find_lenses),
    ("callHierarchy", types.TEXT_DOCUMENT_PREPARE_CALL_HIERARCHY, hierarchies.prepare_calls),
    ("callHierarchy", types.CALL_HIERARCHY_INCOMING_CALLS, hierarchies.find_callers),
    ("callHierarchy", types.CALL_HIERARCHY_OUTGOING_CALLS, hierarchies.find_callees),
    ("typeHierarchy", types.TEXT_DOCUMENT_PREPARE_TYPE_HIERARCHY, hierarchies.prepare_types),
    ("typeHierarchy", types.TYPE_HIERARCHY_SUPERTYPES, hierarchies.find_supertypes),
    ("typeHierarchy", types.TYPE_HIERARCHY_SUBTYPES, hierarchies.find_subtypes),
)
"""(feature, as `features` of the client's options names it; method; answer)"""
COMMANDS_FEATURE = "executeCommand"
TICK_SECONDS = 0.2  # Time between two looks at what runs in the background
LOOK_SECONDS = 60.0  # Time after which the trees are looked at although the client reported no change
REQUEST_FAILED = -32803  # The protocol's code of a request that is valid and cannot be answered
LONGEST_SECONDS = 3600.0  # Time after which an update is no longer waited for
MOST_THREADS = 4
MOST_FOLDERS = 64  # Folders whose indexes are updated at a time
PATIENCE_SECONDS = 5.0  # Time that the client has to accept a progress bar


class Protocol(LanguageServerProtocol):
    """pygls's protocol with texts of our own, whose lines end at line feeds only, as everywhere in codelens."""

    _server: CodelensServer

    @property
    def is_shut_down(self) -> bool:
        """True after the request `shutdown`."""
        return self._shutdown

    def structure_message(self, data: Any) -> Any:
        """The message as an object. A request that fits no type is refused here: else nobody would answer it."""
        try:
            return super().structure_message(data)
        except JsonRpcException:
            if isinstance(data, dict) and "method" in data and isinstance(data.get("id"), int | str):
                self._send_response(data["id"], error=JsonRpcInvalidParams().to_response_error())
            raise

    @lsp_method(types.TEXT_DOCUMENT_DID_OPEN)
    def lsp_text_document__did_open(self, params: types.DidOpenTextDocumentParams) -> None:
        document = params.text_document
        path = path_from_uri(document.uri)
        self._server.buffers[path] = Buffer(path, document.text, self._server.encoding)

    @lsp_method(types.TEXT_DOCUMENT_DID_CHANGE)
    def lsp_text_document__did_change(self, params: types.DidChangeTextDocumentParams) -> None:
        path = path_from_uri(params.text_document.uri)
        before = self._server.buffers.get(path) or Buffer.read(path, self._server.encoding)
        self._server.buffers[path] = before.changed(params.content_changes)

    @lsp_method(types.TEXT_DOCUMENT_DID_CLOSE)
    def lsp_text_document__did_close(self, params: types.DidCloseTextDocumentParams) -> None:
        self._server.buffers.pop(path_from_uri(params.text_document.uri), None)


class CodelensServer(LanguageServer):
    """The state of one client's session. All of it but the readers is used by the thread of the event loop alone."""

    def __init__(self, serve: Serve) -> None:
        super().__init__("codelens", __version__, protocol_cls=Protocol, converter_factory=default_converter)
        self.buffers: dict[Path, Buffer] = {}
        self.folders, self._serve = Folders(), serve
        self.encoding = "utf-16"
        self.client_options = dict.fromkeys(("lens", "hierarchical", "markdown", "progress"), False)
        self._pool = ThreadPoolExecutor(MOST_THREADS, "codelens request")
        self._upkeep = ThreadPoolExecutor(MOST_FOLDERS, "codelens upkeep")  # its threads wait most of the time
        self._logged = set[str]()
        self.refreshing: asyncio.Task[None] | None = None

    def accept(self, capabilities: types.ClientCapabilities, given: Mapping[str, Any]) -> None:
        """Take over what the client can do and wants, and offer the requests that it wants."""
        can: Callable[[str], Any] = partial(get_capability, capabilities)
        self.client_options["hierarchical"] = bool(
            can("text_document.document_symbol.hierarchical_document_symbol_support")
        )
        self.client_options["markdown"] = types.MarkupKind.Markdown in (can("text_document.hover.content_format") or ())
        self.client_options["progress"] = bool(can("window.work_done_progress"))
        self.client_options["lens"] = given.get("codeLens") is True
        self.encoding = str(getattr(self.workspace.position_encoding, "value", self.workspace.position_encoding))
        every = [COMMANDS_FEATURE, *(feature for feature, *_ in REQUESTS)]
        wanted = given["features"] if isinstance(given.get("features"), list) else every
        for feature, method, answer in REQUESTS:
            if feature in wanted:
                self.feature(method)(self._answering(answer))
        for name, command in COMMANDS.items() if COMMANDS_FEATURE in wanted else ():
            self.command(name)(self._commanding(command))

    def add_folder(self, path: Path) -> None:
        """Add a folder; nothing happens if it is there already."""
        if path not in self.folders and path.is_dir():
            self.folders[path] = WorkspaceFolder(path, *self._serve(path))

    def _answering(self, answer: Answer) -> Callable[[Any], Awaitable[Any]]:
        async def handle(params: Any) -> Any:
            return await self.answer(answer, params)

        return handle

    def _commanding(self, command: Answer) -> Callable[..., Awaitable[Any]]:
        async def handle(*arguments: Any) -> Any:
            if len(arguments) != 1 or not isinstance(arguments[0], dict):
                raise JsonRpcInvalidParams("a command takes one argument, an object")
            return await self.answer(command, arguments[0])

        return handle

    async def configure(self, settings: Any) -> None:
        """Take over changed settings, or ask for them if the client only says that they have changed."""
        if not isinstance(settings, dict) and get_capability(self.client_capabilities, "workspace.configuration"):
            item = types.ConfigurationItem(section="codelens")
            found = await self.workspace_configuration_async(types.ConfigurationParams([item]))
            settings = found[0] if found else None
        given = settings.get("codelens", settings) if isinstance(settings, dict) else {}
        if isinstance(given, dict) and isinstance(given.get("codeLens"), bool):
            self.client_options["lens"] = given["codeLens"]
            if get_capability(self.client_capabilities, "workspace.code_lens.refresh_support"):
                await self.workspace_code_lens_refresh_async(None)

    async def answer(self, answer: Answer, params: Any) -> Any:
        """The answer of a request, found in a thread that gives up when the request is cancelled."""
        cancelled = Event()
        request = LspRequest(
            Folders(self.folders), dict(self.buffers), self.encoding, cancelled, dict(self.client_options)
        )
        try:
            return await asyncio.get_running_loop().run_in_executor(self._pool, answer, request, params)
        except asyncio.CancelledError:
            cancelled.set()
            raise
        except UNREADABLE as fault:
            self.log(str(fault))
            return None
        except OutOfTime:
            return None
        except CodelensError as fault:
            raise JsonRpcException(str(fault), REQUEST_FAILED) from None

    def log(self, text: str, kind: types.MessageType = types.MessageType.Log) -> None:
        """Write to the client's log, each text once until something else happens."""
        if text not in self._logged:
            self._logged.add(text)
            self.window_log_message(types.LogMessageParams(kind, text))

    def report_server_error(self, error: Exception, source: Any) -> None:
        """Write what answers no request to the client's log, without a message in the user's way."""
        if source is FeatureRequestError:
            return
        with suppress(Exception):
            self.window_log_message(types.LogMessageParams(types.MessageType.Error, f"{type(error).__name__}: {error}"))

    def end(self, code: int) -> None:
        """End at once: a thread may wait for stdin, which some clients leave open."""
        for folder in self.folders.values():
            folder.upkeep.close()
        os._exit(code)

    async def refresh_indexes(self) -> None:
        """Keep the indexes fresh; end if the client is gone."""
        looked, tasks = asyncio.get_running_loop().time(), dict[Path, asyncio.Task[None]]()
        while True:
            now = asyncio.get_running_loop().time()
            is_due, looked = now - looked > LOOK_SECONDS, now if now - looked > LOOK_SECONDS else looked
            for path, folder in self.folders.items():
                if (folder.is_stale or is_due) and (path not in tasks or tasks[path].done()):
                    tasks[path] = asyncio.create_task(self._refresh(folder))
            if self.process_id is not None and not _is_alive(self.process_id):
                self.end(1)
            await asyncio.sleep(TICK_SECONDS)

    async def _refresh(self, folder: WorkspaceFolder) -> None:
        """Bring one index up to date, and show the client how far that is."""
        is_reported, folder.is_stale = folder.is_stale, False
        pending = asyncio.get_running_loop().run_in_executor(self._upkeep, folder.upkeep.refresh, LONGEST_SECONDS)
        token, progress, last = f"codelens {folder.served.index}", self.work_done_progress, None
        while not (await asyncio.wait([pending], timeout=TICK_SECONDS))[0]:
            work = folder.upkeep.work()
            if not work.doing or not self.client_options["progress"] or work == last:
                continue
            if last is None:
                with suppress(Exception):  # a client that refuses has no token
                    await asyncio.wait_for(progress.create_async(token), PATIENCE_SECONDS)
                    progress.begin(token, types.WorkDoneProgressBegin(f"codelens: {work.doing} {folder.path.name}"))
            elif token in progress.tokens:
                share = 100 * work.done // work.total if work.total else None
                progress.report(token, types.WorkDoneProgressReport(message=work.text, percentage=share))
            last = work
        if progress.tokens.pop(token, None):
            progress.end(token, types.WorkDoneProgressEnd())
        if is_reported and not folder.upkeep.refused:
            fault = folder.upkeep.work().fault
            self._logged.clear()
            self.log(f"the index of {folder.path} {f'is not up to date: {fault}' if fault else 'is up to date'}")


def _is_alive(process: int) -> bool:
    if os.name == "nt":
        return True  # its input ends with it
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        pass
    return True


def create_server(serve: Serve) -> CodelensServer:
    """A server; `serve` finds the index of a folder."""
    server = CodelensServer(serve)

    @server.feature(types.INITIALIZE)
    def initialize(params: types.InitializeParams) -> None:
        given = params.initialization_options if isinstance(params.initialization_options, dict) else {}
        server.accept(params.capabilities, given)
        root = params.root_uri or (Path(params.root_path).as_uri() if params.root_path else "")
        for uri in [folder.uri for folder in params.workspace_folders or ()] or filter(None, [root]):
            server.add_folder(path_from_uri(uri))

    @server.feature(types.INITIALIZED)
    async def begin(params: types.InitializedParams) -> None:
        server.refreshing = asyncio.create_task(server.refresh_indexes())
        if get_capability(server.client_capabilities, "workspace.did_change_watched_files.dynamic_registration"):
            options = types.DidChangeWatchedFilesRegistrationOptions([types.FileSystemWatcher("**/*")])
            method = types.WORKSPACE_DID_CHANGE_WATCHED_FILES
            registration = types.Registration("codelens-files", method, options)
            await server.client_register_capability_async(types.RegistrationParams([registration]))

    @server.feature(types.WORKSPACE_DID_CHANGE_CONFIGURATION)
    async def configure(params: types.DidChangeConfigurationParams) -> None:
        await server.configure(params.settings)

    @server.feature(types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS)
    def change_folders(params: types.DidChangeWorkspaceFoldersParams) -> None:
        for folder in params.event.removed:
            if (removed := server.folders.pop(path_from_uri(folder.uri), None)) is not None:
                removed.upkeep.close()
        for folder in params.event.added:
            server.add_folder(path_from_uri(folder.uri))

    @server.feature(types.TEXT_DOCUMENT_DID_SAVE)
    @server.feature(types.WORKSPACE_DID_CHANGE_WATCHED_FILES)
    def look(params: types.DidSaveTextDocumentParams | types.DidChangeWatchedFilesParams) -> None:
        for folder in server.folders.values():
            folder.is_stale = True

    @server.feature(types.SHUTDOWN)
    def shut_down(params: None) -> None:
        for folder in server.folders.values():
            folder.upkeep.close()

    @server.feature(types.EXIT)
    def leave(params: None) -> None:
        server.end(0 if cast(Protocol, server.protocol).is_shut_down else 1)

    return server


def serve_stdio(serve: Serve, debug: bool) -> None:
    """Serve one client on stdin and stdout until it leaves."""
    stdout = stdout_alone()
    logging.basicConfig(level=logging.DEBUG if debug else logging.CRITICAL)
    server = create_server(serve)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: server.end(0))
    try:
        server.start_io(cast(BinaryIO, sys.stdin.buffer), cast(BinaryIO, stdout))
    finally:
        server.end(0)
