"""Finds the current place of a note's anchor in the index, or marks it as lost.

An anchor follows its definition or identical lines; similar code does not count. In its own file a definition is
identified by name alone, in other files also by its text, because names repeat.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from enum import StrEnum
from pathlib import Path

from codelens.errors import TargetError
from codelens.model.code import CHUNK_KINDS, DocumentId, Freshness, RepositoryId, UnitId, UnitRow
from codelens.model.fast_dataclass import dataclass
from codelens.notes.note import (
    Anchor,
    BadPlaceError,
    compute_digest,
    extract_text,
    is_path,
    normalize_path,
    parse_anchor,
    split_line_number,
)
from codelens.store.documents import DocumentRow
from codelens.store.postings import build_trigram_query
from codelens.store.store import Store
from codelens.store.targets import resolve_target
from codelens.store.texts import Texts
from codelens.text.counts import quantity
from codelens.worktree.files import check_freshness

LEAST_LETTERS = 8
"""Fewest characters of a line that is searched for in other files, or without the lines below it: shorter lines repeat."""
MOST_FILES = 200  # Most files that are searched for one line


class AnchorState(StrEnum):
    """The state of an anchor."""

    HERE = "here"
    MOVED = "moved"
    LOST = "lost"
    UNKNOWN = "unknown"  # Not checked, because there is no index


@dataclass(frozen=True, slots=True)
class AnchorPlace:
    """The current place of an anchor; path, line and symbol are empty if it is lost."""

    anchor: Anchor
    state: AnchorState
    path: str = ""
    line: int = 0
    symbol: str = ""

    @property
    def description(self) -> str:
        """The place as text: 'src/a.py:12', 'src/a.py:15 (was src/a.py:12)', 'lost: was src/a.py:12'."""
        if self.state is AnchorState.LOST:
            return f"lost: was {self.anchor.label}"
        now = f"{self.path}:{self.line}" if self.line else self.path
        return f"{now} (was {self.anchor.label})" if self.state is AnchorState.MOVED else now


class AnchorFinder:
    """Finds anchors in one repository of an index."""

    def __init__(self, store: Store, repository: RepositoryId) -> None:
        self._store, self._repository = store, repository
        self._texts = Texts(store)

    def find_place(self, anchor: Anchor) -> AnchorPlace:
        """Find the current place of an anchor."""
        document = self._find_document(anchor.path)
        unit = self._find_by_symbol(anchor, document) if anchor.symbol else None
        if unit:
            path, line, symbol = unit.path, self._find_line_in(unit, anchor), unit.qualified_name
        elif place := self._find_by_lines(anchor, document):
            path, line, symbol = place
        else:
            return AnchorPlace(anchor, AnchorState.LOST)
        unmoved = not anchor.path or (path == anchor.path and line == anchor.line)
        return AnchorPlace(anchor, AnchorState.HERE if unmoved else AnchorState.MOVED, path, line, symbol)

    def renew_anchor(self, place: AnchorPlace) -> Anchor:
        """Make an anchor for the current place; a lost anchor stays unchanged."""
        document = self._find_document(place.path)
        if place.state is AnchorState.LOST or document is None:
            return place.anchor
        return _make_anchor(place.path, place.line, place.symbol, self._texts.read_lines(document))

    def _find_document(self, path: str) -> DocumentRow | None:
        rows = self._store.documents.find_by_path(path) if path else []
        return next((row for row in rows if row.repository == self._repository), None)

    def _find_by_symbol(self, anchor: Anchor, document: DocumentRow | None) -> UnitRow | None:
        """Find the definition that contained the anchor when it was stored."""
        units = self._find_symbols(anchor.symbol)
        if in_file := [u for u in units if document is not None and u.document == document.id]:
            return min(in_file, key=lambda u: (abs(u.start_line - anchor.line), u.start_line))
        others = units
        if anchor.digest:
            others = [u for u in units if self._has_line(u, lambda lines, n: compute_digest(lines, n) == anchor.digest)]
            if len(others) != 1 and document is None and anchor.text:  # its file is gone: compare only the line
                others = [u for u in units if self._has_line(u, lambda lines, n: extract_text(lines, n) == anchor.text)]
        elif anchor.path and document is not None:
            return None
        return others[0] if len(others) == 1 else None

    def _find_symbols(self, symbol: str) -> list[UnitRow]:
        """Find the units of the repository with a name or qualified name, in order of content."""
        name = symbol.rpartition(".")[2]
        rows = self._store.units.read_rows(UnitId(unit) for unit, *_ in self._store.units.find_namesakes(name)).values()
        fitting = [u for u in rows if f".{u.qualified_name}".endswith(f".{symbol}") and u.kind not in CHUNK_KINDS]
        documents = self._store.documents.read_rows({u.document for u in fitting})
        own = {document.id for document in documents if document.repository == self._repository}
        return sorted((u for u in fitting if u.document in own), key=UnitRow.content_order)

    def _read_lines(self, unit: UnitRow) -> Sequence[str]:
        return self._texts.read_lines(self._store.documents.read_rows([unit.document])[0])

    def _has_line(self, unit: UnitRow, fits: Callable[[Sequence[str], int], bool]) -> bool:
        """True if `fits` accepts a line of the unit; it is called with the file's lines and a line number."""
        lines = self._read_lines(unit)
        return any(fits(lines, n) for n in range(unit.start_line, unit.end_line + 1))

    def _find_line_in(self, unit: UnitRow, anchor: Anchor) -> int:
        """Find the anchored line in a definition: together with the lines below it, else alone; else take the line of its name."""
        lines = self._read_lines(unit)
        inside = range(unit.start_line, min(unit.end_line, len(lines)) + 1)
        same = [n for n in inside if anchor.digest and compute_digest(lines, n) == anchor.digest]
        same = same or [n for n in inside if anchor.text and extract_text(lines, n) == anchor.text]
        if same:
            return min(same, key=lambda n: (abs(n - anchor.line), n))
        hand_written = not anchor.digest and anchor.line in inside
        return anchor.line if hand_written else unit.name_line or unit.start_line

    def _find_by_lines(self, anchor: Anchor, document: DocumentRow | None) -> tuple[str, int, str] | None:
        """Find an anchor by its lines, in its own file or just one other: (path, line, name of the definition around it)."""
        if document is not None and (line := self._find_line(anchor, self._texts.read_lines(document))) is not None:
            return document.path, line, self._find_enclosing_name(document.id, line)
        trigrams = build_trigram_query(anchor.text) if anchor.digest and len(anchor.text) >= LEAST_LETTERS else ""
        if not trigrams or not self._store.read_features().fuzzy:
            return None
        rows = self._store.documents.read_rows(self._store.postings.find_documents(trigrams))
        others = sorted((row for row in rows if row.repository == self._repository), key=lambda row: row.path)
        same = [
            (other, n)
            for other in others[:MOST_FILES]
            for lines in [self._texts.read_lines(other)]
            for n in range(1, len(lines) + 1)
            if extract_text(lines, n) == anchor.text and compute_digest(lines, n) == anchor.digest
        ]
        if len(same) != 1:
            return None
        [(other, line)] = same
        return (other.path, line, self._find_enclosing_name(other.id, line)) if anchor.line else (other.path, 0, "")

    def _find_line(self, anchor: Anchor, lines: Sequence[str]) -> int | None:
        """Find the anchored line in its own file; None if it is gone, 0 for a whole file."""
        if not anchor.line:
            return None if anchor.symbol else 0
        if not anchor.digest:
            return anchor.line if anchor.line <= len(lines) and not anchor.symbol else None
        numbers = range(1, len(lines) + 1)
        same = [n for n in numbers if extract_text(lines, n) == anchor.text]
        exact = [n for n in same if compute_digest(lines, n) == anchor.digest]
        if exact:
            return min(exact, key=lambda n: (abs(n - anchor.line), n))
        if anchor.symbol:  # its definition is gone from this file: only identical lines count
            return None
        if anchor.line in same:
            return anchor.line
        return same[0] if len(same) == 1 and len(anchor.text) >= LEAST_LETTERS else None

    def _find_enclosing_name(self, document: DocumentId, line: int) -> str:
        """Find the qualified name of the innermost definition around a line."""
        units = self._store.units.list_in_document(document)
        around = [u for u in units if u.kind not in CHUNK_KINDS and u.start_line <= line <= u.end_line and not u.local]
        return max(around, key=lambda u: (u.start_line, -u.end_line)).qualified_name if around else ""

    def make_anchor(self, text: str, root: Path) -> tuple[Anchor, str]:
        """Make the anchor of `path:line`, a path or a symbol: (anchor, remark for the user). Raises TargetError."""
        path, line = split_line_number(text)
        if not line and not is_path(path) and not (root / path).is_file():
            unit = resolve_target(text, self._store).unit
            document = self._store.documents.read_rows([unit.document])[0] if unit else None
            if unit is None or document is None or document.repository != self._repository:
                raise TargetError(f"nothing in this tree is named {text}")
            return _make_anchor(unit.path, unit.name_line, unit.qualified_name, self._texts.read_lines(document)), ""
        anchor = create_disk_anchor(text, root)
        document = self._find_document(anchor.path)
        freshness = document and check_freshness(root, document.os_path, document.stamp, document.content_hash)
        if document is None or freshness is not Freshness.FRESH:
            return anchor, f"{anchor.path} changed since it was indexed: the place is stored by its lines alone"
        symbol = self._find_enclosing_name(document.id, line) if line else ""
        return _make_anchor(anchor.path, line, symbol, self._texts.read_lines(document)), ""


def _make_anchor(path: str, line: int, symbol: str, lines: Sequence[str]) -> Anchor:
    return Anchor(path, line, symbol, compute_digest(lines, line or 1), extract_text(lines, line or 1))


def create_disk_anchor(text: str, root: Path) -> Anchor:
    """Make the anchor of a place without using an index. Raises TargetError unless the line exists in a file below the root."""
    path, line = split_line_number(text)
    if not line and not is_path(path) and not (root / path).is_file():  # a symbol needs an index
        try:
            return parse_anchor(text)
        except BadPlaceError as fault:
            raise TargetError(str(fault), hint="a place is PATH:LINE, or a symbol's name") from None
    try:
        tidy = normalize_path(path)
    except BadPlaceError as fault:
        raise TargetError(str(fault), hint="a place is PATH:LINE below the repository's root, or a symbol") from None
    file = root / tidy
    if not file.is_file() or not Path(os.path.realpath(file)).is_relative_to(os.path.realpath(root)):
        raise TargetError(f"no such file: {tidy}", hint="a place is PATH:LINE below the repository's root, or a symbol")
    lines = file.read_bytes().decode("utf-8", "replace").removesuffix("\n").split("\n")
    if line > len(lines):
        raise TargetError(f"{tidy} has {quantity(len(lines), 'line')}", hint="name one of them")
    return _make_anchor(tidy, line, "", lines)
