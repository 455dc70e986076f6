"""A diff → the units that it changes, in the state that the index holds.

The index may hold the new side, the old one or another one. So each hunk is looked for by its own text: as the new side
where it is written, as the old one, then near by. Only where neither is found do the line numbers decide, and that is said.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from codelens.context.lines import indexed_lines, owners, placed
from codelens.errors import UsageError
from codelens.model import Notice, UnitId, UnitRow
from codelens.nouns import dataclass
from codelens.packed import Change
from codelens.store.documents import DocumentRow
from codelens.store.store import Store
from codelens.texts import Texts
from codelens.worktree.diffs import FileChange, read_diff
from codelens.worktree.paths import shown_path
from codelens.worktree.revisions import diff_between, repository_of, staged_diff

NAMED = 5
"""Files that a notice names; the others are a number."""


@dataclass(frozen=True, slots=True)
class Touched:
    """The innermost units that hold changed lines, and what could not be told."""

    units: Collection[UnitId]
    notices: tuple[Notice, ...]


def diff_of(change: Change, store: Store) -> bytes:
    """The diff that was given, else what is staged, else the one between its revisions. Raises UsageError outside of git."""
    if change.diff is not None:
        return change.diff
    roots = [Path(change.cwd), *(r.root for r in store.documents.repositories())]
    repository = next((found for root in roots if (found := repository_of(root)) is not None), None)
    if repository is None:
        raise UsageError("no git repository here", "give the diff itself with --diff FILE, or `git diff | … --diff -`")
    return staged_diff(repository) if change.staged else diff_between(repository, change.revisions)


def touched_by(change: Change, store: Store, texts: Texts) -> Touched:
    """All units that a change touches, those of each file in turn. Raises UsageError where it is none."""
    diff = diff_of(change, store)
    files = read_diff(diff)
    if not files and diff.strip():
        raise UsageError("this is no unified diff", "as `git diff` writes it")
    units: dict[UnitId, None] = {}
    told: dict[str, list[str]] = {}
    bases = _bases(change, store)
    for file in files:
        name = shown_path(os.fsdecode(file.paths[0]))
        document = _document(file, bases, store)
        if file.binary:
            told.setdefault("binary", []).append(name)
        elif document is None:
            told.setdefault("deleted" if file.new is None else "not-indexed", []).append(name)
        else:
            states = _mark(file, document, store, texts, units)
            for code in sorted(states & {"old-state", "other-state"}):
                told.setdefault(code, []).append(name)
    return Touched(units, tuple(_notice(code, names) for code, names in sorted(told.items())))


def _mark(file: FileChange, document: DocumentRow, store: Store, texts: Texts, units: dict[UnitId, None]) -> set[str]:
    """Add the units of one file; the states that its hunks were found in."""
    lines = texts.lines(document)
    known = indexed_lines(lines)
    found = [placed(hunk, known, document.encoding) for hunk in file.hunks]
    rows: Sequence[UnitRow] = store.units.of_document(document.id)
    holders = owners(rows, len(lines))
    for hunk in found:
        for line in hunk.lines:
            holder = holders[line - 1] if 0 < line <= len(lines) else None
            if holder is not None:
                units.setdefault(holder)
    return {hunk.state for hunk in found}


def _bases(change: Change, store: Store) -> list[Path]:
    """Folders that the paths of a diff may begin at: tops of git repositories, the working directory, indexed roots."""
    roots = [r.root for r in store.documents.repositories()]
    tops = [found.top for folder in (Path(change.cwd), *roots) if (found := repository_of(folder)) is not None]
    return [Path(os.path.realpath(path)) for path in dict.fromkeys([*tops, Path(change.cwd), *roots])]


def _document(file: FileChange, bases: Sequence[Path], store: Store) -> DocumentRow | None:
    """The indexed document of a changed file: under its new path, else under its old one."""
    for path in file.paths:
        for document in _at(os.fsdecode(path), bases, store):
            return document
    return None


def _at(path: str, bases: Sequence[Path], store: Store) -> Iterator[DocumentRow]:
    roots = {r.id: os.path.realpath(r.root) for r in store.documents.repositories()}
    for base in bases:
        whole = os.path.normpath(base / path)
        for repository, root in roots.items():
            if whole.startswith(root.rstrip(os.sep) + os.sep):
                below = shown_path(os.path.relpath(whole, root).replace(os.sep, "/"))
                yield from (d for d in store.documents.by_path(below) if d.repository == repository)


_SAID = {
    "binary": "binary, so no symbol of it changes: {}",
    "deleted": "deleted, and not in the index any more: {}",
    "not-indexed": "changed, and not in the index: {}; run `codelens index`, or see `codelens status --skipped`",
    "old-state": "the index holds the state before the change of {}; run `codelens index` for the one after it",
    "other-state": "the index holds another state of {} than the diff: some changed lines were placed by number",
}


def _notice(code: str, names: Sequence[str]) -> Notice:
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return Notice(code, _SAID[code].format(", ".join(names[:NAMED]) + more))
