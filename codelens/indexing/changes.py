"""Compares a tree with its index: finds files that are new, changed, moved or gone, and writes the changes."""

from __future__ import annotations

import pickle
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from codelens.errors import MemoryFault, TracesFault
from codelens.indexing.derive import Job, RenamedFile, Result
from codelens.indexing.files import wait_for_clock_tick
from codelens.indexing.run import IndexRun, LazyTransaction, Tally, format_skip_rules, name_skip_rules_key
from codelens.lang.registry import HEAD, detect_language
from codelens.linking.linker import Invalidation
from codelens.model.code import SeenFile, Skip, SkipReason
from codelens.model.extraction import UnchangedFile, UnfinishedFile
from codelens.model.fast_dataclass import dataclass, field, replace
from codelens.model.runs import Progress
from codelens.model.search import Notice
from codelens.store.documents import DocumentState, RepositoryRow, name_by_roots
from codelens.store.records import Memory, Traces
from codelens.store.store import Store
from codelens.worktree.files import hash_file
from codelens.worktree.place import locate_memory, locate_traces

IsCurrent = Callable[[DocumentState], bool]  # True if a document's recipe is the current one


@dataclass(slots=True)
class UpdatePlan:
    """The result of comparing a walk with the index. `suspects` and `new` are sorted by path."""

    unchanged: list[tuple[SeenFile, DocumentState]] = field(default_factory=list)
    suspects: list[tuple[SeenFile, DocumentState]] = field(default_factory=list)
    """Known paths whose stamp or recipe differs."""
    new: list[SeenFile] = field(default_factory=list)
    removed: list[DocumentState] = field(default_factory=list)
    skips: list[Skip] = field(default_factory=list)
    """Files that the walk skipped, and unchanged files that were skipped for their content before."""
    moved: dict[str, RenamedFile] = field(default_factory=dict)
    """New path of each moved file → its old document, which is one of `removed`."""

    def keep_equal_files(self, root: Path, is_current: IsCurrent) -> None:
        """Move the suspects whose content is as indexed to `unchanged`. A worker would take ten times as long for them."""
        suspects, self.suspects = self.suspects, []
        for seen, state in suspects:
            with suppress(OSError):
                if is_current(state) and seen.stamp.size == state.stamp.size:
                    wait_for_clock_tick(seen.stamp.mtime_ns)
                    if hash_file(root / seen.os_path) == state.content_hash:
                        self.unchanged.append((seen, state))
                        continue
            self.suspects.append((seen, state))

    def find_renames(self, store: Store, root: Path, is_current: IsCurrent) -> None:
        """Find the files that were moved, for `moved`. Reads only files as large as a removed one."""
        gone: dict[int, list[DocumentState]] = defaultdict(list)
        for state in self.removed:
            if is_current(state):
                gone[state.stamp.size].append(state)
        for seen in self.new:
            for state in gone.get(seen.stamp.size, ()):
                with suppress(OSError):
                    path = root / seen.os_path
                    if hash_file(path) != state.content_hash:
                        continue
                    with path.open("rb") as file:
                        language = detect_language(seen.path, file.read(HEAD))
                    if language == state.language:
                        packed = pickle.dumps(store.read_extraction(state.id))
                        self.moved[seen.path] = RenamedFile(state.content_hash, state.path, packed)
                        gone[seen.stamp.size].remove(state)
                        break


def plan_update(
    tree: Iterable[SeenFile | Skip], store: Store, row: RepositoryRow, is_current: IsCurrent, verify: bool = False
) -> UpdatePlan:
    """Compare the files of a walk with the index, and sort them by what must be done with them."""
    plan, gone = UpdatePlan(), store.documents.read_states(row.id)
    skipped = {skip.path: skip for skip in store.documents.list_skips(row.id)}
    for entry in tree:
        if isinstance(entry, Skip):
            plan.skips.append(entry)
        elif state := gone.pop(entry.path, None):
            if verify or not state.stamp.agrees(entry.stamp) or not is_current(state):
                plan.suspects.append((entry, state))
            else:
                plan.unchanged.append((entry, state))
        else:
            skip = None if verify else skipped.get(entry.path)
            is_readable = skip and skip.reason is not SkipReason.UNREADABLE  # other files are always tried again
            if skip and skip.stamp and is_readable and skip.stamp.agrees(entry.stamp):
                plan.skips.append(replace(skip, stamp=entry.stamp))
            else:
                plan.new.append(entry)
    plan.removed = [gone[path] for path in sorted(gone)]
    return plan


def ensure_repositories(store: Store, roots: Iterable[Path], transaction: LazyTransaction) -> dict[Path, RepositoryRow]:
    """Map each root to its repository. Roots without one are added to the index, which may rename other repositories."""
    rows = {row.root: row for row in store.documents.list_repositories()}
    names = name_by_roots([*dict.fromkeys((*rows, *roots))])
    if all(root in rows and rows[root].name == names[root] for root in roots):
        return rows
    transaction.begin()
    new_rows = {row.root: row for row in store.documents.add_repositories(roots)}
    if any(row.name != new_rows[root].name for root, row in rows.items()):
        # The log has the documents under the repositories' names.
        store.changed.update(document.id for document in store.documents.read_rows())
    return new_rows


def rename_records(index: Path, names: Mapping[str, str]) -> list[Notice]:
    """Rename repositories in the memory and traces next to the index, too. Returns a notice for each file where that fails."""
    notices = []
    for path, writer in ((locate_memory(index), Memory), (locate_traces(index), Traces)):
        if names and path.is_file():
            try:
                with writer.open_for_writing(path) as records:
                    records.rename_repositories(names)
            except (MemoryFault, TracesFault) as fault:
                notices.append(Notice("renamed", f"{path.name} keeps the old names of repositories: {fault}"))
    return notices


class RepositoryUpdate:
    """Writes the changes of one repository to the index, counts them, and notes which documents the linker must visit."""

    def __init__(
        self, store: Store, repository: RepositoryRow, run: IndexRun, transaction: LazyTransaction, plan: UpdatePlan
    ) -> None:
        """Count each file, for now, as its name and stamp suggest."""
        self.store, self.repository, self.run, self.transaction = store, repository, run, transaction
        self.plan, self.invalidation = plan, Invalidation(store, repository.id)
        self._known = {seen.path: state for seen, state in plan.suspects}
        new, changed, unchanged, moved = len(plan.new), len(plan.suspects), len(plan.unchanged), len(plan.moved)
        files = Counter(seen=new + changed + unchanged + len(plan.skips), changed=changed, unchanged=unchanged)
        files.update(added=new - moved, renamed=moved, removed=len(plan.removed) - moved)
        self.tally = Tally(files)

    def remove_documents(self) -> None:
        """Remove the documents that are gone, and update the stamps of unchanged ones."""
        for gone in self.plan.removed:
            self.record_link_targets(gone)
            self.store.remove_document(gone.id)
        for seen, state in self.plan.unchanged:
            self._update_stamp(state, seen)

    def list_jobs(self) -> Iterator[Job]:
        """Yield a job for each file to read, sorted by path, so that ids do not depend on which worker is faster."""
        root = str(self.repository.root)
        hashes = {path: state.content_hash for path, state in self._known.items() if self.run.is_current(state)}
        for seen in sorted([*self.plan.new, *(seen for seen, _ in self.plan.suspects)], key=lambda f: f.path):
            yield Job(root, seen, hashes.get(seen.path), self.plan.moved.get(seen.path))

    def write(self, result: Result) -> str:
        """Write the result for one file. Returns the file's path."""
        path = result.path if isinstance(result, Skip) else result.seen.path
        state = self._known.get(path)
        if isinstance(result, UnchangedFile):
            assert state is not None
            self.tally.files.update(changed=-1, unchanged=1)
            self._update_stamp(state, result.seen)
            return path
        if state:
            self.record_link_targets(state)
        if isinstance(result, Skip):
            if state:
                self.store.remove_document(state.id)
            self._count_skip(result, state)
            return path
        self.transaction.begin()
        try:
            self.store.add_document(self.repository.id, result, state.id if state else None)
            self.invalidation.added += 1
        except UnfinishedFile as fault:
            self._count_skip(Skip(path, SkipReason.UNREADABLE, str(fault), result.seen.stamp), state)
        self.transaction.count_document(result.seen.stamp.size)
        return path

    def report_progress(self, phase: str, done: int, total: int, path: str = "") -> None:
        if self.run.progress:
            self.run.progress(Progress(phase, done, total, path))

    def record_link_targets(self, state: DocumentState) -> None:
        """Note what other documents may link to in this document, before it is replaced or removed."""
        self.transaction.begin()
        self.invalidation.note_document(state.id)

    def _update_stamp(self, state: DocumentState, seen: SeenFile) -> None:
        """Store the stamp of a file that was touched, or whose change time was unknown until now."""
        if state.stamp != seen.stamp:
            self.transaction.begin()
            self.store.documents.set_stamp(state.id, seen.stamp)

    def _count_skip(self, skip: Skip, state: DocumentState | None) -> None:
        """Correct the counts for a file that is skipped for its content."""
        self.plan.skips.append(skip)
        if state or skip.path in self.plan.moved:
            self.tally.files.update({"changed" if state else "renamed": -1, "removed": 1})
        else:
            self.tally.files["added"] -= 1

    def write_skips(self) -> None:
        """Store which files this walk skipped and why; writes only the differences."""
        store, repository = self.store, self.repository
        old = {s.path: s for s in store.documents.list_skips(repository.id)}
        new = {s.path: s for s in self.plan.skips}
        gone = [path for path in old if path not in new]
        fresh = [s for path, s in sorted(new.items()) if old.get(path) != s]
        if gone or fresh:
            self.transaction.begin()
            store.documents.replace_skips(repository.id, gone, fresh)
        self.transaction.set_meta(name_skip_rules_key(repository), format_skip_rules(self.run.settings))
