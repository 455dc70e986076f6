"""A question and an open index → the object that answers it, made by the renderers of the command line's --json."""

from __future__ import annotations

import json
import math
import sys
import traceback
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from codelens.config import Settings
from codelens.context.counters import counter_of
from codelens.errors import CodelensError
from codelens.index import Index
from codelens.model.context import FILES, TASK, ContextRequest, Forms
from codelens.model.fast_dataclass import dataclass
from codelens.model.graph import Related, RelationOptions
from codelens.model.search import NOTHING_ASKED, Contribution, Hit, SearchOptions, SearchResult, WhyResult
from codelens.render.context import layout_of
from codelens.render.outline import files_record, outline_record, source_record, symbols_of
from codelens.render.paths import PathStyle
from codelens.render.records import Record, hit_record, search_record, to_json
from codelens.render.relations import related_record
from codelens.render.reports import status_record
from codelens.render.why_json import why_record
from codelens.server.http.faults import UNEXPECTED, Fault, fault_of
from codelens.server.http.questions import (
    ApiRequest,
    ContextAsked,
    FileAsked,
    FilesAsked,
    Filters,
    RelationsAsked,
    SearchAsked,
    StatusAsked,
    WhyAsked,
)


def response_record(result: SearchResult, exit_code: int, stats: Mapping[str, float] | None = None) -> Record:
    """The object of `search --json` with `count`, and with `market_fields` in each of its results."""
    record = search_record(result, exit_code, stats)
    known = result.trace.metadata
    results = [hit_record(hit) | market_fields(hit, known.get(hit.unit.document, {})) for hit in result.hits]
    said = [notice.text for notice in result.notices if notice.code == NOTHING_ASKED]
    return record | {"results": results, "count": len(results)} | ({"error": said[0]} if said else {})


def market_fields(hit: Hit, metadata: Mapping[str, Any] = {}) -> Record:
    """The marketplace's fields of a result. A rank is null if that channel did not find it, as is anything nobody recorded.

    `id` tells units of one index apart; `description` is the documentation; `metadata` is what a person's table says of the file.
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
        "rrf_score": math.fsum(_of_rank(part) for part in hit.contributions),
        "semantic_rank": hit.channels.get("vector"),
        "keyword_rank": hit.channels.get("exact"),
    }


def _of_rank(part: Contribution) -> float:
    """The part of the fused score that a contribution is; 0 if it does not come from a rank."""
    if part.rule == "rrf_share":
        return part.operands["of_channel"] / (part.operands["k"] + part.operands["rank"])
    return part.amount if part.rule in ("rrf", "share") else 0.0


EVERYTHING = 1_000_000_000
"""The limit where the budget is one."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One address of the API: what it takes, how it is answered, and what it says of itself."""

    name: str
    asked: type[ApiRequest]
    answer: Callable[[Index, Any], Record]
    schema: str
    """Its answer, in the OpenAPI document."""
    summary: str
    kept: bool = True
    """True if an answer may be served again while the index does not change."""


def search(index: Index, asked: SearchAsked) -> Record:
    """The object of `search --json` and the marketplace's fields."""
    result = index.search(asked.query, search_options(asked, index.settings))
    return response_record(result, 0 if result.hits else 1)


def why(index: Index, asked: WhyAsked) -> Record:
    """The object of `why --json`."""
    result = index.why(asked.query, asked.target, search_options(asked, index.settings))
    return why_record(result, _why_code(result))


def _why_code(result: WhyResult) -> int:
    ranked = all(e.loss is None and e.candidate is not None for e in result.explanations)
    return 0 if result.explanations and ranked else 1


def context(index: Index, asked: ContextAsked) -> Record:
    """The object of `context --json`. Packs are kept by the server, not in the user's cache folder."""
    options = filtered(asked, asked.limit or EVERYTHING)
    request = ContextRequest(
        source=FILES if asked.files else TASK,
        counter=counter_of("auto"),
        options=_with_files(options, asked.files),
        budget=asked.budget,
        forms=Forms(asked.forms),
        query=asked.query,
    )
    layout = layout_of("json", PathStyle("root", "", index.info().repositories))
    return cast(Record, json.loads(index.context(request, layout, keep=False).text))


def _with_files(options: SearchOptions, files: list[str]) -> SearchOptions:
    return replace(options, paths=tuple(files)) if files else options


def symbols(index: Index, asked: FileAsked) -> Record:
    """The object of `symbols --json`."""
    units = [unit for unit in index.symbols(asked.path) if asked.repository in ("", unit.repository)]
    return outline_record(asked.path, units, 0 if symbols_of(units) else 1)


def file(index: Index, asked: FileAsked) -> Record:
    """A file as it was indexed, with its outline."""
    return source_record(index.source(asked.path, asked.repository), index.info())


def files(index: Index, asked: FilesAsked) -> Record:
    """The indexed files that the filters leave."""
    found = index.listed(filtered(asked, EVERYTHING))
    return files_record(found[asked.offset : asked.offset + asked.limit], len(found), index.info())


def status(index: Index, asked: StatusAsked) -> Record:
    """The object of `status --json`."""
    return status_record(index.status(check=asked.check), 0)


def relations(question: str) -> Callable[[Index, RelationsAsked], Record]:
    """The answer to refs, callers, callees or impact."""

    def answer(index: Index, asked: RelationsAsked) -> Record:
        where = filtered(asked, EVERYTHING)
        options = RelationOptions(
            kinds=tuple(asked.kinds),
            min_confidence=asked.min_confidence,
            depth=asked.depth,
            limit=asked.limit,
            where=where if _restricts(asked) else None,
        )
        graph = index.graph
        ask = {"refs": graph.refs, "callers": graph.callers, "callees": graph.callees, "impact": graph.impact}[question]
        result: Related = ask(asked.target, options)
        return related_record(result, 0 if result.relations else 1)

    return answer


def _restricts(asked: Filters) -> bool:
    return bool(asked.lang or asked.lang_not or asked.glob or asked.below or asked.repository)


def filtered(asked: Filters, limit: int) -> SearchOptions:
    """The filters alone."""
    return SearchOptions(
        limit=limit,
        languages=tuple(asked.lang),
        languages_not=tuple(asked.lang_not),
        globs=tuple(asked.glob),
        paths=tuple(path.strip("/") for path in asked.below),
        repositories=tuple(asked.repository),
    )


def search_options(asked: SearchAsked, settings: Settings) -> SearchOptions:
    """Everything of a search but its query; mode and profile are the settings' where none is asked for."""
    return replace(
        filtered(asked, asked.limit),
        offset=asked.offset,
        mode=asked.mode or settings.mode,
        profile=asked.profile or settings.profile,
        intent=asked.intent,
        fusion=asked.fusion,
        rrf_k=asked.rrf_k,
        weights=_weights(asked.weights),
        expand=asked.expand,
        depth=asked.depth,
        min_score=asked.min_score,
        case=asked.case,
        word=asked.word,
        prefix=asked.prefix,
        kinds=tuple(asked.kinds),
        files_only=asked.files_only,
        literal=asked.literal,
        regex=asked.regex,
        strict_query=asked.strict,
        meta=_conditions(asked),
        sort=asked.sort,
        reverse=asked.reverse,
        context_before=asked.before,
        context_after=asked.after,
    )


def _conditions(asked: SearchAsked) -> tuple[str, ...]:
    """On the metadata; the marketplace names two columns by fields of their own."""
    category = [f"category={asked.category}"] if asked.category is not None else []
    paid = [f"is_paid={str(asked.is_paid).lower()}"] if asked.is_paid is not None else []
    return (*asked.meta, *category, *paid)


def _weights(text: str) -> dict[str, float]:
    """'exact=2,fuzzy=1', whose form the question has checked."""
    return {name: float(number) for name, _, number in (part.partition("=") for part in text.split(",") if part)}


ENDPOINTS = {
    endpoint.name: endpoint
    for endpoint in (
        Endpoint("search", SearchAsked, search, "answer", "Search the index"),
        Endpoint("why", WhyAsked, why, "why", "Explain the ranks of a search"),
        Endpoint("context", ContextAsked, context, "context", "Collect the code that a task or files are about"),
        Endpoint("symbols", FileAsked, symbols, "symbols", "The outline of one file"),
        Endpoint("refs", RelationsAsked, relations("refs"), "related", "Every place that names a thing"),
        Endpoint("callers", RelationsAsked, relations("callers"), "related", "Who calls a function, as a tree"),
        Endpoint("callees", RelationsAsked, relations("callees"), "related", "What a function calls, as a tree"),
        Endpoint("impact", RelationsAsked, relations("impact"), "related", "What a change may reach"),
        Endpoint("files", FilesAsked, files, "files", "The indexed files"),
        Endpoint("file", FileAsked, file, "file", "One file as it was indexed"),
        Endpoint("status", StatusAsked, status, "status", "The state of the index", kept=False),
    )
}


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of a request: the JSON text of its answer, or a fault."""

    body: bytes
    snapshot: str
    """Snapshot of the index that answered; empty for a fault."""
    fault: Fault | None = None


def outcome(index: Path, settings: Settings, name: str, asked: str) -> Outcome:
    """The answer of an endpoint to its question, which comes as the JSON text of its model."""
    endpoint = ENDPOINTS[name]
    try:
        question = endpoint.asked.model_validate_json(asked)
        with Index.open(index, settings) as opened:
            record = endpoint.answer(opened, question)
            snapshot = opened.info().snapshot
        return Outcome(to_json(record).encode("utf-8", "backslashreplace"), snapshot)
    except CodelensError as error:
        return Outcome(b"", "", fault_of(error))
    except Exception:  # the edge: whoever asked gets an object, whoever serves gets the trace
        traceback.print_exc(file=sys.stderr)
        return Outcome(b"", "", UNEXPECTED)
