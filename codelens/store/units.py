"""Tables of units: symbols, and the chunks of text that no symbol covers."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import count
from operator import attrgetter
from typing import Any

import apsw

from codelens.model.code import (
    CHUNK_KINDS,
    TODO,
    TYPE_KINDS,
    DocumentId,
    RepositoryId,
    RepositoryName,
    Span,
    UnitId,
    UnitRow,
)
from codelens.model.extraction import Unit
from codelens.store.connection import Tables
from codelens.store.documents import InOrder
from codelens.store.merging import DocumentNumber, SymbolName, UnitNumber, order_as_asked, set_merge_rule
from codelens.text.identifiers import fold_identifier

_SAME = (
    *("kind", "name", "container", "body_start", "start_line", "end_line", "name_line", "name_column"),
    *("signature", "doc", "local"),
)
"""Columns that hold the field of the same name of a `Unit`."""
_OTHERS = (
    *("id", "document_id", "parent_id", "folded", "start_byte", "end_byte", "name_start", "name_end"),
    *("pieces", "decorators"),
)
_INSERT = f"INSERT INTO units ({', '.join(_OTHERS + _SAME)}) VALUES ({', '.join('?' * len(_OTHERS + _SAME))})"
_ROW = """u.id, u.document_id, u.kind, u.name, u.container, u.parent_id, u.start_byte, u.end_byte, u.name_start,
    u.name_end, u.body_start, u.start_line, u.end_line, u.name_line, u.name_column, u.signature, u.doc,
    d.path, d.language, r.name, u.local, d.roles
    FROM units u JOIN documents d ON d.id = u.document_id JOIN repositories r ON r.id = d.repository_id"""
_REPOSITORY = "(SELECT r.name FROM repositories r WHERE r.id = d.repository_id)"
CONTENT_ORDER = f"{_REPOSITORY}, d.path, u.start_byte, -u.end_byte, u.kind, u.name"
"""SQL order for ties: by content, because row ids depend on past runs."""

_NOT_ASIDE = f"u.kind <> '{TODO}'"
CHUNKS = ", ".join(f"'{kind}'" for kind in CHUNK_KINDS)
_TYPES_AND_FUNCTIONS = ", ".join(f"'{kind}'" for kind in (*TYPE_KINDS, "function", "method"))
_IS_SYMBOL = f"u.kind NOT IN ({CHUNKS}, '{TODO}')"
_IS_TYPE_OR_FUNCTION = f"u.kind IN ({_TYPES_AND_FUNCTIONS})"
_LIKELIER = (_IS_SYMBOL, "NOT u.local", "u.name = ?2", "d.roles NOT LIKE '%test%'", _IS_TYPE_OR_FUNCTION)
"""SQL conditions that order units with the name ?2, so that the unit that is most likely meant comes first."""
_TYPES = ", ".join(f"'{kind}'" for kind in TYPE_KINDS)
Identity = tuple[str, str, str]  # (kind, container, name), by which a unit is recognised when its document changes
Brief = tuple[UnitId, DocumentId, str, str, str, int, int]  # (id, document, kind, name, container, start, end)
MOST_ROWS = 10_000  # Limit on cached rows of about 1 kB each; a search reads some 1,000, most of them several times
PLACE_ORDER = "start_byte, end_byte DESC, name_start, id"  # References and bindings refer to positions in this order


class UnitSet(tuple[UnitId, ...]):
    """An immutable, ordered set of units to which queries are limited: the scope of a search, or a pool of candidates.

    Sets are compared by identity, which is fast.
    """

    __slots__ = ()
    __eq__, __ne__, __hash__ = object.__eq__, object.__ne__, object.__hash__


def _order_names(answers: Sequence[Sequence[str]], arguments: Sequence[Any]) -> list[str]:
    names = {name for answer in answers for name in answer}
    return sorted(names, key=lambda name: (len(name), name))[: arguments[1]]


class UnitSets(Tables):
    """Keeps the set of units that queries used last in a temporary table in memory."""

    _held: UnitSet | None = None

    def fill_table(self, units: UnitSet) -> None:
        """Fill `temp.unit_set` with these units, unless it holds them already. Never within `Store.enforce_budget`."""
        if self._held is units:
            return
        self._held = None
        self._run("CREATE TEMP TABLE IF NOT EXISTS unit_set (id INTEGER PRIMARY KEY); DELETE FROM temp.unit_set")
        self._run("INSERT OR IGNORE INTO temp.unit_set SELECT value FROM json_each(?)", json.dumps(units))
        self._held = units

    def format_condition(self, column: str, units: UnitSet | None) -> str:
        """Make the SQL condition that a column of unit ids is in the set; empty if `units` is None.

        The plus keeps SQLite from querying a full-text index once per unit (18 s instead of 0.1 s for three words and 30,000
        units).
        """
        if units is None:
            return ""
        self.fill_table(units)
        return f"AND +{column} IN (SELECT id FROM temp.unit_set)"


class UnitTables(Tables):
    """Base class of objects whose queries may be limited to a set of units."""

    def __init__(self, connection: apsw.Connection, sets: UnitSets) -> None:
        super().__init__(connection)
        self._sets = sets


class Units(UnitTables):
    """Reads and writes units."""

    def __init__(self, connection: apsw.Connection, sets: UnitSets, unchanging: bool = False) -> None:
        super().__init__(connection, sets)
        self._count = cache(self._count_units) if unchanging else self._count_units
        self._kept: dict[UnitId, UnitRow] | None = {} if unchanging else None  # Cached rows, if they cannot change

    def add(
        self,
        document: DocumentId,
        units: Sequence[Unit],
        vectors: Sequence[Sequence[bytes]],
        kept: Mapping[Identity, list[UnitId]],
    ) -> list[UnitId]:
        """Store units; returns their ids in order. A unit whose identity is in `kept` gets its old id, which is removed there."""
        free = count(self._find_free_id("units"))
        known = (kept.get((u.kind, u.container, u.name)) for u in units)
        ids = [same_units.pop() if same_units else UnitId(next(free)) for same_units in known]
        self._next = next(free)
        rows, same = [], attrgetter(*_SAME)
        for unit, u, pieces in zip(ids, units, vectors, strict=True):
            parent = None if u.parent is None else ids[u.parent]
            folded = "" if u.kind == TODO else fold_identifier(u.name)  # the words of a comment are not names
            spans = u.span.start, u.span.end, u.name_span.start, u.name_span.end
            rows.append((unit, document, parent, folded, *spans, len(pieces), "\n".join(u.decorators), *same(u)))
        self._run_many(_INSERT, rows)
        return ids

    def group_by_identity(self, document: DocumentId) -> dict[Identity, list[UnitId]]:
        """Group the ids of a document's units by identity, in reverse order of position, so that `add` can pop the first."""
        sql = f"SELECT kind, container, name, id FROM units WHERE document_id = ? ORDER BY {PLACE_ORDER}"
        ids_of: dict[Identity, list[UnitId]] = {}
        for kind, container, name, unit in self._rows(sql, document):
            ids_of.setdefault((kind, container, name), []).append(UnitId(unit))
        for ids in ids_of.values():
            ids.reverse()
        return ids_of

    def list_piece_counts(self, document: DocumentId) -> list[tuple[UnitId, int]]:
        """List pairs (id, number of vectors) of a document's units, in order of position."""
        return self._rows(f"SELECT id, pieces FROM units WHERE document_id = ? ORDER BY {PLACE_ORDER}", document)

    def set_pieces(self, numbers: Sequence[tuple[UnitId, int]]) -> None:
        """Set numbers of vectors, given as pairs (unit, number)."""
        rows = [(pieces, unit, pieces) for unit, pieces in numbers]
        self._run_many("UPDATE units SET pieces = ? WHERE id = ? AND pieces <> ?", rows)

    def remove(self, document: DocumentId) -> None:
        """Delete a document's units from this table only; see `Store.remove_document`, which needs their ids before."""
        self._find_free_id("units")
        self._run("DELETE FROM units WHERE document_id = ?", document)

    def read_rows(self, ids: Iterable[UnitId]) -> dict[UnitId, UnitRow]:
        """Read the rows of those ids that exist, in no particular order: id → row."""
        if self._kept is None:
            return self._read_rows(ids)
        known, wanted = self._kept, sorted({*ids})
        if new := [unit for unit in wanted if unit not in known]:
            if len(known) + len(new) > MOST_ROWS:
                known.clear()
                new = wanted
            known |= self._read_rows(new)
        return {unit: known[unit] for unit in wanted if unit in known}

    def _read_rows(self, ids: Iterable[UnitId]) -> dict[UnitId, UnitRow]:
        rows = self._find("u.id IN (SELECT value FROM json_each(?))", f"[{','.join(map(str, ids))}]")
        return {row.id: row for row in rows}

    def _find(self, condition: str, *values: Any) -> list[UnitRow]:
        rows = self._rows(f"SELECT {_ROW} WHERE {condition}", *values)
        return [UnitRow._make((*row[:-2], bool(row[-2]), _parse_roles(row[-1]))) for row in rows]

    def list_in_document(self, document: DocumentId) -> list[UnitRow]:
        """List all units of a document in order of position, without TODO comments."""
        condition = f"u.document_id = ? AND {_NOT_ASIDE} ORDER BY u.start_byte, u.end_byte DESC, u.name"
        return self._find(condition, document)

    def read_extracted(self, document: DocumentId) -> tuple[Unit, ...]:
        """Read the units of a document as they were extracted, in the same order."""
        sql = f"""SELECT id, parent_id, start_byte, end_byte, name_start, name_end, decorators, {", ".join(_SAME)}
            FROM units WHERE document_id = ? ORDER BY {PLACE_ORDER}"""
        rows = self._rows(sql, document)
        place = {row[0]: i for i, row in enumerate(rows)}
        units = []
        for _, parent, start, end, name_start, name_end, decorators, *values in rows:
            fields = dict(zip(_SAME, values, strict=True))
            fields |= {"parent": place.get(parent), "span": Span(start, end), "name_span": Span(name_start, name_end)}
            marks = tuple(decorators.split("\n")) if decorators else ()
            units.append(Unit(**fields | {"decorators": marks, "local": bool(fields["local"])}))
        return tuple(units)

    def list_definitions(
        self, document: DocumentId
    ) -> list[tuple[UnitNumber, UnitNumber | None, str, str, str, bool, int, int]]:
        """List (id, parent's id, kind, name, container, local, start, end) of a document's units, in order of position."""
        sql = f"""SELECT id, parent_id, kind, name, container, local, start_byte, end_byte FROM units
            WHERE document_id = ? ORDER BY {PLACE_ORDER}"""
        return self._rows(sql, document)

    def read_content_keys(
        self, ids: Iterable[UnitId]
    ) -> Iterator[tuple[UnitId, RepositoryName, str, int, int, str, str]]:
        """Identify units by content: (id, repository, path, start, end, kind, name) for the ids that exist."""
        sql = """SELECT u.id, r.name, d.path, u.start_byte, u.end_byte, u.kind, u.name FROM json_each(?) n
            CROSS JOIN units u ON u.id = n.value JOIN documents d ON d.id = u.document_id
            JOIN repositories r ON r.id = d.repository_id"""
        return iter(self._rows(sql, f"[{','.join(map(str, ids))}]"))

    def read_signature(self, unit: UnitId) -> str:
        """Read a unit's signature; empty if the unit does not exist."""
        row = self._row("SELECT signature FROM units WHERE id = ?", unit)
        return str(row[0]) if row else ""

    def find_namesakes(self, name: SymbolName) -> list[tuple[UnitNumber, DocumentNumber, str, str]]:
        """Find symbols with exactly this name that are not local: (unit, document, kind, container)."""
        sql = f"""SELECT id, document_id, kind, container FROM units
            WHERE folded = ?1 AND name = ?2 AND NOT local AND kind NOT IN ({CHUNKS})"""
        return self._rows(sql, fold_identifier(name), name)

    def find_interfaces_with(self, name: str) -> list[tuple[UnitNumber, DocumentNumber]]:
        """Find the interfaces that have a method of exactly this name: (unit, document)."""
        sql = """SELECT DISTINCT p.id, p.document_id FROM units m JOIN units p ON p.id = m.parent_id
            WHERE m.folded = ?1 AND m.name = ?2 AND m.kind = 'method' AND NOT m.local AND p.kind = 'interface'"""
        return self._rows(sql, fold_identifier(name), name)

    def list_top_definitions(self, documents: Sequence[DocumentId]) -> Iterator[tuple[str, UnitNumber, DocumentNumber]]:
        """List (name, unit, document) of top-level definitions, in the given order of documents, then by position."""
        where = f"u.parent_id IS NULL AND u.name <> '' AND u.kind NOT IN ('method', 'property', {CHUNKS})"
        return self._select_in_documents("u.name, u.id, u.document_id", documents, where)

    def list_members(self, documents: Sequence[DocumentId]) -> Iterator[tuple[str, str, UnitNumber, DocumentNumber]]:
        """List (container, name, unit, document) of members that are not local, by document, then by position."""
        where = f"u.container <> '' AND NOT u.local AND u.kind NOT IN ({CHUNKS})"
        return self._select_in_documents("u.container, u.name, u.id, u.document_id", documents, where)

    def list_outlines(self, documents: Sequence[DocumentId]) -> Iterator[tuple[DocumentId, str, str, str, int, str]]:
        """List (document, kind, name, container, line, signature) of symbols that are not local, by document and position."""
        columns = "u.document_id, u.kind, u.name, u.container, u.start_line, u.signature"
        return self._select_in_documents(columns, documents, f"NOT u.local AND u.kind NOT IN ({CHUNKS})")

    def _select_in_documents(self, columns: str, documents: Sequence[DocumentId], where: str) -> Iterator[Any]:
        sql = f"""SELECT {columns} FROM json_each(?) n CROSS JOIN units u ON u.document_id = n.value WHERE {where}
            ORDER BY n.key, u.start_byte, u.end_byte DESC, u.name_start, u.id"""
        return iter(self._rows(sql, json.dumps(documents)))

    def list_todos(self, document: DocumentId) -> list[UnitRow]:
        """List the TODO comments of a document, in order of position."""
        return self._find(f"u.document_id = ? AND u.kind = '{TODO}' ORDER BY u.start_byte, u.end_byte DESC", document)

    def select_todos(self, within: Iterable[UnitId] | None, limit: int) -> InOrder[UnitId]:
        """Select TODO comments among these units, or among all; at most `limit`, by path and position."""
        among = "json_each(?1) n CROSS JOIN units u ON u.id = n.value" if within is not None else "units u"
        sql = f"""SELECT u.id, {CONTENT_ORDER} FROM {among} JOIN documents d ON d.id = u.document_id
            WHERE u.kind = '{TODO}' AND u.folded = '' ORDER BY {CONTENT_ORDER} LIMIT {int(limit)}"""
        values = () if within is None else (f"[{','.join(map(str, within))}]",)
        return InOrder.from_rows(self._rows(sql, *values))

    def list_ids(self, documents: Sequence[DocumentId], aside: bool = False) -> list[UnitId]:
        """List all units of these documents; `aside` includes TODO comments."""
        where = "" if aside else f"WHERE {_NOT_ASIDE}"
        sql = f"SELECT u.id FROM json_each(?) d CROSS JOIN units u ON u.document_id = d.value {where}"
        return [UnitId(row[0]) for row in self._rows(sql, json.dumps(documents))]

    def list_local(self) -> set[UnitId]:
        """List units defined inside a function, in all repositories."""
        return {UnitId(row[0]) for row in self._rows("SELECT id FROM units WHERE local")}

    def find_inner(self, units: Iterable[UnitNumber]) -> list[tuple[UnitId, UnitId]]:
        """Find the units directly inside these: pairs (outer, inner)."""
        sql = """SELECT p.id, c.id FROM json_each(?) n CROSS JOIN units p ON p.id = n.value
            CROSS JOIN units c ON c.document_id = p.document_id AND +c.parent_id = p.id"""
        return self._rows(sql, json.dumps(sorted(set(units))))

    def find_outer(self, units: Iterable[UnitNumber]) -> dict[UnitId, UnitId]:
        """Find the unit directly around each unit; top-level units are left out."""
        sql = "SELECT id, parent_id FROM units WHERE id IN (SELECT value FROM json_each(?)) AND parent_id IS NOT NULL"
        return dict(self._rows(sql, json.dumps(sorted(set(units)))))

    def list_spans(self, document: DocumentId) -> list[tuple[UnitId, int, int, int, int]]:
        """List (unit, start, end, number of lines, 1 if local) of a document's units, outermost first, without TODO comments."""
        sql = f"""SELECT u.id, u.start_byte, u.end_byte, u.end_line - u.start_line + 1, u.local FROM units u
            WHERE u.document_id = ? AND {_NOT_ASIDE} ORDER BY u.start_byte, u.end_byte DESC, u.id"""
        return self._rows(sql, document)

    def read_decorators(self, units: Iterable[UnitNumber]) -> dict[UnitId, tuple[str, ...]]:
        """Read the decorators of each unit, as written and in order; units without decorators are left out."""
        sql = "SELECT id, decorators FROM units WHERE id IN (SELECT value FROM json_each(?)) AND decorators <> ''"
        rows = self._rows(sql, json.dumps(sorted(set(units))))
        return {UnitId(unit): tuple(marks.split("\n")) for unit, marks in rows}

    def list_top_units(self, documents: Iterable[DocumentNumber]) -> list[tuple[DocumentId, UnitId]]:
        """List the top-level units of these documents: pairs (document, unit)."""
        sql = f"""SELECT u.document_id, u.id FROM json_each(?) n CROSS JOIN units u ON u.document_id = n.value
            WHERE u.parent_id IS NULL AND {_NOT_ASIDE}"""
        return self._rows(sql, json.dumps(sorted(set(documents))))

    @set_merge_rule(order_as_asked)
    def list_briefs(
        self, documents: Sequence[DocumentId], kinds: Collection[str] | None = None, aside: bool = False
    ) -> Iterator[Brief]:
        """List units of these kinds (default: all), in the order of the documents; `aside` includes TODO comments."""
        wanted = f"WHERE {'true' if aside else _NOT_ASIDE}"
        wanted += "" if kinds is None else " AND u.kind IN (SELECT value FROM json_each(?2))"
        sql = f"""SELECT u.id, u.document_id, u.kind, u.name, u.container, u.start_byte, u.end_byte FROM json_each(?1) d
            CROSS JOIN units u ON u.document_id = d.value {wanted}"""
        values = (json.dumps(documents),) if kinds is None else (json.dumps(documents), json.dumps(sorted(kinds)))
        return iter(self._rows(sql, *values))

    def read_places(
        self, units: Iterable[UnitNumber]
    ) -> list[tuple[UnitNumber, DocumentNumber, UnitNumber | None, str, str, str, bool]]:
        """Read (id, document, parent, kind, name, container, local) of those units that exist."""
        sql = """SELECT id, document_id, parent_id, kind, name, container, local FROM units
            WHERE id IN (SELECT value FROM json_each(?))"""
        return self._rows(sql, f"[{','.join(map(str, sorted(units)))}]")

    def find_by_name(
        self, folded: SymbolName, within: UnitSet | None, limit: int, languages: Collection[str] = ()
    ) -> InOrder[UnitId]:
        """Find units whose folded name is exactly this, in documents of these languages (default: all)."""
        if not languages:
            return self._find_in_order("u.folded = ?1", (folded,), within, limit)
        where = "u.folded = ?1 AND d.language IN (SELECT value FROM json_each(?2))"
        return self._find_in_order(where, (folded, json.dumps(sorted(languages))), within, limit)

    def find_likeliest(self, name: SymbolName, holder: str, within: UnitSet | None, limit: int) -> InOrder[UnitId]:
        """Find units whose folded name is that of `name`, the likeliest first; units in `holder`, a container or path, lead."""
        on_path = "instr('/' || d.path, '/' || replace(?3, '.', '/') || '{}')"
        first = f"""(u.container = ?3 OR substr(u.container, -length(?3) - 1) = '.' || ?3
            OR {on_path.format("/")} OR {on_path.format(".")}) AND ?3 <> ''"""
        values = (fold_identifier(name), name, holder)
        return self._find_in_order("u.folded = ?1", values, within, limit, (first, *_LIKELIER))

    def find_by_prefix(self, prefix: str, within: UnitSet | None, limit: int) -> InOrder[UnitId]:
        """Find units whose folded name starts with this prefix and is longer, shortest first."""
        return self._find_in_order("u.folded > ?1 AND u.folded < ?2", (prefix, prefix + "\U0010ffff"), within, limit)

    def find_by_part(self, text: str, within: UnitSet | None, limit: int) -> InOrder[UnitId]:
        """Find symbols whose path, container and name, joined by dots, contain this lower-case text; shortest names first."""
        where = f"instr(lower(d.path || '.' || u.container || '.' || u.name), ?1) AND {_IS_SYMBOL}"
        return self._find_in_order(where, (text,), within, limit)

    def find_in_segment(self, text: str, within: UnitSet | None, limit: int) -> InOrder[UnitId]:
        """Find the symbols below folders, and in files, of this lower-case name; a file is compared without its extension."""
        on_path = "instr('/' || lower(d.path), '/' || ?1 || '{}')"
        where = f"({on_path.format('/')} OR {on_path.format('.')}) AND {_IS_SYMBOL}"
        return self._find_in_order(where, (text,), within, limit)

    def group_by_members(self, documents: Sequence[DocumentId], words: Sequence[str]) -> InOrder[tuple[UnitId, int]]:
        """Group the symbols of these documents by their members: pairs (symbol, group).

        Groups, in order: 0 for types with a method whose name contains one of these words, 1 for types with other members, 2 for
        types without members, 3 for other symbols. In each group, tests are last.
        """
        member = "SELECT 1 FROM units c WHERE c.document_id = u.document_id AND c.parent_id = u.id"
        said = "SELECT 1 FROM json_each(?2) w WHERE instr(c.folded, w.value)"
        order = f"held, d.roles LIKE '%test%', {CONTENT_ORDER}"
        sql = f"""SELECT u.id, CASE WHEN u.kind NOT IN ({_TYPES}) THEN 3
            WHEN EXISTS ({member} AND c.kind = 'method' AND EXISTS ({said})) THEN 0 WHEN EXISTS ({member}) THEN 1
            ELSE 2 END AS held, d.roles LIKE '%test%', {CONTENT_ORDER} FROM json_each(?1) n
            CROSS JOIN documents d ON d.id = n.value CROSS JOIN units u ON u.document_id = d.id
            WHERE NOT u.local AND {_IS_SYMBOL} ORDER BY {order}"""
        rows = self._rows(sql, json.dumps(documents), json.dumps(list(words)))
        return InOrder([row[:2] for row in rows], [row[1:] for row in rows])

    def list_folded_names(self) -> Iterator[str]:
        """List the distinct folded names of all units, sorted."""
        return (name for (name,) in self._rows("SELECT DISTINCT folded FROM units ORDER BY folded"))

    @set_merge_rule(_order_names)
    def complete_name(self, beginning: str, limit: int) -> list[str]:
        """Complete the beginning of a symbol's name, shortest names first; after a dot, with members of what precedes the dot."""
        holder, dot, begun = beginning.rpartition(".")
        folded = fold_identifier(begun)
        if not (folded or dot):
            return []
        where = f"{_IS_SYMBOL} AND NOT u.local AND substr(u.name, 1, length(?1)) = ?1"
        values = [begun, folded, f"{folded}\U0010ffff"]
        if folded:
            where += " AND u.folded >= ?2 AND u.folded < ?3"
        if dot:
            named = "SELECT document_id FROM units WHERE folded = ?4"
            where += " AND (u.container = ?5 OR substr(u.container, -length(?5) - 1) = '.' || ?5)"
            where += "" if folded else f" AND u.document_id IN ({named})"
            values += [fold_identifier(holder.rpartition(".")[2]), holder]
        sql = f"SELECT DISTINCT u.name FROM units u WHERE {where} ORDER BY length(u.name), u.name LIMIT {int(limit)}"
        return [f"{holder}{dot}{row[0]}" for row in self._rows(sql, *values)]

    def _find_in_order(
        self, where: str, values: tuple[str, ...], within: UnitSet | None, limit: int, first: Sequence[str] = ()
    ) -> InOrder[UnitId]:
        """Find units that satisfy the SQL condition `where`; units that satisfy the conditions `first` lead."""
        before = "".join(f"NOT coalesce({condition}, 0), " for condition in first)
        order = f"{before}length(u.folded), u.local, d.roles LIKE '%test%', {CONTENT_ORDER}"
        sql = f"""SELECT u.id, {order} FROM units u JOIN documents d ON d.id = u.document_id
            WHERE {where} {self._sets.format_condition("u.id", within)} ORDER BY {order} LIMIT {int(limit)}"""
        return InOrder.from_rows(self._rows(sql, *values))

    def count_kinds(self, repository: RepositoryId) -> dict[str, int]:
        """Count a repository's units by kind, the largest number first."""
        sql = """SELECT u.kind, count(*) FROM units u JOIN documents d ON d.id = u.document_id WHERE d.repository_id = ?
            GROUP BY 1 ORDER BY 2 DESC, 1"""
        return dict(self._rows(sql, repository))

    def count(self) -> int:
        """Count the units of all repositories, without TODO comments."""
        return self._count()

    def _count_units(self) -> int:
        # Two counts over indexes; a condition on the kind alone would read every row.
        aside = f"SELECT count(*) FROM units WHERE folded = '' AND kind = '{TODO}'"
        return self._number(f"SELECT count(*) - ({aside}) FROM units")


@cache
def _parse_roles(roles: str) -> frozenset[str]:
    """Split roles; units with the same roles share one set."""
    return frozenset(roles.split())
