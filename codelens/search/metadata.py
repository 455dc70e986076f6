"""A person's table of what is known of repositories, folders and files (stars, ratings, categories) → what holds of a path.

JSON (a list of objects) or CSV with a header; each row has a `path`, a `repository` or both. What a row says of a file goes
over what one says of its folder, and that over what is said of its repository.
"""

from __future__ import annotations

import io
import math
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

from codelens.errors import SettingsError
from codelens.notation import parse_json
from codelens.nouns import dataclass
from codelens.search.ownfiles import read_own_file

LARGEST = 100_000_000
"""Bytes of such a file: a row of a hundred bytes for each file of the largest trees. Chosen."""
HINT = (
    "a row for each path or repository: CSV with a first line as path,stars,rating,category,updated, or a list in JSON"
)
BOUNDS: Mapping[str, tuple[float, float]] = {
    "stars": (0, math.inf),
    "installs": (0, math.inf),
    "rating": (0, 10),
    "success": (0, 1),
}
"""Column → least and most; these are numbers, and the profile `marketplace` weighs them."""
UPDATED = "updated"
"""The column that is a time: of ISO 8601, or in unix seconds. Kept in unix seconds."""
KEYS = ("path", "repository")

Scalar = str | float | bool
NOTHING: Mapping[str, Scalar] = {}


@dataclass(frozen=True, slots=True)
class Metadata:
    """All rows of one file, by what they speak of."""

    rows: Mapping[tuple[str, str], Mapping[str, Scalar]]
    """(repository, or empty for any; path of a file or folder, or empty for all) → column → value."""
    columns: frozenset[str]
    newest: int
    """Of the times in `updated`; 0 where there is none."""

    def of(self, repository: str, path: str) -> Mapping[str, Scalar]:
        """What holds of a file."""
        parts = path.split("/")
        found: dict[str, Scalar] = {}
        for depth in range(len(parts) + 1):
            for named in ("", repository):
                found |= self.rows.get((named, "/".join(parts[:depth])), NOTHING)
        return found


EMPTY = Metadata({}, frozenset(), 0)


def load_metadata(path: str) -> Metadata:
    """The table at a path; EMPTY for no path. Raises SettingsError for a file or a row that cannot be taken."""
    return _parsed(read_own_file(path, "metadata", HINT, LARGEST), path) if path else EMPTY


@lru_cache(maxsize=2)
def _parsed(text: str, path: str) -> Metadata:
    rows: dict[tuple[str, str], Mapping[str, Scalar]] = {}
    try:
        for place, row in _json_rows(text) if text.lstrip()[:1] in ("[", "{") else _csv_rows(text):
            try:
                key, values = _row(row)
                if key in rows:
                    raise ValueError(f"{' '.join(filter(None, key))} has a row above")
            except ValueError as fault:
                raise SettingsError(f"{path}: {place}: {fault}", HINT) from None
            rows[key] = values
    except ValueError as fault:
        raise SettingsError(f"{path}: {fault}", HINT) from None
    columns = frozenset(column for values in rows.values() for column in values)
    times = [int(values[UPDATED]) for values in rows.values() if UPDATED in values]
    return Metadata(rows, columns, max(times, default=0))


def _json_rows(text: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    found = parse_json(text)
    if not isinstance(found, list):
        raise ValueError("it is no list of objects")
    for number, row in enumerate(found, start=1):
        if not isinstance(row, dict):
            raise ValueError(f"entry {number} is no object")
        yield f"entry {number}", {column: value for column, value in row.items() if value is not None}


def _csv_rows(text: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """An empty cell says nothing."""
    import csv  # a search without a table pays for no import

    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        yield from _cells(reader)
    except csv.Error as fault:
        raise ValueError(f"line {reader.line_num}: {fault}") from None


def _cells(reader: Any) -> Iterator[tuple[str, Mapping[str, Any]]]:
    header = [column.strip() for column in next(reader, [])]
    if not set(KEYS) & set(header) or len(set(header)) < len(header):
        raise ValueError(f"its first line names no column path or repository, or one twice: {','.join(header)[:80]}")
    for cells in reader:
        if any(cells):
            if len(cells) != len(header):
                raise ValueError(f"line {reader.line_num}: {len(cells)} cells, and {len(header)} columns")
            yield (
                f"line {reader.line_num}",
                {c: cell.strip() for c, cell in zip(header, cells, strict=True) if cell.strip()},
            )


def _row(row: Mapping[str, Any]) -> tuple[tuple[str, str], Mapping[str, Scalar]]:
    named = {key: row.get(key, "") for key in KEYS}
    if wrong := [key for key, value in named.items() if not isinstance(value, str)]:
        raise ValueError(f"{wrong[0]} is a text, not {named[wrong[0]]!r}")
    if not any(named.values()):
        raise ValueError("it names neither a path nor a repository")
    path = "/".join(part for part in named["path"].split("/") if part not in ("", "."))
    return (named["repository"], path), {c: _value(c, value) for c, value in row.items() if c not in KEYS}


def _value(column: str, value: Any) -> Scalar:
    if column == UPDATED:
        return unix_seconds(value)
    if not isinstance(value, str | int | float | bool):
        raise ValueError(f"{column} is a text, a number, true or false, not {value!r}")
    if column not in BOUNDS:
        return value
    least, most = BOUNDS[column]
    number = None if isinstance(value, bool) else number_of(value)
    if number is None or not least <= number <= most or number == math.inf:
        upto = f" to {most:g}" if most < math.inf else " on"
        raise ValueError(f"{column} is a number from {least:g}{upto}, not {value!r}")
    return number


def number_of(value: Scalar) -> float | None:
    """A number, or a text that is one; None for anything else."""
    try:
        return float(value)
    except ValueError:
        return None


def unix_seconds(value: object) -> int:
    """A day or a time of ISO 8601, in UTC where it names no other zone, or unix seconds. Raises ValueError."""
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
        raise ValueError(f"{UPDATED} is a day or a time as 2024-01-31, or unix seconds, not {value!r}") from None
