"""The ground of the commands of `note`: the tree, its folder of notes, and its index if it has one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from codelens.cli.flags import CommonFlags
from codelens.cli.streams import say
from codelens.cli.workplace import Workplace, named_index, scope_of, settings_at, working_folder
from codelens.errors import IndexBusy, TargetError, UsageError
from codelens.index import Index
from codelens.notes.folder import NoteFile, NoteFolder
from codelens.notes.note import Anchor, path_and_line
from codelens.worktree.place import INDEX_FOLDER, find_index, git_top

if TYPE_CHECKING:
    from collections.abc import Iterator

    from codelens.notes.finder import Found


class Ground(NamedTuple):
    """One tree. Without an index, places are kept by their lines alone and cannot be looked up."""

    root: Path
    notes: NoteFolder
    place: Workplace | None

    @contextmanager
    def opened(self) -> Iterator[Index | None]:
        """The index for reading; None if there is no index."""
        if self.place is None:
            yield None
            return
        with self.place.open() as index:
            yield index


def ground_of(flags: CommonFlags) -> Ground:
    """The indexed tree around the working directory; without an index the top of the repository, else the folder itself.

    Raises UsageError where the index holds several trees, and none of them is meant.
    """
    cwd = working_folder()
    path = named_index(flags) or find_index(cwd)
    if path is None or not path.is_file():
        root = git_top(cwd) or cwd.resolve()
        return Ground(root, NoteFolder(root), None)
    place = Workplace(cwd, path, settings_at(cwd, path, flags))
    with place.open() as index:
        repositories = index.info().repositories
        names = scope_of(repositories, cwd, ()).repositories or tuple(r.name for r in repositories)
        index.roots()  # notes are written below one: raises where nobody vouches for them
    roots = [Path(r.root) for r in repositories if r.name in names]
    if len(roots) != 1:
        raise UsageError("the index holds several trees", f"change to one of them: {', '.join(map(str, roots))}")
    return Ground(roots[0], NoteFolder(roots[0]), place)


def anchors_at(ground: Ground, places: Sequence[str]) -> list[Anchor]:
    """The place that --at names, as notes store it. Raises TargetError."""
    from codelens.notes.finder import anchor_on_disk, symbol_anchor
    from codelens.notes.note import is_path

    found: list[Anchor] = []
    with ground.opened() as index:
        for one in places:
            text = _below_root(one, ground.root)
            if index is not None:
                anchor, remark = index.notes.anchor(ground.root, text)
                if remark:
                    say(f"note: {remark}")
            else:
                path, line = path_and_line(text)
                named = not line and not is_path(path) and not (ground.root / path).is_file()
                anchor = symbol_anchor(text) if named else anchor_on_disk(path, line, ground.root)
            found.append(anchor)
    return found


def _below_root(name: str, root: Path) -> str:
    """A path is meant from the working directory where it is there, else from the root; a name stays what it is."""
    path, line = path_and_line(name)
    here = (working_folder() / path).resolve()
    if not here.is_file():
        return name
    if not here.is_relative_to(root):
        raise TargetError(f"{path} lies outside of {root}", hint="a note is about the tree that it lies in")
    below = here.relative_to(root).as_posix()
    return f"{below}:{line}" if line else f"./{below}" if "/" not in below else below


def places_of(ground: Ground, notes: Sequence[NoteFile]) -> Mapping[str, Sequence[Found]]:
    """Path of a note → where its places are now; empty without an index."""
    with ground.opened() as index:
        if index is None:
            return {}
        return {n.path: index.notes.find(ground.root, n.note.links) for n in notes if n.note.links}


def take_in(ground: Ground, note: NoteFile, quiet: bool) -> None:
    """Bring the index up to date with one file that was written or removed, or say who will."""
    for fault in note.note.faults:
        say(f"warning: {note.path}: {fault}")
    if ground.place is None:
        if not quiet:
            say(f"note: there is no index here; `codelens index` includes {INDEX_FOLDER}/notes")
        return
    try:
        Index.update_file(ground.place.index_path, ground.root, note.path, ground.place.settings)
    except IndexBusy:
        say("note: another process writes the index; the next `codelens index` includes the note")
