"""Unsaved texts in place of the files as they were indexed. Nothing is written to the index file."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from threading import Event

from codelens.linking.linker import Linker
from codelens.model.budget import TimeBudget
from codelens.server.lsp.texts import Buffer
from codelens.store.documents import RepositoryRow
from codelens.store.overlay import EditedDocument, OverlaidStore
from codelens.worktree.files import content_hash


class EditedStore(OverlaidStore):
    """A reader of an index with the texts of an editor. `cancelled` ends the question that is being answered."""

    cancelled = Event()

    def limited_to(self, seconds: float) -> TimeBudget:
        """A budget that is also spent when the question is cancelled."""
        return TimeBudget(seconds, lambda: math.inf if self.cancelled.is_set() else time.thread_time())

    def show_buffers(self, buffers: Sequence[tuple[RepositoryRow, str, Buffer]]) -> None:
        """Show texts, each at its path below a repository's root, unless they are as indexed."""
        self.show([])
        edited = list[EditedDocument]()
        for repository, path, buffer in buffers:
            row, utf8 = self.documents.at(repository.id, path), buffer.map.utf8
            if row is None or row.content_hash != content_hash(utf8):
                about = (buffer.language, utf8, content_hash(utf8), buffer.extraction)
                edited.append(EditedDocument(repository.id, path, row, *about))
        self.show(edited)
        self.edges.add_missing = self._add_edges if edited else None
        self.resolvers = {}

    def _add_edges(self) -> None:
        """Link the shown texts. Edges that leave the index are left out: no answer here lists them."""
        rows = self.documents.rows(self.edited)
        for repository in {row.repository for row in rows}:
            linker = Linker(self, repository)
            for document in (row.id for row in rows if row.repository == repository):
                found = linker.link(document, whole=True).edges
                self.edges.add_rows((s, kind, t, line, tier) for s, kind, t, line, tier in found if isinstance(t, int))
