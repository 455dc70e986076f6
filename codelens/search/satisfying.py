"""Decide the conditions of a query for the units of documents, and read a text only if something depends on it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from codelens.model import Span, UnitId
from codelens.search.conditions import (
    DocumentFacts,
    Matching,
    TextFacts,
    UnitFacts,
    demanded_kinds,
    evaluate,
    left_open,
)
from codelens.search.nodes import Node
from codelens.search.texts import DocumentText
from codelens.store.documents import DocumentRow

if TYPE_CHECKING:
    from codelens.search.scope import Scope

Undecided = tuple[UnitId, UnitFacts, Span]


def units_satisfying(documents: Sequence[DocumentRow], scope: Scope) -> Iterator[list[UnitId]]:
    """For each document that has any: its units that satisfy the query, those decided without a text first."""
    rows = {d.id: d for d in documents}
    kinds, rest = demanded_kinds(scope.query.node)
    briefs = scope.texts.store.units.briefs(list(rows), kinds)
    for document, units in groupby(briefs, key=lambda brief: brief[1]):
        row = rows[document]
        known = (row.path, scope.repositories[row.repository], row.language, row.roles)
        node = left_open(rest, DocumentFacts(*known), scope.matching)
        if node is None:
            yield [unit for unit, *_ in units]
            continue
        found: list[UnitId] = []
        undecided: list[Undecided] = []
        for unit, _, kind, name, container, start, end in units:
            facts = UnitFacts(*known, kind, name, f"{container}.{name}" if container else name)
            value = evaluate(node, facts, scope.matching).value
            if value is None:
                undecided.append((unit, facts, Span(start, end)))
            elif value:
                found.append(unit)
        yield _with_text(node, found, undecided, row, scope) if undecided else found


def _with_text(
    node: Node, found: list[UnitId], undecided: Sequence[Undecided], document: DocumentRow, scope: Scope
) -> list[UnitId]:
    """With the units that their text decides; where there are none, those with what the query demands beside them."""
    whole = scope.texts.of(document)
    found = [*found, *_decided(node, undecided, whole, scope.matching)]
    if not found and scope.demands_text:
        around = _reaches([span for _, _, span in undecided], whole)
        beside = [(unit, facts, around[span]) for unit, facts, span in undecided if span in around]
        found = list(_decided(node, beside, whole, scope.matching))
        scope.reach.update({unit: span for unit, _, span in beside if unit in found})
    scope.texts.forget(document)
    return found


def _decided(node: Node, undecided: Sequence[Undecided], whole: DocumentText, matching: Matching) -> Iterator[UnitId]:
    for unit, u, span in undecided:
        known = (u.path, u.repository, u.language, u.roles, u.kind, u.name, u.qualified_name)
        if evaluate(node, TextFacts(*known, whole.slice(span)), matching).value:
            yield unit


def _reaches(spans: Sequence[Span], whole: DocumentText) -> dict[Span, Span]:
    """Outermost span → itself with all that is between it and the one before, in whole lines.

    Units leave out comments above a definition, words like `export` and lines of brackets; a text there is found with
    the unit below it.
    """
    reached: dict[Span, Span] = {}
    start = end = 0
    for span in sorted(spans, key=lambda s: (s.start, -s.end)):
        if span.start >= end:
            end = span.end
            reached[span] = Span(whole.line_start(start), whole.line_end(end))
            start = end
    if reached:
        last = next(reversed(reached))
        reached[last] = Span(reached[last].start, len(whole.raw))
    return reached
