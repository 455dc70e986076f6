"""The paths of an index and of the files around it. An index is the nearest one upwards that covers the
place, or a new one at the repository's top."""

from __future__ import annotations

import mmap
from collections.abc import Callable
from pathlib import Path

from codelens.errors import UnsafePath, build_write_error
from codelens.files import is_link, make_folder, refuse_special, resolve_below, write_new
from codelens.worktree.repository import (
    PATHS_ARE_WHOLE,
    GitError,
    find_enclosing_repository,
    open_repository,
    run_git,
)

INDEX_FOLDER = ".codelens"
INDEX_NAME = "index.db"
BUILDING = ".building"  # Suffix of an unfinished index, which a later run continues
COMPACTED = ".compacted"  # Suffix of a finished build's copy without unused pages, which replaces the index
BESIDE = ("-journal", "-wal", "-shm")  # Suffixes of the files that SQLite may create next to a database
LOCK = ".lock"
MEMORY = "memory.db"  # What users recorded about results; NAME.memory.db for an index with another name
NOTES_FOLDER = "notes"  # Folder for notes inside the index's folder: the only files there that people write and commit
IGNORE = "*\n!notes/\n!notes/**\n"
_IGNORE_ALL = "*\n"  # The .gitignore that older versions wrote, before there were notes

TRACES = "traces.db"  # File of run-time traces, named like that of the memory


Covers = Callable[[Path, Path], bool]  # (index, folder): whether the index is about this folder, too


def find_index(start: Path, covers: Covers) -> Path | None:
    """Find the absolute path of the nearest .codelens/index.db in `start` or above; None without one. An index around the
    repository of `start` is passed over unless it covers that. The search stops at the top of a linked worktree: above it may be
    the index of another checkout of the same files."""
    start = start.resolve()
    top: Path | None = None
    for folder in (start, *start.parents):
        index = folder / INDEX_FOLDER / INDEX_NAME
        if index.is_file() and (top is None or covers(index, top)):
            return index
        if repository := open_repository(folder):
            if repository.is_linked:
                return None
            top = top or folder
    return None


def is_home(folder: Path) -> bool:
    """True for the user's home folder and the folders around it: none of them is a project."""
    home = Path.home().resolve()
    return folder.resolve() in (home, *home.parents)


def find_git_top(start: Path) -> Path | None:
    """Find the top folder of the work tree that contains `start`, by its `.git`, without running git."""
    repository = find_enclosing_repository(start)
    return repository.top if repository else None


def choose_index_place(start: Path, covers: Covers) -> Path:
    """Choose the path to which `codelens index` writes in `start`: an existing index, or the place for a new one."""
    start = start.resolve()
    return find_index(start, covers) or (find_git_top(start) or start) / INDEX_FOLDER / INDEX_NAME


def prepare_index_folder(index: Path) -> None:
    """Create the index's folder; if it is named .codelens, with a .gitignore that keeps everything but notes out of git. Raises
    CannotWrite and UnsafePath."""
    refuse_unsafe_index(index)
    try:
        make_folder(index.parent)
        if index.parent.name == INDEX_FOLDER:
            keep_out_of_git(index.parent)
    except OSError as fault:
        raise build_write_error(fault.filename or index.parent, fault) from None


def keep_out_of_git(folder: Path) -> None:
    """Write or update the .gitignore of a .codelens folder, unless the user changed it or it is a link."""
    ignore = folder / ".gitignore"
    if is_link(ignore):  # its target is not ours
        return
    if ignore.is_file() and ignore.read_bytes() == _IGNORE_ALL.encode():
        ignore.unlink()
    if not ignore.exists():
        write_new(ignore, IGNORE.encode())


def refuse_unsafe_index(index: Path) -> None:
    """Raise UnsafePath if an index, or a file next to it that codelens or SQLite would open, is a link, a pipe or a device.

    A file that the user names may be a link outside of repositories. The folder .codelens never is: a clone could lead
    searches to the index of another project."""
    index = index.absolute()
    if index.parent.name == INDEX_FOLDER and (is_link(index.parent) or is_link(index)):
        hint = "remove the link; to keep the index elsewhere, name its file with --db"
        raise UnsafePath(f"a link leads from {index} elsewhere: what belongs to an index stays in its tree", hint)

    real = resolve_below(index)
    for suffix in ("", BUILDING, COMPACTED, *BESIDE, LOCK):
        refuse_special(Path(f"{real}{suffix}"))


def locate_notes(root: Path) -> Path:
    return root / INDEX_FOLDER / NOTES_FOLDER


def list_own_files(index: Path) -> frozenset[str]:
    index = index.resolve()
    paths = {f"{index}{stage}{beside}" for stage in ("", BUILDING, COMPACTED) for beside in ("", *BESIDE, LOCK)}
    records = (locate_memory(index), locate_traces(index))
    return frozenset(paths | {f"{record}{beside}" for record in records for beside in ("", *BESIDE)})


def locate_memory(index: Path) -> Path:
    return index.with_name(MEMORY if index.name == INDEX_NAME else f"{index.stem}.{MEMORY}")


def locate_traces(index: Path) -> Path:
    return index.with_name(TRACES if index.name == INDEX_NAME else f"{index.stem}.{TRACES}")


def find_unfinished_index(index: Path) -> Path | None:
    building = index.with_name(index.name + BUILDING)
    return building if building.is_file() else None


def is_tracked(index: Path) -> bool:
    """True if git tracks this file, or one that SQLite would read with it (-wal, -journal): then others can change it. git runs
    only if its index file may contain the path. If git cannot tell, such a path counts as tracked."""
    index = index.resolve()
    repository = find_enclosing_repository(index.parent)
    if repository is None:
        return False
    below = index.relative_to(repository.top).as_posix()
    if not any(repository.git_folder.glob("sharedindex.*")):
        try:
            with (repository.git_folder / "index").open("rb") as file:
                is_readable = int.from_bytes(file.read(8)[4:], "big") in PATHS_ARE_WHOLE
                with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as entries:
                    if is_readable and entries.find(below.encode("utf-8", "surrogateescape")) < 0:
                        return False
        except FileNotFoundError:
            return False
        except (OSError, ValueError):  # unreadable or empty
            pass
    try:
        named = [f":(literal,top){below}{suffix}" for suffix in ("", *BESIDE)]
        return bool(run_git(repository, "ls-files", "-z", "--", *named))
    except GitError:
        return True
