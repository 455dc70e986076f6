"""The folders of a workspace, readers of their indexes in which unsaved texts stand in place of files, and requests to them."""

from __future__ import annotations

import asyncio
import math
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from threading import Event
from typing import Any, NamedTuple, TypeVar, cast

from lsprotocol import types
from pygls.uris import from_fs_path, to_fs_path

from codelens.errors import IndexCorrupt, IndexNotTrusted, NoIndex, SchemaTooNew
from codelens.graph.meanings import NameReader, TokenMeaning, find_resolver
from codelens.index import Index
from codelens.linking.linker import Linker
from codelens.linking.references import Resolver
from codelens.model.budget import TimeBudget
from codelens.model.code import DocumentId, RepositoryId, UnitId, UnitRow
from codelens.model.extraction import DecodedText
from codelens.model.graph import NamedNode, SourceLine
from codelens.model.request import SearchOptions
from codelens.model.search import Hit
from codelens.server.lsp.texts import SourceText, count_units
from codelens.server.upkeep import ServedIndex, Upkeep
from codelens.store.documents import DocumentRow, RepositoryRow
from codelens.store.overlay import OverlaidStore
from codelens.store.texts import text_of

MOST_TEXTS = 50  # Texts of files that a reader keeps
MOST_URIS = 1000  # URIs of files that a folder keeps
MOST_IDLE = 2  # Readers of one index that wait for a request; each keeps up to 64 MiB of pages
UNREADABLE = (NoIndex, IndexCorrupt, IndexNotTrusted, SchemaTooNew)  # Faults of an index, without which answers do
T = TypeVar("T")


class Reader(OverlaidStore):
    """An index with the open texts of one request. It serves one request at a time."""

    folder: WorkspaceFolder
    request: LspRequest
    index: Index

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._roots = {Path(os.path.realpath(row.root)): row for row in self.documents.repositories()}
        self._shown: Mapping[Path, SourceText] | None = None
        self.source = lru_cache(MOST_TEXTS)(self._read_source)
        """The text of a document, open or as indexed."""

    def limited_to(self, seconds: float) -> TimeBudget:
        """A budget that is also spent when the request is cancelled."""
        cancelled = self.request.cancelled
        return TimeBudget(seconds, lambda: math.inf if cancelled.is_set() else time.thread_time())

    def start(self, request: LspRequest) -> None:
        """Answer a request, for its texts in place of their files."""
        self.request = request
        if request.texts != self._shown:
            places = {self._find_place(path): text for path, text in request.texts.items()}
            self.show({(place[0].id, place[1]): text.parts for place, text in places.items() if place})
            self.edges.add_missing = self._add_edges if self.edited else None
            self.resolvers, self._shown = {}, request.texts

    def _add_edges(self) -> None:
        """Link the shown texts. Edges that leave the index are left out: no answer here lists them."""
        for row in self.documents.rows(self.edited):
            edges = Linker(self, row.repository).link(row.id, whole=True).edges
            self.edges.add_rows((s, kind, t, line, tier) for s, kind, t, line, tier in edges if isinstance(t, int))

    def _find_place(self, path: Path) -> tuple[RepositoryRow, str] | None:
        """(repository, path below its root) of a file; of the innermost root around it."""
        real = Path(os.path.realpath(path))
        root = next((folder for folder in real.parents if folder in self._roots), None)
        return (self._roots[root], real.relative_to(root).as_posix()) if root else None

    def document(self, path: Path) -> DocumentRow:
        """The document of a file. Raises NoIndex if the index does not have it."""
        place = self._find_place(path)
        document = self.documents.find_at(place[0].id, place[1]) if place else None
        if document is None:
            raise NoIndex(f"{path} is not in the index")
        return document

    def row(self, document: int) -> DocumentRow:
        """The row of a document."""
        return self.documents.rows([DocumentId(document)])[0]

    def sorted_units(self, ids: Iterable[int]) -> list[UnitRow]:
        """The rows of definitions, by path and place."""
        return sorted(self.units.rows(map(UnitId, ids)).values(), key=UnitRow.content_order)

    def _read_source(self, document: DocumentRow) -> SourceText:
        stored = text_of(document, self)
        decoded = DecodedText(stored.text, stored.encoding, 1.0, stored.bom)
        return SourceText(self.path_of(document), decoded, self.request.encoding)

    def path_of(self, document: DocumentRow) -> Path:
        """The file of a document."""
        return self.root_of(document) / document.os_path

    def root_of(self, document: DocumentRow) -> Path:
        """The folder of a document's repository."""
        return next(row.root for row in self._roots.values() if row.id == document.repository)

    def read_names(self, document: DocumentRow, name: str) -> NameReader:
        """The reader of a name in a document."""
        return NameReader(self, self._find_resolver(document), document, self.source(document), name)

    def read_name_at(self, document: DocumentRow, position: types.Position) -> tuple[NameReader, TokenMeaning] | None:
        """The name at the client's position in a document, with what reads others of that name."""
        source = self.source(document)
        place = source.to_utf8(source.offset(position))
        return NameReader.at(self, self._find_resolver(document), document, source, place)

    def _find_resolver(self, document: DocumentRow) -> Resolver:
        return find_resolver(self, document.repository, cast(dict[RepositoryId, Any], self.resolvers))

    def target_of(self, unit: UnitRow) -> str:
        """A definition as questions about the graph name it."""
        return f"{self.path_of(self.row(unit.document)).as_posix()}:{unit.name_line}:{unit.name}"

    def location(self, document: DocumentRow, start: int, end: int) -> types.Location:
        """These bytes of a document as the client counts."""
        return types.Location(self.folder.uri(self.path_of(document)), self.source(document).range(start, end))

    def unit_location(self, unit: UnitRow) -> types.Location:
        """The name of a definition; its first byte if it has no name."""
        start, end = (unit.name_start, unit.name_end) if unit.name_end else (unit.start_byte, unit.start_byte)
        return self.location(self.row(unit.document), start, end)

    def line_location(self, place: NamedNode | SourceLine | Hit, name: str) -> types.Location:
        """A name on a line of a file, without reading the file again if the column is known in the client's encoding."""
        path = Path(place.root, place.unit.path if isinstance(place, Hit) else place.os_path)
        line, column, encoding = place.line - 1, place.column - 1, self.request.encoding
        if encoding == "utf-16" and not isinstance(place, NamedNode):
            column = place.column_utf16 - 1
        elif encoding != "utf-8":
            column = count_units(self.source(self.document(path)).line(line)[:column], encoding)
        end = column + count_units(name.encode("utf-8", "replace"), encoding)
        return types.Location(
            self.folder.uri(path), types.Range(types.Position(line, column), types.Position(line, end))
        )


class WorkspaceFolder:
    """A folder of the workspace, with its index and what keeps that fresh."""

    def __init__(self, path: Path, served: ServedIndex, upkeep: Upkeep) -> None:
        self.path, self.served, self.upkeep = path, served, upkeep
        self.changed = asyncio.Event()
        """Set if files may have changed since somebody looked."""
        self._real, self._idle = os.path.realpath(path), list[Reader]()
        self.uri = lru_cache(MOST_URIS)(self._make_uri)
        """The URI of a file, below the folder as the client names it, which may lead over a link."""

    @contextmanager
    def reader(self, request: LspRequest) -> Iterator[Reader]:
        """A reader for one request. Raises NoIndex, and the other errors of `Index.open`."""
        reader, settings = None, self.served.settings
        with suppress(IndexError):
            reader = self._idle.pop()
        if reader is None or not reader.resume(settings.trust_indexes):
            reader = cast(Reader, Reader.read(self.served.index, settings.trust_indexes))
            reader.folder, reader.index = self, Index(reader, settings)
        try:
            reader.start(request)
            yield reader
        finally:
            if len(self._idle) < MOST_IDLE and reader.rest():
                self._idle.append(reader)
            else:
                reader.close()

    def options(self, **given: Any) -> SearchOptions:
        """Options of a search in this folder."""
        return SearchOptions(mode=self.served.settings.mode, profile=self.served.settings.profile, **given)

    def _make_uri(self, path: Path) -> str:
        below = os.path.relpath(path, self._real)
        return from_fs_path(str(path if below.startswith("..") else self.path / below)) or ""


Serve = Callable[[Path], tuple[ServedIndex, Upkeep]]  # Finds the index of a folder, and what keeps it fresh


class NameInFile(NamedTuple):
    """The name that a request is about, and where to look further."""

    reader: Reader
    names: NameReader
    source: SourceText
    meaning: TokenMeaning
    units: Sequence[UnitRow]  # The definitions that it means, by path and place


class LspRequest(NamedTuple):
    """One request: the open texts as they were when it came, and where to look."""

    folders: Mapping[Path, WorkspaceFolder]
    texts: Mapping[Path, SourceText]
    encoding: str
    cancelled: Event
    options: Mapping[str, bool]  # Wishes of the client: `lens`, `markdown`

    def text(self, uri: str) -> SourceText:
        """The text of a file, open or on the disk; empty if it cannot be read."""
        path, text = path_from_uri(uri), ""
        if path not in self.texts:
            with suppress(OSError):
                text = path.read_bytes().decode("utf-8", "replace")
        return self.texts.get(path) or SourceText.of_editor(path, text, self.encoding)

    def folder(self, uri: str) -> WorkspaceFolder:
        """The innermost folder around a file. Raises NoIndex."""
        path = path_from_uri(uri)
        if not (around := [folder for folder in (path, *path.parents) if folder in self.folders]):
            raise NoIndex(f"{path} is not in a folder of the workspace")
        return self.folders[around[0]]

    def about_name(self, uri: str, position: types.Position, answer: Callable[[NameInFile], T]) -> T | None:
        """The answer about the name at a position of a text; None if no name stands there."""
        with self.folder(uri).reader(self) as reader:
            document = reader.document(path_from_uri(uri))
            if (read := reader.read_name_at(document, position)) is None:
                return None
            names, meaning = read
            units = reader.sorted_units(d.id for d in meaning.definitions)
            return answer(NameInFile(reader, names, reader.source(document), meaning, units))


Answer = Callable[[LspRequest, Any], Any]
AnswerAboutName = TypeVar("AnswerAboutName", bound=Callable[[NameInFile, Any], Any])
REQUESTS: list[tuple[str, str, Answer]] = []
"""(feature, as `features` of the client's options names it; method; answer)"""


def answers(feature: str, method: str) -> Callable[[Answer], Answer]:
    """Register a function as the answer to requests of a method."""

    def register(answer: Answer) -> Answer:
        REQUESTS.append((feature, method, answer))
        return answer

    return register


def answers_about_name(feature: str, method: str) -> Callable[[AnswerAboutName], AnswerAboutName]:
    """Register a function as the answer to requests of a method about the name at a position."""

    def register(answer: AnswerAboutName) -> AnswerAboutName:
        @answers(feature, method)
        def answer_at(request: LspRequest, params: Any) -> Any:
            return request.about_name(params.text_document.uri, params.position, lambda name: answer(name, params))

        return answer

    return register


def path_from_uri(uri: str) -> Path:
    """The file of a URI; something that does not exist for a text without a file."""
    return Path(to_fs_path(uri) or uri.replace("/", "_"))
