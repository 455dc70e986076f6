"""Walks a tree: every file below a folder, to be read or skipped with a reason, in the order of the paths' bytes.

The walk, `--explain-path` and `WalkFilter`, which checks names of changed files, share one set of decisions. Links are not
followed, so there are no loops. Hidden files have names that begin with a dot; `.github` is not an exception, but
`!.github` in .codelensignore includes it. git's own folder is not part of the tree.
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
from codelens.model.code import SeenFile, Skip, SkipReason
from codelens.model.fast_dataclass import dataclass, replace
from codelens.worktree.classify import classify_folder, classify_name
from codelens.worktree.files import shown_path, stamp_of
from codelens.worktree.ignore import GIT, OWN, IgnoreScope, outermost_scope
from codelens.worktree.place import INDEX_FOLDER, NOTES_FOLDER


@dataclass(frozen=True, slots=True)
class _Folder:
    """A folder to enter; `path` is relative to the root and ends in a slash, empty for the root."""

    path: str
    scope: IgnoreScope  # The rules of the enclosing folder; its own are read on entering
    inherited: str = ""
    wanted: bool = False


@dataclass(frozen=True, slots=True)
class _Here:
    """State shared by the entries of a folder."""

    root: Path
    path: str
    raw: bytes
    scope: IgnoreScope
    settings: Settings
    own: bool  # True in a .codelens folder


RULE_FILES = frozenset({GIT, OWN})
_KINDS = {stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket", stat.S_IFBLK: "a device", stat.S_IFCHR: "a device"}
_MOUNT_POINT = 0xA000_0003  # IO_REPARSE_TAG_MOUNT_POINT of Windows
_Step = SeenFile | Skip | _Folder


def walk(
    root: Path, settings: Settings, own: frozenset[str] = frozenset(), entered: dict[str, int] | None = None
) -> Iterator[SeenFile | Skip]:
    """Everything below `root`, except the absolute paths in `own`, which codelens writes, and .git.

    Works without git, but asks it once for tracked files when there are ignored paths. Adds each folder that it lists
    to `entered`: its path with a final slash, '/' for the root, and the modification time in ns that it had before.
    Raises UsageError if the root is not a readable folder; other failures are skips.
    """
    root = _resolve_root(root)
    top = f"{root}/"

    def enter(folder: _Folder) -> bool:
        if entered is not None:
            with suppress(OSError):
                entered[folder.path or "/"] = os.lstat(top + folder.path[:-1]).st_mtime_ns
        return True

    return _descend(root, settings, own, enter)


def explain_path(
    root: Path, path: str, settings: Settings, own: frozenset[str] = frozenset()
) -> SeenFile | Skip | None:
    """The walk's decision about a path below the root, or the Skip of the folder that contains it; None for a folder
    that is walked.

    `path` is in the operating system's form, relative to the root or absolute. Raises UsageError for a path that does
    not exist or lies outside the root.
    """
    root = _resolve_root(root)
    below = os.path.relpath(root / path, root).replace(os.sep, "/")
    if below == ".." or below.startswith("../"):
        raise UsageError(f"{path} lies outside {root}", "give a path below the root")
    if not os.path.lexists(root / below):
        raise UsageError(f"no such file: {path}", "paths are taken relative to the root")
    if ".git" in below.split("/"):
        return Skip(shown_path(below), SkipReason.HIDDEN, "git's own files")
    if f"{root}{os.sep}{below}" in own:
        return Skip(shown_path(below), SkipReason.NESTED_INDEX, "codelens' own files")
    wanted = shown_path(below) + "/"
    for step in _descend(root, settings, own, lambda folder: f"{below}/".startswith(folder.path)):
        if wanted.startswith(step.path if step.path.endswith("/") else step.path + "/"):
            return step
    return None


class WalkFilter:
    """Tells whether the walk would visit a path, for many paths: reads each folder once and no file.

    The rules of a folder are those at the first question about it.
    """

    def __init__(self, root: Path, settings: Settings, own: frozenset[str] = frozenset(), ask_git: bool = True) -> None:
        """Without `ask_git` no process is started: files that git tracks although a rule ignores them are not visited."""
        self._root, self._settings, self._own = _resolve_root(root), settings, own
        self._ask_git = ask_git
        self._folders: dict[str, _Here | None] = {}

    def accepts(self, path: str) -> bool:
        """True if the walk visits `path`, given relative to the root with slashes. A deleted file is judged by its
        name.

        Files that hold rules of the walk count even if they are hidden. Reasons from a file's content or kind are not
        checked.
        """
        if f"{self._root}{os.sep}{path}" in self._own or ".git" in path.split("/"):
            return False
        folder, _, name = path.rpartition("/")
        here = self._find_folder(folder)
        if here is None or name in RULE_FILES:
            return here is not None
        is_folder = _is_real_folder(f"{self._root}/{path}")
        return not isinstance(_judge_name(name, os.fsencode(name), is_folder, here), Skip)

    def accepts_entry(self, folder: str, entry: os.DirEntry[str]) -> bool:
        """True if the walk reads this file, or enters this folder. `folder` is relative to the root, empty for it."""
        if entry.name == ".git" or entry.path in self._own or (here := self._find_folder(folder)) is None:
            return False
        _, is_folder, _ = _sort_key(entry)
        return not isinstance(_judge(entry, os.fsencode(entry.name), is_folder, here), Skip)

    def _find_folder(self, path: str) -> _Here | None:
        """State for a folder's entries; None if it is left out. A folder that cannot be read any more has no rules of its own."""
        if not self._folders:
            self._folders[""] = self._read(_Folder("", outermost_scope(self._root, self._settings.no_ignore)))
        here, known = self._folders[""], ""
        for name in path.split("/") if path else ():
            if here is None:
                return None
            known += name + "/"
            if known not in self._folders:
                folder = _judge_name(name, os.fsencode(name), True, here)
                self._folders[known] = self._read(folder) if isinstance(folder, _Folder) else None
            here = self._folders[known]
        return here

    def _read(self, folder: _Folder) -> _Here | None:
        entered = _enter(folder, self._root, self._settings)
        if not isinstance(entered, Skip):
            here = entered[0]
        elif entered.reason == SkipReason.UNREADABLE:
            raw, is_own = os.fsencode(folder.path), _is_own(folder.path)
            here = _Here(self._root, folder.path, raw, folder.scope, self._settings, is_own)
        else:
            return None
        return here if self._ask_git else replace(here, scope=replace(here.scope, tracked=None))


def _is_real_folder(path: str) -> bool:
    try:
        return stat.S_ISDIR(os.lstat(path).st_mode)
    except OSError:
        return False


def _resolve_root(root: Path) -> Path:
    if not root.is_dir():
        raise UsageError(f"not a folder: {root}")
    return root.resolve()


def _descend(
    root: Path, settings: Settings, own: frozenset[str], enter: Callable[[_Folder], bool]
) -> Iterator[SeenFile | Skip]:
    """Walk depth first with an explicit stack, so that no tree is too deep."""
    top = _Folder("", outermost_scope(root, settings.no_ignore))
    enter(top)
    stack = [_steps(top, root, settings, own)]
    while stack:
        step = next(stack[-1], None)
        if step is None:
            stack.pop()
        elif not isinstance(step, _Folder):
            yield step
        elif enter(step):
            stack.append(_steps(step, root, settings, own))


def _steps(folder: _Folder, root: Path, settings: Settings, own: frozenset[str]) -> Iterator[_Step]:
    """The decisions about a folder's entries, in order; one Skip if the folder as a whole is left out."""
    entered = _enter(folder, root, settings)
    if isinstance(entered, Skip):
        yield entered
        return
    here, entries = entered
    for raw, is_folder, entry in sorted((_sort_key(entry) for entry in entries), key=lambda row: row[0]):
        if entry.name != ".git" and entry.path not in own:
            yield _judge(entry, raw[:-1] if is_folder else raw, is_folder, here)


def _enter(folder: _Folder, root: Path, settings: Settings) -> tuple[_Here, list[os.DirEntry[str]]] | Skip:
    """The state for a folder's entries, and these in no order; or the Skip of the whole folder."""
    try:
        with os.scandir(f"{root}/{folder.path}") as listing:
            entries = list(listing)
    except OSError as fault:
        if not folder.path:
            raise UsageError(f"cannot read {root}: {fault.strerror}") from None
        return Skip(shown_path(folder.path), SkipReason.UNREADABLE, fault.strerror or str(fault))
    names = {entry.name for entry in entries}
    if folder.path and not folder.wanted and not settings.include_vendored:
        role = classify_folder(folder.path.split("/")[-2], names)
        if role:
            return Skip(shown_path(folder.path), *role)
    known = names - {GIT} if _is_own(folder.path) else names  # notes are read even if git ignores the index
    scope = folder.scope.enter(folder.path, known, folder.inherited)
    return _Here(root, folder.path, os.fsencode(folder.path), scope, settings, _is_own(folder.path)), entries


def _sort_key(entry: os.DirEntry[str]) -> tuple[bytes, bool, os.DirEntry[str]]:
    """The sort key of an entry, with a slash after a folder's name as in its files' paths."""
    is_folder = _is_folder(entry)
    name = entry.name.encode() if entry.name.isascii() else os.fsencode(entry.name)
    return (name + b"/" if is_folder else name), is_folder, entry


def _is_folder(entry: os.DirEntry[str]) -> bool:
    """True for a real folder: not a link or, on Windows, a mount point, which could lead anywhere."""
    try:
        if not entry.is_dir(follow_symlinks=False):
            return False
        tag = getattr(entry.stat(follow_symlinks=False), "st_reparse_tag", 0) if os.name == "nt" else 0
    except OSError:
        return False
    return tag != _MOUNT_POINT


def _judge(entry: os.DirEntry[str], name: bytes, is_folder: bool, here: _Here) -> _Step:
    """Decide about an entry, in the order in which a person would name the causes."""
    named = _judge_name(entry.name, name, is_folder, here)
    if isinstance(named, (Skip, _Folder)):
        return named
    return _judge_file(entry, here.path + entry.name, here.settings, named)


def _judge_name(name: str, raw: bytes, is_folder: bool, here: _Here) -> Skip | _Folder | bool:
    """The decision by name: a Skip, a folder to enter, or for a file whether a rule includes it by name."""
    path = here.path + name + "/" if is_folder else here.path + name
    if is_folder and name == INDEX_FOLDER:
        return _judge_own(path, here)
    if here.own and not (is_folder and name == NOTES_FOLDER):
        return Skip(shown_path(path), SkipReason.NESTED_INDEX, "codelens' own files")
    verdict = here.scope.judge(here.raw + raw, raw, is_folder)
    wanted = verdict is not None and verdict.wanted
    if verdict and verdict.ignored and not verdict.holds_tracked:
        return Skip(shown_path(path), SkipReason.IGNORED, verdict.source)
    if name.startswith(".") and not here.settings.hidden and not wanted:
        return Skip(shown_path(path), SkipReason.HIDDEN, "its name begins with a dot")
    if not is_folder:
        return wanted
    role = None if wanted or here.settings.include_vendored else classify_folder(name)
    if role:
        return Skip(shown_path(path), *role)
    return _Folder(path, here.scope, verdict.source if verdict and verdict.holds_tracked else "", wanted)


def _is_own(folder: str) -> bool:
    """True if a folder's path, with a final slash, is that of a .codelens folder."""
    return f"/{folder}".endswith(f"/{INDEX_FOLDER}/")


def _judge_own(path: str, here: _Here) -> Skip | _Folder:
    """codelens' own folder is entered for its notes, even if git ignores it; .codelensignore can exclude them."""
    notes = f"{here.root}/{path}{NOTES_FOLDER}"
    name = INDEX_FOLDER.encode()
    verdict = replace(here.scope, git=(), inherited="").judge(here.raw + name, name, True)
    if not _is_real_folder(notes) or (verdict and verdict.ignored):  # Path.is_dir would raise if access is denied
        return Skip(shown_path(path), SkipReason.NESTED_INDEX, "codelens' own files")
    return _Folder(path, replace(here.scope, git=(), tracked=None, inherited=""), wanted=True)


def _judge_file(entry: os.DirEntry[str], path: str, settings: Settings, wanted: bool) -> SeenFile | Skip:
    text = shown_path(path)
    try:
        stats = entry.stat(follow_symlinks=False)
    except OSError as fault:
        return Skip(text, SkipReason.UNREADABLE, fault.strerror or str(fault))
    if not stat.S_ISREG(stats.st_mode):
        return _explain_special(entry, text, stats.st_mode)
    stamp = stamp_of(stats)
    if not stats.st_mode & 0o444 and not os.access(entry.path, os.R_OK):
        return Skip(text, SkipReason.UNREADABLE, os.strerror(errno.EACCES), stamp)
    reason = None if wanted or settings.include_vendored else classify_name(path)
    if reason:
        return Skip(text, *reason, stamp)
    if stats.st_size > settings.max_file_size:
        detail = f"{_format_size(stats.st_size)}, limit {_format_size(settings.max_file_size)}"
        return Skip(text, SkipReason.TOO_LARGE, detail, stamp)
    return SeenFile(text, path, stamp)


def _explain_special(entry: os.DirEntry[str], path: str, mode: int) -> Skip:
    if not stat.S_ISLNK(mode) and not stat.S_ISDIR(mode):
        return Skip(path, SkipReason.SPECIAL, _KINDS.get(stat.S_IFMT(mode), "of unknown kind"))
    try:
        target = f"to {shown_path(str(Path(entry.path).readlink()))}"
    except OSError as fault:
        target = fault.strerror or str(fault)
    try:
        entry.stat()
    except OSError as fault:
        return Skip(path, SkipReason.BROKEN_LINK, f"{target}, a loop" if fault.errno == errno.ELOOP else target)
    return Skip(path, SkipReason.LINK, target)


def _format_size(size: int) -> str:
    return f"{size / 1e6:.1f} MB" if size >= 100_000 else f"{size / 1e3:.1f} kB" if size >= 1_000 else f"{size} bytes"
