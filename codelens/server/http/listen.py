"""An address to listen on → a server that runs until it is interrupted: the one door through which others come in."""

from __future__ import annotations

import socket

import uvicorn
from starlette.types import ASGIApp

from codelens.errors import UsageError

BACKLOG = 128
LONGEST_HEAD = 65_536
"""Bytes of a request's line and headers. uvicorn's own limit, said here because an address may hold a long query."""


def listening(host: str, port: int) -> socket.socket:
    """A socket that listens; port 0 takes a free one. Raises UsageError where that cannot be had."""
    name = host.strip("[]")
    try:
        family, _, _, _, address = socket.getaddrinfo(name, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        return socket.create_server(address[:2], family=family, backlog=BACKLOG)
    except (OSError, OverflowError, UnicodeError) as fault:
        said = getattr(fault, "strerror", None) or str(fault)
        raise UsageError(f"cannot listen on {host}:{port}: {said}", "another --port or --host") from None


def address_of(listener: socket.socket) -> str:
    """The URL of its page."""
    host, port = listener.getsockname()[:2]
    shown = f"[{host}]" if ":" in host else host
    return f"http://{shown}:{port}/"


def serve(app: ASGIApp, listener: socket.socket) -> None:
    """Until SIGINT or SIGTERM; requests that are being answered are finished first."""
    config = uvicorn.Config(
        app,
        log_level="warning",
        access_log=False,  # nothing is recorded of what was searched
        server_header=False,
        date_header=True,
        h11_max_incomplete_event_size=LONGEST_HEAD,
        http="h11",
        ws="none",
        timeout_graceful_shutdown=5,
    )
    uvicorn.Server(config).run(sockets=[listener])
