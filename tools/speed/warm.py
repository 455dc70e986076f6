"""Questions to processes that stay: seconds of each.

As a script it asks an index: `warm.py INDEX` reads questions as JSON from stdin. The functions talk to servers.
"""

from __future__ import annotations

import gc
import json
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import quote_plus
from urllib.request import urlopen

from codelens.cli.warm import OBJECTS
from codelens.config import Settings
from codelens.index import Index
from codelens.model.request import SearchOptions
from codelens.processes.python import build_codelens_command


def ask_index(place: Path, questions: Sequence[str]) -> list[float]:
    """In this process, one after the other, with the garbage collector set as in a server."""
    gc.set_threshold(OBJECTS)
    spent = []
    with Index.open(place, Settings(trust_indexes=True)) as index:
        for question in questions:
            started = time.perf_counter()
            index.search(question, SearchOptions(reasons=False))  # as `codelens search` asks
            spent.append(time.perf_counter() - started)
    return spent


def ask_codegraph(command: Sequence[str], questions: Sequence[str], env: Mapping[str, str]) -> list[float]:
    """An MCP server on standard streams: a question with a space explores, another searches."""
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=env, text=True
    ) as server:

        def send(number: int, method: str, **parameters: object) -> float:
            started = time.perf_counter()
            request = {"jsonrpc": "2.0", "id": number, "method": method, "params": parameters}
            print(json.dumps(request), file=server.stdin, flush=True)
            for line in server.stdout or ():
                if json.loads(line).get("id") == number:
                    return time.perf_counter() - started
            raise SystemExit(f"{' '.join(command)}: ended without an answer")

        client = {"name": "bench", "version": "1"}
        send(0, "initialize", protocolVersion="2025-03-26", capabilities={}, clientInfo=client)
        print(json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"}), file=server.stdin, flush=True)
        tools = [f"codegraph_{'explore' if ' ' in question else 'search'}" for question in questions]
        pairs = enumerate(zip(tools, questions, strict=True), 1)
        spent = [send(n, "tools/call", name=tool, arguments={"query": q}) for n, (tool, q) in pairs]
        server.terminate()
    return spent


def ask_server(place: Path, questions: Sequence[str], env: Mapping[str, str]) -> list[float]:
    """`codelens serve`, asked all questions at once; empty where its extra is not installed."""
    command = [*build_codelens_command(), "serve", "--no-config", "--db", str(place), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=env, text=True) as server:
        address = server.stdout.readline().strip() if server.stdout else ""
        if not address:
            return []

        def ask(question: str) -> float:
            started = time.perf_counter()
            with urlopen(f"{address}api/search?q={quote_plus(question)}", timeout=300) as answer:
                answer.read()
            return time.perf_counter() - started

        try:
            ask("main")
            with ThreadPoolExecutor(len(questions) or 1) as threads:
                return list(threads.map(ask, questions))
        finally:
            server.terminate()


if __name__ == "__main__":
    print(json.dumps(ask_index(Path(sys.argv[1]), json.load(sys.stdin))))
