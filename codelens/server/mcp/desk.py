"""One call → one answer, whatever happens: arguments are checked, the index is opened for this call alone, faults become words.

Nothing here knows of the protocol or waits for longer than it says, so any transport may put it into a thread.
"""

from __future__ import annotations

import sys
import traceback
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import Any

from codelens.errors import CodelensError, IndexBusy, NoIndex, TargetError, UsageError
from codelens.index import Index
from codelens.nouns import dataclass
from codelens.render.visible import for_line, for_terminal
from codelens.server.mcp.tool import Answer, Asked, Record, Tool
from codelens.server.served import Served
from codelens.server.upkeep import Upkeep

LOOK_SECONDS = 0.25
"""How long a call waits for the look at the trees that it begins: small trees are looked at in that time. Chosen."""
FRESH_SECONDS = 20.0
"""How long a call that asks for the newest state waits for an update. Chosen: below the patience of clients (60 s)."""
INDEX_SECONDS = 5.0
"""How long a call waits for an index that is being made. Chosen: a small project is indexed in that time."""
MOST_CANDIDATES = 8
"""Places told where a name fits several things. Chosen."""
SHARED = "mcp"
"""The session of all who ask over HTTP, where nobody says who is who."""
LONGEST_FAULT = 600
"""Characters of a line that says what is wrong. Chosen."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What a call gets: lines, and an object unless it failed."""

    text: str
    record: Record | None

    @property
    def failed(self) -> bool:
        """Whether the lines are a fault and its hint."""
        return self.record is None


class Desk:
    """Answers calls of the tools of a table. May be asked by several threads at once."""

    def __init__(
        self, served: Served, upkeep: Upkeep, tools: Sequence[Tool], session: str = SHARED, debug: bool = False
    ) -> None:
        self._served, self._upkeep, self._session, self._debug = served, upkeep, session, debug
        self.tools: Mapping[str, Tool] = {tool.name: tool for tool in tools}

    def reply(self, name: str, arguments: Mapping[str, Any]) -> Reply:
        """The answer of a tool of the table, or its fault in one line with a hint below it."""
        try:
            answer = self._answer(self.tools[name], arguments)
        except CodelensError as fault:
            return Reply(_told(fault), None)
        except Exception as fault:  # the edge of the process: a client gets no traceback
            if self._debug:
                traceback.print_exc(file=sys.stderr)
            return Reply(
                _failed(f"{type(fault).__name__}: {fault}", "this is a fault of codelens; try another call"), None
            )
        return Reply(answer.text, answer.record)

    def _answer(self, tool: Tool, arguments: Mapping[str, Any]) -> Answer:
        given = checked(tool, arguments)
        if given.get("fresh"):
            self._upkeep.refresh(FRESH_SECONDS)
        else:
            self._upkeep.tend(LOOK_SECONDS)
        with ExitStack() as stack:
            opened = self._opened(tool, stack)
            return tool.answer(Asked(opened, given, self._served, self._upkeep.work(), self._session))

    def _opened(self, tool: Tool, stack: ExitStack) -> Index | None:
        if tool.waits and not self._served.index.is_file():
            self._upkeep.wait(INDEX_SECONDS)
        try:
            return stack.enter_context(self._served.open())
        except NoIndex:
            if tool.waits:
                raise self._not_there() from None
            return None

    def _not_there(self) -> CodelensError:
        work = self._upkeep.work()
        if work.fault:
            return NoIndex(f"the index could not be made: {work.fault}", work.hint or "`codelens index` says more")
        if work.doing:
            return NoIndex(
                f"the index is being made, {work.text}", "call again in some seconds; `status` says how far it is"
            )
        if self._upkeep.refused:
            return NoIndex(f"there is no index of {self._served.folder}, and {self._upkeep.refused}")
        return NoIndex(f"there is no index of {self._served.folder} yet", "call again in some seconds")


def checked(tool: Tool, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments with the schema's defaults. Raises UsageError for the first that does not fit."""
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import best_match

    fault = best_match(Draft202012Validator(tool.takes).iter_errors(dict(arguments)))
    if fault is not None:
        place = ".".join(map(str, fault.absolute_path))
        known = ", ".join(tool.takes["properties"])
        raise UsageError(f"{f'{place}: ' if place else ''}{fault.message}", f"`{tool.name}` takes {known}")
    defaults = {name: row["default"] for name, row in tool.takes["properties"].items() if "default" in row}
    return defaults | dict(arguments)


def _told(fault: CodelensError) -> str:
    if isinstance(fault, IndexBusy):
        return _failed(str(fault), "reading is possible meanwhile: call again")
    candidates = fault.candidates[:MOST_CANDIDATES] if isinstance(fault, TargetError) else ()
    return "\n".join([_failed(str(fault), fault.hint), *(f"  {_shown(line)}" for line in candidates)])


def _failed(what: str, hint: str) -> str:
    return f"error: {_shown(what)}" + (f"\nhint: {_shown(hint)}" if hint else "")


def _shown(text: str) -> str:
    line = for_line(for_terminal(text))
    return line if len(line) <= LONGEST_FAULT else f"{line[:LONGEST_FAULT]}…"
