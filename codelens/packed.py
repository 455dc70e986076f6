"""The answer of `context`: nouns that a search does without.

A pack is measured as it is written, so whoever packs needs the form in which it is to be written: a `Layout`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Protocol

from codelens.model import Freshness, IndexInfo, Notice, SearchOptions, UnitRow
from codelens.nouns import dataclass

TASK, FILES, CHANGE = "task", "files", "change"
"""What a pack can be for: a text, files, a difference between two states."""
BUDGETS: Mapping[str, int] = {TASK: 50_000, FILES: 50_000, CHANGE: 8_000}
"""Tokens, where nobody says how many (knowing's)."""


class Form(StrEnum):
    """How much of a symbol a pack holds."""

    BODY = "body"
    SIGNATURE = "signature"
    """With the first line of its doc comment."""


class Forms(StrEnum):
    """Which forms a pack may choose."""

    AUTO = "auto"
    BODIES = "bodies"
    SIGNATURES = "signatures"


@dataclass(frozen=True, slots=True)
class Counter:
    """What a token is: a text's number of them, by a method that has a name."""

    name: str
    count: Callable[[str], int]


@dataclass(frozen=True, slots=True)
class Entry:
    """One symbol of a pack, in one form."""

    unit: UnitRow
    root: str
    """Absolute path of its repository."""
    form: Form
    doc: str
    """What its doc comment says, where `text` does not; of a signature the first line of it."""
    text: str
    """As indexed, lines joined by line feeds."""
    score: float
    relation: str
    """changed, caller, callee or near; empty where it was searched for, or its file named."""
    freshness: Freshness
    tokens: int = 0
    density: float = 0.0
    """Score by token and nearness: the order in which room was given."""


@dataclass(frozen=True, slots=True)
class Cut:
    """A symbol that found no room, with what it would have cost in its shortest form."""

    unit: UnitRow
    root: str
    score: float
    tokens: int
    density: float


@dataclass(frozen=True, slots=True)
class Pack:
    """What is written, by descending score. `tokens` counts all of it: frame, fences, the list of what was cut."""

    source: str
    """task, files or change."""
    budget: int
    counter: str
    tokens: int
    exponent: float
    """Of nearness in the density."""
    entries: tuple[Entry, ...]
    covered: int
    """Symbols that lie within a body that is here."""
    cut: tuple[Cut, ...]
    """The densest of those that found no room."""
    cut_total: int
    notices: tuple[Notice, ...]
    index: IndexInfo

    @property
    def exit_code(self) -> int:
        """0 where it holds something."""
        return 0 if self.entries else 1


class Layout(Protocol):
    """A form in which packs are written."""

    name: str
    """With all that decides what it writes, so that equal names write equal packs alike."""
    forms: frozenset[Form]
    """Those that it can show."""

    def piece(self, entry: Entry) -> str:
        """What one entry adds to the pack."""
        ...

    def whole(self, pack: Pack) -> str:
        """The complete text."""
        ...


@dataclass(frozen=True, slots=True)
class Change:
    """A difference between two states, as somebody names it: the diff itself, else two revisions, or what is staged."""

    diff: bytes | None = None
    revisions: str = ""
    """BASE..HEAD, as git names them."""
    staged: bool = False
    """From HEAD to git's index."""
    cwd: str = ""
    """Absolute; paths of a diff may begin there."""


@dataclass(frozen=True, slots=True)
class ContextRequest:
    """What a pack is to be for, and how large it may be."""

    source: str
    counter: Counter
    options: SearchOptions
    """`paths` of `files` are the files themselves; `limit` is of symbols, the best ones."""
    budget: int
    forms: Forms = Forms.AUTO
    query: str = ""
    diff: bytes | None = None
    """Of a change; else `revisions` says which."""
    revisions: str = ""
    """BASE..HEAD, as git names them."""
    cwd: str = ""
    """Absolute; paths of a diff may begin there."""

    @property
    def change(self) -> Change:
        """What a pack of a change is about."""
        return Change(self.diff, self.revisions, cwd=self.cwd)


@dataclass(frozen=True, slots=True)
class PackedText:
    """A pack as it is written, with what is said about it aside."""

    text: str
    exit_code: int
    symbols: int
    total: int
    """Candidates: symbols, what they cover, and what was cut."""
    tokens: int
    notices: tuple[Notice, ...]
    changed: tuple[str, ...]
    """Paths of files in it that are not on disk as they were indexed."""
    cached: bool = False
    units: tuple[UnitRow, ...] = ()
    """What it holds, in its order, for memory to record; none where that is off."""
