"""Filters: parses and checks their values, and tests whether a document or unit satisfies one."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Any

from codelens.errors import UsageError
from codelens.lang.registry import is_prose
from codelens.query.facts import UPDATED, Facts, Matching, Scalar, contains_phrase, occurs, parse_number, parse_time
from codelens.query.nodes import CASES, DOC, KIND_GROUPS, KINDS, ROLES, Filter, expand_kinds
from codelens.text.identifiers import find_nearest_word
from codelens.text.terms import fold

_LONGEST = 24  # Most characters of a name that gets a suggestion, and of a text quoted in a notice


# Names of our filters in Sourcegraph, GitHub and other search tools
ACCEPTED = {"r": "repo", "f": "file", "language": "lang", "symbol": "sym"}
MISTAKEN = {
    "ext": "lang",
    "type": "kind",
    "name": "sym",
    "filename": "file",
    "dir": "path",
    "repository": "repo",
    "text": "content",
    "has": "is",
    "since": "after",
    "until": "before",
    "committer": "author",
}

Values = tuple[str, ...]


def shorten(text: str) -> str:
    """Shorten a text to one line for a notice."""
    excerpt_text = text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in excerpt_text)


def suggest_nearest(name: str, known: tuple[str, ...], others: Mapping[str, str] = {}) -> str:
    """Suggest the known name that a mistyped one may mean; empty if nothing is similar."""
    return find_nearest_word(name.lower(), known, others) if len(name) <= _LONGEST else ""


GLOB = re.compile(r"[*?[]")  # A character that makes a value a glob
COMPARISON = re.compile(r"([\w-]+)(>=|<=|!=|=|<|>)(.+)", re.DOTALL)  # A value of `meta:`: column, comparison, operand
_DAY = re.compile(r"(\d{4})(?:-(\d{1,2})(?:-(\d{1,2}))?)?", re.ASCII)


class BadValueError(Exception):
    """A filter with an invalid value. The message is one line."""


def make_filter(field: str, values: Sequence[str], languages: Collection[str], outside: bool) -> Filter:
    """Make a filter with its values in canonical form. Raises BadValueError without values, for an unknown value, and for a
    `case:` inside a group or negation (not `outside`), because it applies to the whole query.

    `languages` may be a mapping from accepted names to the names in documents; if it is empty, any name is accepted.
    """
    if not values:
        raise BadValueError(f"'{field}:' needs a value right after it;")
    if field == "meta":
        return Filter(field, _complete_comparisons(values))
    if field in ("after", "before"):
        for value in values:
            if find_day_start(value) is None:
                raise BadValueError(f"'{field}:{shorten(value)}' is not a day, as in {field}:2026-01-31;")
    noun, known = _list_known_values(field, languages)
    if not known:
        return Filter(field, tuple(values))
    if field == "case" and (not outside or len(values) > 1):
        raise BadValueError("'case:' applies to the whole query: one of yes, no, auto, not in a group and not negated;")
    for value in values:
        if value.lower() not in known:
            meant = suggest_nearest(value, tuple(sorted(known)))
            hint = f", did you mean '{field}:{meant}'?" if meant else f", only {', '.join(sorted(known))};"
            hint = ";" if not meant and len(known) > 5 else hint
            raise BadValueError(f"no {noun} is called '{shorten(value)}'{hint}")
    return Filter(field, tuple(dict.fromkeys(known[value.lower()] for value in values)))


def _list_known_values(field: str, languages: Collection[str]) -> tuple[str, Mapping[str, str]]:
    """List a field's fixed values as (noun for messages, spelling → canonical value); both empty for other fields."""
    tables: Mapping[str, tuple[str, Mapping[str, str]]] = {
        "lang": ("language", languages if isinstance(languages, Mapping) else {name: name for name in languages}),
        "kind": ("kind", KINDS),
        "is": ("role", {role: role for role in ROLES}),
        "case": ("case", {case: case for case in CASES}),
    }
    return tables.get(field, ("", {}))


def _complete_comparisons(values: Sequence[str]) -> tuple[str, ...]:
    """Complete values of `meta:` to NAME=VALUE; a value without a name gets the name before it."""
    comparisons: list[str] = []
    name = ""
    for value in values:
        if compared := COMPARISON.fullmatch(value):
            name = compared[1].lower()
            comparisons.append(f"{name}{compared[2]}{compared[3]}")
        elif name:
            comparisons.append(f"{name}={value}")
        else:
            example = "as in meta:category=cli or meta:stars>=100"
            raise BadValueError(f"'meta:{shorten(value)}' has no comparison, {example};")
    return tuple(dict.fromkeys(comparisons))


def make_kinds_filter(kinds: Sequence[str]) -> Filter | None:
    """Make the condition for --kind; None without kinds. Raises UsageError for an unknown kind."""
    if not kinds:
        return None
    try:
        return make_filter("kind", kinds, (), outside=True)
    except BadValueError as fault:
        message = str(fault).rstrip(";").replace("kind:", "--kind ")
        raise UsageError(message, f"kinds: {', '.join(sorted(set(KINDS)))}") from None


@lru_cache(maxsize=16)
def find_day_start(text: str) -> int | None:
    """Find the first second (unix, UTC) of a day, month or year: 2026-01-31, 2026-01 or 2026; None for other texts."""
    if not (match := _DAY.fullmatch(text)):
        return None
    from datetime import UTC, datetime  # few queries name a day

    year, month, day = (int(part) if part else 1 for part in match.groups())
    try:
        return int(datetime(year, month, day, tzinfo=UTC).timestamp())
    except ValueError:
        return None


def _has_kind(facts: Facts, values: Values, _: Matching) -> bool | None:
    if facts.kind is None:
        return None
    if facts.kind in expand_kinds(value for value in values if value != DOC):
        return True
    return DOC in values and facts.kind in KIND_GROUPS[DOC] and is_prose(facts.language)


def find_repositories(value: str, matching: Matching) -> Collection[str]:
    """Find the names of repositories whose name or root ends in the value, in whole components: `app` finds `web/app`.

    Otherwise find repositories whose name contains the value, or whose path does if the value has a slash.
    """
    if value not in matching.meant:
        roots, below = matching.roots.items(), f"/{value.strip('/')}/"
        exact = {name for name, root in roots if _ends_with(name, value, matching) or _ends_with(root, value, matching)}
        matching.meant[value] = exact or {
            name
            for name, root in roots
            if _fits(name, value, matching) or ("/" in value and _fits(f"{root}/", below, matching))
        }
    return matching.meant[value]


def _ends_with(path: str, value: str, matching: Matching) -> bool:
    if matching.ignores_case(value):
        path, value = fold(path), fold(value)
    return f"/{path.strip('/')}".endswith(f"/{value.removeprefix('./').strip('/')}")


def _satisfies_comparison(known: Mapping[str, Scalar], comparison: str) -> bool:
    """Compare a column with a value: as numbers, as times, or as texts ignoring case. False if the column is missing."""
    parts = COMPARISON.fullmatch(comparison)
    value = next((value for column, value in known.items() if parts and column.lower() == parts[1]), None)
    if parts is None or value is None:
        return False
    left: float | str | None = parse_number(value)
    try:
        right: float | str | None = parse_time(parts[3]) if parts[1] == UPDATED else parse_number(parts[3])
    except ValueError:
        right = None
    if left is None or right is None:
        left, right = fold(str(value).lower() if isinstance(value, bool) else str(value)), fold(parts[3])
    return _COMPARISONS[parts[2]](left, right)


_COMPARISONS: Mapping[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "!=": operator.ne,
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
}


def _has_symbol(facts: Facts, values: Values, matching: Matching) -> bool | None:
    """True if the name contains the value; a part before a dot must match the end of the container."""
    if facts.kind is None:
        return None
    container = facts.qualified_name.removesuffix(facts.name).rstrip(".")
    for value in values:
        within, _, name = re.sub(r"::|#|->", ".", value.removesuffix("()")).rpartition(".")
        ignore = matching.ignores_case(value)
        ends = f".{container}", f".{within}"
        if within and not (fold(ends[0]).endswith(fold(ends[1])) if ignore else ends[0].endswith(ends[1])):
            continue
        if occurs(facts.name, name, ignore, matching.whole_word):
            return True
    return False


def _is_after(_: Facts, values: Values, matching: Matching) -> bool | None:
    """True if last changed on that day or later. No part of a file is younger than the file."""
    last = matching.last
    if last is None or last.time < min(find_day_start(value) or 0 for value in values):
        return False
    return None if last.whole_file else last.exact


def _is_before(_: Facts, values: Values, matching: Matching) -> bool | None:
    """True if last changed before that day."""
    last = matching.last
    if last is None:
        return False
    if last.time < max(find_day_start(value) or 0 for value in values):
        return True
    return None if last.whole_file else False


def _is_by_author(_: Facts, values: Values, matching: Matching) -> bool | None:
    """True if the name or address of the last change's author contains a value."""
    last = matching.last
    if last is None:
        return False
    return None if last.whole_file else any(_fits(last.author, value, matching) for value in values)


FIELD_TESTS: Mapping[str, Callable[[Facts, Values, Matching], bool | None]] = {
    "lang": lambda facts, values, _: facts.language.lower() in map(str.lower, values),
    "path": lambda facts, values, matching: any(_fits_path(facts.path, value, matching) for value in values),
    "file": lambda facts, values, matching: any(_fits(facts.path.rpartition("/")[2], v, matching) for v in values),
    "sym": _has_symbol,
    "kind": _has_kind,
    "case": lambda facts, values, matching: True,
    "repo": lambda facts, values, matching: any(facts.repository in find_repositories(v, matching) for v in values),
    "content": lambda facts, values, matching: (
        None if facts.text is None else any(contains_phrase(facts.text, value, matching) for value in values)
    ),
    "is": lambda facts, values, _: not facts.roles.isdisjoint(values),
    "meta": lambda facts, values, _: any(_satisfies_comparison(facts.metadata, value) for value in values),
    "after": _is_after,
    "before": _is_before,
    "author": _is_by_author,
}  # Field → its test: True, False, or None if more facts are needed
CHANGE_FIELDS = frozenset({"after", "before", "author"})  # Fields that need the last change


def _fits(text: str, value: str, matching: Matching) -> bool:
    """True if the text contains the value, or if the value is a glob that matches all of it."""
    if matching.ignores_case(value):
        text, value = fold(text), fold(value)
    return fnmatchcase(text, value) if GLOB.search(value) else value in text


def _fits_path(path: str, value: str, matching: Matching) -> bool:
    """True if the path contains the value ('/' matches the start of a component), or if it matches as a `path_matches_glob`."""
    value = value.removeprefix("./")
    if matching.ignores_case(value):
        path, value = fold(path), fold(value)
    return path_matches_glob(path, value) if GLOB.search(value) else value in f"/{path}"


def path_matches_glob(path: str, glob: str) -> bool:
    """Match a path with a glob as in .gitignore: `*` stays within a component, `**` crosses components. It may match from any
    component, with a leading '/' only from the root. A matching folder includes all files below.

    The reachable components are kept as a set, so no glob takes exponential time.
    """
    components = path.split("/")
    parts = glob.rstrip("/").split("/")
    reached = set(range(len(components) + 1))
    if parts[0] == "":
        reached, parts = {0}, parts[1:]
    for part in parts:
        if part == "**":
            reached = set(range(min(reached, default=len(components) + 1), len(components) + 1))
        else:
            reached = {at + 1 for at in reached if at < len(components) and fnmatchcase(components[at], part)}
    return bool(reached)
