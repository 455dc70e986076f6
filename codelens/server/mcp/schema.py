"""Pieces of JSON Schema: every object is closed, every text and number has its bounds, everything says what it means."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

Schema = dict[str, Any]

LONGEST_TEXT = 4000
"""Characters of an argument. Chosen: a task described at length fits."""


def closed(properties: Mapping[str, Schema], required: Sequence[str] | None = None) -> Schema:
    """An object of these properties and no others; all are required unless it is said which."""
    names = list(properties) if required is None else list(required)
    return {"type": "object", "properties": dict(properties), "required": names, "additionalProperties": False}


def text(description: str = "", most: int = LONGEST_TEXT) -> Schema:
    """A text that is not empty."""
    return _said({"type": "string", "minLength": 1, "maxLength": most}, description)


def choice(description: str, of: Sequence[str], default: str | None = None) -> Schema:
    """One of some words."""
    return _said({"type": "string", "enum": list(of)}, description, default)


def whole(description: str, least: int, most: int, default: int | None = None) -> Schema:
    """A whole number within bounds, both included."""
    return _said({"type": "integer", "minimum": least, "maximum": most}, description, default)


def share(description: str) -> Schema:
    """A number from 0 to 1."""
    return _said({"type": "number", "minimum": 0, "maximum": 1}, description)


def flag(description: str) -> Schema:
    """True or false, false if it is left out."""
    return _said({"type": "boolean"}, description, False)


def several(description: str, of: Schema, most: int = 20) -> Schema:
    """A list of one to `most`."""
    return _said({"type": "array", "items": of, "minItems": 1, "maxItems": most}, description)


STRING: Schema = {"type": "string"}
INTEGER: Schema = {"type": "integer"}
NUMBER: Schema = {"type": "number"}
BOOLEAN: Schema = {"type": "boolean"}


def rows(of: Schema) -> Schema:
    """A list in an answer."""
    return {"type": "array", "items": of}


def counts() -> Schema:
    """Names with numbers, in an answer."""
    return {"type": "object", "additionalProperties": INTEGER}


def _said(schema: Schema, description: str, default: object = None) -> Schema:
    said: Schema = {"description": description} if description else {}
    return schema | said | ({} if default is None else {"default": default})
