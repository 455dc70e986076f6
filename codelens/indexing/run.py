"""The state of one index run: its options, its transaction, its counts, and the recipe of a document."""

from __future__ import annotations

import os
from collections import Counter
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

import xxhash

from codelens.config import Settings, SettingsLoader
from codelens.indexing.walk_rules import WALK_KEYS, WalkRules, choose_walk_rules, read_walk_rules
from codelens.lang.captures import find_reader_version
from codelens.lang.parser import find_grammar_version, read_query_source
from codelens.lang.registry import languages
from codelens.model.fast_dataclass import dataclass, field, replace
from codelens.model.runs import ProgressSink
from codelens.model.search import Notice
from codelens.store.documents import DocumentState, RepositoryRow
from codelens.store.store import Store
from codelens.worktree.decode import read_encoding_rules

if TYPE_CHECKING:
    from codelens.indexing.look import OuterRules

RULES = "decode 1, roles 1, extract 7, chunks 2, terms 1, postings 5"  # Increase a number when the result changes
CLASSIFYING = "classify 2"  # Increase the number when the rules that skip files by content change: all files are then judged again


class BuildOptions(TypedDict, total=False):
    """The fields of IndexRun that `Index.build` accepts as keywords."""

    force: bool
    verify: bool
    progress: ProgressSink | None
    settings_of: SettingsLoader | None
    as_indexed: bool
    copy_from: Path | None


@dataclass(frozen=True, slots=True)
class IndexRun:
    """The options of one index run."""

    settings: Settings
    index: Path  # Final path of the index, which is never indexed itself
    force: bool = False
    verify: bool = False  # Read all files, whatever their stamps
    batches: bool = False  # Commit in batches (a build) instead of once (an update)
    progress: ProgressSink | None = None
    settings_of: SettingsLoader | None = None
    """Loads the settings of a root, with their origins; if it is None, `settings` apply to all roots."""
    as_indexed: bool = False  # Walk each root by the rules of its last run
    copy_from: Path | None = None  # The index to copy as the start of a new one, or a folder with an index

    def is_current(self, state: DocumentState) -> bool:
        """True if a document's rows can stay as they are."""
        return not self.force and state.recipe == compute_current_recipe(state.language, self.settings)


@dataclass(slots=True)
class Tally:
    """The counts and notes of what a run did to one repository."""

    files: Counter[str]  # Fields of IndexReport → number: seen, added, changed, renamed, removed, unchanged
    wrote: bool = False
    notices: tuple[Notice, ...] = ()
    cpu_seconds: dict[str, float] = field(default_factory=dict)  # Phase → CPU seconds of all processes
    kinds: dict[str, int] = field(default_factory=dict)  # Kind → number of units, at the end of the run
    folders: dict[str, int] = field(default_factory=dict)
    """Folders that the walk entered, and files with rules for them → change time in ns."""
    outer: OuterRules | None = None  # What else decided about the tree's files
    walk_seconds: float = 0.0


class PhaseClock:
    """A clock that adds up CPU seconds by phase, of this process and of its ended child processes."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._last = sum(os.times()[:4])

    def end(self, phase: str) -> None:
        """End a phase: add the time since the previous phase ended to its seconds."""
        now = sum(os.times()[:4])
        self.seconds[phase] = round(self.seconds.get(phase, 0.0) + now - self._last, 3)
        self._last = now


class LazyTransaction:
    """A transaction that begins with the first write, so that a run with nothing to do touches no file. An update is one
    transaction; a build commits every `batch_bytes` bytes of source and resumes from the last batch."""

    def __init__(self, store: Store, batch_bytes: int | None) -> None:
        self.writes = 0  # Calls of `begin`
        self._store, self._batch_bytes = store, batch_bytes
        self._open, self._pending = False, 0

    def begin(self) -> None:
        """Begin the transaction if it is not open. Call this before each write."""
        self.writes += 1
        if self._open:
            return
        if self._batch_bytes is None and self.writes == 1:
            self._store.begin_work()
            self._store.edges.note_targets()
        self._store.begin()
        self._store.forget_kind_counts()
        self._open = True

    def set_meta(self, key: str, value: str) -> None:
        """Store a fact about the index, unless it is stored already."""
        if self._store.read_meta(key) != value:
            self.begin()
            self._store.set_meta(key, value)

    def count_document(self, size: int) -> None:
        """Count a complete document of `size` bytes; a build commits when the batch is full."""
        self._pending += size
        if self._batch_bytes is not None and self._pending >= self._batch_bytes:
            self.commit()

    def commit(self) -> None:
        if self._open:
            self._store.commit()
        self._open, self._pending = False, 0

    def __enter__(self) -> LazyTransaction:
        return self

    def __exit__(self, kind: type[BaseException] | None, *fault: object) -> None:
        if kind is None:
            self.commit()
        else:  # the current document may be half written: a build, too, keeps only whole batches
            self._store.rollback()
            self._open = False


def apply_walk_rules(store: Store, repository: RepositoryRow, run: IndexRun, transaction: LazyTransaction) -> IndexRun:
    """Apply this repository's walk rules to the run, and store them in the index. Returns the changed run, which verifies all
    files if it is forced, or if the rules changed: others may skip an indexed file, or take one that was skipped."""
    stored = read_walk_rules(store, repository.name)
    if run.settings_of is not None:
        rules = choose_walk_rules(stored, run.settings_of(repository.root))
    elif run.as_indexed and stored:
        rules = stored
    else:
        rules = WalkRules({key: getattr(run.settings, key) for key in WALK_KEYS})
    transaction.set_meta(f"walk:{repository.name}", rules.format_rules())
    settings = rules.apply_to(run.settings)
    key, skip_rules = name_skip_rules_key(repository), format_skip_rules(settings)
    if not store.read_meta(key):  # set at the start, so that a killed build resumes without reading all files again
        transaction.set_meta(key, skip_rules)
    return replace(run, settings=settings, verify=run.verify or run.force or store.read_meta(key) != skip_rules)


def format_skip_rules(settings: Settings) -> str:
    """Format all settings that decide whether a file is skipped for its content."""
    return f"{CLASSIFYING} {settings.max_file_size} {settings.include_vendored} {settings.least_confidence}"


def name_skip_rules_key(repository: RepositoryRow) -> str:
    return f"skip_rules:{repository.name}"


def apply_stored_features(store: Store, settings: Settings) -> Settings:
    """Give the settings the features of the index: an update neither adds nor drops trigrams or vectors."""
    features = store.read_features()
    return replace(settings, fuzzy=features.fuzzy, vector=features.vector)


@cache
def compute_recipe(language: str, fuzzy: bool = True, encoding_threshold: float = 0.7) -> str:
    """Hash everything that decides how documents of this language are derived; returns 16 hex digits. The embedder is left out:
    a change of it needs neither the file nor a parser."""
    row = languages().get(language)
    # A new row may claim documents that have no grammar now.
    all_rows = "" if row and row.grammar else _format_all_rows()
    # The code that a document quotes is read by the grammars of other languages.
    is_quoting = bool(row and row.chunks in ("headings", "cells"))
    readers = [other for other in languages().values() if other.grammar and is_quoting]
    quoted = [(find_grammar_version(other.name), read_query_source(other)) for other in readers]
    headers = "".join(other.headers for other in languages().values() if language in ("c", other.name))
    parts = [
        *(RULES, read_encoding_rules(), all_rows, _format_row(row), find_grammar_version(language)),
        *(read_query_source(row) if row else "", quoted, fuzzy, encoding_threshold),
        *filter(None, [find_reader_version(language)]),
        headers,
    ]
    return xxhash.xxh3_64_hexdigest(repr(parts).encode())


@cache
def _format_all_rows() -> str:
    return "".join(map(_format_row, languages().values()))


def _format_row(row: object) -> str:
    """Format a language's row with its sets sorted: the repr of a set depends on PYTHONHASHSEED."""
    fields = {name: getattr(row, name) for name in getattr(row, "__slots__", ())}
    return repr({name: sorted(value) if isinstance(value, frozenset) else value for name, value in fields.items()})


def compute_current_recipe(language: str, settings: Settings) -> str:
    return compute_recipe(language, settings.fuzzy, settings.least_confidence)
