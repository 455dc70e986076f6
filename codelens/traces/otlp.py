"""Reads OTLP/JSON: the code that each span names.

A file is one object, or one object per line as the OpenTelemetry Collector's file exporter writes. Attribute names follow
the semantic conventions for source code: current names (`code.function.name`) before older ones (`code.function`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from codelens.errors import TracesFault
from codelens.model.memory import SpanRun
from codelens.text.notation import parse_json

FUNCTION = ("code.function.name", "code.function")
NAMESPACE = ("code.namespace",)
FILE = ("code.file.path", "code.filepath")
LINE = ("code.line.number", "code.lineno")
NANOSECONDS = 1_000_000_000
SPANS = ("scopeSpans", "instrumentationLibrarySpans")  # The second name was used until OTLP 0.16


def read_spans(content: bytes, name: str) -> Iterator[SpanRun | None]:
    """The code of each span, in order; None for a span without function or time. Raises TracesFault."""
    for exported in _objects(content, name):
        resources = exported.get("resourceSpans")
        if not isinstance(resources, list):
            raise TracesFault(
                f"{name} has no resourceSpans", "give it OTLP as JSON, as a collector's file exporter writes"
            )
        for span in _below(resources, *SPANS):
            yield _ran(span)


def _objects(content: bytes, name: str) -> Iterator[dict[str, Any]]:
    try:
        text = content.decode("utf-8-sig")
        try:
            found = [parse_json(text)]
        except ValueError:
            found = [parse_json(line) for line in text.splitlines() if line.strip()]
    except ValueError as fault:
        raise TracesFault(
            f"{name} is not JSON: {fault}", "give it OTLP as JSON, as a collector's file exporter writes"
        ) from None
    for one in found:
        yield one if isinstance(one, dict) else {}


def _below(resources: list[Any], *names: str) -> Iterator[dict[str, Any]]:
    for resource in _dicts(resources):
        for name in names:
            for scope in _dicts(resource.get(name)):
                yield from _dicts(scope.get("spans"))


def _dicts(value: Any) -> Iterator[dict[str, Any]]:
    yield from (one for one in value if isinstance(one, dict)) if isinstance(value, list) else ()


def _ran(span: dict[str, Any]) -> SpanRun | None:
    attributes = {str(one.get("key")): one.get("value") for one in _dicts(span.get("attributes"))}
    at = _number(span.get("endTimeUnixNano")) or _number(span.get("startTimeUnixNano"))
    function, line = _text(attributes, FUNCTION), _text(attributes, LINE)
    if not function or not at or at < 0:
        return None
    return SpanRun(function, _text(attributes, NAMESPACE), _text(attributes, FILE), _number(line), at // NANOSECONDS)


def _text(attributes: dict[str, Any], names: tuple[str, ...]) -> str:
    """The first of these attributes with a value: a string, or a 64-bit number, which OTLP/JSON writes as a string."""
    for name in names:
        value = attributes.get(name)
        found = (
            next((value[key] for key in ("stringValue", "intValue") if key in value), "")
            if isinstance(value, dict)
            else ""
        )
        if isinstance(found, str | int) and str(found):
            return str(found)
    return ""


def _number(value: Any) -> int | None:
    """The integer of a value. 64-bit numbers are strings in OTLP/JSON, but some exporters write numbers."""
    text = str(value)
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 20 else None
