"""Defines tools and their calls, and fits answers to a budget of tokens."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

from codelens.config import Settings, load_weights
from codelens.context.counters import estimate_tokens
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
    """An answer in two forms: text for models and people, and an object of the tool's output schema for programs."""

    text: str
    record: Record | None  # None if the text is an error and its hint


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call of a tool: arguments that fit its input schema, with defaults filled in, and the index to ask."""

    opened: Index | None  # None if there is no index yet
    tool: Tool
    arguments: Mapping[str, Any]
    served: ServedIndex
    work: Work
    session: str  # Groups the recorded answers: by client, or SHARED for all clients of a web server
    structured: bool = True  # True if the answer's object is sent too

    @property
    def index(self) -> Index:
        """The open index. Raises NoIndex if there is no index yet."""
        if self.opened is None:
            raise NoIndex(f"there is no index of {self.served.folder}")
        return self.opened

    @property
    def paths(self) -> PathStyle:
        """The style of paths in answers: relative to the root, after the repository's name if there are several."""
        return PathStyle("root", "", self.index.info().repositories)


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool that clients can call: its description, schemas and function."""

    name: str
    title: str
    description: str  # Tells an agent what the tool does, and when to prefer another
    takes: schema.Schema
    gives: schema.AnswerTypes
    answer: Callable[[ToolCall], ToolAnswer]  # Raises CodelensError
    waits: bool = True  # True if a call waits for an index that is being built
    records: bool = False  # True if a call changes later answers


LONGEST_LINE = 240  # Most characters of a line of code in an answer
LONGEST_NOTICE, MOST_NOTICES = 160, 4  # Most characters of a notice, most notices in an answer


def fit_budget(count: int, make_answer: Callable[[int], ToolAnswer], call: ToolCall) -> ToolAnswer:
    """Build the answer with as many of its `count` items as fit the budget; `make_answer(n)` builds it with the first n items.

    The larger of the forms that are sent must fit. Raises UsageError if even an answer without items is too large.
    """
    budget = call.arguments["budget"]

    def tokens(answer: ToolAnswer) -> int:
        record = estimate_tokens(json.dumps(answer.record, ensure_ascii=False)) if call.structured else 0
        return max(estimate_tokens(answer.text), record)

    whole = make_answer(count)
    if tokens(whole) <= budget:
        return whole
    least, most = 0, count  # the first `least` are known to fit, the first `most` are known not to
    while most - least > 1:
        middle = (least + most) // 2
        least, most = (middle, most) if tokens(make_answer(middle)) <= budget else (least, middle)
    largest = make_answer(least)
    if (needed := tokens(largest)) > budget:
        raise UsageError(f"an answer needs at least {needed} tokens, not {budget}", "use a larger `budget`")
    return largest


def format_code_line(text: str, most: int = LONGEST_LINE) -> str:
    """Escape control characters in a line of code, and cut it after `most` characters."""
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
"""Advice that names commands or flags of the command line → the same advice for MCP clients."""


def reword_for_client(message: str, tool: Tool, advice: bool = False) -> str:
    """Replace the flags in a message of the command line by the tool's arguments; shell commands stay.

    Clauses about flags that the tool has no argument for are left out, but the first clause stays unless `advice` is set.
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
    """Write a line with the number of items that did not fit, if any, and the notices."""
    cut_lines = [f"{cut} more {items} found no room: {remedy}"] if cut else []
    return [*cut_lines, *(f"note: {notice}" for notice in notices)]


def search_options(arguments: Mapping[str, Any], info: IndexInfo, settings: Settings, **more: Any) -> SearchOptions:
    """Make the options of a search from the settings and a call's arguments. Raises UsageError."""
    values: dict[str, Any] = {"mode": settings.mode, "profile": settings.profile, "memory": settings.memory}
    values |= {name: arguments[name] for name in schema.RANKED if name in arguments}
    walks = "walk" in load_weights()[values["profile"]]  # such a profile uses `depth` itself
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
    """Make the options `languages`, `paths` and `repositories`. Raises UsageError for unknown languages and paths outside."""
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
    """Split a path into (names of repositories, path below their root, empty for the root itself). Raises UsageError."""
    path = resolve_path(path, info)
    every = tuple(r.name for r in info.repositories)
    first, _, rest = path.partition("/")
    return ((first,), rest) if len(every) > 1 and first in every else (every, path)


def resolve_path(path: str, info: IndexInfo) -> str:
    """Convert a path to the form in answers: relative to a root, with the repository's name first if there are several.

    Raises UsageError.
    """
    if os.path.isabs(path):  # noqa: PTH117 - the client's text may be any path
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
    """Resolve the path of a target (PATH:LINE, PATH or a name). Raises UsageError if it leads out of the roots."""
    path, colon, line = target.rpartition(":")
    if not (colon and line.isdigit()):
        path, colon, line = target, "", ""
    is_path = "/" in path or os.sep in path
    return f"{resolve_path(path, info)}{colon}{line}" if is_path else target
