"""Read the SCIP indexes in a tree: find the units that names in its documents mean, and the edges of provenance `precise`.

`find_indexes` looks where tools and users put such files: in the root, in one folder below it (a project of a monorepo), or in
the folder `.scip` of either. Ignore rules do not apply, because most repositories ignore these files as build output.

`match_units` assigns a definition to the unit whose name is at the same place: an index names places, codelens names units, and
both give the place of the name. Symbols that define no unit (locals, parameters, files, other packages) are not resolved.

Texts and units are those in the store, not those on disk. A fault in an index becomes a notice and never ends a run.

If an index knows a use, its answer replaces the linker's: a wrong guess is removed, and an edge that syntax found too gets the
higher tier. A repository with indexes is linked as a whole after any change in it or in them, because the meaning of a name
in an index depends on many files; otherwise an update would differ from a fresh index.
"""

from __future__ import annotations

import json
import os
import re
from array import array
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from stat import S_ISREG
from typing import NamedTuple

import xxhash

from codelens.errors import PreciseIndexError
from codelens.linking.catalog import Catalog
from codelens.linking.facts import FUNCTIONS, Definition, LinkFacts
from codelens.linking.precise.scip import (
    PreciseDocument,
    Range,
    RefusedDocument,
    Relationship,
    convert_to_utf8,
    read_scip,
)
from codelens.linking.references import FoundEdge, Meaning
from codelens.model.code import CHUNK_KINDS, TYPE_KINDS, DocumentId, RepositoryId, Span, UnitId, UnitRow
from codelens.model.extraction import DecodedText, Reference
from codelens.model.fast_dataclass import frozen_dataclass, replace
from codelens.model.graph import EDGE_OF
from codelens.model.groups import group_pairs
from codelens.model.search import Notice
from codelens.store.store import Store
from codelens.store.texts import DocumentText, load_text
from codelens.text.lines import SpanFinder, TextMap

_MOST_TARGETS = 8  # Limit of definitions of a symbol. One with more is like a namespace, whose uses mean little.


class IndexMatches(NamedTuple):
    """The uses and implementations that an index knows, between the units of a tree."""

    uses: Mapping[str, Sequence[int]]  # Path → line, column and unit of each use, flat in one sequence
    implementations: Sequence[tuple[UnitId, UnitId]]
    """(type or member, type or member that it implements or overrides), each once."""
    documents: Mapping[UnitId, DocumentId]  # Unit that is used or implemented → its document


def match_units(
    documents: Iterable[PreciseDocument], units_of: Callable[[str], Sequence[UnitRow] | None]
) -> IndexMatches:
    """Match symbols of an index to units. `documents` count columns in UTF-8 bytes; `units_of` returns a path's units, or None."""
    numbers: dict[str, int] = {}  # Used symbol → its number
    occurrences: dict[str, array[int]] = {}
    """Uses as in `IndexMatches`, with a symbol's number instead of the unit, because its definition may come later."""
    targets: dict[str, dict[UnitId, DocumentId]] = {}  # Symbol → the units that it means
    relationships: list[Relationship] = []
    for document in documents:
        if (units := units_of(document.path)) is None:
            continue
        names = _NamePlaces(units)
        uses = occurrences.setdefault(document.path, array("i"))
        for place, symbol, is_definition in document.occurrences:
            if not is_definition:
                uses.extend((place.start_line, place.start_column, numbers.setdefault(symbol, len(numbers))))
            elif (unit := names.find_unit(place)) is not None:
                targets.setdefault(symbol, {})[unit.id] = unit.document
        relationships += document.relationships
    for symbol, other, kind in relationships:
        if kind == "definition" and symbol not in targets and other in targets:
            targets[symbol] = targets[other]
    few = {symbol: units for symbol, units in targets.items() if len(units) <= _MOST_TARGETS}
    pairs = ((few.get(r.symbol, ()), few.get(r.other, ())) for r in relationships if r.kind == "implementation")
    implementations = [pair for ends in pairs for pair in product(*ends) if pair[0] != pair[1]]
    meanings = [few.get(symbol, {}) for symbol in numbers]
    resolved: dict[str, array[int]] = {}
    for path, uses in occurrences.items():
        triples = iter(uses)
        resolved[path] = array("q")
        for line, column, number in zip(triples, triples, triples, strict=True):
            for meant in meanings[number]:
                resolved[path].extend((line, column, meant))
    documents_of = {unit: document for units in few.values() for unit, document in units.items()}
    return IndexMatches(resolved, list(dict.fromkeys(implementations)), documents_of)


class _NamePlaces:
    """The places of the names of one document's units."""

    def __init__(self, units: Sequence[UnitRow]) -> None:
        self._by_start: dict[tuple[int, int], UnitRow] = {}
        self._by_line: dict[int, list[UnitRow]] = {}
        for unit in units:
            if unit.name and unit.kind not in CHUNK_KINDS:
                self._by_start.setdefault((unit.name_line, unit.name_column), unit)
                self._by_line.setdefault(unit.name_line, []).append(unit)

    def find_unit(self, place: Range) -> UnitRow | None:
        """Find the unit whose name starts here, else the first whose name overlaps: `Shape::area` and `area`."""
        if place[:2] == place[2:]:
            return None  # a whole file
        unit = self._by_start.get((place.start_line, place.start_column))
        if unit is None and place.start_line == place.end_line:
            for other in self._by_line.get(place.start_line, ()):
                end = other.name_column + other.name_end - other.name_start
                if other.name_column < place.end_column and place.start_column < end:
                    return other
        return unit


_FOLDER = ".scip"
_LSIF = "LSIF is not supported; write a SCIP index instead"


@frozen_dataclass
class IndexFile:
    """A file that is named like an index; only reading it shows whether it is one."""

    path: str  # Path relative to the tree's root with POSIX separators, for people
    file: Path
    folder: str  # Folder of the project it probably covers, relative to the root; empty for the root itself
    refusal: str = ""  # Reason why it is not read; empty if it is


def find_indexes(root: Path, limit: int) -> Iterator[IndexFile]:
    """Find the indexes in the root and the folders below it, by path. Refuses files above `limit` bytes; skips links."""
    below = [e for e in _list_folder(root) if e.is_dir(follow_symlinks=False) and not e.name.startswith(".")]
    projects = [("", root), *((entry.name, Path(entry.path)) for entry in below)]
    for name, inside, folder in ((name, inside, path / inside) for name, path in projects for inside in ("", _FOLDER)):
        if inside and os.path.islink(folder):  # noqa: PTH114 - Path.is_symlink raises where the folder cannot be searched
            continue
        for entry in _list_folder(folder):
            suffix = Path(entry.name).suffix
            if suffix not in (".scip", ".lsif"):
                continue
            refusal = ""
            try:
                status = entry.stat(follow_symlinks=False)
            except OSError as fault:
                refusal = fault.strerror or str(fault)
            else:
                if not S_ISREG(status.st_mode):
                    continue
                if suffix == ".lsif":
                    refusal = _LSIF
                elif status.st_size > limit:
                    refusal = f"{status.st_size / 1e6:.1f} MB, limit {limit / 1e6:.1f} MB"
            path = _make_printable("/".join(filter(None, (name, inside, entry.name))))
            yield IndexFile(path, Path(entry.path), _make_printable(name), refusal)


def place_in_tree(folder: str, path: str, known: Container[str]) -> str | None:
    """Find the path in the tree of a document, which most indexes name relative to their `folder`, some to the root."""
    below = f"{folder}/{path}" if folder else path
    return next((place for place in (below, path) if place in known), None)


def _list_folder(folder: Path) -> list[os.DirEntry[str]]:
    """List the sorted entries of a folder; empty if it is missing or cannot be read, which the walk reports."""
    try:
        with os.scandir(folder) as entries:
            return sorted(entries, key=lambda entry: os.fsencode(entry.name))
    except OSError:
        return []


def _make_printable(path: str) -> str:
    return os.fsencode(path).decode("utf-8", "backslashreplace")


_LONGEST_PATH = 200  # Characters of an index's path in a notice


class TreeIndexes(NamedTuple):
    """The indexes in a tree."""

    files: tuple[IndexFile, ...] = ()
    state: str = ""  # Paths, sizes and content hashes as JSON, to detect a change; empty without indexes
    notices: tuple[Notice, ...] = ()  # Notices about indexes that are not read


def read_tree_indexes(root: Path, limit: int) -> TreeIndexes:
    """Read the list of indexes in a tree, except files of more than `limit` bytes."""
    files: list[IndexFile] = []
    states: list[tuple[str, int, str]] = []
    refused: list[IndexFile] = []
    for index in find_indexes(root, limit):
        try:
            content = b"" if index.refusal else index.file.read_bytes()
        except OSError as fault:
            index = replace(index, refusal=fault.strerror or str(fault))
        if index.refusal:
            refused.append(index)
            continue
        files.append(index)
        states.append((index.path, len(content), xxhash.xxh3_64_hexdigest(content)))
    dumps = [index for index in refused if index.refusal == _LSIF]
    listed = [index for index in refused if index.refusal != _LSIF] + ([] if files else dumps[:1])
    notices = tuple(Notice("precise", f"{index.path} is not read: {index.refusal}") for index in listed)
    return TreeIndexes(tuple(files), json.dumps(states) if states else "", notices)


class PreciseIndexes:
    """The uses and implementations from all indexes of one repository; empty without files."""

    def __init__(self, store: Store, repository: RepositoryId, files: Sequence[IndexFile] = ()) -> None:
        self.notices: list[Notice] = []
        self.documents_of: dict[UnitId, DocumentId] = {}  # Unit that a name means → its document
        self.implementations: set[tuple[UnitId, UnitId]] = set()
        """(type or member, type or member that it implements or overrides)."""
        self.packed_uses: dict[DocumentId, array[int]] = {}
        """Document → line, column and unit of each use, flat in one array: there may be hundreds of thousands."""
        self._store = store
        rows = store.documents.read_rows() if files else []
        self._rows = {row.path: row for row in rows if row.repository == repository}
        self._by_id = {row.id: row for row in self._rows.values()}
        self._text: dict[DocumentId, DocumentText] = {}
        for file in files:
            matches = match_units(self._read_documents(file), self._list_units)
            for path, uses in matches.uses.items():
                if uses:
                    self.packed_uses.setdefault(self._rows[path].id, array("q")).extend(uses)
            self.implementations.update(matches.implementations)
            self.documents_of.update(matches.documents)

    def _list_units(self, path: str) -> Sequence[UnitRow]:
        return self._store.units.list_in_document(self._rows[path].id)

    def list_uses(self, document: DocumentId) -> list[tuple[int, int, UnitId]]:
        """List the distinct (line, column in UTF-8 bytes, unit) of each use in a document, in order."""
        numbers = iter(self.packed_uses.get(document, ()))
        return sorted({(line, at, UnitId(unit)) for line, at, unit in zip(numbers, numbers, numbers, strict=True)})

    def read_document_text(self, document: DocumentId) -> DocumentText:
        """Read the text of a document; the last text is kept."""
        if document not in self._text:
            self._text = {document: load_text(self._by_id[document], self._store)}
        return self._text[document]

    def _read_documents(self, file: IndexFile) -> Iterator[PreciseDocument]:
        """Read the documents of an index that match the tree, with their paths there. The others are counted for a notice."""
        matched, missing, stale = 0, list[RefusedDocument](), list[RefusedDocument]()
        try:
            for document in read_scip(file.file.read_bytes(), file.path):
                if isinstance(document, RefusedDocument):
                    missing.append(document)
                elif (path := place_in_tree(file.folder, document.path, self._rows)) is None:
                    missing.append(RefusedDocument(document.path, "no such file is indexed"))
                else:
                    converted = convert_to_utf8(document, self.read_document_text(self._rows[path].id).text)
                    if isinstance(converted, RefusedDocument):
                        stale.append(converted)
                    else:
                        matched += 1
                        yield replace(converted, path=path)
        except PreciseIndexError as fault:
            self.notices.append(Notice("precise", f"{fault}; {fault.hint}"))
        except OSError as fault:
            self.notices.append(Notice("precise", f"{file.path} is not read: {fault.strerror or fault}"))
        # Many tools list files of libraries too, so missing files are reported only if no file matches.
        if refused := stale or (missing if not matched else []):
            first = f"{refused[0].path[:_LONGEST_PATH]}: {refused[0].reason}"
            text = f"{file.path}: {len(refused)} of {matched + len(refused)} documents are not used ({first})"
            self.notices.append(Notice("precise", text))


def find_meanings(known: PreciseIndexes, catalog: Catalog, facts: LinkFacts) -> dict[int, Meaning]:
    """Find the meanings of all names in a document that the indexes know: place in the file's own bytes → meaning, in order.

    Indexes have errors: of 102,572 uses in scip-python's index of Django, 3,971 lead to a definition with another name
    (`CharField` to `DateTimeField`), and a name in one function leads to its namesakes in others. Such uses are left out.
    """
    document = DocumentId(facts.file.id)
    uses = known.list_uses(document)
    if not uses:
        return {}
    raw = known.read_document_text(document)
    text = TextMap(DecodedText(raw.text, raw.encoding, 1.0, raw.bom))
    starts = [*text.line_starts, len(text.utf8) + 1]
    aliases = {imported.alias for imported in facts.imports}
    meanings: dict[int, Meaning] = {}
    for line, column, unit in uses:
        if line >= len(starts) or (utf8_place := starts[line - 1] + column - 1) >= starts[line]:
            continue
        definition = catalog.read_facts(known.documents_of[unit]).by_id[unit]
        place = text.to_original(utf8_place)
        outer = definition
        while outer.local and outer.parent is not None:
            outer = outer.parent
        # A local definition is visible only within its function.
        is_visible = outer is definition or (definition.facts is facts and outer.start <= place < outer.end)
        word = _WORD.match(text.utf8[utf8_place : utf8_place + _LONGEST_NAME].decode("utf-8", "ignore"))
        if is_visible and word and (word[1] in aliases or _may_mean(word[1], definition)):
            meanings.setdefault(place, Meaning(line, [])).definitions.append(definition)
    return meanings


def _may_mean(word: str, definition: Definition) -> bool:
    """True if a word is the definition's name, or its type's name for a constructor. Any word may mean an operator."""
    language, name = definition.facts.file.language, definition.name.lstrip("@$#")
    if not word or word == name or not name.isidentifier():
        return True
    parent = definition.parent.name if definition.parent else ""
    return name in (*language.constructors, parent) and word in (parent, *language.self_names, *language.super_names)


_WORD = re.compile(r"[@$#]*(\w*)")
_LONGEST_NAME = 400  # Bytes of a name that are compared
_LONGEST_IMPORT = 4000  # Bytes from an import's module to a name in the statement


def find_other_edges(
    meanings: Mapping[int, Meaning], facts: LinkFacts, references: Sequence[Reference], known: PreciseIndexes
) -> Iterator[FoundEdge]:
    """Find the edges of known names that the grammar does not capture as uses: names in imports and in other places."""
    captured = {reference.start for reference in references if reference.kind in EDGE_OF}
    imports = group_pairs((imported.name, imported) for imported in facts.imports)
    units = [unit for unit in facts.definitions if unit.kind not in CHUNK_KINDS]
    around = SpanFinder([(unit.start, unit.end) for unit in units])
    for place, (line, definitions) in meanings.items():
        if place in captured:
            continue
        number = around.find(place)
        inside = units[number] if number is not None else None
        text = known.read_document_text(DocumentId(facts.file.id))
        for definition in definitions:
            statements = (i.line for i in imports.get(definition.name, ()) if _is_in_import(text, i.start, place))
            if statement := next(statements, 0):
                yield FoundEdge(None, "imports", definition, statement, "precise")
            elif definition is not inside:
                yield FoundEdge(inside.place if inside else None, "references", definition, line, "precise")


def _is_in_import(text: DocumentText, start: int, place: int) -> bool:
    """True if the import whose module is at `start` extends to a place: within its line, or within its brackets."""
    if not 0 <= place - start <= _LONGEST_IMPORT:
        return False
    between = text.read_span(Span(start, place))
    return "\n" not in between or (any(b in between for b in "({") and not any(b in between for b in ")}"))


def store_implementations(store: Store, catalog: Catalog, known: PreciseIndexes) -> None:
    """Store the `implements` and `overrides` edges of indexes, instead of derived ones. A base that is named has one."""
    rows = store.units.read_rows(source for source, _ in known.implementations)
    for pair in sorted(known.implementations):
        source, target = (catalog.read_facts(known.documents_of[unit]).by_id[unit] for unit in pair)
        if source.kind in TYPE_KINDS and target.kind in TYPE_KINDS:
            kind = "implements"
            named = store.edges.find_outgoing([source.id], ["extends", "implements"])
            if any(edge.target == target.id and edge.line for edge in named):
                continue
        elif source.kind in FUNCTIONS and target.kind in FUNCTIONS:
            kind = "overrides"
        else:
            continue
        store.edges.remove([(source.id, kind, target.id, 0)])
        store.edges.add([(source.id, kind, target.id, rows[UnitId(source.id)].name_line, "precise")])
