"""The state of an index: what it holds, and on demand what the trees on disk say against it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from codelens.config import Settings
from codelens.indexing.build import with_features
from codelens.indexing.changes import UpdatePlan, compare
from codelens.indexing.derive import current_recipe
from codelens.indexing.remembered import as_remembered
from codelens.model import IndexInfo
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
    """Whether an index run would find anything to do in the trees that are there: stamps and recipes decide, no file is read."""
    settings = with_features(store, settings)
    for row in store.documents.repositories():
        if not row.root.is_dir():
            continue
        walked = as_remembered(store, row.name, settings)
        plan = _compared(store, row, walked, _todays(walked))
        if plan.suspects or plan.removed or _new(store, row, plan):
            return True
    return False


def _repository(store: Store, row: RepositoryRow, settings: Settings, check: bool) -> RepositoryStatus:
    settings = as_remembered(store, row.name, settings)
    states, todays = store.documents.states(row.id), _todays(settings)
    skipped = Counter(skip.reason.value for skip in store.documents.skips(row.id))
    documents, source_bytes = store.documents.totals(row.id)
    return RepositoryStatus(
        name=row.name,
        root=str(row.root),
        documents=documents,
        units=store.units.kinds(row.id),
        languages=store.documents.counts("language", row.id),
        encodings=store.documents.counts("encoding", row.id),
        skipped=dict(skipped.most_common()),
        faults=store.documents.faults(row.id),
        source_bytes=source_bytes,
        references=store.edges.link_counts(row.id),
        stale=sum(not todays(state) for state in states.values()),
        changes=_changes(store, row, settings) if check and row.root.is_dir() else None,
        history=store.history.read(row.id),
        gone=not row.root.is_dir(),
    )


def _changes(store: Store, row: RepositoryRow, settings: Settings) -> Changes:
    """New, changed and deleted files: by stamp, then by content, so that a touched file is no change."""
    plan = _compared(store, row, settings, lambda _: True)
    changed = []
    for seen, state in plan.suspects:
        try:
            if content_hash((row.root / seen.os_path).read_bytes()) != state.content_hash:
                changed.append(seen.path)
        except OSError:
            changed.append(seen.path)
    deleted = tuple(state.path for state in plan.removed)
    return Changes(new=_new(store, row, plan), changed=tuple(changed), deleted=deleted)


def _todays(settings: Settings) -> Callable[[DocumentState], bool]:
    return lambda state: state.recipe == current_recipe(state.language, settings)


def _compared(
    store: Store, row: RepositoryRow, settings: Settings, is_current: Callable[[DocumentState], bool]
) -> UpdatePlan:
    skipped = {skip.path: skip for skip in store.documents.skips(row.id)}
    tree = walk(row.root, settings, own_files(store.path))
    return compare(tree, store.documents.states(row.id), skipped, is_current)


def _new(store: Store, row: RepositoryRow, plan: UpdatePlan) -> tuple[str, ...]:
    """Files that no run has seen as they are; others are only tried again."""
    known = {skip.path: skip.stamp for skip in store.documents.skips(row.id) if skip.stamp}
    return tuple(seen.path for seen in plan.new if seen.path not in known or not known[seen.path].agrees(seen.stamp))
