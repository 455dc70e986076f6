"""The traces file next to an index: which symbols ran, how often, and when last. At rest it is one file, like the
memory.
"""

from __future__ import annotations

import json
from collections.abc import Collection

from codelens.errors import TracesFault
from codelens.model.memory import ObservedRuns, Place
from codelens.store.beside import FileBeside

SCHEMAS = (
    """
    CREATE TABLE observed (
        repository TEXT NOT NULL,
        path       TEXT NOT NULL,      -- relative to the repository's root
        name       TEXT NOT NULL,      -- qualified
        kind       TEXT NOT NULL,
        count      INTEGER NOT NULL,
        last       INTEGER NOT NULL,   -- unix seconds
        PRIMARY KEY (path, repository, name, kind)
    ) WITHOUT ROWID;
    CREATE TABLE files (digest TEXT PRIMARY KEY) WITHOUT ROWID;
    """,
)


class Traces(FileBeside):
    """A traces file."""

    fault, name, removal = TracesFault, "a traces file", "codelens graph traces --forget"
    schemas, tables, named_table = SCHEMAS, frozenset({"observed", "files"}), "observed"

    def newest(self) -> int:
        """Unix seconds of the last observation; 0 without any."""
        return next((int(row[0] or 0) for row in self._rows("SELECT max(last) FROM observed")), 0)

    def of(self, paths: Collection[str]) -> dict[Place, ObservedRuns]:
        """Observations of the symbols in these files, in any repository."""
        sql = (
            "SELECT o.repository, o.path, o.name, o.kind, o.count, o.last FROM json_each(?) n "
            "CROSS JOIN observed o ON o.path = n.value"
        )
        return {Place(*row[:4]): ObservedRuns(*row[4:]) for row in self._rows(sql, json.dumps(sorted(set(paths))))}

    def has_read(self, digest: str) -> bool:
        """True if a file with this digest has been imported."""
        return any(self._rows("SELECT 1 FROM files WHERE digest = ?", digest))

    def everything(self) -> dict[Place, ObservedRuns]:
        """Observations of all symbols."""
        sql = "SELECT repository, path, name, kind, count, last FROM observed"
        return {Place(*row[:4]): ObservedRuns(*row[4:]) for row in self._rows(sql)}


class TracesWriter(Traces):
    """A traces file in one transaction: everything that is recorded in it, or nothing."""

    def set_read(self, digest: str) -> None:
        """Record that a file with this digest has been imported."""
        self._run("INSERT INTO files VALUES (?)", digest)

    def observe(self, place: Place, seen: ObservedRuns) -> None:
        """Add observations of a symbol to the stored ones."""
        sql = (
            "INSERT INTO observed VALUES (?, ?, ?, ?, ?5, ?6) "
            "ON CONFLICT DO UPDATE SET count = count + ?5, last = max(last, ?6)"
        )
        self._run(sql, *place, *seen)
