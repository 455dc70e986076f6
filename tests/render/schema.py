"""The JSON schema that ships, and a check of a record against it."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import Any

from jsonschema import Draft202012Validator


@cache
def schema() -> dict[str, Any]:
    text = (files("codelens.render") / "schema.json").read_text(encoding="utf-8")
    return dict(json.loads(text))


@cache
def make_validator(kind: str) -> Draft202012Validator:
    Draft202012Validator.check_schema(schema())
    return Draft202012Validator({"$ref": f"#/$defs/{kind}", "$defs": schema()["$defs"]})


def check(record: object, kind: str) -> None:
    """Against one definition of the schema that ships, which must itself be sound."""
    make_validator(kind).validate(record)
