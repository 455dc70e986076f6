"""Decide the conditions of a query for the units of documents, and read a text only if something depends on it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import field, replace
from itertools import groupby

from codelens.model import DocumentId, Span, UnitId
from codelens.nouns import dataclass
from codelens.search.conditions import (
    DocumentFacts,
    Matching,
    TextFacts,
    UnitFacts,
    demanded_kinds,
    evaluate,
    has_many_alternatives,
    holds_nowhere,
    left_open,
    narrowed,
)
from codelens.search.lastchange import LastChanges
from codelens.search.metadata import Metadata
from codelens.search.nodes import Node, asks_todos
from codelens.store.documents import DocumentRow
from codelens.store.units import Brief
from codelens.texts import DocumentText, Texts

LONGEST_REACH = 4096
"""Bytes of its first and last line that count as beside a unit: in an endless line each of its pieces would reach over all
of it. Even, so that UTF-16 stays whole. Chosen."""
Undecided = tuple[UnitId, UnitFacts, Span]


@dataclass(frozen=True, slots=True)
class Demand:
    """The conditions of one query."""

    node: Node | None
    matching: Matching
    demands_text: bool
    """Whether some phrase or pattern must hold: it may stand beside the units, where no unit holds it."""
    repositories: Mapping[int, str]
    metadata: Metadata
    """EMPTY where no condition asks for it."""
    changes: LastChanges | None = None
    """Where some condition asks for last changes."""
    parts: Mapping[DocumentId, Collection[int]] = field(default_factory=dict)
    """Of large documents the only parts in which units may satisfy them; of one that is not here, any may."""


@dataclass(slots=True)
class Satisfying:
    """Units that satisfy a query."""

    units: list[UnitId] = field(default_factory=list)
    reach: dict[UnitId, Span] = field(default_factory=dict)
    """Of those that satisfy it by what stands beside them: a comment above, a bracket that no unit holds."""
    files: int = 0
    """Of the documents that were asked about, those that are decided."""


def matching_of(document: DocumentRow, matching: Matching, changes: LastChanges | None) -> Matching:
    """How a document is compared: with its last change, where a condition asks for it."""
    return replace(matching, last=changes.of_document(document)) if changes else matching


def _matchings(document: DocumentRow, demand: Demand, texts: Texts) -> Mapping[UnitId, Matching]:
    """The same for each of its units; none where no condition asks."""
    if demand.changes is None:
        return {}
    units = texts.store.units.of_document(document.id)
    last = demand.changes.of_units(document, units)
    return {unit.id: replace(demand.matching, last=last.get(unit.id)) for unit in units}


def add_satisfying(documents: Sequence[DocumentRow], demand: Demand, texts: Texts, satisfying: Satisfying) -> None:
    """Add the units of these documents that satisfy the query, document by document. Raises OutOfTime with the rest undecided."""
    budget = demand.matching.budget
    rows = {d.id: d for d in documents}
    kinds, rest = demanded_kinds(demand.node)
    briefs = texts.store.units.briefs(list(rows), kinds, asks_todos(demand.node))
    large = {document: texts.of(rows[document]) for document in texts.store.parts.documents() if document in rows}
    each: tuple[int, Mapping[UnitId, Matching]] = (-1, {})
    before = -1

    def place(brief: Brief) -> tuple[DocumentId, int]:
        """The document and the part of it that a unit lies in."""
        return brief[1], large[brief[1]].part_of(brief[5]) if brief[1] in large else 0

    for (document, part), units in groupby(briefs, key=place):
        satisfying.files += before not in (-1, document)
        before = document
        budget.check()
        if document in large and part not in demand.parts.get(document, (part,)):
            continue
        row = rows[document]
        repository = demand.repositories[row.repository]
        known = (row.path, repository, row.language, row.roles, demand.metadata.of(repository, row.path))
        node = left_open(rest, DocumentFacts(*known), matching_of(row, demand.matching, demand.changes))
        if node is None:
            satisfying.units += [unit for unit, *_ in units]
            continue
        if has_many_alternatives(node):
            text = texts.of(row)
            node = narrowed(node, row.path, text.stored(text.span_of(part)), demand.matching)
            if holds_nowhere(node):
                continue
        if each[0] != document:
            each = document, _matchings(row, demand, texts)
        undecided: list[Undecided] = []
        found = len(satisfying.units)
        for unit, _, kind, name, container, start, end in units:
            facts = UnitFacts(*known, kind, name, f"{container}.{name}" if container else name)
            value = evaluate(node, facts, each[1].get(unit, demand.matching)).value
            if value is None:
                undecided.append((unit, facts, Span(start, end)))
            elif value:
                satisfying.units.append(unit)
        if undecided:
            whole = texts.of(row)
            satisfying.units += _decided(node, undecided, whole, demand.matching, each[1])
            if len(satisfying.units) == found and demand.demands_text:
                beside = _beside(node, undecided, whole, whole.span_of(part), demand.matching, each[1])
                satisfying.reach |= beside
                satisfying.units += beside
            if document not in large:
                texts.forget(row)
    satisfying.files = len(documents)  # some have no units


def _beside(
    node: Node,
    undecided: Sequence[Undecided],
    whole: DocumentText,
    part: Span,
    matching: Matching,
    each: Mapping[UnitId, Matching],
) -> dict[UnitId, Span]:
    """The outermost units with what the query demands beside them in their part, each with the place where that is."""
    around = _reaches([span for _, _, span in undecided], whole, part)
    near = [(unit, facts, around[span]) for unit, facts, span in undecided if span in around]
    held = set(_decided(node, near, whole, matching, each))
    return {unit: span for unit, _, span in near if unit in held}


def _decided(
    node: Node,
    undecided: Sequence[Undecided],
    whole: DocumentText,
    matching: Matching,
    each: Mapping[UnitId, Matching],
) -> Iterator[UnitId]:
    for unit, u, span in undecided:
        matching.budget.check()
        known = (u.path, u.repository, u.language, u.roles, u.metadata, u.kind, u.name, u.qualified_name)
        if evaluate(node, TextFacts(*known, whole.slice(span)), each.get(unit, matching)).value:
            yield unit


def _reaches(spans: Sequence[Span], whole: DocumentText, part: Span) -> dict[Span, Span]:
    """Outermost span → itself with all that is between it and the one before, in whole lines.

    Units leave out comments above a definition, words like `export` and lines of brackets; a text there is found with
    the unit below it.
    """
    reached: dict[Span, Span] = {}
    start = end = part.start
    for span in sorted(spans, key=lambda s: (s.start, -s.end)):
        if span.start >= end:
            end = span.end
            first, last = max(start - LONGEST_REACH, part.start), min(end + LONGEST_REACH, part.end)
            reached[span] = Span(max(whole.line_start(start), first), min(whole.line_end(end), last))
            start = end
    if reached:
        last_one = next(reversed(reached))
        reached[last_one] = Span(reached[last_one].start, part.end)
    return reached
