"""Context packs: what is requested, the entries chosen, and the text written.

The budget counts the written text, so packing needs the output format: a `PackLayout`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from typing import Protocol

from codelens.model.code import Freshness, IndexInfo, UnitRow
from codelens.model.fast_dataclass import frozen_dataclass
from codelens.model.request import SearchOptions
from codelens.model.search import Notice

TASK, FILES, CHANGE = "task", "files", "change"  # Sources of a pack: a task in words, files, or a diff
EVERYTHING = 1_000_000_000  # Default limit on symbols: in effect none, because the budget limits a pack
BUDGETS: Mapping[str, int] = {TASK: 50_000, FILES: 50_000, CHANGE: 8_000}  # Default tokens by source (knowing's)


class Form(StrEnum):
    """How much of a symbol a pack holds."""

    BODY = "body"
    SIGNATURE = "signature"  # Includes the first line of its doc comment


class Forms(StrEnum):
    """The forms that a pack may use."""

    AUTO = "auto"
    BODIES = "bodies"
    SIGNATURES = "signatures"


@frozen_dataclass
class Counter:
    """A named way to count the tokens of a text."""

    name: str
    count: Callable[[str], int]


@frozen_dataclass
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


@frozen_dataclass
class Pack:
    """The chosen entries: bodies, then signatures, each by descending score. `tokens` counts the whole output."""

    source: str  # task, files or change
    budget: int
    counter: str
    tokens: int
    entries: tuple[Entry, ...]
    covered: int  # Number of symbols contained in a body of the pack
    cut_total: int  # Number of symbols that did not fit
    sent: int  # Number of symbols that earlier parts contain whole
    notices: tuple[Notice, ...]
    index: IndexInfo
    more: str = ""  # The token for requesting the next part; empty if this is the last

    @property
    def exit_code(self) -> int:
        """0 if the pack has entries, else 1."""
        return 0 if self.entries else 1


class PackLayout(Protocol):
    """An output format of packs."""

    name: str  # Includes every option of the format: layouts with equal names write equal packs
    forms: frozenset[Form]  # The forms that it can show

    def format_entry(self, entry: Entry) -> str:
        """Format the text that one entry adds to the pack."""

    def format_heading(self, entry: Entry) -> str:
        """Format the heading above the first signature of a file; empty for layouts without headings."""

    def format_pack(self, pack: Pack) -> str:
        """Format the complete text of a pack."""


@frozen_dataclass
class Change:
    """A change, given as a diff, as two revisions, or as git's staged changes."""

    diff: bytes | None = None
    revisions: str = ""  # BASE..HEAD in git's notation
    staged: bool = False  # The diff from HEAD to git's index
    cwd: str = ""  # Absolute path; paths of a diff may be relative to it


ChangedCode = Change | Sequence[str]  # A change, or targets


@frozen_dataclass
class SentParts:
    """A record of how earlier parts of a pack contain each symbol: as a body, as a signature or not at all."""

    state: bytes  # A hash of the index's content and the candidates; if it differs, the token is stale
    forms: tuple[int, ...]  # For each candidate, in content order: 0 if not sent, 1 signature sent, 2 body sent


@frozen_dataclass
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
    staged: bool = False  # True if the change is git's staged changes
    cwd: str = ""  # Absolute path; paths of a diff may be relative to it
    sent: SentParts | None = None  # What earlier parts contain; None for the first part

    @property
    def change(self) -> Change:
        """The change that the pack is for."""
        return Change(self.diff, self.revisions, self.staged, self.cwd)


@frozen_dataclass
class PackedText:
    """A written pack with its figures and notices."""

    text: str
    exit_code: int
    symbols: int
    total: int  # Number of packed, covered and cut symbols: all candidates that were not sent whole before
    tokens: int
    notices: tuple[Notice, ...]
    changed: tuple[str, ...]  # Paths of its files that changed on disk since they were indexed
    more: str = ""  # The token of the next part
    cached: bool = False
    units: tuple[UnitRow, ...] = ()  # Its units in order, for memory to record; empty if memory is off
