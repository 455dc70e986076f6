"""What lies between two states, and the log of states → lines and objects."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

from codelens.past import Difference, EdgePlace, SymbolPlace
from codelens.render.records import SCHEMA, Record, path_b64
from codelens.render.visible import for_column, for_line
from codelens.store.snapshots import LoggedSnapshot


def difference_lines(difference: Difference, edges: bool) -> Iterator[str]:
    """A sign, place, kind and name: + added, - removed, > moved (from → to), ~ with another signature (was → is)."""
    for symbol in difference.added:
        yield f"+ {_told(symbol)}\n"
    for symbol in difference.removed:
        yield f"- {_told(symbol)}\n"
    for change in difference.moved:
        yield f"> {_told(change.old)} → {_told(change.new)}\n"
    for change in difference.changed:
        signatures = f"{change.old.symbol.signature} → {change.new.symbol.signature}"
        yield f"~ {_told(change.new)}: {for_line(signatures)}\n"
    for sign, places in (("+", difference.edges_added), ("-", difference.edges_removed)):
        yield from (f"{sign} {_edge(place)}\n" for place in places if edges)


def _told(place: SymbolPlace) -> str:
    return for_line(f"{for_column(place.path)}:{place.symbol.line} {place.symbol.kind} {place.symbol.name}")


def _edge(place: EdgePlace) -> str:
    edge = place.edge
    target = f"{edge.path}:{edge.target}" if edge.path and edge.path != place.path else edge.target or edge.path
    return for_line(f"{for_column(place.path)} {edge.source or place.path} {edge.kind} {target}")


def difference_record(difference: Difference, exit_code: int) -> Record:
    """The object of `diff --json`."""
    return {
        "schema": SCHEMA,
        "added": [_symbol(s) for s in difference.added],
        "removed": [_symbol(s) for s in difference.removed],
        "moved": [{"old": _symbol(c.old), "new": _symbol(c.new)} for c in difference.moved],
        "changed": [{"old": _symbol(c.old), "new": _symbol(c.new)} for c in difference.changed],
        "edges_added": [_edge_record(e) for e in difference.edges_added],
        "edges_removed": [_edge_record(e) for e in difference.edges_removed],
        "exit_code": exit_code,
    }


def _symbol(place: SymbolPlace) -> Record:
    kind, name, line, signature = place.symbol
    return {
        "repository": place.repository,
        "path": place.path,
        **path_b64(place.path),
        "line": line,
        "kind": kind,
        "qualified_name": name,
        "signature": signature,
    }


def _edge_record(place: EdgePlace) -> Record:
    edge = place.edge
    return {
        "repository": place.repository,
        "path": place.path,
        **path_b64(place.path),
        "source": edge.source,
        "kind": edge.kind,
        "target_path": edge.path,
        "target": edge.target,
    }


def log_lines(log: Sequence[LoggedSnapshot]) -> Iterator[str]:
    """@{n}, digest, day of the newest commit, counts, Merkle root; what is no longer kept is marked."""
    for back, line in enumerate(log):
        day = datetime.fromtimestamp(line.time, UTC).strftime("%Y-%m-%d") if line.time else "-"
        counts = f"{line.documents} files, {line.symbols} symbols, {line.edges} edges"
        gone = "" if line.kept else "\tnot kept"
        yield f"@{{{back}}}\t{line.snapshot}\t{day}\t{counts}\t{line.root}{gone}\n"


def log_record(log: Sequence[LoggedSnapshot], exit_code: int) -> Record:
    """The object of `snapshots --json`."""
    return {
        "schema": SCHEMA,
        "snapshots": [
            {
                "back": back,
                "snapshot": line.snapshot,
                "root": line.root,
                "time": line.time,
                "documents": line.documents,
                "symbols": line.symbols,
                "edges": line.edges,
                "kept": line.kept,
            }
            for back, line in enumerate(log)
        ],
        "exit_code": exit_code,
    }
