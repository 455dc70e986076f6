"""The files below .codelens/notes as notes by their ids. Only what the folder lists is ever opened: no id is a path.

A file is written beside its place and moved there, so that nobody reads half of it.
"""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Iterator
from pathlib import Path

from codelens.errors import CannotWrite, TargetError, UsageError
from codelens.notes.note import FOLDER, Note, kind_of_path, read_note
from codelens.nouns import dataclass
from codelens.worktree.place import INDEX_FOLDER, keep_out_of_git, notes_folder

MOST_SLUG = 60
"""Characters of an id that is made of a title. Chosen."""
MOST_BYTES = 2_000_000
"""A longer file is no note; the walk leaves it out too."""
_PART = ".part"
NO_NOTE = "`codelens note list` names them"


@dataclass(frozen=True, slots=True)
class NoteFile:
    """A note with its place on disk and its whole text."""

    file: Path
    path: str
    """Relative to the root."""
    text: str
    note: Note

    @property
    def body(self) -> str:
        """The text under the front matter, without blank lines around it."""
        return self.text[self.note.body :].strip("\n")


def slug_of(title: str) -> str:
    """A readable id: letters and digits of the title in small letters, joined by dashes."""
    plain = unicodedata.normalize("NFKD", title).encode("ascii", "ignore").decode()
    words = re.findall(r"[a-z0-9]+", plain.lower())
    slug = ""
    for word in words:
        if len(slug) + len(word) > MOST_SLUG:
            break
        slug += f"-{word}" if slug else word
    return slug or (words[0][:MOST_SLUG] if words else "note")


class NoteFolder:
    """The notes about one tree."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.folder = notes_folder(root)

    def notes(self) -> Iterator[NoteFile]:
        """All that can be read, by id. Links are not followed, as the walk follows none."""
        if self.folder.is_symlink() or self.folder.parent.is_symlink():
            return
        for here, folders, names in os.walk(self.folder):
            folders[:] = sorted(f for f in folders if not f.startswith("."))
            for name in sorted(names):
                found = self._read(Path(here, name))
                if found is not None:
                    yield found

    def _read(self, file: Path) -> NoteFile | None:
        path = FOLDER + file.relative_to(self.folder).as_posix()
        if not kind_of_path(path) or file.name.startswith(".") or file.is_symlink() or not file.is_file():
            return None
        if file.stat().st_size > MOST_BYTES:
            return None
        text = file.read_bytes().decode("utf-8", "replace").replace("\r\n", "\n")
        return NoteFile(file, path, text, read_note(text, path))

    def find(self, name: str) -> NoteFile:
        """The note of an id, or the only one whose id begins so. Raises TargetError."""
        known = list(self.notes())
        if exact := [n for n in known if n.note.id == name]:
            return exact[0]
        near = [n for n in known if n.note.id.startswith(name)] if name else []
        if len(near) == 1:
            return near[0]
        listed = tuple(n.note.id for n in (near or [n for n in known if name.lower() in n.note.id.lower()])[:20])
        if near:
            raise TargetError(f"{len(near)} notes begin with {name}", listed, "give more of the id")
        raise TargetError(f"no note is called {name or 'nothing'}", listed, NO_NOTE)

    def add(self, title: str, text: str) -> NoteFile:
        """Write a new note under an id that nobody has. Raises CannotWrite."""
        slug, number = slug_of(title), 1
        while os.path.lexists(self.folder / self._name(slug, number)):
            number += 1
        file = self.folder / self._name(slug, number)
        self.write(file, text)
        return self._again(file)

    @staticmethod
    def _name(slug: str, number: int) -> str:
        return f"{slug}.md" if number == 1 else f"{slug}-{number}.md"

    def change(self, note: NoteFile, text: str) -> NoteFile:
        """Write a note anew. Raises CannotWrite."""
        self.write(note.file, text)
        return self._again(note.file)

    def _again(self, file: Path) -> NoteFile:
        found = self._read(file)
        if found is None:
            raise CannotWrite(f"{file} is no note any more", "restore it, or remove it")
        return found

    def write(self, file: Path, text: str) -> None:
        """Whole or not at all, below the folder of notes and nowhere else. Raises CannotWrite and UsageError."""
        self._refuse_links()
        content = text.encode("utf-8", "surrogateescape")
        if len(content) > MOST_BYTES:
            raise UsageError(f"a note has at most {MOST_BYTES} bytes, not {len(content)}", "link to a file: --at PATH")
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            keep_out_of_git(self.folder.parent)
            beside = file.with_name(file.name + _PART)
            flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_NOFOLLOW", 0)
            with os.fdopen(os.open(beside, flags, 0o644), "wb") as to:
                to.write(content)
                to.flush()
                os.fsync(to.fileno())
            beside.replace(file)
        except OSError as fault:
            said = f"{fault.filename or file}: {fault.strerror or fault}"
            raise CannotWrite(said, f"see that {self.folder} is a folder of yours, with room") from None

    def remove(self, note: NoteFile) -> None:
        """Take a note's file away. Raises CannotWrite."""
        self._refuse_links()
        try:
            note.file.unlink()
        except OSError as fault:
            raise CannotWrite(f"{note.file}: {fault.strerror or fault}", "remove the file yourself") from None

    def _refuse_links(self) -> None:
        """A folder of notes that is a link could lead anywhere."""
        if any(place.is_symlink() for place in (self.folder, self.folder.parent)):
            raise UsageError(f"{INDEX_FOLDER}/notes is a link", "notes are written in the tree that they are about")
