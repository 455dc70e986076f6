"""The language server, on pygls. It answers requests in threads, and keeps the indexes of the workspace up to date."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from contextvars import copy_context
from functools import partial
from pathlib import Path
from threading import Event
from typing import Any, BinaryIO, cast

from lsprotocol import types
from pygls.capabilities import get_capability
from pygls.exceptions import FeatureRequestError, JsonRpcException, JsonRpcInvalidParams, JsonRpcInvalidRequest
from pygls.lsp.server import LanguageServer
from pygls.protocol import LanguageServerProtocol

from codelens import __version__
from codelens.errors import CodelensError
from codelens.model.budget import CANCELLED, OutOfTime
from codelens.server.lsp import answers
from codelens.server.lsp.workspace import UNREADABLE, LspRequest, NameInFile, SourceText, WorkspaceFolder, parse_uri
from codelens.server.mcp.door import take_stdout
from codelens.server.upkeep import ServedIndex, Upkeep

COMMANDS_FEATURE = "executeCommand"
TICK_SECONDS = 0.2  # Time between two checks of an update or of the client's process
REQUEST_FAILED = -32803  # The protocol's error code for a valid request that cannot be answered
LONGEST_SECONDS = 3600.0  # Most seconds to wait for an update
PATIENCE_SECONDS = 5.0  # Most seconds to wait until the client accepts a progress bar
LOOK_SECONDS = 60.0  # Seconds after which a tree is checked even if the client reported no change
MOST_THREADS = 5  # One thread reads messages, the others answer requests
Answer = Callable[[LspRequest, Any], Any]
Serve = Callable[[Path], tuple[ServedIndex, Upkeep]]  # Finds the index of a folder, and makes its upkeep


def answer_at_position(answer: Callable[[NameInFile, Any], Any], request: LspRequest, params: Any) -> Any:
    """Answer a request about the name at a position."""
    return request.answer_about_name(params.text_document.uri, params.position, lambda name: answer(name, params))


CALLS, TYPES = "callHierarchy", "typeHierarchy"
ABOUT_NAMES: Mapping[str, tuple[str, Callable[[NameInFile, Any], Any]]] = {
    types.TEXT_DOCUMENT_DEFINITION: ("definition", answers.find_definition),
    types.TEXT_DOCUMENT_DECLARATION: ("declaration", answers.find_declaration),
    types.TEXT_DOCUMENT_TYPE_DEFINITION: ("typeDefinition", answers.find_type_definition),
    types.TEXT_DOCUMENT_IMPLEMENTATION: ("implementation", answers.find_implementation),
    types.TEXT_DOCUMENT_REFERENCES: ("references", answers.find_references),
    types.TEXT_DOCUMENT_DOCUMENT_HIGHLIGHT: ("documentHighlight", answers.find_highlights),
    types.TEXT_DOCUMENT_HOVER: ("hover", answers.describe_name),
    types.TEXT_DOCUMENT_PREPARE_CALL_HIERARCHY: (CALLS, answers.prepare_items),
    types.TEXT_DOCUMENT_PREPARE_TYPE_HIERARCHY: (TYPES, answers.prepare_items),
    types.TEXT_DOCUMENT_PREPARE_RENAME: ("rename", answers.prepare_rename),
    types.TEXT_DOCUMENT_RENAME: ("rename", answers.rename_symbol),
}
REQUESTS: Mapping[str, tuple[str, Answer]] = {
    **{method: (feature, partial(answer_at_position, answer)) for method, (feature, answer) in ABOUT_NAMES.items()},
    types.CALL_HIERARCHY_INCOMING_CALLS: (CALLS, answers.find_related),
    types.CALL_HIERARCHY_OUTGOING_CALLS: (CALLS, answers.find_related),
    types.TYPE_HIERARCHY_SUPERTYPES: (TYPES, answers.find_related),
    types.TYPE_HIERARCHY_SUBTYPES: (TYPES, answers.find_related),
    types.TEXT_DOCUMENT_DOCUMENT_SYMBOL: ("documentSymbol", answers.find_symbols),
    types.WORKSPACE_SYMBOL: ("workspaceSymbol", answers.find_workspace_symbols),
    types.TEXT_DOCUMENT_FOLDING_RANGE: ("foldingRange", answers.find_folds),
    types.TEXT_DOCUMENT_SELECTION_RANGE: ("selectionRange", answers.find_selections),
    types.TEXT_DOCUMENT_CODE_LENS: ("codeLens", answers.find_lenses),
}
"""Method → (feature, as the client's option `features` names it; function that answers)."""


class Protocol(LanguageServerProtocol):
    """pygls's protocol, changed to answer every request."""

    def structure_message(self, data: Any) -> Any:
        """Parse a message. A request that fits no type gets an error response, which pygls would not send."""
        try:
            return super().structure_message(data)
        except JsonRpcException:
            if isinstance(data, dict) and "method" in data and isinstance(data.get("id"), int | str):
                self._send_response(data["id"], error=JsonRpcInvalidParams().to_response_error())
            raise

    def handle_message(self, message: Any) -> None:
        """Handle a message. A request after `shutdown` gets an error response, which pygls would not send."""
        if self._shutdown and hasattr(message, "id") and hasattr(message, "method"):
            self._send_response(message.id, error=JsonRpcInvalidRequest().to_response_error())
        else:
            super().handle_message(message)


class CodelensServer(LanguageServer):
    """The session of one client. Only the event loop's thread uses its state, except for the readers."""

    def __init__(self, serve: Serve) -> None:
        sync = types.TextDocumentSyncKind.Full
        super().__init__("codelens", __version__, sync, protocol_cls=Protocol, max_workers=MOST_THREADS)
        self.folders, self.texts, self._serve = dict[Path, WorkspaceFolder](), dict[Path, SourceText](), serve
        self.encoding, self.options = "utf-16", dict.fromkeys(("lens", "markdown"), False)
        self._tasks = dict[Path, asyncio.Task[None]]()
        self.ending: asyncio.Task[None] | None = None

    def make_handler(self, answer: Answer) -> Callable[..., Awaitable[Any]]:
        """Make the function that pygls calls for a request or command."""

        async def handle(*arguments: Any) -> Any:
            if len(arguments) != 1:
                raise JsonRpcInvalidParams("a command takes one argument, an object")
            return await self.answer(answer, arguments[0])

        return handle

    async def answer(self, answer: Answer, params: Any) -> Any:
        """Answer a request in a thread, which stops when the request is cancelled."""
        cancelled = Event()
        request = LspRequest(dict(self.folders), dict(self.texts), self.encoding, self.options)
        context = copy_context()
        context.run(CANCELLED.set, cancelled)
        work = partial(context.run, answer, request, params)
        try:
            return await asyncio.get_running_loop().run_in_executor(self.thread_pool, work)
        except asyncio.CancelledError:
            cancelled.set()
            raise
        except UNREADABLE as fault:
            self.write_log(str(fault))
        except OutOfTime:
            pass
        except CodelensError as fault:
            raise JsonRpcException(str(fault), REQUEST_FAILED) from None

    def write_log(self, text: str, kind: types.MessageType = types.MessageType.Log) -> None:
        """Write to the client's log."""
        self.window_log_message(types.LogMessageParams(kind, text))

    def report_server_error(self, error: Exception, source: Any) -> None:
        """Write an error that belongs to no request to the client's log, without a pop-up message."""
        if source is not FeatureRequestError:
            self.write_log(f"{type(error).__name__}: {error}", types.MessageType.Error)

    def update_folders(self) -> None:
        """Serve the folders that the client has now."""
        uris = [*self.workspace.folders] or filter(None, [self.workspace.root_uri])
        wanted = {path for path in map(parse_uri, uris) if path.is_dir()}
        for path in self.folders.keys() - wanted:
            self._tasks.pop(path).cancel()
            self.folders.pop(path).upkeep.close()
        for path in sorted(wanted - self.folders.keys()):
            self.folders[path] = folder = WorkspaceFolder(path, *self._serve(path))
            self._tasks[path] = asyncio.create_task(self._keep_fresh(folder))

    async def end_with_client(self) -> None:
        """Exit when the client's process has ended, because other processes may keep stdin open."""
        while self.process_id is not None and os.name != "nt":  # on Windows stdin closes with the client
            await asyncio.sleep(TICK_SECONDS)
            try:
                os.kill(self.process_id, 0)
            except ProcessLookupError:
                os._exit(1)
            except OSError:
                pass

    async def _keep_fresh(self, folder: WorkspaceFolder) -> None:
        """Update an index whenever files may have changed, and show the progress in the client."""
        while True:
            with suppress(TimeoutError):
                await asyncio.wait_for(folder.changed.wait(), LOOK_SECONDS)
            is_reported = folder.changed.is_set()
            folder.changed.clear()
            update = asyncio.create_task(asyncio.to_thread(folder.upkeep.refresh, LONGEST_SECONDS))
            if get_capability(self.client_capabilities, "window.work_done_progress"):
                with suppress(JsonRpcException, TimeoutError):  # the client refuses to show it
                    await self._show_progress(folder, update)
            await update
            if is_reported and not folder.upkeep.refused:
                fault = folder.upkeep.describe_work().fault
                self.write_log(
                    f"the index of {folder.path} {f'is not up to date: {fault}' if fault else 'is up to date'}"
                )

    async def _show_progress(self, folder: WorkspaceFolder, update: asyncio.Task[bool]) -> None:
        token, progress = f"codelens {folder.served.index}", self.work_done_progress
        while not (await asyncio.wait([update], timeout=TICK_SECONDS))[0]:
            work = folder.upkeep.describe_work()
            if work.doing and token not in progress.tokens:
                await asyncio.wait_for(progress.create_async(token), PATIENCE_SECONDS)
                progress.begin(token, types.WorkDoneProgressBegin(f"codelens: {work.doing} {folder.path.name}"))
            elif work.doing:
                share = 100 * work.done // work.total if work.total else None
                progress.report(token, types.WorkDoneProgressReport(message=work.text, percentage=share))
        if progress.tokens.pop(token, None):
            progress.end(token, types.WorkDoneProgressEnd())


def create_server(serve: Serve) -> CodelensServer:
    """Make a server; `serve` finds the index of a folder."""
    server = CodelensServer(serve)

    @server.feature(types.INITIALIZE)
    def initialize(params: types.InitializeParams) -> None:
        given = params.initialization_options if isinstance(params.initialization_options, dict) else {}
        formats = get_capability(params.capabilities, "text_document.hover.content_format") or ()
        server.options = {"lens": given.get("codeLens") is True, "markdown": types.MarkupKind.Markdown in formats}
        server.encoding = types.PositionEncodingKind(server.workspace.position_encoding).value
        every = [COMMANDS_FEATURE, *(feature for feature, _ in REQUESTS.values())]
        wanted = given["features"] if isinstance(given.get("features"), list) else every
        for method, (feature, answer) in REQUESTS.items():
            if feature in wanted:
                server.feature(method)(server.make_handler(answer))
        for name, command in answers.COMMANDS.items() if COMMANDS_FEATURE in wanted else ():
            server.command(name)(server.make_handler(command))
        server.update_folders()

    @server.feature(types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS)
    def change_folders(params: types.DidChangeWorkspaceFoldersParams) -> None:
        server.update_folders()
        look(params)

    @server.feature(types.INITIALIZED)
    async def begin(params: types.InitializedParams) -> None:
        server.ending = asyncio.create_task(server.end_with_client())
        look(params)
        if get_capability(server.client_capabilities, "workspace.did_change_watched_files.dynamic_registration"):
            options = types.DidChangeWatchedFilesRegistrationOptions([types.FileSystemWatcher("**/*")])
            watch = types.Registration("codelens-files", types.WORKSPACE_DID_CHANGE_WATCHED_FILES, options)
            await server.client_register_capability_async(types.RegistrationParams([watch]))

    @server.feature(types.TEXT_DOCUMENT_DID_SAVE)
    @server.feature(types.WORKSPACE_DID_CHANGE_WATCHED_FILES)
    def look(_: Any) -> None:
        for folder in server.folders.values():
            folder.changed.set()

    @server.feature(types.TEXT_DOCUMENT_DID_OPEN)
    @server.feature(types.TEXT_DOCUMENT_DID_CHANGE)
    def take_text(params: types.DidOpenTextDocumentParams | types.DidChangeTextDocumentParams) -> None:
        document = server.workspace.get_text_document(params.text_document.uri)
        path = parse_uri(document.uri)
        server.texts[path] = SourceText.from_editor(path, document.source, server.encoding)

    @server.feature(types.TEXT_DOCUMENT_DID_CLOSE)
    def drop_text(params: types.DidCloseTextDocumentParams) -> None:
        server.texts.pop(parse_uri(params.text_document.uri), None)

    @server.feature(types.EXIT)
    def leave(_: Any) -> None:
        os._exit(0 if server.protocol._shutdown else 1)  # at once, because a thread may be waiting for stdin

    return server


def serve_stdio(serve: Serve, debug: bool) -> None:
    """Serve one client on stdin and stdout until it leaves."""
    stdout = take_stdout()
    logging.basicConfig(level=logging.DEBUG if debug else logging.CRITICAL)
    server = create_server(serve)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: os._exit(0))
    try:
        server.start_io(cast(BinaryIO, sys.stdin.buffer), cast(BinaryIO, stdout))
    finally:
        os._exit(0)
