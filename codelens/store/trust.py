"""Decide which index files may be opened: those that codelens made here for this user, and those that the user accepted.

A repository may contain a foreign `.codelens/index.db`. So each index is signed with a MAC over its identity, path, folder
and roots, by a key that only the user has. The MAC does not cover later changes, so an index that git tracks must also be
on the user's list of accepted files. That list also holds accepted indexes from other machines.

Key and list are in the folder below $XDG_DATA_HOME and in the default one: a shell may set the variable, and a process that
an agent starts may lack it. Each folder has its own key, an index has a MAC by each, and one that fits is enough.

A folder that the user moved or renamed keeps its device, its inode and the change times of its files, so its index is
still trusted. A copy does not keep them.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import apsw

from codelens.config import list_user_places
from codelens.errors import CannotWrite, IndexNotTrusted
from codelens.files import write_private_file
from codelens.model.code import FileStamp
from codelens.worktree.files import build_stamp
from codelens.worktree.place import BESIDE, INDEX_FOLDER, is_tracked
from codelens.worktree.repository import find_enclosing_repository, is_special

try:
    from _blake2 import blake2b  # hashlib would load OpenSSL: 3 ms or more of each search
except ImportError:
    from hashlib import blake2b

KEY_BYTES = 32
KEY_NAME, ACCEPTED_NAME = "index.key", "accepted-indexes.json"
MARK, IDENTITY, PLACE, FOLDER = "mark", "identity", "place", "folder"
"""Keys in the table `meta`: the MACs, a random identity of the index, and the path and folder for which they were made."""
MOST_COMPARED = 100  # Limit on files whose stamps are compared to recognise a moved folder; one match is enough
NO_KEY = "set XDG_DATA_HOME to a folder for a key, then `codelens index --rebuild`; or set CODELENS_TRUST_INDEXES=1"


def _may_be_tracked(place: Path) -> bool:
    """True if git tracks the index, or if that is unknown. A git folder whose list of files is a pipe tracks nothing."""
    repository = find_enclosing_repository(place.resolve().parent)
    if repository and is_special(repository.git_folder / "index"):
        return False
    return is_tracked(place)


def is_ours(connection: apsw.Connection, place: Path, accepted: bool = False) -> bool:
    """True if the index is signed for this user and path, False if it is only accepted. Raises IndexNotTrusted for others."""
    fits = _has_mark(connection, place) or _has_moved(connection, place)
    if fits and not _may_be_tracked(place):
        return True
    if accepted or _is_accepted(place):
        return fits
    if fits:
        raise IndexNotTrusted(f"git tracks {place}, so others can change it")
    before = read_marked_place(connection)
    if before is not None and before != place and _has_mark(connection, before):
        raise IndexNotTrusted(f"{place} was made at {before} and moved or copied here")
    folders = list_user_places("")
    where = " or ".join(map(str, folders)) or "any folder, since you have no home folder"
    hint = "" if _read_keys() or any(map(_can_write, folders)) else NO_KEY
    raise IndexNotTrusted(f"{place} was not made here by codelens for you: it fits no key in {where}", hint)


def _can_write(folder: Path) -> bool:
    """True if the folder can be written, or made."""
    return os.access(next(each for each in (folder, *folder.parents) if each.exists()), os.W_OK)


def sign(connection: apsw.Connection, place: Path) -> bool:
    """Sign the index for this user and path, in the caller's transaction. Returns False if no key can be stored."""
    keys = _read_keys(create=True)
    if not keys:
        return False
    identity = _read_meta(connection, IDENTITY) or os.urandom(16).hex()
    for name, value in ((IDENTITY, identity), (PLACE, os.fsencode(place).hex()), (FOLDER, _identify_folder(place))):
        connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (name, value)).fetchall()
    marks = " ".join(_compute_mark(key, connection, place) for key in keys)
    connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (MARK, marks)).fetchall()
    return True


def is_settled(connection: apsw.Connection, place: Path) -> bool:
    """True if the index is signed for this path and folder by each key; False if it was moved or a key was added."""
    if read_marked_place(connection) != place or _read_meta(connection, FOLDER) != _identify_folder(place):
        return False
    marks = _read_meta(connection, MARK).split()
    return all(_compute_mark(key, connection, place) in marks for key in _read_keys(create=True))


def accept(place: Path) -> str:
    """Add the file with its current content to the user's lists; returns its SHA-256. Raises IndexNotTrusted and CannotWrite."""
    import json

    if left := _find_log_beside(place):
        raise IndexNotTrusted(f"{left.name} is next to {place}: the index was not finished where it was made")
    entry = {**_read_stat(place), "sha256": _digest(place)}
    fault = "there is no home folder"
    is_stored = False
    for folder in list_user_places(""):
        file = folder / ACCEPTED_NAME
        listed = {**_read_accepted(file), os.fspath(place): entry}
        content = json.dumps(listed, indent=1, sort_keys=True)
        try:
            write_private_file(file, content.encode())
            is_stored = True
        except OSError as error:
            fault = f"{file}: {error.strerror or error}"

    if not is_stored:
        raise CannotWrite(f"the list of accepted indexes cannot be stored: {fault}", "set XDG_DATA_HOME")
    return str(entry["sha256"])


def renew_acceptance(place: Path) -> None:
    """Accept the new content of an index that git tracks, after the user's own run has written it."""
    if _may_be_tracked(place):
        with suppress(IndexNotTrusted, CannotWrite):  # the next search reports what is wrong
            accept(place)


def refuse_roots_outside(place: Path, roots: Sequence[Path]) -> None:
    """Raise IndexNotTrusted if a foreign index has roots outside its folder, which a run must not read."""
    folder = _find_folder(place)
    for root in roots:
        if not root.is_relative_to(folder):
            hint = f"`codelens index {root}` accepts that folder, `codelens index --rebuild` builds the index again"
            raise IndexNotTrusted(f"{place} was made from {root}, which lies outside {folder}", hint)


def can_sign() -> bool:
    """True if the user has a key, or one can be created."""
    return bool(_read_keys(create=True))


def _has_mark(connection: apsw.Connection, place: Path) -> bool:
    """True if the index holds the MAC of one of this user's keys for this path."""
    marks = _read_meta(connection, MARK).split()
    # no timing attack: whoever can time this cannot forge files
    return bool(marks) and any(_compute_mark(key, connection, place) in marks for key in _read_keys())


def _has_moved(connection: apsw.Connection, place: Path) -> bool:
    """True if the user moved or renamed the folder of an index, within one device.

    The MAC covers device and inode. An inode can be reused, so one of the indexed files must also have the inode and the
    times that the index recorded. No program can set a change time, or foresee both.
    """
    before, is_here = read_marked_place(connection), _read_meta(connection, FOLDER) == _identify_folder(place)
    if before in (None, place) or not is_here or not _has_mark(connection, before):
        return False
    return is_owned(place) and is_owned(_find_folder(place)) and _holds_indexed_file(connection, place)


def is_owned(path: Path) -> bool:
    """True if a file or folder belongs to the user. Always True on Windows, where only the MAC is checked."""
    return sys.platform == "win32" or path.stat().st_uid == os.geteuid()


def _holds_indexed_file(connection: apsw.Connection, place: Path) -> bool:
    """True if one of the first indexed files below the folder has its recorded stamp."""
    sql = """SELECT r.root, d.path, d.os_path, d.size, d.mtime_ns, d.inode, d.ctime_ns FROM documents d
        JOIN repositories r ON r.id = d.repository_id ORDER BY d.id LIMIT ?"""
    rows: Sequence[Any] = connection.execute(sql, (MOST_COMPARED,)).fetchall()
    for root, path, raw, *stamp in rows:
        with suppress(OSError, TypeError, ValueError):
            file = place.parent / root / os.fsdecode(path if raw is None else raw)
            if not Path(root).is_absolute() and FileStamp(*stamp).agrees(build_stamp(file.lstat())):
                return True
    return False


def _find_folder(place: Path) -> Path:
    """Find the folder to which an index belongs."""
    return place.parent.parent if place.parent.name == INDEX_FOLDER else place.parent


def _identify_folder(place: Path) -> str:
    stat = _find_folder(place).stat()
    return f"{stat.st_dev}:{stat.st_ino}"


def _compute_mark(key: bytes, connection: apsw.Connection, place: Path) -> str:
    """Compute the MAC over all parts, each with its length, so that different lists of parts never give the same bytes.

    The schema is not covered, because an index is opened only if its tables have exactly the SQL of the migrations.
    """
    roots: Sequence[Any] = connection.execute("SELECT name, root FROM repositories ORDER BY id").fetchall()
    parts = ["codelens index", _read_meta(connection, IDENTITY), os.fspath(place)]
    parts += filter(None, [_read_meta(connection, FOLDER)])
    parts += [str(part) for row in roots for part in row]
    mac = blake2b(key=key, digest_size=32)
    for part in parts:
        raw = part.encode("utf-8", "surrogateescape")
        mac.update(len(raw).to_bytes(8, "big") + raw)
    return mac.hexdigest()


def _read_meta(connection: apsw.Connection, name: str) -> str:
    row = connection.execute("SELECT value FROM meta WHERE key = ?", (name,)).fetchone()
    return row[0] if row and isinstance(row[0], str) else ""


def read_marked_place(connection: apsw.Connection) -> Path | None:
    """Read the path for which the index was last signed; None if it was never signed."""
    with suppress(ValueError):
        if raw := bytes.fromhex(_read_meta(connection, PLACE)):
            return Path(os.fsdecode(raw))
    return None


def _read_keys(create: bool = False) -> list[bytes]:
    """Read the user's keys, one for each data folder that has one; with `create`, also make those that are missing.

    A process whose environment lacks $XDG_DATA_HOME finds only the default folder, so an index is signed by both keys.
    """
    files = [folder / KEY_NAME for folder in list_user_places("")]
    for file in files if create else ():
        if not _read_key(file):
            with suppress(OSError):
                write_private_file(file, os.urandom(KEY_BYTES), keeps_existing=True)
    return list(filter(None, map(_read_key, files)))


def _read_key(file: Path) -> bytes:
    """Read a key; empty if this fails or the file may be another user's."""
    key = b""
    with suppress(OSError), file.open("rb") as opened:
        if sys.platform == "win32" or os.fstat(opened.fileno()).st_uid == os.geteuid():
            key = opened.read(KEY_BYTES + 1)
    return key if len(key) == KEY_BYTES else b""


def _is_accepted(place: Path) -> bool:
    """True if the file is on one of the user's lists with the same times and size, or with the same content."""
    if _find_log_beside(place):
        return False
    for folder in list_user_places(""):
        entry = _read_accepted(folder / ACCEPTED_NAME).get(os.fspath(place))
        if isinstance(entry, dict) and _matches_entry(place, entry):
            return True
    return False


def _matches_entry(place: Path, entry: Mapping[str, Any]) -> bool:
    try:
        return {**_read_stat(place), "sha256": entry.get("sha256")} == entry or _digest(place) == entry.get("sha256")
    except OSError:
        return False


def _read_accepted(file: Path) -> dict[str, Any]:
    """Read a list of accepted indexes: path → entry; empty if it cannot be read."""
    import json

    try:
        listed = json.loads(file.read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    return listed if isinstance(listed, dict) else {}


def _find_log_beside(place: Path) -> Path | None:
    """Find a log or journal that SQLite would read with the index, since it might hold foreign content."""
    beside = (place.with_name(place.name + suffix) for suffix in BESIDE if suffix != "-shm")
    return next((file for file in beside if file.exists() and file.stat().st_size), None)


def _read_stat(place: Path) -> dict[str, int]:
    stat = place.stat()
    return {"size": stat.st_size, "mtime_ns": stat.st_mtime_ns, "ctime_ns": stat.st_ctime_ns, "inode": stat.st_ino}


def _digest(place: Path) -> str:
    import hashlib

    with place.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
