"""Full-text tables: words of units, trigrams of texts and names, and the term statistics by which units and files
are ranked.

User input is passed to FTS5 only as quoted strings; all operators are ours. The tables hold stems, and FTS5 also stems
the words and prefixes of a query: `"deploy" *` looks for "deploi…" and misses "deployment" (stem deploy);
`"authenticat" *` misses "authentication" (stem authent). So a prefix is queried by a word of which it is the stem, and
words with other stems by common endings.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache, cached_property, lru_cache
from itertools import chain, pairwise
from typing import Any

import apsw

from codelens.model.code import TODO, DocumentId, UnitId
from codelens.model.extraction import Posting, Unit
from codelens.model.fast_dataclass import dataclass
from codelens.store.documents import InOrder, group_by_document
from codelens.store.merging import ElementRule, Expression, Expressions, add_pairs, join_mappings, set_merge_rule
from codelens.store.term_arrays import COLUMNS as COLUMNS
from codelens.store.term_arrays import TermArrays
from codelens.store.units import CHUNKS, CONTENT_ORDER, UnitSet, UnitSets, UnitTables
from codelens.text.bm25 import compute_fts5_idf, score_term, weigh_length
from codelens.text.identifiers import fold_identifier
from codelens.text.terms import BEGINNING, list_trigrams

TOKENIZER = ("porter", ["unicode61", "remove_diacritics", "2", "tokenchars", "_"])  # The tokenizer of unit_terms
CARRIERS = ("", "s", "ed", "ing", "ness", "ment", "ful", "ly")
"""Endings that the stemmer removes by different rules. For most prefixes, it turns prefix + ending back into the prefix."""
ENDINGS = (
    "ication", "ization", "ations", "ement", "ness", "ity", "able", "ible", "ance", "ence", "ative", "ously", "ally", "ers",
    "ors", "ies", "ing", "ed", "es",
)  # fmt: skip
"""The most common endings of English words."""
TAILS = ("", *dict.fromkeys(end[at:] for end in ENDINGS for at in range(len(end))))  # Continuations of a prefix
SHORTEST_STEM = 3  # Letters of a stem that may be queried as a prefix; `us`, the stem of `uses`, begins too many words


def quote_term(term: str) -> str:
    """Quote a term as an FTS5 string. NUL would end FTS5's input, so it is replaced by a space."""
    return '"' + term.replace('"', '""').replace("\0", " ") + '"'


@dataclass(frozen=True, slots=True)
class InColumns:
    """A phrase to find in certain columns only; with `begins`, its last word is a prefix."""

    words: str
    columns: tuple[str, ...] = ()  # Empty for all
    begins: bool = False


def _format_columns(columns: Sequence[str]) -> str:
    """Format the beginning of an FTS5 expression that limits it to columns; empty for all columns."""
    return f"{{{' '.join(columns)}}} : " if columns else ""


class Phrases:
    """Translates terms to FTS5 phrases and expressions, with the tokenizer of a connection."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection
        self._known: dict[str, tuple[str, ...]] = {}

    def make_phrases(self, term: str | InColumns) -> tuple[str, ...]:
        """Make the FTS5 phrases for a term. A text with the term matches at least one of them."""
        if isinstance(term, InColumns):
            return (f"{_format_columns(term.columns)}{quote_term(term.words)}{' *' * term.begins}",)
        if not term.endswith(BEGINNING):
            return (quote_term(term),)
        if term not in self._known:
            self._known[term] = tuple(self._list_phrases_with_prefix(term.removesuffix(BEGINNING)))
        return self._known[term]

    def match_any(self, terms: Iterable[str | InColumns], columns: Sequence[str] = ()) -> str:
        """Make the FTS5 expression for texts with any of these terms in these columns (default: all)."""
        return f"{_format_columns(columns)}({' OR '.join(chain.from_iterable(map(self.make_phrases, terms)))})"

    def match_each(self, terms: Iterable[str | InColumns], columns: Sequence[str] = ()) -> list[str]:
        """Make a separate expression for each phrase of `match_any`, in the same order."""
        return [f"{_format_columns(columns)}({phrase})" for term in terms for phrase in self.make_phrases(term)]

    def build_expressions(
        self, terms: Sequence[str | InColumns], columns: Sequence[str], proposing: Sequence[str]
    ) -> tuple[str, ...]:
        """Make expressions for units with any of the terms and, if `proposing` is given, for units with any of those."""
        return (self.match_any(terms, columns), *([self.match_any(proposing, columns)] if proposing else []))

    def _list_phrases_with_prefix(self, begun: str) -> Iterator[str]:
        """Make the phrases for a prefix: first for stems with this prefix, then for other stems of words with this prefix."""
        begun_stem = self.stem(begun)
        carrier = next((begun + end for end in CARRIERS if self.stem(begun + end) == begun), "")
        if not carrier and begun.startswith(begun_stem) and len(begun_stem) >= SHORTEST_STEM:
            carrier, begun = begun, begun_stem
        if not carrier:
            yield quote_term(begun)
            return
        yield f"{quote_term(carrier)} *"
        others: dict[str, str] = {}
        for word in (begun + tail for tail in TAILS):
            if not (stem := self.stem(word)).startswith(begun):
                others.setdefault(stem, word)
        yield from map(quote_term, others.values())

    def stem(self, word: str) -> str:
        """Stem a word as the index does; empty if it has no letters or digits."""
        return next(iter(self.split_into_stems(word)), "")

    def split_into_stems(self, text: str) -> list[str]:
        """Split a text into words and stem them as the index does."""
        return _tokenize(self._tokenizer, text)

    def split_into_words(self, terms: str) -> list[str]:
        """Split terms and fold them as the index does before stemming; ASCII terms must be folded already."""
        return terms.split() if terms.isascii() else _tokenize(self._folding_tokenizer, terms)

    @cached_property
    def _tokenizer(self) -> apsw.FTS5Tokenizer:
        return self._connection.fts5_tokenizer(TOKENIZER[0], TOKENIZER[1])

    @cached_property
    def _folding_tokenizer(self) -> apsw.FTS5Tokenizer:
        return self._connection.fts5_tokenizer(TOKENIZER[1][0], TOKENIZER[1][1:])


def _tokenize(tokenizer: apsw.FTS5Tokenizer, text: str) -> list[str]:
    tokens = tokenizer(text.encode("utf-8", "replace"), apsw.FTS5_TOKENIZE_QUERY, None, include_offsets=False)
    return [str(same[0]) for same in tokens]


MOST_KEPT = 4096  # Limit on cached frequencies of terms; a search needs each several times
_TABLES = ("unit_terms", "text_trigrams", "name_trigrams", "ref_names", "link_asks", "message_terms")


@dataclass(frozen=True, slots=True)
class WordStatistics:
    """Word counts of a whole collection, which may be several indexes."""

    rows: int
    tokens: Sequence[int]  # Number of words in each column
    hits: Sequence[int]  # For each phrase of a query, the number of units with it


class Postings(UnitTables):
    """Reads and writes the full-text tables. Rowids are ids of units; for texts, ids of documents or parts."""

    def __init__(self, connection: apsw.Connection, sets: UnitSets, unchanging: bool = False) -> None:
        super().__init__(connection, sets)
        self._phrases = Phrases(connection)
        self.arrays = TermArrays(connection, self._phrases.split_into_stems) if unchanging else None
        """Cache of postings in memory; None if the index may change."""
        self._matching = lru_cache(MOST_KEPT)(self._count_matching) if unchanging else self._count_matching
        self._registered = False
        self._mean, self._idf, self._weights = 1.0, list[float](), list[float]()

    # Writing

    def begin_build(self) -> None:
        """Turn off automatic merging, which takes an eighth of a build's time; `end_build` merges once."""
        for table in _TABLES:
            self._run(f"INSERT INTO {table} ({table}, rank) VALUES ('automerge', 0)")

    def end_build(self) -> None:
        """Merge each table into one segment, and turn merging on again (4 is FTS5's default)."""
        for table in _TABLES:
            self._run(f"INSERT INTO {table} ({table}) VALUES ('optimize')")
            self._run(f"INSERT INTO {table} ({table}, rank) VALUES ('automerge', 4)")

    def add(self, ids: Sequence[UnitId], units: Sequence[Unit], postings: Sequence[Posting], fuzzy: bool) -> None:
        """Add each unit's terms and, with `fuzzy`, trigrams of its name. TODO comments are left out of the statistics."""
        rows = [(i, u, posting) for i, u, posting in zip(ids, units, postings, strict=True) if u.kind != TODO]
        sql = f"INSERT INTO unit_terms (rowid, {', '.join(COLUMNS)}) VALUES (?,?,?,?,?,?,?,?)"
        self._run_many(sql, [(i, *posting) for i, _, posting in rows])
        if fuzzy:
            names = [(i, fold_identifier(u.name)) for i, u, _ in rows]
            self._run_many("INSERT INTO name_trigrams (rowid, name) VALUES (?, ?)", names)

    def add_text(self, document: DocumentId, trigrams: str) -> None:
        """Add the `joined_trigrams` of a document's text; the parts of a large document have their own."""
        self._run("INSERT INTO text_trigrams (rowid, text) VALUES (?, ?)", document, trigrams)

    def remove(self, document: DocumentId, units: Sequence[UnitId]) -> None:
        """Delete a document from all full-text tables except that of references. Call it before the units' rows are deleted."""
        self._run_many("DELETE FROM unit_terms WHERE rowid = ?", [(u,) for u in units])
        sql = f"""INSERT INTO name_trigrams (name_trigrams, rowid, name) SELECT 'delete', id, folded FROM units
            WHERE document_id = ? AND kind <> '{TODO}'
            AND NOT EXISTS (SELECT 1 FROM meta WHERE key = 'fuzzy' AND value = '0')"""
        self._run(sql, document)
        self._run("DELETE FROM text_trigrams WHERE rowid = ?", document)

    # Words

    def count_units(self, term: str, columns: Sequence[str] = ()) -> int:
        """Count units with the stemmed term in any of these columns (default: all). `word*` means all words with this prefix."""
        return self._matching(self._phrases.match_any([term], columns))

    def count_units_by_term(self, terms: Iterable[str], columns: Sequence[str] = ()) -> dict[str, int]:
        """Count the units for each term; see `count_units`."""
        return {term: self.count_units(term, columns) for term in terms}

    def _count_matching(self, expression: str) -> int:
        return self._number("SELECT count(*) FROM unit_terms WHERE unit_terms MATCH ?", expression)

    def stem(self, word: str) -> str:
        """Stem a word as the index and `list_vocabulary` do."""
        return self._phrases.stem(word)

    def fold_terms(self, terms: str) -> list[str]:
        """Split the terms of `index_terms` at spaces, and fold them as the index does, without stemming."""
        return self._phrases.split_into_words(terms)

    @set_merge_rule(add_pairs)
    def list_vocabulary(self, prefix: str, shortest: int, longest: int) -> list[tuple[str, int]]:
        """List stemmed terms with this prefix, of `shortest` to `longest` characters: pairs (term, number of units)."""
        self._run("CREATE VIRTUAL TABLE IF NOT EXISTS temp.vocabulary USING fts5vocab('main', 'unit_terms', 'row')")
        sql = """SELECT term, doc FROM temp.vocabulary
            WHERE term >= ?1 AND term < ?1 || char(0x10ffff) AND length(term) BETWEEN ?2 AND ?3"""
        return self._rows(sql, prefix, shortest, longest)

    def rank_by_bm25(
        self,
        terms: Sequence[str | InColumns],
        weights: Mapping[str, float],
        within: UnitSet | None,
        limit: int,
        columns: Sequence[str] = (),
        proposing: Sequence[str] = (),
    ) -> InOrder[tuple[UnitId, float]]:
        """Find the best units with any term (with `proposing`: any of those): pairs (unit, BM25 by all terms), ties by content."""
        factors = [float(weights.get(column, 1.0)) for column in COLUMNS]
        if self.arrays and within is None:
            rows = self.arrays.find_best(terms, factors, columns, proposing, limit)
            if rows is not None:
                return self._order_rows(rows, limit)
        matches = self._phrases.build_expressions(terms, columns, proposing)
        return self._find_best(f"-bm25(unit_terms, {', '.join(map(repr, factors))})", matches, within, limit)

    def rank_by_given_bm25(
        self,
        matches: Expressions,
        weights: Mapping[str, float],
        given: WordStatistics,
        within: UnitSet | None,
        limit: int,
    ) -> InOrder[tuple[UnitId, float]]:
        """Score like `rank_by_bm25`, but with the statistics `given` of a larger collection.

        FTS5's own function uses only its own table. Ours adds the terms in the same order, so results agree to the last bit.
        `matches` is the result of `Phrases.build_expressions`.
        """
        if not self._registered:
            self._connection.register_fts5_function("bm25_given", self._score)
            self._registered = True
        rows, tokens = given.rows, sum(given.tokens)
        self._mean = tokens / rows if rows else 1.0
        self._idf = [compute_fts5_idf(rows, holding) for holding in given.hits]
        self._weights = [float(weights.get(column, 1.0)) for column in COLUMNS]
        best = self._find_best("bm25_given(unit_terms)", matches, within, limit)
        keys = self._read_content_keys([unit for unit, _ in best])
        return InOrder(best, [(-score, *keys[unit]) for unit, score in best])

    def _score(self, api: apsw.FTS5ExtensionApi, *_: object) -> float:
        """Compute the BM25 of a row from the statistics of `rank_by_given_bm25`: the FTS5 function of that name."""
        weights, score = self._weights, 0.0
        length_weight = weigh_length(api.column_size(-1), self._mean)
        for phrase, idf in enumerate(self._idf):
            if api.phrase_columns(phrase):
                frequency = 0.0
                for column, places in enumerate(api.phrase_locations(phrase)):
                    for _place in places:  # not a product: FTS5 adds, and the last bit counts
                        frequency += weights[column]
                score += score_term(idf, frequency, length_weight)
        return score

    @set_merge_rule(is_lasting=True)
    def count_matches(self, expressions: Sequence[Expression]) -> dict[Expression, int]:
        """Count the units that match each FTS5 expression: expression → number."""
        return {expression: self._matching(expression) for expression in expressions}

    def read_totals(self) -> tuple[int, tuple[int, ...]]:
        """Read the number of rows, and of words in each column, from FTS5's own totals."""
        row = self._row("SELECT block FROM unit_terms_data WHERE id = 1")
        rows, *tokens = _decode_varints(bytes(row[0])) if row else [0]
        return rows, (*tokens, *[0] * (len(COLUMNS) - len(tokens)))

    def _find_best(self, scoring: str, matches: Sequence[str], within: UnitSet | None, limit: int) -> InOrder[Any]:
        """Find the best units by an SQL expression; `matches`: result of `Phrases.build_expressions`."""
        proposed = "AND +rowid IN (SELECT rowid FROM unit_terms WHERE unit_terms MATCH ?2)" if len(matches) > 1 else ""
        sql = f"""SELECT rowid, {scoring} AS score FROM unit_terms
            WHERE unit_terms MATCH ?1 {self._sets.format_condition("rowid", within)} {proposed} ORDER BY score DESC LIMIT"""
        rows = self._rows(f"{sql} {limit + 1}", *matches)
        if 0 < limit < len(rows) and rows[limit - 1][1] == rows[limit][1]:  # read all rows, to order ties by content
            rows = self._rows(f"{sql} -1", *matches)
        return self._order_rows(rows, limit)

    def _order_rows(self, rows: list[tuple[Any, float]], limit: int) -> InOrder[Any]:
        """Order ties by content in rows that are ordered by score; returns the first `limit` rows."""
        shared = {score for (_, score), (_, other) in pairwise(rows) if score == other}
        keys = self._read_content_keys([unit for unit, score in rows if score in shared])
        rows.sort(key=lambda row: (-row[1], keys.get(row[0], ())))
        return InOrder(rows[:limit], [(-score, *keys.get(unit, ())) for unit, score in rows[:limit]])

    def _read_content_keys(self, units: Sequence[int]) -> dict[int, tuple[Any, ...]]:
        """Read the keys that order units by content: unit → key."""
        sql = f"""SELECT u.id, {CONTENT_ORDER} FROM json_each(?) n CROSS JOIN units u ON u.id = n.value
            JOIN documents d ON d.id = u.document_id"""
        return {row[0]: row[1:] for row in self._rows(sql, json.dumps(units))} if units else {}

    # Trigrams

    def find_documents(self, expression: str) -> Mapping[DocumentId, Collection[int]]:
        """Find documents, and parts of large ones, that may match `build_trigram_query`. Callers must check their text."""
        sql = "SELECT rowid FROM text_trigrams WHERE text_trigrams MATCH ? ORDER BY rowid"
        matching = group_by_document(row[0] for row in self._rows(sql, expression))
        return {**matching, **dict.fromkeys(self.unsearchable, ())}

    def find_names_containing(self, folded: str, within: UnitSet | None, limit: int) -> InOrder[UnitId]:
        """Find units whose folded name contains this text of at least three characters, shortest names first."""
        names = self.find_names_with(folded, within, limit)
        return InOrder([unit for unit, _, _ in names], names.keys)

    def find_names_with(
        self, folded: str, within: UnitSet | None, limit: int, typed: str = ""
    ) -> InOrder[tuple[UnitId, DocumentId, int]]:
        """Like `find_names_containing`, as (unit, document, length of folded name); of equal lengths, names with `typed` lead."""
        order = f"length(u.folded), u.kind IN ({CHUNKS}), NOT instr(u.name, ?3), u.local, d.roles LIKE '%test%', {CONTENT_ORDER}"
        sql = f"""SELECT u.id, u.document_id, length(u.folded), {order} FROM name_trigrams t
            JOIN units u ON u.id = t.rowid JOIN documents d ON d.id = u.document_id
            WHERE t.name_trigrams MATCH ?1 AND instr(u.folded, ?2) {self._sets.format_condition("u.id", within)} ORDER BY {order}
            LIMIT {int(limit)}"""
        rows = self._rows(sql, build_trigram_query(folded), folded, typed)
        return InOrder([row[:3] for row in rows], [row[3:] for row in rows])

    def find_names_resembling(self, folded: str, within: UnitSet | None, limit: int) -> InOrder[tuple[UnitId, str]]:
        """Find names that share the most trigrams, and at least a third, with this one: pairs (unit, folded name)."""
        grams = list_trigrams(folded)
        if not grams:
            return InOrder((), ())
        parts = " UNION ALL ".join("SELECT rowid AS id FROM name_trigrams WHERE name_trigrams MATCH ?" for _ in grams)
        order = f"-shared, abs(length(u.folded) - {len(folded)}), u.local, {CONTENT_ORDER}"
        alike = f"SELECT id, count(*) AS shared FROM ({parts}) GROUP BY id HAVING shared * 3 >= {len(grams)}"
        sql = f"""SELECT u.id, u.folded, {order} FROM ({alike}) g CROSS JOIN units u ON u.id = g.id
            JOIN documents d ON d.id = u.document_id WHERE true {self._sets.format_condition("u.id", within)} ORDER BY {order}
            LIMIT {int(limit)}"""
        rows = self._rows(sql, *map(quote_term, grams))
        return InOrder([row[:2] for row in rows], [row[2:] for row in rows])


def build_trigram_query(text: str) -> str:
    """Build an FTS5 expression that all texts with this substring match; empty if no line of it has three characters."""
    return " AND ".join(map(quote_term, list_trigrams(text)))


def _decode_varints(packed: bytes) -> list[int]:
    """Decode SQLite's variable-length integers; counts have less than nine bytes."""
    numbers, value = list[int](), 0
    for byte in packed:
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            numbers.append(value)
            value = 0
    return numbers


def build_plain_phrases() -> Phrases:
    """Make a `Phrases` without an index."""
    return Phrases(apsw.Connection(":memory:"))


MOST = 255  # Limit on counts of a word in a field, which have one byte; BM25 hardly distinguishes higher counts
LONGEST = 65_535  # Limit on the number of words in a field, which has two bytes
_FIELDS = len(COLUMNS)
_LENGTHS = struct.Struct(f"={_FIELDS}H")
_HEAD = _LENGTHS.size
_ENTRY = struct.Struct(f"=I{_FIELDS}s")  # A phrase's number and its counts in each field; entries follow `_LENGTHS`


@dataclass(frozen=True, slots=True)
class Occurrences:
    """Word counts and lengths of a unit's fields, in the order of COLUMNS."""

    counts: Mapping[int, bytes]  # Position of a word in the query → its count in each field, one byte each
    lengths: Sequence[int]  # Number of words in each field, at most LONGEST


def _join_columns(answers: Sequence[Any], _: Sequence[Any]) -> tuple[dict[Any, Any], list[dict[Any, Any]]]:
    """Merge answers of `count_in_files`: join the mappings at the same position."""
    columns = zip(*(holding for _, holding in answers), strict=True)
    return join_mappings([lengths for lengths, _ in answers], ()), [join_mappings(column, ()) for column in columns]


def _split_files(answer: tuple[dict[Any, int], list[dict[Any, int]]]) -> Iterator[tuple[Any, Any]]:
    lengths, holding = answer
    for document in lengths.keys() | chain.from_iterable(holding):
        yield document, (document, lengths.get(document), [column.get(document) for column in holding])


def _join_files(files: list[Any], arguments: Sequence[Any]) -> tuple[dict[Any, int], list[dict[Any, int]]]:
    lengths = {document: length for document, length, _ in files if length is not None}
    places = range(len(arguments[1]))
    return lengths, [{d: counts[at] for d, _, counts in files if counts[at] is not None} for at in places]


class OccurrenceCounter(UnitTables):
    """Counts words in units and files. A custom FTS5 function reads the counts from the postings, without any text."""

    def __init__(
        self, connection: apsw.Connection, sets: UnitSets, unchanging: bool = False, arrays: TermArrays | None = None
    ) -> None:
        super().__init__(connection, sets)
        self._arrays = arrays
        self._aside = cache(self._count_todos) if unchanging else self._count_todos
        self._registered = False
        self._phrases = Phrases(connection)

    def count_in_units(
        self, units: UnitSet, terms: Sequence[str], check: Callable[[], None] = lambda: None
    ) -> Mapping[UnitId, Occurrences]:
        """Count these terms in each unit; units without any are left out. `check` is called for each unit, and may raise."""
        if not terms:
            return {}
        counted = self._arrays.count_in_units(units, terms, MOST, LONGEST) if self._arrays else None
        if counted is not None:
            return {UnitId(unit): Occurrences(*counts) for unit, counts in counted.items()}
        if not self._registered:
            self._connection.register_fts5_function("occurrences", _count_occurrences)
            self._registered = True
        sql = f"""SELECT rowid, occurrences(unit_terms) FROM unit_terms
            WHERE unit_terms MATCH ? {self._sets.format_condition("rowid", units)}"""
        word_of = [place for place, term in enumerate(terms) for _ in self._phrases.make_phrases(term)]
        occurrences = {}
        for row, packed in self._rows(sql, self._phrases.match_any(terms)):
            check()
            occurrences[UnitId(row)] = Occurrences(_group_by_word(packed, word_of), _LENGTHS.unpack_from(packed))
        return occurrences

    @set_merge_rule(_join_columns, elements=ElementRule(_split_files, _join_files))
    def count_in_files(
        self, documents: Collection[DocumentId], terms: Sequence[str], check: Callable[[], None] = lambda: None
    ) -> tuple[Mapping[DocumentId, int], list[Mapping[DocumentId, int]]]:
        """Count in these files: (file → number of units; for each term, file → number of units with the term in any field).

        `check` is called for each term, as in `count_in_units`.
        """
        counted: Any = self._arrays.count_in_files(documents, terms) if self._arrays else None
        if counted is not None:
            return counted[0], counted[1]
        aside = self._aside()
        self._run("CREATE TEMP TABLE IF NOT EXISTS unit_documents (id INTEGER PRIMARY KEY, document)")
        self._run("DELETE FROM temp.unit_documents")
        sql = """INSERT INTO temp.unit_documents SELECT u.id, u.document_id FROM json_each(?) n
            CROSS JOIN units u ON u.document_id = n.value"""
        self._run(sql, f"[{','.join(map(str, sorted(documents)))}]")
        rows = self._rows("SELECT document, count(*) FROM temp.unit_documents GROUP BY 1")
        lengths = {DocumentId(d): count for d, n in rows if (count := n - aside.get(d, 0))}
        sql = """SELECT u.document, count(*) FROM unit_terms CROSS JOIN temp.unit_documents u ON u.id = unit_terms.rowid
            WHERE unit_terms MATCH ? GROUP BY 1"""
        holding: list[Mapping[DocumentId, int]] = []
        for term in terms:
            check()
            holding.append(dict(self._rows(sql, self._phrases.match_any([term]))))
        return lengths, holding

    def _count_todos(self) -> Mapping[int, int]:
        """Count TODO comments by file, to subtract them from the count of all units, which needs only an SQL index."""
        sql = f"SELECT document_id, count(*) FROM units WHERE folded = '' AND kind = '{TODO}' GROUP BY document_id"
        return dict(self._rows(sql))

    def count_files(self) -> int:
        """Count the files."""
        return self._number("SELECT count(*) FROM documents")


def _group_by_word(packed: bytes, word_of: Sequence[int]) -> dict[int, bytes]:
    """Add up counts by phrase to counts by word, since a prefix has several phrases."""
    entries = _ENTRY.iter_unpack(packed[_HEAD:])
    if word_of[-1] == len(word_of) - 1:  # each word is one phrase
        return dict(entries)
    counts_of: dict[int, bytes] = {}
    for phrase, counts in entries:
        if (known := counts_of.get(word_of[phrase])) is not None:
            counts = bytes(min(MOST, a + b) for a, b in zip(known, counts, strict=True))
        counts_of[word_of[phrase]] = counts
    return counts_of


def _count_occurrences(api: apsw.FTS5ExtensionApi, *_: object) -> bytes:
    """Pack a unit's column lengths, and its counts of each phrase in each column: the FTS5 function `occurrences`."""
    sizes = [*map(api.column_size, range(_FIELDS))]
    packed = [_LENGTHS.pack(*sizes if max(sizes) <= LONGEST else [min(LONGEST, n) for n in sizes])]
    for phrase in range(api.phrase_count):
        if api.phrase_columns(phrase):  # a unit has only few of the words
            counts = [*map(len, api.phrase_locations(phrase))]
            packed.append(_ENTRY.pack(phrase, bytes(counts if max(counts) <= MOST else [min(MOST, n) for n in counts])))
    return b"".join(packed)


_NAMED = f"NOT u.local AND u.kind NOT IN ('toplevel', 'text', '{TODO}')"
"""Condition for units whose names describe their file: definitions and headings, but not chunks."""


class FileStatistics(UnitTables):
    """Computes statistics of documents from their words, definitions and imports. Terms are stemmed."""

    def find_holding(self, units: UnitSet) -> set[DocumentId]:
        """Find the documents that contain any of these units."""
        self._sets.fill_table(units)
        sql = "SELECT DISTINCT u.document_id FROM temp.unit_set s CROSS JOIN units u ON u.id = s.id"
        return {DocumentId(row[0]) for row in self._rows(sql)}

    def find_on_path(self, term: str, column: str) -> set[DocumentId]:
        """Find documents with the term in the name of the file or its folder (column `concepts`), or of folders above (`path`)."""
        sql = "SELECT DISTINCT u.document_id FROM unit_terms t CROSS JOIN units u ON u.id = t.rowid WHERE unit_terms MATCH ?"
        return {DocumentId(row[0]) for row in self._rows(sql, f"{{{column}}} : {quote_term(term)}")}

    def count_named(self, term: str) -> dict[DocumentId, int]:
        """Count each document's definitions and headings with the term in their name."""
        sql = f"""SELECT u.document_id, count(*) FROM unit_terms t CROSS JOIN units u ON u.id = t.rowid
            WHERE unit_terms MATCH ? AND {_NAMED} GROUP BY 1"""
        return dict(self._rows(sql, f"{{name}} : {quote_term(term)}"))

    def find_imports(self, term: str) -> list[tuple[DocumentId, str]]:
        """Find imports that contain the term anywhere, ignoring case: pairs (document, module and name)."""
        sql = """SELECT document_id, module || ' ' || name FROM imports
            WHERE instr(lower(module), ?1) OR instr(lower(name), ?1)"""
        return self._rows(sql, term)

    def count_definitions(self, documents: Iterable[DocumentId]) -> dict[DocumentId, int]:
        """Count each document's definitions and headings; documents without any are left out."""
        sql = f"""SELECT u.document_id, count(*) FROM json_each(?) d CROSS JOIN units u ON u.document_id = d.value
            WHERE {_NAMED} GROUP BY 1"""
        return dict(self._rows(sql, json.dumps(sorted(documents))))

    def read_totals(self) -> tuple[int, int]:
        """Count the documents, and the definitions and headings, of the whole index."""
        sql = f"SELECT (SELECT count(*) FROM documents), (SELECT count(*) FROM units u WHERE {_NAMED})"
        documents, units = self._row(sql)
        return documents, units

    def read_outline(self, document: DocumentId, most: int) -> list[tuple[str, str]]:
        """Read a document's first `most` top-level definitions and headings, in order of position: pairs (kind, name)."""
        sql = f"""SELECT u.kind, u.name FROM units u WHERE u.document_id = ? AND u.parent_id IS NULL AND {_NAMED}
            ORDER BY u.start_byte LIMIT ?"""
        return self._rows(sql, document, most)

    def read_extent(self, document: DocumentId) -> tuple[int, int]:
        """Read the size of a document's file: (bytes, lines)."""
        size, lines = self._row("SELECT size, lines FROM documents WHERE id = ?", document) or (0, 0)
        return size, lines
