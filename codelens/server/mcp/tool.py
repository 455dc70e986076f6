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
from codelens.model.code import IndexInfo, UnitRow
from codelens.model.fast_dataclass import dataclass
from codelens.model.request import SearchOptions
from codelens.render.paths import PathStyle
from codelens.render.visible import escape_line, escape_text
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
    largest = answer_of(least)
    if (needed := tokens(largest)) > budget:
        raise UsageError(f"an answer needs at least {needed} tokens, not {budget}", "use a larger `budget`")
    return largest


def format_code_line(text: str, most: int = LONGEST_LINE) -> str:
    """A line of code, without what a terminal would obey, and cut where it is very long."""
    line = escape_line(escape_text(text.rstrip("\r\n")))
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

    def argument(flag: re.Match[str]) -> str:
        return f"`{flag[1].lstrip('-').replace('-', '_')}`" if flag[1] else flag[0]

    def applies(clause: str) -> bool:
        flags = (argument(flag).strip("`") for flag in FLAG.finditer(clause) if flag[1])
        return all(flag in tool.takes["properties"] for flag in flags)

    clauses = enumerate(message.split("; "))
    return "; ".join(FLAG.sub(argument, c) for number, c in clauses if applies(c) or (number == 0 and not advice))


def format_notices(texts: list[str], tool: Tool) -> list[str]:
    """Format the first few notices, each on one short line."""
    notices = [escape_line(reword_for_client(text, tool)) for text in texts]
    lines = [line if len(line) <= LONGEST_NOTICE else f"{line[:LONGEST_NOTICE]}…" for line in notices]
    more = len(lines) - MOST_NOTICES
    return lines if more <= 0 else [*lines[:MOST_NOTICES], f"{more} more notices"]


def format_footer(cut: int, items: str, remedy: str, notices: Sequence[str] = ()) -> list[str]:
    """A line that says how many items found no room, unless all did, and the notices."""
    cut_lines = [f"{cut} more {items} found no room: {remedy}"] if cut else []
    return [*cut_lines, *(f"note: {notice}" for notice in notices)]


def search_options(arguments: Mapping[str, Any], info: IndexInfo, settings: Settings, **more: Any) -> SearchOptions:
    """Options of a search by the settings and what the arguments narrow it to. Raises UsageError."""
    values: dict[str, Any] = {"mode": settings.mode, "profile": settings.profile, "memory": settings.memory}
    values |= {name: arguments[name] for name in schema.RANKED if name in arguments}
    walks = "walk" in load_weights()[values["profile"]]  # by itself, as far as `depth` says
    if "decay" in values or ("depth" in values and not walks):
        values["expand"] = "bfs"
    return SearchOptions(**values, **resolve_scope(arguments, info), **more)


def remember(call: ToolCall, query: str, hits: Sequence[tuple[int, UnitRow, int]]) -> list[str]:
    """Record an answer as (rank, unit, line), if memory is on; returns a notice if that fails."""
    try:
        if call.served.settings.memory:
            call.index.record_answer(query, hits, session=call.session)
    except MemoryFault as fault:
        return [f"not recorded: {fault}"]
    return []


def resolve_scope(arguments: Mapping[str, Any], info: IndexInfo) -> dict[str, Any]:
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
    path = resolve_path(path, info)
    every = tuple(r.name for r in info.repositories)
    first, _, rest = path.partition("/")
    return ((first,), rest) if len(every) > 1 and first in every else (every, path)


def resolve_path(path: str, info: IndexInfo) -> str:
    """A path as answers write it: below a root, with the repository's name where there are several. Raises UsageError."""
    if os.path.isabs(path):  # noqa: PTH117 - of a name that may lead anywhere no Path is made
        whole_path = os.path.normpath(path)
        for repository in sorted(info.repositories, key=lambda r: -len(r.root)):
            if whole_path == repository.root or whole_path.startswith(repository.root.rstrip(os.sep) + os.sep):
                below = os.path.relpath(whole_path, repository.root).replace(os.sep, "/")
                below = "" if below == "." else below
                return f"{repository.name}/{below}".rstrip("/") if len(info.repositories) > 1 else below
    else:
        parts = [part for part in PurePosixPath(path.replace(os.sep, "/")).parts if part != "."]
        if ".." not in parts:
            return "/".join(parts)
    raise UsageError(f"{path} lies outside of what is indexed", "give a path relative to the root of the repository")


def resolve_target(target: str, info: IndexInfo) -> str:
    """PATH:LINE, PATH or a name, so that no path leads out of the roots. Raises UsageError."""
    path, colon, line = target.rpartition(":")
    if not (colon and line.isdigit()):
        path, colon, line = target, "", ""
    is_path = "/" in path or os.sep in path
    return f"{resolve_path(path, info)}{colon}{line}" if is_path else target
