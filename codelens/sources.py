"""What an index says of its files beside their units: nouns that a search does without."""

from __future__ import annotations

from codelens.model import Freshness, UnitRow
from codelens.nouns import dataclass


@dataclass(frozen=True, slots=True)
class IndexedFile:
    """A file as a list of files shows it."""

    repository: str
    root: str
    """Absolute path of the repository."""
    path: str
    language: str
    bytes: int
    roles: tuple[str, ...]
    """Of its path, sorted: test, example, vendored, docs, generated."""


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file as it was indexed: its lines without their ends, and its units in the order of their places."""

    file: IndexedFile
    freshness: Freshness
    lines: tuple[str, ...]
    units: tuple[UnitRow, ...]
