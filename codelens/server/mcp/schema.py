"""Builds JSON Schemas of the arguments and answers of tools."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from codelens.model.request import LINES, OPTIONS, ServerOption, read_words

Schema = dict[str, Any]
AnswerTypes = Any
"""The types of an answer: a class such as `str`, [TYPE] for a list, {NAME: TYPE, …} for an object, {str: TYPE} for any names."""

_JSON_NAMES = {str: "string", int: "integer", float: "number", bool: "boolean"}

LONGEST_TEXT = 4000  # Most characters of an argument: enough to describe a task at length


def make_object_schema(properties: Mapping[str, Schema], required: Sequence[str] | None = None) -> Schema:
    """Make the schema of an object with only these properties; all are required unless `required` lists some."""
    names = list(properties) if required is None else list(required)
    return {"type": "object", "properties": dict(properties), "required": names, "additionalProperties": False}


def text(description: str = "", most: int = LONGEST_TEXT) -> Schema:
    return _describe({"type": "string", "minLength": 1, "maxLength": most}, description)


def choice(description: str, of: Sequence[str], default: str | None = None) -> Schema:
    """Make the schema of one word out of `of`."""
    return _describe({"type": "string", "enum": list(of)}, description, default)


def integer(description: str, least: int, most: int, default: int | None = None) -> Schema:
    """Make the schema of an integer from `least` to `most`, both included."""
    return _describe({"type": "integer", "minimum": least, "maximum": most}, description, default)


def share(description: str) -> Schema:
    """Make the schema of a number from 0 to 1."""
    return _describe({"type": "number", "minimum": 0, "maximum": 1}, description)


def flag(description: str) -> Schema:
    return _describe({"type": "boolean"}, description, False)


def several(description: str, of: Schema, most: int = 20) -> Schema:
    """Make the schema of a list with 1 to `most` elements of the schema `of`."""
    return _describe({"type": "array", "items": of, "minItems": 1, "maxItems": most}, description)


def _describe(schema: Schema, description: str, default: object = None) -> Schema:
    described: Schema = {"description": description} if description else {}
    return schema | described | ({} if default is None else {"default": default})


def parse_fields(names: str) -> dict[str, AnswerTypes]:
    """Parse fields of an answer, such as 'path line:int', to types; a field is a text unless a type follows its name."""
    types = {"": str, "int": int, "float": float, "bool": bool, "texts": [str]}
    return {name: types[kind] for name, _, kind in (field.partition(":") for field in names.split())}


def make_answer_schema(types: AnswerTypes) -> Schema:
    """Make the schema of an answer, or of a part of one, from its types."""
    if isinstance(types, type):
        return {"type": _JSON_NAMES[types]}
    if isinstance(types, list):
        return {"type": "array", "items": make_answer_schema(types[0])}
    if str in types:
        return {"type": "object", "additionalProperties": make_answer_schema(types[str])}
    return make_object_schema({name: make_answer_schema(kind) for name, kind in types.items()})


LONGEST_PATH = 1000
LEAST_BUDGET, MOST_BUDGET = 400, 100_000
"""Bounds of a budget in tokens. A smaller answer has no room for its notices; clients refuse a larger one."""

QUERY = text(
    "Words, a name, a question in prose, or code. Filters narrow down: lang:py path:src/ file:*.go sym:Name kind:class "
    'is:test -is:test; "exact phrase", /regex/, OR, NOT, ( ). Prose never fails.'
)
TARGET = text("A symbol's name (Class.method, function), PATH:LINE or PATH", most=LONGEST_PATH)
OFFERED: Mapping[str, ServerOption] = {name: row.mcp for name, row in OPTIONS.items() if row.mcp}
"""Search option → the form in which tools offer it."""


def make_option_schema(name: str) -> Schema:
    """Make the schema of the argument for a search option. If a call omits it, the profile or the settings decide."""
    row, offered = OPTIONS[name], OFFERED[name]
    if row.is_list:
        return several(offered.help, text(most=int(offered.most or LONGEST_TEXT)))
    if row.words:
        return choice(offered.help, read_words(row))
    if offered.most is None:
        return share(offered.help)
    return integer(offered.help, int(offered.least or 0), int(offered.most))


NARROW = {name: make_option_schema(name) for name in ("languages", "paths")}
RANKED = {name: make_option_schema(name) for name in OFFERED if LINES not in OPTIONS[name].applies}
"""Arguments for ranking. The profile decides those that a call omits: graph-memory goes one hop, with minima by kind."""


def make_common_arguments(budget: int, fresh: bool = True) -> dict[str, Schema]:
    """Make the arguments that tools share: `budget` with this default, and with `fresh` one to wait for an update."""
    wait = flag("Wait (some seconds) until the index knows the latest changes of files; set it right after editing")
    room = "Most tokens of the answer (characters / 4); cuts are reported"
    return ({"fresh": wait} if fresh else {}) | {"budget": integer(room, LEAST_BUDGET, MOST_BUDGET, budget)}
