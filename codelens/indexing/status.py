"""The state of an index: what it holds, and on demand what the trees on disk say against it."""

from __future__ import annotations

from collections import Counter

from codelens.config import Settings
from codelens.indexing.build import with_features
from codelens.indexing.changes import compare
from codelens.indexing.derive import current_recipe
from codelens.indexing.remembered import as_remembered
from codelens.model import IndexInfo, Skip
from codelens.runs import Changes, RepositoryStatus, Status
from codelens.store.documents import DocumentState, RepositoryRow
from codelens.store.store import Store
from codelens.worktree.freshness import content_hash
from codelens.worktree.place import own_files, unfinished_index
from codelens.worktree.walk import walk


def read_status(store: Store, info: IndexInfo, settings: Settings, check: bool) -> Status:
    """`check` walks the trees, and reads files whose stamp differs."""
    settings = with_features(store, settings)
    return Status(
        index=info,
        repositories=tuple(_repository(store, row, settings, check) for row in store.documents.repositories()),
        file_bytes=store.path.stat().st_size,
        tables=store.table_bytes(),
        journal_mode=store.journal_mode(),
        unfinished=str(unfinished_index(store.path) or ""),
    )


def is_stale(store: Store, settings: Settings) -> bool:
    """Whether an index run would find anything to do in the trees that are there."""
    settings = with_features(store, settings)
    for row in store.documents.repositories():
        if row.root.is_dir():
            walked = as_remembered(store, row.name, settings)
            states = store.documents.states(row.id)
            if any(state.recipe != current_recipe(state.language, walked) for state in states.values()):
                return True
            if _changes(store, row, walked, states):
                return True
    return False


def _repository(store: Store, row: RepositoryRow, settings: Settings, check: bool) -> RepositoryStatus:
    settings = as_remembered(store, row.name, settings)
    states = store.documents.states(row.id)
    skipped = Counter(skip.reason.value for skip in store.documents.skips(row.id))
    documents, source_bytes = store.documents.totals(row.id)
    return RepositoryStatus(
        name=row.name,
        root=str(row.root),
        documents=documents,
        units=store.units.kinds(row.id),
        languages=store.documents.counts("language").get(row.name, {}),
        encodings=store.documents.counts("encoding").get(row.name, {}),
        skipped=dict(skipped.most_common()),
        faults=store.documents.faults(row.id),
        source_bytes=source_bytes,
        stale=sum(state.recipe != current_recipe(state.language, settings) for state in states.values()),
        changes=_changes(store, row, settings, states) if check and row.root.is_dir() else None,
        history=store.history.read(row.id),
        gone=not row.root.is_dir(),
    )


def _changes(store: Store, row: RepositoryRow, settings: Settings, states: dict[str, DocumentState]) -> Changes:
    """New, changed and deleted files: by stamp, then by content, so that a touched file is no change."""
    skipped: dict[str, Skip] = {skip.path: skip for skip in store.documents.skips(row.id)}
    plan = compare(walk(row.root, settings, own_files(store.path)), states, skipped, lambda _: True)
    changed = []
    for seen, state in plan.suspects:
        try:
            if content_hash((row.root / seen.os_path).read_bytes()) != state.content_hash:
                changed.append(seen.path)
        except OSError:
            changed.append(seen.path)
    known = {skip.path: skip.stamp for skip in skipped.values()}
    new = tuple(seen.path for seen in plan.new if known.get(seen.path) != seen.stamp)  # else it only is tried again
    return Changes(new=new, changed=tuple(changed), deleted=tuple(state.path for state in plan.removed))
