"""Answers requests from an open index with JSON objects, made by the renderers of the command line's --json.

Requests are closed models, which parse the input and describe it in the OpenAPI document. JSON bodies must have the right
types; parameters in a URL are texts, which are converted to numbers where the model has numbers.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, TypeVar, cast

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, WithJsonSchema, create_model
from pydantic_core import PydanticCustomError

from codelens.config import Settings, load_weights
from codelens.context.counters import open_counter
from codelens.context.parts import LONGEST_TOKEN, resume_request
from codelens.errors import UsageError
from codelens.fleet.holding import ShardLostError
from codelens.fleet.manifest import match_any_glob
from codelens.fleet.open import FleetPlace
from codelens.index import Index
from codelens.lang.registry import map_accepted_names
from codelens.model.context import BUDGETS, EVERYTHING, FILES, TASK, ContextRequest, Forms
from codelens.model.fast_dataclass import replace
from codelens.model.graph import IMPLIED_KINDS, KINDS, RelationAnswer, RelationOptions
from codelens.model.request import LINES, OPTIONS, SearchOptions, ServerOption, read_words
from codelens.model.search import NOTHING_ASKED, Contribution, Hit, SearchResult
from codelens.render.context import make_layout
from codelens.render.outline import build_files_record, build_outline_record, build_source_record, select_symbols
from codelens.render.paths import PathStyle
from codelens.render.records import Record, build_search_record, to_json
from codelens.render.relations import build_answer_record
from codelens.render.reports import build_status_record
from codelens.render.why_json import build_why_record
from codelens.server.http.faults import Fault, make_fault
from codelens.server.http.keys import EVERY

M = TypeVar("M", bound=BaseModel)

DEFAULT_LIMIT, MOST_RESULTS = 20, 100  # As in the marketplace's API
LONGEST_QUERY = 4_000  # Most characters of a query: a page that describes a task
LONGEST_NAME = 1_000  # Most characters of a path, a glob or a symbol's name
MOST_NAMES = 50  # Most values of one filter
MOST_TARGETS = 20
MOST_BUDGET = 200_000  # Most tokens of a pack: the context window of the larger models
MOST_DEPTH = 10
EDGES = (*KINDS, *(kind for kind in IMPLIED_KINDS if kind not in KINDS))
_WEIGHT = rf"({'|'.join(load_weights()['codelens']['channels'])})=\d{{1,6}}(\.\d{{1,6}})?"
WEIGHTS = rf"^(|{_WEIGHT}(,{_WEIGHT})*)$"  # Such as exact=2,fuzzy=0.5


def _replace_unencodable(text: str) -> str:
    """Replace halves of surrogate pairs, which no index contains, and NUL characters, which end a text in SQLite."""
    return text.encode("utf-8", "replace").decode().replace("\0", " ")


def _check_language(name: str) -> str:
    if name not in map_accepted_names():
        raise PydanticCustomError("language", "unknown language '{name}'", {"name": name[:40]})
    return map_accepted_names()[name]


def _check_profile(name: str) -> str:
    if name and name not in load_weights():
        raise PydanticCustomError("profile", "{said}", {"said": f"profiles: {', '.join(load_weights())}"})
    return name


Query = Annotated[str, AfterValidator(_replace_unencodable), Field(max_length=LONGEST_QUERY)]
Name = Annotated[str, AfterValidator(_replace_unencodable), Field(min_length=1, max_length=LONGEST_NAME)]
LANGUAGES = {"type": "string", "enum": sorted(map_accepted_names())}
PROFILES = {"type": "string", "enum": ["", *load_weights()]}
Language = Annotated[str, AfterValidator(_check_language), WithJsonSchema(LANGUAGES)]
Profile = Annotated[str, AfterValidator(_check_profile), WithJsonSchema(PROFILES)]
Names = Annotated[list[Name], Field(max_length=MOST_NAMES)]
Languages = Annotated[list[Language], Field(max_length=MOST_NAMES)]
Limit = Annotated[int, Field(ge=1, le=MOST_RESULTS)]
Share = Annotated[float, Field(ge=0, le=1)]


class ApiRequest(BaseModel):
    """Base of all requests: unknown fields are refused."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)


FILTERS = ("languages", "languages_not", "globs", "paths", "repositories")
OFFERED: Mapping[str, ServerOption] = {name: row.http for name, row in OPTIONS.items() if row.http}
"""Search option → the field that requests have for it."""
TYPES: Mapping[str, Any] = {
    "languages": Languages,
    "languages_not": Languages,
    "profile": Profile,
    "weights": Annotated[str, Field(pattern=WEIGHTS)],
}
"""Search option → its type in a request, for options whose row in OPTIONS does not define it."""


def add_option_fields(*names: str) -> Callable[[type[M]], type[M]]:
    """Make a decorator that adds the fields of these search options to a model."""
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
    return lambda m: create_model(m.__name__, __base__=m, __module__=m.__module__, __doc__=m.__doc__, **fields)


def list_given_options(request: Filters) -> dict[str, Any]:
    """Map the search options that a request sets to their values."""
    values = {name: getattr(request, offered.name or name, None) for name, offered in OFFERED.items()}
    values["paths"] = [path.strip("/") for path in values["paths"] or ()]
    return {name: tuple(v) if isinstance(v, list) else v for name, v in values.items() if v is not None}


@add_option_fields(*FILTERS)
class Filters(ApiRequest):
    """Which files take part."""


@add_option_fields(*(name for name in OFFERED if name not in FILTERS))
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


RANK_SHARES: Mapping[str, Callable[[Contribution], float]] = {
    "rrf": lambda part: part.amount,
    "share": lambda part: part.amount,
    "rrf_share": lambda part: part.operands["of_channel"] / (part.operands["k"] + part.operands["rank"]),
}
"""Rule of a contribution that comes from a rank → function that computes its part of the fused score."""


def build_response_record(result: SearchResult, exit_code: int) -> Record:
    """Build the object of `search --json`, with `count`, and with `build_market_fields` in each of its results."""
    record = build_search_record(result, exit_code)
    known = result.trace.metadata
    pairs = zip(record["results"], result.hits, strict=True)
    results = [row | build_market_fields(hit, known.get(hit.unit.document, {})) for row, hit in pairs]
    faults = [notice.text for notice in result.notices if notice.code == NOTHING_ASKED]
    return record | {"results": results, "count": len(results)} | ({"error": faults[0]} if faults else {})


def build_market_fields(hit: Hit, metadata: Mapping[str, Any] = {}) -> Record:
    """Build the marketplace's fields of a result. Ranks in channels that did not find it, and unknown values, are null.

    `id` identifies a unit within its index; `description` is its documentation; `metadata` comes from the user's table.
    """
    unit, rating = hit.unit, next((part.operands for part in hit.contributions if part.rule == "scaled"), {})
    return {
        "id": f"{unit.repository}:{unit.path}:{unit.span.start}",
        "slug": unit.qualified_name,
        "description": unit.doc,
        "category": metadata.get("category"),
        "avg_rating": rating.get("value", metadata.get("rating")),
        "install_count": metadata.get("installs"),
        "final_score": hit.score,
        "rrf_score": math.fsum(RANK_SHARES[part.rule](part) for part in hit.contributions if part.rule in RANK_SHARES),
        "semantic_rank": hit.channels.get("vector"),
        "keyword_rank": hit.channels.get("exact"),
    }


class Endpoint(NamedTuple):
    """One endpoint of the API: its request model, the function that answers, and its description."""

    name: str
    request_model: type[ApiRequest]
    answer: Callable[[Index, Any], Record]
    schema: str  # Name of the answer's schema in the OpenAPI document
    summary: str
    may_be_cached: bool = True  # True if an answer may be sent again while the index does not change


RANKING = {offered.name or name for name, offered in OFFERED.items() if LINES not in OPTIONS[name].applies}
"""Request fields that make a search rank its results even if the query asks for lines."""


def answer_search(index: Index, request: SearchAsked) -> Record:
    """Build the object of `search --json` with the marketplace's fields. A query that asks for lines gets lines."""
    options = replace(make_search_options(request, index.settings), reasons=request.contributions)
    ranked = options.files_only or request.model_fields_set & RANKING
    query = index.parse(request.query, options)
    result = (index.search_lines if not ranked and query.asks_for_lines else index.search)(query, options)
    return build_response_record(result, 0 if result.hits else 1)


def answer_why(index: Index, request: WhyAsked) -> Record:
    """Build the object of `why --json`."""
    result = index.why(request.query, request.target, make_search_options(request, index.settings))
    return build_why_record(result, min(result.exit_code, 1))


def answer_context(index: Index, request: ContextAsked) -> Record:
    """Build the object of `context --json`. The server caches packs, instead of the user's cache folder."""
    options = make_filter_options(request, request.limit or EVERYTHING)
    options = replace(options, paths=tuple(request.files)) if request.files else options
    source, forms = FILES if request.files else TASK, Forms(request.forms)
    wanted = ContextRequest(source, open_counter("auto"), options, request.budget, forms, request.query)
    if request.more:
        wanted = resume_request(request.more, wanted.counter, request.budget)
        allowed = {name: getattr(wanted.options, name) for name in ("limit", *FILTERS)}
        if wanted.source not in (TASK, FILES) or wanted.options != SearchOptions(**allowed):
            raise UsageError("this token is for a pack that the server does not make", "ask again without it")
    layout = make_layout("json", PathStyle("root", "", index.info().repositories))
    return cast(Record, json.loads(index.context(wanted, layout, keep=False).text))


def answer_outline(index: Index, request: FileAsked) -> Record:
    """Build the object of `symbols --json`."""
    units = [unit for unit in index.symbols(request.path) if request.repository in ("", unit.repository)]
    return build_outline_record(request.path, units, 0 if select_symbols(units) else 1)


def answer_file(index: Index, request: FileAsked) -> Record:
    return build_source_record(index.read_source(request.path, request.repository), index.info())


def answer_file_list(index: Index, request: FilesAsked) -> Record:
    """List the indexed files that pass the filters."""
    listed = index.list_files(make_filter_options(request, EVERYTHING))
    return build_files_record(listed[request.offset : request.offset + request.limit], len(listed), index.info())


def answer_status(index: Index, request: StatusAsked) -> Record:
    return build_status_record(index.status(check=request.check), 0)


def ask_graph(question: str, index: Index, request: RelationsAsked) -> Record:
    """Ask the graph for refs, callers, callees or impact."""
    where = make_filter_options(request, EVERYTHING)
    options = RelationOptions(
        **{name: getattr(request, name) for name in ("min_confidence", "depth", "limit")},
        **{name: getattr(request, name, False) for name in ("sure", "text")},  # only refs has these fields
        kinds=tuple(request.kinds),
        where=where if where != SearchOptions(limit=EVERYTHING) else None,
    )
    result: RelationAnswer = getattr(index.graph, question)(request.target, options)
    return build_answer_record(result, 0 if result.relations else 1)


def make_filter_options(request: Filters, limit: int) -> SearchOptions:
    values = list_given_options(request)
    return SearchOptions(limit=limit, **{name: values[name] for name in FILTERS})


def make_search_options(request: SearchAsked, settings: Settings) -> SearchOptions:
    """Make the options of a search from its request; mode and profile default to the settings."""
    values = list_given_options(request)
    weights = [part.partition("=") for part in values["weights"].split(",") if part]  # the request has checked the form
    # The marketplace's API has fields of their own for two columns of the metadata.
    category = [f"category={request.category}"] if request.category is not None else []
    paid = [f"is_paid={str(request.is_paid).lower()}"] if request.is_paid is not None else []
    decided = {
        "mode": values.get("mode") or settings.mode,
        "profile": values["profile"] or settings.profile,
        "weights": {name: float(number) for name, _, number in weights},
        "meta": (*values["meta"], *category, *paid),
    }
    return SearchOptions(**values | decided)


_ENDPOINTS = (
    Endpoint("search", SearchAsked, answer_search, "answer", "Search the index"),
    Endpoint("why", WhyAsked, answer_why, "why", "Explain the ranks of a search"),
    Endpoint("context", ContextAsked, answer_context, "context", "Collect the code that a task or files are about"),
    Endpoint("symbols", FileAsked, answer_outline, "symbols", "The outline of one file"),
    Endpoint("refs", ReferencesAsked, partial(ask_graph, "refs"), "related", "Every place that names a thing"),
    Endpoint("callers", RelationsAsked, partial(ask_graph, "callers"), "related", "Who calls a function, as a tree"),
    Endpoint("callees", RelationsAsked, partial(ask_graph, "callees"), "related", "What a function calls, as a tree"),
    Endpoint("impact", RelationsAsked, partial(ask_graph, "impact"), "related", "What a change may reach"),
    Endpoint("files", FilesAsked, answer_file_list, "files", "The indexed files"),
    Endpoint("file", FileAsked, answer_file, "file", "One file as it was indexed"),
    Endpoint("status", StatusAsked, answer_status, "status", "The state of the index", may_be_cached=False),
)
ENDPOINTS = {endpoint.name: endpoint for endpoint in _ENDPOINTS}


class Outcome(NamedTuple):
    """The result of a request: the JSON text of its answer, or a fault."""

    body: bytes
    snapshot: str  # The snapshot of the index that answered; empty for a fault
    fault: Fault | None = None
    complete: bool = True
    """False if a shard was missing, so that the next answer may differ although the index is the same."""


def answer_question(
    place: Path | FleetPlace, settings: Settings, name: str, body: str, visible: tuple[str, ...] = EVERY
) -> Outcome:
    """Answer the endpoint `name`; `body` is the JSON text of its request model."""
    endpoint = ENDPOINTS[name]
    try:
        question = endpoint.request_model.model_validate_json(body)
        index: Index = (
            Index.reopen(place, settings) if isinstance(place, Path) else place._replace(visible=visible).open(settings)
        )
        with index as opened:
            names = [row.name for row in opened.info().repositories]
            if isinstance(place, Path) and not all(match_any_glob(name, visible) for name in names):
                refusal = "this key may not see every repository of this index"  # scores depend on counts over all repositories
                hint = "`codelens serve --store` serves a part of what is indexed"
                raise Fault(403, refusal, hint)
            while True:
                try:
                    record = endpoint.answer(opened, question)
                    break
                except ShardLostError:  # the index leaves the lost shard out of the next try
                    opened.drop_lost_shards()
            snapshot, complete = opened.info().snapshot, not opened.missing_parts
        return Outcome(to_json(record).encode("utf-8", "backslashreplace"), snapshot, complete=complete)
    except Exception as error:  # the client gets an object, the operator of the server the traceback
        return Outcome(b"", "", make_fault(error))
