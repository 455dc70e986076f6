"""Defines tools and their calls, and fits answers to a budget of tokens."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any, NamedTuple, TypeVar

from codelens.config import load_weights
from codelens.context.counters import estimate_tokens
from codelens.errors import MemoryFault, NoIndex, UsageError
from codelens.index import Index
from codelens.model.code import IndexInfo, UnitRow
from codelens.model.fast_dataclass import frozen_dataclass
from codelens.model.request import SearchOptions
from codelens.render.paths import PathStyle
from codelens.render.records import pick_fields
from codelens.render.visible import escape_text
from codelens.server.mcp import schema
from codelens.server.upkeep import ServedIndex, WorkStatus
from codelens.text.counts import quantity

Record = dict[str, Any]
T = TypeVar("T")


class ToolAnswer(NamedTuple):
    """An answer in two forms: text for models and people, and an object of the tool's output schema for programs."""

    text: str
    record: Record | None  # None if the text is an error and its hint


@frozen_dataclass
class Tool:
    """A tool that clients can call: its description, schemas and function."""

    name: str
    title: str
    description: str  # Tells an agent what the tool does, and when to prefer another
    takes: Mapping[str, schema.Schema]  # Argument → its schema
    gives: schema.AnswerTypes
    answer: Callable[[ToolCall], ToolAnswer]  # Raises CodelensError
    required: tuple[str, ...] = ()  # Arguments that every call must have
    waits: bool = True  # True if a call waits for an index that is being built
    records: bool = False  # True if a call changes later answers

    @property
    def input_schema(self) -> schema.Schema:
        """The schema of the object with all arguments."""
        return schema.make_object_schema(self.takes, self.required)

    def reword_message(self, message: str, advice: bool = False) -> str:
        """Replace the flags in a message of the command line by the tool's arguments; shell commands stay.

        Clauses about flags that the tool has no argument for are left out, but the first clause stays unless `advice` is set.
        """
        for command_line, client in WORDINGS.items():
            message = message.replace(command_line, client)

        def format_argument(flag: re.Match[str]) -> str:
            return f"`{flag[1].lstrip('-').replace('-', '_')}`" if flag[1] else flag[0]

        def is_applicable(clause: str) -> bool:
            flags = (format_argument(flag).strip("`") for flag in FLAG.finditer(clause) if flag[1])
            return all(flag in self.takes for flag in flags)

        clauses = enumerate(message.split("; "))
        return "; ".join(
            FLAG.sub(format_argument, c) for number, c in clauses if is_applicable(c) or (number == 0 and not advice)
        )


LONGEST_LINE = 240  # Most characters of a line of code in an answer
LONGEST_NOTICE, MOST_NOTICES = 160, 4  # Most characters of a notice, most notices in an answer


def format_code_line(text: str, most: int = LONGEST_LINE) -> str:
    """Escape control characters in a line of code, and cut it after `most` characters."""
    line = escape_text(text.rstrip("\r\n"))
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


def describe_stale(count: int, items: str) -> list[str]:
    """Write the notice about items in stale files; none if the count is 0."""
    place = "in files that changed since they were indexed"
    return [f"{quantity(count, items)} {place}; `fresh` waits for the update"] if count else []


def format_footer(cut: int, items: str, remedy: str, notices: Sequence[str] = ()) -> list[str]:
    """Write a line with the number of items that did not fit, if any, and the notices."""
    cut_lines = [f"{cut} more {items} found no room: {remedy}"] if cut else []
    return [*cut_lines, *(f"note: {notice}" for notice in notices)]


@frozen_dataclass
class ToolCall:
    """One call of a tool: arguments that fit its input schema, with defaults filled in, and the index to ask."""

    opened: Index | None  # None if there is no index yet
    tool: Tool
    arguments: Mapping[str, Any]
    served: ServedIndex
    work: WorkStatus
    session: str  # Groups the recorded answers: by client, or SHARED for all clients of a web server
    structured: bool = True  # True if the answer's object is sent too

    @property
    def index(self) -> Index:
        """The open index. Raises NoIndex if there is no index yet."""
        if self.opened is None:
            raise NoIndex(f"there is no index of {self.served.folder}")
        return self.opened

    @property
    def info(self) -> IndexInfo:
        """The description of the open index. Raises NoIndex."""
        return self.index.info()

    @property
    def paths(self) -> PathStyle:
        """The style of paths in answers: relative to the root, after the repository's name if there are several."""
        return PathStyle("root", "", self.info.repositories)

    def fit_budget(self, items: Sequence[T], make_answer: Callable[[Sequence[T], int], ToolAnswer]) -> ToolAnswer:
        """Build the answer with as many items as fit the budget; `make_answer` takes the first ones and the number of others.

        The larger of the forms that are sent must fit. Raises UsageError if even an answer without items is too large.
        """
        budget = self.arguments["budget"]

        def measure_answer(count: int) -> tuple[int, ToolAnswer]:
            answer = make_answer(items[:count], len(items) - count)
            record = estimate_tokens(json.dumps(answer.record, ensure_ascii=False)) if self.structured else 0
            return max(estimate_tokens(answer.text), record), answer

        tokens, answer = measure_answer(len(items))
        if tokens <= budget:
            return answer
        least, most = 0, len(items)  # the first `least` are known to fit, the first `most` are known not to
        while most - least > 1:
            middle = (least + most) // 2
            least, most = (middle, most) if measure_answer(middle)[0] <= budget else (least, middle)
        tokens, answer = measure_answer(least)
        if tokens > budget:
            raise UsageError(f"an answer needs at least {tokens} tokens, not {budget}", "use a larger `budget`")
        return answer

    def format_notices(self, texts: Sequence[str]) -> list[str]:
        """Format the first few notices, each on one short line."""
        notices = [escape_text(self.tool.reword_message(text)) for text in texts]
        lines = [line if len(line) <= LONGEST_NOTICE else f"{line[:LONGEST_NOTICE]}…" for line in notices]
        more = len(lines) - MOST_NOTICES
        return lines if more <= 0 else [*lines[:MOST_NOTICES], f"{more} more notices"]

    def make_search_options(self, **more: Any) -> SearchOptions:
        """Make the options of a search from the settings and the arguments. Raises UsageError."""
        values: dict[str, Any] = pick_fields(self.served.settings, "mode profile memory")
        values |= {name: self.arguments[name] for name in schema.RANKED if name in self.arguments}
        walks = "walk" in load_weights()[values["profile"]]  # such a profile uses `depth` itself
        if "decay" in values or ("depth" in values and not walks):
            values["expand"] = "bfs"
        return SearchOptions(**values, **self.resolve_scope(), **more)

    def record_answer(self, query: str, hits: Sequence[tuple[int, UnitRow, int]]) -> list[str]:
        """Record an answer as (rank, unit, line), if memory is on; returns a notice if that fails."""
        try:
            if self.served.settings.memory:
                self.index.record_answer(query, hits, session=self.session)
        except MemoryFault as fault:
            return [f"not recorded: {fault}"]
        return []

    def resolve_scope(self) -> dict[str, Any]:
        """Make the options `languages`, `paths` and `repositories`. Raises UsageError for unknown languages and paths outside."""
        from codelens.lang.registry import resolve_language

        languages = tuple(resolve_language(name) for name in self.arguments.get("languages", ()))
        places = [self.split_repository(path) for path in self.arguments.get("paths", ())]
        names = {name for repositories, _ in places for name in repositories}
        everywhere = any(not below for _, below in places)
        return {
            "languages": languages,
            "paths": () if everywhere else tuple(below for _, below in places),
            "repositories": tuple(sorted(names)) if len(names) < len(self.info.repositories) else (),
        }

    def split_repository(self, path: str) -> tuple[tuple[str, ...], str]:
        """Split a path into (names of repositories, path below their root, empty for the root itself). Raises UsageError."""
        path = self.resolve_path(path)
        every = tuple(r.name for r in self.info.repositories)
        first, _, rest = path.partition("/")
        return ((first,), rest) if len(every) > 1 and first in every else (every, path)

    def resolve_path(self, path: str) -> str:
        """Convert a path to the form in answers: relative to a root, with the repository's name first if there are several.

        Raises UsageError.
        """
        if os.path.isabs(path):  # noqa: PTH117 - the client's text may be any path
            whole_path = os.path.normpath(path)
            for repository in sorted(self.info.repositories, key=lambda r: -len(r.root)):
                if whole_path == repository.root or whole_path.startswith(repository.root.rstrip(os.sep) + os.sep):
                    below = os.path.relpath(whole_path, repository.root).replace(os.sep, "/")
                    below = "" if below == "." else below
                    return f"{repository.name}/{below}".rstrip("/") if len(self.info.repositories) > 1 else below
        else:
            parts = [part for part in PurePosixPath(path.replace(os.sep, "/")).parts if part != "."]
            if ".." not in parts:
                return "/".join(parts)
        hint = "give a path relative to the root of the repository"
        raise UsageError(f"{path} lies outside of what is indexed", hint)

    def resolve_target(self, target: str) -> str:
        """Resolve the path of a target (PATH:LINE, PATH or a name). Raises UsageError if it leads out of the roots."""
        path, colon, line = target.rpartition(":")
        if not (colon and line.isdigit()):
            path, colon, line = target, "", ""
        is_path = "/" in path or os.sep in path
        return f"{self.resolve_path(path)}{colon}{line}" if is_path else target
