"""Reader of LSIF dumps (LSIF 0.4 to 0.6, as JSON lines or one JSON array).

A dump is a graph: `next` edges lead from ranges to result sets, and from those to results whose items are ranges again. A symbol
is the result set that the definitions of a range belong to, identified by its id. Edges may come long after the vertices that
they join, so tables of the whole graph are kept until its end; hover texts, monikers and other elements are skipped.

The reader is our own because LSIF has no Python library: its tools are written in TypeScript and Go, and none of them yields
occurrences. The parser of JSON is the standard one.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import unquote

from codelens.errors import PreciseIndexError
from codelens.linking.precise.documents import (
    CodeUnits,
    Occurrence,
    PreciseDocument,
    Range,
    RefusedDocument,
    Relationship,
    checked_path,
)

Id = int | str
_COUNT_BYTES = frozenset({"lsif-go"})
"""lsif-go announces UTF-16 and counts bytes (sourcegraph issue 15277)."""
_ROOTS = {"metaData": "projectRoot", "source": "workspaceRoot", "group": "rootUri"}
"""Vertex → its property with the root's URI, in versions 0.4, 0.6 and 0.5."""
_LONGEST_CHAIN = 100
"""`next` edges followed from one range. Real dumps have one or two; a damaged one may have a circle."""
_FAR = (1 << 31) - 2


def read_lsif(buffer: bytes, name: str) -> Iterator[PreciseDocument | RefusedDocument]:
    """The documents of a dump in order. `name` is the file's name for error messages. Raises PreciseIndexError."""
    graph = _Graph()
    for offset, element in _elements(buffer, name):
        try:
            graph.add(element)
        except (KeyError, TypeError, ValueError) as fault:
            raise PreciseIndexError(name, offset, f"not an LSIF element: {type(fault).__name__}: {fault}") from None
    if not graph.seen_metadata:
        raise PreciseIndexError(name, len(buffer), "not an LSIF dump: it has no metaData vertex")
    yield from graph.facts()


def _elements(buffer: bytes, name: str) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """(offset, object) of each element. Lines are decoded one by one: a large dump is not held as text."""
    one_array = buffer[:64].lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"[")
    at = 0
    while at < len(buffer):
        end = len(buffer) if one_array else buffer.find(b"\n", at) + 1 or len(buffer)
        try:
            yield from ((at, element) for element in _objects(buffer[at:end].decode("utf-8-sig")))
        except (ValueError, RecursionError) as fault:  # errors of json and of decoding are ValueErrors
            raise PreciseIndexError(name, at, f"not JSON: {fault}") from None
        at = end


def _objects(text: str) -> Iterator[Mapping[str, Any]]:
    """The objects in a JSON text, ignoring commas and brackets between them."""
    decoder = json.JSONDecoder()
    at = 0
    while True:
        while at < len(text) and text[at] in "[], \t\r\n":
            at += 1
        if at == len(text):
            return
        element, at = decoder.raw_decode(text, at)
        if not isinstance(element, dict):
            raise ValueError("an element is not an object")
        yield element


class _Graph:
    """The tables of one dump."""

    def __init__(self) -> None:
        self.seen_metadata = False
        self._roots: dict[str, str] = {}
        self._encoding = CodeUnits.UTF16
        self._uris: dict[Id, str] = {}
        self._ranges: dict[Id, Range | None] = {}
        self._next: dict[Id, Id] = {}
        self._contained: defaultdict[Id, list[Id]] = defaultdict(list)
        self._results: dict[str, dict[Id, Id]] = {"definition": {}, "references": {}, "implementation": {}}
        self._items: defaultdict[Id, list[Id]] = defaultdict(list)
        self._linked: defaultdict[Id, list[Id]] = defaultdict(list)
        """Reference result → reference results of the symbols that this one overrides."""

    def add(self, element: Mapping[str, Any]) -> None:
        """Add one vertex or edge. Raises KeyError, TypeError or ValueError if it violates the format."""
        label = element["label"]
        if element["type"] == "vertex":
            self._add_vertex(label, element)
        elif label == "next":
            self._next[_id(element["outV"])] = _id(element["inV"])
        elif label == "contains":
            self._contained[_id(element["outV"])] += _targets(element)
        elif label == "item":
            self._add_items(element)
        elif (what := str(label).removeprefix("textDocument/")) in self._results:
            self._results[what][_id(element["outV"])] = _id(element["inV"])

    def _add_vertex(self, label: str, vertex: Mapping[str, Any]) -> None:
        if label == "range":
            self._ranges[_id(vertex["id"])] = _range(vertex)
        elif label == "document":
            # JSON can hold half of a surrogate pair, which is invalid in paths and on terminals.
            self._uris[_id(vertex["id"])] = str(vertex["uri"]).encode("utf-8", "replace").decode("utf-8")
        elif label in _ROOTS and _ROOTS[label] in vertex:
            self._roots[label] = str(vertex[_ROOTS[label]])
        elif label == "project" and "resource" in vertex:
            self._roots.setdefault(label, str(vertex["resource"]).rpartition("/")[0])
        if label == "metaData":
            self.seen_metadata = True
            tool = vertex.get("toolInfo")
            announced = str(vertex.get("positionEncoding", "utf-16")).lower()
            known = announced in tuple(CodeUnits)
            self._encoding = CodeUnits(announced) if known else CodeUnits.UTF16
            if isinstance(tool, dict) and tool.get("name") in tuple(_COUNT_BYTES):
                self._encoding = CodeUnits.UTF8

    def _add_items(self, edge: Mapping[str, Any]) -> None:
        kind = edge.get("property")
        if kind is None or kind == "definitions":
            self._items[_id(edge["outV"])] += _targets(edge)
        elif kind == "referenceResults":
            self._linked[_id(edge["outV"])] += _targets(edge)

    def facts(self) -> Iterator[PreciseDocument | RefusedDocument]:
        """The content of the graph, by document."""
        defined = self._defined()
        related = self._related(defined)
        root = next((self._roots[of] for of in (*_ROOTS, "project") if of in self._roots), None)
        for document, uri in self._uris.items():
            path = _path(uri, root)
            if isinstance(path, RefusedDocument):
                yield path
                continue
            inside = [vertex for vertex in self._contained[document] if vertex in self._ranges]
            occurrences = [found for vertex in inside for found in self._occurrences(vertex, defined[vertex])]
            relationships = tuple(relation for vertex in inside for relation in related[vertex])
            dropped = sum(self._ranges[vertex] is None for vertex in inside)
            yield PreciseDocument(path, self._encoding, tuple(occurrences), relationships, dropped)

    def _symbol(self, vertex: Id) -> Id:
        """The first vertex on a range's chain with a definition result, else the last vertex."""
        for _ in range(_LONGEST_CHAIN):
            if vertex in self._results["definition"] or vertex not in self._next:
                break
            vertex = self._next[vertex]
        return vertex

    def _defined(self) -> defaultdict[Id, list[Id]]:
        """Range → the symbols that it defines; for a symbol without a definition result, the definitions among its references."""
        symbols: dict[Id, Id] = dict.fromkeys(self._results["references"], 0)
        symbols |= dict.fromkeys(self._results["definition"], 0)
        defined: defaultdict[Id, list[Id]] = defaultdict(list)
        for symbol in symbols:
            result = self._results["definition"].get(symbol, self._results["references"].get(symbol))
            for vertex in dict.fromkeys(self._items.get(result, ()) if result is not None else ()):
                defined[vertex].append(symbol)
        return defined

    def _related(self, defined: Mapping[Id, Sequence[Id]]) -> defaultdict[Id, list[Relationship]]:
        """Range of a definition → relationships of its symbol."""
        related: defaultdict[Id, list[Relationship]] = defaultdict(list)
        for other, result in self._results["implementation"].items():
            for vertex in self._items.get(result, ()):
                related[vertex].append(Relationship(str(self._symbol(vertex)), str(other), "implementation"))
        owner = {result: symbol for symbol, result in self._results["references"].items()}
        for vertex, symbols in defined.items():
            for symbol in symbols:
                result = self._results["references"].get(symbol, "")
                for linked in self._linked.get(result, ()):
                    if linked in owner:
                        related[vertex].append(Relationship(str(symbol), str(owner[linked]), "reference"))
        return related

    def _occurrences(self, vertex: Id, defines: Sequence[Id]) -> Iterator[Occurrence]:
        place = self._ranges[vertex]
        if place is None:
            return
        own = self._symbol(vertex)
        if own not in defines and vertex in self._next:
            yield Occurrence(place, str(own), False)
        for symbol in defines:
            yield Occurrence(place, str(symbol), True)


def _id(value: object) -> Id:
    if isinstance(value, (int, str)):
        return value
    raise TypeError(f"{value!r} is not an id")


def _targets(edge: Mapping[str, Any]) -> list[Id]:
    """The targets of an edge: a single one in the oldest dumps, later a list."""
    return [_id(value) for value in edge["inVs"]] if "inVs" in edge else [_id(edge["inV"])]


def _range(vertex: Mapping[str, Any]) -> Range | None:
    """A vertex's range, converted to positions from 1; None if it is invalid."""
    numbers = [vertex[end][part] for end in ("start", "end") for part in ("line", "character")]
    if any(type(number) is not int or not 0 <= number < _FAR for number in numbers) or numbers[2:] < numbers[:2]:
        return None
    return Range(*(number + 1 for number in numbers))


def _path(uri: str, root: str | None) -> str | RefusedDocument:
    """The path of a document's URI below the root's URI."""
    if root is None:
        return RefusedDocument(uri, "the dump does not say where its root is")
    written, above = unquote(uri), unquote(root).rstrip("/") + "/"
    if not written.startswith(above):
        return RefusedDocument(uri, "the file lies outside the project's root")
    return checked_path(written.removeprefix(above))
