"""A unit → why it is no place to start a walk from: knowing's noise filter.

Mocks and generated code have many edges and little to say, so a walk from them goes astray. It is a filter of seeds: what
the walk itself reaches stays a candidate. A query that asks for such things by their word finds them.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

from codelens.model import UnitRow
from codelens.text.identifiers import fold_identifier, split_identifier

DOUBLES = frozenset(("mock", "mocks", "mocked", "fake", "fakes", "stub", "stubs"))
"""Words of a name that make a double of it; knowing looks for `mock`, `fake` and `stub` in the name of the type."""
SHORT_NAMES = frozenset(("id", "ok", "db", "ip", "io", "go", "do"))
"""Names of two letters that mean something; knowing's list."""
SHORTEST_NAME = 3
PATHS: Mapping[str, re.Pattern[str]] = {
    "build": re.compile(r"(?:^|/)(?:dist|build|node_modules)/"),
    "vendor": re.compile(r"(?:^|/)(?:vendor|third_party)/"),
    "minified": re.compile(r"\.(?:min|bundle)\.[a-z]+$"),
    "fixture": re.compile(r"(?:^|/)(?:conftest|fixtures?)\.[a-z]+$|(?:^|/)(?:testutil|testhelper)|test_?helper", re.I),
}
"""What a path may be → how it looks; knowing's list, and `third_party`, which is vendored as well."""
ROLES = ("vendored", "generated")


def noise_of(unit: UnitRow, said: Collection[str]) -> str:
    """Why a unit is noise, in a person's words; empty if it is none. `said`: the query's words and folded names."""
    for role in ROLES:
        if role in unit.roles and not _asked(role, said):
            return f"{role} code"
    for what, pattern in PATHS.items():
        if pattern.search(unit.path) and not _asked(what, said):
            return f"a {what} path"
    words = {*split_identifier(unit.container), *(split_identifier(unit.name))}
    if (double := sorted(words & DOUBLES)) and not any(word in said for word in DOUBLES):
        return f"its name says {double[0]}"
    name = fold_identifier(unit.name)
    if len(name) < SHORTEST_NAME and name not in SHORT_NAMES and name not in said:
        return f"a name of {len(name)} letters"
    return ""


def _asked(word: str, said: Collection[str]) -> bool:
    """Whether the query says the word itself, or its plural: 'vendor' asks for what is vendored."""
    return bool({word, f"{word}s", word.removesuffix("ed")} & set(said))
