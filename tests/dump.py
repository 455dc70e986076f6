"""An index's content without its history: row ids replaced by what they stand for, times left out, all sorted.

`snapshot_log` is left out: it tells what the index was before, which a fresh one cannot know.
"""

from __future__ import annotations

from array import array
from pathlib import Path
from typing import Any

import apsw

from codelens.store.connection import load_vector_extension
from codelens.store.vectors import BLOCK, pack_signs

_PATH = (
    "(SELECT r.name || '/' || d.path FROM documents d JOIN repositories r ON r.id = d.repository_id WHERE d.id = {})"
)
_UNIT = (
    "(SELECT r.name || '/' || d.path || ':' || u.start_byte || '-' || u.end_byte || ' ' || u.kind || ' ' || u.name "
    "FROM units u JOIN documents d ON d.id = u.document_id JOIN repositories r ON r.id = d.repository_id WHERE u.id = {})"
)
_NODE = (
    "coalesce((SELECT name FROM externals WHERE id = {0} - (1 << 40)), "
    + _PATH.format("-{0}")
    + ", "
    + _UNIT.replace("{}", "{0}")
    + ")"
)
_OF_PART = "iif({0} < 1 << 40, {0}, ({0} - (1 << 40)) >> 20)"
"""The document of a part, or of a document's row of trigrams."""
FULL_TEXT = ("unit_terms", "text_trigrams", "name_trigrams", "ref_names", "link_asks", "message_terms")
_TABLES = {
    "meta": (
        "SELECT key, value FROM meta "
        "WHERE key NOT IN ('identity', 'mark', 'place', 'folder', 'home', 'indexed_at', 'pace') "
        "AND key NOT LIKE 'times:%' AND key NOT LIKE 'kinds:%'"
    ),
    "repositories": "SELECT name FROM repositories",
    "documents": (
        "SELECT r.name, d.path, d.os_path, d.size, d.content_hash, d.language, d.roles, d.encoding, d.confidence, d.bom, "
        "d.lines, d.recipe, d.namespace, d.fault, d.linked, d.embedder, d.digest "
        "FROM documents d JOIN repositories r ON r.id = d.repository_id"
    ),
    "snapshots": f"SELECT {_PATH.format('document_id')}, bytes FROM snapshots",
    "parts": f"SELECT {_PATH.format(_OF_PART.format('p.id'))}, p.id & 1048575, start_byte, line, before, bytes FROM parts p",
    "histories": (
        "SELECT r.name, h.head, h.terms, h.time, h.commits, h.whole, h.fault FROM histories h "
        "JOIN repositories r ON r.id = h.repository_id"
    ),
    "changes": (
        "SELECT r.name, c.path, c.commits, c.changed_at, c.said, length(c.messages) FROM changes c "
        "JOIN repositories r ON r.id = c.repository_id"
    ),
    "messages": (
        "SELECT r.name, hex(m.name), m.time, m.weight, m.subject, m.body, hex(m.changes) FROM messages m "
        "JOIN repositories r ON r.id = m.repository_id"
    ),
    "line_histories": (
        "SELECT r.name, h.head, h.terms, h.fault FROM line_histories h JOIN repositories r ON r.id = h.repository_id"
    ),
    "commits": "SELECT r.name, c.id, c.time, c.author FROM commits c JOIN repositories r ON r.id = c.repository_id",
    "written_lines": (
        "SELECT r.name, w.path, w.blob, w.last, w.runs FROM written_lines w JOIN repositories r ON r.id = w.repository_id"
    ),
    "skips": "SELECT r.name, s.path, s.reason, s.detail FROM skips s JOIN repositories r ON r.id = s.repository_id",
    "units": (
        f"SELECT {_PATH.format('x.document_id')}, {_UNIT.format('x.parent_id')}, x.kind, x.name, x.folded, x.container, "
        "x.start_byte, x.end_byte, x.name_start, x.name_end, x.body_start, x.start_line, x.end_line, x.name_line, "
        "x.name_column, x.local, x.pieces, x.signature, x.doc, x.decorators FROM units x"
    ),
    "refs": f"SELECT {_PATH.format('document_id')}, packed FROM refs",
    "externals": "SELECT name FROM externals",
    "edges": f"SELECT {_NODE.format('x.source')}, kind, {_NODE.format('x.target')}, line, tier FROM edges x",
    "uses": f"SELECT {_UNIT.format('x.unit')}, x.files FROM uses x",
    "link_asks": f"SELECT term, doc > 0, {_PATH.format('abs(doc)')} FROM temp.link_asks_rows",
    "link_counts": (
        f"SELECT {_PATH.format('document_id')}, resolved, external, local, guessed, unresolved, out_of_fuel, places "
        "FROM link_counts"
    ),
    "ref_names": f"SELECT term, {_PATH.format('doc')} FROM temp.ref_names_rows",
    "imports": f"SELECT {_PATH.format('document_id')}, start_byte, line, module, name, alias FROM imports",
    "vectors": f"SELECT {_UNIT.format('v.id / 64')}, v.id % 64, v.embedding FROM vectors v",
    "file_vectors": f"SELECT {_PATH.format('v.id')}, v.embedding FROM file_vectors v",
    "unit_terms": f"SELECT term, {_UNIT.format('doc')}, col, offset FROM temp.unit_terms_rows",
    "text_trigrams": (
        f"SELECT term, {_PATH.format(_OF_PART.format('doc'))}, doc & 1048575 * (doc > 1 << 40) FROM temp.text_trigrams_rows"
    ),
    "message_terms": "SELECT term, (SELECT hex(name) FROM messages WHERE id = doc) FROM temp.message_terms_rows",
    "name_trigrams": f"SELECT term, {_UNIT.format('doc')} FROM temp.name_trigrams_rows",
}


def dump(path: Path) -> dict[str, list[tuple[Any, ...]]]:
    """Table → its rows, sorted; the same for the same content however it came about."""
    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    load_vector_extension(connection)
    for table in FULL_TEXT:
        connection.execute(
            f"CREATE VIRTUAL TABLE temp.{table}_rows USING fts5vocab('main', '{table}', 'instance')"
        ).fetchall()
    content = {name: sorted(connection.execute(sql).fetchall(), key=repr) for name, sql in _TABLES.items()}
    connection.close()
    return content


_OWNERS = {
    "snapshots": ("document_id", "documents"),
    "units": ("document_id", "documents"),
    "uses": ("unit", "units"),
    "refs": ("document_id", "documents"),
    "imports": ("document_id", "documents"),
    "ref_names_docsize": ("id", "refs"),
    "link_asks_docsize": ("abs(id)", "documents"),
    "link_counts": ("document_id", "documents"),
    "text_trigrams_docsize": (_OF_PART.format("id"), "documents"),
    "parts": (_OF_PART.format("id"), "documents"),
    "unit_terms_docsize": ("id", "units"),
    "documents": ("repository_id", "repositories"),
    "skips": ("repository_id", "repositories"),
    "histories": ("repository_id", "repositories"),
    "changes": ("repository_id", "repositories"),
    "messages": ("repository_id", "repositories"),
    "message_terms_docsize": ("id", "messages"),
    "line_histories": ("repository_id", "repositories"),
    "commits": ("repository_id", "repositories"),
    "written_lines": ("repository_id", "repositories"),
    "file_vectors": ("id", "documents"),
}
"""Table → (column, the table that must have that id)."""


def orphans(path: Path) -> list[str]:
    """Rows that belong to nothing, and units whose vectors are not those that they count."""
    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    load_vector_extension(connection)
    found = []
    for table, (column, owner) in _OWNERS.items():
        key = "document_id" if owner == "refs" else "id"
        sql = f"SELECT {column} FROM {table} WHERE {column} NOT IN (SELECT {key} FROM {owner})"
        found += [f"{table}: {row[0]}" for row in connection.execute(sql)]
    vectors = {row for (row,) in connection.execute("SELECT id FROM vectors")}
    blocks: list[Any] = connection.execute("SELECT block, ids, bits FROM vector_bits").fetchall()
    unlike = [block for block, ids, bits in blocks if pack_signs(connection, block) != (ids, bits)]
    bits = {block * BLOCK * 64 + number for block, ids, _ in blocks for number in array("I", ids)}
    wanted = {u * 64 + n for u, pieces in connection.execute("SELECT id, pieces FROM units") for n in range(pieces)}
    connection.close()
    found += [f"signs of block {block}" for block in unlike]
    return found + [f"vectors: {row}" for row in (vectors ^ wanted) | (bits ^ wanted)]
