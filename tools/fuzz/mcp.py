"""Altered messages of the Model Context Protocol to a started server: it answers, or ignores them, and goes on."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

from tools.campaign import Campaign, Report, expect
from tools.fuzz.derive import broken
from tools.fuzz.http import built
from tools.program import UNEXPECTED, Program, left_behind

MESSAGES = 60  # Messages for one started server
SECONDS = 120.0  # Seconds the server may take for them. Generous, for a busy machine.
TOOLS = (
    *("search", "read", "files", "context", "symbols", "refs", "callers", "callees", "impact", "why", "notes"),
    *("feedback", "status"),
)
VALUES: tuple[Any, ...] = (
    *(None, -1, 10**30, 1e308, "", "x" * 10_000, "\x1b[31m", "\ud800", "../../etc/passwd", [], [[[]]], {}, {"a": {}}),
    *(True, "0", 0),
)
ARGUMENTS = ("query", "q", "path", "name", "limit", "target", "paths", "budget", "depth", "task", "unknown", "line")


def request(number: object, method: object, params: object) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}


HELLO = request(
    0,
    "initialize",
    {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "fuzz", "version": "1"}},
)


def message(luck: random.Random) -> bytes:
    """One line: a call with odd arguments, another method, no request at all, or a valid one that was broken."""
    arguments = {luck.choice(ARGUMENTS): luck.choice((*VALUES, "order", 5)) for _ in range(luck.randrange(4))}
    call: Any = request(
        luck.choice((luck.randrange(9), "a", *VALUES)),
        "tools/call",
        {"name": luck.choice((*TOOLS, "x", 3)), "arguments": arguments},
    )
    match luck.randrange(6):
        case 0 | 1:
            pass
        case 2:
            call[luck.choice(list(call))] = luck.choice(VALUES)
        case 3:
            call["method"] = luck.choice(
                (
                    *("tools/list", "resources/list", "prompts/get", "ping", "logging/setLevel", "initialize"),
                    *("notifications/cancelled", "x"),
                    *VALUES,
                )
            )
        case 4:
            return broken(json.dumps(call).encode(), luck).replace(b"\n", b" ")
        case _:
            return luck.choice(
                (b"[" * 50_000, b'{"a":' * 50_000, b"\xff\xfe", b"null", b"[]", b"", b"1", b"x" * 100_000)
            )
    return json.dumps(call).encode()


def run(count: int, seed: int, folder: Path, report: Report) -> None:
    """Send at least `count` messages; an attempt is one server."""
    index = built(folder)
    number = seed
    while report.tried < count:
        with report.attempt(number, tries=MESSAGES):
            _attempt(index, folder, random.Random(number), report)
        number += 1


def _attempt(index: Path, folder: Path, luck: random.Random, report: Report) -> None:
    command = [sys.executable, "-P", "-m", "codelens", "mcp", str(folder / "shop"), "--db", str(index)]
    command += ["--no-index", "--tools", "all", "--structured"]
    (folder / "home").mkdir(exist_ok=True)
    process = subprocess.Popen(
        command,
        cwd=folder / "home",
        env=Program(folder / "home", {"CODELENS_TRUST_INDEXES": "1"}).environment(),  # it was made for this process
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    late = threading.Timer(SECONDS, process.kill)
    late.start()
    try:
        last = request("last", "ping", {})
        initialized = json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"}).encode()
        lines = [
            json.dumps(HELLO).encode(),
            initialized,
            *(message(luck) for _ in range(MESSAGES)),
            json.dumps(last).encode(),
        ]
        out, err = _spoken(process, lines)
    finally:
        late.cancel()
        process.kill()
    log = err.decode("utf-8", "replace")
    expect(process.returncode == 0, f"exit code {process.returncode}: {log[-900:]}")
    expect(not any(word in log for word in UNEXPECTED), f"on stderr: {log[-900:]}")
    answers = [json.loads(line) for line in out.splitlines()]
    report.counts["answers"] += len(answers)
    report.counts["errors"] += sum("error" in answer for answer in answers)
    expect(any(answer.get("id") == "last" for answer in answers), "the last message, an honest one, got no answer")
    expect(not (left := left_behind(process.pid)), f"processes left: {left}")


def _spoken(process: subprocess.Popen[bytes], lines: list[bytes]) -> tuple[bytes, bytes]:
    """The server's whole output. The pipe stays open until the last answer, since closing it ends the server at once."""
    assert process.stdin and process.stdout and process.stderr
    errors = bytearray()
    listening = threading.Thread(target=lambda: errors.extend(process.stderr.read()))  # type: ignore[union-attr]
    listening.start()
    sending = threading.Thread(target=_send, args=(process, lines))
    sending.start()
    out = bytearray()
    for line in process.stdout:
        out += line
        if json.loads(line).get("id") == "last":
            break
    sending.join()
    process.stdin.close()
    out += process.stdout.read()
    process.wait()
    listening.join()
    return bytes(out), bytes(errors)


def _send(process: subprocess.Popen[bytes], lines: list[bytes]) -> None:
    assert process.stdin
    try:
        for line in lines:
            process.stdin.write(line + b"\n")
        process.stdin.flush()
    except BrokenPipeError:
        pass  # its exit code says why


CAMPAIGNS = (Campaign("mcp", run, 3000, "altered messages to a started server"),)
