"""Altered messages of the Model Context Protocol, and calls that are cancelled, to a started server: it answers, or ignores
them, and goes on."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import partial
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


def is_last(answered: Counter[Any]) -> bool:
    return answered["last"] > 0


def run(count: int, seed: int, folder: Path, report: Report) -> None:
    """Send at least `count` messages; an attempt is one server."""
    index = built(folder)
    number = seed
    while report.tried < count:
        luck = random.Random(number)
        with report.attempt(number, tries=MESSAGES):
            _attempt(index, folder, [message(luck) for _ in range(MESSAGES)], report, is_last)
        number += 1


MOST_CALLS = 40  # Most calls that one server gets in a run of cancellations
MOST_PAUSE = 0.02  # Seconds; a call takes about as long, so that a cancellation meets every stage of one
FEW = range(1, 9)
"""Ids that are used again while a call of that id may be running."""


def cancellation(number: object) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": number}}).encode()


def call(number: object, luck: random.Random) -> bytes:
    """A call that is answered at once, after a search, or after a check of the tree; or another request."""
    name, arguments = luck.choice(
        (
            ("read", {"target": {}}),
            ("read", {"target": "Calculate"}),
            ("search", {"query": luck.choice(("order", "how is a price computed", "/(.*a){9}/", "nothing-like-it"))}),
            ("context", {"task": "let coupons expire at midnight"}),
            ("status", {"check": luck.random() < 0.5}),
            ("none", {}),
        )
    )
    if luck.random() < 0.1:
        return json.dumps(request(number, luck.choice(("ping", "tools/list", "x", "initialize")), {})).encode()
    return json.dumps(request(number, "tools/call", {"name": name, "arguments": arguments})).encode()


def cancelled_calls(luck: random.Random, sent: list[object]) -> Iterator[bytes]:
    """Calls that overlap, each cancelled at once, later, twice, or never; `sent` gets the id of each."""
    reuse = luck.random() < 0.2
    pauses = luck.choice((0.0, MOST_PAUSE / 10, MOST_PAUSE))
    for number in range(1, luck.randrange(2, MOST_CALLS)):
        sent.append(luck.choice(FEW) if reuse else luck.choice((number, f"call {number}")))
        yield call(sent[-1], luck)
        if luck.random() < 0.3:
            time.sleep(luck.random() * pauses)
        match luck.randrange(6):
            case 0 | 1 | 2:
                yield cancellation(sent[-1])
            case 3:
                yield cancellation(luck.choice(sent))
            case 4:
                yield from [cancellation(luck.choice((*VALUES, *sent)))] * 2
        if luck.random() < 0.3:
            time.sleep(luck.random() * pauses)


def has_all(sent: list[object], answered: Counter[Any]) -> bool:
    """True if there is an answer for each call that was sent, the handshake, and the last message."""
    return answered["last"] > 0 and answered.total() - answered[None] >= len(sent) + 2


def run_cancelled(count: int, seed: int, folder: Path, report: Report) -> None:
    """Let `count` servers answer calls that are cancelled. Each call gets one answer, unless stdin is closed meanwhile."""
    index = built(folder)
    for number in range(seed, seed + count):
        luck = random.Random(number)
        sent: list[object] = []
        with report.attempt(number):
            lines = cancelled_calls(luck, sent)
            if luck.random() < 0.2:
                _attempt(index, folder, lines, report, None)
                continue
            answers = _attempt(index, folder, lines, report, partial(has_all, sent))
            got = Counter(answer["id"] for answer in answers if answer.get("id") not in (None, 0, "last"))
            expect(got == Counter(sent), f"calls {Counter(sent)}, answers {got}")


def _attempt(
    index: Path,
    folder: Path,
    messages: Iterable[bytes],
    report: Report,
    is_done: Callable[[Counter[Any]], bool] | None,
) -> list[dict[str, Any]]:
    """Send messages to a server until `is_done` holds for the ids of its answers, and return these. None does not wait."""
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

    def lines() -> Iterator[bytes]:
        yield json.dumps(HELLO).encode()
        yield json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"}).encode()
        yield from messages
        yield json.dumps(request("last", "ping", {})).encode()

    try:
        out, err = _spoken(process, lines(), is_done)
    finally:
        late.cancel()
        process.kill()
    log = err.decode("utf-8", "replace")
    expect(process.returncode == 0, f"exit code {process.returncode}: {log[-900:]}")
    expect(not any(word in log for word in UNEXPECTED), f"on stderr: {log[-900:]}")
    answers = [json.loads(line) for line in out.splitlines()]
    report.counts["answers"] += len(answers)
    report.counts["errors"] += sum("error" in answer for answer in answers)
    has_last = any(answer.get("id") == "last" for answer in answers)
    expect(has_last or is_done is None, "the last message, an honest one, got no answer")
    expect(not (left := left_behind(process.pid)), f"processes left: {left}")
    return answers


def _spoken(
    process: subprocess.Popen[bytes], lines: Iterable[bytes], is_done: Callable[[Counter[Any]], bool] | None
) -> tuple[bytes, bytes]:
    """The server's whole output. The pipe stays open until `is_done` holds for the ids of the answers, since closing it ends
    the server at once; None closes it after the last line."""
    assert process.stdin and process.stdout and process.stderr
    errors = bytearray()
    listening = threading.Thread(target=lambda: errors.extend(process.stderr.read()))  # type: ignore[union-attr]
    listening.start()
    sending = threading.Thread(target=_send, args=(process, lines, is_done is None))
    sending.start()
    out, answered = bytearray(), Counter[Any]()
    for line in process.stdout:
        out += line
        answered[json.loads(line).get("id")] += 1
        if is_done is not None and is_done(answered):
            break
    sending.join()
    process.stdin.close()
    out += process.stdout.read()
    process.wait()
    listening.join()
    return bytes(out), bytes(errors)


def _send(process: subprocess.Popen[bytes], lines: Iterable[bytes], close: bool) -> None:
    assert process.stdin
    with suppress(BrokenPipeError):  # its exit code says why
        for line in lines:
            process.stdin.write(line + b"\n")
            process.stdin.flush()
        if close:
            process.stdin.close()


CAMPAIGNS = (
    Campaign("mcp", run, 3000, "altered messages to a started server"),
    Campaign("mcp-cancelled", run_cancelled, 200, "overlapping calls to a started server, cancelled at any time"),
)
