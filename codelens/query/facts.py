"""The facts that conditions test (documents, metadata, last changes, units, text), and how a query compares text."""

from __future__ import annotations

import io
import math
import re
from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import accumulate
from typing import Any, NamedTuple

from codelens.errors import SettingsError
from codelens.model.budget import TimeBudget
from codelens.model.code import UnitId, UnitRow
from codelens.model.fast_dataclass import field, frozen_dataclass
from codelens.model.history import MOST_LINE_COMMITS, LastChange, LineCommit, WrittenLines
from codelens.query.patterns import Ranges, compile_pattern, find_matches, has_upper
from codelens.store.documents import DocumentRow
from codelens.store.store import Store
from codelens.store.texts import DocumentText, Texts
from codelens.text.identifiers import CJK, is_cjk
from codelens.text.notation import parse_json, read_own_file
from codelens.text.terms import fold

LARGEST = 100_000_000  # Most bytes of a metadata table: enough for a row of 100 bytes for each of a million files
_HEAD = "path,stars,rating,category,updated"
HINT = f"a row for each path or repository: CSV with a first line as {_HEAD}, or a list in JSON"
BOUNDS: Mapping[str, tuple[float, float]] = {
    "stars": (0, math.inf),
    "installs": (0, math.inf),
    "rating": (0, 10),
    "success": (0, 1),
}  # Numeric column → (smallest, largest value). The profile `marketplace` weighs these columns.
UPDATED = "updated"  # The column with a time: ISO 8601 or unix seconds. Stored as unix seconds.
KEYS = ("path", "repository")

Scalar = str | float | bool
FieldValues = Mapping[str, Scalar]  # Field → value
FilePlace = tuple[str, str]  # (repository, path)
NOTHING: FieldValues = {}


@frozen_dataclass
class Metadata:
    """A user's table of facts about repositories, folders and files (stars, ratings, categories)."""

    rows: Mapping[FilePlace, FieldValues]
    """(repository, empty for any; path of a file or folder, empty for all) → column → value."""
    columns: frozenset[str]
    newest: int  # The latest time in the column `updated`; 0 if it has none

    def find_values(self, repository: str, path: str) -> FieldValues:
        """Find the values for a file: its own, else its folder's, else its repository's."""
        parts = path.split("/")
        values: dict[str, Scalar] = {}
        for depth in range(len(parts) + 1):
            for named in ("", repository):
                values |= self.rows.get((named, "/".join(parts[:depth])), NOTHING)
        return values


EMPTY = Metadata({}, frozenset(), 0)


def load_metadata(path: str) -> Metadata:
    """Read a table: JSON (a list of objects), or CSV with a header. Each row has a `path`, a `repository` or both.

    Returns EMPTY for an empty path. Raises SettingsError for an unreadable file or an invalid row.
    """
    return _parse_table(read_own_file(path, "metadata", HINT, LARGEST), path) if path else EMPTY


@lru_cache(maxsize=2)
def _parse_table(text: str, path: str) -> Metadata:
    rows: dict[FilePlace, FieldValues] = {}
    try:
        for place, row in _read_json_rows(text) if text.lstrip()[:1] in ("[", "{") else _read_csv_rows(text):
            try:
                key, values = _parse_row(row)
                if key in rows:
                    raise ValueError(f"{' '.join(filter(None, key))} is listed twice")
            except ValueError as fault:
                raise SettingsError(f"{path}: {place}: {fault}", HINT) from None
            rows[key] = values
    except ValueError as fault:
        raise SettingsError(f"{path}: {fault}", HINT) from None
    columns = frozenset(column for values in rows.values() for column in values)
    times = [int(values[UPDATED]) for values in rows.values() if UPDATED in values]
    return Metadata(rows, columns, max(times, default=0))


def _read_json_rows(text: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    rows = parse_json(text)
    if not isinstance(rows, list):
        raise ValueError("it is not a list of objects")
    for number, row in enumerate(rows, start=1):
        if not isinstance(row, dict):
            raise ValueError(f"entry {number} is not an object")
        yield f"entry {number}", {column: value for column, value in row.items() if value is not None}


def _read_csv_rows(text: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Read (line for messages, row) pairs from a CSV text, without empty cells."""
    import csv  # a search without a table pays for no import

    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        header = [column.strip() for column in next(reader, [])]
        if not set(KEYS) & set(header) or len(set(header)) < len(header):
            columns = ",".join(header)[:80]
            raise ValueError(f"its first line lacks a column path or repository, or repeats a column: {columns}")
        for cells in filter(any, reader):
            place = f"line {reader.line_num}"
            if len(cells) != len(header):
                raise ValueError(f"{place}: {len(cells)} cells for {len(header)} columns")
            yield place, {column: cell.strip() for column, cell in zip(header, cells, strict=True) if cell.strip()}
    except csv.Error as fault:
        raise ValueError(f"line {reader.line_num}: {fault}") from None


def _parse_row(row: Mapping[str, Any]) -> tuple[FilePlace, FieldValues]:
    named = {key: row.get(key, "") for key in KEYS}
    if wrong := [key for key, value in named.items() if not isinstance(value, str)]:
        raise ValueError(f"{wrong[0]} must be a string, not {named[wrong[0]]!r}")
    if not any(named.values()):
        raise ValueError("it names neither a path nor a repository")
    path = "/".join(part for part in named["path"].split("/") if part not in ("", "."))
    return (named["repository"], path), {c: _parse_value(c, value) for c, value in row.items() if c not in KEYS}


def _parse_value(column: str, value: Any) -> Scalar:
    if column == UPDATED:
        return parse_time(value)
    if not isinstance(value, str | int | float | bool):
        raise ValueError(f"{column} must be a string, a number, true or false, not {value!r}")
    if column not in BOUNDS:
        return value
    least, most = BOUNDS[column]
    number = None if isinstance(value, bool) else parse_number(value)
    if number is None or not least <= number <= most or number == math.inf:
        upto = f" to {most:g}" if most < math.inf else " on"
        raise ValueError(f"{column} must be a number from {least:g}{upto}, not {value!r}")
    return number


def parse_number(value: Scalar) -> float | None:
    """Convert a number, or a text that spells one; None for other values."""
    try:
        return float(value)
    except ValueError:
        return None


def parse_time(value: object) -> int:
    """Parse an ISO 8601 day or time (UTC unless it names a zone), or unix seconds, to unix seconds. Raises ValueError."""
    from datetime import UTC, datetime

    try:
        if isinstance(value, int | float) and not isinstance(value, bool):
            return int(value)
        text = str(value)
        if text.isascii() and text.isdigit() and len(text) > 8:  # 20240131 is a day
            return int(text)
        moment = datetime.fromisoformat(text)
        return int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp())
    except (ValueError, OverflowError):
        allowed = "a day or time such as 2024-01-31, or unix seconds"
        raise ValueError(f"{UPDATED} must be {allowed}, not {value!r}") from None


_WORD = rf"[^\W{CJK}]+"  # A maximal run of characters for which `_is_in_word` is true; compiling it takes 2 ms


class Facts(NamedTuple):
    """The facts known about a document. With `kind` they include one of its units, and with `text` they decide every condition."""

    path: str
    repository: str
    language: str
    roles: frozenset[str] = frozenset()  # Such as 'test'; tested by `is:`
    metadata: FieldValues = NOTHING  # Values in the user's table; tested by `meta:`
    kind: str | None = None
    name: str = ""
    qualified_name: str = ""
    text: str | None = None

    def narrow_to_unit(self, kind: str, name: str, qualified_name: str) -> Facts:
        return self._replace(kind=kind, name=name, qualified_name=qualified_name)


@frozen_dataclass
class Matching:
    """How one query compares text. `-i` sets case 'no', `-w` sets whole_word. The budget is for the whole query."""

    case: str = "auto"
    whole_word: bool = False
    budget: TimeBudget = field(default_factory=TimeBudget)
    last: LastChange | None = None  # The last change of the document or unit, if the query needs it and it is known
    roots: Mapping[str, str] = field(default_factory=dict)  # Name of each repository → its root, with slashes
    meant: dict[str, Collection[str]] = field(default_factory=dict)
    """Cache of `find_repositories`: value of `repo:` → names of repositories."""

    def ignores_case(self, text: str) -> bool:
        """True if case does not count for a text. With smart case it counts only for texts with an upper-case letter."""
        return self.case == "no" or (self.case == "auto" and not any(map(str.isupper, text)))


def contains_phrase(text: str, wanted: str, matching: Matching) -> bool:
    """True if a text contains a phrase, compared as the query says."""
    return occurs(text, wanted, matching.ignores_case(wanted), matching.whole_word)


def occurs(text: str, wanted: str, ignore_case: bool, whole_word: bool) -> bool:
    """True if a text contains `wanted`; with `whole_word` only at word borders."""
    if ignore_case:
        text, wanted = _folded(text), fold(wanted)
    at = text.find(wanted)
    while whole_word and at >= 0 and not _stands_alone(text, at, at + len(wanted)):
        at = text.find(wanted, at + 1)
    return at >= 0


def has_word_starting(text: str, wanted: str, ignore_case: bool) -> bool:
    """True if some word of a text starts with `wanted`."""
    if ignore_case:
        text, wanted = _folded(text), fold(wanted)
    at = text.find(wanted)
    while at >= 0 and _is_inside_word(text, at):
        at = text.find(wanted, at + 1)
    return at >= 0


_folded = lru_cache(maxsize=8)(fold)  # several conditions ask about one text


@lru_cache(maxsize=8)
def find_words(text: str, ignore_case: bool) -> frozenset[str]:
    """Find the words of a text, split at the borders that `occurs` uses."""
    return frozenset(re.findall(_WORD, _folded(text) if ignore_case else text))


def is_one_word(text: str) -> bool:
    """True if a text is a single word without a border inside."""
    return bool(re.fullmatch(_WORD, text))


def _stands_alone(text: str, start: int, end: int) -> bool:
    return not (_is_inside_word(text, start) or _is_inside_word(text, end))


def _is_inside_word(text: str, at: int) -> bool:
    """True if the characters before and after a position belong to one word."""
    return 0 < at < len(text) and _is_in_word(text[at - 1]) and _is_in_word(text[at])


def _is_in_word(character: str) -> bool:
    """True for characters of words, except Chinese, Japanese and Korean ones: there every position is a word border."""
    return (character.isalnum() or character == "_") and not is_cjk(character)


def find_occurrences(text: str, wanted: str, matching: Matching) -> Iterator[tuple[int, int]]:
    """Find the character ranges of a phrase in a text, compared as the query says. Folding case keeps positions."""
    if not wanted:
        return
    if matching.ignores_case(wanted):
        text, wanted = _folded(text), fold(wanted)
    at = text.find(wanted)
    while at >= 0:
        end = at + len(wanted)
        if not matching.whole_word or _stands_alone(text, at, end):
            yield at, end
        at = text.find(wanted, end)


def find_pattern(text: str, source: str, matching: Matching, limit: int = 0) -> Ranges:
    """Find the character ranges of a pattern's matches in a text, compared as the query says; see `find_matches`."""
    ignore_case = matching.case == "no" or (matching.case == "auto" and not has_upper(source))
    return find_matches(compile_pattern(source, ignore_case, matching.whole_word), text, matching.budget, limit)


class LastChanges:
    """Time and author of the last change of files and units, from git.

    If the indexed file differs from its last commit (someone is editing it), or its lines were not read, units get the file's
    last change. Reads the commits of a repository once, the lines of a file on demand.
    """

    def __init__(self, store: Store, texts: Texts) -> None:
        self._store, self._texts = store, texts
        self._commits: dict[int, dict[int, LineCommit]] = {}

    @property
    def is_cut(self) -> bool:
        """True if lines may be older than the commits that were read, so that their authors are unknown."""
        return any(len(commits) >= MOST_LINE_COMMITS for commits in self._commits.values())

    def find_for_document(self, document: DocumentRow) -> LastChange | None:
        """Find the last change of a file; None if git does not know the file. Its units may be older."""
        lines = self._read_lines(document)
        commits = self._read_commits(document)
        if lines is not None and lines.last in commits:
            last = commits[lines.last]
            return LastChange(last.time, last.author, whole_file=bool(lines.runs))
        history = self._store.history.find_changes([document.id]).get(document.id)
        return LastChange(history.changed) if history else None

    def find_for_units(self, document: DocumentRow, units: Iterable[UnitRow]) -> dict[UnitId, LastChange]:
        """Map units of a file to their last change; units without a known change are left out."""
        whole, lines = self.find_for_document(document), self._read_lines(document)
        if whole is None:
            return {}
        alone = LastChange(whole.time, whole.author)
        if (
            lines is None
            or not lines.runs
            or compute_object_id(self._texts.read(document), len(lines.blob)) != lines.blob
        ):
            return {unit.id: alone for unit in units}
        commits = self._read_commits(document)
        oldest = min((commit.time for commit in commits.values()), default=0)
        ends = list(accumulate(run.lines for run in lines.runs))
        return {unit.id: _find_change_of_lines(unit, lines, ends, commits, min(oldest, whole.time)) for unit in units}

    def _read_lines(self, document: DocumentRow) -> WrittenLines | None:
        return self._store.lines.read_by_path(document.repository, [document.path]).get(document.path)

    def _read_commits(self, document: DocumentRow) -> Mapping[int, LineCommit]:
        if document.repository not in self._commits:
            self._commits[document.repository] = self._store.lines.read_commits(document.repository)
        return self._commits[document.repository]


def compute_object_id(text: DocumentText, length: int) -> bytes:
    """Compute git's object id of a text: SHA-1 if `length` is 20 bytes, else SHA-256."""
    import hashlib  # few searches need it

    digest = (hashlib.sha1 if length == 20 else hashlib.sha256)(b"blob %d\0" % text.size, usedforsecurity=False)
    for block in text.read_parts():
        digest.update(block)
    return digest.digest()


def _find_change_of_lines(
    unit: UnitRow, lines: WrittenLines, ends: Sequence[int], commits: Mapping[int, LineCommit], oldest: int
) -> LastChange:
    """Find the latest commit that wrote a line of the unit. Of several with the same time, the lowest number wins."""
    first = bisect_right(ends, unit.start_line - 1)
    numbers = set()
    for place in range(first, len(ends)):
        if place > first and ends[place - 1] >= unit.end_line:
            break
        numbers.add(lines.runs[place].commit)
    known = {number: commits[number] for number in numbers if number in commits}
    if not known:
        return LastChange(oldest, exact=False)
    last = min(known, key=lambda number: (-known[number].time, number))
    return LastChange(known[last].time, known[last].author, len(known))
