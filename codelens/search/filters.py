"""The values of filters: which are known, what they stand for, and what is said about one that is not."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache

from codelens.errors import UsageError
from codelens.search.faults import excerpt, suggest_value
from codelens.search.nodes import CASES, KINDS, ROLES, Filter

COMPARISON = re.compile(r"([\w-]+)(>=|<=|!=|=|<|>)(.+)", re.DOTALL)
"""A value of `meta:`: a column, how it is compared, and with what."""
_DAY = re.compile(r"(\d{4})(?:-(\d{1,2})(?:-(\d{1,2}))?)?", re.ASCII)


class BadValueError(Exception):
    """A filter that cannot be meant as one; says why in one line."""


def make_filter(field: str, values: Sequence[str], languages: Collection[str], outside: bool) -> Filter:
    """A filter with its values in canonical form. Raises BadValueError for none, for an unknown one, and for a `case:`
    that is not `outside` of all groups and negations, because it holds for the whole query.

    `languages` may map other names to the one that documents carry; if there are none, any name is taken.
    """
    if not values:
        raise BadValueError(f"'{field}:' wants a value right behind it;")
    if field == "meta":
        return Filter(field, _comparisons(values))
    if field in ("after", "before"):
        for value in values:
            if day_start(value) is None:
                raise BadValueError(f"'{field}:{excerpt(value)}' is no day, as in {field}:2026-01-31;")
    known = _known(field, languages)
    if not known:
        return Filter(field, tuple(values))
    if field == "case" and (not outside or len(values) > 1):
        raise BadValueError("'case:' holds for the whole query: one of yes, no, auto, in no group and not negated;")
    return Filter(field, tuple(dict.fromkeys(_canonical(field, value, known) for value in values)))


def _comparisons(values: Sequence[str]) -> tuple[str, ...]:
    """NAME=VALUE each; what is a value alone is another one of the name before it."""
    found: list[str] = []
    name = ""
    for value in values:
        if compared := COMPARISON.fullmatch(value):
            name = compared[1].lower()
            found.append(f"{name}{compared[2]}{compared[3]}")
        elif name:
            found.append(f"{name}={value}")
        else:
            raise BadValueError(
                f"'meta:{excerpt(value)}' compares nothing, as meta:category=cli and meta:stars>=100 do;"
            )
    return tuple(dict.fromkeys(found))


def kinds_filter(kinds: Sequence[str]) -> Filter | None:
    """The condition that --kind demands; None for none. Raises UsageError for a kind that there is not."""
    if not kinds:
        return None
    try:
        return make_filter("kind", kinds, (), outside=True)
    except BadValueError as fault:
        said = str(fault).rstrip(";").replace("kind:", "--kind ")
        raise UsageError(said, f"kinds: {', '.join(sorted(set(KINDS)))}") from None


@lru_cache(maxsize=16)
def day_start(text: str) -> int | None:
    """The first second (unix, UTC) of a day, month or year as 2026-01-31, 2026-01 or 2026; None for what is none."""
    if not (found := _DAY.fullmatch(text)):
        return None
    from datetime import UTC, datetime  # few queries name a day

    year, month, day = (int(part) if part else 1 for part in found.groups())
    try:
        return int(datetime(year, month, day, tzinfo=UTC).timestamp())
    except ValueError:
        return None


def _known(field: str, languages: Collection[str]) -> Mapping[str, str]:
    """Spelling → canonical value, for fields that take only some values; empty for the others."""
    match field:
        case "lang":
            return languages if isinstance(languages, Mapping) else {name: name for name in languages}
        case "kind":
            return KINDS
        case "is":
            return {role: role for role in ROLES}
        case "case":
            return {case: case for case in CASES}
    return {}


def _canonical(field: str, value: str, known: Mapping[str, str]) -> str:
    if (found := known.get(value.lower())) is not None:
        return found
    meant = suggest_value(value, tuple(sorted(known)))
    hint = (
        f", did you mean '{field}:{meant}'?"
        if meant
        else ";"
        if len(known) > 5
        else f", only {', '.join(sorted(known))};"
    )
    raise BadValueError(f"no {_NOUNS[field]} is called '{excerpt(value)}'{hint}")


_NOUNS = {"lang": "language", "kind": "kind", "is": "role", "case": "case"}
