"""Command-line flags → the query and the options of one search. Raises UsageError for what makes no sense."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from codelens.cli.flags import RankingFlags
from codelens.cli.streams import stdin_bytes, stdin_text
from codelens.cli.workplace import Scope, Workplace, target_here
from codelens.config import Settings, load_weights
from codelens.errors import UsageError
from codelens.index import Index
from codelens.model import SearchOptions

EVERYTHING = 1_000_000_000
"""The limit of -l, -L and -c, which are about files: far above any pool of candidates."""
LIKENESS = "likeness"
"""The profile of --like where none is named."""
MOST_WEIGHT = 1e9
"""Only the ratios of weights count; sums of larger ones could overflow."""


def without_query(flags: RankingFlags) -> bool:
    """Whether something stands for QUERY, so that the first argument is what else follows it, as with grep's -e."""
    return bool(flags.queries or flags.query_files or flags.like is not None)


def all_queries(positional: str | None, flags: RankingFlags) -> list[str]:
    """QUERY or `-`, every -e, every line of every -f, in this order; empty lines say nothing. With --like there may be none."""
    if flags.like == "-" and "-" in (flags.query_files or ()):
        raise UsageError("--like - and -f - would both read stdin", "put the conditions behind -e")
    queries = [stdin_text().strip()] if positional == "-" else []
    queries += [positional] if positional is not None and positional != "-" else []
    queries += flags.queries or ()
    for name in flags.query_files or ():
        text = stdin_text() if name == "-" else _read(name)
        queries += [line for line in text.splitlines() if line.strip()]
    if not queries and flags.like is not None:
        return [""]
    if not queries:
        raise UsageError("no query", "`codelens search QUERY`; `codelens search --help` lists the options")
    # Bytes of the command line that are not UTF-8 can be in no index.
    return [q.encode("utf-8", "surrogateescape").decode("utf-8", "replace") for q in queries]


def _read(name: str) -> str:
    try:
        return Path(name).read_text(encoding="utf-8", errors="replace")
    except OSError as fault:
        raise UsageError(f"-f {name}: {fault.strerror}") from None


def joined_query(queries: Sequence[str], flags: RankingFlags) -> tuple[str, bool, bool]:
    """(query, literal, regex): several queries are alternatives, as with grep."""
    if len(queries) == 1:
        return queries[0], flags.literal, flags.regex
    if flags.literal:
        return "|".join(map(re.escape, queries)), False, True
    if flags.regex:
        return "|".join(f"(?:{q})" for q in queries), False, True
    return " OR ".join(f"({q})" for q in queries), False, False


def likeness(flags: RankingFlags, place: Workplace, index: Index) -> tuple[str, str, str]:
    """(target, text, its language): what the hits are to resemble; `-` is a text from stdin, all empty is nothing."""
    if flags.lang is not None and flags.like != "-":
        raise UsageError("--lang is the language of code on stdin", "`--like -`; -t is the language of hits")
    if flags.like is None:
        return "", "", ""
    if not flags.like.strip():
        raise UsageError("--like names nothing", "as in --like src/app.py:10, --like Class.method, --like -")
    if flags.like != "-":
        return target_here(flags.like, place, index), "", ""
    text = stdin_bytes("pipe the code in: `codelens search --like - <FILE`").decode("utf-8", "replace")
    if not text.strip():
        raise UsageError("the code on stdin is empty")
    return "-", text, languages_named([flags.lang])[0] if flags.lang else ""


def search_options(
    flags: RankingFlags,
    settings: Settings,
    scope: Scope,
    *,
    literal: bool,
    regex: bool,
    like: tuple[str, str, str] = ("", "", ""),
    everything: bool = False,
    before: int = 0,
    after: int = 0,
    every_line: bool = False,
) -> SearchOptions:
    """`everything` lifts the limit where none was given, `every_line` that of the lines of a hit that are shown."""
    profile = flags.profile or (LIKENESS if flags.like is not None else settings.profile)
    limit = EVERYTHING if everything else _limit(settings, profile, flags.files_only)
    limit = limit if flags.limit is None else flags.limit
    _check_numbers(flags, limit, before, after)
    if flags.case not in (None, "yes", "no", "auto"):
        raise UsageError(f"--case is yes, no or auto, not '{flags.case}'")
    if flags.sort not in ("score", "path", "modified"):
        raise UsageError(f"--sort is score, path or modified, not '{flags.sort}'")
    return SearchOptions(
        like=like[0],
        snippet=like[1],
        snippet_language=like[2],
        limit=limit,
        offset=flags.offset,
        mode=flags.mode or settings.mode,
        weights=parse_weights(flags.weights or ""),
        rrf_k=flags.rrf_k,
        fusion=flags.fusion,
        profile=profile,
        intent=flags.intent or "",
        expand=flags.expand or "",
        depth=flags.depth,
        decay=flags.decay,
        min_score=flags.min_score,
        case="no" if flags.ignore_case else flags.case or "auto",
        word=flags.word,
        literal=literal,
        regex=regex,
        strict_query=flags.strict_query,
        prefix=flags.prefix,
        rerank=flags.rerank,
        languages=languages_named(flags.types or ()),
        languages_not=languages_named(flags.types_not or ()),
        files_only=flags.files_only,
        kinds=tuple(k.strip() for kinds in flags.kinds or () for k in kinds.split(",") if k.strip()),
        globs=tuple(flags.globs or ()),
        paths=scope.paths,
        repositories=scope.repositories,
        meta=tuple(flags.meta or ()),
        sort=flags.sort,
        reverse=flags.reverse,
        context_before=before,
        context_after=after,
        memory=settings.memory,
        now=moment(flags.now),
        snippet_lines=EVERYTHING if every_line else SearchOptions().snippet_lines,
    )


def moment(text: str | None) -> int | None:
    """A time as a person writes it, up to the year 9999 → unix seconds; without an offset it is the local one.

    Raises UsageError.
    """
    if text is None:
        return None
    from datetime import UTC, datetime

    try:
        if text.isascii() and text.isdigit():
            return int(datetime.fromtimestamp(int(text), UTC).timestamp())
        return int(datetime.fromisoformat(text).timestamp())
    except (ValueError, OverflowError, OSError):
        raise UsageError(f"--now is no time: {text}", "as in --now 2025-01-31T12:00:00Z or --now 1738324800") from None


def _limit(settings: Settings, profile: str, files: bool) -> int:
    """The setting; where that is the default, the number that the profile shows by itself, if it has one."""
    if settings.limit != Settings().limit:
        return settings.limit
    profiles = load_weights()
    row = profiles.get(profile, {})
    row = row.get("files") or profiles["codelens"]["files"] if files else row
    return int(row.get("results", settings.limit))


def languages_named(names: Sequence[str]) -> tuple[str, ...]:
    """Canonical names. Raises UsageError for a language that there is not."""
    if not names:
        return ()
    from codelens.lang.registry import resolve_language

    return tuple(map(resolve_language, names))


def _check_numbers(flags: RankingFlags, limit: int, before: int, after: int) -> None:
    for name, value, least in (("-m", limit, 1), ("--offset", flags.offset, 0), ("-B", before, 0), ("-A", after, 0)):
        if value < least:
            raise UsageError(f"{name} is at least {least}, not {value}")
    if flags.rrf_k is not None and flags.rrf_k < 1:
        raise UsageError(f"--rrf-k is at least 1, not {flags.rrf_k}")
    if flags.depth is not None and flags.depth < 0:
        raise UsageError(f"--depth is at least 0, not {flags.depth}")
    if flags.decay is not None and not 0 <= flags.decay <= 1:
        raise UsageError(f"--decay is what a hop keeps of a score, 0 to 1, not {flags.decay}")
    if flags.min_score is not None and not 0 <= flags.min_score <= 1:
        raise UsageError(f"--min-score is a share of the best score, 0 to 1, not {flags.min_score}")


def parse_weights(text: str) -> Mapping[str, float]:
    """'exact=2,fuzzy=.5' → {exact: 2.0, fuzzy: 0.5}; whether such channels exist is for the search to say."""
    weights: dict[str, float] = {}
    for part in filter(None, (p.strip() for p in text.split(","))):
        name, equals, number = part.partition("=")
        try:
            weights[name.strip()] = float(number)
        except ValueError:
            raise UsageError(
                f"--weights: '{part}' is not CHANNEL=NUMBER", "as in --weights exact=2,fuzzy=0.5"
            ) from None
        if not (equals and 0 <= weights[name.strip()] <= MOST_WEIGHT):
            raise UsageError(f"--weights: {name} wants a number from 0 to {MOST_WEIGHT:g}, not '{number}'")
    return weights
