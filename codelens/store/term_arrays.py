"""Keep postings of terms as arrays in memory, for a process that queries the same state of an index repeatedly.

A search needs the postings of each word about five times: for BM25, and for counts in units and in files. Reading them once
into an array takes less time than one FTS5 query, and words recur in later queries. Results equal those of FTS5 to the last
bit.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any, NamedTuple

import apsw

from codelens.store.connection import Tables
from codelens.text.bm25 import compute_fts5_idf, score_term, weigh_length
from codelens.text.terms import BEGINNING

COLUMNS = ("body", "name", "concepts", "path", "container", "doc", "signature")
ASKED_BEFORE = 40  # Requests before arrays are used. Only a server makes so many, and gains from importing numpy.
MOST_BYTES = 64 << 20  # Limit on bytes of the terms' arrays; the arrays of all units take another 52 bytes per unit
FINEST = 1 << 10  # Weights that are multiples of 1 / FINEST are multiplied and added without rounding errors
_CASES = " ".join(f"WHEN '{name}' THEN {place}" for place, name in enumerate(COLUMNS))


class _TermPostings(NamedTuple):
    """A stem's units (as positions among all units) with counts by column, and its documents with their numbers of units."""

    places: Any
    counts: Any
    documents: Any
    units_in: Any


class TermArrays(Tables):
    """A cache of postings, with queries that return None if FTS5 must be used instead."""

    def __init__(self, connection: apsw.Connection, stems: Callable[[str], list[str]]) -> None:
        """`stems`: function that splits a term into stemmed words, as the index does."""
        super().__init__(connection)
        self._stems = stems
        self._asked, self._bytes = 0, 0
        self._known: dict[str, _TermPostings] = {}
        self._numpy: Any = None

    def find_postings(self, terms: Iterable[object]) -> list[_TermPostings] | None:
        """Find the postings of these terms; None before ASKED_BEFORE requests, or if a term is not a single whole word."""
        self._asked += 1
        if self._asked <= ASKED_BEFORE:
            return None
        stems = [self._stems(t) if isinstance(t, str) and not t.endswith(BEGINNING) else [] for t in terms]
        if any(len(words) != 1 for words in stems):
            return None
        if self._numpy is None:
            self._read_units()
        return [self._find_stem(stem) for (stem,) in stems]

    def find_best(
        self,
        terms: Sequence[object],
        weights: Sequence[float],
        columns: Collection[str],
        proposing: Sequence[object],
        limit: int,
    ) -> list[tuple[int, float]] | None:
        """Find the `limit` best units and those that tie with the last: pairs (unit, BM25), best first."""
        postings, proposed = self.find_postings(terms), self.find_postings(proposing)
        if postings is None or proposed is None or any(weight * FINEST % 1 for weight in weights):
            return None
        numpy = self._numpy
        chosen = [place for place, name in enumerate(COLUMNS) if name in columns or not columns]
        factors, scores = numpy.array(weights)[chosen], numpy.zeros(len(self._units))
        matching, among = numpy.zeros((2, len(self._units)), dtype=bool)

        def select_columns(term: _TermPostings) -> tuple[Any, Any]:
            """Select the positions of units with the term in these columns, and the counts there."""
            if not columns:
                return term.places, term.counts
            counts = term.counts[:, chosen]
            rows = counts.any(axis=1)
            return term.places[rows], counts[rows]

        for term in postings:
            at, counts = select_columns(term)
            often = counts @ factors
            idf = compute_fts5_idf(len(self._units), len(at))
            scores[at] += score_term(idf, often, self._length_weights[at])
            matching[at] = True
        for term in proposed or postings:
            among[select_columns(term)[0]] = True
        places = numpy.nonzero(matching & among)[0]
        if 0 < limit < len(places):
            least = numpy.partition(scores[places], len(places) - limit)[len(places) - limit]
            places = places[scores[places] >= least]
        places = places[numpy.argsort(-scores[places], kind="stable")]
        return list(zip(self._units[places].tolist(), scores[places].tolist(), strict=True))

    def count_in_units(
        self, units: Sequence[int], terms: Sequence[str], most: int, longest: int
    ) -> dict[int, tuple[dict[int, bytes], tuple[int, ...]]] | None:
        """Map each unit to its term counts (position → count per column, at most `most`) and its column lengths."""
        if (postings := self.find_postings(terms)) is None:
            return None
        numpy, width = self._numpy, len(COLUMNS)
        at, _ = self._find_positions(self._units, numpy.array(units, dtype=numpy.int64))
        counted: dict[int, dict[int, bytes]] = {place: {} for place in at.tolist()}
        for number, term in enumerate(postings):
            rows, _ = self._find_positions(term.places, at)
            packed = numpy.minimum(term.counts[rows], most).astype(numpy.uint8).tobytes()
            for row, place in enumerate(term.places[rows].tolist()):
                counted[place][number] = packed[row * width : row * width + width]
        places = [place for place, counts in counted.items() if counts]
        lengths = numpy.minimum(self._lengths[places], longest).tolist()
        ids = self._units[places].tolist()
        return {u: (counted[at], tuple(row)) for u, at, row in zip(ids, places, lengths, strict=True)}

    def count_in_files(
        self, documents: Collection[int], terms: Sequence[str]
    ) -> tuple[dict[int, int], list[dict[int, int]]] | None:
        """Count in these documents: (document → number of units; for each term, document → number of units with the term)."""
        if (postings := self.find_postings(terms)) is None:
            return None
        numpy = self._numpy
        wanted = numpy.array(sorted(documents), dtype=numpy.int64)

        def count_among(documents: Any, units_in: Any) -> dict[int, int]:
            """Select the wanted documents: document → number of units."""
            rows, those = self._find_positions(documents, wanted)
            return dict(zip(those.tolist(), units_in[rows].tolist(), strict=True))

        return count_among(*self._by_document), [count_among(term.documents, term.units_in) for term in postings]

    def _find_positions(self, ordered: Any, wanted: Any) -> tuple[Any, Any]:
        """Find wanted values in an ordered array: (positions of those that it holds, those values)."""
        if not len(ordered):
            return self._numpy.zeros(0, dtype=self._numpy.int64), wanted[:0]
        at = self._numpy.searchsorted(ordered, wanted)
        at[at == len(ordered)] = 0
        inside = ordered[at] == wanted
        return at[inside], wanted[inside]

    def _find_stem(self, stem: str) -> _TermPostings:
        """Find the postings of a stem in the cache, or read them and drop the least recently used."""
        known = self._known.pop(stem, None)
        if known is None:
            known = self._read_postings(stem)
            self._bytes += _measure_bytes(known)
        self._known[stem] = known  # move to the end: the least recently used is dropped first
        while self._bytes > MOST_BYTES and len(self._known) > 1:
            self._bytes -= _measure_bytes(self._known.pop(next(iter(self._known))))
        return known

    def _read_postings(self, stem: str) -> _TermPostings:
        """Read the postings of a stem from FTS5."""
        numpy = self._numpy
        sql = f"SELECT group_concat(doc * 8 + CASE col {_CASES} END) FROM temp.places WHERE term = ?"
        (keys,) = self._read_columns(sql, (stem,))
        keys, often = numpy.unique(keys, return_counts=True)
        units, rows = numpy.unique(keys >> 3, return_inverse=True)
        counts = numpy.zeros((len(units), len(COLUMNS)), dtype=numpy.uint16)
        counts[rows, keys & 7] = often
        places = numpy.searchsorted(self._units, units)
        return _TermPostings(places, counts, *numpy.unique(self._documents[places], return_counts=True))

    def _read_units(self) -> None:
        import numpy

        execute = self._connection.execute
        table = "CREATE VIRTUAL TABLE IF NOT EXISTS temp.places"
        execute(f"{table} USING fts5vocab('main', 'unit_terms', 'instance')").fetchall()
        self._numpy = numpy
        sizes: Any = execute("SELECT id, sz FROM unit_terms_docsize ORDER BY id").fetchall()
        self._units = numpy.array([unit for unit, _ in sizes], dtype=numpy.int64)
        lengths = _decode_integers(numpy, numpy.frombuffer(b"".join(size for _, size in sizes), dtype=numpy.uint8))
        self._lengths = lengths.reshape(len(sizes), len(COLUMNS)).astype(numpy.int32)
        total = self._lengths.sum(axis=1)
        mean = int(total.sum()) / len(sizes) if sizes else 1.0
        self._length_weights: Any = weigh_length(total, mean)
        units, documents = self._read_columns("SELECT group_concat(id), group_concat(document_id) FROM units")
        order = numpy.argsort(units)
        self._documents = documents[order][numpy.searchsorted(units[order], self._units)]
        self._by_document = numpy.unique(self._documents, return_counts=True)

    def _read_columns(self, sql: str, values: Sequence[str] = ()) -> list[Any]:
        """Read one row of texts with numbers joined by commas, as an array each: five times as fast as reading rows."""
        row: Any = self._connection.execute(sql, values).fetchone()
        return [self._numpy.fromstring(text or "", dtype=self._numpy.int64, sep=",") for text in row]


def _measure_bytes(term: _TermPostings) -> int:
    return sum(array.nbytes for array in term)


def _decode_integers(numpy: Any, packed: Any) -> Any:
    """Decode SQLite's variable-length integers."""
    ends = numpy.nonzero(packed < 0x80)[0]
    starts = numpy.concatenate(([0], ends[:-1] + 1))
    values = numpy.zeros(len(ends), dtype=numpy.int64)
    for further in range(int((ends - starts).max(initial=-1)) + 1):
        going = starts + further <= ends
        values[going] = values[going] << 7 | packed[starts[going] + further] & 0x7F
    return values
