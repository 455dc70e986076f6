"""Reports the state of an index, and what a run would do with the trees on disk."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from codelens.config import Settings, SettingsLoader
from codelens.errors import IndexCorrupt, IndexNotTrusted, NoIndex, SchemaTooNew
from codelens.indexing.changes import UpdatePlan, plan_update
from codelens.indexing.derive import Job, judge_large_file
from codelens.indexing.files import read_text, skip_unreadable
from codelens.indexing.run import IndexRun, apply_stored_features
from codelens.indexing.walk_rules import WalkRules, apply_next_rules, choose_walk_rules, read_walk_rules
from codelens.model.code import Freshness, IndexInfo, SeenFile, Skip
from codelens.model.runs import Changes, RepositoryStatus, Status
from codelens.store.documents import RepositoryRow
from codelens.store.store import Store
from codelens.worktree.files import check_freshness
from codelens.worktree.place import find_unfinished_index, list_own_files
from codelens.worktree.walk import WalkFilter, explain_path, walk_tree


def read_status(
    store: Store, info: IndexInfo, settings: Settings, check: bool, settings_of: SettingsLoader | None = None
) -> Status:
    """Read the state of an index; with `check`, also what the next run would change, by the settings of each root."""
    settings = apply_stored_features(store, settings)
    rows = store.documents.list_repositories()
    row_settings = [apply_next_rules(store, row, settings, settings_of) for row in rows]
    return Status(
        index=info,
        repositories=tuple(
            _read_repository_status(store, row, each, check) for row, each in zip(rows, row_settings, strict=True)
        ),
        file_bytes=store.path.stat().st_size,
        tables=store.measure_tables(),
        journal_mode=store.read_journal_mode(),
        unfinished=str(find_unfinished_index(store.path) or ""),
    )


def is_stale(store: Store, settings: Settings, settings_of: SettingsLoader | None = None) -> bool:
    """True if a run would find work in the existing trees. Compares stamps and recipes; reads no file."""
    settings = apply_stored_features(store, settings)
    for row in store.documents.list_repositories():
        if not row.root.is_dir():
            continue
        row_settings = apply_next_rules(store, row, settings, settings_of)
        tree = walk_tree(row.root, row_settings, list_own_files(store.path))
        plan = plan_update(tree, store, row, IndexRun(row_settings, store.path).is_current)
        if plan.suspects or plan.removed or _list_new_files(store, row, plan):
            return True
    return False


def _read_repository_status(store: Store, row: RepositoryRow, settings: Settings, check: bool) -> RepositoryStatus:
    is_current = IndexRun(settings, store.path).is_current
    skipped = Counter(skip.reason.value for skip in store.documents.list_skips(row.id))
    changes = None
    if check and row.root.is_dir():  # by stamp and then by content, so that a touched file does not count
        tree = walk_tree(row.root, settings, list_own_files(store.path))
        plan = plan_update(tree, store, row, lambda _: True)
        changed = tuple(
            seen.path
            for seen, state in plan.suspects
            if check_freshness(row.root, seen.os_path, state.stamp, state.content_hash) is not Freshness.FRESH
        )
        deleted = tuple(state.path for state in plan.removed)
        changes = Changes(new=_list_new_files(store, row, plan), changed=changed, deleted=deleted)
    documents, source_bytes = store.documents.read_totals(row.id)
    return RepositoryStatus(
        name=row.name,
        root=str(row.root),
        documents=documents,
        units=store.units.count_kinds(row.id),
        languages=store.documents.count_by_column("language", row.id),
        encodings=store.documents.count_by_column("encoding", row.id),
        skipped=dict(skipped.most_common()),
        faults=store.documents.list_faults(row.id),
        source_bytes=source_bytes,
        references=store.edges.read_link_counts(row.id),
        stale=sum(not is_current(state) for state in store.documents.read_states(row.id).values()),
        changes=changes,
        history=store.history.read(row.id),
        gone=not row.root.is_dir(),
    )


def _list_new_files(store: Store, row: RepositoryRow, plan: UpdatePlan) -> tuple[str, ...]:
    """List the files that no run has seen in this state, except those that every run tries again."""
    known = {skip.path: skip.stamp for skip in store.documents.list_skips(row.id) if skip.stamp}
    return tuple(seen.path for seen in plan.new if seen.path not in known or not known[seen.path].agrees(seen.stamp))


def plan_files(
    index: Path, roots: Sequence[Path], settings_of: SettingsLoader
) -> Iterator[tuple[Path, SeenFile | Skip]]:
    """Yield (root, file or skip) for everything that the walk finds, in its order. `index` may hold rules of earlier runs."""
    for root in map(Path.resolve, roots):
        settings = _load_settings(index, root, settings_of)
        for entry in walk_tree(root, settings, list_own_files(index)):
            yield root, _judge_content(root, entry, settings)


def explain_file(index: Path, root: Path, path: str, settings_of: SettingsLoader) -> SeenFile | Skip | None:
    """Find the file or skip that a path below the root would become; None for a directory that is walked."""
    settings = _load_settings(index, root, settings_of)
    entry = explain_path(root, path, settings, list_own_files(index))
    return _judge_content(root, entry, settings) if entry is not None else None


def build_walk_filter(
    index: Path, root: Path, settings: Settings, settings_of: SettingsLoader | None
) -> Callable[[str], bool]:
    """Build a test whether a run would reach a path below the root. Without `settings_of`, the rules of its last run apply."""
    if settings_of:
        settings = _load_settings(index, root, settings_of)
    elif rules := _read_last_rules(index, root):
        settings = rules.apply_to(settings)
    return WalkFilter(root, settings, list_own_files(index)).accepts


def _judge_content(root: Path, entry: SeenFile | Skip, settings: Settings) -> SeenFile | Skip:
    """Replace a file by the skip that its content leads to; read it for that."""
    if isinstance(entry, Skip):
        return entry
    try:
        result: object = judge_large_file(Job(str(root), entry), settings) or read_text(root, entry, settings)
    except OSError as fault:
        return skip_unreadable(entry, fault)
    return result if isinstance(result, Skip) else entry


def _load_settings(index: Path, root: Path, settings_of: SettingsLoader) -> Settings:
    loaded = settings_of(root)
    return choose_walk_rules(_read_last_rules(index, root), loaded).apply_to(loaded.values)


def _read_last_rules(index: Path, root: Path) -> WalkRules | None:
    unreadable_index = (IndexCorrupt, IndexNotTrusted, NoIndex, SchemaTooNew)
    with suppress(*unreadable_index), Store.read(index) as store, store.reading():
        for row in store.documents.list_repositories():
            if row.root == root:
                return read_walk_rules(store, row.name)
    return None
