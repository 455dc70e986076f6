"""Compare the facts of two states: find symbols and edges that were added, removed, moved or changed.

Symbols with the same file, kind and qualified name are the same. A removed and an added symbol of the same name may be paired
as a move, to another file or to another type in the same file. Edges are compared under the new names.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence

from codelens.model.history import EdgePlace, SnapshotDifference, SnapshotDocument, SymbolChange, SymbolPlace

_Key = Callable[[SymbolPlace], Hashable]
_PASSES: tuple[_Key, ...] = (
    lambda s: (s.symbol.kind, s.symbol.name, s.symbol.signature),
    lambda s: (s.repository, s.path, s.symbol.kind, s.symbol.name.rpartition(".")[2], s.symbol.signature),
    lambda s: (s.symbol.kind, s.symbol.name),
)
"""Keys that pair a removed with an added symbol, surest first: same signature in another file; same file, another type;
another file and signature. Two symbols are paired only if no other symbol on either side has their key."""


def compare_snapshots(old: Iterable[SnapshotDocument], new: Iterable[SnapshotDocument]) -> SnapshotDifference:
    """Compare two states; changes are ordered by content. Edges of moved symbols are listed only if they changed."""
    before, after = list(old), list(new)
    old_symbols, new_symbols = _index_symbols(before), _index_symbols(after)
    gone = [symbol for key, symbol in old_symbols.items() if key not in new_symbols]
    come = [symbol for key, symbol in new_symbols.items() if key not in old_symbols]
    both = (SymbolChange(symbol, new_symbols[key]) for key, symbol in old_symbols.items() if key in new_symbols)
    changed = [pair for pair in both if pair.old.symbol.signature != pair.new.symbol.signature]
    moved: list[SymbolChange] = []
    for key in _PASSES:
        removed, added = _find_unique(gone, key), _find_unique(come, key)
        pairs = [SymbolChange(removed[k], added[k]) for k in removed if k in added]
        paired = {symbol for pair in pairs for symbol in (pair.old, pair.new)}
        gone, come = [s for s in gone if s not in paired], [s for s in come if s not in paired]
        moved += pairs
    fewer, more = _compare_edges(before, after, moved)
    new_ones, old_ones = (tuple(sorted(symbols, key=_make_sort_key)) for symbols in (come, gone))
    moves, changes = (tuple(sorted(pairs, key=lambda c: _make_sort_key(c.new))) for pairs in (moved, changed))
    return SnapshotDifference(new_ones, old_ones, moves, changes, more, fewer)


def _index_symbols(facts: Iterable[SnapshotDocument]) -> dict[Hashable, SymbolPlace]:
    """Map identities to symbols. Symbols with the same name in a file are distinguished by their order."""
    by_identity: dict[Hashable, SymbolPlace] = {}
    seen: Counter[Hashable] = Counter()
    for document in facts:
        for symbol in document.symbols:
            name = (document.repository, document.path, symbol.kind, symbol.name)
            by_identity[(*name, seen[name])] = SymbolPlace(document.repository, document.path, symbol)
            seen[name] += 1
    return by_identity


def _find_unique(symbols: Sequence[SymbolPlace], key: _Key) -> dict[Hashable, SymbolPlace]:
    counts = Counter(map(key, symbols))
    return {key(symbol): symbol for symbol in symbols if counts[key(symbol)] == 1}


_End = tuple[str, str, str]


def _compare_edges(
    old: Iterable[SnapshotDocument], new: Iterable[SnapshotDocument], moved: Iterable[SymbolChange]
) -> tuple[tuple[EdgePlace, ...], tuple[EdgePlace, ...]]:
    """Find the removed and the added edges, each sorted."""
    now = {_identify(change.old): _identify(change.new) for change in moved}

    def rename(place: EdgePlace) -> EdgePlace:
        source = (place.repository, place.path, place.edge.source)
        target = (place.repository, place.edge.path, place.edge.target)
        repository, path, name = now.get(source, source)
        _, target_path, target_name = now.get(target, target)
        return EdgePlace(repository, path, place.edge._replace(source=name, path=target_path, target=target_name))

    before = {rename(place): place for place in _list_edge_places(old)}
    after = set(_list_edge_places(new))
    fewer = sorted(place for key, place in before.items() if key not in after)
    return tuple(fewer), tuple(sorted(after - before.keys()))


def _list_edge_places(facts: Iterable[SnapshotDocument]) -> Iterable[EdgePlace]:
    return (EdgePlace(d.repository, d.path, edge) for d in facts for edge in d.edges)


def _identify(place: SymbolPlace) -> _End:
    return (place.repository, place.path, place.symbol.name)


def _make_sort_key(place: SymbolPlace) -> tuple[str, str, int, str, str]:
    return (place.repository, place.path, place.symbol.line, place.symbol.name, place.symbol.kind)
