"""Embeds by an endpoint with OpenAI's `/embeddings` API. This is the only place where text leaves the machine.

Only a user's own setting names an endpoint, and each command must allow it. Its fingerprint is its address; another number of
dimensions is noticed. Redirections are refused, because the key would follow them. Every wait has a limit."""

from __future__ import annotations

import json
import os
import time
import urllib.request
from collections.abc import Sequence
from http.client import HTTPException, HTTPResponse
from typing import Any
from urllib.parse import parse_qs, urlsplit

import xxhash

from codelens.embed.base import LEAST_COSINE, MOST_DIMENSIONS, EmbeddedFields, Embedder, format_fields, scale_to_int8
from codelens.errors import EmbedderFault, UsageError
from codelens.model.fast_dataclass import dataclass
from codelens.text.notation import parse_json

AGAIN = frozenset({408, 425, 429, 500, 502, 503, 504})  # Statuses that are tried again
FIRST_WAIT, LONGEST_WAIT = 0.5, 30.0  # Seconds before the second try, doubled each time; longest wait of all
MOST_BYTES = 64_000_000  # Size limit of an answer; a batch of 64 vectors of 4096 numbers takes about 6 MB
MOST_SHOWN = 200  # Characters of a server's error message that are shown
_BLOCK = 65536


@dataclass(frozen=True, slots=True)
class RetryLimits:
    """Limits of a request: seconds for one try, number of tries, and seconds after which no further try starts."""

    seconds: float
    tries: int
    total_seconds: float


def post_json(url: str, body: object, key: str, limits: RetryLimits) -> Any:
    """Post JSON and parse the answer. No message contains the key, a bearer token. Raises EmbedderFault if no JSON comes."""
    headers = {"Content-Type": "application/json", "Accept": "application/json", "User-Agent": "codelens"}
    if key:
        headers["Authorization"] = f"Bearer {key}"
    payload, begun = json.dumps(body).encode(), time.monotonic()
    for attempt in range(1, limits.tries + 1):
        started, retry_after = time.monotonic(), ""
        try:
            request = urllib.request.Request(url, payload, headers)
            with urllib.request.build_opener(_EveryStatus).open(request, timeout=limits.seconds) as response:
                if response.status // 100 == 2:
                    return parse_json(_read_answer(response, started, limits.seconds))
                fault = _build_refusal(url, key, response.status, response.read(_BLOCK))
                if response.status not in AGAIN:
                    break
                retry_after = response.headers.get("Retry-After", "")
        except (OSError, HTTPException, ValueError) as cause:
            reason = getattr(cause, "reason", None) or cause
            if isinstance(cause, ValueError) and not isinstance(cause, OSError):
                fault = EmbedderFault(f"{url} does not answer with JSON: {reason}")
            else:
                fault = EmbedderFault(f"{url} does not answer: {reason or type(cause).__name__}")
        wait = float(retry_after) if retry_after.isascii() and retry_after.isdigit() else 0.0
        wait = min(max(wait, FIRST_WAIT * 2 ** (attempt - 1)), LONGEST_WAIT)
        if attempt == limits.tries or time.monotonic() - begun + wait > limits.total_seconds:
            break
        time.sleep(wait)
    raise fault from None


class _EveryStatus(urllib.request.HTTPErrorProcessor):
    """A processor that returns responses of every status: it raises no error and follows no redirection."""

    def http_response(self, request: urllib.request.Request, response: HTTPResponse) -> HTTPResponse:
        return response

    https_response = http_response


def _read_answer(response: HTTPResponse, begun: float, seconds: float) -> bytes:
    """Read at most MOST_BYTES of an answer within a time that began at `begun`. Raises OSError and ValueError."""
    parts, size = list[bytes](), 0
    while block := response.read1(_BLOCK):
        parts.append(block)
        size += len(block)
        if size > MOST_BYTES:
            raise ValueError(f"an answer of more than {MOST_BYTES} bytes")
        if time.monotonic() - begun > seconds:
            raise TimeoutError(f"no whole answer in {seconds:g} s")
    if response.length:  # bytes are missing that the header announced; read1 does not report that
        raise ConnectionError("the answer ends too early")
    return b"".join(parts)


def _build_refusal(url: str, key: str, status: int, body: bytes) -> EmbedderFault:
    """Build the error for a status. The body of a 401 or 403 is dropped, because some servers echo part of the key."""
    if status in (401, 403):
        sent = "the key of CODELENS_API_KEY" if key else "a request without a key"
        return EmbedderFault(f"{url} refuses {sent} ({status})", "set CODELENS_API_KEY to a valid key")
    text = body.decode("utf-8", "replace")
    text = "".join(c if c.isprintable() else " " for c in (text.replace(key, "…") if key else text))
    return EmbedderFault(f"{url} answers {status}: {' '.join(text.split())[:MOST_SHOWN]}".removesuffix(": "))


KEY = "CODELENS_API_KEY"
RULES = "endpoint 1"  # Raise the number with any change of what is sent
BATCH = 64  # Texts per request: about 30 000 tokens at most, a tenth of OpenAI's limit
MOST_CHARACTERS = 8000  # Characters of a text; the usual limit is 8192 tokens
INDEXING = RetryLimits(seconds=60, tries=6, total_seconds=300)
ASKING = RetryLimits(seconds=5, tries=2, total_seconds=8)  # A search waits less than the 10 s that a channel may take
NEAR = ("localhost", "127.0.0.1", "::1")  # Hosts that receive a key without encryption


@dataclass(frozen=True, slots=True)
class EndpointAddress:
    """The parts of an address like `https://host/v1?dimensions=256#model`."""

    url: str  # URL of requests
    host: str
    model: str
    dimensions: int = 0  # Requested dimensions; 0 for the model's own
    takes_key: bool = True  # True if a key may be sent there


def parse_address(setting: str) -> EndpointAddress:
    """Parse a model's address. Raises UsageError if it has no model, a password, or unknown parts."""
    form = "write it as https://host/v1#model or https://host/v1?dimensions=256#model"
    try:
        parts = urlsplit(setting)
        host, _ = parts.hostname or "", parts.port
    except ValueError as fault:
        raise UsageError(f"the model's address is invalid: {fault}", form) from None
    if parts.username is not None or parts.password is not None:
        raise UsageError("the model's address contains a password", f"put the key into the environment variable {KEY}")
    parameters = parse_qs(parts.query, keep_blank_values=True)
    (dimensions,) = parameters.pop("dimensions", ["0"])[:1]
    if parameters:  # they may hold a key, which the index would store
        raise UsageError("the only parameter of a model's address is dimensions", form)
    if not host or not parts.fragment or not (dimensions.isascii() and dimensions.isdigit()):
        raise UsageError(f"the model's address {setting} is incomplete", form)
    if any(c.isspace() or not c.isprintable() or not c.isascii() for c in parts.netloc + parts.path):
        raise UsageError("the model's address contains invalid characters", form)
    if int(dimensions) > MOST_DIMENSIONS:
        raise UsageError(f"dimensions must be at most {MOST_DIMENSIONS}, not {dimensions}")
    url = f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/')}/embeddings"
    return EndpointAddress(url, parts.netloc, parts.fragment, int(dimensions), parts.scheme == "https" or host in NEAR)


class EndpointEmbedder(Embedder):
    """An embedder that asks an endpoint. Its methods raise EmbedderFault."""

    is_slow = True
    least_cosine = LEAST_COSINE
    dimensions = 0  # Known from the first answer on, unless they are requested

    def __init__(self, address: EndpointAddress) -> None:
        self.name, self.dimensions, self._address = f"{address.model} at {address.host}", address.dimensions, address

    def compute_fingerprint(self) -> str:
        """Hash address, model and requested dimensions to 16 hex digits."""
        address = self._address
        return xxhash.xxh3_64_hexdigest(repr((RULES, address.url, address.model, address.dimensions)).encode())

    def embed_code(self, fields: Sequence[EmbeddedFields]) -> list[bytes]:
        """Embed each entry by itself, provided the endpoint treats the texts of a request separately."""
        texts = [format_fields(entry) for entry in fields]
        batches = (texts[at : at + BATCH] for at in range(0, len(texts), BATCH))
        return [vector for batch in batches for vector in self._request_vectors(batch, INDEXING)]

    def embed_query(self, text: str) -> bytes:
        """Embed a text; an empty text is not sent and gives an empty vector."""
        (vector,) = self._request_vectors([text], ASKING) if text.strip() else [b""]
        return vector if any(vector) else b""

    def _request_vectors(self, texts: Sequence[str], limits: RetryLimits) -> list[bytes]:
        """Request vectors for texts in one request, each cut to MOST_CHARACTERS. Raises EmbedderFault."""
        body: dict[str, object] = {
            "model": self._address.model,
            "input": [text[:MOST_CHARACTERS].encode("utf-8", "replace").decode() or " " for text in texts],
            "encoding_format": "float",
        }
        if self._address.dimensions:
            body["dimensions"] = self._address.dimensions
        key = os.environ.get(KEY, "").strip() if self._address.takes_key else ""
        if not all("!" <= c <= "~" for c in key):  # no header can hold it: errors of libraries would print it
            raise UsageError(f"{KEY} contains invalid characters")
        answer = post_json(self._address.url, body, key, limits)
        try:
            rows = _read_rows(answer, len(texts))
            if {len(row) for row in rows} - {self.dimensions or len(rows[0])}:
                raise ValueError(f"vectors of {len(rows[0])} dimensions, expected {self.dimensions}")
            vectors = [scale_to_int8(row) for row in rows]
        except (ValueError, OverflowError) as fault:
            raise EmbedderFault(f"{self._address.url} does not return usable vectors: {fault}") from None
        self.dimensions = len(rows[0])
        return vectors


def _read_rows(answer: Any, wanted: int) -> list[list[float]]:
    """Read the vectors in the order of the texts. Raises ValueError if the answer has another form."""
    rows_given = answer.get("data") if isinstance(answer, dict) else None
    if not isinstance(rows_given, list) or not all(isinstance(row, dict) for row in rows_given):
        raise ValueError("`data` must be a list")
    if len(rows_given) != wanted:
        raise ValueError(f"{len(rows_given)} vectors for {wanted} texts")
    places = [row.get("index", at) for at, row in enumerate(rows_given)]
    if any(type(place) is not int for place in places) or sorted(places) != list(range(wanted)):
        raise ValueError("the numbers of the vectors are not those of the texts")
    rows = [row.get("embedding") for _, row in sorted(zip(places, rows_given, strict=True), key=lambda pair: pair[0])]
    if not all(isinstance(row, list) and all(type(v) in (int, float) for v in row) for row in rows):
        raise ValueError("`embedding` must be a list of numbers")
    return rows
