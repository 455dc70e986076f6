"""The folders of a workspace: each has an index, which is kept fresh in the background, and readers of it for requests."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from threading import Event
from typing import Any, NamedTuple, cast

from lsprotocol import types
from pygls.uris import from_fs_path, to_fs_path

from codelens.errors import CodelensError, IndexCorrupt, IndexNotTrusted, NoIndex, SchemaTooNew
from codelens.graph.view import GraphView
from codelens.index import Index
from codelens.linking.catalog import Catalog
from codelens.linking.evaluator import Evaluator
from codelens.linking.references import Resolver
from codelens.model.code import DocumentId, RepositoryId, UnitId, UnitRow
from codelens.model.extraction import DecodedText
from codelens.model.graph import Named, SourceLine
from codelens.model.search import Hit
from codelens.server.lsp.buffers import Buffer, SourceText, count_units
from codelens.server.lsp.name_resolution import NameMeaning, Names
from codelens.server.lsp.overlay import OverlaidStore
from codelens.server.upkeep import Served, Upkeep
from codelens.store.documents import DocumentRow, RepositoryRow
from codelens.store.texts import text_of

UNREADABLE = (NoIndex, IndexCorrupt, IndexNotTrusted, SchemaTooNew)
"""Faults of an index, which answers do without; the client's log has them."""
MOST_TEXTS = 50  # Texts of files that a reader keeps
MOST_IDLE = 2  # Readers of one index that wait for a request; each keeps up to 64 MiB of pages


class Reader:
    """An index with the open texts of one request. It serves one request at a time."""

    def __init__(self, folder: WorkspaceFolder, encoding: str) -> None:
        self.folder, self.encoding = folder, encoding
        settings = folder.served.settings
        self.store = cast(OverlaidStore, OverlaidStore.read(folder.served.index, settings.trust_indexes))
        self.index = Index(self.store, settings)
        self.repositories = self.store.documents.repositories()
        roots = [(os.path.realpath(row.root).rstrip(os.sep) + os.sep, row) for row in self.repositories]
        self._roots = sorted(roots, key=lambda one: -len(one[0]))
        self._texts: dict[DocumentId, SourceText] = {}

    def show(self, buffers: Mapping[Path, Buffer]) -> None:
        """Answer for these texts in place of their files."""
        placed = [(*place, buffer) for path, buffer in buffers.items() if (place := self.place(path)) is not None]
        if self.store.show(placed):
            self._texts.clear()

    def place(self, path: Path) -> tuple[RepositoryRow, str] | None:
        """(repository, path below its root) of a file; of the innermost root around it."""
        real = os.path.realpath(path)
        found = next((one for one in self._roots if real.startswith(one[0])), None)
        return (found[1], real.removeprefix(found[0]).replace(os.sep, "/")) if found else None

    def document(self, path: Path) -> DocumentRow:
        """The document of a file. Raises NoIndex if the index does not have it."""
        place = self.place(path)
        rows = self.store.documents.by_path(place[1]) if place else []
        found = next((row for row in rows if place and row.repository == place[0].id), None)
        if found is None:
            raise NoIndex(f"{path} is not in the index")
        return found

    def resolver(self, repository: RepositoryId) -> Resolver:
        """The resolver of names in a repository, kept as long as its answers hold."""
        kept = cast(dict[RepositoryId, Resolver], self.store.resolvers)
        if repository not in kept:
            kept[repository] = Resolver(Evaluator(Catalog(self.store, repository)))
        found = kept[repository]
        found.values.forget() if found.catalog.trim() else found.values.trim()
        return found

    def names(self, path: Path) -> Names:
        """The meanings of the names in a file."""
        document = self.document(path)
        return Names(self.store, self.resolver(document.repository), document, self.source(document))

    def source(self, document: DocumentRow) -> SourceText:
        """The text of a document, open or as indexed."""
        if document.id not in self._texts:
            if len(self._texts) >= MOST_TEXTS:
                self._texts.pop(next(iter(self._texts)))
            stored = text_of(document, self.store)
            decoded = DecodedText(stored.text, stored.encoding, 1.0, stored.bom)
            self._texts[document.id] = SourceText(decoded, self.encoding)
        return self._texts[document.id]

    def row(self, document: int) -> DocumentRow:
        """The row of a document."""
        return self.store.documents.rows([DocumentId(document)])[0]

    def document_at(self, place: Named | SourceLine) -> DocumentRow:
        """The document of a place in an answer."""
        found = self.store.documents.by_path(place.path)
        return next(row for row in found if self.root(row) == Path(place.root))

    def root(self, document: DocumentRow) -> Path:
        """The root of a document's repository."""
        return next(row.root for row in self.repositories if row.id == document.repository)

    def uri(self, document: DocumentRow) -> str:
        """The URI of a document, below the folder as the client names it."""
        return self.folder.uri(self.root(document) / document.os_path)

    def location(self, document: DocumentRow, start: int, end: int) -> types.Location:
        """These bytes of a document as the client counts."""
        return types.Location(self.uri(document), self.source(document).range(start, end))

    def unit_location(self, unit: UnitRow) -> types.Location:
        """The name of a definition; its first byte if it has no name."""
        start, end = (unit.name_start, unit.name_end) if unit.name_end else (unit.start_byte, unit.start_byte)
        return self.location(self.row(unit.document), start, end)

    def units(self, ids: Iterable[int]) -> list[UnitRow]:
        """The rows of definitions, by path and place."""
        return sorted(self.store.units.rows(map(UnitId, ids)).values(), key=UnitRow.content_order)

    def target(self, unit: UnitRow) -> str:
        """A definition as questions about the graph name it."""
        return f"{self.file_target(self.row(unit.document))}:{unit.name_line}:{unit.name}"

    def file_target(self, document: DocumentRow) -> str:
        """A file as questions about the graph name it."""
        return f"{self.root(document)}/{document.path}"

    def line_location(self, place: SourceLine | Hit, file: Path, name: str) -> types.Location:
        """A name on a line of a file as it was indexed, without reading the file again if the encoding allows that."""
        start = {"utf-8": place.column, "utf-16": place.column_utf16}.get(self.encoding, 1) - 1
        if self.encoding == "utf-32":
            line = self.source(self.document(file)).line(place.line - 1)
            start = count_units(line[: place.column - 1], "utf-32")
        end = start + count_units(name.encode("utf-8", "replace"), self.encoding)
        where = types.Range(types.Position(place.line - 1, start), types.Position(place.line - 1, end))
        return types.Location(self.folder.uri(file), where)

    def view(self, least: float = 0.0) -> GraphView:
        """The symbol graph."""
        return GraphView(self.store, self.index.info(), None, least)


class WorkspaceFolder:
    """A folder of the workspace."""

    def __init__(self, path: Path, served: Served, upkeep: Upkeep) -> None:
        self.path, self.served, self.upkeep = path, served, upkeep
        self.is_stale = True
        """True if files may have changed since somebody looked."""
        self._real = os.path.realpath(path)
        self._idle: list[Reader] = []

    @contextmanager
    def reader(self, buffers: Mapping[Path, Buffer], encoding: str, cancelled: Event) -> Iterator[Reader]:
        """A reader for one request. Raises NoIndex, and the other errors of `Index.open`."""
        reader = self._take() or Reader(self, encoding)
        is_sound = False
        try:
            reader.store.cancelled = cancelled
            reader.show(buffers)
            yield reader
            is_sound = True
        except CodelensError:
            is_sound = True
            raise
        finally:
            if is_sound and len(self._idle) < MOST_IDLE and reader.store.rest():
                self._idle.append(reader)
            else:
                reader.store.close()

    def _take(self) -> Reader | None:
        while self._idle:
            try:
                reader = self._idle.pop()
            except IndexError:  # another thread was faster
                return None
            if reader.store.resume(self.served.settings.trust_indexes):
                return reader
            reader.store.close()
        return None

    def uri(self, path: Path) -> str:
        """The URI of a file, below the folder as the client names it, which may lead over a link."""
        below = os.path.relpath(path, self._real)
        return from_fs_path(str(path if below.startswith("..") else self.path / below)) or ""


Serve = Callable[[Path], tuple[Served, Upkeep]]  # Finds the index of a folder, and what keeps it fresh


class Folders(dict[Path, WorkspaceFolder]):
    """The folders of the workspace by path."""

    def around(self, path: Path) -> WorkspaceFolder:
        """The innermost folder around a file. Raises NoIndex."""
        found = [folder for root, folder in self.items() if path.is_relative_to(root)]
        if not found:
            raise NoIndex(f"{path} is not in a folder of the workspace")
        return max(found, key=lambda folder: len(folder.path.parts))


class LspRequest(NamedTuple):
    """One request: the open texts as they were when it came, and where to look."""

    folders: Folders
    buffers: Mapping[Path, Buffer]
    encoding: str
    cancelled: Event
    options: Mapping[str, Any]  # Wishes of the client: `lens`, `hierarchical`, `markdown`

    def buffer(self, uri: str) -> Buffer:
        """The text of a file, open or on the disk."""
        path = path_from_uri(uri)
        return self.buffers.get(path) or Buffer.read(path, self.encoding)

    @contextmanager
    def reader(self, uri: str) -> Iterator[Reader]:
        """A reader of the index for a file. Raises NoIndex."""
        with self.folders.around(path_from_uri(uri)).reader(self.buffers, self.encoding, self.cancelled) as reader:
            yield reader

    @contextmanager
    def meaning(self, uri: str, position: types.Position) -> Iterator[tuple[Reader, Names, NameMeaning | None]]:
        """The reader, the names of a file, and the meaning of the one at a position."""
        with self.reader(uri) as reader:
            names = reader.names(path_from_uri(uri))
            yield reader, names, names.at(names.source.offset(position))


def path_from_uri(uri: str) -> Path:
    """The file of a URI; something that does not exist for a text without a file."""
    return Path(to_fs_path(uri) or uri.replace("/", "_"))
