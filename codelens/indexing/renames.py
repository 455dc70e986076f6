"""Files that moved: new paths whose content the index has under a path that is gone. They are not parsed again."""

from __future__ import annotations

import marshal
from collections import defaultdict
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from codelens.indexing.changes import UpdatePlan
from codelens.indexing.wire import pack_extraction
from codelens.lang.registry import detect_language
from codelens.store.documents import DocumentState
from codelens.store.store import Store
from codelens.worktree.freshness import hash_of_file


@dataclass(frozen=True, slots=True)
class Moved:
    """What was extracted from this very content under its old path."""

    content_hash: bytes
    old_path: str
    extraction: bytes
    """Packed as it is sent to a worker: a whole tree may have moved."""


def find_renames(
    store: Store, root: Path, plan: UpdatePlan, is_current: Callable[[DocumentState], bool]
) -> dict[str, Moved]:
    """New path → its old self. Only files whose size equals that of a removed one are read."""
    gone: dict[int, list[DocumentState]] = defaultdict(list)
    for state in plan.removed:
        if is_current(state):
            gone[state.stamp.size].append(state)
    moved: dict[str, Moved] = {}
    for seen in plan.new:
        for state in gone.get(seen.stamp.size, ()):
            with suppress(OSError):
                path = root / seen.os_path
                if hash_of_file(path) == state.content_hash and _language(seen.path, path) == state.language:
                    moved[seen.path] = Moved(state.content_hash, state.path, _packed(store, state))
                    gone[seen.stamp.size].remove(state)
                    break
    return moved


def _language(path: str, file: Path) -> str:
    with file.open("rb") as opened:
        return detect_language(path, opened.read(200))


def _packed(store: Store, state: DocumentState) -> bytes:
    return marshal.dumps(pack_extraction(store.extraction_of(state.id)))
