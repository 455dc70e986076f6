"""Where the index of a folder lies: the nearest one upwards, else the top of the repository, else the folder itself."""

from __future__ import annotations

from pathlib import Path

from codelens.worktree.repository import enclosing_repository, repository_at

INDEX_FOLDER = ".codelens"
INDEX_NAME = "index.db"
BUILDING = ".building"
"""Suffix of an index that is not finished; a later run goes on with it."""
COMPACTED = ".compacted"
"""Suffix of a finished build's copy without unused pages, which takes the index's place."""
BESIDE = ("-journal", "-wal", "-shm")
"""What SQLite may put beside a database."""
LOCK = ".lock"
MEMORY = "memory.db"
"""What was recorded of an index's results: in its folder, or for an index of another name beside it as NAME.memory.db."""
NOTES_FOLDER = "notes"
"""In the index's folder: the one thing there that people write, and that belongs into git."""
IGNORE = "*\n!notes/\n!notes/**\n"
_IGNORE_ALL = "*\n"
"""What was written before there were notes."""

TRACES = "traces.db"
"""What was seen to run; it lies as memory does."""


def find_index(start: Path) -> Path | None:
    """The nearest .codelens/index.db in `start` or above it, with absolute path; None if there is none.

    Not above the top of a linked worktree: what lies there may be the index of another checkout of the same files.
    """
    start = start.resolve()
    for folder in (start, *start.parents):
        if (index := _index_in(folder)).is_file():
            return index
        if (repository := repository_at(folder)) and repository.common.resolve() != repository.git_folder.resolve():
            return None
    return None


def git_top(start: Path) -> Path | None:
    """The top folder of the work tree that holds `start`, found by its `.git` and without running git."""
    repository = enclosing_repository(start.resolve())
    return repository.top if repository else None


def new_index_place(start: Path) -> Path:
    """Where `codelens index` run in `start` writes: the index that is there already, else where a new one belongs."""
    start = start.resolve()
    return find_index(start) or _index_in(git_top(start) or start)


def prepare_index_folder(index: Path) -> None:
    """Makes the index's folder, and in one of the name .codelens a .gitignore that keeps all but notes out of git.

    A file that is already there stays as it is, unless codelens wrote it; a folder that someone chose with --db gets none.
    """
    index.parent.mkdir(parents=True, exist_ok=True)
    if index.parent.name == INDEX_FOLDER:
        keep_out_of_git(index.parent)


def keep_out_of_git(folder: Path) -> None:
    """Write or mend the .gitignore of a .codelens folder; one that somebody changed stays as it is, and so does a link."""
    ignore = folder / ".gitignore"
    if ignore.is_symlink():  # what it leads to is not ours
        return
    if not ignore.exists() or (ignore.is_file() and ignore.read_bytes() == _IGNORE_ALL.encode()):
        ignore.write_text(IGNORE, encoding="utf-8")


def notes_folder(root: Path) -> Path:
    """Where the notes about a tree lie."""
    return root / INDEX_FOLDER / NOTES_FOLDER


def own_files(index: Path) -> frozenset[str]:
    """The absolute paths that an index and what is made beside it may have."""
    index = index.resolve()
    own = {f"{index}{begun}{beside}" for begun in ("", BUILDING, COMPACTED) for beside in ("", *BESIDE, LOCK)}
    kept = (memory_place(index), traces_place(index))
    return frozenset(own | {f"{one}{beside}" for one in kept for beside in ("", *BESIDE)})


def memory_place(index: Path) -> Path:
    """Where what is remembered of an index's results lies. It may not be there."""
    return index.with_name(MEMORY if index.name == INDEX_NAME else f"{index.stem}.{MEMORY}")


def traces_place(index: Path) -> Path:
    """Where what was seen of an index's symbols at run time lies. It may not be there."""
    return index.with_name(TRACES if index.name == INDEX_NAME else f"{index.stem}.{TRACES}")


def unfinished_index(index: Path) -> Path | None:
    """The build of this index that was begun and not ended, where there is one."""
    building = index.with_name(index.name + BUILDING)
    return building if building.is_file() else None


def _index_in(folder: Path) -> Path:
    return folder / INDEX_FOLDER / INDEX_NAME
