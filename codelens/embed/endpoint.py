"""An endpoint that speaks as OpenAI's `/embeddings` does → vectors. Text leaves the machine here, and nowhere else.

Only a user's own setting names one, and each command must allow it. Its fingerprint is its address, so what it gives is believed to
stay the same; a changed number of dimensions is noticed.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any
from urllib.parse import parse_qs, urlsplit

import xxhash

from codelens.embed.base import EmbeddedFields
from codelens.embed.post import Patience, post_json
from codelens.embed.prose import LEAST_COSINE, as_text
from codelens.embed.rounded import MOST_DIMENSIONS, rounded
from codelens.errors import EmbedderFault, UsageError
from codelens.nouns import dataclass

KEY = "CODELENS_API_KEY"
RULES = "endpoint 1"
"""Change the number with anything that changes what is sent."""
BATCH = 64
"""Texts of one request: some 30 000 tokens at most, a tenth of what OpenAI takes. Chosen."""
MOST_CHARACTERS = 8000
"""Of one text. A piece has up to 2048 and its head is short; what is longer would be refused for its tokens (8192). Chosen."""
INDEXING = Patience(seconds=60, tries=6, in_all=300)
ASKING = Patience(seconds=5, tries=2, in_all=8)
"""A question waits less than the 10 s that a channel may take."""
NEAR = ("localhost", "127.0.0.1", "::1")
"""Hosts that a key may be sent to without encryption."""


@dataclass(frozen=True, slots=True)
class Address:
    """`https://host/v1?dimensions=256#model`, taken apart."""

    url: str
    """Where requests go."""
    host: str
    model: str
    dimensions: int = 0
    """Those that are asked for; 0 for the model's own."""
    takes_key: bool = True
    """Whether a key may travel there."""


def parse_address(setting: str) -> Address:
    """Raises UsageError for an address without a model, with a password, or with more than it can have."""
    form = "write it as https://host/v1#model or https://host/v1?dimensions=256#model"
    try:
        parts = urlsplit(setting)
        host, _ = parts.hostname or "", parts.port
    except ValueError as fault:
        raise UsageError(f"the model's address makes no sense: {fault}", form) from None
    if parts.username is not None or parts.password is not None:
        raise UsageError("the model's address holds a password", f"{KEY} in the environment holds the key")
    asked = parse_qs(parts.query, keep_blank_values=True)
    (dimensions,) = asked.pop("dimensions", ["0"])[:1]
    if asked:  # a key may stand there, which the index would remember
        raise UsageError("the model's address may ask for nothing but dimensions", form)
    if not host or not parts.fragment or not (dimensions.isascii() and dimensions.isdigit()):
        raise UsageError(f"the model's address {setting} is not whole", form)
    if any(c.isspace() or not c.isprintable() or not c.isascii() for c in parts.netloc + parts.path):
        raise UsageError("the model's address holds characters that none can have", form)
    if int(dimensions) > MOST_DIMENSIONS:
        raise UsageError(f"a vector has at most {MOST_DIMENSIONS} dimensions, not {dimensions}")
    url = f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/')}/embeddings"
    return Address(url, parts.netloc, parts.fragment, int(dimensions), parts.scheme == "https" or host in NEAR)


class EndpointEmbedder:
    """See the module. Its methods raise EmbedderFault."""

    slow = True
    least_cosine = LEAST_COSINE

    def __init__(self, address: Address) -> None:
        self.name = f"{address.model} at {address.host}"
        self.dimensions = address.dimensions
        self._address = address

    def knows(self, text: str) -> bool:
        """Never: from here nobody can tell, so a question of which the index knows no word is not sent."""
        return False

    def fingerprint(self) -> str:
        """16 hex digits over address, model and the dimensions that are asked for."""
        address = self._address
        parts = (RULES, address.url, address.model, address.dimensions)
        return xxhash.xxh3_64_hexdigest(repr(parts).encode())

    def embed_code(self, fields: Sequence[EmbeddedFields]) -> list[bytes]:
        """One vector for each entry, as far as the endpoint keeps the texts of a request apart."""
        texts = [as_text(entry) for entry in fields]
        return [v for at in range(0, len(texts), BATCH) for v in self._embedded(texts[at : at + BATCH], INDEXING)]

    def embed_query(self, text: str) -> bytes:
        """The text's vector; empty for an empty text, which is not sent."""
        (vector,) = self._embedded([text], ASKING) if text.strip() else [b""]
        return vector if any(vector) else b""

    def _embedded(self, texts: Sequence[str], patience: Patience) -> list[bytes]:
        body: dict[str, object] = {
            "model": self._address.model,
            "input": [text[:MOST_CHARACTERS].encode("utf-8", "replace").decode() or " " for text in texts],
            "encoding_format": "float",
        }
        if self._address.dimensions:
            body["dimensions"] = self._address.dimensions
        answer = post_json(self._address.url, body, _key() if self._address.takes_key else "", patience)
        try:
            rows = _rows(answer, len(texts))
            if {len(row) for row in rows} - {self.dimensions or len(rows[0])}:
                raise ValueError(f"vectors of {len(rows[0])} dimensions, where {self.dimensions} were wanted")
            vectors = [rounded(row) for row in rows]
        except (ValueError, OverflowError) as fault:
            raise EmbedderFault(f"{self._address.url} gives no vectors that can be used: {fault}") from None
        self.dimensions = len(rows[0])
        return vectors


def _key() -> str:
    """Raises UsageError for one that no header can hold: the faults of others would print it."""
    key = os.environ.get(KEY, "").strip()
    if not all("!" <= c <= "~" for c in key):
        raise UsageError(f"{KEY} holds characters that no key has")
    return key


def _rows(answer: Any, wanted: int) -> list[list[float]]:
    """The vectors in the order of the texts. Raises ValueError for what is no such answer."""
    found = answer.get("data") if isinstance(answer, dict) else None
    if not isinstance(found, list) or not all(isinstance(row, dict) for row in found):
        raise ValueError("there is no list `data`")
    if len(found) != wanted:
        raise ValueError(f"{len(found)} vectors for {wanted} texts")
    places = [row.get("index", at) for at, row in enumerate(found)]
    if any(type(place) is not int for place in places) or sorted(places) != list(range(wanted)):
        raise ValueError("they are numbered otherwise than the texts")
    rows = [row.get("embedding") for _, row in sorted(zip(places, found, strict=True), key=lambda pair: pair[0])]
    if not all(isinstance(row, list) and all(type(v) in (int, float) for v in row) for row in rows):
        raise ValueError("an `embedding` is no list of numbers")
    return rows
