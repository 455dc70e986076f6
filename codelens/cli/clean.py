"""codelens clean: remove an index, and nothing that is not one."""

import sys
from contextlib import suppress
from pathlib import Path
from typing import Annotated

from codelens.cli.declare import declare, option
from codelens.cli.flags import CommonFlags
from codelens.cli.streams import say
from codelens.cli.workplace import named_index, working_folder
from codelens.errors import IndexCorrupt, NoIndex, SchemaTooNew, UsageError
from codelens.index import Index
from codelens.worktree.place import INDEX_FOLDER, find_index

BESIDE = ("-journal", "-wal", "-shm", ".lock", ".building", ".building-journal")
"""What SQLite and the indexer put beside an index; all of it is worthless without it."""


class CleanFlags(CommonFlags):
    yes: Annotated[bool, option("-y", "--yes", help="Do not ask")] = False


def clean(flags: CleanFlags) -> int:
    """Remove the index. The files that it was made of stay as they are."""
    cwd = working_folder()
    index = named_index(flags) or find_index(cwd)
    if index is None or not index.is_file():
        raise NoIndex(f"no index at {index}" if index else f"no index in {cwd} or above it")
    _refuse_what_is_none(index)
    if not flags.yes and not _agreed(index):
        say("kept")
        return 1
    _remove(index)
    if not flags.quiet:
        say(f"removed {index}")
    return 0


def _refuse_what_is_none(index: Path) -> None:
    """An index of a newer codelens may go too; any other file may not."""
    try:
        Index.open(index).close()
    except SchemaTooNew:
        return
    except IndexCorrupt as fault:
        if index.parent.name == INDEX_FOLDER and index == index.parent / "index.db":
            return  # nothing else has any business at that very place
        raise UsageError(
            f"{index} is not a codelens index: {fault}", "remove the file yourself, if it is one"
        ) from None


def _agreed(index: Path) -> bool:
    if not sys.stdin.isatty():
        raise UsageError(f"this would remove {index}", "say --yes where nobody can be asked")
    sys.stderr.write(f"remove {index}? [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _remove(index: Path) -> None:
    index.unlink()
    for suffix in BESIDE:
        index.with_name(index.name + suffix).unlink(missing_ok=True)
    folder = index.parent
    if folder.name == INDEX_FOLDER and {p.name for p in folder.iterdir()} <= {".gitignore"}:
        (folder / ".gitignore").unlink(missing_ok=True)
        with suppress(OSError):
            folder.rmdir()


command = declare("clean", CleanFlags, clean, epilog="Exit: 0 removed, 1 kept, 2 not an index, 3 no index.")
