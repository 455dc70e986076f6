"""Queries of all shapes, made from what an index holds, and the bytes that answer them."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

from codelens.config import Settings
from codelens.errors import CodelensError, QueryError, TargetError, UsageError
from codelens.model.code import IndexInfo, UnitRow
from codelens.model.request import SearchOptions
from codelens.render.records import build_candidate_record, build_search_record, to_json
from codelens.search.files import rank_files
from codelens.search.pipeline import rank
from codelens.search.present import make_result
from codelens.search.why import explain_targets
from codelens.store.store import Store

NOWHERE = IndexInfo("index", 1, "", "", ())
Question = tuple[str, SearchOptions]


def answer_bytes(question: Question, store: Store, settings: Settings) -> str:
    """What `search --json` prints: hits with scores and contributions, notices, terms; or the error."""
    text, options = question
    order = rank_files if options.files_only else rank
    try:
        with store.reading(), store.limit_time(settings.query_seconds):
            return to_json(build_search_record(make_result(order(text, store, options, settings), NOWHERE), 0), 1)
    except (UsageError, TargetError, QueryError) as fault:
        return f"{type(fault).__name__}: {fault}; {fault.hint}"


def why_bytes(question: Question, target: str, store: Store, settings: Settings) -> str:
    """What `why` says of one target."""
    text, options = question
    try:
        with store.reading():
            found = explain_targets(text, [target], store, NOWHERE, options, settings)
    except CodelensError as fault:
        return f"{type(fault).__name__}: {fault}; {fault.hint}; {getattr(fault, 'candidates', '')}"
    parts = [to_json(build_search_record(found.search, 0), 1)]
    for one in found.explanations:
        shown = [build_candidate_record(c, one.rank) if c else None for c in (one.candidate, one.above, one.below)]
        parts.append(to_json({"target": one.target, "candidates": shown, "loss": repr(one.loss)}, 1))
    return "\n".join(parts)


def questions(units: Sequence[UnitRow], repositories: Sequence[str], number: int, seed: int = 1) -> Iterator[Question]:
    """So many questions. `units` are in order of content."""
    chance = random.Random(seed)
    named = [u for u in units if len(u.name) > 3 and u.kind not in ("text", "section", "toplevel", "todo")]
    told = [u for u in named if len(u.doc.split()) > 4]
    for place in range(number):
        one, other = chance.choice(named), chance.choice(named)
        said = " ".join(chance.choice(told or named).doc.split("\n")[0].split()[:14]) or one.name
        word = chance.choice([w for w in said.replace("`", " ").split() if w.isalpha()] or [one.name])
        limit = SearchOptions(limit=50)
        yield SHAPES[place % len(SHAPES)](one, other, said, word, chance.choice(repositories), limit)


def _slip(name: str) -> str:
    at = len(name) // 2
    return name[:at] + name[at + 1 :] if len(name) > 4 else name + "x"


def _with(options: SearchOptions, **changes: object) -> SearchOptions:
    from codelens.model.fast_dataclass import replace

    return replace(options, **changes)


SHAPES = (
    lambda one, other, said, word, repo, o: (one.name, o),
    lambda one, other, said, word, repo, o: (said, o),
    lambda one, other, said, word, repo, o: (f"{one.name} {other.name}", o),
    lambda one, other, said, word, repo, o: (one.name[1:-1], o),
    lambda one, other, said, word, repo, o: (_slip(one.name), o),
    lambda one, other, said, word, repo, o: (one.qualified_name, o),
    lambda one, other, said, word, repo, o: (f"{word} {other.name}", _with(o, mode="keyword")),
    lambda one, other, said, word, repo, o: (said, _with(o, mode="vector")),
    lambda one, other, said, word, repo, o: (f"{word} {one.name}", _with(o, mode="exact")),
    lambda one, other, said, word, repo, o: (one.name[:5], _with(o, mode="fuzzy")),
    lambda one, other, said, word, repo, o: (f'"{word}"', o),
    lambda one, other, said, word, repo, o: (f"{said} repo:{repo}", o),
    lambda one, other, said, word, repo, o: (f"{word} lang:{one.language}", o),
    lambda one, other, said, word, repo, o: (f"{word} kind:function", o),
    lambda one, other, said, word, repo, o: (f"{other.name} path:{one.path.rpartition('/')[2]}", o),
    lambda one, other, said, word, repo, o: (f"{one.path}:{one.start_line}", o),
    lambda one, other, said, word, repo, o: (one.path, o),
    lambda one, other, said, word, repo, o: (f"/{one.name[:4]}\\w+/ {word}", o),
    lambda one, other, said, word, repo, o: (f"{one.name[:4]}* {word}", o),
    lambda one, other, said, word, repo, o: (f"`{one.name}` {word} -{other.name}", o),
    lambda one, other, said, word, repo, o: (f"{one.name} OR {other.name}", o),
    lambda one, other, said, word, repo, o: (said, _with(o, files_only=True)),
    lambda one, other, said, word, repo, o: (one.path.rpartition("/")[2], _with(o, files_only=True)),
    lambda one, other, said, word, repo, o: ("", _with(o, like=f"{one.path}:{one.start_line}")),
    lambda one, other, said, word, repo, o: (said, _with(o, languages=(one.language,))),
    lambda one, other, said, word, repo, o: (f"how does {word} work with {other.name}?", o),
    lambda one, other, said, word, repo, o: (f"fix: {word} in {one.name} must not fail", o),
    lambda one, other, said, word, repo, o: (said, _with(o, expand="bfs")),
    lambda one, other, said, word, repo, o: (f"{one.signature[:40] or one.name}", _with(o, literal=True)),
    lambda one, other, said, word, repo, o: (f"TODO {word}", o),
    lambda one, other, said, word, repo, o: (f"{said} not-test", _with(o, rerank=True)),
    lambda one, other, said, word, repo, o: (f"{word} changed:>2024-02-01", o),
    lambda one, other, said, word, repo, o: (said, _with(o, profile="rrf")),
    lambda one, other, said, word, repo, o: (f"{word} {other.name}", _with(o, profile="knowing")),
    lambda one, other, said, word, repo, o: (f"{word} {other.name}", _with(o, profile="codexlens")),
    lambda one, other, said, word, repo, o: (f"{word} {other.name}", _with(o, profile="marketplace")),
    lambda one, other, said, word, repo, o: (f"{word} {other.name}", _with(o, profile="graph-memory")),
    lambda one, other, said, word, repo, o: (said, _with(o, sort="path")),
    lambda one, other, said, word, repo, o: ("class", o),
    lambda one, other, said, word, repo, o: (f"{said} {said}", _with(o, fusion="minmax")),
)
