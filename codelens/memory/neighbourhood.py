"""Units → a digest of each with its direct neighbours in the graph: what a judgement of it was about.

A judgement holds for as long as the digest stays: once the unit, what it uses, what uses it or what it lies in is another,
nobody has judged that. knowing takes the root of the whole package; here it is the unit's own neighbours, so that a change
elsewhere in the folder costs nothing.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping

from codelens.model import DocumentId, Span, UnitId, UnitRow
from codelens.relations import NAME_OF_KIND, RESOLVED, TIER_OF_NUMBER, is_unit
from codelens.store.documents import DocumentRow
from codelens.store.store import Store
from codelens.texts import Texts

WIDEST = 64
"""Edges into a unit above which those who use it do not count: what so many use changes with none of them. Chosen."""


def digests(units: Iterable[UnitRow], store: Store, texts: Texts) -> dict[UnitId, str]:
    """Unit → 32 hexadecimal digits, of its own bytes and those of its neighbours, with what they are to each other.

    Guessed edges are left out: a namesake elsewhere would change them.
    """
    asked = {unit.id: unit for unit in units}
    around: dict[UnitId, set[tuple[str, bool, UnitId]]] = {unit: set() for unit in asked}
    for node, other, kind, tier, outgoing in store.edges.around(asked, WIDEST):
        if other != node and is_unit(other) and TIER_OF_NUMBER[tier].confidence > RESOLVED:
            around[UnitId(node)].add((NAME_OF_KIND[kind], outgoing, UnitId(other)))
    for node, other, down in store.edges.nested(asked):
        if not down:  # what lies in a unit is among its own bytes
            around[UnitId(node)].add(("contains", False, UnitId(other)))
    others = {unit for of_one in around.values() for _, _, unit in of_one}
    rows = {**asked, **store.units.rows(others - asked.keys())}
    content = _contents(rows, store, texts)
    return {unit: _digest(content[unit], around[unit], rows, content) for unit in asked}


def _contents(rows: Mapping[UnitId, UnitRow], store: Store, texts: Texts) -> dict[UnitId, str]:
    """Unit → a hash of its own bytes."""
    documents: dict[DocumentId, DocumentRow] = {
        row.id: row for row in store.documents.rows({unit.document for unit in rows.values()})
    }
    found = {}
    for number, unit in rows.items():
        span: Span = unit.span
        raw = texts.of(documents[unit.document]).bytes_of(span)
        found[number] = hashlib.blake2b(raw, digest_size=16).hexdigest()
    return found


def _digest(
    own: str,
    around: Iterable[tuple[str, bool, UnitId]],
    rows: Mapping[UnitId, UnitRow],
    content: Mapping[UnitId, str],
) -> str:
    """By what neighbours are called and say: their rows' numbers depend on an index's history."""
    told = sorted(
        "\0".join(
            (kind, str(outgoing), rows[other].path, rows[other].qualified_name, rows[other].kind, content[other])
            if kind != "contains"  # of what it lies in, the head alone: the rest are its neighbours' neighbours
            else (kind, rows[other].path, rows[other].qualified_name, rows[other].kind, rows[other].signature)
        )
        for kind, outgoing, other in around
        if other in rows
    )
    return hashlib.blake2b("\n".join((own, *told)).encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
