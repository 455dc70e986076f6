"""What a SCIP index and an LSIF dump have in common, told in one form: who defines a symbol, who uses it, and where.

Lines and columns count from 1, as everywhere in codelens. A column counts the code units of its document's `encoding`:
only the document's text can turn it into bytes, see `precise.columns`.
"""

from __future__ import annotations

import posixpath
import re
from enum import StrEnum
from typing import NamedTuple

from codelens.nouns import dataclass


class CodeUnits(StrEnum):
    """What a column counts."""

    UTF8 = "utf-8"
    UTF16 = "utf-16"
    UTF32 = "utf-32"


class Range(NamedTuple):
    """A half-open piece of text, lines and columns from 1."""

    start_line: int
    start_column: int
    end_line: int
    end_column: int


class Occurrence(NamedTuple):
    """A symbol at a place of its document (a tuple: there are hundreds of thousands)."""

    range: Range
    """Of the name, not of what it names."""
    symbol: str
    """Equal for equal symbols across one index; a local one carries its document's path."""
    is_definition: bool
    enclosing: Range | None = None
    """Of the whole definition, where the index says it."""


class Relationship(NamedTuple):
    """`symbol` is to `other` what `kind` says: implementation, reference, type_definition or definition."""

    symbol: str
    other: str
    kind: str


@dataclass(frozen=True, slots=True)
class PreciseDocument:
    """All that an index says of one document."""

    path: str
    """Relative to the index's project root, POSIX separators."""
    encoding: CodeUnits
    occurrences: tuple[Occurrence, ...]
    relationships: tuple[Relationship, ...] = ()
    dropped: int = 0
    """Occurrences whose range makes no sense."""


@dataclass(frozen=True, slots=True)
class RefusedDocument:
    """A document of the index that is none of the tree's, and why."""

    path: str
    """As the index writes it."""
    reason: str


_ABSOLUTE = re.compile(r"/|\\|[A-Za-z]:|[a-z][a-z0-9+.-]*://")


def checked_path(written: str) -> str | RefusedDocument:
    """A document's path as it is written → without '.', '..' and empty parts, or refused if it is not below the root."""
    if _ABSOLUTE.match(written):
        return RefusedDocument(written, "the path is absolute")
    path = posixpath.normpath(written)
    if path == ".." or path.startswith("../"):
        return RefusedDocument(written, "the path leaves the project's root")
    if path == "." or "\0" in path:
        return RefusedDocument(written, "the path names no file")
    return path
