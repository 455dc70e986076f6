"""A search result → rows: CSV for spreadsheets, TSV for cut and awk, and --format for a line of one's own."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping

from codelens.model import Hit, SearchResult
from codelens.render.paths import PathStyle
from codelens.render.plain import line_text
from codelens.render.templates import ended, parse_template
from codelens.render.visible import for_line

COLUMNS = (
    *("rank", "score", "path", "line", "column", "start_line", "end_line", "kind", "language"),
    *("name", "qualified_name", "repository", "freshness", "signature"),
)

Field = Callable[[Hit, PathStyle], object]

FIELDS: Mapping[str, Field] = {
    "rank": lambda hit, _: hit.rank,
    "score": lambda hit, _: hit.score,
    "path": lambda hit, paths: paths.of_hit(hit),
    "root": lambda hit, _: hit.root,
    "repository": lambda hit, _: hit.unit.repository,
    "line": lambda hit, _: hit.line,
    "column": lambda hit, _: hit.column,
    "column_utf16": lambda hit, _: hit.column_utf16,
    "start_line": lambda hit, _: hit.unit.start_line,
    "end_line": lambda hit, _: hit.unit.end_line,
    "start_byte": lambda hit, _: hit.unit.span.start,
    "end_byte": lambda hit, _: hit.unit.span.end,
    "kind": lambda hit, _: hit.unit.kind,
    "language": lambda hit, _: hit.unit.language,
    "name": lambda hit, _: hit.unit.name,
    "qualified_name": lambda hit, _: hit.unit.qualified_name,
    "freshness": lambda hit, _: str(hit.freshness),
    "signature": lambda hit, _: " ".join(hit.unit.signature.split()),
    "doc": lambda hit, _: " ".join(hit.unit.doc.split()),
    "text": lambda hit, _: line_text(hit),
    "channels": lambda hit, _: " ".join(f"{c}:{r}" for c, r in sorted(hit.channels.items())),
}
"""What `{…}` in --format may name; the columns of CSV and TSV are a choice of them."""


def render_csv(result: SearchResult, paths: PathStyle) -> Iterator[str]:
    """RFC 4180 but for the line ends, with a head line."""
    for row in _rows(result, paths):
        yield ",".join(map(_csv_cell, row)) + "\n"


def _csv_cell(text: str) -> str:
    return '"' + text.replace('"', '""') + '"' if re.search(r'[",\r\n]', text) else text


def render_tsv(result: SearchResult, paths: PathStyle) -> Iterator[str]:
    """Tabs and line breaks inside a cell are written \\t, \\n, \\r; a backslash before them is doubled."""
    for row in _rows(result, paths):
        yield "\t".join(map(_tsv_cell, row)) + "\n"


def _tsv_cell(text: str) -> str:
    return re.sub(r"[\\\t\n\r]", lambda m: {"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"}[m[0]], text)


def _rows(result: SearchResult, paths: PathStyle) -> Iterator[list[str]]:
    yield list(COLUMNS)
    for hit in result.hits:
        yield [_cell(name, hit, paths) for name in COLUMNS]


def _cell(name: str, hit: Hit, paths: PathStyle) -> str:
    text = str(FIELDS[name](hit, paths))
    return text if name == "path" else for_line(text)


def render_format(result: SearchResult, paths: PathStyle, template: str) -> Iterator[str]:
    """The template for each hit, a line break after it unless it ends in \\n or \\0. Raises UsageError."""
    fill = parse_template(template, FIELDS)
    for hit in result.hits:
        yield ended(fill(hit, paths))
