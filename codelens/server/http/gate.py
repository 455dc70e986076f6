"""Who gets in: the Host header, the key, the rate; and the headers that every answer carries.

A server on loopback asks for no key, for whoever reaches it is this machine's; so it takes only the names of loopback as Host,
or a page from elsewhere could have its own name point here and read what it likes.
"""

from __future__ import annotations

import base64
import binascii
import ipaddress
from collections.abc import MutableMapping

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from codelens.errors import CodelensError
from codelens.nouns import dataclass
from codelens.server.http.faults import Fault, Refused, fault_of
from codelens.server.http.keys import KeyRing, holder
from codelens.server.http.rates import Buckets
from codelens.server.http.sending import send_fault

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
"""No other page may read, frame or embed an answer, and nothing of it stays in a browser. There is no CORS header at all."""
LONGEST_BODY = 256_000
"""Bytes. Chosen: the longest question that its model allows, with every character escaped."""
MCP = "/mcp"
LONGEST_MESSAGE = 4_000_000
"""Bytes of a message to MCP: what its SDK takes."""
OPEN = ("/static/",)
"""What belongs to the program and tells nothing of the index."""


@dataclass(frozen=True, slots=True)
class Rules:
    """How a server lets in."""

    keys_needed: bool
    hosts: frozenset[str] | None
    """Names that a Host header may have, without a port; None for any."""


def is_loopback(host: str) -> bool:
    """Whether an address that is listened on can be reached from this machine alone."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def rules_for(host: str, keys_needed: bool = False) -> Rules:
    """Of a server that listens on a host."""
    if not is_loopback(host):
        return Rules(True, None)
    return Rules(keys_needed, frozenset({"localhost", "127.0.0.1", "[::1]", host.lower()}))


class Gate:
    """An ASGI application around another."""

    def __init__(self, app: ASGIApp, rules: Rules, keys: KeyRing, buckets: Buckets) -> None:
        self._app = app
        self._rules = rules
        self._keys = keys
        self._buckets = buckets

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers by itself what may not pass."""
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
        except Refused as refused:
            await send_fault(refused.fault, scope, receive, send_with_headers)
            return
        except CodelensError as error:
            fault = fault_of(error)
            await send_fault(Fault(503, fault.error, fault.hint), scope, receive, send_with_headers)
            return
        await self._app(scope, receive, send_with_headers)

    def _admit(self, scope: MutableMapping[str, object]) -> None:
        headers = Headers(scope=scope)
        names = [_name_of(host) for host in headers.getlist("host")]
        if len(names) != 1 or not names[0] or (self._rules.hosts is not None and names[0] not in self._rules.hosts):
            raise Refused(Fault(400, "this is no name of this server", "ask for it as 127.0.0.1 or localhost"))
        if not str(scope["path"]).startswith("/"):  # http://other/, as proxies are asked
            raise Refused(Fault(400, "this is no proxy", "the address of a request begins with a slash"))
        if _length(headers.get("content-length", "")) > longest_body(str(scope["path"])):
            raise Refused(too_long(str(scope["path"])))
        if str(scope["path"]).startswith(OPEN):
            return
        key = presented(headers.get("authorization", ""))
        name = holder(self._keys.rows(), key) if key is not None else None
        if name is None and (self._rules.keys_needed or key is not None):
            said = "this key is not known here" if key is not None else "a key is needed"
            raise Refused(Fault(401, said, "`Authorization: Bearer KEY`; `codelens serve keys add NAME` makes one"))
        if name is not None and (seconds := self._buckets.take(name)):
            raise Refused(Fault(429, "this key has asked too much", f"ask again in {seconds} s", retry_after=seconds))


def longest_body(path: str) -> int:
    """Bytes that a request to this address may send."""
    return LONGEST_BODY if path != MCP else LONGEST_MESSAGE


def too_long(path: str) -> Fault:
    """The answer to a longer one."""
    return Fault(413, f"the body is longer than {longest_body(path)} bytes", "ask for less at once")


def _length(said: str) -> int:
    return int(said) if said.isascii() and said.isdigit() and len(said) < 20 else 0 if not said else 1 << 63


def _name_of(host: str) -> str:
    """A Host header without its port."""
    name, colon, port = host.rpartition(":")
    return (name if colon and port.isascii() and port.isdigit() else host).lower()


def presented(authorization: str) -> str | None:
    """The key of a header: as Bearer, or as the password of Basic, which browsers know how to ask for. None for no header."""
    if not authorization:
        return None
    scheme, _, rest = authorization.partition(" ")
    if scheme.lower() == "basic":
        try:
            return base64.b64decode(rest.strip(), validate=True).decode("utf-8", "replace").partition(":")[2]
        except (binascii.Error, ValueError):
            return ""
    return rest.strip() if scheme.lower() == "bearer" else ""
