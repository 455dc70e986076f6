"""The requests of the HTTP API: closed models that parse requests and make the OpenAPI document.

A body of JSON is taken as it is written; parameters of an address are texts, and are read as numbers where one is wanted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, WithJsonSchema, create_model
from pydantic_core import PydanticCustomError

from codelens.config import load_weights
from codelens.context.parts import LONGEST_TOKEN
from codelens.lang.registry import accepted_names
from codelens.model.context import BUDGETS, TASK
from codelens.model.graph import IMPLIED_KINDS, KINDS
from codelens.model.request import OPTIONS, ServerOption, read_words

M = TypeVar("M", bound=BaseModel)

DEFAULT_LIMIT, MOST_RESULTS = 20, 100  # The marketplace's
LONGEST_QUERY = 4_000  # Characters. A page of a task's description.
LONGEST_NAME = 1_000  # Characters of a path, a glob or a symbol's name
MOST_NAMES = 50  # Values of one filter
MOST_TARGETS = 20
MOST_BUDGET = 200_000  # Tokens of a pack. The window of the larger models.
MOST_OFFSET = 10_000
MOST_DEPTH = 10
EDGES = (*KINDS, *(kind for kind in IMPLIED_KINDS if kind not in KINDS))
_WEIGHT = rf"({'|'.join(load_weights()['codelens']['channels'])})=\d{{1,6}}(\.\d{{1,6}})?"
WEIGHTS = rf"^(|{_WEIGHT}(,{_WEIGHT})*)$"  # exact=2,fuzzy=0.5


def _replace_unencodable(text: str) -> str:
    """Halves of surrogate pairs can be in no index; a NUL ends a text in SQLite."""
    return text.encode("utf-8", "replace").decode().replace("\0", " ")


def _check_language(name: str) -> str:
    if name not in accepted_names():
        raise PydanticCustomError("language", "unknown language '{name}'", {"name": name[:40]})
    return accepted_names()[name]


def _check_profile(name: str) -> str:
    if name and name not in load_weights():
        raise PydanticCustomError("profile", "{said}", {"said": f"profiles: {', '.join(load_weights())}"})
    return name


Query = Annotated[str, AfterValidator(_replace_unencodable), Field(max_length=LONGEST_QUERY)]
Name = Annotated[str, AfterValidator(_replace_unencodable), Field(min_length=1, max_length=LONGEST_NAME)]
Language = Annotated[
    str,
    AfterValidator(_check_language),
    WithJsonSchema({"type": "string", "enum": sorted(accepted_names())}),
]
Profile = Annotated[
    str, AfterValidator(_check_profile), WithJsonSchema({"type": "string", "enum": ["", *load_weights()]})
]
Names = Annotated[list[Name], Field(max_length=MOST_NAMES)]
Languages = Annotated[list[Language], Field(max_length=MOST_NAMES)]
Limit = Annotated[int, Field(ge=1, le=MOST_RESULTS)]
Share = Annotated[float, Field(ge=0, le=1)]


class ApiRequest(BaseModel):
    """Base of all requests: unknown fields are refused."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)


FILTERS = ("languages", "languages_not", "globs", "paths", "repositories")
OFFERED: Mapping[str, ServerOption] = {name: row.http for name, row in OPTIONS.items() if row.http}
"""Search option → how a request has it."""
TYPES: Mapping[str, Any] = {
    "languages": Languages,
    "languages_not": Languages,
    "profile": Profile,
    "weights": Annotated[str, Field(pattern=WEIGHTS)],
}
"""Search option → its type in a request, where its row does not say it."""


def with_options(*names: str) -> Callable[[type[M]], type[M]]:
    """A decorator that adds the fields of these search options to a model."""
    fields: dict[str, Any] = {}
    for name in names:
        row, offered = OPTIONS[name], OFFERED[name]
        default = row.default if offered.default is ... else offered.default
        kind = TYPES.get(name, Names if row.is_list else row.type)
        if row.words and kind is str:
            kind = Literal[(*([default] if default == "" else []), *read_words(row))]
            kind = kind | None if default is None else kind
        default = [] if row.is_list else default
        fields[offered.name or name] = kind, Field(default, ge=offered.least, le=offered.most, description=offered.help)
    return lambda model: create_model(
        model.__name__, __base__=model, __module__=model.__module__, __doc__=model.__doc__, **fields
    )


def given_options(request: Filters) -> dict[str, Any]:
    """Search option → its value in a request that has it."""
    values = {name: getattr(request, offered.name or name, None) for name, offered in OFFERED.items()}
    values["paths"] = [path.strip("/") for path in values["paths"] or ()]
    return {name: tuple(v) if isinstance(v, list) else v for name, v in values.items() if v is not None}


@with_options(*FILTERS)
class Filters(ApiRequest):
    """Which files take part."""


@with_options(*(name for name in OFFERED if name not in FILTERS))
class SearchAsked(Filters):
    """A search: the query language of `codelens search`, its filters and its ranking options."""

    query: Query = Field(description="Words, names, prose; filters such as lang:py path:src -is:test")
    category: str | None = Field(
        None, min_length=1, max_length=200, pattern="^[^,]+$", description="Only files of this category in the metadata"
    )
    is_paid: bool | None = Field(None, description="Only files of which the metadata says so")
    contributions: bool = Field(False, description="Add all parts of each score to the hits")


class WhyAsked(SearchAsked):
    """A search, and the target to explain."""

    target: Annotated[list[Name], Field(max_length=MOST_TARGETS)] = Field(
        [], description="PATH:LINE or a symbol's name; none: all hits"
    )


class ContextAsked(Filters):
    """A pack of code within a budget of tokens, for a task or for files."""

    query: Query = Field("", description="The task in words")
    files: Names = Field([], description="In place of a task: these files, their symbols and who calls them")
    budget: int = Field(BUDGETS[TASK], ge=100, le=MOST_BUDGET, description="Tokens in all")
    limit: int | None = Field(None, ge=1, le=1000, description="At most this many symbols")
    forms: Literal["auto", "bodies", "signatures"] = Field("auto", description="How much of a symbol")
    more: str = Field(
        "",
        max_length=LONGEST_TOKEN,
        description="In place of a task: the token at the end of a pack, for its next part",
    )


class RelationsAsked(Filters):
    """A question to the symbol graph."""

    target: Name = Field(description="PATH, PATH:LINE or a symbol's name")
    kinds: Annotated[list[Literal[EDGES]], Field(max_length=len(EDGES))] = Field(  # type: ignore[valid-type]
        [], description="Only these kinds of edges"
    )
    min_confidence: Share | None = Field(None, description="Only edges at least this sure")
    depth: int | None = Field(None, ge=1, le=MOST_DEPTH, description="Hops to follow")
    limit: Limit = Field(MOST_RESULTS, description="At most this many relations")


class ReferencesAsked(RelationsAsked):
    """A question for the places of a name."""

    sure: bool = Field(False, description="Only places that scopes, imports or types lead to")
    text: bool = Field(False, description="Also the name in comments, strings and documents")


class FileAsked(ApiRequest):
    """One file of the index."""

    path: Name = Field(description="Relative to its repository's root")
    repository: str = Field("", max_length=LONGEST_NAME, description="Needed where several repositories have the path")


class FilesAsked(Filters):
    """A list of indexed files."""

    limit: Limit = Field(DEFAULT_LIMIT, description="At most this many files")
    offset: int = Field(0, ge=0, le=10_000_000, description="Leave out the first files")


class StatusAsked(ApiRequest):
    """The state of the index."""

    check: bool = Field(False, description="Walk the trees for files that are new, changed or gone")
