"""One JSON object to an address, one back: the only door to the network that a command has.

By urllib, which heeds the machine's proxies; redirections are refused, for the key would go wherever they lead. Every wait has an
end, and so has all of them together.
"""

from __future__ import annotations

import http.client
import json
import time
import urllib.error
import urllib.request
from email.message import Message
from typing import IO, Any

from codelens.errors import EmbedderFault
from codelens.notation import parse_json
from codelens.nouns import dataclass

AGAIN = frozenset({408, 425, 429, 500, 502, 503, 504})
"""Statuses that another try may change."""
FIRST_WAIT, LONGEST_WAIT = 0.5, 30.0
"""Seconds before the second try, doubled for each further one; and the most, whatever the other side asks for. Chosen."""
MOST_BYTES = 64_000_000
"""Of an answer: a batch of 64 vectors of 4096 numbers takes some 6 MB."""
MOST_TOLD = 200
"""Characters of what the other side says of a fault."""
_BLOCK = 65536


@dataclass(frozen=True, slots=True)
class Patience:
    """How long to try: seconds for one try, number of tries, and seconds after which none is begun."""

    seconds: float
    tries: int
    in_all: float


def post_json(url: str, body: object, key: str, patience: Patience) -> Any:
    """The answer, parsed. The key is sent as a bearer's if it is not empty, and is part of no message.

    Raises EmbedderFault where no answer comes, or none that is JSON.
    """
    headers = {"Content-Type": "application/json", "Accept": "application/json", "User-Agent": "codelens"}
    if key:
        headers["Authorization"] = f"Bearer {key}"
    payload, begun = json.dumps(body).encode(), time.monotonic()
    for attempt in range(1, patience.tries + 1):
        try:
            return parse_json(_answer(urllib.request.Request(url, payload, headers), patience.seconds))
        except _Refused as refused:
            fault, wait = refused.told(url, key), refused.wait
            if refused.status not in AGAIN:
                raise fault from None
        except (OSError, http.client.HTTPException, ValueError) as cause:
            fault, wait = _unanswered(url, cause), 0.0
        wait = min(max(wait, FIRST_WAIT * 2 ** (attempt - 1)), LONGEST_WAIT)
        if attempt == patience.tries or time.monotonic() - begun + wait > patience.in_all:
            break
        time.sleep(wait)
    raise fault from None


def _answer(request: urllib.request.Request, seconds: float) -> bytes:
    end, parts, size = time.monotonic() + seconds, list[bytes](), 0
    try:
        with _opener().open(request, timeout=seconds) as response:
            while block := response.read1(_BLOCK):
                parts.append(block)
                size += len(block)
                if size > MOST_BYTES:
                    raise ValueError(f"an answer of more than {MOST_BYTES} bytes")
                if time.monotonic() > end:
                    raise TimeoutError(f"no whole answer in {seconds:g} s")
            if response.length:  # of what was announced; read1 says nothing of it
                raise ConnectionError("the answer ends too early")
    except urllib.error.HTTPError as refusal:
        with refusal:
            raise _Refused(refusal.code, refusal.headers.get("Retry-After", ""), refusal.read(_BLOCK)) from None
    return b"".join(parts)


class _NoRedirection(urllib.request.HTTPRedirectHandler):
    """Leaves a redirection as the refusal that it then is."""

    def redirect_request(
        self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str, headers: Message, newurl: str
    ) -> None:
        """None: no request follows."""


def _opener() -> urllib.request.OpenerDirector:
    return urllib.request.build_opener(_NoRedirection)


class _Refused(Exception):
    """An answer with a status that is not 200."""

    def __init__(self, status: int, retry_after: str, body: bytes) -> None:
        super().__init__(status)
        self.status, self._body = status, body
        self.wait = float(retry_after) if retry_after.isascii() and retry_after.isdigit() else 0.0

    def told(self, url: str, key: str) -> EmbedderFault:
        """Of a refused key nothing is repeated: some servers say which part of it they did not like."""
        if self.status in (401, 403):
            sent = "the key of CODELENS_API_KEY" if key else "a request without a key"
            return EmbedderFault(f"{url} refuses {sent} ({self.status})", "set CODELENS_API_KEY to one that it takes")
        said = self._body.decode("utf-8", "replace")
        text = "".join(c if c.isprintable() else " " for c in (said.replace(key, "…") if key else said))
        return EmbedderFault(f"{url} answers {self.status}: {' '.join(text.split())[:MOST_TOLD]}".removesuffix(": "))


def _unanswered(url: str, cause: Exception) -> EmbedderFault:
    reason = getattr(cause, "reason", None) or cause
    if isinstance(cause, ValueError) and not isinstance(cause, OSError):
        return EmbedderFault(f"{url} does not answer with JSON: {reason}")
    return EmbedderFault(f"{url} does not answer: {reason or type(cause).__name__}")
