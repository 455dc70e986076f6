"""Open index files, for readers that leave the folder unchanged and for one writer at a time.

At rest, an index is a single file in rollback-journal mode. A writer uses WAL mode, so that readers still see the
previous state, and switches back as soon as no reader has the file open.
"""

from __future__ import annotations

import errno
import os
import re
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import apsw

from codelens.errors import READ_ONLY, CannotWrite, IndexBusy, IndexCorrupt, NoIndex, UsageError, build_write_error
from codelens.files import open_lock_file
from codelens.model.code import DocumentId
from codelens.model.fast_dataclass import dataclass
from codelens.store.checksums import JOURNAL_MAGIC, RESERVED, find_vfs, has_checksums
from codelens.worktree.place import BESIDE, LOCK, refuse_unsafe_index

BUSY_MS = 5000  # How long a statement waits for another process that commits or changes the journal mode
SWITCH_BACK_SECONDS = 2.0  # How long a writer waits for readers before it leaves the log to the next writer
SWITCH_SECONDS = 60.0
"""How long a writer waits for readers before it switches to WAL mode. A reader holds the file during one answer; comparing
an index of 10,000 files with the disk took more than 5 seconds on a busy machine.
"""
SWITCH_TRY_MS, SWITCH_PAUSE_SECONDS = 100, 0.02
"""How long each attempt to switch waits for the lock, and the pause before the next attempt, in which readers may start."""
WRITER_CACHE_KIB = 16_384  # Page cache of a writer: 16 MiB instead of SQLite's default of 2
LARGEST_VALUE = 1 << 28
"""Limit on bytes of a value that SQLite reads; codelens writes smaller values. SQLite's default is a billion."""
READER_CACHE_KIB = 65_536
"""Page cache of a reader. A search of Django's index reads 5000 pages of 4 KiB; with the default of 2 MiB it read and
verified 13,000.
"""
_DAMAGE = (apsw.CorruptError, apsw.NotADBError, apsw.FormatError)


class Tables:
    """Base class of objects that read and write a group of tables."""

    unsearchable: Sequence[DocumentId] = ()  # Documents missing from the full-text tables, which must always be checked
    _next = 0  # Id for the next new row; 0 until it is needed

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection

    def _rows(self, sql: str, *values: Any) -> list[Any]:
        return self._connection.execute(sql, values).fetchall()

    def _row(self, sql: str, *values: Any) -> Any:
        """Run a query; returns its first row, or None."""
        return self._connection.execute(sql, values).fetchone()

    def _number(self, sql: str, *values: Any) -> int:
        """Run a query; returns the first value of its first row as an integer, or 0 without rows."""
        row = self._row(sql, *values)
        return int(row[0]) if row else 0

    def _find_free_id(self, table: str) -> int:
        """Find the next id. An id is never reused during a run, because edges may still lead to it."""
        self._next = self._next or self._number(f"SELECT coalesce(max(id), 0) + 1 FROM {table}")
        return self._next

    def _run(self, sql: str, *values: Any) -> None:
        self._connection.execute(sql, values).fetchall()  # apsw executes it only as its rows are read

    def _run_many(self, sql: str, rows: Iterable[Any]) -> None:
        self._connection.executemany(sql, rows).fetchall()

    def _replace_rows(
        self, table: str, key: str, repository: int, old: Mapping[Any, Any], new: Mapping[Any, tuple[Any, ...]]
    ) -> None:
        """Replace a repository's `old` rows by the `new` ones, both given by key. Writes only the differences."""
        gone = [(repository, name) for name in old if name not in new]
        self._run_many(f"DELETE FROM {table} WHERE repository_id = ? AND {key} = ?", gone)
        rows = [(repository, name, *row) for name, row in new.items() if old.get(name) != row]
        if rows:
            self._run_many(f"INSERT OR REPLACE INTO {table} VALUES ({', '.join('?' * len(rows[0]))})", rows)


def open_reader(path: Path) -> apsw.Connection:
    """Open a read-only connection. Raises NoIndex or IndexCorrupt."""
    if not path.is_file():
        raise NoIndex(f"no index at {path}")
    try:
        try:
            return _prepare_connection(_connect(path, "mode=ro"))
        except (apsw.CantOpenError, apsw.ReadOnlyError):
            if _needs_recovery(path):
                text = f"{path} has an unfinished update that cannot be completed in its folder"
                raise IndexCorrupt(text, "run `codelens index`") from None
            # WAL mode needs a shared-memory file next to the index. Where nobody can write, the index cannot change
            # either, so it is opened as immutable.
            return _prepare_connection(_connect(path, "mode=ro&immutable=1"))
    except _DAMAGE as fault:
        raise IndexCorrupt(f"{path} is not an index, or is damaged: {fault}") from fault
    except apsw.IOError as fault:
        raise make_read_error(path, fault) from fault


def make_read_error(path: Path, fault: Exception) -> IndexCorrupt:
    """Make the error for a failing disk; the file may be intact, and another attempt may succeed."""
    return IndexCorrupt(f"{path} cannot be read: {fault}", "try again; if the disk is fine, `codelens index --rebuild`")


def _needs_recovery(path: Path) -> bool:
    """True if a log or journal next to the file holds changes that a writer must complete or roll back.

    A journal of one page comes from a change of journal mode and does not change the content of the file
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
def report_damage(path: Path) -> Iterator[None]:
    """Raise IndexCorrupt if SQLite finds the file damaged during the block."""
    try:
        yield
    except _DAMAGE as fault:
        raise IndexCorrupt(f"{path} is damaged: {fault}") from fault


@contextmanager
def report_write_faults(path: Path) -> Iterator[None]:
    """Raise CannotWrite if the disk is full or fails during the block."""
    try:
        yield
    except (apsw.FullError, apsw.IOError) as fault:
        raise CannotWrite(f"{path} cannot be written: {fault}") from fault
    except (apsw.CantOpenError, apsw.ReadOnlyError) as fault:
        raise CannotWrite(f"{path} cannot be written: {fault}", READ_ONLY) from fault
    except OSError as fault:
        named = Path(os.fsdecode(fault.filename)) if isinstance(fault.filename, (str, bytes)) else path
        if fault.errno not in _DISK_FAULTS or not named.is_relative_to(path.parent):
            raise
        raise build_write_error(named, fault) from fault


_DISK_FAULTS = {getattr(errno, name, 0) for name in ("EACCES", "EDQUOT", "EIO", "ENOSPC", "EPERM", "EROFS")}
PLAIN = re.compile(r"[A-Za-z0-9/_.~-]+")  # Paths that need no quoting in a URI


def format_uri(path: Path) -> str:
    """Make a URI from a path, since SQLite accepts only UTF-8 as a plain file name."""
    name = path.resolve().as_posix()
    if not PLAIN.fullmatch(name):
        from urllib.parse import quote  # 3 ms

        name = quote(os.fsencode(name))
    return f"file:{'' if name.startswith('/') else '/'}{name}"


def _connect(
    path: Path, options: str, flags: int = apsw.SQLITE_OPEN_READONLY, checksums: bool = True
) -> apsw.Connection:
    refuse_unsafe_index(path)
    vfs = find_vfs(path) if checksums else None
    connection = apsw.Connection(f"{format_uri(path)}?{options}", flags=flags | apsw.SQLITE_OPEN_URI, vfs=vfs)
    connection.set_busy_timeout(BUSY_MS)
    # The file may come from somebody else, so run no code from it, and limit the size of values.
    for switched_off in (apsw.SQLITE_DBCONFIG_ENABLE_TRIGGER, apsw.SQLITE_DBCONFIG_ENABLE_VIEW):
        connection.config(switched_off, 0)
    connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
    connection.config(apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0)
    connection.limit(apsw.SQLITE_LIMIT_LENGTH, LARGEST_VALUE)
    if vfs and flags & apsw.SQLITE_OPEN_READWRITE:
        connection.reserve_bytes("main", RESERVED)  # has an effect while the file is empty
    return connection


def _prepare_connection(connection: apsw.Connection, cache_kib: int = READER_CACHE_KIB) -> apsw.Connection:
    """Set the size of the page cache, and read the schema, so that a damaged file is noticed."""
    connection.execute(f"PRAGMA temp_store = MEMORY; PRAGMA cache_size = -{cache_kib}").fetchall()
    connection.execute("SELECT count(*) FROM sqlite_schema").fetchall()
    return connection


def open_writer(path: Path) -> tuple[apsw.Connection, bool]:
    """Open a connection for writing; create the file if needed. Returns (connection, True if sqlite-vec is loaded)."""
    try:
        connection = _connect(path, "mode=rwc", apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE)
        with_vectors = load_vector_extension(connection)
        _prepare_connection(connection, WRITER_CACHE_KIB)
        connection.execute("PRAGMA foreign_keys = OFF").fetchall()
    except _DAMAGE as fault:
        raise IndexCorrupt(f"{path} is not an index, or is damaged: {fault}") from fault
    return connection, with_vectors


def open_beside(path: Path, writing: bool) -> apsw.Connection:
    """Open a small database next to an index, creating it for writing if needed.

    Its folder must exist. If a killed writer left a journal, a reader first opens the file for writing to roll it back. A file
    without page checksums, from an earlier version, stays without them.
    """
    refuse_unsafe_index(path)
    checksums = has_checksums(path)
    if writing:
        return _connect(path, "mode=rwc", apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE, checksums)
    if path.with_name(f"{path.name}-journal").exists():
        with suppress(apsw.Error):
            writer = _connect(path, "mode=rw", apsw.SQLITE_OPEN_READWRITE, checksums)
            with closing(writer):
                _prepare_connection(writer)
    return _prepare_connection(_connect(path, "mode=ro", checksums=checksums))


def remove_database(path: Path) -> bool:
    """Delete a small database, damaged or not, and SQLite's files next to it; returns True if it existed."""
    refuse_unsafe_index(path)
    existed = path.is_file()
    _remove_files(path, ("", *BESIDE))
    return existed


def _remove_files(path: Path, suffixes: Iterable[str]) -> None:
    for suffix in suffixes:
        path.with_name(path.name + suffix).unlink(missing_ok=True)


def switch_to_wal(connection: apsw.Connection, seconds: float = SWITCH_SECONDS) -> None:
    """Switch to WAL mode, so that readers see the committed state while this connection writes. Raises IndexBusy on a timeout."""
    if not _switch(connection, "wal", seconds):
        raise IndexBusy(f"a reader has held {Path(connection.filename).name} for {seconds:.0f} s", "run it again later")
    connection.execute("PRAGMA synchronous = NORMAL").fetchall()


def switch_to_rest(connection: apsw.Connection) -> bool:
    """Write the log into the file and switch back to a single file. Returns False if a reader prevented it."""
    return _switch(connection, "delete", SWITCH_BACK_SECONDS)


def _switch(connection: apsw.Connection, journal_mode: str, seconds: float) -> bool:
    """Change the journal mode, which needs a moment without readers. Returns False after `seconds` without such a moment."""
    deadline = time.monotonic() + seconds
    connection.set_busy_timeout(SWITCH_TRY_MS)
    try:
        while True:
            with suppress(apsw.BusyError, apsw.LockedError):
                connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
                if connection.execute(f"PRAGMA journal_mode = {journal_mode}").fetchall() == [(journal_mode,)]:
                    return True
            if time.monotonic() > deadline:
                return False
            time.sleep(SWITCH_PAUSE_SECONDS)
    finally:
        connection.set_busy_timeout(BUSY_MS)


def put_to_rest(path: Path) -> bool:
    """Prepare a file to be replaced; returns False if a reader prevents it. Deletes a damaged file's log and journal."""
    with closing(_connect(path, "mode=rw", apsw.SQLITE_OPEN_READWRITE)) as connection:
        try:
            return connection.pragma("journal_mode") != "wal" or switch_to_rest(connection)
        except _DAMAGE:
            _remove_files(path, BESIDE)
            return True


APPLICATION_ID = 0x636C656E  # 'clen' in the header of each index, which identifies even a damaged file
_ID_AT = 68  # Offset of the id in the header (https://www.sqlite.org/fileformat.html#the_database_header)


def is_index(path: Path) -> bool:
    """True if the file's header or tables are those of an index, of any version."""
    with path.open("rb") as file:
        if file.read(_ID_AT + 4)[_ID_AT:] == APPLICATION_ID.to_bytes(4, "big"):
            return True
    with closing(_connect(path, "mode=ro")) as connection, suppress(apsw.Error):
        tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}
        return {"meta", "repositories", "documents"} <= tables
    return False


def may_be_unfinished(path: Path) -> bool:
    """True if a file may be an unfinished database; a process that is killed early leaves it empty or full of zeros."""
    with path.open("rb") as file:
        return file.read(16) in (b"", b"SQLite format 3\0", bytes(16))


def load_vector_extension(connection: apsw.Connection) -> bool:
    """Load sqlite-vec into this connection; returns False if it is not available."""
    spec = find_spec("sqlite_vec")  # importing the package would load numpy (110 ms)
    folders = (spec.submodule_search_locations or []) if spec else []
    libraries = (Path(folder) / f"vec0{suffix}" for folder in folders for suffix in (".so", ".dylib", ".dll"))
    library = next((library for library in libraries if library.is_file()), None)
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
def hold_writer_lock(path: Path) -> Iterator[None]:
    """Hold the writer lock, a system lock on a file, which ends with the process. Raises IndexBusy and UnsafePath."""
    refuse_unsafe_index(path)
    beside = path.with_name(path.name + LOCK)
    handle = _open_locked_file(beside)
    try:
        os.ftruncate(handle, 0)
        os.write(handle, f"{os.getpid()}\n".encode())
        yield
    finally:
        with suppress(OSError):
            if sys.platform != "win32":
                beside.unlink()  # while still locked, so that a process that has it open can tell that it was removed
        os.close(handle)
        if sys.platform == "win32":
            with suppress(OSError):
                beside.unlink()


_LOCKED_BY_OTHERS = {errno.EAGAIN, errno.EWOULDBLOCK, errno.EACCES}  # Errors of a lock that another process holds
_LONGEST_LOCK = 32  # Bytes: a process id of 64 bits has 20 digits, plus a line end


def _open_locked_file(beside: Path) -> int:
    """Open and lock the lock file; returns its descriptor. Raises IndexBusy, UsageError and CannotWrite."""
    while True:
        try:
            handle = open_lock_file(beside)
        except OSError as fault:
            raise build_write_error(beside, fault) from None
        holder = b""
        with suppress(OSError):  # on Windows a locked file may be unreadable
            holder = os.read(handle, _LONGEST_LOCK)
            os.lseek(handle, 0, os.SEEK_SET)
        if len(holder) >= _LONGEST_LOCK or (holder and not holder.strip().isdigit()):
            os.close(handle)
            hint = "move it, or name another file with --db"
            raise UsageError(f"{beside} is in the way and is not a lock file", hint)
        try:
            _lock(handle)
        except OSError as fault:
            os.close(handle)
            if fault.errno not in _LOCKED_BY_OTHERS:
                text = f"{beside} cannot be locked: {fault.strerror}"
                raise CannotWrite(
                    text, "keep the index on another file system with `--db FILE`, in searches too"
                ) from None
            process = f"pid {holder.decode().strip() or 'unknown'}"
            raise IndexBusy(f"another process ({process}) is writing {beside.with_suffix('').name}") from None
        with suppress(OSError):
            if os.fstat(handle).st_ino == beside.stat().st_ino:
                return handle
        os.close(handle)  # its last holder removed the file after we opened it


if sys.platform == "win32":
    import msvcrt

    def _lock(handle: int) -> None:
        os.lseek(handle, 1 << 30, os.SEEK_SET)  # far behind the text, so that others can read it
        msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        os.lseek(handle, 0, os.SEEK_SET)
else:
    import fcntl

    def _lock(handle: int) -> None:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)


@dataclass(frozen=True, slots=True)
class Abilities:
    """The versions of SQLite and its driver, and the features that work here."""

    sqlite: str
    driver: str
    fts5: bool
    trigram: bool
    vector: str  # Version of sqlite-vec; empty if it cannot be loaded


def probe_abilities() -> Abilities:
    """Test the features on a database in memory."""
    with closing(apsw.Connection(":memory:")) as connection:
        vector = str(connection.execute("SELECT vec_version()").get) if load_vector_extension(connection) else ""
        fts5, trigram = (_has_tokenizer(connection, name) for name in ("unicode61", "trigram"))
        return Abilities(apsw.sqlite_lib_version(), apsw.apsw_version(), fts5, trigram, vector.removeprefix("v"))


def _has_tokenizer(connection: apsw.Connection, name: str) -> bool:
    try:
        connection.execute(f"CREATE VIRTUAL TABLE by_{name} USING fts5(x, tokenize='{name}', detail='none')").fetchall()
    except apsw.Error:
        return False
    return True
