"""Tables of the symbol graph: edges, external names, imports, and the references from which edges are made."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

from codelens.model.code import DocumentId, RepositoryId, RepositoryName, UnitId
from codelens.model.extraction import Binding, Extraction, Import, PackedReferences, Reference
from codelens.model.graph import (
    EXTERNAL,
    KINDS,
    LINK_COUNTS,
    NAME_OF_KIND,
    TIER_OF_NUMBER,
    TIERS,
    Edge,
    Node,
    make_external_node,
)
from codelens.store.codec import unpack_bindings, unpack_places, unpack_references
from codelens.store.connection import Tables
from codelens.store.merging import NodeNumber, order_by_value, set_merge_rule, take_highest
from codelens.store.postings import quote_term

_NOTING = """
CREATE TEMP TABLE IF NOT EXISTS touched (unit INTEGER PRIMARY KEY);
CREATE TEMP TRIGGER IF NOT EXISTS edge_added AFTER INSERT ON main.edges
BEGIN INSERT OR IGNORE INTO touched VALUES (new.target); END;
CREATE TEMP TRIGGER IF NOT EXISTS edge_removed AFTER DELETE ON main.edges
BEGIN INSERT OR IGNORE INTO touched VALUES (old.target); END;
CREATE TEMP TRIGGER IF NOT EXISTS roles_changed AFTER UPDATE OF roles ON main.documents WHEN old.roles <> new.roles
BEGIN
    INSERT OR IGNORE INTO touched SELECT target FROM edges WHERE source = -new.id;
    INSERT OR IGNORE INTO touched SELECT e.target FROM units u JOIN edges e ON e.source = u.id WHERE u.document_id = new.id;
END;
"""


def _list_ids(ids: Iterable[int]) -> str:
    """Format ids for `json_each`, sorted and without duplicates."""
    return json.dumps(sorted(set(ids)))


def _list_kinds(kinds: Iterable[str]) -> str:
    """Format the numbers of edge kinds as an SQL list; unknown kinds are left out."""
    return ", ".join(str(KINDS[kind]) for kind in sorted(kinds) if kind in KINDS)


_COUNTED = f"""INSERT INTO uses SELECT e.target, count(DISTINCT d.id) FROM edges e JOIN units t ON t.id = e.target
    LEFT JOIN units s ON s.id = e.source JOIN documents d ON d.id = coalesce(s.document_id, -e.source)
    WHERE e.kind NOT IN ({_list_kinds(("inherits", "overrides", "member_of"))}) AND d.id <> t.document_id
    AND d.roles NOT LIKE '%test%'"""


def _make_edge(row: tuple[Node, int, Node, int, int]) -> Edge:
    source, kind, target, line, number = row
    tier = TIER_OF_NUMBER[number]
    return Edge(source, NAME_OF_KIND[kind], target, line, tier.provenance, tier.confidence)


class EdgeTable(Tables):
    """Reads and writes edges and externals. Ids depend on the file, so callers sort edges by the content of their ends."""

    add_missing: Callable[[], None] | None = None  # Adds edges when they are first needed; None once called

    # Reading

    def find_outgoing(
        self, nodes: Iterable[NodeNumber], kinds: Collection[str] = (), limit: int = -1
    ) -> Iterator[Edge]:
        """Find edges of these kinds (default: all) that start at these nodes, by source, kind, target and line."""
        return self._find_edges("source", nodes, kinds, limit)

    def find_incoming(
        self, nodes: Iterable[NodeNumber], kinds: Collection[str] = (), limit: int = -1
    ) -> Iterator[Edge]:
        """Find edges of these kinds (default: all) that end at these nodes."""
        return self._find_edges("target", nodes, kinds, limit)

    def _find_edges(self, end: str, nodes: Iterable[NodeNumber], kinds: Collection[str], limit: int) -> Iterator[Edge]:
        if (add_missing := self.add_missing) is not None:
            self.add_missing = None
            add_missing()
        sql = f"""SELECT e.source, e.kind, e.target, e.line, e.tier FROM json_each(?1) n
            CROSS JOIN edges e ON e.{end} = n.value {f"AND e.kind IN ({_list_kinds(kinds)})" if kinds else ""}
            LIMIT {int(limit)}"""
        return map(_make_edge, self._rows(sql, _list_ids(nodes)))

    def find_neighbours(
        self, nodes: Iterable[NodeNumber], widest: int, outside: bool = False
    ) -> Iterator[tuple[NodeNumber, NodeNumber, int, int, int]]:
        """Find (node, neighbour, kind, tier, 1 if outgoing else 0) for these nodes' edges; `outside` includes edges to externals.

        A node's incoming edges are left out if there are more than `widest` of them, because they carry little information. Rows
        are not converted, since a walk reads thousands.
        """
        numbers = _list_ids(nodes)
        out = f"""SELECT e.source, e.target, e.kind, e.tier, 1 FROM json_each(?1) n
            CROSS JOIN edges e ON e.source = n.value {"" if outside else f"WHERE e.target < {EXTERNAL}"}"""
        into = f"""SELECT e.target, e.source, e.kind, e.tier, 0 FROM json_each(?1) n
            CROSS JOIN edges e ON e.target = n.value
            WHERE (SELECT count(*) FROM (SELECT 1 FROM edges t WHERE t.target = n.value
            LIMIT {widest + 1})) <= {widest}"""
        execute = self._connection.execute
        rows: Any = chain.from_iterable(execute(sql, (numbers,)) for sql in (out, into))
        return iter(rows)

    def find_nested(self, nodes: Iterable[NodeNumber]) -> Iterator[tuple[NodeNumber, NodeNumber, bool]]:
        """Find units directly inside or around these nodes, without chunks: (node, unit, True if the node contains it)."""
        numbers = _list_ids(nodes)
        up = """SELECT u.id, p.id FROM json_each(?1) n CROSS JOIN units u ON u.id = n.value
            JOIN units p ON p.id = u.parent_id WHERE p.kind NOT IN ('toplevel', 'section', 'text')"""
        for unit, parent in self._rows(up, numbers):
            yield unit, parent, False
        down = """SELECT p.id, c.id FROM json_each(?1) n CROSS JOIN units p ON p.id = n.value
            JOIN units c ON c.document_id = p.document_id AND c.parent_id = p.id
            WHERE p.kind IN ('class', 'struct', 'interface', 'trait', 'enum', 'type', 'module') AND NOT c.local"""
        for parent, unit in self._rows(down, numbers):
            yield parent, unit, True

    def count_sources(self, nodes: Iterable[NodeNumber], kinds: Collection[str]) -> dict[NodeNumber, int]:
        """Count the distinct sources of each node's incoming edges of these kinds; nodes without such edges are left out."""
        sql = f"""SELECT e.target, count(DISTINCT e.source) FROM json_each(?1) n
            CROSS JOIN edges e ON e.target = n.value AND e.kind IN ({_list_kinds(kinds)}) GROUP BY e.target"""
        return dict(self._rows(sql, _list_ids(nodes)))

    @set_merge_rule(take_highest)
    def find_best_confidences(self, nodes: Iterable[NodeNumber]) -> dict[NodeNumber, float]:
        """Find the highest confidence of each node's incoming edges; nodes without incoming edges are left out."""
        sql = "SELECT DISTINCT e.target, e.tier FROM json_each(?) n CROSS JOIN edges e ON e.target = n.value"
        rows = self._rows(sql, _list_ids(nodes))
        return take_highest([{target: TIER_OF_NUMBER[tier].confidence} for target, tier in rows], ())

    def list_all(self, kinds: Collection[str]) -> Iterator[Edge]:
        """List all edges of these kinds, in no particular order."""
        sql = f"SELECT source, kind, target, line, tier FROM edges WHERE kind IN ({_list_kinds(kinds)})"
        return map(_make_edge, self._rows(sql))

    def list_ends(self, documents: Sequence[DocumentId]) -> Iterator[tuple[int, str, int]]:
        """List (source, kind, target) of all edges that start in these documents, in no particular order."""
        sql = """SELECT e.source, e.kind, e.target FROM json_each(?1) n CROSS JOIN units u ON u.document_id = n.value
            CROSS JOIN edges e ON e.source = u.id UNION ALL SELECT e.source, e.kind, e.target FROM json_each(?1) n
            CROSS JOIN edges e ON e.source = -n.value"""
        for source, kind, target in self._rows(sql, json.dumps(documents)):
            yield source, NAME_OF_KIND[kind], target

    def count_unlinked(self) -> int:
        """Count documents that have not been linked, in all repositories."""
        return self._number("SELECT count(*) FROM documents WHERE linked = ''")

    def count_using_files(self, nodes: Iterable[NodeNumber]) -> dict[NodeNumber, int]:
        """Read how many other documents, without tests, have an edge to each unit; units without such edges are left out."""
        sql = "SELECT unit, files FROM uses WHERE unit IN (SELECT value FROM json_each(?))"
        return dict(self._rows(sql, _list_ids(nodes)))

    def note_targets(self) -> None:
        """Install triggers that record the targets of edges which this connection changes from now on, for `count_uses`."""
        self._run(_NOTING)

    def count_uses(self, every: bool) -> None:
        """Count and store how many files use each unit: `every` unit, or those whose edges changed since `note_targets`."""
        touched = "IN (SELECT unit FROM temp.touched)"
        self._run("DELETE FROM uses" if every else f"DELETE FROM uses WHERE unit {touched}")
        self._run(f"{_COUNTED} {'' if every else f'AND e.target {touched}'} GROUP BY e.target")
        if not every:
            self._run("DELETE FROM temp.touched")

    def read_external_names(self, nodes: Iterable[NodeNumber]) -> dict[Node, str]:
        """Read the names of external nodes; other nodes are left out."""
        sql = f"SELECT id + {EXTERNAL}, name FROM externals WHERE id IN (SELECT value - {EXTERNAL} FROM json_each(?))"
        return dict(self._rows(sql, json.dumps([n for n in nodes if n >= EXTERNAL])))

    def find_externals(self, names: Sequence[str]) -> dict[str, Node]:
        """Find the external nodes with these names: name → node; unknown names are left out."""
        sql = "SELECT name, id FROM externals WHERE name IN (SELECT value FROM json_each(?))"
        return {name: make_external_node(i) for name, i in self._rows(sql, json.dumps(names))}

    def count_incoming(self, nodes: Iterable[NodeNumber]) -> dict[NodeNumber, int]:
        """Count each node's incoming edges; nodes without incoming edges are left out."""
        sql = "SELECT e.target, count(*) FROM json_each(?) n CROSS JOIN edges e ON e.target = n.value GROUP BY 1"
        return dict(self._rows(sql, _list_ids(nodes)))

    @set_merge_rule(order_by_value)
    def find_externals_by_prefix(self, prefix: str) -> dict[Node, str]:
        """Find the externals whose names have this prefix: node → name, by name."""
        sql = "SELECT id, name FROM externals WHERE name >= ?1 AND name < ?1 || char(0x10ffff) ORDER BY name"
        return {make_external_node(i): name for i, name in self._rows(sql, prefix)}

    def is_empty(self) -> bool:
        """True if nothing has been linked yet."""
        sql = "SELECT NOT EXISTS (SELECT 1 FROM edges) AND NOT EXISTS (SELECT 1 FROM documents WHERE linked <> '')"
        return bool(self._number(sql))

    def count(self) -> int:
        """Count the stored edges of all repositories."""
        return self._number("SELECT count(*) FROM edges")

    # Writing

    def add(self, edges: Iterable[tuple[int, str, int, int, str]]) -> None:
        """Store edges (source, kind, target, line, provenance); of edges that differ only in provenance, the surest is kept."""
        self.add_rows((s, KINDS[k], t, line, TIERS[p].number) for s, k, t, line, p in edges)

    def add_rows(self, edges: Iterable[tuple[int, int, int, int, int]]) -> None:
        """Store edges (source, kind, target, line, tier), with kinds and tiers as numbers."""
        self._run_many("INSERT OR IGNORE INTO edges VALUES (?, ?, ?, ?, ?)", sorted(edges))

    def delete_edges_from(self, sources: Sequence[int]) -> None:
        """Delete edges that start at these nodes."""
        self._run_many("DELETE FROM edges WHERE source = ?", [(s,) for s in sources])

    def remove(self, edges: Iterable[tuple[int, str, int, int]]) -> None:
        """Delete each of these (source, kind, target, line), if stored."""
        sql = "DELETE FROM edges WHERE source = ? AND kind = ? AND target = ? AND line = ?"
        self._run_many(sql, [(s, KINDS[k], t, line) for s, k, t, line in edges])

    def remove_implied(self, sources: Sequence[int]) -> None:
        """Delete edges that start at these nodes and are implied by other edges, except membership edges."""
        kinds = _list_kinds(("inherits", "overrides", "implements"))
        sql = f"DELETE FROM edges WHERE source = ? AND kind IN ({kinds}) AND line = 0"
        self._run_many(sql, [(s,) for s in sources])

    def add_externals(self, names: Iterable[str]) -> dict[str, Node]:
        """Store new external names; returns name → node for all of these names."""
        wanted = sorted(set(names))
        self._run_many("INSERT OR IGNORE INTO externals (name) VALUES (?)", [(n,) for n in wanted])
        return self.find_externals(wanted)

    def drop_unused_externals(self) -> None:
        """Delete externals without edges."""
        sql = f"DELETE FROM externals WHERE NOT EXISTS (SELECT 1 FROM edges WHERE target = externals.id + {EXTERNAL})"
        self._run(sql)

    # Dependencies of links

    def set_keys(self, found: Iterable[tuple[DocumentId, Sequence[int], Sequence[int]]]) -> None:
        """Store (document, keys on which its edges depend, keys on which the names that it exports depend)."""
        keys_of_row = [row for i, keys, offered in found for row in ((i, keys), (-i, offered))]
        # Sorted, because FTS5 begins a new segment at each row whose number is lower than the last
        rows = sorted((row, " ".join([f"{key:08x}" for key in keys])) for row, keys in keys_of_row if keys)
        self._run_many("INSERT INTO link_asks (rowid, keys) VALUES (?, ?)", rows)

    def set_counts(self, counts: Sequence[tuple[DocumentId, Mapping[str, int], bytes]]) -> None:
        """Store how documents' references were resolved, and the positions (`pack_places`) of unresolved references."""
        rows = [(i, *(outcomes.get(name, 0) for name in LINK_COUNTS), places) for i, outcomes, places in counts]
        self._run_many("INSERT OR REPLACE INTO link_counts VALUES (?, ?, ?, ?, ?, ?, ?, ?)", rows)

    def read_link_counts(self, repository: RepositoryId) -> dict[str, int]:
        """Sum the link counts of a repository's documents: name in `LINK_COUNTS` → number of references."""
        sums = ", ".join(f"coalesce(sum({name}), 0)" for name in LINK_COUNTS)
        sql = f"SELECT {sums} FROM link_counts JOIN documents ON id = document_id WHERE repository_id = ?"
        return dict(zip(LINK_COUNTS, self._row(sql, repository), strict=True))

    def forget(self, document: DocumentId, units: Sequence[UnitId]) -> None:
        """Delete a document's edges and their dependencies; keep the dependencies of the names that it exports."""
        self.delete_edges_from([-document, *units])
        for sql in ("DELETE FROM link_asks WHERE rowid = ?", "DELETE FROM link_counts WHERE document_id = ?"):
            self._run(sql, document)

    def forget_all(self, documents: Sequence[DocumentId]) -> None:
        """Delete the edges and dependencies of these documents, and mark the documents as not linked."""
        for sql in (
            "DELETE FROM edges WHERE source IN (SELECT id FROM units WHERE document_id IN (SELECT value FROM json_each(?1)))",
            "DELETE FROM edges WHERE source IN (SELECT -value FROM json_each(?1))",
            "DELETE FROM link_counts WHERE document_id IN (SELECT value FROM json_each(?1))",
            "UPDATE documents SET linked = '' WHERE linked <> '' AND id IN (SELECT value FROM json_each(?1))",
            "DELETE FROM link_asks WHERE rowid IN (SELECT value FROM json_each(?1) UNION ALL SELECT -value FROM json_each(?1))",
        ):
            self._run(sql, json.dumps(documents))

    def forget_offered(self, documents: Iterable[DocumentId]) -> None:
        """Delete the dependencies of the names that documents export."""
        self._run_many("DELETE FROM link_asks WHERE rowid = ?", [(-document,) for document in documents])

    def find_dependents(self, keys: Collection[int]) -> tuple[set[DocumentId], set[DocumentId]]:
        """Find the documents whose edges, and those whose exported names, depend on any of these keys."""
        sql = "SELECT rowid FROM link_asks WHERE link_asks MATCH ?"
        numbers = {int(row[0]) for key in sorted(keys) for row in self._rows(sql, f'"{key:08x}"')}
        return {DocumentId(row) for row in numbers if row > 0}, {DocumentId(-row) for row in numbers if row < 0}

    def find_source_documents(self, nodes: Iterable[NodeNumber]) -> set[DocumentId]:
        """Find the documents that have an edge to any of these nodes."""
        sql = """SELECT DISTINCT coalesce(u.document_id, -e.source) FROM json_each(?1) n
            CROSS JOIN edges e ON e.target = n.value LEFT JOIN units u ON u.id = e.source"""
        return {DocumentId(row[0]) for row in self._rows(sql, json.dumps(sorted(nodes)))}

    def set_linked(self, documents: Iterable[DocumentId], recipe: str) -> None:
        """Record the recipe with which documents were linked."""
        self._run_many("UPDATE documents SET linked = ? WHERE id = ?", [(recipe, document) for document in documents])

    def find_unlinked(self, repository: RepositoryId, recipe: str) -> list[DocumentId]:
        """Find the documents of a repository that were not linked with this recipe, by path."""
        sql = "SELECT id FROM documents WHERE repository_id = ? AND linked <> ? ORDER BY path"
        return [DocumentId(row[0]) for row in self._rows(sql, repository, recipe)]

    def read_content_keys(self, nodes: Iterable[NodeNumber]) -> Iterator[tuple[NodeNumber, RepositoryName, str]]:
        """Identify documents and externals by content: (node, repository, path or name) for the nodes that exist."""
        sql = f"""SELECT -d.id, r.name, d.path FROM json_each(?1) n CROSS JOIN documents d ON d.id = -n.value
            JOIN repositories r ON r.id = d.repository_id UNION ALL SELECT x.id + {EXTERNAL}, '', x.name
            FROM json_each(?1) n CROSS JOIN externals x ON x.id = n.value - {EXTERNAL}"""
        return iter(self._rows(sql, _list_ids(nodes)))


_WORDS = re.compile(r"[\w$]+")
MOST_WORDS = 100  # Limit on names in one FTS5 expression, since FTS5 limits the depth of expressions


class References(Tables):
    """Reads and writes uses of names, and imports."""

    def add(self, document: DocumentId, extraction: Extraction, references: PackedReferences) -> None:
        """Store a document's packed references and its imports; repeated imports at the same position are stored once."""
        if references.packed:
            self._run("INSERT INTO refs VALUES (?, ?)", document, references.packed)
        if references.names:
            self._run("INSERT INTO ref_names (rowid, names) VALUES (?, ?)", document, references.names)
        rows = [(document, i.start, i.line, i.module, i.name, i.alias) for i in extraction.imports]
        self._run_many("INSERT OR IGNORE INTO imports VALUES (?,?,?,?,?,?)", rows)

    def remove(self, document: DocumentId) -> None:
        """Delete a document's references, its imports, and its entry in the full-text index of names."""
        self._run("DELETE FROM ref_names WHERE rowid = ?", document)
        self._run("DELETE FROM refs WHERE document_id = ?", document)
        self._run("DELETE FROM imports WHERE document_id = ?", document)

    def list_in_document(self, document: DocumentId, name: str | None = None) -> tuple[Reference, ...]:
        """List a document's references in order of position, or only those of `name`. Their `unit` is a position in its units."""
        row = self._row("SELECT packed FROM refs WHERE document_id = ?", document)
        return unpack_references(row[0], name) if row else ()

    def find_unresolved(self, document: DocumentId) -> tuple[Reference, ...]:
        """Find a document's unresolved references, in order of position."""
        sql = "SELECT packed, places FROM refs JOIN link_counts USING (document_id) WHERE document_id = ?"
        packed, places = self._row(sql, document) or (b"", b"")
        references = unpack_references(packed) if places else ()
        return tuple(references[place] for place in unpack_places(places))

    def has_any(self, document: DocumentId) -> bool:
        """True if a document has references, bindings or imports."""
        sql = "SELECT EXISTS (SELECT 1 FROM refs WHERE document_id = ?1) OR EXISTS (SELECT 1 FROM imports WHERE document_id = ?1)"
        return bool(self._number(sql, document))

    def list_bindings(self, document: DocumentId) -> tuple[Binding, ...]:
        """List a document's bindings in order of position. Their `unit` is a position in the document's units."""
        row = self._row("SELECT packed FROM refs WHERE document_id = ?", document)
        return unpack_bindings(row[0]) if row else ()

    def list_imports(self, document: DocumentId) -> tuple[Import, ...]:
        """List a document's imports in order of position."""
        sql = """SELECT module, name, alias, start_byte, line FROM imports WHERE document_id = ?
            ORDER BY start_byte, name"""
        return tuple(Import(*row) for row in self._rows(sql, document))

    def find_documents(self, names: Iterable[str]) -> list[DocumentId]:
        """Find documents that may use any of these names, by id. Callers must check them: case and punctuation are ignored."""
        split = [_WORDS.findall(name) for name in sorted(set(names))]  # like the tokenizer; this index has no phrases
        asked = [" AND ".join(map(quote_term, words)) for words in split if words]
        sql, documents = "SELECT rowid FROM ref_names WHERE ref_names MATCH ?", set[int](self.unsearchable)
        for first in range(0, len(asked), MOST_WORDS):
            match = " OR ".join(f"({phrase})" for phrase in asked[first : first + MOST_WORDS])
            documents.update(row[0] for row in self._rows(sql, match))
        return [DocumentId(document) for document in sorted(documents)]
