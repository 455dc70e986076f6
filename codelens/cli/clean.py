"""codelens clean: remove an index, and nothing that is not one; or the packs that were kept."""

import sys
from contextlib import suppress
from pathlib import Path
from typing import Annotated

from codelens.cli.declare import declare, option
from codelens.cli.flags import CommonFlags
from codelens.cli.streams import say
from codelens.cli.workplace import named_index, working_folder
from codelens.errors import IndexCorrupt, IndexNotTrusted, NoIndex, SchemaTooNew, UsageError
from codelens.index import Index
from codelens.worktree.place import INDEX_FOLDER, memory_place, new_index_place, traces_place, unfinished_index


class CleanFlags(CommonFlags):
    """Whether to ask before the index goes."""

    yes: Annotated[bool, option("-y", "--yes", help="Do not ask")] = False
    cache: Annotated[bool, option("--cache", help="Remove the written context packs of all indexes, and no index")] = (
        False
    )


def clean(flags: CleanFlags) -> int:
    """Remove the index. The files that it was made of stay as they are."""
    if flags.cache:
        count = Index.forget_packs()
        Index.forget_vectors()
        if not flags.quiet:
            say(f"removed {count} packs")
        return 0
    cwd = working_folder()
    index = named_index(flags) or new_index_place(cwd)
    if index.is_file():
        _refuse_what_is_none(index)
    elif not unfinished_index(index):
        raise NoIndex(f"no index at {index}" if flags.db else f"no index in {cwd} or above it")
    if not flags.yes and not _agreed(index):
        say("kept")
        return 1
    _remove(index)
    if not flags.quiet:
        say(f"removed {index}")
        if (memory := memory_place(index)).is_file():
            say(f"note: what was recorded of its results stays, for no files can bring it back: {memory}")
        if (traces := traces_place(index)).is_file():
            say(f"note: what was seen to run stays: {traces}")
    return 0


def _refuse_what_is_none(index: Path) -> None:
    """An index of a newer codelens may go too; any other file may not."""
    try:
        Index.open(index).close()
    except (SchemaTooNew, IndexCorrupt, IndexNotTrusted) as fault:
        if Index.is_one(index):
            return
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
    Index.remove(index)
    folder = index.parent
    if folder.name == INDEX_FOLDER and {p.name for p in folder.iterdir()} <= {".gitignore"}:
        (folder / ".gitignore").unlink(missing_ok=True)
        with suppress(OSError):
            folder.rmdir()


command = declare(
    "clean",
    CleanFlags,
    clean,
    epilog="Exit: 0 removed, 1 kept, 2 not an index, 3 no index, 5 another process writes it.",
)
