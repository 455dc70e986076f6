"""Consistency checks of an index: counts, rows that belong together, spans, digests, packed values."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import apsw
from xxhash import xxh3_128

from codelens.errors import IndexCorrupt
from codelens.model.code import TODO
from codelens.model.graph import KINDS, TIER_OF_NUMBER
from codelens.store.codec import decompress, unpack_bindings, unpack_references
from codelens.store.documents import DOCUMENT_OF_PART, PART_BASE, Parts
from codelens.store.history import unpack_changes, unpack_runs
from codelens.store.snapshots import SnapshotLog
from codelens.store.vectors import PIECES, pack_signs


class IndexFault(NamedTuple):
    """An inconsistency: the table, and a text with the fault and the number of rows."""

    table: str
    text: str


_BY_DOCUMENT, _BY_REPOSITORY = ("document_id", "documents", "id"), ("repository_id", "repositories", "id")
_OWNERS = {
    **dict.fromkeys(("snapshots", "units", "refs", "imports", "link_counts"), _BY_DOCUMENT),
    "ref_names_docsize": ("id", "refs", "document_id"),
    "link_asks_docsize": ("abs(id)", "documents", "id"),
    "text_trigrams_docsize": (f"iif(id < {PART_BASE}, id, {DOCUMENT_OF_PART})", "documents", "id"),
    "parts": (DOCUMENT_OF_PART, "documents", "id"),
    "unit_terms_docsize": ("id", "units", "id"),
    **dict.fromkeys(("documents", "skips", "histories", "changes", "messages"), _BY_REPOSITORY),
    "message_terms_docsize": ("id", "messages", "id"),
    **dict.fromkeys(("line_histories", "commits", "written_lines"), _BY_REPOSITORY),
    "vectors": (f"id / {PIECES}", "units", "id"),
    "file_vectors": ("id", "documents", "id"),
    "uses": ("unit", "units", "id"),
}
"""Table → (SQL expression, the table and the column in which its value must occur)."""
_FEW = {
    ("snapshots", "documents without their text"): """SELECT count(*) FROM documents
        WHERE id NOT IN (SELECT document_id FROM snapshots)""",
    ("snapshot_log", "the newest line has the wrong number of documents"): """SELECT count(*)
        FROM (SELECT documents, snapshot FROM snapshot_log ORDER BY number DESC LIMIT 1)
        WHERE documents <> (SELECT count(*) FROM documents)
        AND snapshot = (SELECT value FROM meta WHERE key = 'snapshot')""",
    ("unit_terms", "units without their words, or words without their unit"): f"""SELECT abs(
        (SELECT count(*) FROM units WHERE kind <> '{TODO}') - (SELECT count(*) FROM unit_terms_docsize))""",
    ("vectors", "vectors more or fewer than the units have"): """SELECT abs(
        (SELECT count(*) FROM vectors) - (SELECT coalesce(sum(pieces), 0) FROM units))""",
    ("vector_bits", "signs of vectors more or fewer than vectors"): """SELECT abs(
        (SELECT count(*) FROM vectors) - (SELECT coalesce(sum(length(ids)), 0) / 4 FROM vector_bits))""",
}
"""(table, fault) → query for the number of rows with the fault. These queries are fast."""
_EDGE_ENDS = " + ".join(
    f"""(SELECT count(*) FROM edges WHERE {end} < 0 AND -{end} NOT IN (SELECT id FROM documents))
    + (SELECT count(*) FROM edges WHERE {end} >= 1 << 40 AND {end} - (1 << 40) NOT IN (SELECT id FROM externals))
    + (SELECT count(*) FROM edges WHERE {end} BETWEEN 0 AND (1 << 40) - 1 AND {end} NOT IN (SELECT id FROM units))"""
    for end in ("source", "target")
)
_MANY = {
    ("units", "spans outside their documents"): """SELECT count(*) FROM units u JOIN documents d ON d.id = u.document_id
        WHERE NOT (0 <= u.start_byte AND u.start_byte <= u.end_byte AND u.end_byte <= d.size
        AND u.name_start BETWEEN -1 AND d.size AND u.name_end BETWEEN -1 AND d.size
        AND u.body_start BETWEEN -1 AND d.size)""",
    ("units", "lines outside their documents"): """SELECT count(*) FROM units u JOIN documents d ON d.id = u.document_id
        WHERE NOT (1 <= u.start_line AND u.start_line <= u.end_line AND u.end_line <= d.lines + 1)""",
    ("units", "parents in other documents, or gone"): """SELECT count(*) FROM units u WHERE u.parent_id IS NOT NULL
        AND NOT EXISTS (SELECT 1 FROM units p WHERE p.id = u.parent_id AND p.document_id = u.document_id)""",
    ("vectors", "units that do not have just the vectors that they count"): f"""SELECT count(*) FROM units u
        WHERE pieces <> (SELECT count(*) FROM vectors v
        WHERE v.id >= u.id * {PIECES} AND v.id < u.id * {PIECES} + u.pieces)""",
    ("vectors", "lengths that differ"): """SELECT count(*) FROM vectors
        WHERE length(embedding) <> (SELECT length(embedding) FROM vectors LIMIT 1)""",
    ("file_vectors", "lengths that differ from those of units"): """SELECT count(*) FROM file_vectors
        WHERE length(embedding) <> (SELECT length(embedding) FROM vectors LIMIT 1)""",
    ("edges", "of an unknown kind or confidence"): f"""SELECT count(*) FROM edges
        WHERE kind NOT IN ({", ".join(map(str, sorted(KINDS.values())))})
        OR tier NOT IN ({", ".join(map(str, sorted(TIER_OF_NUMBER)))})""",
    ("edges", "ends that are not a unit, document or external"): f"SELECT {_EDGE_ENDS}",
}
"""(table, fault) → query for the number of rows with the fault. These queries read every row."""
_PACKED: tuple[tuple[str, str, str, tuple[Callable[[bytes], Any], ...]], ...] = (
    ("refs", "packed", "references", (unpack_references, unpack_bindings)),
    ("written_lines", "runs", "lines", (unpack_runs,)),
    ("messages", "changes", "changed paths", (unpack_changes,)),
)
"""(table, column of packed values, what the values are, functions that unpack them)."""


def find_quick_faults(connection: apsw.Connection) -> Iterator[IndexFault]:
    """Compare counts that must agree. `checksums.find_file_faults` checks pages; opening the file checks its schema."""
    for (table, text), sql in _FEW.items():
        yield from _run_count(connection, table, text, sql)


def find_full_faults(connection: apsw.Connection) -> Iterator[IndexFault]:
    """Find all other faults: run SQLite's and FTS5's own checks, and compare every row with related rows. Reads everything."""
    reports = [str(row[0]) for row in connection.execute("PRAGMA integrity_check(20)")]  # includes FTS5's tables
    if reports != ["ok"]:
        yield from (IndexFault("SQLite", text) for text in reports)
    for table, (value, owner, key) in _OWNERS.items():
        sql = f"SELECT count(*) FROM {table} WHERE {value} NOT IN (SELECT {key} FROM {owner})"
        yield from _run_count(connection, table, f"rows without their row of {owner}", sql)
    for (table, text), sql in _MANY.items():
        yield from _run_count(connection, table, text, sql)
    yield from find_value_faults(connection)


def find_type_faults(connection: apsw.Connection) -> Iterator[IndexFault]:
    """Find values of another type than their column declares, and text that is not UTF-8: SQLite stores any value anywhere.

    Reads every row of the tables whose columns have types.
    """
    conditions: dict[str, list[str]] = {}
    texts: dict[str, str] = {}
    columns: Any = connection.execute("""SELECT m.name, p.name, lower(p.type), p."notnull"
        FROM sqlite_schema m, pragma_table_info(m.name) p
        WHERE m.type = 'table' AND m.sql NOT LIKE 'CREATE VIRTUAL%' AND p.type <> ''""")
    for table, column, kind, is_required in columns.fetchall():
        others = f"typeof({column}) <> '{kind}'" + f" AND {column} IS NOT NULL" * (not is_required)
        conditions.setdefault(table, []).append(others)
        texts[table] = texts.get(table, "") + f", {column}" * (kind == "text")
    for table, parts in conditions.items():
        rows: Any = connection.execute(f"SELECT {' OR '.join(parts)}, concat_ws(' ', ''{texts[table]}) FROM {table}")
        try:
            faulty = sum(row[0] for row in rows)
        except UnicodeDecodeError:
            yield IndexFault(table, "text that is not UTF-8")
            continue
        if faulty:
            yield IndexFault(table, f"{faulty} rows with values of another type than their column")


def find_value_faults(connection: apsw.Connection) -> Iterator[IndexFault]:
    """Find values of other types, packed values that cannot be unpacked, and texts that do not match their digests."""
    types = list(find_type_faults(connection))
    yield from types
    if types:  # the other checks expect the types
        return
    sql = "SELECT d.id, s.bytes, d.size, d.content_hash, d.digest FROM documents d JOIN snapshots s ON s.document_id = d.id"
    texts = (_matches_hashes(connection, row) for row in connection.execute(sql))
    yield from _count_faulty("snapshots", "texts that are damaged", texts)
    for table, column, values, unpackers in _PACKED:
        rows: Any = connection.execute(f"SELECT {column} FROM {table}")
        can_unpack = (all(_can_unpack(unpack, bytes(row[0])) for unpack in unpackers) for row in rows)
        yield from _count_faulty(table, f"{values} that cannot be unpacked", can_unpack)
    blocks: Any = connection.execute("SELECT block, ids, bits FROM vector_bits")
    matching = (pack_signs(connection, block) == (ids, bits) for block, ids, bits in blocks)
    yield from _count_faulty("vector_bits", "blocks of signs that are not those of the vectors", matching)
    oldest = connection.execute("SELECT min(number) FROM snapshot_log WHERE facts IS NOT NULL").fetchone()
    if oldest and oldest[0] is not None:
        facts = partial(SnapshotLog(connection).read_facts, newest=b"")
        yield from _count_faulty("snapshot_log", "facts that cannot be unpacked", [_can_unpack(facts, int(oldest[0]))])


def _run_count(connection: apsw.Connection, table: str, text: str, sql: str) -> Iterator[IndexFault]:
    (row,) = connection.execute(sql).fetchall()
    if row[0]:
        yield IndexFault(table, f"{row[0]} {text}")


def _count_faulty(table: str, text: str, whole: Any) -> Iterator[IndexFault]:
    if number := sum(not fine for fine in whole):
        yield IndexFault(table, f"{number} {text}")


def _can_unpack(unpack: Any, packed: Any) -> bool:
    try:
        unpack(packed)
    except apsw.Error:
        raise
    except Exception:  # a damaged value can make a decoder raise anything
        return False
    return True


def _matches_hashes(connection: apsw.Connection, row: Any) -> bool:
    """True if a document's bytes match the stored hashes; a large document is read part by part."""
    document, packed, size, content_hash, digest = row
    content, whole, read = xxh3_128(), hashlib.sha256(), 0
    try:
        for frame in [packed] if packed else Parts(connection).read_all(document):
            raw = decompress(bytes(frame))
            content.update(raw)
            whole.update(raw)
            read += len(raw)
    except IndexCorrupt:
        return False
    return (read, content.digest()) == (size, content_hash) and digest in (b"", whole.digest())
