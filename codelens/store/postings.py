"""The two full-text indexes: words of units, and trigrams of texts and names.

What users typed reaches FTS5 only inside double quotes, with double quotes doubled; the operators are ours.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import compress
from typing import Any

import apsw

from codelens.derived import Posting, Unit
from codelens.model import TODO, DocumentId, UnitId
from codelens.store.parts import by_document
from codelens.store.phrases import Phrases, quoted
from codelens.store.units import CONTENT_ORDER, within
from codelens.text.identifiers import fold_identifier
from codelens.text.trigrams import trigrams

COLUMNS = ("body", "name", "concepts", "path", "container", "doc", "signature")
_TABLES = ("unit_terms", "text_trigrams", "name_trigrams", "ref_names", "link_asks")


class Postings:
    """The gateway to the full-text tables; rowids are ids of units, or of documents for texts."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection
        self._phrases = Phrases(connection)

    # Writing

    def begin_build(self) -> None:
        """Merging as it goes costs a build an eighth of its time; `end_build` merges once."""
        for table in _TABLES:
            self._connection.execute(f"INSERT INTO {table} ({table}, rank) VALUES ('automerge', 0)").fetchall()

    def end_build(self) -> None:
        """Merge each table into one segment, and merge as it goes from here on (4 is FTS5's default)."""
        for table in _TABLES:
            self._connection.execute(f"INSERT INTO {table} ({table}) VALUES ('optimize')").fetchall()
            self._connection.execute(f"INSERT INTO {table} ({table}, rank) VALUES ('automerge', 4)").fetchall()

    def add(self, ids: Sequence[UnitId], units: Sequence[Unit], postings: Sequence[Posting], fuzzy: bool) -> None:
        """One row of terms for each unit, and one of its name's trigrams where the index has them.

        A comment that stands aside has none: no figure of the others may depend on it.
        """
        told = [u.kind != TODO for u in units]
        self._connection.executemany(
            f"INSERT INTO unit_terms (rowid, {', '.join(COLUMNS)}) VALUES (?,?,?,?,?,?,?,?)",
            [
                (unit, p.body, p.name, p.concepts, p.path, p.container, p.doc, p.signature)
                for unit, p in compress(zip(ids, postings, strict=True), told)
            ],
        ).fetchall()
        if not fuzzy:
            return
        self._connection.executemany(
            "INSERT INTO name_trigrams (rowid, name) VALUES (?, ?)",
            [(i, fold_identifier(u.name)) for i, u in compress(zip(ids, units, strict=True), told)],
        ).fetchall()

    def add_text(self, document: DocumentId, trigram_text: str) -> None:
        """The trigrams of a document's text; those of a large file are its parts'."""
        sql = "INSERT INTO text_trigrams (rowid, text) VALUES (?, ?)"
        self._connection.execute(sql, (document, trigram_text)).fetchall()

    def remove(self, document: DocumentId, units: Sequence[UnitId]) -> None:
        """Take a document and its units out of all full-text tables but that of references."""
        rows = [(u,) for u in units]
        self._connection.executemany("DELETE FROM unit_terms WHERE rowid = ?", rows).fetchall()
        self._connection.executemany("DELETE FROM name_trigrams WHERE rowid = ?", rows).fetchall()
        self._connection.execute("DELETE FROM text_trigrams WHERE rowid = ?", (document,)).fetchall()

    # Words

    def document_frequency(self, term: str, columns: Sequence[str] = ()) -> int:
        """In how many units the term (stemmed; `word*` for all that begins so) occurs, in any of the columns."""
        sql = "SELECT count(*) FROM unit_terms WHERE unit_terms MATCH ?"
        row = self._connection.execute(sql, (self._any_in([term], columns),)).fetchone()
        return int(row[0]) if row else 0

    def vocabulary(self, prefix: str) -> list[tuple[str, int]]:
        """(term, number of units) of all terms that begin with a prefix, stemmed as the index holds them."""
        self._connection.execute(
            "CREATE VIRTUAL TABLE IF NOT EXISTS temp.vocabulary USING fts5vocab('main', 'unit_terms', 'row')"
        ).fetchall()
        sql = "SELECT term, doc FROM temp.vocabulary WHERE term >= ?1 AND term < ?1 || char(0x10ffff)"
        rows: list[Any] = self._connection.execute(sql, (prefix,)).fetchall()
        return rows

    def bm25(
        self, terms: Sequence[str], weights: Mapping[str, float], scoped: bool, limit: int, columns: Sequence[str] = ()
    ) -> list[tuple[UnitId, float]]:
        """Units with any of the terms and their BM25 score (positive, higher is better), best first, ties by content."""
        match = self._any_in(terms, columns)
        numbers = ", ".join(repr(float(weights.get(c, 1.0))) for c in COLUMNS)
        # The limit is applied to scores alone first; whatever ties with the last one is kept and cut by content.
        sql = (
            f"WITH found AS MATERIALIZED (SELECT rowid AS id, -bm25(unit_terms, {numbers}) AS score FROM unit_terms "
            f"WHERE unit_terms MATCH ?1 {within('rowid', scoped)}), "
            f"edge AS (SELECT score FROM found ORDER BY score DESC LIMIT 1 OFFSET {int(limit) - 1}) "
            f"SELECT found.id, found.score FROM found JOIN units u ON u.id = found.id "
            f"JOIN documents d ON d.id = u.document_id "
            f"WHERE found.score >= coalesce((SELECT score FROM edge), -1e308) "
            f"ORDER BY found.score DESC, {CONTENT_ORDER} LIMIT {int(limit)}"
        )
        return [(UnitId(i), float(s)) for i, s in self._connection.execute(sql, (match,))]

    def pool_with_term(self, term: str, columns: Sequence[str] = ()) -> set[UnitId]:
        """Which units of the pool hold the term, in any of the columns."""
        sql = "SELECT rowid FROM unit_terms WHERE unit_terms MATCH ? AND +rowid IN (SELECT id FROM temp.pool)"
        return {UnitId(row[0]) for row in self._connection.execute(sql, (self._any_in([term], columns),))}

    def _any_in(self, terms: Sequence[str], columns: Sequence[str]) -> str:
        """The FTS5 expression for any of the terms, in some columns or in all where none is named."""
        expression = f"({self._phrases.any_of(terms)})"
        return f"{{{' '.join(columns)}}} : {expression}" if columns else expression

    # Trigrams

    def documents_matching(self, expression: str) -> Mapping[DocumentId, Collection[int]]:
        """Documents that may match an expression over quoted trigrams (see `all_trigrams`), each with the numbers of the
        parts that may, where it is stored in parts. Verify them on the text."""
        sql = "SELECT rowid FROM text_trigrams WHERE text_trigrams MATCH ? ORDER BY rowid"
        return by_document(row[0] for row in self._connection.execute(sql, (expression,)))

    def names_containing(self, folded: str, scoped: bool, limit: int) -> list[UnitId]:
        """Units whose folded name holds this (three characters at least), shortest names first."""
        sql = (
            f"SELECT u.id FROM name_trigrams t JOIN units u ON u.id = t.rowid JOIN documents d ON d.id = u.document_id "
            f"WHERE t.name_trigrams MATCH ?1 AND instr(u.folded, ?2) {within('u.id', scoped)} "
            f"ORDER BY length(u.folded), u.local, d.roles LIKE '%test%', {CONTENT_ORDER} LIMIT {int(limit)}"
        )
        return [UnitId(row[0]) for row in self._connection.execute(sql, (all_trigrams(folded), folded))]

    def names_resembling(self, folded: str, scoped: bool, limit: int) -> list[tuple[UnitId, str]]:
        """(unit, folded name) of the names that share most trigrams with this one, at least a third of them."""
        grams = trigrams(folded)
        if not grams:
            return []
        parts = " UNION ALL ".join("SELECT rowid AS id FROM name_trigrams WHERE name_trigrams MATCH ?" for _ in grams)
        sql = (
            f"SELECT u.id, u.folded, count(*) AS shared FROM ({parts}) g JOIN units u ON u.id = g.id "
            f"JOIN documents d ON d.id = u.document_id WHERE true {within('u.id', scoped)} "
            f"GROUP BY u.id HAVING shared * 3 >= {len(grams)} "
            f"ORDER BY shared DESC, abs(length(u.folded) - {len(folded)}), u.local, {CONTENT_ORDER} LIMIT {int(limit)}"
        )
        return [(UnitId(i), name) for i, name, _ in self._connection.execute(sql, tuple(map(quoted, grams)))]


def all_trigrams(text: str) -> str:
    """The FTS5 expression that every text with this substring satisfies; empty if it has no three characters on a line."""
    return " AND ".join(map(quoted, trigrams(text)))
