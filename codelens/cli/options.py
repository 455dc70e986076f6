"""Converts command-line flags to the query and the options of a search. Raises UsageError for invalid combinations."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from codelens.cli.flags import ChangeFlags, RankingFlags
from codelens.cli.streams import read_input, read_stdin
from codelens.cli.workplace import Scope, Workplace, locate_target
from codelens.config import Settings, load_weights
from codelens.errors import UsageError
from codelens.index import Index
from codelens.model.context import Change
from codelens.model.request import OPTIONS, SearchOptions

EVERYTHING = 1_000_000_000  # The limit of hits for -l, -L and -c, which list files: far above any number of candidates
PIPE_HINT = "pipe the query in: `echo QUERY | codelens search -`"
LIKENESS = "likeness"  # The profile of --like unless another is named
MOST_WEIGHT = 1e9  # Largest weight. Only ratios of weights count; sums of larger ones could overflow


def has_query_option(flags: RankingFlags) -> bool:
    """True if an option replaces QUERY, so that the first argument is a PATH, as with grep's -e."""
    return bool(flags.queries or flags.query_files or flags.like is not None)


class QueryText(NamedTuple):
    """A query as one text, with the flags that tell how to read it."""

    text: str = ""
    literal: bool = False
    regex: bool = False


def read_query(positional: str | None, flags: RankingFlags) -> QueryText:
    """Read QUERY or `-`, every -e, every line of every -f, in this order, without empty lines. Several are
    alternatives, as in grep. With --like the query may be empty."""
    if flags.like == "-" and "-" in (flags.query_files or ()):
        raise UsageError("--like - and -f - both read stdin", "give the query with -e")

    queries = [] if positional is None else [positional]
    if positional == "-":
        queries = [read_stdin(PIPE_HINT).decode("utf-8", "replace").strip()]
    queries += flags.queries or ()
    for name in flags.query_files or ():
        text = read_input(name, PIPE_HINT, "-f ").decode("utf-8", "replace")
        queries += [line for line in text.splitlines() if line.strip()]
    if not queries and flags.like is None:
        name = "why" if hasattr(flags, "targets") else "files" if flags.files_only else "search"
        raise UsageError("no query", f"`codelens {name} QUERY`; `codelens {name} --help` lists the options")
    # No index contains bytes that are not UTF-8.
    queries = [q.encode("utf-8", "surrogateescape").decode("utf-8", "replace") for q in queries or [""]]
    if len(queries) == 1:
        return QueryText(queries[0], flags.literal, flags.regex)
    if flags.literal:
        return QueryText("|".join(map(re.escape, queries)), regex=True)
    if flags.regex:
        return QueryText("|".join(f"(?:{q})" for q in queries), regex=True)
    return QueryText(" OR ".join(f"({q})" for q in queries))


def read_likeness(flags: RankingFlags, place: Workplace, index: Index) -> tuple[str, str, str]:
    """Read the target of --like: (target, text, language of the text). The target `-` stands for a text from stdin."""
    if flags.snippet_language is not None and flags.like != "-":
        raise UsageError("--lang needs --like -", "to filter hits by language use -t")
    if flags.like is None:
        return "", "", ""
    if not flags.like.strip():
        raise UsageError("--like is empty", "as in --like src/app.py:10, --like Class.method, --like -")
    if flags.like != "-":
        return locate_target(flags.like, place, index), "", ""
    text = read_stdin("pipe the code in: `codelens search --like - <FILE`").decode("utf-8", "replace")
    if not text.strip():
        raise UsageError("the code on stdin is empty")
    return "-", text, resolve_languages([flags.snippet_language])[0] if flags.snippet_language else ""


def build_search_options(
    flags: RankingFlags,
    settings: Settings,
    scope: Scope,
    query: QueryText | None = None,
    like: tuple[str, str, str] = ("", "", ""),
) -> SearchOptions:
    """Build the options of a search from its flags, then from settings, scope and query."""
    if flags.ignore_case and flags.case_sensitive:
        raise UsageError("use either -i or -s, not both")
    values = collect_given_options(flags)
    profile = values.setdefault("profile", LIKENESS if flags.like is not None else settings.profile)
    if settings.limit == Settings().limit:  # the default, which a profile may replace by its own number
        weights = load_weights().get(profile, {})
        if flags.files_only:
            weights = weights.get("files") or load_weights()["codelens"]["files"]
        values.setdefault("limit", int(weights.get("results", settings.limit)))
    values.setdefault("limit", settings.limit)
    values.setdefault("mode", settings.mode)
    values |= dict(zip(("like", "snippet", "snippet_language"), like, strict=True))
    return SearchOptions(
        **values
        | {
            "literal": query is not None and query.literal,
            "regex": query is not None and query.regex,
            "case": "no" if flags.ignore_case else "yes" if flags.case_sensitive else flags.case or "auto",
            "paths": scope.paths,
            "repositories": scope.repositories,
            "memory": settings.memory,
        }
    )


FILE_FILTERS = ("languages", "languages_not", "globs")


def collect_given_options(flags: object, names: Collection[str] = tuple(OPTIONS)) -> dict[str, Any]:
    """Collect the values of the search options that were given. Raises UsageError for a value that is not allowed."""
    values: dict[str, Any] = {}
    for name in names:
        row = OPTIONS[name]
        if not row.flags or (value := getattr(flags, name, None)) is None:
            continue
        values[name] = CONVERTERS[name](value) if name in CONVERTERS else tuple(value) if row.is_list else value
    return values


def read_change(flags: ChangeFlags, cwd: Path) -> Change | None:
    """Read the change that --pr, --diff or --staged names; None without them. Raises UsageError."""
    if not (chosen := find_only_flag(flags, ("pr", "diff", "staged"))):
        return None
    if chosen == "diff" and flags.diff is not None:
        return Change(read_diff(flags.diff, cwd), cwd=str(cwd))
    return Change(revisions=flags.pr or "", staged=flags.staged, cwd=str(cwd))


def read_diff(name: str, cwd: Path) -> bytes:
    """Read a diff from a file, or for `-` from stdin. Raises UsageError."""
    if name == "-":
        return read_stdin("pipe a diff in: `git diff | codelens … --diff -`")
    try:
        return (cwd / name).read_bytes()
    except OSError as fault:
        hint = f"a range of commits is --pr {name}" if ".." in name else ""
        raise UsageError(f"--diff {name}: {fault.strerror}", hint) from None


def find_only_flag(flags: object, names: Sequence[str], spelling: Mapping[str, str] | None = None) -> str:
    """Find which one of these flags was given; empty for none. Raises UsageError for more than one."""
    given = [name for name in names if getattr(flags, name, None) not in (False, None)]
    if len(given) > 1:
        first, second = ((spelling or {}).get(name, f"--{name.replace('_', '-')}") for name in given[:2])
        raise UsageError(f"use either {first} or {second}, not both")
    return given[0] if given else ""


def parse_time(text: str | None) -> int | None:
    """Convert a time as people write it, up to the year 9999, to unix seconds. Without an offset it is local time.
    Raises UsageError."""
    if text is None:
        return None
    from datetime import UTC, datetime

    try:
        if text.isascii() and text.isdigit():
            return int(datetime.fromtimestamp(int(text), UTC).timestamp())
        return int(datetime.fromisoformat(text).timestamp())
    except (ValueError, OverflowError, OSError):
        raise UsageError(f"--now {text}: not a time", "as in --now 2025-01-31T12:00:00Z or --now 1738324800") from None


def resolve_languages(names: Sequence[str]) -> tuple[str, ...]:
    """Resolve names of languages to canonical ones. Raises UsageError for an unknown language."""
    if not names:
        return ()
    from codelens.lang.registry import resolve_language

    return tuple(map(resolve_language, names))


def parse_weights(text: str) -> Mapping[str, float]:
    """Parse weights: 'exact=2,fuzzy=.5' → {exact: 2.0, fuzzy: 0.5}. The search itself refuses unknown channels."""
    weights: dict[str, float] = {}
    for part in filter(None, (p.strip() for p in text.split(","))):
        name, equals, number = part.partition("=")
        try:
            weights[name.strip()] = float(number)
        except ValueError:
            hint = "as in --weights exact=2,fuzzy=0.5"
            raise UsageError(f"--weights: '{part}' is not CHANNEL=NUMBER", hint) from None
        if not (equals and 0 <= weights[name.strip()] <= MOST_WEIGHT):
            raise UsageError(f"--weights: {name} must be from 0 to {MOST_WEIGHT:g}, not '{number}'")
    return weights


CONVERTERS: Mapping[str, Callable[[Any], Any]] = {
    "weights": parse_weights,
    "now": parse_time,
    "languages": resolve_languages,
    "languages_not": resolve_languages,
    "kinds": lambda kinds: tuple(kind.strip() for listed in kinds for kind in listed.split(",") if kind.strip()),
}
"""Search option → the function that converts the command line's value to the option's, where they differ."""
