"""An index as its own tests change it: through codelens's VFS, so that its pages keep their checksums."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import apsw

from codelens.store.connection import open_writer


@contextmanager
def writable(path: Path) -> Iterator[apsw.Connection]:
    """A connection for any statement; each is committed by itself. Drain what it returns."""
    with closing(open_writer(path)[0]) as connection:
        connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 0)  # FTS5's own tables too
        yield connection
