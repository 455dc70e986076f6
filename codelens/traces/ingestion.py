"""Imports files of spans in OTLP/JSON: matches each span with a symbol of the index, and stores how often and when it last ran.

Paths in spans are those of the machine where the code ran, so files are matched by the longest common end. An ambiguous span is
dropped: a wrong symbol would be worse."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

import xxhash

from codelens.errors import TracesFault
from codelens.model.code import CHUNK_KINDS, DocumentId, UnitRow
from codelens.model.memory import IngestResult, ObservedRuns, Place, SpanRun, make_place
from codelens.store.connection import remove_database
from codelens.store.records import Traces
from codelens.store.store import Store
from codelens.text.identifiers import fold_identifier
from codelens.text.notation import parse_json
from codelens.worktree.place import locate_traces

SAME_NAME = 500  # Most units of one name that are considered if a span names no file
PACKAGES = ("site-packages", "dist-packages", "node_modules", "gems", "vendor", "registry", "mod")
"""Folders of installed packages, which are not part of the repository. `mod` is Go's pkg/mod, `registry` Cargo's."""
LEAST_SHARED = 2  # Fewest components that two paths share at the end, unless a whole path is shared
_BETWEEN = re.compile(r"<locals>|\W+")
_CLOSURE = re.compile(r"func\d+|\d+")  # Suffix of a closure in Go, after the name of its function: Total.func1.2


# Attribute names follow the semantic conventions for source code: current names before older ones.
FUNCTION = ("code.function.name", "code.function")
NAMESPACE = ("code.namespace",)
FILE = ("code.file.path", "code.filepath")
LINE = ("code.line.number", "code.lineno")
NANOSECONDS = 1_000_000_000
HINT = "give it OTLP as JSON, as a collector's file exporter writes"
SPANS = ("scopeSpans", "instrumentationLibrarySpans")  # The second name was used until OTLP 0.16


def read_spans(content: bytes, name: str) -> Iterator[SpanRun | None]:
    """Read the code of each span, in order; None for a span without function or time. Raises TracesFault.

    A file is one object, or one object per line as the OpenTelemetry Collector's file exporter writes.
    """
    try:
        text = content.decode("utf-8-sig")
        try:
            values = [parse_json(text)]
        except ValueError:
            values = [parse_json(line) for line in text.splitlines() if line.strip()]
    except ValueError as fault:
        raise TracesFault(f"{name} is not JSON: {fault}", HINT) from None
    for exported in values:
        resources = exported.get("resourceSpans") if isinstance(exported, dict) else None
        if not isinstance(resources, list):
            raise TracesFault(f"{name} has no resourceSpans", HINT)
        for resource in _select_dicts(resources):
            for scopes in map(resource.get, SPANS):
                for scope in _select_dicts(scopes):
                    yield from map(_read_span, _select_dicts(scope.get("spans")))


def _select_dicts(value: Any) -> list[dict[str, Any]]:
    return [entry for entry in value if isinstance(entry, dict)] if isinstance(value, list) else []


def _read_span(span: dict[str, Any]) -> SpanRun | None:
    attributes = {str(entry.get("key")): entry.get("value") for entry in _select_dicts(span.get("attributes"))}
    at = _read_number(span.get("endTimeUnixNano")) or _read_number(span.get("startTimeUnixNano"))
    function, namespace, file, line = (_read_text(attributes, names) for names in (FUNCTION, NAMESPACE, FILE, LINE))
    return SpanRun(function, namespace, file, _read_number(line), at // NANOSECONDS) if function and at else None


def _read_text(attributes: dict[str, Any], names: tuple[str, ...]) -> str:
    """Read the first of these attributes with a value: a string, or a 64-bit number, which OTLP/JSON writes as a string."""
    for name in names:
        value = attributes.get(name)
        if isinstance(value, dict):
            text = next((value[key] for key in ("stringValue", "intValue") if key in value), "")
            if isinstance(text, str | int) and str(text):
                return str(text)
    return ""


def _read_number(value: Any) -> int | None:
    """Read the integer of a value. 64-bit numbers are strings in OTLP/JSON, but some exporters write numbers."""
    text = str(value)
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 20 else None


class SymbolMatcher:
    """A finder of the symbols that spans name, with a cache."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._known: dict[tuple[str, str, str, int | None], Place | None] = {}
        self._by_name: dict[str, list[tuple[tuple[str, ...], DocumentId]]] = {}
        for document in store.documents.read_rows():
            parts = _split_path(document.path)
            self._by_name.setdefault(parts[-1], []).append((parts, document.id))

    def find(self, ran: SpanRun) -> Place | None:
        """Find the place of the symbol; None if no symbol matches, or several."""
        key = (ran.name, ran.namespace, ran.path, ran.line)
        if key not in self._known:
            unit = self._find_unit(ran)
            self._known[key] = make_place(unit) if unit else None
        return self._known[key]

    def _find_unit(self, ran: SpanRun) -> UnitRow | None:
        """Find the symbol that a span names, by its file if it has one; None if no symbol matches, or several."""
        parts = _split_name(ran)
        if not parts:
            return None
        if not ran.path:
            return self._find_by_names(parts)
        units = chain.from_iterable(map(self._store.units.list_in_document, self._find_documents(ran.path)))
        named = [unit for unit in units if unit.name == parts[-1] and unit.kind not in CHUNK_KINDS]
        return _choose_in_file(named, parts, ran.line)

    def _find_documents(self, path: str) -> list[DocumentId]:
        """Find the documents that share the longest end of the path; none for installed packages."""
        parts = _split_path(path.replace("\\", "/"))
        candidates = self._by_name.get(parts[-1], ()) if parts else ()
        shared = [(_count_shared(parts, other), len(other), document) for other, document in candidates]
        most = max((count for count, _, _ in shared), default=0)
        if set(PACKAGES) & set(parts[: len(parts) - most]):
            return []
        nearest = [(size, document) for count, size, document in shared if count == most]
        whole = [document for size, document in nearest if size == most]
        return whole or [document for _, document in nearest if most >= LEAST_SHARED]

    def _find_by_names(self, parts: Sequence[str]) -> UnitRow | None:
        """Match by names alone: the span must name all containers of the symbol; without any, the end of its file's path.

        The symbol with the most names in common counts; None if several have as many.
        """
        ids = self._store.units.find_by_name(fold_identifier(parts[-1]), None, SAME_NAME)
        fitting: dict[tuple[int, int], list[UnitRow]] = {}
        for unit in self._store.units.read_rows(ids).values():
            holders = tuple(filter(None, unit.container.split(".")))
            if unit.name != parts[-1] or unit.kind in CHUNK_KINDS or not _ends_with(parts[:-1], holders):
                continue
            rest = parts[: len(parts) - 1 - len(holders)]
            file = _split_path(unit.path.rpartition(".")[0] or unit.path)
            where = max(_count_shared(rest, file), _count_shared(rest, file[:-1]))
            if holders or where:
                fitting.setdefault((len(holders) + where, where), []).append(unit)
        best = fitting[max(fitting)] if fitting else []
        return best[0] if len(best) == 1 else None


def _split_name(ran: SpanRun) -> tuple[str, ...]:
    """Split namespace and name in any language's notation: a.b, a::b, a#b, a/b.(*T).m; without Go's closures."""
    name = ran.name if not ran.namespace or ran.name.startswith(ran.namespace) else f"{ran.namespace}.{ran.name}"
    parts = [part for part in _BETWEEN.split(name) if part]
    while len(parts) > 1 and _CLOSURE.fullmatch(parts[-1]):
        parts.pop()
    return tuple(parts)


def _choose_in_file(named: Sequence[UnitRow], parts: Sequence[str], line: int | None) -> UnitRow | None:
    """Choose the symbol around the line, or in the containers that the span names; None if several are left."""
    if len(named) > 1 and line is not None:
        around = [unit for unit in named if unit.start_line <= line <= unit.end_line]
        named = [max(around, key=lambda unit: (unit.start_line, -unit.end_line))] if around else named
    if len(named) > 1 and len(parts) > 1:
        holders = {unit.id: tuple(filter(None, unit.container.split("."))) for unit in named}
        fitting = [unit for unit in named if holders[unit.id] and _ends_with(parts[:-1], holders[unit.id])]
        most = max((len(holders[unit.id]) for unit in fitting), default=0)
        named = [unit for unit in fitting if len(holders[unit.id]) == most] or [u for u in named if not u.container]
    return named[0] if len(named) == 1 else None


def _ends_with(parts: Sequence[str], end: Sequence[str]) -> bool:
    return not end or tuple(parts[-len(end) :]) == tuple(end)


def _split_path(path: str) -> tuple[str, ...]:
    return tuple(part for part in path.split("/") if part not in ("", "."))


def _count_shared(left: Sequence[str], right: Sequence[str]) -> int:
    """Count the components that two paths share at their ends."""
    count = 0
    while count < min(len(left), len(right)) and left[-1 - count] == right[-1 - count]:
        count += 1
    return count


class IndexTraces:
    """The traces file of one index."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.path = locate_traces(store.path)

    def ingest(self, files: Iterable[tuple[str, bytes]]) -> IngestResult:
        """Import files given as (name, content), all or none of them, except files imported earlier. Raises TracesFault for a
        file that is not OTLP/JSON, and if the traces file cannot be written."""
        counts, known = Counter[str](), list[str]()
        # Digest → observations, for files with a match: others may match once more files are indexed.
        observations: dict[str, dict[Place, ObservedRuns]] = {}
        with self._store.reading(), Traces.open_for_reading(self.path) as traces:
            matcher = SymbolMatcher(self._store)
            for name, content in files:
                digest = xxhash.xxh3_128_hexdigest(content)
                if digest in observations or traces.has_imported(digest):
                    known.append(name)
                    continue
                observed: dict[Place, ObservedRuns] = {}
                for ran in read_spans(content, name):
                    place = matcher.find(ran) if ran else None
                    counts["nameless" if ran is None else "unknown" if place is None else "matched"] += 1
                    if ran and place:
                        seen = observed.get(place, ObservedRuns(0, 0))
                        observed[place] = ObservedRuns(seen.times + 1, max(seen.last, ran.at))
                if observed:
                    observations[digest] = observed
        if observations:  # else no file is made
            with Traces.open_for_writing(self.path) as writer:
                for digest, observed in observations.items():
                    if writer.has_imported(digest):
                        continue  # by another process, meanwhile
                    writer.mark_imported(digest)
                    for place, seen in sorted(observed.items()):
                        writer.add_runs(place, seen)
        symbols = {place for observed in observations.values() for place in observed}
        matched, nameless, unknown = (counts[kind] for kind in ("matched", "nameless", "unknown"))
        return IngestResult(counts.total(), matched, len(symbols), nameless, unknown, tuple(known))

    def list_observations(self) -> Mapping[Place, ObservedRuns]:
        """Map each symbol to its observations, most recent first. Raises TracesFault."""
        with Traces.open_for_reading(self.path) as traces:
            observations = traces.read_all()
        return dict(sorted(observations.items(), key=lambda item: (-item[1].last, item[0])))

    def forget(self) -> bool:
        return remove_database(self.path)
