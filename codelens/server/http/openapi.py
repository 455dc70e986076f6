"""Builds the OpenAPI 3.1 document from the request models and the JSON Schema of --json, and reads requests."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from pydantic import ValidationError
from starlette.datastructures import QueryParams
from starlette.requests import ClientDisconnect, Request

from codelens import __version__
from codelens.render.records import Record
from codelens.server.http.answers import ENDPOINTS, ApiRequest, Endpoint
from codelens.server.http.faults import JSON, Fault
from codelens.server.http.gate import LONGEST_BODY, make_body_fault
from codelens.text.notation import parse_json

SHORT: Mapping[str, str] = {"query": "q"}  # Field → its parameter in a URL, named as in the marketplace's API
ABOUT = "Code search that accounts for every rank."
JSON_SCHEMA = "https://json-schema.org/draft/2020-12/schema"
_STATUSES = {
    400: "The request as a whole is invalid: a body that is not JSON, a faulty query, a foreign Host",
    401: "A key is missing or unknown",
    403: "The Origin is another web page",
    404: "The target does not exist, or is ambiguous",
    413: "The body is too long",
    422: "A field is missing, unknown or out of its range; or the answer takes too long",
    429: "Too many requests with this key",
    503: "There is no index, or there are too many requests at once",
}


@cache
def build_document() -> Record:
    """Build the OpenAPI document; it is the same for every index."""
    text = (files("codelens.render") / "schema.json").read_text(encoding="utf-8")
    shipped: Record = json.loads(text.replace("#/$defs/", "#/components/schemas/"))["$defs"]
    requests = {e.request_model.__name__: e.request_model.model_json_schema() for e in ENDPOINTS.values()}
    schemas = shipped | requests | _build_server_schemas(shipped)
    return {
        "openapi": "3.1.0",
        "info": {"title": "codelens", "version": __version__, "description": ABOUT},
        "jsonSchemaDialect": JSON_SCHEMA,
        "paths": {f"/api/{endpoint.name}": _build_path(endpoint) for endpoint in ENDPOINTS.values()},
        "components": {"schemas": schemas, "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}}},
        "security": [{}, {"key": []}],
    }


def _build_path(endpoint: Endpoint) -> Record:
    model = endpoint.request_model
    responses = {"200": {"description": "The answer", "content": _build_json_content(endpoint.schema)}}
    content = _build_json_content("fault")
    responses |= {str(code): {"description": text, "content": content} for code, text in _STATUSES.items()}
    body = {"required": True, "content": _build_json_content(model.__name__)}
    takes: list[Record] = [{"parameters": list_parameters(model)}, {"requestBody": body}]
    about = {"summary": endpoint.summary, "description": (model.__doc__ or "").strip(), "responses": responses}
    pairs = zip(("get", "post"), takes, strict=True)
    return {verb: {"operationId": f"{verb}_{endpoint.name}", **about, **request} for verb, request in pairs}


def _build_json_content(name: str) -> Record:
    return {JSON: {"schema": _refer_to(name)}}


@cache
def list_parameters(model: type[ApiRequest]) -> list[Record]:
    """List a URL parameter for each field of a model; a list is a parameter that may be repeated."""
    schema = model.model_json_schema(ref_template="#/components/schemas/{model}")
    required = schema.get("required", [])
    parameters = list[Record]()
    for name, field in schema["properties"].items():
        # Without null, because a URL omits the parameter instead.
        choices = [choice for choice in field.get("anyOf", ()) if choice.get("type") != "null"]
        kind = choices[0] if choices else {k: v for k, v in field.items() if k not in ("title", "description")}
        parameter = {"name": SHORT.get(name, name), "in": "query", "required": name in required}
        parameters.append(parameter | {"description": field.get("description", ""), "schema": kind})
    return parameters


def _refer_to(name: str) -> Record:
    return {"$ref": f"#/components/schemas/{name}"}


def _build_server_schemas(shipped: Record) -> Record:
    """Build the schemas of answers that only the server gives."""
    text, number = {"type": "string"}, {"type": "integer", "minimum": 0}
    strings = {"type": "array", "items": text}
    market: Record = {
        **dict.fromkeys(("id", "slug", "description"), text),
        "category": {"type": ["string", "number", "boolean", "null"]},
        **{key: {"type": ["number", "null"]} for key in ("avg_rating", "install_count")},
        **{key: {"type": "number"} for key in ("final_score", "rrf_score")},
        **{key: {"type": ["integer", "null"], "minimum": 1} for key in ("semantic_rank", "keyword_rank")},
    }
    file: Record = dict.fromkeys(("repository", "root", "path", "path_b64", "language"), text)
    file |= {"bytes": number, "roles": strings}
    whole = {"schema": {"const": 2}, "index": _refer_to("index"), "exit_code": {"enum": [0, 1]}}
    listing = {"files": {"type": "array", "items": _refer_to("indexed_file")}, "total": number}
    contents: Record = {"freshness": {"enum": ["fresh", "changed", "deleted"]}, "lines": strings}
    contents["symbols"] = shipped["symbols"]["properties"]["symbols"]
    return {
        "answer": _extend_schema(
            shipped["search"],
            {"results": {"type": "array", "items": _refer_to("answer_hit")}, "count": number},
            {"error": text | {"description": "why the search could not run"}},
        ),
        "answer_hit": _extend_schema(shipped["hit"], market),
        "indexed_file": _build_closed_object(file, optional=("path_b64",)),
        "files": _build_closed_object(whole | listing),
        "file": _build_closed_object(whole | file | contents, optional=("path_b64",)),
        "fault": _build_closed_object({"error": text, "hint": text, "candidates": strings}, optional=("candidates",)),
    }


def _extend_schema(schema: Record, more: Record, at_times: Record | None = None) -> Record:
    """Extend a closed object's schema with required fields, and with optional ones (`at_times`)."""
    required = list(dict.fromkeys([*schema["required"], *more]))
    return schema | {"properties": schema["properties"] | more | (at_times or {}), "required": required}


def _build_closed_object(properties: Record, optional: tuple[str, ...] = ()) -> Record:
    return {
        "type": "object",
        "properties": properties,
        "required": [name for name in properties if name not in optional],
        "additionalProperties": False,
    }


HINT = "/openapi.json says what there is"


async def read_request(request: Request, model: type[ApiRequest]) -> ApiRequest:
    """Read a request from the body of a POST, else from the URL."""
    if request.method == "POST":
        if request.query_params:
            raise Fault(422, "a POST takes its parameters only from the body", HINT)
        body = await _read_body(request)
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind != JSON:
            raise Fault(422, "the body is not application/json", "`Content-Type: application/json`")
        try:
            fields = parse_json(body, parse_float=_parse_number, parse_constant=_refuse_constant)
        except ValueError as error:
            raise Fault(400, "the body is not JSON", str(error)[:200] or HINT) from None
        return _validate(model, fields, strict=True)
    return read_parameters(request.query_params, model)


def read_parameters(parameters_given: QueryParams, model: type[ApiRequest]) -> ApiRequest:
    """Read a request from the parameters of a URL. Only parameters for lists may be repeated."""
    kinds = {p["name"]: p["schema"].get("type") for p in list_parameters(model)}
    long = {short: name for name, short in SHORT.items()}
    fields: dict[str, Any] = {}
    for name in parameters_given:
        values = parameters_given.getlist(name)
        if name not in kinds:
            raise Fault(422, f"{name}: there is no such parameter", f"parameters: {', '.join(kinds)}")
        if kinds[name] != "array" and len(values) > 1:
            raise Fault(422, f"{name}: given {len(values)} times", HINT)
        fields[long.get(name, name)] = values if kinds[name] == "array" else values[0]
    return _validate(model, fields, strict=False)


async def _read_body(request: Request) -> bytes:
    body = b""
    try:
        async for part in request.stream():
            body += part
            if len(body) > LONGEST_BODY:
                raise make_body_fault(request.url.path)
    except ClientDisconnect:  # the client has gone; without this, a traceback goes to stderr
        raise Fault(400, "the body ended early", HINT) from None
    return body


def _parse_number(text: str) -> float:
    """Read a number; whole ones such as 20.0 become integers, as in JSON Schema."""
    number = float(text)
    return int(number) if number.is_integer() else number


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a number in JSON")


def _validate(model: type[ApiRequest], fields: Any, strict: bool) -> ApiRequest:
    try:
        return model.model_validate(fields, strict=strict)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        place = [str(part) for part in first["loc"]]
        if place and not strict:
            place[0] = SHORT.get(place[0], place[0])
        where = ".".join(place)[:100]
        raise Fault(422, f"{where + ': ' if where else ''}{first['msg']}", HINT) from None
