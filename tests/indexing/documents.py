"""Documents derived in this process, for tests that look at what comes out."""

from __future__ import annotations

from codelens.config import Settings
from codelens.derived import DerivedDocument
from codelens.indexing.derive import Reuse, derive
from codelens.indexing.embedding import embedder_of
from codelens.lang.registry import detect_language
from codelens.model import FileStamp, SeenFile
from codelens.worktree.decode import decode
from codelens.worktree.freshness import content_hash


def seen(path: str, size: int = 0) -> SeenFile:
    return SeenFile(path, path, FileStamp(size, 0, 0))


def derived(
    path: str, raw: bytes, fault: str = "", reuse: Reuse | None = None, settings: Settings | None = None
) -> DerivedDocument:
    """What a worker makes of these bytes."""
    settings = settings or Settings()
    decoded = decode(raw, settings.encoding_threshold)
    assert decoded is not None
    language = detect_language(path, raw[:200])
    return derive(
        seen(path, len(raw)), raw, decoded, language, content_hash(raw), settings, embedder_of(settings), fault, reuse
    )
