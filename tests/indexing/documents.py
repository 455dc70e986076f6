"""Documents derived in this process, for tests that look at what comes out."""

from __future__ import annotations

import pickle

from codelens.config import Settings
from codelens.indexing.derive import Job, RenamedFile, derive
from codelens.indexing.embedding import open_chosen_embedder
from codelens.indexing.files import ReadText
from codelens.model.code import FileStamp, SeenFile
from codelens.model.extraction import DerivedDocument, Extraction
from codelens.worktree.decode import decode
from codelens.worktree.files import hash_content


def seen(path: str, size: int = 0) -> SeenFile:
    return SeenFile(path, path, FileStamp(size, 0, 0))


def derived(
    path: str,
    raw: bytes,
    fault: str = "",
    reuse: Extraction | None = None,
    old_path: str = "",
    settings: Settings | None = None,
) -> DerivedDocument:
    """The extraction that a worker derives from these bytes."""
    settings = settings or Settings()
    decoded = decode(raw, settings.encoding_threshold)
    assert decoded is not None
    digest = hash_content(raw)
    moved = RenamedFile(digest, old_path, pickle.dumps(reuse)) if reuse else None
    job = Job("", seen(path, len(raw)), moved=moved, grammar_fault=fault)
    return derive(job, ReadText(raw, digest, decoded), settings, open_chosen_embedder(settings))
