"""What decides which files of a repository are seen, kept with the index.

Otherwise a run from another folder, a `--refresh` or a check for freshness would walk by other rules than those that made
the index, and call files deleted that are there, or take them out.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from codelens.config import LoadedSettings, Settings
from codelens.store.store import Store

KEYS = ("hidden", "no_ignore", "include_vendored", "max_file_size")
"""Settings of the walk; what decides about contents is in a document's recipe."""


class WalkRules(NamedTuple):
    """How one repository is walked. `said` are the keys that a person gave for one run: these are kept for later ones."""

    values: Mapping[str, Any]
    said: frozenset[str] = frozenset()

    def applied_to(self, settings: Settings) -> Settings:
        """The settings with these rules in place of their own."""
        return replace(settings, **self.values)

    def as_text(self) -> str:
        """JSON with sorted keys, as the index keeps it: equal rules have equal texts."""
        return json.dumps({"values": dict(self.values), "said": sorted(self.said)}, sort_keys=True)


def walk_rules_key(repository: str) -> str:
    """Where the index's `meta` table keeps the rules of a repository, by its name."""
    return f"walk:{repository}"


def remembered(store: Store, repository: str) -> WalkRules | None:
    """The rules by which a repository was walked last; None before its first run."""
    text = store.meta(walk_rules_key(repository))
    if not text:
        return None
    kept = json.loads(text)
    return WalkRules(kept["values"], frozenset(kept["said"]))


def as_remembered(store: Store, repository: str, settings: Settings) -> Settings:
    """The settings with what the index knows about the walk of this repository."""
    kept = remembered(store, repository)
    return kept.applied_to(settings) if kept else settings


def chosen(kept: WalkRules | None, loaded: LoadedSettings) -> WalkRules:
    """What holds now: a setting that somebody made, else what a flag or a variable once said, else the default."""
    values = {key: getattr(loaded.values, key) for key in KEYS}
    said = {key for key in KEYS if loaded.origin[key].startswith(("flag", "$"))}
    for key in kept.said - said if kept else ():
        if loaded.origin[key] == "default" and kept:
            values[key] = kept.values[key]
            said.add(key)
    return WalkRules(values, frozenset(said))
