"""The SCIP indexes in a tree → the units that the names in its documents mean.

`find_indexes` looks where tools and users put such files: in the root or one folder below it (a project of a monorepo), or in a
folder `.scip` of either. Ignore rules do not count, because these files are build output that most repositories ignore.

`match` assigns a definition to the unit whose name stands at its place: an index names places, codelens names units, and both
give the place of the name. Symbols that define no unit (locals, parameters, files, other packages) resolve nothing.

Texts and units are those in the store, not those on the disk. A fault in an index is a notice and never ends a run.
"""

from __future__ import annotations

import json
import os
from array import array
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from pathlib import Path
from stat import S_ISREG
from typing import NamedTuple

import xxhash

from codelens.errors import PreciseIndexError
from codelens.linking.precise.documents import Occurrence, PreciseDocument, Range, RefusedDocument, in_utf8
from codelens.linking.precise.scip import read_scip
from codelens.model.code import CHUNK_KINDS, DocumentId, RepositoryId, UnitId, UnitRow
from codelens.model.fast_dataclass import dataclass, replace
from codelens.model.search import Notice
from codelens.store.store import Store
from codelens.store.texts import DocumentText, text_of

_MOST_TARGETS = 8
"""A symbol with more definitions is like a namespace, to which any file may add: a use of it means little. Chosen, not
measured."""


class UnitPlace(NamedTuple):
    """A unit, by its document's path and its position in that document's list of units."""

    path: str
    unit: int


class ResolvedReference(NamedTuple):
    """The unit that the name at a place means; line and column from 1, the column in UTF-8 bytes."""

    path: str
    line: int
    column: int
    target: UnitPlace


@dataclass(frozen=True, slots=True)
class Matches:
    """The references and implementations of an index, between the units of a tree."""

    references: Iterable[ResolvedReference]  # In the order of the documents and their occurrences. Can be read once.
    implementations: tuple[tuple[UnitPlace, UnitPlace], ...]
    """(type or member, type or member that it implements or overrides)."""


def match(documents: Iterable[PreciseDocument], units_of: Callable[[str], Sequence[UnitRow] | None]) -> Matches:
    """Match an index to units.

    `documents` have columns in UTF-8 bytes (`in_utf8`); `units_of` returns a path's units, None for a file that is not indexed.
    """
    uses = _Uses()
    targets: dict[str, list[UnitPlace]] = {}
    related: list[tuple[str, str, str]] = []
    for document in documents:
        units = units_of(document.path)
        if units is None:
            continue
        places = _NamePlaces(units)
        uses.begin(document.path)
        for found in document.occurrences:
            if not found.is_definition:
                uses.add(found)
            elif (unit := places.unit_at(found.range)) is not None:
                target = UnitPlace(document.path, unit)
                if target not in targets.setdefault(found.symbol, []):
                    targets[found.symbol].append(target)
        related += document.relationships
    for symbol, other, kind in related:
        if kind == "definition" and symbol not in targets and other in targets:
            targets[symbol] = targets[other]
    few = {symbol: meant for symbol, meant in targets.items() if len(meant) <= _MOST_TARGETS}
    implementations = [
        (source, target)
        for symbol, other, kind in related
        if kind == "implementation"
        for source in few.get(symbol, ())
        for target in few.get(other, ())
        if source != target
    ]
    return Matches(uses.resolved(few), tuple(dict.fromkeys(implementations)))


class _NamePlaces:
    """The places of the names of one document's units."""

    def __init__(self, units: Sequence[UnitRow]) -> None:
        self._starts: dict[tuple[int, int], int] = {}
        self._lines: dict[int, list[tuple[int, int, int]]] = {}
        for position, unit in enumerate(units):
            if unit.name and unit.kind not in CHUNK_KINDS:
                length = unit.name_span.end - unit.name_span.start
                self._starts.setdefault((unit.name_line, unit.name_column), position)
                of_line = self._lines.setdefault(unit.name_line, [])
                of_line.append((unit.name_column, unit.name_column + length, position))

    def unit_at(self, place: Range) -> int | None:
        """The unit whose name starts here, else the first whose name overlaps: `Shape::area` and `area`."""
        if place[:2] == place[2:]:
            return None  # a whole file
        found = self._starts.get((place.start_line, place.start_column))
        if found is None and place.start_line == place.end_line:
            for start, end, position in self._lines.get(place.start_line, ()):
                if start < place.end_column and place.start_column < end:
                    return position
        return found


class _Uses:
    """The references read so far, 12 bytes each. The meaning of a symbol is known only after all documents."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._documents: list[tuple[str, int]] = []
        """(path, number of references before it)."""
        self._lines, self._columns, self._symbols = array("i"), array("i"), array("i")

    def begin(self, path: str) -> None:
        """Start a document."""
        self._documents.append((path, len(self._lines)))

    def add(self, found: Occurrence) -> None:
        """Add a reference of the current document."""
        self._lines.append(found.range.start_line)
        self._columns.append(found.range.start_column)
        self._symbols.append(self._numbers.setdefault(found.symbol, len(self._numbers)))

    def resolved(self, targets: dict[str, list[UnitPlace]]) -> Iterator[ResolvedReference]:
        """All references to these symbols."""
        meant: list[Sequence[UnitPlace]] = [targets.get(symbol, ()) for symbol in self._numbers]
        ends = [*(first for _, first in self._documents), len(self._lines)][1:]
        for (path, first), end in zip(self._documents, ends, strict=True):
            for i in range(first, end):
                for target in meant[self._symbols[i]]:
                    yield ResolvedReference(path, self._lines[i], self._columns[i], target)


_FOLDER = ".scip"
_LSIF = "LSIF is not supported; write a SCIP index instead"


@dataclass(frozen=True, slots=True)
class IndexFile:
    """A file with the name of an index; only reading it shows if it is one."""

    path: str  # Relative to the tree's root, POSIX separators, for people
    file: Path
    folder: str  # Folder of the project it probably covers, relative to the root; empty for the root itself


@dataclass(frozen=True, slots=True)
class RefusedIndex:
    """An index that is not read, and the reason."""

    path: str
    reason: str


def find_indexes(root: Path, limit: int) -> Iterator[IndexFile | RefusedIndex]:
    """Indexes in the root, then in the folders below it, each in order of the paths' bytes.

    Files larger than `limit` bytes are refused. Links are not followed.
    """
    yield from _of_project(root, "", limit)
    for entry in _entries(root):
        if entry.is_dir(follow_symlinks=False) and not entry.name.startswith("."):
            yield from _of_project(Path(entry.path), entry.name, limit)


def place_in_tree(folder: str, path: str, known: Container[str]) -> str | None:
    """The path in the tree of a document in an index of `folder`; None if it is not known.

    Most indexes of a project have paths relative to the project, some have paths relative to the top of the repository.
    """
    below = f"{folder}/{path}" if folder else path
    return next((place for place in (below, path) if place in known), None)


def _of_project(project: Path, name: str, limit: int) -> Iterator[IndexFile | RefusedIndex]:
    for inside in ("", _FOLDER):
        folder = project / inside
        if inside and os.path.islink(folder):  # noqa: PTH114 - Path.is_symlink raises where the folder cannot be searched
            continue
        for entry in _entries(folder):
            suffix = Path(entry.name).suffix
            if suffix not in (".scip", ".lsif"):
                continue
            path = _printable("/".join(filter(None, (name, inside, entry.name))))
            try:
                status = entry.stat(follow_symlinks=False)
            except OSError as fault:
                yield RefusedIndex(path, fault.strerror or str(fault))
                continue
            if not S_ISREG(status.st_mode):
                continue
            if suffix == ".lsif":
                yield RefusedIndex(path, _LSIF)
            elif (size := status.st_size) > limit:
                yield RefusedIndex(path, f"{size / 1e6:.1f} MB, limit {limit / 1e6:.1f} MB")
            else:
                yield IndexFile(path, Path(entry.path), _printable(name))


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    """The sorted entries of a folder; empty if it is missing or cannot be read, which the walk reports."""
    try:
        with os.scandir(folder) as found:
            return sorted(found, key=lambda entry: os.fsencode(entry.name))
    except OSError:
        return []


def _printable(path: str) -> str:
    return os.fsencode(path).decode("utf-8", "backslashreplace")


_LONGEST_PATH = 200  # Characters of an index's path in a notice


class TreeIndexes(NamedTuple):
    """The indexes that lie in a tree."""

    files: tuple[IndexFile, ...] = ()
    state: str = ""  # Their paths, sizes and content hashes as JSON, to detect a change; empty without indexes
    notices: tuple[Notice, ...] = ()  # Notices about indexes that are not read


def indexes_of_tree(root: Path, limit: int) -> TreeIndexes:
    """The indexes that lie in a tree now, except files of more than `limit` bytes."""
    files: list[IndexFile] = []
    states: list[tuple[str, int, str]] = []
    notices: list[Notice] = []
    dumps: list[Notice] = []
    for found in find_indexes(root, limit):
        if isinstance(found, RefusedIndex):
            (dumps if found.reason == _LSIF else notices).append(_notice(f"{found.path} is not read: {found.reason}"))
            continue
        try:
            content = found.file.read_bytes()
        except OSError as fault:
            notices.append(_unreadable(found, fault))
            continue
        files.append(found)
        states.append((found.path, len(content), xxhash.xxh3_64_hexdigest(content)))
    told = notices if files else [*notices, *dumps[:1]]
    return TreeIndexes(tuple(files), json.dumps(states) if states else "", tuple(told))


class PreciseUse(NamedTuple):
    """A name that an index knows; line and column from 1, the column in UTF-8 bytes."""

    line: int
    column: int
    target: int  # Position in `PreciseIndexes.units`


class PreciseIndexes:
    """Uses and relations of names, from all indexes of one repository; empty without files."""

    def __init__(self, store: Store, repository: RepositoryId, files: Sequence[IndexFile] = ()) -> None:
        self.notices: list[Notice] = []
        self.units: list[tuple[DocumentId, UnitId]] = []
        """The units that names mean."""
        self.relations: list[tuple[int, int]] = []
        """(type or member, type or member that it implements or overrides), as positions in `units`."""
        self._store = store
        self._uses: dict[DocumentId, array[int]] = {}
        """The three numbers of each use in a row: there may be hundreds of thousands."""
        rows = store.documents.rows() if files else []
        self._rows = {row.path: row for row in rows if row.repository == repository}
        self._by_id = {row.id: row for row in self._rows.values()}
        self._numbers: dict[tuple[DocumentId, UnitId], int] = {}
        self._text: dict[DocumentId, DocumentText] = {}
        for file in files:
            self._take(file)

    def documents(self) -> set[DocumentId]:
        """Documents with a known use."""
        return set(self._uses)

    def uses(self, document: DocumentId) -> list[PreciseUse]:
        """Distinct uses in order of place and target: two indexes may have the same."""
        numbers = iter(self._uses.get(document, ()))
        return sorted(set(map(PreciseUse._make, zip(numbers, numbers, numbers, strict=True))))

    def text(self, document: DocumentId) -> DocumentText:
        """The text of a document. The last one is kept."""
        if document not in self._text:
            self._text = {document: text_of(self._by_id[document], self._store)}
        return self._text[document]

    def _take(self, file: IndexFile) -> None:
        units: dict[str, list[UnitId]] = {}

        def units_of(path: str) -> list[UnitRow]:
            found = self._store.units.of_document(self._rows[path].id)
            units[path] = [unit.id for unit in found]
            return found

        def number(target: UnitPlace) -> int:
            unit = self._rows[target.path].id, units[target.path][target.unit]
            if (known := self._numbers.get(unit)) is None:
                known = self._numbers[unit] = len(self.units)
                self.units.append(unit)
            return known

        matches = match(self._documents(file), units_of)
        for found in matches.references:
            uses = self._uses.setdefault(self._rows[found.path].id, array("i"))
            uses.extend((found.line, found.column, number(found.target)))
        self.relations += [(number(source), number(target)) for source, target in matches.implementations]

    def _documents(self, file: IndexFile) -> Iterator[PreciseDocument]:
        """The documents of an index that match the tree, with their paths there. The others are counted for a notice."""
        matched, aside, stale = 0, list[RefusedDocument](), list[RefusedDocument]()
        try:
            for found in read_scip(file.file.read_bytes(), file.path):
                if isinstance(found, RefusedDocument):
                    aside.append(found)
                elif (path := place_in_tree(file.folder, found.path, self._rows)) is None:
                    aside.append(RefusedDocument(found.path, "no such file is indexed"))
                elif isinstance(one := in_utf8(found, self.text(self._rows[path].id).text), RefusedDocument):
                    stale.append(one)
                else:
                    matched += 1
                    yield replace(one, path=path)
        except PreciseIndexError as fault:
            self.notices.append(_notice(f"{fault}; {fault.hint}"))
        except OSError as fault:
            self.notices.append(_unreadable(file, fault))
        # Many tools list files of libraries too, so missing files are reported only if no file matches.
        if refused := stale or (aside if not matched else []):
            first = f"{refused[0].path[:_LONGEST_PATH]}: {refused[0].reason}"
            text = f"{file.path}: {len(refused)} of {matched + len(refused)} documents are not used ({first})"
            self.notices.append(_notice(text))


def _unreadable(file: IndexFile, fault: OSError) -> Notice:
    return _notice(f"{file.path} is not read: {fault.strerror or fault}")


def _notice(text: str) -> Notice:
    return Notice("precise", text)
