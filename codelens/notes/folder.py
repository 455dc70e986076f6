"""The folder .codelens/notes: lists, finds, writes and removes notes by id. An id is never used as a path.

A file is written under a temporary name and then moved, so that nobody reads half of it.
"""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Iterator
from itertools import chain, count
from pathlib import Path

from codelens.errors import CannotWrite, TargetError, UsageError
from codelens.model.fast_dataclass import dataclass
from codelens.notes.note import FOLDER, Note, kind_of_path, read_note
from codelens.worktree.place import INDEX_FOLDER, keep_out_of_git, notes_folder

MOST_SLUG = 60  # Most characters of an id made from a title
MOST_BYTES = 2_000_000  # Most bytes of a note. The walk leaves out longer files too.


@dataclass(frozen=True, slots=True)
class NoteFile:
    """A note with its file and full text."""

    file: Path
    path: str  # Relative to the root
    text: str
    note: Note

    @property
    def body(self) -> str:
        """The text after the front matter, without blank lines around it."""
        return self.text[self.note.body :].strip("\n")


class NoteFolder:
    """The notes folder of one tree."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.folder = notes_folder(root)

    def notes(self) -> Iterator[NoteFile]:
        """All readable notes, by path. Symbolic links are not followed."""
        if self.folder.is_symlink() or self.folder.parent.is_symlink():
            return
        for here, folders, names in os.walk(self.folder):
            folders[:] = sorted(f for f in folders if not f.startswith("."))
            for name in sorted(names):
                if (note := self._read(Path(here, name))) is not None:
                    yield note

    def _read(self, file: Path) -> NoteFile | None:
        path = FOLDER + file.relative_to(self.folder).as_posix()
        if not kind_of_path(path) or file.name.startswith(".") or file.is_symlink() or not file.is_file():
            return None
        if file.stat().st_size > MOST_BYTES:
            return None
        text = file.read_bytes().decode("utf-8", "replace").replace("\r\n", "\n")
        return NoteFile(file, path, text, read_note(text, path))

    def find(self, name: str) -> NoteFile:
        """The note with an id, or the only one whose id starts with it. Raises TargetError."""
        known = list(self.notes())
        if exact := [n for n in known if n.note.id == name]:
            return exact[0]
        near = [n for n in known if n.note.id.startswith(name)] if name else []
        if len(near) == 1:
            return near[0]
        listed = tuple(n.note.id for n in (near or [n for n in known if name.lower() in n.note.id.lower()])[:20])
        if near:
            raise TargetError(f"{len(near)} notes begin with {name}", listed, "give more of the id")
        raise TargetError(f"no note is called {name or '(empty)'}", listed, "`codelens note list` names them")

    def add(self, title: str, text: str) -> NoteFile:
        """Write a new note under a free id: the words of the title in lower case, joined by dashes. Raises CannotWrite."""
        plain = unicodedata.normalize("NFKD", title).encode("ascii", "ignore").decode()
        words: list[str] = re.findall(r"[a-z0-9]+", plain.lower())
        first, *others = words or ["note"]
        slug = first[:MOST_SLUG]
        for word in others if len(first) <= MOST_SLUG else ():
            if len(slug) + len(word) > MOST_SLUG:
                break
            slug += f"-{word}"
        files = chain([self.folder / f"{slug}.md"], (self.folder / f"{slug}-{number}.md" for number in count(2)))
        return self.write(next(file for file in files if not os.path.lexists(file)), text)

    def write(self, file: Path, text: str) -> NoteFile:
        """Write a note's file below the notes folder atomically, and read it. Raises CannotWrite and UsageError."""
        self._refuse_links()
        content = text.encode("utf-8", "surrogateescape")
        if len(content) > MOST_BYTES:
            raise UsageError(f"a note has at most {MOST_BYTES} bytes, not {len(content)}", "link to a file: --at PATH")
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            keep_out_of_git(self.folder.parent)
            temporary = file.with_name(file.name + ".part")
            flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_NOFOLLOW", 0)
            with os.fdopen(os.open(temporary, flags, 0o644), "wb") as to:
                to.write(content)
                to.flush()
                os.fsync(to.fileno())
            temporary.replace(file)
        except OSError as fault:
            message = f"{fault.filename or file}: {fault.strerror or fault}"
            raise CannotWrite(message, f"check that you may write to {self.folder}, and free space") from None
        if (note := self._read(file)) is None:
            raise CannotWrite(f"{file} is not a note any more", "restore it, or remove it")
        return note

    def remove(self, note: NoteFile) -> None:
        """Delete a note's file. Raises CannotWrite."""
        self._refuse_links()
        try:
            note.file.unlink()
        except OSError as fault:
            raise CannotWrite(f"{note.file}: {fault.strerror or fault}", "remove the file yourself") from None

    def _refuse_links(self) -> None:
        """Raise UsageError if the notes folder is a symbolic link, which could lead anywhere."""
        if any(place.is_symlink() for place in (self.folder, self.folder.parent)):
            raise UsageError(f"{INDEX_FOLDER}/notes is a link", "notes are kept in the tree that they describe")
