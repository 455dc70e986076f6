"""A client of the Language Server Protocol for tests: raw JSON-RPC over the pipes of a real server."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from queue import Queue
from typing import Any

from tests.server.conftest import variables

PATIENCE = 120.0  # Seconds until a test gives up; no test depends on how fast an answer comes
Message = dict[str, Any]


class RequestError(Exception):
    """The server answered with an error."""

    def __init__(self, error: Message) -> None:
        super().__init__(error["message"])
        self.code = error["code"]


class LspClient:
    """A session. A thread reads what the server sends, and answers what it asks."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process
        self.notifications: list[Message] = []
        self.asked: list[Message] = []
        self.capabilities: Message = {}
        self._number = 0
        self._answers: dict[int | str | None, Queue[Message]] = {}
        self._news = threading.Condition()
        self._reader = threading.Thread(target=self._read_all, daemon=True)
        self._reader.start()

    # Messages

    def write(self, body: bytes, header: bytes | None = None) -> None:
        """Bytes as they are, after a header."""
        assert self.process.stdin is not None
        self.process.stdin.write((b"Content-Length: %d\r\n\r\n" % len(body) if header is None else header) + body)
        self.process.stdin.flush()

    def send(self, message: Message) -> None:
        self.write(json.dumps({"jsonrpc": "2.0", **message}).encode())

    def notify(self, method: str, params: Any = None) -> None:
        self.send({"method": method, "params": params})

    def begin(self, method: str, params: Any = None) -> int:
        """Send a request; return its number."""
        self._number += 1
        self._answers[self._number] = Queue()
        self.send({"id": self._number, "method": method, "params": params})
        return self._number

    def end(self, number: int) -> Any:
        """The result of a request. Raises RequestError."""
        answer = self._answers[number].get(timeout=PATIENCE)
        if "error" in answer:
            raise RequestError(answer["error"])
        return answer["result"]

    def ask(self, method: str, params: Any = None) -> Any:
        return self.end(self.begin(method, params))

    def await_notification(self, method: str, part: str = "") -> Message:
        """The first notification of a method whose text has a part."""

        def find() -> Message | None:
            return next(
                (m for m in self.notifications if m["method"] == method and part in json.dumps(m["params"])), None
            )

        with self._news:
            assert self._news.wait_for(lambda: find() is not None, PATIENCE), self.notifications
        found = find()
        assert found is not None
        return found

    def _read_all(self) -> None:
        assert self.process.stdout is not None
        while line := self.process.stdout.readline():
            size = 0
            while line.strip():
                name, _, value = line.partition(b":")
                size = int(value) if name.lower() == b"content-length" else size
                line = self.process.stdout.readline()
            self._take(json.loads(self.process.stdout.read(size)))

    def _take(self, message: Message) -> None:
        if "method" not in message:
            self._answers.setdefault(message.get("id"), Queue()).put(message)
            return
        with self._news:
            (self.asked if "id" in message else self.notifications).append(message)
            self._news.notify_all()
        if "id" in message:
            items = (message.get("params") or {}).get("items") or ()
            result = [self.settings for _ in items] if message["method"] == "workspace/configuration" else None
            self.send({"id": message["id"], "result": result})

    settings: Any = None  # What the client answers about its settings

    # Sessions

    def initialize(
        self, *folders: Path, encodings: tuple[str, ...] = (), options: Mapping[str, Any] | None = None
    ) -> Message:
        text = {
            "documentSymbol": {"hierarchicalDocumentSymbolSupport": True},
            "hover": {"contentFormat": ["markdown"]},
            "rename": {"prepareSupport": True},
        }
        capabilities = {
            "textDocument": text,
            "window": {"workDoneProgress": True},
            "workspace": {
                "configuration": True,
                "workspaceFolders": True,
                "didChangeWatchedFiles": {"dynamicRegistration": True},
            },
        }
        if encodings:
            capabilities["general"] = {"positionEncodings": list(encodings)}
        result = self.ask(
            "initialize",
            {
                "processId": None,
                "rootUri": folders[0].as_uri() if folders else None,
                "capabilities": capabilities,
                "workspaceFolders": [{"uri": one.as_uri(), "name": one.name} for one in folders],
                "initializationOptions": options,
            },
        )
        self.notify("initialized", {})
        self.capabilities = dict(result["capabilities"])
        return self.capabilities

    def open(self, path: Path, text: str | None = None) -> str:
        """Open a file with its text on the disk or another one; return its text."""
        shown = path.read_text("utf-8") if text is None else text
        document = {"uri": path.as_uri(), "languageId": "text", "version": 1, "text": shown}
        self.notify("textDocument/didOpen", {"textDocument": document})
        return shown

    def change(self, path: Path, text: str) -> None:
        """Replace the text of an open file without saving it."""
        document = {"uri": path.as_uri(), "version": 2}
        self.notify("textDocument/didChange", {"textDocument": document, "contentChanges": [{"text": text}]})

    def close(self, path: Path) -> None:
        self.notify("textDocument/didClose", {"textDocument": {"uri": path.as_uri()}})

    def at(self, method: str, path: Path, line: int, character: int, **more: Any) -> Any:
        """The answer about a position, both from 0."""
        position = {"line": line, "character": character}
        return self.ask(
            f"textDocument/{method}", {"textDocument": {"uri": path.as_uri()}, "position": position, **more}
        )


@contextmanager
def lsp_server(home: Path, *flags: str, look_seconds: float = 60.0) -> Iterator[LspClient]:
    """A started server, before the handshake. It looks at its trees after so many seconds without news from the client."""
    code = f"""import sys
from codelens.cli.main import main
from codelens.server.lsp import server
server.LOOK_SECONDS = {look_seconds}
sys.exit(main(sys.argv[1:]))"""
    with subprocess.Popen(
        [sys.executable, "-c", code, "lsp", *flags],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=variables(home),
        cwd=home,
    ) as process:
        try:
            yield LspClient(process)
        finally:
            process.kill()


def find(text: str, needle: str, occurrence: int = 1) -> tuple[int, int]:
    """(line, character) of a text in another, in characters."""
    at = -1
    for _ in range(occurrence):
        at = text.index(needle, at + 1)
    before = text[:at]
    return before.count("\n"), at - (before.rfind("\n") + 1)


def places(locations: Any, root: Path) -> list[tuple[str, int]]:
    """(path below the root, line from 1) of locations."""
    lead = root.as_uri() + "/"
    return [(one["uri"].removeprefix(lead), one["range"]["start"]["line"] + 1) for one in locations or ()]
