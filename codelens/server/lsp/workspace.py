"""The state of a workspace: texts with the client's positions, indexes that show unsaved texts, folders and requests."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cached_property, lru_cache
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple, TypeVar, cast

from lsprotocol import types
from pygls.uris import from_fs_path, to_fs_path

from codelens.errors import IndexCorrupt, IndexNotTrusted, NoIndex, SchemaTooNew
from codelens.graph.meanings import NameReader, TokenMeaning, find_resolver
from codelens.index import Index
from codelens.indexing.derive import LARGE_SIZE
from codelens.indexing.extract import extract
from codelens.lang.registry import detect_language
from codelens.lang.tokens import NameToken
from codelens.linking.linker import Linker
from codelens.linking.references import Resolver
from codelens.model.code import DocumentId, RepositoryId, UnitId, UnitRow
from codelens.model.extraction import DecodedText, Extraction
from codelens.model.graph import NamedNode, SourceLine
from codelens.model.request import SearchOptions
from codelens.model.search import Hit
from codelens.server.upkeep import ServedIndex, Upkeep
from codelens.store.documents import DocumentRow
from codelens.store.overlay import EditedText, OverlaidStore
from codelens.store.texts import load_text
from codelens.text.lines import TextMap

MOST_TEXTS = 50  # Most file texts that a reader caches
MOST_URIS = 1000  # Most URIs of files that a folder caches
MOST_IDLE = 2  # Most idle readers of one index; each keeps up to 64 MiB of database pages
UNREADABLE = (NoIndex, IndexCorrupt, IndexNotTrusted, SchemaTooNew)  # Errors for which answers skip an index
CODECS = {"utf-8": ("utf-8", 1), "utf-16": ("utf-16-le", 2), "utf-32": ("utf-32-le", 4)}
"""Position encoding → (Python's codec, bytes of a code unit)."""
_extracting = Lock()  # a parser can be used by one thread at a time
T = TypeVar("T")


def count_code_units(text: bytes, encoding: str) -> int:
    """Count the code units of a text in a position encoding."""
    codec, width = CODECS[encoding]
    return len(text.decode("utf-8", "replace").encode(codec)) // width


class SourceText(TextMap):
    """A text that converts between byte offsets and the client's positions."""

    def __init__(self, path: Path, decoded: DecodedText, encoding: str) -> None:
        super().__init__(decoded)
        self.path, self.encoding = path, encoding

    @classmethod
    def from_editor(cls, path: Path, text: str, encoding: str) -> SourceText:
        """Make the text of an open file from the editor's text, which may contain half of a surrogate pair."""
        return cls(path, DecodedText(text.encode("utf-8", "replace").decode(), "utf-8", 1.0, 0), encoding)

    @property
    def parts(self) -> EditedText:
        """The text in the form in which a store shows it instead of the file."""
        return self.utf8, self.language, lambda: self.extraction

    def to_position(self, offset: int) -> types.Position:
        """Convert a byte offset in the file to the client's position."""
        place = max(0, min(self.to_utf8(offset), len(self.utf8)))
        line, column = self.find_line_column(place)
        return types.Position(line - 1, count_code_units(self.utf8[place - column + 1 : place], self.encoding))

    def to_range(self, start: int, end: int) -> types.Range:
        """Convert byte offsets in the file to the client's range."""
        return types.Range(self.to_position(start), self.to_position(end))

    def to_token_range(self, token: NameToken) -> types.Range:
        """Convert a token's place to the client's range."""
        return self.to_range(*map(self.to_original, token[:2]))

    def to_offset(self, position: types.Position) -> int:
        """Convert the client's position to a byte offset, at most the line's end; within a character, the character's start."""
        number, (codec, width) = min(position.line, len(self.line_starts) - 1), CODECS[self.encoding]
        line = self.read_line(number).removesuffix(b"\r").decode("utf-8", "replace").encode(codec)
        before = line[: width * position.character].decode(codec, "ignore")
        return self.to_original(self.line_starts[number] + len(before.encode()))

    def read_line(self, number: int) -> bytes:
        """Read a line by its number, from 0, without its line break."""
        starts = self.line_starts
        following = number + 1
        return self.utf8[starts[number] : starts[following] - 1 if following < len(starts) else None]

    @cached_property
    def language(self) -> str:
        """The language, detected from file name and content."""
        return detect_language(self.path.as_posix(), self.utf8)

    @cached_property
    def extraction(self) -> Extraction:
        """The definitions, references and imports of the text."""
        fault = "too large" if len(self.utf8) > LARGE_SIZE else ""
        with _extracting:
            return extract(self, self.path.as_posix(), self.language, fault)


class Reader(OverlaidStore):
    """A store that shows the open texts of a request instead of their files. It serves one request at a time."""

    folder: WorkspaceFolder
    request: LspRequest
    index: Index

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._roots = {Path(os.path.realpath(row.root)): row for row in self.documents.list_repositories()}
        self._shown: Mapping[Path, SourceText] | None = None
        self.read_source = lru_cache(MOST_TEXTS)(self._load_source)

    def begin_request(self, request: LspRequest) -> None:
        """Start to serve a request: show its open texts instead of their files."""
        self.request = request
        if request.texts != self._shown:
            places = {self._find_place(path): text.parts for path, text in request.texts.items()}
            self.show_texts({place: parts for place, parts in places.items() if place})
            self.edges.add_missing = self._add_edges if self.edited else None
            self.resolvers, self._shown = {}, request.texts

    def _add_edges(self) -> None:
        """Link the open texts, without edges to externals, which no answer here lists."""
        for row in self.documents.read_rows(self.edited):
            edges = Linker(self, row.repository).link(row.id, whole=True).edges
            self.edges.add_rows((s, kind, t, line, tier) for s, kind, t, line, tier in edges if isinstance(t, int))

    def _find_place(self, path: Path) -> tuple[RepositoryId, str] | None:
        """Find (repository, path below its root) of a file, by the innermost root; None outside of all roots."""
        real = Path(os.path.realpath(path))
        root = next((folder for folder in real.parents if folder in self._roots), None)
        if root is None:
            return None
        return self._roots[root].id, real.relative_to(root).as_posix()

    def find_document(self, path: Path) -> DocumentRow:
        """Find the document of a file. Raises NoIndex if it is not in the index."""
        place = self._find_place(path)
        document = self.documents.find_at(*place) if place else None
        if document is None:
            raise NoIndex(f"{path} is not in the index")
        return document

    def read_row(self, document: int) -> DocumentRow:
        """Read the row of a document."""
        return self.documents.read_rows([DocumentId(document)])[0]

    def read_units(self, ids: Iterable[int]) -> list[UnitRow]:
        """Read the rows of definitions, sorted by path and place."""
        return sorted(self.units.read_rows(map(UnitId, ids)).values(), key=UnitRow.content_order)

    def _load_source(self, document: DocumentRow) -> SourceText:
        """Load the text of a document: the open text, else the indexed one."""
        stored = load_text(document, self)
        decoded = DecodedText(stored.text, stored.encoding, 1.0, stored.bom)
        return SourceText(self.find_path(document), decoded, self.request.encoding)

    def find_path(self, document: DocumentRow) -> Path:
        """Find the path of a document's file."""
        return self.find_root(document) / document.os_path

    def find_root(self, document: DocumentRow) -> Path:
        """Find the root folder of a document's repository."""
        return next(row.root for row in self._roots.values() if row.id == document.repository)

    def format_target(self, unit: UnitRow) -> str:
        """Write a definition as a target for questions about the graph."""
        return f"{self.find_path(self.read_row(unit.document)).as_posix()}:{unit.name_line}:{unit.name}"

    def locate(self, document: int, start: int, end: int) -> types.Location:
        """Convert bytes of a document to the client's location."""
        row = self.read_row(document)
        return types.Location(self.folder.to_uri(self.find_path(row)), self.read_source(row).to_range(start, end))

    def locate_unit(self, unit: UnitRow) -> types.Location:
        """Locate the name of a definition; without a name, its first byte."""
        start, end = (unit.name_start, unit.name_end) if unit.name_end else (unit.start_byte, unit.start_byte)
        return self.locate(unit.document, start, end)

    def locate_line(self, place: NamedNode | SourceLine | Hit, name: str) -> types.Location:
        """Locate a name on a line of a file. The file is not read if the column is known in the client's encoding."""
        path = Path(place.root, place.unit.path if isinstance(place, Hit) else place.os_path)
        line = place.line - 1
        column = place.column - 1
        encoding = self.request.encoding
        if encoding == "utf-16" and not isinstance(place, NamedNode):
            column = place.column_utf16 - 1
        elif encoding != "utf-8":
            column = count_code_units(self.read_source(self.find_document(path)).read_line(line)[:column], encoding)
        end = column + count_code_units(name.encode("utf-8", "replace"), encoding)
        where = types.Range(types.Position(line, column), types.Position(line, end))
        return types.Location(self.folder.to_uri(path), where)


class WorkspaceFolder:
    """A folder of the workspace, with its index and the index's upkeep."""

    def __init__(self, path: Path, served: ServedIndex, upkeep: Upkeep) -> None:
        self.path = path
        self.served = served
        self.upkeep = upkeep
        self.changed = asyncio.Event()
        """Set if files may have changed since the last check."""
        self._real, self._idle = os.path.realpath(path), list[Reader]()
        self.to_uri = lru_cache(MOST_URIS)(self._make_uri)
        """Makes the URI of a file, with the client's path of the folder, which may contain a symbolic link."""

    @contextmanager
    def open_reader(self, request: LspRequest) -> Iterator[Reader]:
        """Open a reader for one request. Raises NoIndex, and the other errors of `Index.open`."""
        reader = None
        settings = self.served.settings
        with suppress(IndexError):
            reader = self._idle.pop()
        if reader is None or not reader.resume(settings.trust_indexes):
            reader = cast(Reader, Reader.read(self.served.index, settings.trust_indexes))
            reader.folder, reader.index = self, Index(reader, settings)
        try:
            reader.begin_request(request)
            yield reader
        finally:
            if len(self._idle) < MOST_IDLE and reader.rest():
                self._idle.append(reader)
            else:
                reader.close()

    def make_options(self, **given: Any) -> SearchOptions:
        """Make the options of a search in this folder."""
        return SearchOptions(mode=self.served.settings.mode, profile=self.served.settings.profile, **given)

    def _make_uri(self, path: Path) -> str:
        below = os.path.relpath(path, self._real)
        return from_fs_path(str(path if below.startswith("..") else self.path / below)) or ""


class NameInFile(NamedTuple):
    """The name that a request is about, its meaning, and the readers to find out more."""

    reader: Reader
    resolver: Resolver
    names: NameReader
    source: SourceText
    meaning: TokenMeaning
    units: Sequence[UnitRow]  # The definitions that it may mean, sorted by path and place


class LspRequest(NamedTuple):
    """One request, with the open texts and the folders at the time when it arrived."""

    folders: Mapping[Path, WorkspaceFolder]
    texts: Mapping[Path, SourceText]
    encoding: str
    options: Mapping[str, bool]  # Wishes of the client: `lens`, `markdown`

    def read_text(self, uri: str) -> SourceText:
        """Read the text of a file, open or from disk; empty if it cannot be read."""
        path, text = parse_uri(uri), ""
        if path not in self.texts:
            with suppress(OSError):
                text = path.read_bytes().decode("utf-8", "replace")
        return self.texts.get(path) or SourceText.from_editor(path, text, self.encoding)

    def find_folder(self, uri: str) -> WorkspaceFolder:
        """Find the innermost workspace folder around a file. Raises NoIndex outside of all folders."""
        path = parse_uri(uri)
        if not (around := [folder for folder in (path, *path.parents) if folder in self.folders]):
            raise NoIndex(f"{path} is not in a folder of the workspace")
        return self.folders[around[0]]

    def answer_about_name(self, uri: str, position: types.Position, answer: Callable[[NameInFile], T]) -> T | None:
        """Answer about the name at a position of a text; None if there is no name."""
        with self.find_folder(uri).open_reader(self) as reader:
            document = reader.find_document(parse_uri(uri))
            source, resolvers = reader.read_source(document), cast(dict[RepositoryId, Any], reader.resolvers)
            resolver = find_resolver(reader, document.repository, resolvers)
            read = NameReader.read_name_at(resolver, document, source, source.to_utf8(source.to_offset(position)))
            if read is None:
                return None
            names, meaning = read
            units = reader.read_units(d.id for d in meaning.definitions)
            return answer(NameInFile(reader, resolver, names, source, meaning, units))


def parse_uri(uri: str) -> Path:
    """Convert a URI to the path of its file; for a text without a file, to a path that does not exist."""
    return Path(to_fs_path(uri) or uri.replace("/", "_"))
