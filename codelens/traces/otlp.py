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
HINT = "give it OTLP as JSON, as a collector's file exporter writes"
SPANS = ("scopeSpans", "instrumentationLibrarySpans")  # The second name was used until OTLP 0.16


def read_spans(content: bytes, name: str) -> Iterator[SpanRun | None]:
    """The code of each span, in order; None for a span without function or time. Raises TracesFault."""
    for exported in _parse_objects(content, name):
        resources = exported.get("resourceSpans")
        if not isinstance(resources, list):
            raise TracesFault(f"{name} has no resourceSpans", HINT)
        for resource in _dicts(resources):
            for scopes in map(resource.get, SPANS):
                for scope in _dicts(scopes):
                    yield from map(_read_span, _dicts(scope.get("spans")))


def _parse_objects(content: bytes, name: str) -> Iterator[dict[str, Any]]:
    try:
        text = content.decode("utf-8-sig")
        try:
            values = [parse_json(text)]
        except ValueError:
            values = [parse_json(line) for line in text.splitlines() if line.strip()]
    except ValueError as fault:
        raise TracesFault(f"{name} is not JSON: {fault}", HINT) from None
    for value in values:
        yield value if isinstance(value, dict) else {}


def _dicts(value: Any) -> list[dict[str, Any]]:
    return [entry for entry in value if isinstance(entry, dict)] if isinstance(value, list) else []


def _read_span(span: dict[str, Any]) -> SpanRun | None:
    attributes = {str(entry.get("key")): entry.get("value") for entry in _dicts(span.get("attributes"))}
    at = _read_number(span.get("endTimeUnixNano")) or _read_number(span.get("startTimeUnixNano"))
    function, namespace, file, line = (_read_text(attributes, names) for names in (FUNCTION, NAMESPACE, FILE, LINE))
    return SpanRun(function, namespace, file, _read_number(line), at // NANOSECONDS) if function and at else None


def _read_text(attributes: dict[str, Any], names: tuple[str, ...]) -> str:
    """The first of these attributes with a value: a string, or a 64-bit number, which OTLP/JSON writes as a string."""
    for name in names:
        value = attributes.get(name)
        if isinstance(value, dict):
            text = next((value[key] for key in ("stringValue", "intValue") if key in value), "")
            if isinstance(text, str | int) and str(text):
                return str(text)
    return ""


def _read_number(value: Any) -> int | None:
    """The integer of a value. 64-bit numbers are strings in OTLP/JSON, but some exporters write numbers."""
    text = str(value)
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 20 else None
