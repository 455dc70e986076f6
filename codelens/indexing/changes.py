"""The tree on disk against the documents in the index: what is new, changed, removed, or the same.

Size, modification time, inode and, where the system has one, the time of its last change decide that a file is unchanged; where
they differ, or on --verify, its content's hash does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace

from codelens.model import DocumentId, FileStamp, SeenFile, Skip, SkipReason
from codelens.store.documents import DocumentState


@dataclass(slots=True)
class UpdatePlan:
    """What an update has to look at. `suspects` and `new` are in order of path."""

    unchanged: list[DocumentState] = field(default_factory=list)
    restamped: list[tuple[DocumentId, FileStamp]] = field(default_factory=list)
    """Those of the unchanged whose change time was not known until now: no file is read for it."""
    suspects: list[tuple[SeenFile, DocumentState]] = field(default_factory=list)
    """Known paths whose stamp or recipe differs."""
    new: list[SeenFile] = field(default_factory=list)
    removed: list[DocumentState] = field(default_factory=list)
    skips: list[Skip] = field(default_factory=list)
    """All that the walk left out, and files that were left out for their content and have not changed since."""


def compare(
    seen: Iterable[SeenFile | Skip],
    known: Mapping[str, DocumentState],
    skipped: Mapping[str, Skip],
    is_current: Callable[[DocumentState], bool],
    verify: bool = False,
) -> UpdatePlan:
    """Sort what the walk saw. `is_current` says whether a document's recipe is today's."""
    plan, gone = UpdatePlan(), dict(known)
    for entry in seen:
        if isinstance(entry, Skip):
            plan.skips.append(entry)
        elif state := gone.pop(entry.path, None):
            if verify or not state.stamp.agrees(entry.stamp) or not is_current(state):
                plan.suspects.append((entry, state))
                continue
            plan.unchanged.append(state)
            if state.stamp != entry.stamp:
                plan.restamped.append((state.id, entry.stamp))
        elif (skip := skipped.get(entry.path)) and _stays(skip, entry) and not verify:
            plan.skips.append(replace(skip, stamp=entry.stamp))
        else:
            plan.new.append(entry)
    plan.removed = [gone[path] for path in sorted(gone)]
    return plan


def _stays(skip: Skip, seen: SeenFile) -> bool:
    """A file that was left out for its content needs no second look; what failed may work now."""
    return skip.stamp is not None and skip.stamp.agrees(seen.stamp) and skip.reason is not SkipReason.UNREADABLE
