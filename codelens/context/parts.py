"""Writes and reads the token of a pack's next part: the request, and which candidates were sent, in one word.

Nothing is stored. A token is the URL-safe Base64 of a checksum, the hash of the state that it continues, one digit for each
candidate, and the request as JSON without its default values. A diff is represented by its hash.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict
from types import UnionType
from typing import Any, get_args, get_origin, get_type_hints

from codelens.errors import UsageError
from codelens.model.context import BUDGETS, EVERYTHING, TASK, ContextRequest, Counter, Forms, SentParts
from codelens.model.fast_dataclass import replace
from codelens.model.request import SearchOptions
from codelens.text.notation import parse_json

FORMS_OF_SENDING = 3  # Base of the digits in a token: not sent, sent as a signature, sent whole
CHECKSUM, STATE = 4, 6  # Bytes of the checksum, and of the hash of the state
LONGEST_TOKEN = 20_000  # Most characters of a token, which holds the task and the filters
OWN = ("source", "query", "forms", "revisions", "staged")
"""Fields of a request that a token holds, in addition to the options."""
PREFIX = "c"  # A token must not begin with a dash, which would make it an option


def hash_state(snapshot: str, places: object) -> bytes:
    """Hash an index's content and the candidates in it."""
    return hashlib.sha256(json.dumps([snapshot, places]).encode("utf-8", "surrogatepass")).digest()[:STATE]


def write_token(request: ContextRequest, sent: SentParts) -> str:
    """Write the token that requests the next part."""
    number = 0
    for form in reversed(sent.forms):
        number = number * FORMS_OF_SENDING + form
    digits = number.to_bytes((number.bit_length() + 7) // 8, "little")
    asked = json.dumps(describe_request(request), ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
    data = sent.state + len(sent.forms).to_bytes(2) + len(digits).to_bytes(2) + digits + asked
    return PREFIX + base64.urlsafe_b64encode(_compute_checksum(data) + data).decode().rstrip("=")


def read_token(token: str) -> tuple[Mapping[str, Any], SentParts]:
    """Read a token: (the request as `describe_request` returns it, the parts that were sent). Raises UsageError."""
    body = token.removeprefix(PREFIX)
    try:
        raw = base64.b64decode(body + "=" * (-len(body) % 4), b"-_", validate=True)
        data = raw[CHECKSUM:]
        if not data or raw[:CHECKSUM] != _compute_checksum(data) or not token.startswith(PREFIX):
            raise ValueError
        state, count, width = data[:STATE], int.from_bytes(data[6:8]), int.from_bytes(data[8:10])
        number, forms = int.from_bytes(data[10 : 10 + width], "little"), list[int]()
        for _ in range(count):
            number, form = divmod(number, FORMS_OF_SENDING)
            forms.append(form)
        return parse_json(data[10 + width :]), SentParts(state, tuple(forms))
    except ValueError:
        raise UsageError("this is not a token of codelens context", "copy it whole from the end of a pack") from None


def describe_request(request: ContextRequest) -> Mapping[str, Any]:
    """Collect the values of a request that decide its candidates, without default values."""
    plain = ContextRequest(TASK, request.counter, SearchOptions(limit=EVERYTHING), 0)
    asked = {name: getattr(request, name) for name in OWN if getattr(request, name) != getattr(plain, name)}
    asked |= {n: v for n, v in asdict(request.options).items() if v != getattr(plain.options, n)}
    if request.diff is not None:
        asked["diff"] = hashlib.sha256(request.diff).hexdigest()[:16]
    return {name: list(value) if isinstance(value, tuple) else value for name, value in asked.items()}


def resume_request(token: str, counter: Counter, budget: int | None, cwd: str = "") -> ContextRequest:
    """Make the request for the next part from a token. Without a budget, the default of the request's source is used.

    Raises UsageError for a text that is not a token, and for the token of a pack for a diff, which it does not hold.
    """
    asked, sent = read_token(token)
    if "diff" in asked:
        raise UsageError("this token continues a pack for a diff", "give the same diff again with the token")
    values = {name: tuple(value) if isinstance(value, list) else value for name, value in asked.items()}
    own = {name: values.pop(name) for name in OWN if name in values}
    hints = get_type_hints(SearchOptions)
    try:
        if not all(_has_type(value, hints[name]) for name, value in values.items()):
            raise TypeError
        own["forms"] = Forms(asked.get("forms", "auto"))
        options = replace(SearchOptions(limit=EVERYTHING), **values)
        request = replace(ContextRequest(TASK, counter, options, 0, cwd=cwd, sent=sent), **own)
        return replace(request, budget=BUDGETS[request.source] if budget is None else budget)
    except (TypeError, ValueError, KeyError):
        raise UsageError("this token is from another version of codelens", "ask again without it") from None


def _has_type(value: object, hint: Any) -> bool:
    """Decide if a value from a token fits the type hint of an option."""
    kinds = tuple(get_origin(kind) or kind for kind in (get_args(hint) if isinstance(hint, UnionType) else (hint,)))
    if isinstance(value, tuple) and not all(isinstance(element, str) for element in value):
        return False
    return isinstance(value, (*kinds, int) if float in kinds else kinds)


def continue_request(request: ContextRequest, token: str) -> ContextRequest:
    """Make the same request for the token's part. Raises UsageError if the token belongs to another request."""
    asked, sent = read_token(token)
    if asked != describe_request(request):
        raise UsageError("this token belongs to another request", "repeat all its arguments, or give the token alone")
    return replace(request, sent=sent)


def _compute_checksum(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()[:CHECKSUM]
