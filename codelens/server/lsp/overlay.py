"""An index in which open texts stand in place of the files as they were indexed. Nothing is written to the index.

Each gateway of the store answers for edited documents from their texts, and for all others from the file. Definitions keep
the ids of the indexed ones with their kind, container and name, so that edges from other files still lead to them.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import count
from threading import Event
from typing import Any, cast

from codelens.indexing.derive import SNAPSHOT_LEVEL
from codelens.linking.linker import Linker
from codelens.model.budget import TimeBudget
from codelens.model.code import CHUNK_KINDS, TODO, DocumentId, FileStamp, RepositoryId, UnitId, UnitRow
from codelens.model.extraction import Binding, Import, Reference
from codelens.model.fast_dataclass import replace
from codelens.model.graph import EXTERNAL, NAME_OF_KIND, TIER_OF_NUMBER, Edge, Node, document_node
from codelens.server.lsp.buffers import Buffer
from codelens.store.documents import DocumentRow, Documents, InOrder, RepositoryRow
from codelens.store.edges import EdgeTable, References
from codelens.store.postings import Postings
from codelens.store.store import Store
from codelens.store.units import Units, UnitSet
from codelens.text.identifiers import fold_identifier
from codelens.worktree.classify import path_roles
from codelens.worktree.files import content_hash
from codelens.zstd import zstd

_new = count(EXTERNAL >> 1)  # Ids of documents and definitions that the index does not have
Definition = tuple[int, int | None, str, str, str, bool, int, int]


class EditedDocument:
    """A document whose text an editor has. `row` is the indexed one, or a new one."""

    def __init__(self, buffer: Buffer, row: DocumentRow, repository: RepositoryRow, before: Sequence[UnitRow]) -> None:
        raw = buffer.map.utf8
        self.buffer = buffer
        stamp = replace(row.stamp, size=len(raw))
        self.row = replace(
            row, stamp=stamp, language=buffer.language, content_hash=content_hash(raw), encoding="utf-8", bom=0
        )
        self.snapshot = zstd.compress(raw, SNAPSHOT_LEVEL)
        known = dict[tuple[str, str, str], list[UnitId]]()
        for one in reversed(before):
            known.setdefault((one.kind, one.container, one.name), []).append(one.id)
        units = buffer.extraction.units
        ids = [known.get((u.kind, u.container, u.name), []) for u in units]
        identities = [some.pop() if some else UnitId(next(_new)) for some in ids]
        parents = [None if u.parent is None else identities[u.parent] for u in units]
        self.units = [
            UnitRow._make(
                (
                    *(identity, row.id, u.kind, u.name, u.container, parent),
                    *(u.span.start, u.span.end, u.name_span.start, u.name_span.end, u.body_start),
                    *(u.start_line, u.end_line, u.name_line, u.name_column, u.signature, u.doc),
                    *(row.path, buffer.language, repository.name, u.local, row.roles),
                )
            )
            for identity, parent, u in zip(identities, parents, units, strict=True)
        ]
        self.by_id = {unit.id: unit for unit in self.units}
        self.sources = {document_node(row.id), *self.by_id, *(one.id for one in before)}
        """Nodes whose stored edges are those of the indexed text."""

    @property
    def symbols(self) -> list[UnitRow]:
        """The definitions."""
        return [unit for unit in self.units if unit.kind not in CHUNK_KINDS and unit.name]


Edited = dict[DocumentId, EditedDocument]


class Overlaid:
    """A gateway with the edited documents of its store."""

    edited: Edited = {}  # noqa: RUF012 - replaced by each store


class OverlaidUnits(Overlaid, Units):
    """Units of edited documents come from their texts."""

    def rows(self, ids: Iterable[UnitId]) -> dict[UnitId, UnitRow]:
        wanted = {*ids}
        stored = {unit: row for unit, row in super().rows(wanted).items() if row.document not in self.edited}
        return stored | {u: one.by_id[u] for one in self.edited.values() for u in wanted & one.by_id.keys()}

    def of_document(self, document: DocumentId) -> list[UnitRow]:
        if (one := self.edited.get(document)) is None:
            return super().of_document(document)
        return [unit for unit in one.units if unit.kind != TODO]

    def ids_of(self, document: DocumentId) -> list[tuple[UnitId, int]]:
        one = self.edited.get(document)
        return super().ids_of(document) if one is None else [(unit.id, 0) for unit in one.units]

    def definitions(self, document: DocumentId) -> list[Definition]:
        if (one := self.edited.get(document)) is None:
            return super().definitions(document)
        return [(u.id, u.parent, u.kind, u.name, u.container, u.local, u.start_byte, u.end_byte) for u in one.units]

    def namesakes(self, name: str) -> list[tuple[int, int, str, str]]:
        own = [u for one in self.edited.values() for u in one.symbols if u.name == name and not u.local]
        stored = [row for row in super().namesakes(name) if row[1] not in self.edited]
        return stored + [(u.id, u.document, u.kind, u.container) for u in own]

    def at_top(self, documents: Sequence[DocumentId]) -> Iterator[tuple[str, int, int]]:
        for document in [documents] if self.edited.keys().isdisjoint(documents) else [[d] for d in documents]:
            units = self.edited[document[0]].symbols if document and document[0] in self.edited else None
            free = (u for u in units or () if u.parent is None and u.kind not in ("method", "property"))
            yield from super().at_top(document) if units is None else ((u.name, u.id, u.document) for u in free)

    def contained(self, documents: Sequence[DocumentId]) -> Iterator[tuple[str, str, int, int]]:
        for document in [documents] if self.edited.keys().isdisjoint(documents) else [[d] for d in documents]:
            units = self.edited[document[0]].symbols if document and document[0] in self.edited else None
            members = ((u.container, u.name, u.id, u.document) for u in units or () if u.container and not u.local)
            yield from super().contained(document) if units is None else members

    def named(
        self, folded: str, within: UnitSet | None, limit: int, languages: Collection[str] = ()
    ) -> InOrder[UnitId]:
        stored = super().named(folded, within, limit, languages)
        if not self.edited:
            return stored
        rows = self.rows(stored)
        new = [u.id for one in self.edited.values() for u in one.units if fold_identifier(u.name) == folded]
        units = [*(unit for unit in stored if unit in rows), *(unit for unit in new if unit not in stored)]
        return InOrder(units, ())  # without keys: nobody merges them


class OverlaidReferences(Overlaid, References):
    """References, imports and bindings of edited documents come from their texts."""

    def of_document(self, document: DocumentId, name: str | None = None) -> tuple[Reference, ...]:
        if (one := self.edited.get(document)) is None:
            return super().of_document(document, name)
        return tuple(r for r in one.buffer.extraction.references if name is None or r.name == name)

    def any_in(self, document: DocumentId) -> bool:
        return document in self.edited or super().any_in(document)

    def bindings_of(self, document: DocumentId) -> tuple[Binding, ...]:
        one = self.edited.get(document)
        return super().bindings_of(document) if one is None else one.buffer.extraction.bindings

    def imports_of(self, document: DocumentId) -> tuple[Import, ...]:
        one = self.edited.get(document)
        return super().imports_of(document) if one is None else one.buffer.extraction.imports

    def documents_using_any(self, names: Iterable[str]) -> list[DocumentId]:
        return sorted({*super().documents_using_any(names), *self.edited})


class OverlaidDocuments(Overlaid, Documents):
    """Rows of edited documents, and their texts."""

    def rows(self, ids: Iterable[DocumentId] | None = None) -> list[DocumentRow]:
        wanted = None if ids is None else {*ids}
        own = [one.row for d, one in self.edited.items() if wanted is None or d in wanted]
        stored = [row for row in super().rows(wanted) if row.id not in self.edited]
        return sorted([*stored, *own], key=lambda d: (d.repository, d.path))

    def by_path(self, path: str) -> list[DocumentRow]:
        stored = [row for row in super().by_path(path) if row.id not in self.edited]
        own = [one.row for one in self.edited.values() if one.row.path == path]
        return sorted([*stored, *own], key=lambda d: d.repository)

    def linkable(
        self, repository: RepositoryId, only: DocumentId | None = None
    ) -> list[tuple[int, str, str, str, str]]:
        rows = [row for row in super().linkable(repository, only) if row[0] not in self.edited]
        for one in self.edited.values():
            if one.row.repository == repository and only in (None, one.row.id):
                roles = " ".join(sorted(one.row.roles))
                rows.append((one.row.id, one.row.path, one.row.language, one.buffer.extraction.namespace, roles))
        return sorted(rows, key=lambda row: row[1])

    def snapshot(self, document: DocumentId) -> bytes:
        one = self.edited.get(document)
        return super().snapshot(document) if one is None else one.snapshot


class OverlaidPostings(Overlaid, Postings):
    """Edited documents may hold any text."""

    def documents_matching(self, expression: str) -> Mapping[DocumentId, Collection[int]]:
        return {**super().documents_matching(expression), **dict.fromkeys(self.edited, ())}


class OverlaidEdges(Overlaid, EdgeTable):
    """Edges that start in edited documents come from their texts, linked when they are first needed."""

    link: Callable[[], list[Edge]]

    def outgoing(self, nodes: Iterable[int], kinds: Collection[str] = (), limit: int = -1) -> Iterator[Edge]:
        wanted = {*nodes}
        own = (e for e in self._own() if e.source in wanted)
        return self._replace_edges(super().outgoing(wanted, kinds, limit), own, kinds)

    def incoming(self, nodes: Iterable[int], kinds: Collection[str] = (), limit: int = -1) -> Iterator[Edge]:
        wanted = {*nodes}
        own = (e for e in self._own() if e.target in wanted)
        return self._replace_edges(super().incoming(wanted, kinds, limit), own, kinds)

    def _own(self) -> list[Edge]:
        return self.link() if self.edited else []

    def _replace_edges(self, stored: Iterable[Edge], own: Iterable[Edge], kinds: Collection[str]) -> Iterator[Edge]:
        yield from (e for e in stored if not any(e.source in one.sources for one in self.edited.values()))
        yield from (e for e in own if not kinds or e.kind in kinds)


class OverlaidStore(Store):
    """A reader with edited documents. `cancelled` ends the question that it answers now."""

    def __init__(self, *about: Any, **more: Any) -> None:
        super().__init__(*about, **more)
        connection, place = self._connection, self.documents.index
        self.cancelled = Event()
        self.resolvers = {}
        self.documents = OverlaidDocuments(connection, place)
        self.units = OverlaidUnits(connection, self.unit_sets, unchanging=True)
        self.references = OverlaidReferences(connection)
        self.postings = OverlaidPostings(connection, self.unit_sets, unchanging=True)
        self.edges = edges = OverlaidEdges(connection)
        edges.link = lambda: self._edges
        self.edited: Edited = {}

    def limited_to(self, seconds: float) -> TimeBudget:
        """A budget that is also spent when the question is cancelled."""
        return TimeBudget(seconds, lambda: math.inf if self.cancelled.is_set() else time.thread_time())

    def show(self, buffers: Collection[tuple[RepositoryRow, str, Buffer]]) -> bool:
        """Show these texts, each at its path below a repository's root; True if that changes any answer."""
        edited = Edited()
        for repository, path, buffer in buffers:
            row = Documents.at(self.documents, repository.id, path)
            if row is not None and row.content_hash == content_hash(buffer.map.utf8):
                continue
            shown = next((one for one in self.edited.values() if one.buffer is buffer), None)
            if shown is None:
                before = Units.of_document(self.units, row.id) if row else []
                shown = EditedDocument(buffer, row or _new_row(repository, path), repository, before)
            edited[shown.row.id] = shown
        if [*edited.values()] == [*self.edited.values()]:
            return False
        self.edited = edited
        for gateway in (self.documents, self.units, self.references, self.postings, self.edges):
            cast(Overlaid, gateway).edited = edited
        self.__dict__.pop("_edges", None)
        self.resolvers = {}
        return True

    @cached_property
    def _edges(self) -> list[Edge]:
        """The edges that start in edited documents."""
        found = list[Edge]()
        for repository in {one.row.repository for one in self.edited.values()}:
            linker = Linker(self, repository)
            for document, one in self.edited.items():
                if one.row.repository == repository:
                    found += self._link_document(linker, document)
        return found

    def _link_document(self, linker: Linker, document: DocumentId) -> Iterator[Edge]:
        rows = linker.link(document, whole=True).edges
        externals = self.edges.externals_called([target for _, _, target, *_ in rows if isinstance(target, str)])
        for source, kind, target, line, tier in rows:
            node = externals.get(target) if isinstance(target, str) else target
            if node is not None:
                way = TIER_OF_NUMBER[tier]
                yield Edge(Node(source), NAME_OF_KIND[kind], Node(node), line, way.provenance, way.confidence)


def _new_row(repository: RepositoryRow, path: str) -> DocumentRow:
    return DocumentRow(
        *(DocumentId(next(_new)), repository.id, path, path, FileStamp(0, 0, 0), b"", "", path_roles(path)),
        *("utf-8", 0, ""),
    )
