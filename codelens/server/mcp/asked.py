"""Arguments of a call → the options of a search or of the graph, and schemas of those that several tools take.

A path is relative to an indexed root, or absolute and below one; with several roots the name of its repository stands
before it. Whatever leads elsewhere is refused before anybody looks at the disk.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

from codelens.config import CHOICES, Settings
from codelens.errors import MemoryFault, UsageError
from codelens.model import IndexInfo, RepositoryInfo, SearchOptions, UnitRow
from codelens.server.mcp.schema import Schema, choice, flag, several, text, whole
from codelens.server.mcp.tool import Asked

LONGEST_PATH = 1000
LEAST_BUDGET, MOST_BUDGET = 400, 100_000
"""Tokens. Below it is no room for what an answer says about itself; above it clients refuse. Chosen."""

QUERY = text(
    "Words, a name, a question in prose, or code. Filters narrow down: lang:py path:src/ file:*.go sym:Name kind:class "
    'is:test -is:test; "exact phrase", /regex/, OR, NOT, ( ). Prose never fails.'
)
TARGET = text("A symbol's name (Class.method, function), PATH:LINE or PATH", most=LONGEST_PATH)
NARROW: Mapping[str, Schema] = {
    "languages": several("Only these languages: py, ts, go …", text(most=40)),
    "paths": several("Only below these files and folders, relative to the root", text(most=LONGEST_PATH)),
}
MODE = choice("Which channels take part; hybrid is all", CHOICES["mode"])
FRESH = flag("Wait (some seconds) until the index knows the latest changes of files; set it right after editing")


def budget(default: int) -> Schema:
    """The schema of the argument that says how long an answer may be."""
    return whole("Most tokens of the answer (characters / 4); what is cut is said", LEAST_BUDGET, MOST_BUDGET, default)


def search_options(arguments: Mapping[str, Any], info: IndexInfo, settings: Settings, **more: Any) -> SearchOptions:
    """Options of a search by the settings and what the arguments narrow it to. Raises UsageError."""
    mode = arguments.get("mode", settings.mode)
    return SearchOptions(
        mode=mode, profile=settings.profile, memory=settings.memory, **narrowed(arguments, info), **more
    )


def remember(asked: Asked, query: str, found: Sequence[tuple[int, UnitRow, int]]) -> list[str]:
    """Record an answer as (rank, unit, line), where memory is on; what is to be said where that cannot be."""
    if not asked.served.settings.memory:
        return []
    try:
        asked.index.record(query, found, session=asked.session)
    except MemoryFault as fault:
        return [f"not recorded: {fault}"]
    return []


def narrowed(arguments: Mapping[str, Any], info: IndexInfo) -> dict[str, Any]:
    """`languages`, `paths` and `repositories` of the options. Raises UsageError for what is not indexed or no language."""
    from codelens.lang.registry import resolve_language

    languages = tuple(resolve_language(name) for name in arguments.get("languages", ()))
    places = [place_of(path, info) for path in arguments.get("paths", ())]
    names = {name for inside, _ in places for name in inside}
    everywhere = any(not below for _, below in places)
    return {
        "languages": languages,
        "paths": () if everywhere else tuple(below for _, below in places),
        "repositories": tuple(sorted(names)) if len(names) < len(info.repositories) else (),
    }


def place_of(path: str, info: IndexInfo) -> tuple[tuple[str, ...], str]:
    """(names of the repositories meant, path below their root, empty for the root itself). Raises UsageError."""
    named = inside(path, info)
    every = tuple(r.name for r in info.repositories)
    first, _, rest = named.partition("/")
    if len(every) > 1 and first in every:
        return (first,), rest
    return every, named


def inside(path: str, info: IndexInfo) -> str:
    """A path as answers write it: below a root, with the repository's name where there are several. Raises UsageError."""
    if os.path.isabs(path):  # noqa: PTH117 - of a name that may lead anywhere no Path is made
        return _below_a_root(path, info.repositories)
    parts = [part for part in PurePosixPath(path.replace(os.sep, "/")).parts if part != "."]
    if ".." in parts:
        raise _elsewhere(path)
    return "/".join(parts)


def target_inside(target: str, info: IndexInfo) -> str:
    """PATH:LINE, PATH or a name, so that no path leads out of the roots. Raises UsageError."""
    path, colon, line = target.rpartition(":")
    if not (colon and line.isdigit()):
        path, colon, line = target, "", ""
    is_path = "/" in path or os.sep in path
    return f"{inside(path, info)}{colon}{line}" if is_path else target


def _below_a_root(path: str, repositories: Sequence[RepositoryInfo]) -> str:
    whole_path = os.path.normpath(path)
    for repository in sorted(repositories, key=lambda r: -len(r.root)):
        if whole_path == repository.root or whole_path.startswith(repository.root.rstrip(os.sep) + os.sep):
            below = os.path.relpath(whole_path, repository.root).replace(os.sep, "/")
            below = "" if below == "." else below
            return f"{repository.name}/{below}".rstrip("/") if len(repositories) > 1 else below
    raise _elsewhere(path)


def _elsewhere(path: str) -> UsageError:
    return UsageError(f"{path} lies outside of what is indexed", "name it relative to the root that `status` tells")
