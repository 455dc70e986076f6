"""The rules by which a repository is walked. The index remembers them, so that every later walk uses the same ones."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from codelens.config import LoadedSettings, Settings, SettingsLoader
from codelens.errors import IndexCorrupt, IndexNotTrusted, NoIndex, SchemaTooNew
from codelens.model.code import Skip
from codelens.model.fast_dataclass import replace
from codelens.store.documents import RepositoryRow
from codelens.store.store import Store

WALK_KEYS = ("hidden", "no_ignore", "include_vendored", "max_file_size")
"""Settings of the walk. Settings that affect a file's content are part of its recipe."""


class WalkRules(NamedTuple):
    """The rules by which one repository is walked, as the index keeps them for later runs and freshness checks."""

    values: Mapping[str, Any]
    explicit: frozenset[str] = frozenset()  # Keys set by a flag or environment variable, for later runs, too

    def apply_to(self, settings: Settings) -> Settings:
        return replace(settings, **self.values)

    def format_rules(self) -> str:
        return json.dumps({"values": dict(self.values), "said": sorted(self.explicit)}, sort_keys=True)


def read_walk_rules(store: Store, repository: str) -> WalkRules | None:
    """Read the rules of the repository's last run; None before its first run."""
    stored = json.loads(store.read_meta(f"walk:{repository}") or "null")
    return WalkRules(stored["values"], frozenset(stored["said"])) if stored else None


def apply_stored_rules(store: Store, repository: str, settings: Settings) -> Settings:
    rules = read_walk_rules(store, repository)
    return rules.apply_to(settings) if rules else settings


def apply_next_rules(
    store: Store, row: RepositoryRow, settings: Settings, settings_of: SettingsLoader | None
) -> Settings:
    """Apply the rules by which the next run would walk a repository; without `settings_of`, those of its last run."""
    stored = read_walk_rules(store, row.name)
    if stored is None:
        return settings
    if settings_of is None:
        return stored.apply_to(settings)
    return choose_walk_rules(stored, settings_of(row.root)).apply_to(settings)


def covers_folder(index: Path, folder: Path) -> bool:
    """True if an index holds a tree around this folder, and a run would not leave the folder out; also if the index cannot be
    read, which is reported where it is opened."""
    from codelens.worktree.walk import explain_path

    with suppress(IndexCorrupt, IndexNotTrusted, NoIndex, SchemaTooNew), Store.read(index) as store, store.reading():
        around = [row for row in store.documents.list_repositories() if folder.is_relative_to(row.root)]
        if not around:
            return False
        row = max(around, key=lambda row: len(row.root.parts))
        settings = apply_stored_rules(store, row.name, Settings())
        return row.root == folder or not isinstance(explain_path(row.root, str(folder), settings), Skip)
    return True


def choose_walk_rules(stored: WalkRules | None, loaded: LoadedSettings) -> WalkRules:
    """Choose the rules for this run: an explicit setting wins over a stored explicit value, which wins over the default."""
    values = {key: getattr(loaded.values, key) for key in WALK_KEYS}
    explicit = {key for key in WALK_KEYS if loaded.origin[key].startswith(("flag", "$"))}
    for key in stored.explicit - explicit if stored else ():
        if loaded.origin[key] == "default" and stored:
            values[key] = stored.values[key]
            explicit.add(key)
    return WalkRules(values, frozenset(explicit))
