"""Opening index files: readers that leave no trace, and one writer at a time.

At rest an index is in rollback-journal mode, one file with nothing beside it. A writer works in WAL mode, so that
readers go on with the state before it, and switches back as soon as no reader holds the file.
"""

from __future__ import annotations

import errno
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import quote

import apsw

from codelens.errors import CannotWrite, IndexBusy, IndexCorrupt, NoIndex, UsageError
from codelens.store.checksums import JOURNAL_MAGIC, RESERVED, has_checksums, vfs_for
from codelens.worktree.place import BESIDE, LOCK

BUSY_MS = 5000
"""Milliseconds that a statement waits for a lock of another process. Locks are held for a commit or a change of the journal
mode; more than this is a fault that a person should hear of. Chosen."""
SWITCH_BACK_SECONDS = 2.0
"""How long a writer tries to go back to one file while readers hold the log; then the next writer does. Chosen."""
SWITCH_TRY_MS, SWITCH_PAUSE_SECONDS = 100, 0.02
"""Of each try in that time: how long it waits for the lock, and how long it lets readers go on before the next. Chosen."""
WRITER_CACHE_KIB = 65_536
"""SQLite's page cache of a writer, 64 MiB instead of its default of 2. Chosen."""
LARGEST_VALUE = 1 << 28
"""Bytes of a row or a value that SQLite takes from a file, where its default is a billion. The largest that codelens writes is
a file of `max_file_size`, compressed."""
READER_CACHE_KIB = 16_384
"""Of a reader. A search of Django's index reads 5000 pages of 4 KiB; with the default of 2 MiB it read, and verified, 13 000."""
_DAMAGE = (apsw.CorruptError, apsw.NotADBError, apsw.FormatError)


def open_reader(path: Path) -> apsw.Connection:
    """A connection that cannot write. Raises NoIndex or IndexCorrupt."""
    if not path.is_file():
        raise NoIndex(f"no index at {path}")
    try:
        try:
            return _checked(_connect(path, "mode=ro"))
        except (apsw.CantOpenError, apsw.ReadOnlyError):
            if _is_unfinished(path):
                raise IndexCorrupt(
                    f"{path} was not finished, and cannot be where it lies", "run `codelens index`"
                ) from None
            # WAL mode needs a shared-memory file beside it: where nobody can write, the file cannot change either.
            return _checked(_connect(path, "mode=ro&immutable=1"))
    except _DAMAGE as fault:
        raise IndexCorrupt(f"{path} is not an index, or is damaged: {fault}") from fault
    except apsw.IOError as fault:
        raise unreadable(path, fault) from fault


def unreadable(path: Path, fault: Exception) -> IndexCorrupt:
    """A disk that fails: the file may be whole, and another try may do."""
    return IndexCorrupt(f"{path} cannot be read: {fault}", "try again; if the disk is well, `codelens index --rebuild`")


def _is_unfinished(path: Path) -> bool:
    """Whether a log or a journal lies beside it that only a writer can fold in, or roll back.

    A journal of one page is of a change of the journal mode, and that page the first: the file is one state with it and without
    (https://www.sqlite.org/fileformat.html#the_rollback_journal).
    """
    log, journal = (path.with_name(path.name + suffix) for suffix in ("-wal", "-journal"))
    if log.exists() and log.stat().st_size:
        return True
    if not journal.is_file():
        return False
    with journal.open("rb") as file:
        head = file.read(28)
    sector, page = (int.from_bytes(head[at : at + 4], "big") for at in (20, 24))
    return head.startswith(JOURNAL_MAGIC) and journal.stat().st_size > sector + page + 8


@contextmanager
def damage_told(path: Path) -> Iterator[None]:
    """Damage of the file that turns up only while it is read or written becomes IndexCorrupt."""
    try:
        yield
    except _DAMAGE as fault:
        raise IndexCorrupt(f"{path} is damaged: {fault}") from fault


@contextmanager
def writing_told(path: Path) -> Iterator[None]:
    """A full disk, or one that fails, becomes CannotWrite. What was committed stays."""
    try:
        yield
    except (apsw.FullError, apsw.IOError, apsw.CantOpenError, apsw.ReadOnlyError) as fault:
        raise CannotWrite(f"{path} cannot be written: {fault}") from fault
    except OSError as fault:
        named = Path(os.fsdecode(fault.filename)) if isinstance(fault.filename, (str, bytes)) else path
        if fault.errno not in _DISK_FAULTS or not named.is_relative_to(path.parent):
            raise
        raise CannotWrite(f"{named} cannot be written: {fault.strerror}") from fault


_DISK_FAULTS = {getattr(errno, name, 0) for name in ("EACCES", "EDQUOT", "EIO", "ENOSPC", "EPERM", "EROFS")}


def uri_of(path: Path) -> str:
    """How SQLite takes any path: a plain file name would have to be UTF-8."""
    name = quote(os.fsencode(path.resolve().as_posix()))
    return f"file:{'' if name.startswith('/') else '/'}{name}"


def _connect(path: Path, options: str, flags: int = apsw.SQLITE_OPEN_READONLY) -> apsw.Connection:
    return _with_vfs(path, vfs_for(path), options, flags)


def _with_vfs(path: Path, vfs: str | None, options: str, flags: int) -> apsw.Connection:
    connection = apsw.Connection(f"{uri_of(path)}?{options}", flags=flags | apsw.SQLITE_OPEN_URI, vfs=vfs)
    connection.set_busy_timeout(BUSY_MS)
    # The file may be somebody else's: it brings no code of its own, and no value larger than ours are.
    for switched_off in (apsw.SQLITE_DBCONFIG_ENABLE_TRIGGER, apsw.SQLITE_DBCONFIG_ENABLE_VIEW):
        connection.config(switched_off, 0)
    connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
    connection.config(apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0)
    connection.limit(apsw.SQLITE_LIMIT_LENGTH, LARGEST_VALUE)
    if vfs and flags & apsw.SQLITE_OPEN_READWRITE:
        connection.reserve_bytes("main", RESERVED)  # of a file that is still empty
    return connection


def _checked(connection: apsw.Connection) -> apsw.Connection:
    connection.execute(f"PRAGMA temp_store = MEMORY; PRAGMA cache_size = -{READER_CACHE_KIB}").fetchall()
    connection.execute("SELECT count(*) FROM sqlite_schema").fetchall()
    return connection


def open_writer(path: Path) -> tuple[apsw.Connection, bool]:
    """A connection that writes, and whether vec0 tables can be used on it. The file is made if it is not there.

    The caller holds the writer lock.
    """
    try:
        connection = _connect(path, "mode=rwc", apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE)
        with_vectors = load_vector_extension(connection)
        connection.execute(
            f"PRAGMA temp_store = MEMORY; PRAGMA cache_size = -{WRITER_CACHE_KIB}; PRAGMA foreign_keys = OFF"
        ).fetchall()
        connection.execute("SELECT count(*) FROM sqlite_schema").fetchall()
    except _DAMAGE as fault:
        raise IndexCorrupt(f"{path} is not an index, or is damaged: {fault}") from fault
    return connection, with_vectors


def open_beside(path: Path, writing: bool) -> apsw.Connection:
    """A small file of its own beside an index, made where it is written and is not there.

    Its folder is there: the index lies in it. One whose writer was killed has a journal that only a writer can roll back.
    A file without page checksums, which an earlier version made, goes on without them.
    """
    vfs = vfs_for(path) if has_checksums(path) else None
    if writing:
        return _with_vfs(path, vfs, "mode=rwc", apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE)
    if path.with_name(f"{path.name}-journal").exists():
        with suppress(apsw.Error):
            return _checked(_with_vfs(path, vfs, "mode=rw", apsw.SQLITE_OPEN_READWRITE))
    return _checked(_with_vfs(path, vfs, "mode=ro", apsw.SQLITE_OPEN_READONLY))


def to_wal(connection: apsw.Connection) -> None:
    """Let readers go on with the committed state while this connection writes."""
    connection.execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL").fetchall()


def to_rest(connection: apsw.Connection) -> bool:
    """Fold the log into the file and go back to one file. False where a reader kept that from happening: the next writer will."""
    deadline = time.monotonic() + SWITCH_BACK_SECONDS
    connection.set_busy_timeout(SWITCH_TRY_MS)
    try:
        while True:
            with suppress(apsw.BusyError, apsw.LockedError):
                connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
                if connection.execute("PRAGMA journal_mode = DELETE").fetchall() == [("delete",)]:
                    return True
            if time.monotonic() > deadline:
                return False
            time.sleep(SWITCH_PAUSE_SECONDS)
    finally:
        connection.set_busy_timeout(BUSY_MS)


def put_to_rest(path: Path) -> bool:
    """Whether another file may take this one's place: it has no log, or had one that is folded in now.

    Of a damaged file nothing can be folded in; its log goes, which would be read as the new file's.
    """
    connection = _connect(path, "mode=rw", apsw.SQLITE_OPEN_READWRITE)
    try:
        return connection.pragma("journal_mode") != "wal" or to_rest(connection)
    except _DAMAGE:
        for suffix in BESIDE:
            path.with_name(path.name + suffix).unlink(missing_ok=True)
        return True
    finally:
        connection.close()


APPLICATION_ID = 0x636C656E
"""'clen', in the header of each index, so that one is known for what it is however damaged."""
_ID_AT = 68
"""Where SQLite keeps it (https://www.sqlite.org/fileformat.html#the_database_header)."""


def holds_index(path: Path) -> bool:
    """Whether a file is an index of any version: by its header, or by its tables."""
    with path.open("rb") as file:
        if file.read(_ID_AT + 4)[_ID_AT:] == APPLICATION_ID.to_bytes(4, "big"):
            return True
    connection = _connect(path, "mode=ro")
    try:
        tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}
    except apsw.Error:
        return False
    finally:
        connection.close()
    return {"meta", "repositories", "documents"} <= tables


def looks_begun(path: Path) -> bool:
    """Whether a file may be a database in the making: whoever was killed at its beginning left nothing, or zeros."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(16) in (b"", b"SQLite format 3\0", bytes(16))


def vector_library() -> Path | None:
    """sqlite-vec's shared library. Its package is not imported: that would pull numpy in (110 ms)."""
    spec = find_spec("sqlite_vec")
    for folder in (spec.submodule_search_locations or []) if spec else []:
        for suffix in (".so", ".dylib", ".dll"):
            if (library := Path(folder) / f"vec0{suffix}").is_file():
                return library
    return None


def load_vector_extension(connection: apsw.Connection) -> bool:
    """Whether vec0 tables can be used on this connection."""
    library = vector_library()
    if library is None:
        return False
    try:
        connection.enable_load_extension(True)
        connection.load_extension(str(library.with_suffix("")), "sqlite3_vec_init")
    except (apsw.Error, AttributeError):
        return False
    finally:
        with suppress(AttributeError):
            connection.enable_load_extension(False)
    return True


@contextmanager
def writer_lock(path: Path) -> Iterator[None]:
    """Hold the one writer's place of the index at `path`. Raises IndexBusy, naming the process that holds it.

    The lock is the operating system's, on a file beside the index, so a killed writer leaves none behind.
    """
    beside = path.with_name(path.name + LOCK)
    handle = _locked_file(beside)
    try:
        os.ftruncate(handle, 0)
        os.write(handle, f"{os.getpid()}\n".encode())
        yield
    finally:
        with suppress(OSError):
            if sys.platform != "win32":
                beside.unlink()  # while still locked: whoever opened it meanwhile sees that it is no longer the file
        os.close(handle)
        if sys.platform == "win32":
            with suppress(OSError):
                beside.unlink()


def _locked_file(beside: Path) -> int:
    while True:
        try:
            handle = os.open(beside, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o644)
        except OSError as fault:
            raise CannotWrite(f"{beside} cannot be written: {fault.strerror}") from None
        if not _names_a_process(handle):
            os.close(handle)
            raise UsageError(f"{beside} is in the way, and no lock", "move it, or name another file with --db")
        if not _try_lock(handle):
            holder = _read_holder(handle)
            os.close(handle)
            raise IndexBusy(f"another process ({holder}) is writing {beside.with_suffix('').name}")
        with suppress(OSError):
            if os.fstat(handle).st_ino == beside.stat().st_ino:
                return handle
        os.close(handle)  # its last holder removed it between our opening and our lock


_LONGEST_LOCK = 32
"""Bytes. A process id of 64 bits has 20 digits and a line end."""


def _names_a_process(handle: int) -> bool:
    """Whether a file holds what our locks hold, a process id or nothing yet. On Windows a locked one may be unreadable."""
    try:
        text = os.read(handle, _LONGEST_LOCK)
        os.lseek(handle, 0, os.SEEK_SET)
    except OSError:
        return True
    return len(text) < _LONGEST_LOCK and (not text or text.strip().isdigit())


def _read_holder(handle: int) -> str:
    with suppress(OSError):
        if (
            text := os.pread(handle, _LONGEST_LOCK, 0).decode("ascii", "replace").strip()
            if hasattr(os, "pread")
            else ""
        ):
            return f"pid {text}"
    return "pid unknown"


if sys.platform == "win32":
    import msvcrt

    def _try_lock(handle: int) -> bool:
        try:
            os.lseek(handle, 1 << 30, os.SEEK_SET)  # far behind the text, which others may want to read
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
            os.lseek(handle, 0, os.SEEK_SET)
        except OSError:
            return False
        return True
else:
    import fcntl

    def _try_lock(handle: int) -> bool:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
        return True
