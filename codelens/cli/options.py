"""Command-line flags → the query and the options of one search. Raises UsageError for what makes no sense."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from codelens.cli.flags import ChangeFlags, QueryFlags, RankingFlags, ScoreFlags
from codelens.cli.streams import stdin_bytes, stdin_text
from codelens.cli.workplace import Scope, Workplace, target_here
from codelens.config import Settings, load_weights
from codelens.errors import UsageError
from codelens.index import Index
from codelens.model.context import Change
from codelens.model.fast_dataclass import names_of
from codelens.model.request import SearchOptions

EVERYTHING = 1_000_000_000  # The limit of -l, -L and -c, which are about files: far above any pool of candidates
LIKENESS = "likeness"  # The profile of --like where none is named
MOST_WEIGHT = 1e9  # Only the ratios of weights count; sums of larger ones could overflow


def without_query(flags: RankingFlags) -> bool:
    """True if an option replaces QUERY, so that the first argument is a PATH, as with grep's -e."""
    return bool(flags.queries or flags.query_files or flags.like is not None)


def all_queries(positional: str | None, flags: RankingFlags) -> list[str]:
    """QUERY or `-`, every -e, every line of every -f, in this order; empty lines say nothing. With --like there may be none."""
    if flags.like == "-" and "-" in (flags.query_files or ()):
        raise UsageError("--like - and -f - both read stdin", "give the query with -e")
    queries = [stdin_text().strip()] if positional == "-" else []
    queries += [positional] if positional is not None and positional != "-" else []
    queries += flags.queries or ()
    for name in flags.query_files or ():
        text = stdin_text() if name == "-" else _read(name)
        queries += [line for line in text.splitlines() if line.strip()]
    if not queries and flags.like is not None:
        return [""]
    if not queries:
        name = "why" if hasattr(flags, "targets") else "files" if flags.files_only else "search"
        raise UsageError("no query", f"`codelens {name} QUERY`; `codelens {name} --help` lists the options")
    # Bytes of the command line that are not UTF-8 can be in no index.
    return [q.encode("utf-8", "surrogateescape").decode("utf-8", "replace") for q in queries]


def _read(name: str) -> str:
    try:
        return Path(name).read_text(encoding="utf-8", errors="replace")
    except OSError as fault:
        raise UsageError(f"-f {name}: {fault.strerror}") from None


class QueryText(NamedTuple):
    """A query as one text, and how to read it."""

    text: str = ""
    literal: bool = False
    regex: bool = False


PROSE = QueryText()


def joined_query(queries: Sequence[str], flags: RankingFlags) -> QueryText:
    """Several queries are alternatives, as with grep."""
    if len(queries) == 1:
        return QueryText(queries[0], flags.literal, flags.regex)
    if flags.literal:
        return QueryText("|".join(map(re.escape, queries)), regex=True)
    if flags.regex:
        return QueryText("|".join(f"(?:{q})" for q in queries), regex=True)
    return QueryText(" OR ".join(f"({q})" for q in queries))


def ranking_settings(flags: RankingFlags) -> Mapping[str, Any]:
    """The settings that flags of `search` and `why` override."""
    names = ("color", "path_style", "memory", "metadata")
    return {name: getattr(flags, name) for name in names} | {"allow_network": flags.allow_network or None}


def likeness(flags: RankingFlags, place: Workplace, index: Index) -> tuple[str, str, str]:
    """(target, text, its language): what the hits are to resemble; `-` is a text from stdin, all empty is nothing."""
    if flags.lang is not None and flags.like != "-":
        raise UsageError("--lang needs --like -", "to filter hits by language use -t")
    if flags.like is None:
        return "", "", ""
    if not flags.like.strip():
        raise UsageError("--like is empty", "as in --like src/app.py:10, --like Class.method, --like -")
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
    query: QueryText = PROSE,
    like: tuple[str, str, str] = ("", "", ""),
) -> SearchOptions:
    """The options of a search. Flags with the name of an option set it; the others are converted here."""
    profile = flags.profile or (LIKENESS if flags.like is not None else settings.profile)
    limit = _limit(settings, profile, flags.files_only) if flags.limit is None else flags.limit
    _check_numbers(flags, limit)
    for name, allowed in (("case", ("yes", "no", "auto")), ("sort", ("score", "path", "modified"))):
        if getattr(flags, name) not in (None, *allowed):
            raise UsageError(
                f"--{name} must be {', '.join(allowed[:-1])} or {allowed[-1]}, not '{getattr(flags, name)}'"
            )
    names = (name for name in names_of(SearchOptions) if name in ScoreFlags.__annotations__ or name in SAME)
    values: dict[str, Any] = {name: value for name in names if (value := getattr(flags, name)) is not None}
    return SearchOptions(
        **values
        | {
            "like": like[0],
            "snippet": like[1],
            "snippet_language": like[2],
            "literal": query.literal,
            "regex": query.regex,
            "limit": limit,
            "mode": flags.mode or settings.mode,
            "weights": parse_weights(flags.weights or ""),
            "profile": profile,
            "case": case_of(flags),
            "sort": flags.sort or "score",
            "languages": languages_named(flags.types or ()),
            "languages_not": languages_named(flags.types_not or ()),
            "kinds": tuple(k.strip() for kinds in flags.kinds or () for k in kinds.split(",") if k.strip()),
            "globs": tuple(flags.globs or ()),
            "meta": tuple(flags.meta or ()),
            "paths": scope.paths,
            "repositories": scope.repositories,
            "memory": settings.memory,
            "now": moment(flags.now),
        }
    )


def case_of(flags: QueryFlags) -> str:
    """yes, no or auto. Raises UsageError where two flags contradict each other."""
    if flags.ignore_case and flags.case_sensitive:
        raise UsageError("use either -i or -s, not both")
    return "no" if flags.ignore_case else "yes" if flags.case_sensitive else flags.case or "auto"


SAME = frozenset((*QueryFlags.__annotations__, *RankingFlags.__annotations__))
"""Flags of these groups, and of ScoreFlags, with the name of a search option set it."""


def change_named(flags: ChangeFlags, cwd: Path) -> Change | None:
    """The change that --pr, --diff or --staged names; None without them. Raises UsageError."""
    if not (chosen := only_one(flags, ("pr", "diff", "staged"))):
        return None
    if chosen == "diff" and flags.diff is not None:
        return Change(diff_named(flags.diff, cwd), cwd=str(cwd))
    return Change(revisions=flags.pr or "", staged=flags.staged, cwd=str(cwd))


def diff_named(name: str, cwd: Path) -> bytes:
    """The diff in a file, or for `-` on stdin. Raises UsageError."""
    if name == "-":
        return stdin_bytes("pipe a diff in: `git diff | codelens … --diff -`")
    try:
        return (cwd / name).read_bytes()
    except OSError as fault:
        hint = f"a range of commits is --pr {name}" if ".." in name else ""
        raise UsageError(f"--diff {name}: {fault.strerror}", hint) from None


def only_one(flags: object, names: Sequence[str], spelling: Mapping[str, str] | None = None) -> str:
    """The one of these flags that was given, or "". Raises UsageError for two of them."""
    given = [name for name in names if getattr(flags, name, None) not in (False, None)]
    if len(given) > 1:
        first, second = ((spelling or {}).get(name, f"--{name.replace('_', '-')}") for name in given[:2])
        raise UsageError(f"use either {first} or {second}, not both")
    return given[0] if given else ""


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
        raise UsageError(f"--now {text}: not a time", "as in --now 2025-01-31T12:00:00Z or --now 1738324800") from None


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


def _check_numbers(flags: RankingFlags, limit: int) -> None:
    context = (
        (name, getattr(flags, field, None) or 0, 0)
        for name, field in (("-B", "before"), ("-A", "after"), ("-C", "context"))
    )
    for name, value, least in (("-m", limit, 1), ("--offset", flags.offset, 0), *context):
        if value < least:
            raise UsageError(f"{name} must be at least {least}, not {value}")
    if flags.rrf_k is not None and flags.rrf_k < 1:
        raise UsageError(f"--rrf-k must be at least 1, not {flags.rrf_k}")
    if flags.depth is not None and flags.depth < 0:
        raise UsageError(f"--depth must be at least 0, not {flags.depth}")
    if flags.decay is not None and not 0 <= flags.decay <= 1:
        raise UsageError(f"--decay must be between 0 and 1, not {flags.decay}")
    if flags.min_score is not None and not 0 <= flags.min_score <= 1:
        raise UsageError(f"--min-score must be between 0 and 1, not {flags.min_score}")


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
            raise UsageError(f"--weights: {name} must be from 0 to {MOST_WEIGHT:g}, not '{number}'")
    return weights
