"""What manifests declare: the nouns, and the steps that readers of several formats share.

Only what links files to each other is kept: names, what depends on what, and where a name's sources lie.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from codelens.nouns import dataclass


class Dependency(NamedTuple):
    """One package that a manifest asks for."""

    name: str
    line: int
    """Where the manifest says so, from 1."""
    group: str = ""
    """Empty for what the package needs to run; else dev, build, peer, optional, indirect or the name of an own group."""
    path: str = ""
    """Where it lies in the tree, relative to the manifest's folder, if the manifest says so."""


@dataclass(frozen=True, slots=True)
class Manifest:
    """One manifest. Paths are as written, relative to its folder."""

    path: str
    ecosystem: str
    """npm, pypi, go, cargo, composer, gem, maven (Gradle, too) or nuget."""
    name: str
    """As others ask for it; empty if it has none. Of Maven `group:artifact`."""
    dependencies: tuple[Dependency, ...] = ()
    """In order of line, each name once a group."""
    roots: tuple[tuple[str, str], ...] = ()
    """(what an import begins with, folder of its sources): a Go module's path, a crate's name, PSR-4's `App\\` → `src/`; of
    Python an empty prefix and the folder of the packages."""
    entries: tuple[str, ...] = ()
    """Files that the package is used by (npm's main, module, types, exports, bin; a crate's lib and bins); of Python
    `module:function`."""
    members: tuple[str, ...] = ()
    """Globs of folders of the packages of a workspace."""


_FORMS = {
    "word": re.compile(r"([\w./@\\:-]+)"),
    "json": re.compile(r'"((?:[^"\\\n]|\\.)*)"\s*:'),
    "toml": re.compile(r"^[ \t]*(?:\[(?:[^\n\]]*\.)?)?[\"']?([\w-]+)[\"']?[ \t]*[=.\]]", re.MULTILINE),
}
"""How names stand in a text: as a word, as a key of JSON, as a key of TOML or the end of a table's."""


class Lines:
    """Finds the lines of names in a text, each after the one before: manifests are read in their order."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._starts = [0, *(found.end() for found in re.finditer("\n", text))]
        self._places: dict[str, dict[str, list[int]]] = {}

    def of(self, name: str, form: str = "word") -> int:
        """The line of the next place where a name stands in this form (word, json or toml); 1 if there is none."""
        if form not in self._places:
            self._places[form] = self._all(form)
        left = self._places[form].get(name, [])
        place = left.pop() if len(left) > 1 else left[0] if left else 0
        return bisect_right(self._starts, place)

    def _all(self, form: str) -> dict[str, list[int]]:
        """Name → where it stands, the first at the end."""
        places: dict[str, list[int]] = {}
        for found in _FORMS[form].finditer(self._text):
            places.setdefault(found[1], []).append(found.start(1))
        return {name: list(reversed(found)) for name, found in places.items()}


def in_order(dependencies: Iterable[Dependency]) -> tuple[Dependency, ...]:
    """By line and name; of one name in one group the first."""
    kept: dict[tuple[str, str], Dependency] = {}
    for one in sorted(dependencies, key=lambda d: (d.line, d.name, d.group)):
        kept.setdefault((one.name, one.group), one)
    return tuple(kept.values())


def strings(value: Any) -> Iterator[str]:
    """All strings in lists and tables, in their order; of a table the values."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for one in value:
            yield from strings(one)
    elif isinstance(value, dict):
        for one in value.values():
            yield from strings(one)


def table(value: Any, *keys: str) -> dict[str, Any]:
    """The table at a path of keys; empty where there is none."""
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}


def text_at(value: Any, *keys: str) -> str:
    """The string at a path of keys; empty where there is none."""
    found = table(value, *keys[:-1]).get(keys[-1])
    return found if isinstance(found, str) else ""
