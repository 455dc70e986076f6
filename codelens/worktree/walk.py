"""Walks a tree: every file below a folder, to be read or skipped with a reason, in the order of the paths' bytes.

The walk, `--explain-path` and `WalkFilter`, which checks names of changed files, share one set of decisions. Links are not
followed, so there are no loops. git's own folder is not part of the tree.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

from codelens.config import Settings
from codelens.errors import UsageError
from codelens.files import is_link
from codelens.model.code import SeenFile, Skip, SkipReason
from codelens.model.fast_dataclass import dataclass, replace
from codelens.worktree.classify import classify_folder, classify_name
from codelens.worktree.files import build_stamp, escape_path, read_change_time
from codelens.worktree.ignore import GIT, IgnoreScope, build_outermost_scope
from codelens.worktree.place import INDEX_FOLDER, NOTES_FOLDER
from codelens.worktree.repository import RULE_FILES, list_other_checkouts, list_rule_files, open_repository


@dataclass(frozen=True, slots=True)
class WalkedFolder:
    """A folder of the tree; `path` is relative to the root and ends in a slash, empty for the root."""

    path: str
    raw: bytes  # The path's bytes
    scope: IgnoreScope  # The enclosing folder's rules; after `_enter_folder`, the rules for its own entries
    inherited: str = ""
    wanted: bool = False

    @property
    def is_own(self) -> bool:
        return f"/{self.path}".endswith(f"/{INDEX_FOLDER}/")


_KINDS = {stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket", stat.S_IFBLK: "a device", stat.S_IFCHR: "a device"}


def walk_tree(
    root: Path, settings: Settings, own: frozenset[str] = frozenset(), entered: dict[str, int] | None = None
) -> Iterator[SeenFile | Skip]:
    """Walk everything below `root`, except .git and the absolute paths in `own`, which codelens writes. Asks git once for
    tracked files if there are ignored paths.

    Adds each folder that it lists to `entered`, and the files with rules for it, with the change times in ns that they had before.
    A folder's path ends in a slash; '/' is the root. Raises UsageError if the root is not a readable folder; other failures are
    skips."""
    walker = TreeWalker(root, settings, own)

    def note_times(folder: WalkedFolder) -> bool:
        if entered is None:
            return True
        for place in (folder.path, *list_rule_files(walker.root, folder.path)):
            with suppress(OSError):
                entered[place or "/"] = read_change_time(os.lstat(f"{walker.root}/{place}"))
        return True

    return walker.walk_folders(note_times)


def explain_path(
    root: Path, path: str, settings: Settings, own: frozenset[str] = frozenset()
) -> SeenFile | Skip | None:
    """Explain the walk's decision about a path below the root, relative or absolute, or the Skip of a folder around it; None
    for a folder that is walked. Raises UsageError if the path does not exist or lies outside the root."""
    walker = TreeWalker(root, settings, own)
    root = walker.root
    below = os.path.relpath(root / path, root).replace(os.sep, "/")
    if below == ".." or below.startswith("../"):
        raise UsageError(f"{path} lies outside {root}", "give a path below the root")
    if not os.path.lexists(root / below):
        raise UsageError(f"no such file: {path}", "paths are taken relative to the root")
    if ".git" in below.split("/"):
        return Skip(escape_path(below), SkipReason.HIDDEN, "git's own files")
    if f"{root}{os.sep}{below}" in own:
        return Skip(escape_path(below), SkipReason.NESTED_INDEX, "codelens' own files")
    wanted = escape_path(below) + "/"
    for step in walker.walk_folders(lambda folder: f"{below}/".startswith(folder.path)):
        if wanted.startswith(step.path if step.path.endswith("/") else step.path + "/"):
            return step
    return None


class TreeWalker:
    """Decides which entries of a tree are entered, read or skipped. Raises UsageError if the root is not a folder."""

    def __init__(self, root: Path, settings: Settings, own: frozenset[str]) -> None:
        if not root.is_dir():
            raise UsageError(f"not a folder: {root}")
        self.root, self._settings, self._own = root.resolve(), settings, own
        self._top = WalkedFolder("", b"", build_outermost_scope(self.root, settings.no_ignore))

    def walk_folders(self, enters: Callable[[WalkedFolder], bool]) -> Iterator[SeenFile | Skip]:
        """Walk depth first into the folders for which `enters` is true. An explicit stack, so that no tree is too deep."""
        enters(self._top)
        stack = [self._decide_entries(self._top)]
        while stack:
            step = next(stack[-1], None)
            if step is None:
                stack.pop()
            elif not isinstance(step, WalkedFolder):
                yield step
            elif enters(step):
                stack.append(self._decide_entries(step))

    def _decide_entries(self, folder: WalkedFolder) -> Iterator[SeenFile | Skip | WalkedFolder]:
        """Yield the decisions about a folder's entries, in order; one Skip if the folder as a whole is left out."""
        entered = self._enter_folder(folder)
        if isinstance(entered, Skip):
            yield entered
            return
        here, entries = entered
        for key, is_folder, entry in sorted(map(_build_sort_key, entries), key=lambda row: row[0]):
            if entry.name != ".git" and entry.path not in self._own:
                yield self._judge_entry(entry, key[:-1] if is_folder else key, is_folder, here)

    def _enter_folder(self, folder: WalkedFolder) -> tuple[WalkedFolder, list[os.DirEntry[str]]] | Skip:
        """Enter a folder. Returns (the folder with its entries' rules, the entries in no order), or the Skip of the whole
        folder."""
        try:
            with os.scandir(f"{self.root}/{folder.path}") as listing:
                entries = list(listing)
        except OSError as fault:
            if not folder.path:
                raise UsageError(f"cannot read {self.root}: {fault.strerror}") from None
            return Skip(escape_path(folder.path), SkipReason.UNREADABLE, fault.strerror or str(fault))
        names = {entry.name for entry in entries}
        is_judged = folder.path and not folder.wanted and not self._settings.include_vendored
        if is_judged and (reason := classify_folder(folder.path.split("/")[-2], names)):
            return Skip(escape_path(folder.path), *reason)
        if ".git" in names and folder.path and not folder.wanted and self._is_second_checkout(folder.path):
            return Skip(escape_path(folder.path), SkipReason.WORKTREE, "a second checkout of a repository in the tree")
        known = names - {GIT} if folder.is_own else names  # notes are read even if git ignores the index
        return replace(folder, scope=folder.scope.enter_folder(folder.path, known, folder.inherited)), entries

    def _is_second_checkout(self, folder: str) -> bool:
        """True for a linked worktree if the root lies inside another checkout of the repository, or contains the main one."""
        repository = open_repository(self.root / folder)
        if repository is None or not repository.is_linked:
            return False
        others = list_other_checkouts(repository)
        has_main = any(top.is_relative_to(self.root) and (top / ".git").is_dir() for top in others)
        return has_main or any(self.root.is_relative_to(top) for top in others)

    def _judge_entry(
        self, entry: os.DirEntry[str], name: bytes, is_folder: bool, here: WalkedFolder
    ) -> SeenFile | Skip | WalkedFolder:
        """Decide about an entry, checking the causes in the order in which a person would name them."""
        wanted = self._judge_name(entry.name, name, is_folder, here)
        if isinstance(wanted, (Skip, WalkedFolder)):
            return wanted
        path = here.path + entry.name
        text = escape_path(path)
        try:
            stats = entry.stat(follow_symlinks=False)
        except OSError as fault:
            return Skip(text, SkipReason.UNREADABLE, fault.strerror or str(fault))
        if not stat.S_ISREG(stats.st_mode):
            return _explain_special(entry, text, stats.st_mode)
        stamp = build_stamp(stats)
        if not stats.st_mode & 0o444 and not os.access(entry.path, os.R_OK):
            return Skip(text, SkipReason.UNREADABLE, os.strerror(errno.EACCES), stamp)
        if not (wanted or self._settings.include_vendored) and (reason := classify_name(path)):
            return Skip(text, *reason, stamp)
        if stats.st_size > self._settings.max_file_size:
            detail = f"{_format_size(stats.st_size)}, limit {_format_size(self._settings.max_file_size)}"
            return Skip(text, SkipReason.TOO_LARGE, detail, stamp)
        return SeenFile(text, path, stamp)

    def _judge_name(self, name: str, raw: bytes, is_folder: bool, here: WalkedFolder) -> Skip | WalkedFolder | bool:
        """Decide by the name alone: a Skip, a folder to enter, or for a file, whether a rule includes it by name."""
        path = here.path + name + "/" if is_folder else here.path + name
        is_index_folder = is_folder and name == INDEX_FOLDER
        if is_index_folder:  # entered for its notes, even if git ignores it; .codelensignore can exclude them
            scope = replace(here.scope, git=(), inherited="")
            verdict = scope.judge_entry(here.raw + raw, raw, True)
            if _is_real_folder(f"{self.root}/{path}{NOTES_FOLDER}") and not (verdict and verdict.ignored):
                return WalkedFolder(path, os.fsencode(path), replace(scope, tracked=None), wanted=True)
        if is_index_folder or (here.is_own and not (is_folder and name == NOTES_FOLDER)):
            return Skip(escape_path(path), SkipReason.NESTED_INDEX, "codelens' own files")
        verdict = here.scope.judge_entry(here.raw + raw, raw, is_folder)
        wanted = verdict is not None and verdict.wanted
        if verdict and verdict.ignored and not verdict.holds_tracked:
            return Skip(escape_path(path), SkipReason.IGNORED, verdict.source)
        if name.startswith(".") and not self._settings.hidden and not wanted:
            return Skip(escape_path(path), SkipReason.HIDDEN, "its name begins with a dot")
        if not is_folder:
            return wanted
        if not (wanted or self._settings.include_vendored) and (reason := classify_folder(name)):
            return Skip(escape_path(path), *reason)
        inherited = verdict.source if verdict and verdict.holds_tracked else ""
        return WalkedFolder(path, os.fsencode(path), here.scope, inherited, wanted)


class WalkFilter(TreeWalker):
    """A filter of paths that the walk would visit. Reads each folder once, when first needed, and no file."""

    def __init__(self, root: Path, settings: Settings, own: frozenset[str] = frozenset()) -> None:
        super().__init__(root, settings, own)
        self._folders: dict[str, WalkedFolder | None] = {}

    def accepts(self, path: str) -> bool:
        """True if the walk visits `path`, relative to the root with slashes, judged by its name alone. Files that hold rules of
        the walk count even if they are hidden."""
        if f"{self.root}{os.sep}{path}" in self._own or ".git" in path.split("/"):
            return False
        folder, _, name = path.rpartition("/")
        here = self._find_folder(folder)
        if here is None or name in RULE_FILES:
            return here is not None
        is_folder = _is_real_folder(f"{self.root}/{path}")
        return not isinstance(self._judge_name(name, os.fsencode(name), is_folder, here), Skip)

    def _find_folder(self, path: str) -> WalkedFolder | None:
        """Find a folder with the rules for its entries; None if it is left out. An unreadable folder adds no rules of its own."""
        here, known = None, ""
        for name in f"/{path}".rstrip("/").split("/"):
            known += name + "/"
            if known not in self._folders:
                folder = self._judge_name(name, os.fsencode(name), True, here) if here else self._top
                self._folders[known] = self._read_folder(folder) if isinstance(folder, WalkedFolder) else None
            if (here := self._folders[known]) is None:
                return None
        return here

    def _read_folder(self, folder: WalkedFolder) -> WalkedFolder | None:
        """Read the rules for a folder's entries; None if the walk leaves the folder out."""
        entered = self._enter_folder(folder)
        if not isinstance(entered, Skip):
            return entered[0]
        return folder if entered.reason is SkipReason.UNREADABLE else None


def _is_real_folder(path: str) -> bool:
    try:
        return stat.S_ISDIR(os.lstat(path).st_mode)
    except OSError:
        return False


def _build_sort_key(entry: os.DirEntry[str]) -> tuple[bytes, bool, os.DirEntry[str]]:
    """Build (the name, with a slash after a folder's as in its files' paths; whether it is a folder; the entry). A link is not
    a folder, nor is a mount point of Windows: both could lead anywhere."""
    try:
        is_folder = entry.is_dir(follow_symlinks=False)
        if is_folder and os.name == "nt":
            is_folder = not is_link(Path(entry.path))
    except OSError:
        is_folder = False
    name = entry.name.encode() if entry.name.isascii() else os.fsencode(entry.name)
    return (name + b"/" if is_folder else name), is_folder, entry


def _explain_special(entry: os.DirEntry[str], path: str, mode: int) -> Skip:
    if not stat.S_ISLNK(mode) and not stat.S_ISDIR(mode):
        return Skip(path, SkipReason.SPECIAL, _KINDS.get(stat.S_IFMT(mode), "of unknown kind"))
    try:
        target = f"to {escape_path(str(Path(entry.path).readlink()))}"
    except OSError as fault:
        target = fault.strerror or str(fault)
    try:
        entry.stat()
    except OSError as fault:
        return Skip(path, SkipReason.BROKEN_LINK, f"{target}, a loop" if fault.errno == errno.ELOOP else target)
    return Skip(path, SkipReason.LINK, target)


def _format_size(size: int) -> str:
    return f"{size / 1e6:.1f} MB" if size >= 100_000 else f"{size / 1e3:.1f} kB" if size >= 1_000 else f"{size} bytes"
