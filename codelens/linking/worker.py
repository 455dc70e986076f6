"""The function that linking processes run. It imports what linking needs and nothing of how documents are derived."""

from __future__ import annotations

import gc
import marshal
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from codelens.linking.linker import Linker
from codelens.model.code import DocumentId, RepositoryId
from codelens.store.store import Store


def link_documents(index: str, repository: RepositoryId, documents: Sequence[DocumentId]) -> bytes:
    """The marshalled links of documents. Only reads the index, as of the last commit."""
    linker = _linker(index, repository)
    return marshal.dumps([tuple(linker.link(document, whole=True)) for document in documents])


@cache
def _linker(index: str, repository: RepositoryId) -> Linker:
    gc.disable()  # as `without_collector` does
    return Linker(Store.read_unfinished(Path(index)), repository)
