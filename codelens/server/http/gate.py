"""Access control by Host and Origin headers, key and rate; and the security headers of every response.

A server on loopback needs no key, because only this machine reaches it. It accepts only loopback names as Host; otherwise a
foreign web page could make its own host name point here (DNS rebinding) and read the index. If a request has an Origin, it
must be the page of this server, as the Model Context Protocol demands.
"""

from __future__ import annotations

import base64
import binascii
import ipaddress
import math
import re
import time
from collections.abc import Callable
from contextvars import ContextVar
from pathlib import Path
from typing import NamedTuple

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from codelens.errors import CodelensError
from codelens.server.http.faults import Fault
from codelens.server.http.keys import EVERY, find_holder, read_keys

VISIBLE: ContextVar[tuple[str, ...]] = ContextVar("visible", default=EVERY)
"""Globs of the repositories that the sender of the current request may see."""


class Buckets:
    """A token bucket for each name. It holds `per_minute` tokens and refills in a minute; 0 sets no limit."""

    def __init__(self, per_minute: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._most = float(per_minute)
        self._clock = clock
        self._left: dict[str, tuple[float, float]] = {}

    def take_token(self, name: str) -> int:
        """Take a token; returns 0, or the whole seconds until there is a token."""
        if not self._most:
            return 0
        now = self._clock()
        tokens, then = self._left.get(name, (self._most, now))
        refilled = (now - then) * self._most / 60
        tokens = min(self._most, tokens + refilled)
        if tokens < 1:
            self._left[name] = (tokens, now)
            return max(1, math.ceil((1 - tokens) * 60 / self._most))
        self._left[name] = (tokens - 1, now)
        return 0


HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store",
}
"""Keep other pages from reading, framing or embedding an answer, and browsers from storing it. CORS is not allowed."""
LONGEST_BODY = 256_000  # Bytes of the longest request that a model allows, with every character escaped
MCP = "/mcp"
LONGEST_MESSAGE = 4_000_000  # Most bytes of an MCP message that the SDK accepts
RETRY_SECONDS = 2  # Seconds after which a client may try again if the server is busy
OPEN = ("/static/",)  # Paths that need no key: files of the program, which reveal nothing about the index


class Rules(NamedTuple):
    """The conditions under which a server admits requests."""

    keys_needed: bool
    hosts: frozenset[str] | None  # Names that a Host header may have, without a port; None for any


def is_loopback(host: str) -> bool:
    """True if a listening address can be reached only from this machine."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def make_rules(host: str, keys_needed: bool = False) -> Rules:
    """Make the rules for a server that listens on `host`."""
    if not is_loopback(host):
        return Rules(True, None)
    return Rules(keys_needed, frozenset({"localhost", "127.0.0.1", "[::1]", host.lower()}))


Respond = Callable[[Fault, Scope], Response]  # Makes the response to a fault, in the form that fits the request


class Gate:
    """An ASGI application that passes admitted requests to another one."""

    def __init__(self, app: ASGIApp, rules: Rules, keys: Path | None, buckets: Buckets, respond: Respond) -> None:
        self._app = app
        self._rules = rules
        self._keys = keys
        self._buckets = buckets
        self._respond = respond

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or respond with the fault if it is refused."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        try:
            self._admit(scope)
        except Fault as fault:
            app: ASGIApp = self._respond(fault, scope)
        except CodelensError as error:
            app = self._respond(Fault(503, str(error), error.hint), scope)
        else:
            app = self._app
        await app(scope, receive, send_with_headers)

    def _admit(self, scope: Scope) -> None:
        if scope.get("state", {}).get("is_busy"):
            raise Fault(503, "too many requests at once", "try again later", retry_after=RETRY_SECONDS)
        headers = Headers(scope=scope)
        path = str(scope["path"])
        names = [re.sub(r":[0-9]+\Z", "", host).lower() for host in headers.getlist("host")]
        if len(names) != 1 or not names[0] or (self._rules.hosts is not None and names[0] not in self._rules.hosts):
            raise Fault(400, "this server has another name", "use 127.0.0.1 or localhost as its name")
        host = headers["host"].lower()
        own = f"http://{host}", f"https://{host}"
        if any(origin.lower() not in own for origin in headers.getlist("origin")):
            raise Fault(403, "other web pages may not use this server", "programs send no Origin header")
        if not path.startswith("/"):  # http://other/, as proxies are asked
            raise Fault(400, "this is not a proxy", "the address of a request begins with a slash")
        length = headers.get("content-length") or "0"
        if not (length.isascii() and length.isdigit() and len(length) < 20 and int(length) <= limit_body(path)):
            raise make_body_fault(path)
        if path.startswith(OPEN):
            return
        key = read_key(headers.get("authorization", ""))
        row = find_holder(read_keys(self._keys), key) if key is not None else None
        if row is None and (self._rules.keys_needed or key is not None):
            reason = "this key is not known here" if key is not None else "a key is needed"
            raise Fault(401, reason, "`Authorization: Bearer KEY`; `codelens serve keys add NAME` creates one")
        if row is not None and row.repositories != EVERY and path == MCP:
            raise Fault(403, f"{MCP} is for keys that may see every repository", "ask at /api/")
        VISIBLE.set(row.repositories if row is not None else EVERY)
        if row is not None and (seconds := self._buckets.take_token(row.name)):
            raise Fault(429, "too many requests with this key", f"try again in {seconds} s", retry_after=seconds)


def limit_body(path: str) -> int:
    """Return the most bytes that a request to this path may send."""
    return LONGEST_BODY if path != MCP else LONGEST_MESSAGE


def make_body_fault(path: str) -> Fault:
    """Make the fault of a request whose body is too long."""
    return Fault(413, f"the body is longer than {limit_body(path)} bytes", "send a shorter request")


def read_key(authorization: str) -> str | None:
    """Read the key from an Authorization header: Bearer, or the password of Basic, which browsers ask for. None if empty."""
    if not authorization:
        return None
    scheme, _, rest = authorization.partition(" ")
    if scheme.lower() == "basic":
        try:
            return base64.b64decode(rest.strip(), validate=True).decode("utf-8", "replace").partition(":")[2]
        except (binascii.Error, ValueError):
            return ""
    return rest.strip() if scheme.lower() == "bearer" else ""
