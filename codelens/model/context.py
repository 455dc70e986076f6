"""Context packs: what is requested, the entries chosen, and the text written.

The budget counts the written text, so packing needs the output format: a `PackLayout`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Protocol

from codelens.model.code import Freshness, IndexInfo, UnitRow
from codelens.model.fast_dataclass import dataclass
from codelens.model.request import SearchOptions
from codelens.model.search import Notice

TASK, FILES, CHANGE = "task", "files", "change"  # Sources of a pack: a task in words, files, or a diff
EVERYTHING = 1_000_000_000  # The limit of symbols if none is given: the budget is one
BUDGETS: Mapping[str, int] = {TASK: 50_000, FILES: 50_000, CHANGE: 8_000}  # Default number of tokens (knowing's)


class Form(StrEnum):
    """How much of a symbol a pack holds."""

    BODY = "body"
    SIGNATURE = "signature"  # Includes the first line of its doc comment


class Forms(StrEnum):
    """Which forms a pack may choose."""

    AUTO = "auto"
    BODIES = "bodies"
    SIGNATURES = "signatures"


@dataclass(frozen=True, slots=True)
class Counter:
    """A named way to count the tokens of a text."""

    name: str
    count: Callable[[str], int]


@dataclass(frozen=True, slots=True)
class Entry:
    """One symbol of a pack, in one form."""

    unit: UnitRow
    root: str  # Absolute path of its repository
    form: Form
    doc: str  # The doc comment, unless `text` contains it; only its first line for a signature
    text: str  # Indexed text, lines joined by line feeds
    score: float
    relation: str  # changed, caller, callee or near; empty if a search or a named file led to it
    freshness: Freshness
    tokens: int = 0


@dataclass(frozen=True, slots=True)
class Pack:
    """The chosen entries: bodies, then signatures, each by descending score. `tokens` counts the whole output."""

    source: str  # task, files or change
    budget: int
    counter: str
    tokens: int
    entries: tuple[Entry, ...]
    covered: int  # Number of symbols inside a body of the pack
    cut_total: int  # Number of symbols that did not fit
    sent: int  # Number of symbols that earlier parts hold whole
    notices: tuple[Notice, ...]
    index: IndexInfo
    more: str = ""  # The token with which the next part is asked for; empty if this is the last one

    @property
    def exit_code(self) -> int:
        """0 if the pack has entries, else 1."""
        return 0 if self.entries else 1


class PackLayout(Protocol):
    """An output format of packs."""

    name: str  # Includes every option of the format: two layouts of one name write a pack alike
    forms: frozenset[Form]  # The forms that it can show

    def format_entry(self, entry: Entry) -> str:
        """The text that one entry adds to the pack."""
        ...

    def format_heading(self, entry: Entry) -> str:
        """The text that the first signature of a file adds above it; empty for layouts without such headings."""
        ...

    def format_pack(self, pack: Pack) -> str:
        """The complete text of a pack."""
        ...


@dataclass(frozen=True, slots=True)
class Change:
    """A change, given as a diff, as two revisions, or as git's staged changes."""

    diff: bytes | None = None
    revisions: str = ""  # BASE..HEAD in git's notation
    staged: bool = False  # The diff from HEAD to git's index
    cwd: str = ""  # Absolute path; paths of a diff may be relative to it


@dataclass(frozen=True, slots=True)
class SentParts:
    """The forms in which earlier parts of a pack hold its symbols."""

    state: bytes  # A hash of the index's content and of the candidates; another one makes the token stale
    forms: tuple[int, ...]  # For each candidate, by content: 0 it was not sent, 1 its signature, 2 its body


@dataclass(frozen=True, slots=True)
class ContextRequest:
    """A request for a pack."""

    source: str
    counter: Counter
    options: SearchOptions  # For the source `files`, `paths` are those files; `limit` is the most symbols considered
    budget: int
    forms: Forms = Forms.AUTO
    query: str = ""
    diff: bytes | None = None  # The diff of a change; if None, `revisions` names it
    revisions: str = ""  # BASE..HEAD in git's notation
    staged: bool = False  # The change is what git has staged
    cwd: str = ""  # Absolute path; paths of a diff may be relative to it
    sent: SentParts | None = None  # The earlier parts, if this is a request for the next one

    @property
    def change(self) -> Change:
        """The change that the pack is for."""
        return Change(self.diff, self.revisions, self.staged, self.cwd)


@dataclass(frozen=True, slots=True)
class PackedText:
    """A written pack with its figures and notices."""

    text: str
    exit_code: int
    symbols: int
    total: int  # Number of candidates that were not sent whole before: packed, covered and cut symbols
    tokens: int
    notices: tuple[Notice, ...]
    changed: tuple[str, ...]  # Paths of its files that changed on disk since they were indexed
    more: str = ""  # The token of the next part
    cached: bool = False
    units: tuple[UnitRow, ...] = ()  # Its units in order, for memory to record; empty if memory is off
