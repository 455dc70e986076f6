"""The requests of the HTTP API: closed models that parse requests and make the OpenAPI document.

A body of JSON is taken as it is written; parameters of an address are texts, and are read as numbers where one is wanted.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, WithJsonSchema
from pydantic_core import PydanticCustomError

from codelens.config import load_weights
from codelens.context.parts import LONGEST_TOKEN
from codelens.lang.registry import accepted_names
from codelens.model.context import BUDGETS, TASK
from codelens.model.graph import IMPLIED_KINDS, KINDS

DEFAULT_LIMIT, MOST_RESULTS = 20, 100  # The marketplace's
LONGEST_QUERY = 4_000  # Characters. A page of a task's description.
LONGEST_NAME = 1_000  # Characters of a path, a glob or a symbol's name
MOST_NAMES = 50  # Values of one filter
MOST_TARGETS = 20
MOST_BUDGET = 200_000  # Tokens of a pack. The window of the larger models.
MOST_OFFSET = 10_000
MOST_DEPTH = 10
EDGES = (*KINDS, *(kind for kind in IMPLIED_KINDS if kind not in KINDS))
_WEIGHT = r"(exact|fuzzy|vector|symbol|path|equivalence)=\d{1,6}(\.\d{1,6})?"
WEIGHTS = rf"^(|{_WEIGHT}(,{_WEIGHT})*)$"  # exact=2,fuzzy=0.5


def _encodable(text: str) -> str:
    """Halves of surrogate pairs can be in no index; a NUL ends a text in SQLite."""
    return text.encode("utf-8", "replace").decode().replace("\0", " ")


def _known_language(name: str) -> str:
    if name not in accepted_names():
        raise PydanticCustomError("language", "unknown language '{name}'", {"name": name[:40]})
    return accepted_names()[name]


def _known_profile(name: str) -> str:
    if name and name not in load_weights():
        raise PydanticCustomError("profile", "{said}", {"said": f"profiles: {', '.join(load_weights())}"})
    return name


Query = Annotated[str, AfterValidator(_encodable), Field(max_length=LONGEST_QUERY)]
Name = Annotated[str, AfterValidator(_encodable), Field(min_length=1, max_length=LONGEST_NAME)]
Language = Annotated[
    str,
    AfterValidator(_known_language),
    WithJsonSchema({"type": "string", "enum": sorted(accepted_names())}),
]
Profile = Annotated[
    str, AfterValidator(_known_profile), WithJsonSchema({"type": "string", "enum": ["", *load_weights()]})
]
Names = Annotated[list[Name], Field(max_length=MOST_NAMES)]
Languages = Annotated[list[Language], Field(max_length=MOST_NAMES)]
Limit = Annotated[int, Field(ge=1, le=MOST_RESULTS)]
Share = Annotated[float, Field(ge=0, le=1)]


class ApiRequest(BaseModel):
    """Base of all requests: unknown fields are refused."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)


class Filters(ApiRequest):
    """Which files take part."""

    lang: Languages = Field([], description="Only these languages: py, ts, go …")
    lang_not: Languages = Field([], description="Not these languages")
    glob: Names = Field([], description="Only paths that fit; `!GLOB` excludes; the last that fits wins")
    below: Names = Field([], description="Only below these paths, relative to a repository's root")
    repository: Names = Field([], description="Only these repositories, by their names in the index")


class SearchAsked(Filters):
    """A search: the query language of `codelens search`, its filters and its ranking options."""

    query: Query = Field(description="Words, names, prose; filters such as lang:py path:src -is:test")
    limit: Limit = Field(DEFAULT_LIMIT, description="At most this many hits")
    offset: int = Field(0, ge=0, le=MOST_OFFSET, description="Leave out the first hits")
    mode: Literal["hybrid", "keyword", "vector", "exact", "fuzzy"] | None = Field(None, description="Set of channels")
    profile: Profile = Field("", description="The score's formula")
    intent: Literal["", "identifier", "path", "regex", "change", "task", "question"] = Field(
        "", description="What kind of query it is; empty to tell it from its words"
    )
    fusion: Literal["rrf", "weighted", "minmax"] = Field("rrf", description="How the channels are joined")
    rrf_k: int | None = Field(None, ge=1, le=10_000, description="The constant of reciprocal rank fusion")
    weights: str = Field("", pattern=WEIGHTS, description="Weights of channels, as exact=2,fuzzy=1,vector=0.5")
    expand: Literal["", "none", "walk", "bfs"] = Field("", description="How an answer spreads over the symbol graph")
    depth: int | None = Field(None, ge=0, le=MOST_DEPTH, description="Most hops of it")
    min_score: Share | None = Field(
        None,
        description="Leave out hits of less confidence than this, or of a lower share of the best score where hits have none",
    )
    case: Literal["auto", "yes", "no"] = Field("auto", description="Whether upper case in the query matters")
    word: bool = Field(False, description="Match whole words only")
    prefix: bool = Field(False, description="Each word stands for all that begin so")
    kinds: Names = Field([], description="Only these kinds: function, class, doc, code, note, task, skill …")
    files_only: bool = Field(False, description="Rank whole files, by name, by what they define and import, by meaning")
    literal: bool = Field(False, description="Take the query literally: no filters, no operators")
    regex: bool = Field(False, description="The query is a regular expression")
    strict: bool = Field(False, description="Refuse a query with a fault instead of reading it as text")
    category: str | None = Field(
        None, min_length=1, max_length=200, pattern="^[^,]+$", description="Only files of this category in the metadata"
    )
    is_paid: bool | None = Field(None, description="Only files of which the metadata says so")
    meta: Names = Field([], description="Only files of which the metadata says so: category=cli, stars>=100")
    sort: Literal["score", "path", "modified"] = Field("score", description="The order of the hits")
    reverse: bool = Field(False, description="Turn the order round")
    before: int = Field(0, ge=0, le=50, description="Lines shown before a hit")
    after: int = Field(0, ge=0, le=50, description="Lines shown after a hit")
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
