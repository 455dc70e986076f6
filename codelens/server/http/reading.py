"""A request → the question in it. Raises Refused for what is none; its fields are named as the request names them."""

from __future__ import annotations

import json
from typing import Any

from pydantic import ValidationError
from starlette.datastructures import QueryParams
from starlette.requests import ClientDisconnect, Request

from codelens.notation import parse_json
from codelens.server.http.faults import Fault, Refused
from codelens.server.http.gate import LONGEST_BODY, too_long
from codelens.server.http.openapi import SHORT, openapi, parameters
from codelens.server.http.questions import Question

HINT = "/openapi.json says what there is"


async def question_of(request: Request, asked: type[Question]) -> Question:
    """From the body of a POST, else from the address."""
    if request.method == "POST":
        if request.query_params:
            raise Refused(Fault(422, "a POST has its question in the body alone", HINT))
        return _validated(asked, _parsed(request, await _body(request)), strict=True)
    return from_parameters(request.query_params, asked)


def from_parameters(parameters_given: QueryParams, asked: type[Question]) -> Question:
    """From the parameters of an address: a list is one that is repeated, any other may be there once."""
    kinds = {p["name"]: p["schema"].get("type") for p in parameters(asked)}
    long = {short: name for name, short in SHORT.items()}
    fields: dict[str, Any] = {}
    for name in parameters_given:
        values = parameters_given.getlist(name)
        if name not in kinds:
            raise Refused(Fault(422, f"{name}: there is no such parameter", f"parameters: {', '.join(kinds)}"))
        if kinds[name] != "array" and len(values) > 1:
            raise Refused(Fault(422, f"{name}: is given {len(values)} times", HINT))
        fields[long.get(name, name)] = values if kinds[name] == "array" else values[0]
    return _validated(asked, fields, strict=False)


async def _body(request: Request) -> bytes:
    body = b""
    try:
        async for part in request.stream():
            body += part
            if len(body) > LONGEST_BODY:
                raise Refused(too_long(request.url.path))
    except ClientDisconnect:  # nobody reads the answer; else it would be a traceback on stderr
        raise Refused(Fault(400, "the body ended early", HINT)) from None
    return body


def _parsed(request: Request, body: bytes) -> Any:
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise Refused(Fault(422, "the body is no application/json", "`Content-Type: application/json`"))
    try:
        return parse_json(body, parse_float=_number, parse_constant=_no_constant)
    except ValueError as error:
        raise Refused(Fault(400, "the body is no JSON", str(error)[:200] or HINT)) from None


def _number(text: str) -> float:
    """JSON has one kind of number: 20.0 is an integer, as JSON Schema has it."""
    number = float(text)
    return int(number) if number.is_integer() else number


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no number of JSON")


def _validated(asked: type[Question], fields: Any, strict: bool) -> Question:
    try:
        return asked.model_validate(fields, strict=strict)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        place = [str(part) for part in first["loc"]]
        if place and not strict:
            place[0] = SHORT.get(place[0], place[0])
        where = ".".join(place)[:100]
        raise Refused(Fault(422, f"{where + ': ' if where else ''}{first['msg']}", HINT)) from None


def document() -> bytes:
    """/openapi.json."""
    return json.dumps(openapi(), ensure_ascii=False, indent=1).encode()
