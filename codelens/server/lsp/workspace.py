"""The folders of a workspace: each has an index, which is kept fresh in the background, and readers of it for requests."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import lru_cache, wraps
from pathlib import Path
from threading import Event
from typing import Any, NamedTuple, TypeVar, cast

from lsprotocol import types
from pygls.uris import from_fs_path, to_fs_path

from codelens.errors import CodelensError, IndexCorrupt, IndexNotTrusted, NoIndex, SchemaTooNew
from codelens.index import Index
from codelens.linking.catalog import Catalog
from codelens.linking.evaluator import Evaluator
from codelens.linking.references import Resolver
from codelens.model.code import DocumentId, RepositoryId, UnitId, UnitRow
from codelens.model.extraction import DecodedText
from codelens.model.graph import Named, SourceLine
from codelens.model.search import Hit
from codelens.server.lsp.names import NameMeaning, Names
from codelens.server.lsp.overlay import EditedStore
from codelens.server.lsp.texts import Buffer, SourceText, count_units
from codelens.server.upkeep import Served, Upkeep
from codelens.store.documents import DocumentRow, RepositoryRow
from codelens.store.texts import text_of

UNREADABLE = (NoIndex, IndexCorrupt, IndexNotTrusted, SchemaTooNew)
"""Faults of an index, which answers do without; the client's log has them."""
MOST_TEXTS = 50  # Texts of files that a reader keeps
MOST_IDLE = 2  # Readers of one index that wait for a request; each keeps up to 64 MiB of pages
T = TypeVar("T")


class Reader:
    """An index with the open texts of one request. It serves one request at a time."""

    def __init__(self, folder: WorkspaceFolder, encoding: str) -> None:
        self.folder, self.encoding = folder, encoding
        settings = folder.served.settings
        self.store = cast(EditedStore, EditedStore.read(folder.served.index, settings.trust_indexes))
        self.index = Index(self.store, settings)
        self._roots = {Path(os.path.realpath(row.root)): row for row in self.store.documents.repositories()}
        self._shown: dict[Path, Buffer] | None = None
        self.source = lru_cache(MOST_TEXTS)(self._read_source)
        """The text of a document, open or as indexed."""

    def show(self, buffers: Mapping[Path, Buffer]) -> None:
        """Answer for these texts in place of their files."""
        if buffers != self._shown:
            self._shown = dict(buffers)
            places = ((self._find_place(path), buffer) for path, buffer in buffers.items())
            self.store.show_buffers([(*place, buffer) for place, buffer in places if place is not None])

    def _find_place(self, path: Path) -> tuple[RepositoryRow, str] | None:
        """(repository, path below its root) of a file; of the innermost root around it."""
        real = Path(os.path.realpath(path))
        root = next((folder for folder in real.parents if folder in self._roots), None)
        return (self._roots[root], real.relative_to(root).as_posix()) if root else None

    def document(self, path: Path) -> DocumentRow:
        """The document of a file. Raises NoIndex if the index does not have it."""
        place = self._find_place(path)
        found = self.store.documents.at(place[0].id, place[1]) if place else None
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

    def _read_source(self, document: DocumentRow) -> SourceText:
        stored = text_of(document, self.store)
        return SourceText(DecodedText(stored.text, stored.encoding, 1.0, stored.bom), self.encoding)

    def row(self, document: int) -> DocumentRow:
        """The row of a document."""
        return self.store.documents.rows([DocumentId(document)])[0]

    def path(self, document: DocumentRow) -> Path:
        """The file of a document."""
        return next(row.root for row in self._roots.values() if row.id == document.repository) / document.os_path

    def location(self, document: DocumentRow, start: int, end: int) -> types.Location:
        """These bytes of a document as the client counts."""
        return types.Location(self.folder.uri(self.path(document)), self.source(document).range(start, end))

    def unit_location(self, unit: UnitRow) -> types.Location:
        """The name of a definition; its first byte if it has no name."""
        start, end = (unit.name_start, unit.name_end) if unit.name_end else (unit.start_byte, unit.start_byte)
        return self.location(self.row(unit.document), start, end)

    def line_location(self, file: Path, place: Named | SourceLine | Hit, name: str) -> types.Location:
        """A name on a line of a file, without reading the file again if the column is known in the client's encoding."""
        line, column = place.line - 1, place.column - 1
        if self.encoding == "utf-16" and not isinstance(place, Named):
            column = place.column_utf16 - 1
        elif self.encoding != "utf-8":
            column = count_units(self.source(self.document(file)).line(line)[:column], self.encoding)
        end = column + count_units(name.encode("utf-8", "replace"), self.encoding)
        return types.Location(
            self.folder.uri(file), types.Range(types.Position(line, column), types.Position(line, end))
        )

    def units(self, ids: Iterable[int]) -> list[UnitRow]:
        """The rows of definitions, by path and place."""
        return sorted(self.store.units.rows(map(UnitId, ids)).values(), key=UnitRow.content_order)

    def target(self, unit: UnitRow) -> str:
        """A definition as questions about the graph name it."""
        return f"{self.path(self.row(unit.document)).as_posix()}:{unit.name_line}:{unit.name}"


class WorkspaceFolder:
    """A folder of the workspace."""

    def __init__(self, path: Path, served: Served, upkeep: Upkeep) -> None:
        self.path, self.served, self.upkeep = path, served, upkeep
        self._real = os.path.realpath(path)
        self.changed = asyncio.Event()
        """Set if files may have changed since somebody looked."""
        self._idle: list[Reader] = []

    @contextmanager
    def reader(self, buffers: Mapping[Path, Buffer], encoding: str, cancelled: Event) -> Iterator[Reader]:
        """A reader for one request. Raises NoIndex, and the other errors of `Index.open`."""
        reader = self._take_idle() or Reader(self, encoding)
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

    def _take_idle(self) -> Reader | None:
        with suppress(IndexError):
            while True:
                reader = self._idle.pop()
                if reader.store.resume(self.served.settings.trust_indexes):
                    return reader
                reader.store.close()
        return None

    def uri(self, path: Path) -> str:
        """The URI of a file, below the folder as the client names it, which may lead over a link."""
        below = os.path.relpath(path, self._real)
        return from_fs_path(str(path if below.startswith("..") else self.path / below)) or ""


Serve = Callable[[Path], tuple[Served, Upkeep]]  # Finds the index of a folder, and what keeps it fresh


class NameInFile(NamedTuple):
    """The name that a request is about, and where to look further."""

    request: LspRequest
    reader: Reader
    names: Names
    meaning: NameMeaning


class LspRequest(NamedTuple):
    """One request: the open texts as they were when it came, and where to look."""

    folders: Mapping[Path, WorkspaceFolder]
    buffers: Mapping[Path, Buffer]
    encoding: str
    cancelled: Event
    options: Mapping[str, bool]  # Wishes of the client: `lens`, `markdown`

    def buffer(self, uri: str) -> Buffer:
        """The text of a file, open or on the disk; empty if it cannot be read."""
        path, text = path_from_uri(uri), ""
        if path not in self.buffers:
            with suppress(OSError):
                text = path.read_bytes().decode("utf-8", "replace")
        return self.buffers.get(path) or Buffer(path, text, self.encoding)

    def folder(self, uri: str) -> WorkspaceFolder:
        """The innermost folder around a file. Raises NoIndex."""
        path = path_from_uri(uri)
        root = next((folder for folder in (path, *path.parents) if folder in self.folders), None)
        if root is None:
            raise NoIndex(f"{path} is not in a folder of the workspace")
        return self.folders[root]

    @contextmanager
    def reader(self, uri: str) -> Iterator[Reader]:
        """A reader of the index for a file. Raises NoIndex."""
        with self.folder(uri).reader(self.buffers, self.encoding, self.cancelled) as reader:
            yield reader


def about_name(answer: Callable[[NameInFile, Any], T]) -> Callable[[LspRequest, Any], T | None]:
    """Answer a request about the name at a position of a text; None if no name stands there."""

    @wraps(answer)
    def answer_at(request: LspRequest, params: Any) -> T | None:
        uri = params.text_document.uri
        with request.reader(uri) as reader:
            names = reader.names(path_from_uri(uri))
            meaning = names.at(names.source.offset(params.position))
            return answer(NameInFile(request, reader, names, meaning), params) if meaning else None

    return answer_at


def path_from_uri(uri: str) -> Path:
    """The file of a URI; something that does not exist for a text without a file."""
    return Path(to_fs_path(uri) or uri.replace("/", "_"))
