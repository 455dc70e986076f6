"""The SCIP indexes and LSIF dumps that a tree carries → the units that the names in its documents mean.

Texts and units are those that are stored, not those on the disk: an index is held against what its edges will be of. What is
wrong with one is told, and never ends a run.
"""

from __future__ import annotations

import json
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import xxhash

from codelens.errors import PreciseIndexError
from codelens.model import DocumentId, Notice, RepositoryId, UnitId, UnitRow
from codelens.precise.columns import in_utf8
from codelens.precise.facts import PreciseDocument, RefusedDocument
from codelens.precise.find import IndexFile, RefusedIndex, find_indexes, place_in_tree
from codelens.precise.lsif import read_lsif
from codelens.precise.matching import Target, match
from codelens.precise.scip import read_scip
from codelens.store.store import Store
from codelens.texts import DocumentText, text_of

_SHOWN = 200
"""Characters of a path that an index gives."""
_READERS = {"scip": read_scip, "lsif": read_lsif}


class Carried(NamedTuple):
    """The indexes that a tree carries."""

    files: tuple[IndexFile, ...] = ()
    state: str = ""
    """Their paths, sizes and content hashes as JSON, to tell other ones from them; empty where there are none."""
    notices: tuple[Notice, ...] = ()
    """Of those that are not read."""


def find_carried(root: Path, limit: int) -> Carried:
    """What lies in a tree now, but for files of more than `limit` bytes."""
    files: list[IndexFile] = []
    states: list[tuple[str, int, str]] = []
    notices: list[Notice] = []
    for found in find_indexes(root, limit):
        if isinstance(found, RefusedIndex):
            notices.append(_notice(f"{found.path} is not read: {found.reason}"))
            continue
        try:
            content = found.file.read_bytes()
        except OSError as fault:
            notices.append(_unreadable(found, fault))
            continue
        files.append(found)
        states.append((found.path, len(content), xxhash.xxh3_64_hexdigest(content)))
    return Carried(tuple(files), json.dumps(states) if states else "", tuple(notices))


class Use(NamedTuple):
    """A name that an index knows; the line and the column are from 1, the column in UTF-8 bytes."""

    line: int
    column: int
    target: int
    """Position in `Known.units`."""


class Known:
    """What the indexes of one repository say, read when it is made. Without files it says nothing."""

    def __init__(self, store: Store, repository: RepositoryId, files: Sequence[IndexFile] = ()) -> None:
        self.notices: list[Notice] = []
        self.units: list[tuple[DocumentId, UnitId]] = []
        """What is meant somewhere."""
        self.relations: list[tuple[int, int]] = []
        """(type or member, what it implements or overrides), as positions in `units`."""
        self._store = store
        self._uses: dict[DocumentId, array[int]] = {}
        """The three numbers of each use, one after the other: there may be hundreds of thousands."""
        rows = store.documents.rows() if files else []
        self._rows = {row.path: row for row in rows if row.repository == repository}
        self._by_id = {row.id: row for row in self._rows.values()}
        self._numbers: dict[tuple[DocumentId, UnitId], int] = {}
        self._text: dict[DocumentId, DocumentText] = {}
        for file in files:
            self._take(file)

    def documents(self) -> set[DocumentId]:
        """Those with a use that is known."""
        return set(self._uses)

    def uses(self, document: DocumentId) -> list[Use]:
        """By place and target, each once: two indexes may say the same."""
        numbers = iter(self._uses.get(document, ()))
        return sorted(set(map(Use._make, zip(numbers, numbers, numbers, strict=True))))

    def text(self, document: DocumentId) -> DocumentText:
        """A document's text; that of the last one is kept."""
        if document not in self._text:
            self._text = {document: text_of(self._by_id[document], self._store)}
        return self._text[document]

    def _take(self, file: IndexFile) -> None:
        units: dict[str, list[UnitId]] = {}

        def units_of(path: str) -> list[UnitRow]:
            found = self._store.units.of_document(self._rows[path].id)
            units[path] = [unit.id for unit in found]
            return found

        def number(target: Target) -> int:
            unit = self._rows[target.path].id, units[target.path][target.unit]
            if (known := self._numbers.get(unit)) is None:
                known = self._numbers[unit] = len(self.units)
                self.units.append(unit)
            return known

        matches = match(self._documents(file), units_of)
        for found in matches.references:
            uses = self._uses.setdefault(self._rows[found.path].id, array("i"))
            uses.extend((found.line, found.column, number(found.target)))
        self.relations += [
            (number(one.source), number(one.target)) for one in matches.relationships if one.kind == "implementation"
        ]

    def _documents(self, file: IndexFile) -> Iterator[PreciseDocument]:
        """The documents of an index that fit those of the tree, under their paths there; the others are counted."""
        taken, aside, stale = 0, list[RefusedDocument](), list[RefusedDocument]()
        try:
            for found in _READERS[file.kind](file.file.read_bytes(), file.path):
                if isinstance(found, RefusedDocument):
                    aside.append(found)
                elif (path := place_in_tree(file.folder, found.path, self._rows)) is None:
                    aside.append(RefusedDocument(found.path, "no such file is indexed"))
                elif isinstance(one := in_utf8(found, self.text(self._rows[path].id).text), RefusedDocument):
                    stale.append(one)
                else:
                    taken += 1
                    yield replace(one, path=path)
        except PreciseIndexError as fault:
            self.notices.append(_notice(f"{fault}; {fault.hint}"))
        except OSError as fault:
            self.notices.append(_unreadable(file, fault))
        # Many tools list files of libraries too, so that some are not here is no fault.
        if refused := stale or (aside if not taken else []):
            first = f"{refused[0].path[:_SHOWN]}: {refused[0].reason}"
            text = f"{file.path}: {len(refused)} of {taken + len(refused)} documents are not used ({first})"
            self.notices.append(_notice(text))


def _unreadable(file: IndexFile, fault: OSError) -> Notice:
    return _notice(f"{file.path} is not read: {fault.strerror or fault}")


def _notice(text: str) -> Notice:
    return Notice("precise", text)
