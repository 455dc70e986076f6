"""What an index run would do with each file, without doing it: the walk, and a look at each content."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from codelens.config import LoadedSettings, Settings
from codelens.errors import IndexCorrupt, IndexNotTrusted, NoIndex, SchemaTooNew
from codelens.indexing.large import judge_large
from codelens.indexing.reading import read_text, unreadable
from codelens.indexing.remembered import WalkRules, chosen, remembered
from codelens.model import SeenFile, Skip
from codelens.store.store import Store
from codelens.worktree.place import own_files
from codelens.worktree.walk import Sight, explain_path, walk

Loader = Callable[[Path], LoadedSettings]
"""The settings that hold for one root, and where each comes from."""


def plan(index: Path, roots: Sequence[Path], settings_of: Loader) -> Iterator[tuple[Path, SeenFile | Skip]]:
    """(root, file or skip) of all that the walk sees, in its order. `index` is where earlier rules are remembered."""
    for root in roots:
        settings = _settings(index, root, settings_of)
        for entry in walk(root, settings, own_files(index)):
            yield root, _judged(root, entry, settings)


def explain(index: Path, root: Path, path: str, settings_of: Loader) -> SeenFile | Skip | None:
    """What would become of one path below the root; None for a folder that is walked."""
    settings = _settings(index, root, settings_of)
    found = explain_path(root, path, settings, own_files(index))
    return _judged(root, found, settings) if found is not None else None


def sight(index: Path, root: Path, settings: Settings, settings_of: Loader | None) -> Callable[[str], bool]:
    """Whether a run would come by a path below the root; without `settings_of` by the rules of its last run."""
    if settings_of:
        settings = _settings(index, root, settings_of)
    elif kept := _kept(index, root):
        settings = kept.applied_to(settings)
    return Sight(root, settings, own_files(index)).holds


def _judged(root: Path, entry: SeenFile | Skip, settings: Settings) -> SeenFile | Skip:
    if isinstance(entry, Skip):
        return entry
    try:
        found: object = judge_large(root, entry, settings) or read_text(root, entry, settings)
    except OSError as fault:
        return unreadable(entry, fault)
    return found if isinstance(found, Skip) else entry


def _settings(index: Path, root: Path, settings_of: Loader) -> Settings:
    loaded = settings_of(root)
    return chosen(_kept(index, root), loaded).applied_to(loaded.values)


def _kept(index: Path, root: Path) -> WalkRules | None:
    with (
        suppress(IndexCorrupt, IndexNotTrusted, NoIndex, SchemaTooNew),
        Store.read(index) as store,
        store.reading(),
    ):
        for row in store.documents.repositories():
            if row.root == root:
                return remembered(store, row.name)
    return None
