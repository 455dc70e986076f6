"""A tool: its arguments, the function that answers, and the budget that the answer must fit."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

from codelens.config import Settings, load_weights
from codelens.context.counters import count_chars
from codelens.errors import MemoryFault, NoIndex, UsageError
from codelens.index import Index
from codelens.model.code import IndexInfo, RepositoryInfo, UnitRow
from codelens.model.fast_dataclass import dataclass
from codelens.model.request import SearchOptions
from codelens.render.paths import PathStyle
from codelens.render.visible import for_line, for_terminal
from codelens.server.mcp import schema
from codelens.server.upkeep import ServedIndex, Work

Record = dict[str, Any]


@dataclass(frozen=True, slots=True)
class ToolAnswer:
    """The same twice: lines for whoever reads, an object of the tool's output schema for whoever computes."""

    text: str
    record: Record | None  # None where the lines are an error and its hint


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call: arguments that fit the tool's input schema, with its defaults filled in, and what may be asked."""

    opened: Index | None  # None where there is no index yet
    tool: Tool
    arguments: Mapping[str, Any]
    served: ServedIndex
    work: Work
    session: str  # Whose answers are remembered together: of one client, or of all that a web server has
    structured: bool = True  # True if the answer's object is sent too

    @property
    def index(self) -> Index:
        """The index. Raises NoIndex."""
        if self.opened is None:
            raise NoIndex(f"there is no index of {self.served.folder}")
        return self.opened

    @property
    def paths(self) -> PathStyle:
        """How answers write paths: relative to the root, after the repository's name where there are several."""
        return PathStyle("root", "", self.index.info().repositories)


@dataclass(frozen=True, slots=True)
class Tool:
    """A row of the table."""

    name: str
    title: str
    description: str  # For an agent: what it gives, and when to prefer another tool
    takes: schema.Schema
    gives: schema.AnswerTypes
    answer: Callable[[ToolCall], ToolAnswer]  # Raises CodelensError
    waits: bool = True  # For the index, where that is being built
    records: bool = False  # True if a call changes later answers


LONGEST_LINE = 240  # Characters of a line of code in an answer. Two screens wide.
LONGEST_NOTICE, MOST_NOTICES = 160, 4  # Notices must not fill an answer


def fit_budget(count: int, answer_of: Callable[[int], ToolAnswer], call: ToolCall) -> ToolAnswer:
    """The answer with as many of its `count` items as the call's budget holds; `answer_of(n)` is the one with the first n.

    The budget holds for the larger of the forms that are sent. Raises UsageError where not even the one without items fits.
    """
    budget = call.arguments["budget"]

    def tokens(answer: ToolAnswer) -> int:
        record = count_chars(json.dumps(answer.record, ensure_ascii=False)) if call.structured else 0
        return max(count_chars(answer.text), record)

    whole = answer_of(count)
    if tokens(whole) <= budget:
        return whole
    least, most = 0, count  # the first `least` are known to fit, the first `most` are known not to
    while most - least > 1:
        middle = (least + most) // 2
        least, most = (middle, most) if tokens(answer_of(middle)) <= budget else (least, middle)
    found = answer_of(least)
    if tokens(found) > budget:
        raise UsageError(f"an answer needs at least {tokens(found)} tokens, not {budget}", "use a larger `budget`")
    return found


def code_line(text: str, most: int = LONGEST_LINE) -> str:
    """A line of code, without what a terminal would obey, and cut where it is very long."""
    line = for_line(for_terminal(text.rstrip("\r\n")))
    return line if len(line) <= most else f"{line[:most]}…"


FLAG = re.compile(r"`codelens [^`]*`|(?<!\w)'[^']*'|(?<![\w`-])(--?[A-Za-z][a-z-]*)")
WORDINGS = {
    "`codelens search --type-list` lists them": "use a name or a file's ending, such as python or py",
    "`codelens status --skipped` lists what was left out": "`search` with file:NAME finds the indexed files",
    "`codelens status --skipped` lists what is not": "`search` with file:NAME finds the indexed files",
    "if it is new, run `codelens index` first": "if it is new, call with `fresh`",
    "or search with --refresh": "or call with `fresh`",
    "-F finds it as text, --regex as a pattern": '"…" finds it as text, /…/ as a pattern',
    "--by-name or --min-confidence": "--min-confidence",
    "with --diff FILE, or `git diff | … --diff -`": "in `diff`",
    "--budget, or --format compact": "--budget",
    "--kind": "--kinds",
    "--root-scope, without a PATH": "leave `paths` out",
    "--root-scope, or without -t, -g, PATH and the like": "leave `paths` and `languages` out",
}
"""Advice for the command line that names its commands or flags → the same for a client."""


def reword_for_client(message: str, tool: Tool, advice: bool = False) -> str:
    """A message of the command line with the tool's arguments in place of flags; commands for a shell stay.

    Clauses about a flag without such an argument are left out: all of them where the message is `advice`, else all but the first.
    """
    for command_line, client in WORDINGS.items():
        message = message.replace(command_line, client)
    clauses = message.split("; ")
    known = tool.takes["properties"]

    def argument(flag: re.Match[str]) -> str:
        return f"`{flag[1].lstrip('-').replace('-', '_')}`" if flag[1] else flag[0]

    def applies(clause: str) -> bool:
        return all(argument(flag).strip("`") in known for flag in FLAG.finditer(clause) if flag[1])

    kept = [c for number, c in enumerate(clauses) if applies(c) or (number == 0 and not advice)]
    return "; ".join(FLAG.sub(argument, clause) for clause in kept)


def format_notices(texts: list[str], tool: Tool) -> list[str]:
    """Format the first few notices, each on one short line."""
    written = [for_line(reword_for_client(text, tool)) for text in texts]
    lines = [one if len(one) <= LONGEST_NOTICE else f"{one[:LONGEST_NOTICE]}…" for one in written]
    more = len(lines) - MOST_NOTICES
    return lines if more <= 0 else [*lines[:MOST_NOTICES], f"{more} more notices"]


def cut_line(cut: int, of: str, remedy: str) -> list[str]:
    """A line that says how many items found no room; none if all did."""
    return [f"{cut} more {of} found no room: {remedy}"] if cut else []


def search_options(arguments: Mapping[str, Any], info: IndexInfo, settings: Settings, **more: Any) -> SearchOptions:
    """Options of a search by the settings and what the arguments narrow it to. Raises UsageError."""
    values: dict[str, Any] = {"mode": settings.mode, "profile": settings.profile, "memory": settings.memory}
    values |= {name: arguments[name] for name in schema.RANKED if name in arguments}
    walks = "walk" in load_weights()[values["profile"]]  # by itself, as far as `depth` says
    if "decay" in values or ("depth" in values and not walks):
        values["expand"] = "bfs"
    return SearchOptions(**values, **scope_options(arguments, info), **more)


def remember(call: ToolCall, query: str, found: Sequence[tuple[int, UnitRow, int]]) -> list[str]:
    """Record an answer as (rank, unit, line), if memory is on; returns a notice if that fails."""
    if not call.served.settings.memory:
        return []
    try:
        call.index.memory.record(query, found, session=call.session)
    except MemoryFault as fault:
        return [f"not recorded: {fault}"]
    return []


def scope_options(arguments: Mapping[str, Any], info: IndexInfo) -> dict[str, Any]:
    """`languages`, `paths` and `repositories` of the options. Raises UsageError for what is not indexed or no language."""
    from codelens.lang.registry import resolve_language

    languages = tuple(resolve_language(name) for name in arguments.get("languages", ()))
    places = [split_repository(path, info) for path in arguments.get("paths", ())]
    names = {name for repositories, _ in places for name in repositories}
    everywhere = any(not below for _, below in places)
    return {
        "languages": languages,
        "paths": () if everywhere else tuple(below for _, below in places),
        "repositories": tuple(sorted(names)) if len(names) < len(info.repositories) else (),
    }


def split_repository(path: str, info: IndexInfo) -> tuple[tuple[str, ...], str]:
    """(names of the repositories meant, path below their root, empty for the root itself). Raises UsageError."""
    named = path_in_index(path, info)
    every = tuple(r.name for r in info.repositories)
    first, _, rest = named.partition("/")
    if len(every) > 1 and first in every:
        return (first,), rest
    return every, named


def path_in_index(path: str, info: IndexInfo) -> str:
    """A path as answers write it: below a root, with the repository's name where there are several. Raises UsageError."""
    if os.path.isabs(path):  # noqa: PTH117 - of a name that may lead anywhere no Path is made
        return _path_below_root(path, info.repositories)
    parts = [part for part in PurePosixPath(path.replace(os.sep, "/")).parts if part != "."]
    if ".." in parts:
        raise _outside_error(path)
    return "/".join(parts)


def target_in_index(target: str, info: IndexInfo) -> str:
    """PATH:LINE, PATH or a name, so that no path leads out of the roots. Raises UsageError."""
    path, colon, line = target.rpartition(":")
    if not (colon and line.isdigit()):
        path, colon, line = target, "", ""
    is_path = "/" in path or os.sep in path
    return f"{path_in_index(path, info)}{colon}{line}" if is_path else target


def _path_below_root(path: str, repositories: Sequence[RepositoryInfo]) -> str:
    whole_path = os.path.normpath(path)
    for repository in sorted(repositories, key=lambda r: -len(r.root)):
        if whole_path == repository.root or whole_path.startswith(repository.root.rstrip(os.sep) + os.sep):
            below = os.path.relpath(whole_path, repository.root).replace(os.sep, "/")
            below = "" if below == "." else below
            return f"{repository.name}/{below}".rstrip("/") if len(repositories) > 1 else below
    raise _outside_error(path)


def _outside_error(path: str) -> UsageError:
    return UsageError(f"{path} lies outside of what is indexed", "give a path relative to the root of the repository")
