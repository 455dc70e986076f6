"""What each filter asks: a field → a test of what is known, None where it needs to know more."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from fnmatch import fnmatchcase
from typing import Any

from codelens.lang.registry import is_prose
from codelens.search.facts import DocumentFacts, Matching, TextFacts, UnitFacts, contains, occurs
from codelens.search.filters import COMPARISON, day_start
from codelens.search.literals import fold
from codelens.search.metadata import UPDATED, Scalar, number_of, unix_seconds
from codelens.search.nodes import DOC, KIND_GROUPS, kinds_meant


def _language(facts: DocumentFacts, values: tuple[str, ...], _: Matching) -> bool:
    return facts.language.lower() in map(str.lower, values)


def _role(facts: DocumentFacts, values: tuple[str, ...], _: Matching) -> bool:
    return not facts.roles.isdisjoint(values)


def _kind(facts: DocumentFacts, values: tuple[str, ...], _: Matching) -> bool | None:
    if not isinstance(facts, UnitFacts):
        return None
    if facts.kind in kinds_meant(value for value in values if value != DOC):
        return True
    return DOC in values and facts.kind in KIND_GROUPS[DOC] and is_prose(facts.language)


def _repository(facts: DocumentFacts, values: tuple[str, ...], matching: Matching) -> bool:
    return any(_fits(facts.repository, value, matching) for value in values)


def _file(facts: DocumentFacts, values: tuple[str, ...], matching: Matching) -> bool:
    return any(_fits(facts.path.rpartition("/")[2], value, matching) for value in values)


def _path(facts: DocumentFacts, values: tuple[str, ...], matching: Matching) -> bool:
    return any(_on_path(facts.path, value.removeprefix("./"), matching) for value in values)


def _content(facts: DocumentFacts, values: tuple[str, ...], matching: Matching) -> bool | None:
    return any(contains(facts.text, value, matching) for value in values) if isinstance(facts, TextFacts) else None


def _metadata(facts: DocumentFacts, values: tuple[str, ...], _: Matching) -> bool:
    return any(_compares(facts.metadata, value) for value in values)


def _compares(known: Mapping[str, Scalar], comparison: str) -> bool:
    """Numbers as numbers, times as times, texts without case; nothing is known of what has no such column, so no test holds."""
    parts = COMPARISON.fullmatch(comparison)
    if parts is None or (held := _column(known, parts[1])) is None:
        return False
    how, wanted = parts[2], parts[3]
    left: float | str | None = number_of(held)
    right: float | str | None = _moment(wanted) if parts[1] == UPDATED else number_of(wanted)
    if left is None or right is None:
        left, right = fold(_text(held)), fold(wanted)
    return _COMPARISONS[how](left, right)


def _column(known: Mapping[str, Scalar], name: str) -> Scalar | None:
    return next((value for column, value in known.items() if column.lower() == name), None)


def _text(value: Scalar) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _moment(text: str) -> float | None:
    try:
        return unix_seconds(text)
    except ValueError:
        return None


_COMPARISONS: Mapping[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "!=": operator.ne,
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
}


def _symbol(facts: DocumentFacts, values: tuple[str, ...], matching: Matching) -> bool | None:
    """A part of the name; or after a dot, with what is before the dot as the last containers."""
    if not isinstance(facts, UnitFacts):
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


def _after(_: DocumentFacts, values: tuple[str, ...], matching: Matching) -> bool | None:
    """Changed on that day or later. No part of a file is younger than the file."""
    last = matching.last
    if last is None or last.time < min(day_start(value) or 0 for value in values):
        return False
    return None if last.whole_file else last.exact


def _before(_: DocumentFacts, values: tuple[str, ...], matching: Matching) -> bool | None:
    """Changed before that day, and not since."""
    last = matching.last
    if last is None:
        return False
    if last.time < max(day_start(value) or 0 for value in values):
        return True
    return None if last.whole_file else False


def _author(_: DocumentFacts, values: tuple[str, ...], matching: Matching) -> bool | None:
    """A part of the name or address of whoever made the last change."""
    last = matching.last
    if last is None:
        return False
    return None if last.whole_file else any(_fits(last.author, value, matching) for value in values)


FIELD_TESTS: Mapping[str, Callable[[DocumentFacts, tuple[str, ...], Matching], bool | None]] = {
    "lang": _language,
    "is": _role,
    "kind": _kind,
    "repo": _repository,
    "file": _file,
    "path": _path,
    "content": _content,
    "sym": _symbol,
    "meta": _metadata,
    "after": _after,
    "before": _before,
    "author": _author,
    "case": lambda facts, values, matching: True,
}


def _fits(text: str, value: str, matching: Matching) -> bool:
    """A part of the text, or a glob over all of it."""
    if matching.ignores_case(value):
        text, value = fold(text), fold(value)
    return fnmatchcase(text, value) if _is_glob(value) else value in text


def _is_glob(value: str) -> bool:
    return any(c in value for c in "*?[")


def _on_path(path: str, value: str, matching: Matching) -> bool:
    """A part of the path, of which '/' begins a component; or a glob, see `path_glob`."""
    if matching.ignores_case(value):
        path, value = fold(path), fold(value)
    return path_glob(path, value) if _is_glob(value) else value in f"/{path}"


def path_glob(path: str, glob: str) -> bool:
    """Globs as .gitignore has them: `*` stays in a component, `**` crosses; it may begin at any component, at the root
    only with a leading '/', and a folder that matches takes all that is in it.

    Walks the places that the parts reach as a set, so that no glob is slow.
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
