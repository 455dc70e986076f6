"""Reads the cells of a Jupyter notebook, each as an excerpt of the file.

One pass over the JSON tokens finds the cells without building the document, because outputs may be megabytes long. A source is
one string or a list of lines. Each escape in it maps to one position of the file; other text maps byte by byte.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from codelens.model.fast_dataclass import frozen_dataclass
from codelens.text.lines import Excerpt, build_excerpt

NOTEBOOK = "jupyter"  # The language name of notebook files
KERNEL = "python"  # The language of a notebook that does not name one
MOST_CELLS = 2000  # Maximum number of cells read. Longer notebooks are logs.

DEEPEST = 16  # Maximum nesting depth of a string. The strings needed are at depth 7.

_TOKEN = re.compile(rb'"([^"\\]*+(?:\\.[^"\\]*+)*+)("|\\?\Z)|[\[\]{}:,]|[^\s\[\]{}:,"]+', re.DOTALL)
"""JSON tokens. An unclosed string extends to the end; else each of its quotation marks would be tried as a start."""
_PIECE = re.compile(rb"[^\\]+|\\u[dD][89abAB]..\\u....|\\u....|\\.", re.DOTALL)
_BETWEEN = re.compile(r'(\\.)|"\s*,\s*"', re.DOTALL)  # An escape, or the separator of two lines of a source
_LINE = re.compile(r'(\s*(?:"source"\s*:\s*(?:\[\s*)?)?)"((?:[^"\\]|\\.)*)"\s*[\],]*\s*')


@frozen_dataclass
class Cell:
    """One cell; `source` is its text, mapped to the file."""

    kind: str  # code, markdown, raw; nbformat 3 has heading too
    source: Excerpt


@frozen_dataclass
class Notebook:
    """The language and cells of a notebook."""

    language: str  # Language of its code as the notebook names it, in lower case
    cells: tuple[Cell, ...]


Path = tuple[str | int, ...]
_CELL_DEPTH = {"cells": 2, "worksheets": 4}
"""First key of a cell's path → length of the path: `cells` in nbformat 4, `worksheets[].cells` in nbformat 3."""


def read_notebook(utf8: bytes) -> Notebook:
    """Read the language and cells of a notebook. If its JSON is invalid, the cells before the fault are returned."""
    kinds: dict[Path, str] = {}
    sources: dict[Path, list[tuple[int, int]]] = {}
    languages: dict[str, str] = {}
    for path, start, end in _find_strings(utf8):
        depth = _CELL_DEPTH.get(str(path[0]), 0) if path else 0
        if depth and len(path) > depth:
            if path[depth] in ("source", "input"):
                sources.setdefault(path[:depth], []).append((start, end))
            elif path[depth] == "cell_type":
                kinds[path[:depth]] = utf8[start:end].decode("utf-8", "replace")
        elif path in (("metadata", "language_info", "name"), ("metadata", "kernelspec", "language")):
            languages[str(path[1])] = utf8[start:end].decode("utf-8", "replace").lower()
    cells = [Cell(kinds.get(path, ""), _join_source(utf8, spans)) for path, spans in list(sources.items())[:MOST_CELLS]]
    return Notebook(languages.get("language_info") or languages.get("kernelspec") or KERNEL, tuple(cells))


def _join_source(utf8: bytes, spans: list[tuple[int, int]]) -> Excerpt:
    return build_excerpt(
        (_decode_piece(found[0]), start + found.start(), start + found.end())
        for start, end in spans
        for found in _PIECE.finditer(utf8[start:end])
    )


def _decode_piece(piece: bytes) -> bytes:
    """Decode a run of plain characters or one escape. An invalid escape stays unchanged."""
    if not piece.startswith(b"\\"):
        return piece
    try:
        return str(json.loads(b'"' + piece + b'"')).encode("utf-8", "replace")
    except ValueError:
        return piece


def _find_strings(utf8: bytes) -> Iterator[tuple[Path, int, int]]:
    """Yield (path, start, end) of each string value, without its quotes; stop at invalid JSON."""
    path: list[str | int] = []
    awaits_key = False
    for token in _TOKEN.finditer(utf8):
        mark = token[0][:1]
        if mark == b'"' and token[2] != b'"':
            return
        if mark in (b"{", b"["):
            path.append("" if mark == b"{" else 0)
            awaits_key = mark == b"{"
        elif mark in (b"}", b"]"):
            if not path:
                return
            path.pop()
            awaits_key = False
        elif mark == b"," and path:
            last = path[-1]
            awaits_key = isinstance(last, str)
            path[-1] = last + 1 if isinstance(last, int) else ""
        elif mark == b":":
            awaits_key = False
        elif mark == b'"' and awaits_key and path:
            path[-1] = token[1].decode("utf-8", "replace")
        elif mark == b'"' and len(path) <= DEEPEST:
            yield tuple(path), token.start(1), token.end(1)


def decode_source(part: str) -> str:
    """Decode a slice of a notebook file that lies in a cell's source: join its JSON strings, and resolve escapes.

    Returns the slice unchanged if it is not JSON.
    """
    joined = _BETWEEN.sub(lambda found: found[1] or "", part)
    try:
        return str(json.loads(f'"{joined}"', strict=False))
    except ValueError:
        return part


def format_line(line: str) -> str:
    """Format a line of the notebook file for people: source is shown without quotes, at its column in the file."""
    found = _LINE.fullmatch(line)
    if not found:
        return line
    try:
        text = str(json.loads(f'"{found[2]}"', strict=False))
    except ValueError:
        return line
    return " " * (len(found[1]) + 1) + text.removesuffix("\n").replace("\n", " ")
