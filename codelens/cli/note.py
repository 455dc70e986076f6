"""codelens note: notes and tasks next to the code, as files in the repository."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from codelens.cli.declare import CommandGroup, command, option, required_argument
from codelens.cli.editor import has_editor, open_editor
from codelens.cli.flags import CommonFlags, JsonFlags, Texts
from codelens.cli.streams import inform, read_stdin, say, write_answer
from codelens.cli.workplace import (
    Workplace,
    find_working_folder,
    load_settings_at,
    locate_index,
    resolve_named_index,
    resolve_scope,
)
from codelens.errors import IndexBusy, TargetError, UsageError
from codelens.notes.note import OPEN, Anchor, NoteFile, NoteFolder, split_line_number
from codelens.text.frontmatter import Value, replace_fields
from codelens.worktree.place import INDEX_FOLDER, find_git_top

if TYPE_CHECKING:
    from codelens.notes.finder import AnchorFinder, AnchorPlace


class TreeWithNotes(NamedTuple):
    """A tree with notes. Without an index, places are stored by their lines only and cannot be looked up."""

    root: Path
    notes: NoteFolder
    place: Workplace | None

    @contextmanager
    def open_finder(self) -> Iterator[AnchorFinder | None]:
        """Open the index to find anchors in the tree; None if there is no index."""
        if self.place is None:
            yield None
        else:
            with self.place.open() as index, index.open_anchors(self.root) as finder:
                yield finder


def find_tree_with_notes(flags: CommonFlags) -> TreeWithNotes:
    """Find the indexed tree around the working directory; without an index the repository's top, else the directory itself.

    Raises UsageError if the index holds several trees and none contains the working directory.
    """
    cwd = find_working_folder()
    path = resolve_named_index(flags) or locate_index(cwd)
    if path is None or not path.is_file():
        root = find_git_top(cwd) or cwd.resolve()
        return TreeWithNotes(root, NoteFolder(root), None)
    place = Workplace(cwd, path, load_settings_at(cwd, path, flags))
    with place.open() as index:
        repositories = index.info().repositories
        names = resolve_scope(repositories, cwd, ()).repositories or tuple(r.name for r in repositories)
        index.roots()  # notes are written below a root: raises unless the index's roots are trusted
    roots = [Path(r.root) for r in repositories if r.name in names]
    if len(roots) != 1:
        raise UsageError("the index holds several trees", f"change to one of them: {', '.join(map(str, roots))}")
    return TreeWithNotes(roots[0], NoteFolder(roots[0]), place)


def find_anchors(tree: TreeWithNotes, places: Sequence[str]) -> list[Anchor]:
    """Find the places that --at names, as notes store them. Raises TargetError."""
    from codelens.notes.finder import create_disk_anchor

    anchors: list[Anchor] = []
    with tree.open_finder() as finder:
        for text in (_resolve_below_root(place, tree.root) for place in places):
            anchor, remark = (
                finder.make_anchor(text, tree.root) if finder else (create_disk_anchor(text, tree.root), "")
            )
            if remark:
                say(f"note: {remark}")
            anchors.append(anchor)
    return anchors


def _resolve_below_root(name: str, root: Path) -> str:
    """Resolve a path from the working directory if it exists there, else from the root; a symbol's name stays as it is."""
    path, line = split_line_number(name)
    here = (find_working_folder() / path).resolve()
    if not here.is_file():
        return name
    if not here.is_relative_to(root):
        raise TargetError(f"{path} lies outside of {root}", hint="a note belongs to the tree that it describes")
    below = here.relative_to(root).as_posix()
    return f"{below}:{line}" if line else f"./{below}" if "/" not in below else below


def find_places(tree: TreeWithNotes, notes: Sequence[NoteFile]) -> Mapping[str, Sequence[AnchorPlace]]:
    """Find the current places of notes: path of a note → its places; empty without an index."""
    with tree.open_finder() as finder:
        return {n.path: [finder.find_place(link) for link in n.note.links] for n in notes if finder and n.note.links}


def warn_of_faults(note: NoteFile, flags: CommonFlags) -> None:
    """Print the faults of a note's front matter to stderr."""
    for fault in note.note.faults:
        inform(flags, f"warning: {note.path}: {fault}")


def _update_note(flags: CommonFlags, tree: TreeWithNotes, note: NoteFile) -> None:
    """Update one written or removed note in the index, or say what will update it."""
    for fault in note.note.faults:
        say(f"warning: {note.path}: {fault}")
    if tree.place is None:
        inform(flags, f"note: there is no index here; `codelens index` includes {INDEX_FOLDER}/notes")
        return
    from codelens.indexing.build import update_file

    try:
        update_file(tree.place.index_path, tree.root, note.path, tree.place.settings)
    except IndexBusy:
        say("note: another process writes the index; the next `codelens index` includes the note")


def _show_written(flags: NoteAddFlags | NoteEditFlags, tree: TreeWithNotes, note: NoteFile) -> None:
    """Print one line about the written note, or its record with --json."""
    from codelens.render.notes import build_note_record, format_note_list

    places = find_places(tree, [note])
    write_answer(
        flags,
        lambda: {"schema": 1, **build_note_record(note, places.get(note.path)), "exit_code": 0},
        lambda: format_note_list([note], places),
    )


PLACES: Any = option("--at PLACE", "Link it to PATH:LINE, a file or a symbol, and follow it there; repeatable")
TAGS: Any = option("--tag TAG", "Tag it with a word; repeatable")
MESSAGE: Any = option("-m --message TEXT", "The text; `-` is stdin [default: what is piped in, else $EDITOR]")

MOST_LETTERS = 500  # Most characters of a title, status or tag; much longer lines of front matter are not read


class NoteAddFlags(CommonFlags, JsonFlags):
    title: str = required_argument("TITLE", "What it is about, in a few words")
    task: bool = option("--task", "Make it a task, with a status")
    status: str | None = option("--status WORD", "Of a task: open, doing, done … [default: open]")
    tag: Texts = TAGS
    at: Texts = PLACES
    message: str | None = MESSAGE


@command(epilog="Exit: 0 written, 2 no such place, or it cannot be written.")
def add(flags: NoteAddFlags) -> int:
    """Write a new note into .codelens/notes, and add it to the index. Its title gives its id."""
    title = _normalize_word(flags.title)
    if flags.status is not None and not flags.task:
        raise UsageError("--status is for tasks", "add --task")
    tree = find_tree_with_notes(flags)
    anchors = find_anchors(tree, flags.at or ())
    text = _read_text(flags.message)
    fields: dict[str, Value] = {
        "title": title,
        "kind": "task" if flags.task else "note",
        "status": _normalize_word(flags.status or OPEN) if flags.task else "",
        "tags": tuple(_normalize_word(tag) for tag in flags.tag or ()),
        "links": tuple(anchor.build_item() for anchor in anchors),
        "created": date.today().isoformat(),
    }
    note: NoteFile = tree.notes.add(title, replace_fields(f"{(text or '').strip()}\n", fields))
    if text is None and has_editor():
        open_editor(note.file)
        note = tree.notes.find(note.note.id)
    _update_note(flags, tree, note)
    _show_written(flags, tree, note)
    return 0


def _read_text(message: str | None) -> str | None:
    """Read the text of -m, where `-` is stdin; without -m read stdin. None on a terminal, where an editor should open."""
    if message is not None and message != "-":
        return _check_utf8(message)
    if message is None and (sys.stdin is None or sys.stdin.isatty()):
        return None
    return read_stdin("give the text with -m TEXT").decode("utf-8", "replace").replace("\r\n", "\n")


def _check_utf8(text: str) -> str:
    """Return the text unchanged. Raises UsageError if it is not UTF-8, the encoding of notes."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise UsageError(f"{text[:40]!r} is not UTF-8", "notes are written in UTF-8") from None
    return text


def _normalize_word(word: str) -> str:
    """Normalise the spaces of a title, status or tag. Raises UsageError if it is empty, or too long to be read again."""
    plain = " ".join(_check_utf8(word).split())
    if not plain:
        raise UsageError("a tag or title must not be empty")
    if len(plain) > MOST_LETTERS:
        raise UsageError(f"{plain[:20]}… has more than {MOST_LETTERS} letters", "put the rest into the text: -m TEXT")
    return plain


class NoteEditFlags(CommonFlags, JsonFlags):
    id: str = required_argument("ID", "The note's id, or its beginning")
    title: str | None = option("--title TEXT", "Change the title; the id stays")
    status: str | None = option("--status WORD", "open, doing, done …; makes a note a task")
    tag: Texts = TAGS
    untag: Texts = option("--untag TAG", "Remove a tag; repeatable")
    at: Texts = PLACES
    unlink: Texts = option("--unlink PLACE", "Remove a link to a place, as `note show` prints it; repeatable")
    message: str | None = option("-m --message TEXT", "Replace the text; `-` is stdin")


@command(epilog="Exit: 0 written, 2 no such note or place, or it cannot be written.")
def edit(flags: NoteEditFlags) -> int:
    """Change a note. Places that moved are updated. Without an option $EDITOR opens the file."""
    tree = find_tree_with_notes(flags)
    note = tree.notes.find(flags.id)
    changes = (flags.title, flags.status, flags.tag, flags.untag, flags.at, flags.unlink, flags.message)
    if all(change is None for change in changes):
        if not has_editor():
            raise UsageError("nothing to change", f"give an option, or set $EDITOR on a terminal, or edit {note.path}")
        open_editor(note.file)
        note = tree.notes.find(note.note.id)
    else:
        note = tree.notes.write(note.file, _change_text(tree, note, flags))
    _update_note(flags, tree, note)
    _show_written(flags, tree, note)
    return 0


def _change_text(tree: TreeWithNotes, note: NoteFile, flags: NoteEditFlags) -> str:
    """Make the new text of a note's file from the flags."""
    text = note.text
    if flags.message is not None:
        text = f"{text[: note.note.body]}{(_read_text(flags.message) or '').strip()}\n"
    fields: dict[str, Value] = {}
    if flags.title is not None:
        fields["title"] = _normalize_word(flags.title)
    if flags.status is not None:
        fields |= {"kind": "task", "status": _normalize_word(flags.status)}
    if flags.tag or flags.untag:
        tags = [tag for tag in note.note.tags if tag not in (flags.untag or ())]
        fields["tags"] = tuple(dict.fromkeys([*tags, *map(_normalize_word, flags.tag or ())]))
    if note.note.links or flags.at:
        fields["links"] = tuple(anchor.build_item() for anchor in _change_links(tree, note, flags))
    try:
        return replace_fields(text, fields)
    except ValueError as fault:
        raise UsageError(f"{note.path}: {fault}", "fix its front matter first") from None


def _change_links(tree: TreeWithNotes, note: NoteFile, flags: NoteEditFlags) -> list[Anchor]:
    """Make the new links of a note: renewed ones, without those of --unlink and with those of --at."""
    links = renewed = list(note.note.links)
    now, unlinked = None, flags.unlink or ()
    with tree.open_finder() as finder:
        if finder:
            now = [finder.find_place(link) for link in links]
            renewed = [finder.renew_anchor(place) for place in now]
    names = [{a.label, a.symbol} | ({f"{now[i].path}:{now[i].line}"} if now else set()) for i, a in enumerate(links)]
    for place in unlinked:
        if not any(place in known for known in names):
            labels = tuple(anchor.label for anchor in links)
            raise TargetError(f"{note.note.id} is not linked to {place}", labels, "name one of its places")
    linked = [anchor for anchor, known in zip(renewed, names, strict=True) if known.isdisjoint(unlinked)]
    return list(dict.fromkeys([*linked, *find_anchors(tree, flags.at or ())]))


class NoteListFlags(CommonFlags, JsonFlags):
    task: bool = option("--task", "Only tasks")
    status: str | None = option("--status WORD", "Only with this status")
    tag: Texts = option("--tag TAG", "Only with all of these tags; repeatable")
    lost: bool = option("--lost", "Only with a place that is lost")


@command("list", epilog="Exit: 0 some, 1 none.")
def list_notes(flags: NoteListFlags) -> int:
    """List the notes in .codelens/notes. One line for each, in order of id, and one below it for each place."""
    from codelens.render.notes import build_note_list_record, format_note_list

    tree = find_tree_with_notes(flags)
    notes = [
        file
        for file in tree.notes.read_notes()
        if (file.note.kind == "task" or not flags.task)
        and flags.status in (None, file.note.status)
        and set(flags.tag or ()) <= set(file.note.tags)
    ]
    places = find_places(tree, notes)
    if flags.lost:
        notes = [n for n in notes if any(p.state == "lost" for p in places.get(n.path, ()))]
    exit_code = 0 if notes else 1
    for note in notes:
        warn_of_faults(note, flags)
    write_answer(
        flags, lambda: build_note_list_record(notes, places, exit_code), lambda: format_note_list(notes, places)
    )
    if not (notes or flags.json):
        filtered = flags.task or flags.status or flags.tag or flags.lost
        inform(flags, "no note matches" if filtered else "there are no notes yet")
    return exit_code


class NoteShowFlags(CommonFlags, JsonFlags):
    id: str = required_argument("ID", "The note's id, or its beginning")


@command(epilog="Exit: 0 shown, 2 no such note.")
def show(flags: NoteShowFlags) -> int:
    """Print a note. Places that moved are shown where they are now; lost places are reported."""
    from codelens.render.notes import build_note_record, format_note

    tree = find_tree_with_notes(flags)
    note = tree.notes.find(flags.id)
    places = find_places(tree, [note])
    warn_of_faults(note, flags)
    write_answer(
        flags,
        lambda: {"schema": 1, **build_note_record(note, places.get(note.path)), "body": note.body, "exit_code": 0},
        lambda: format_note(note, places.get(note.path)),
    )
    return 0


class NoteRemoveFlags(CommonFlags):
    ids: list[str] = required_argument("ID...", "Ids of notes, in full")


@command(epilog="Exit: 0 removed, 2 no such note, or it cannot be removed.")
def remove(flags: NoteRemoveFlags) -> int:
    """Delete notes, and remove them from the index. Committed ones are still in git."""
    tree = find_tree_with_notes(flags)
    known = {note.note.id: note for note in tree.notes.read_notes()}
    for name in flags.ids:
        note = known.get(name) or tree.notes.find(name)
        if note.note.id != name:  # the beginning of an id suffices to show a note, not to delete it
            raise UsageError(f"no note is called {name}", f"the only one that begins like this is {note.note.id}")
    for name in dict.fromkeys(flags.ids):
        tree.notes.remove(known[name])
        _update_note(flags, tree, known[name])
        inform(flags, f"removed {known[name].path}")
    return 0


note = CommandGroup(
    "note",
    (add, list_notes, show, edit, remove),
    help="Keep notes and tasks linked to places in the code.",
    epilog="Notes are Markdown files in .codelens/notes, for git to keep; `codelens search --kind note` finds them.",
)
