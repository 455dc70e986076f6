"""Which trees a command that writes an index works on, and how each of them is walked."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from codelens.cli.flags import CommonFlags
from codelens.cli.streams import say
from codelens.cli.workplace import Workplace, named_index, present_roots, settings_at, working_folder
from codelens.config import LoadedSettings
from codelens.errors import IndexCorrupt, IndexNotTrusted, NoIndex, SchemaTooNew, UsageError
from codelens.worktree.place import INDEX_FOLDER, git_top, new_index_place


class Trees(NamedTuple):
    """Where to work, on which roots, and the settings that hold for each of them."""

    place: Workplace
    roots: list[Path]
    settings_of: Callable[[Path], LoadedSettings]


def trees_of(flags: CommonFlags, asked: Sequence[Path], overrides: Mapping[str, Any] | None = None) -> Trees:
    """The folders that were named, else those of the index that is there, else the top of the repository."""
    cwd = working_folder()
    named = [cwd / root for root in asked]
    for root in named:
        if not root.is_dir():
            raise UsageError(f"not a folder: {root}")
    index = named_index(flags) or new_index_place(named[0] if len(named) == 1 else cwd)
    place = Workplace(cwd, index, settings_at(named[0] if named else cwd, index, flags, overrides))
    return Trees(place, named or _default_roots(place), lambda root: settings_at(root, index, flags, overrides))


def _default_roots(place: Workplace) -> list[Path]:
    """What the index holds already, else the folder that its place stands for."""
    try:
        with place.open() as opened:
            if strays := opened.strays():
                text = f"{strays[0]} holds nothing of what was indexed: the index was moved without its tree"
                raise UsageError(text, "name the folder that is to be indexed")
            if roots := opened.roots():
                return present_roots(roots)
    except (IndexCorrupt, SchemaTooNew) as fault:
        say(f"note: {fault}")
    except (IndexNotTrusted, NoIndex):  # who writes to it says so, unless it is replaced
        pass
    if place.index_path.parent.name == INDEX_FOLDER:
        return [place.index_path.parent.parent]
    return [git_top(place.cwd) or place.cwd]
