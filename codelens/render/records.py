"""Builds the objects of --json and --jsonl: plain dicts with stable keys, in the order that schema.json lists them.

The number SCHEMA changes when a field is taken away, renamed or means something else.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Collection, Iterator, Mapping
from textwrap import shorten
from typing import Any

from codelens.model.code import IndexInfo, UnitRow
from codelens.model.search import Candidate, Hit, Notice, SearchResult, Trace
from codelens.render.visible import INVISIBLE
from codelens.worktree.files import encode_escaped_path

SCHEMA = 2
LONGEST_DOC = 80  # Characters of a hit's documentation; `symbols` and `context` have all of it
MOST_REPOSITORIES = 100  # If an index has more, an answer lists only those it names. 10,000 take 0.9 MB.

Record = dict[str, Any]

_UNSAFE = re.compile(f"[{INVISIBLE}\ud800-\udfff]")
"""Characters that could trick a terminal or cannot be encoded; json.dumps itself escapes those below a space."""


def to_json(record: Mapping[str, Any], indent: int | None = None) -> str:
    """Write a record as JSON with a line break at its end. Surrogates and control characters are escaped."""
    separators = (",", ":") if indent is None else None
    text = json.dumps(record, ensure_ascii=False, allow_nan=False, indent=indent, separators=separators)
    return _UNSAFE.sub(lambda found: json.dumps(found[0])[1:-1], text) + "\n"


def pick_fields(item: object, names: str) -> Record:
    """Copy the named fields of an object, in this order, to values that JSON can hold."""
    return {name: _to_plain(getattr(item, name)) for name in names.split()}


def _to_plain(value: Any) -> Any:
    return dict(value) if isinstance(value, Mapping) else list(value) if isinstance(value, tuple) else value


def to_jsonl(kind: str, field: str, record: Record) -> Iterator[str]:
    """Write a line of type `kind` for each element of a field of the record, then one of type `end` with the other fields."""
    yield from (to_json({"type": kind} | element) for element in record.pop(field))
    yield to_json({"type": "end"} | record)


def build_search_record(result: SearchResult, exit_code: int, stats: Mapping[str, float] | None = None) -> Record:
    """Build the object of `search --json`: the hits, notices and the index. `stats` are seconds by step."""
    record: Record = {
        "schema": SCHEMA,
        "query": result.query,
        "results": [build_hit_record(hit, result.options.reasons) for hit in result.hits],
        **pick_fields(result, "total left_out"),
        "search_modes": list(result.channels),
        **pick_fields(result, "trigram_available weak"),
        **build_ending(result, exit_code, {hit.unit.repository for hit in result.hits}),
        **build_like_record(result.trace),
    }
    return record | ({"stats": dict(stats)} if stats is not None else {})


def build_like_record(trace: Trace) -> Record:
    """Build the field `like`, the code that hits should resemble; an empty record for a search without --like."""
    names = "target name kind language repository path start_line end_line"
    return {} if trace.original is None else {"like": pick_fields(trace.original, names)}


def build_hit_record(hit: Hit, contributions: bool) -> Record:
    """Build an element of `results`: unit, score, lines shown, place to jump to; with `contributions` the parts of its score."""
    snippet = [{"line": s.number, "text": s.text, "matches": list(map(list, s.matches))} for s in hit.snippet]
    return build_unit_record(hit.unit) | {
        "score": hit.score,
        **({} if hit.confidence is None else {"confidence": round(hit.confidence, 6)}),
        "rank": hit.rank,
        **(build_score_record(hit) if contributions else {}),
        "signature": hit.unit.signature,
        "doc": shorten(hit.unit.doc, LONGEST_DOC, placeholder=" …"),
        "snippet": snippet,
        "freshness": str(hit.freshness),
        "repository": hit.unit.repository,
        **pick_fields(hit, "line column column_utf16"),
    }


def build_unit_record(unit: UnitRow) -> Record:
    """Build the fields that identify a unit: its file, its place there, its kind and name."""
    named = pick_fields(unit, "name qualified_name kind language path start_line end_line")
    return named | {"start_byte": unit.span.start, "end_byte": unit.span.end} | encode_path(unit.path)


def encode_path(path: str) -> Record:
    """Build the field with a path's own bytes, if they are not UTF-8, so that `path` shows escapes; else an empty record."""
    raw = encode_escaped_path(path)
    return {"path_b64": base64.b64encode(raw).decode()} if raw is not None else {}


def build_score_record(scored: Hit | Candidate) -> Record:
    """Build the ranks by channel and all contributions, with the operands from which `recompute_scores` computes their amounts."""
    return {
        "channels": dict(sorted(scored.channels.items())),
        "contributions": [pick_fields(c, "source amount reason rule operands") for c in scored.contributions],
    }


def build_candidate_record(candidate: Candidate, rank: int | None) -> Record:
    """Build a candidate's object as `why` shows it, with every operand of its score."""
    return build_unit_record(candidate.unit) | {
        "repository": candidate.unit.repository,
        "score": candidate.score,
        **({} if candidate.confidence is None else {"confidence": round(candidate.confidence, 6)}),
        "rank": rank,
        **build_score_record(candidate),
    }


def build_notice_record(notice: Notice) -> Record:
    """Build the object of a notice: its stable code and its sentence."""
    return pick_fields(notice, "code text")


def build_ending(answer: Any, exit_code: int, named: Collection[str] | None = None) -> Record:
    """Build the fields that end an answer's object: its notices, its index as `build_index_record` describes it, the exit code."""
    notices = [build_notice_record(notice) for notice in answer.notices]
    return {"notices": notices, "index": build_index_record(answer.index, named), "exit_code": exit_code}


def build_index_record(index: IndexInfo, named: Collection[str] | None = None) -> Record:
    """Describe the index that an answer comes from, and its state: equal `snapshot` means equal content.

    If there are many repositories, only those in `named` are listed, so that the list does not outgrow the answer.
    """
    every = named is None or len(index.repositories) <= MOST_REPOSITORIES
    listed = [r for r in index.repositories if every or (named and r.name in named)]
    record = pick_fields(index, "path schema snapshot embedder indexed_at") | {"repositories": []}
    for repository in listed:
        row = pick_fields(repository, "name root documents bytes")
        if tree := repository.tree:
            row["tree"] = {"state": str(tree.state)} | pick_fields(tree, "files checked new changed deleted head_moved")
        record["repositories"].append(row)
    left_out = len(index.repositories) - len(listed)
    return record | ({"repositories_left_out": left_out} if left_out else {})
