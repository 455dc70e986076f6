"""Where the words of a query stand: how often in which field of a unit, and in how many units of a file.

One question for all words and units, answered by a function that FTS5 calls with its own postings: no text is read.
"""

from __future__ import annotations

import struct
import sys
from collections.abc import Callable, Collection, Mapping, Sequence

import apsw

from codelens.model import TODO, DocumentId, UnitId
from codelens.nouns import dataclass
from codelens.store.phrases import Phrases
from codelens.store.postings import COLUMNS

MOST = 255
"""Occurrences of a word in a field that are told apart, a byte each; BM25 hardly tells 255 from more."""
_FIELDS = len(COLUMNS)
_HEAD = 2 * _FIELDS
_ENTRY = struct.Struct(f"=I{_FIELDS}s")
"""What FTS5's function gives: lengths of two bytes each, then the number of each phrase that occurs with its counts."""


@dataclass(frozen=True, slots=True)
class Occurrences:
    """Of the words in one unit; fields stand in the order of COLUMNS."""

    counts: Mapping[int, bytes]
    """Place of a word among those asked for → how often it stands in each field; in order, without words that stand nowhere."""
    lengths: Sequence[int]
    """Words in each field, 65 535 at most."""


class OccurrenceCounter:
    """The gateway to occurrences, of the units that `Units.set_pool` named and of the files they lie in."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection
        self._registered = False
        self._phrases = Phrases(connection)

    def in_pool(self, terms: Sequence[str], check: Callable[[], None] = lambda: None) -> Mapping[UnitId, Occurrences]:
        """Unit of the pool → its occurrences of these words, as the index stems them; units without any are left out.

        `check` is called for each of them, and may end this with an exception.
        """
        if not terms:
            return {}
        self._register()
        sql = (
            "SELECT rowid, occurrences(unit_terms) FROM unit_terms "
            "WHERE unit_terms MATCH ? AND +rowid IN (SELECT id FROM temp.pool)"
        )
        word_of = [place for place, term in enumerate(terms) for _ in self._phrases.of(term)]
        found = {}
        for row, packed in self._connection.execute(sql, (self._phrases.any_of(terms),)):
            check()
            found[UnitId(row)] = Occurrences(_by_word(packed, word_of), memoryview(packed[:_HEAD]).cast("H"))
        return found

    def mean_lengths(self, term: str) -> Sequence[float]:
        """Mean number of words in each field, of all units of the index; empty where none has this word."""
        self._register()
        sql = "SELECT mean_lengths(unit_terms) FROM unit_terms WHERE unit_terms MATCH ? LIMIT 1"
        row = self._connection.execute(sql, (self._phrases.any_of([term]),)).fetchone()
        return memoryview(row[0]).cast("d") if row else ()

    def in_files(self, term: str) -> Mapping[DocumentId, int]:
        """File → how many of its units hold the word in any field, of all files that have one."""
        sql = (
            "SELECT u.document_id, count(*) FROM unit_terms JOIN units u ON u.id = unit_terms.rowid "
            "WHERE unit_terms MATCH ? GROUP BY u.document_id"
        )
        return {DocumentId(d): n for d, n in self._connection.execute(sql, (self._phrases.any_of([term]),))}

    def units_in(self, documents: Collection[DocumentId]) -> Mapping[DocumentId, int]:
        """File → how many units it has, of these files."""
        sql = (
            "SELECT u.document_id, count(*) FROM json_each(?) n CROSS JOIN units u ON u.document_id = n.value "
            f"WHERE u.kind <> '{TODO}' GROUP BY u.document_id"
        )
        asked = f"[{','.join(map(str, sorted(documents)))}]"
        return {DocumentId(d): n for d, n in self._connection.execute(sql, (asked,))}

    def files(self) -> int:
        """How many files there are."""
        row = self._connection.execute("SELECT count(*) FROM documents").fetchone()
        return int(row[0]) if row else 0

    def _register(self) -> None:
        if not self._registered:
            self._connection.register_fts5_function("occurrences", _occurrences)
            self._connection.register_fts5_function("mean_lengths", _mean_lengths)
            self._registered = True


def _by_word(packed: bytes, word_of: Sequence[int]) -> dict[int, bytes]:
    """Counts by phrase → by word, where a beginning has more than one phrase."""
    found: dict[int, bytes] = {}
    for phrase, counts in _ENTRY.iter_unpack(packed[_HEAD:]):
        word = word_of[phrase]
        known = found.get(word)
        found[word] = counts if known is None else bytes(min(MOST, a + b) for a, b in zip(known, counts, strict=True))
    return found


def _occurrences(api: apsw.FTS5ExtensionApi, *_: object) -> bytes:
    found = bytearray()
    for column in range(_FIELDS):
        found += min(65_535, api.column_size(column)).to_bytes(2, sys.byteorder)
    for phrase in range(api.phrase_count):
        if api.phrase_columns(phrase):  # of hundreds of words a unit holds few
            counts = list(map(len, api.phrase_locations(phrase)))
            found += _ENTRY.pack(phrase, bytes(counts if max(counts) <= MOST else [min(MOST, n) for n in counts]))
    return bytes(found)


def _mean_lengths(api: apsw.FTS5ExtensionApi, *_: object) -> bytes:
    rows = max(1, api.row_count)
    return struct.pack(f"{_FIELDS}d", *(api.column_total_size(column) / rows for column in range(_FIELDS)))
