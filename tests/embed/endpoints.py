"""A local server with OpenAI's `/embeddings` interface that records its requests."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import xxhash

Answer = tuple[int, Mapping[str, str], bytes]  # Status, headers, body


@dataclass(slots=True)
class Asked:
    path: str
    key: str | None
    body: Any


@dataclass(slots=True)
class Endpoint:
    """`answers` are given first, one for each request; then vectors are, by the letters of the texts."""

    port: int
    dimensions: int = 12
    answers: list[Answer] = field(default_factory=list)
    asked: list[Asked] = field(default_factory=list)

    @property
    def setting(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1#made"

    def answer(self, body: Any) -> Answer:
        if self.answers:
            return self.answers.pop(0)
        size = body.get("dimensions") or self.dimensions
        rows = [{"index": i, "embedding": vector_of(text, size)} for i, text in enumerate(body["input"])]
        return given({"data": rows[::-1]})


def vector_of(text: str, size: int) -> list[float]:
    """A number for each dimension, of the text's words."""
    sums = [0.0] * size
    for word in text.lower().replace("(", " ").replace("_", " ").replace(":", " ").split():
        for i in range(size):
            sums[i] += xxhash.xxh32_intdigest(word.encode(), i) / 2**31 - 1
    return sums


def given(content: Any, status: int = 200, **headers: str) -> Answer:
    """An answer with this content as JSON."""
    return status, {name.replace("_", "-"): value for name, value in headers.items()}, json.dumps(content).encode()


@contextmanager
def endpoint() -> Iterator[Endpoint]:
    """One that answers for as long as the block runs."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            found.asked.append(Asked(self.path, self.headers["Authorization"], body))
            status, headers, content = found.answer(body)
            self.send_response(status)
            for name, value in {"Content-Length": str(len(content)), **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    found = Endpoint(server.server_address[1])
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield found
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
