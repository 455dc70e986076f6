"""What a tool is: one row of the table, with its schemas and the function that answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from codelens.errors import NoIndex
from codelens.index import Index
from codelens.nouns import dataclass
from codelens.render.paths import PathStyle
from codelens.server.mcp.schema import Schema
from codelens.server.served import Served
from codelens.server.upkeep import Work

Record = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Answer:
    """The same twice: lines for whoever reads, an object of the tool's output schema for whoever computes."""

    text: str
    record: Record


@dataclass(frozen=True, slots=True)
class Asked:
    """One call: arguments that fit the tool's input schema, with its defaults filled in, and what may be asked."""

    opened: Index | None
    """None where there is no index yet."""
    arguments: Mapping[str, Any]
    served: Served
    work: Work
    session: str
    """Whose answers are remembered together: of one client, or of all that a web server has."""

    @property
    def index(self) -> Index:
        """Raises NoIndex."""
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
    description: str
    """For an agent: what it gives, and when to prefer another tool."""
    takes: Schema
    gives: Schema
    answer: Callable[[Asked], Answer]
    """Raises CodelensError."""
    waits: bool = True
    """For the index, where that is being built."""
    records: bool = False
    """Whether a call changes what later answers are."""
