"""Decides which units satisfy the conditions of a query, and reads a text only if the answer depends on it.

Facts come in three levels: about a document, about a unit, and the unit's text. A leaf that needs a higher level is None,
Kleene's "unknown", and And and Or combine the three values. A False comes with the node that caused it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from codelens.model.code import DocumentId, Span, UnitId
from codelens.model.fast_dataclass import dataclass, field, replace
from codelens.query.facts import (
    DocumentFacts,
    LastChanges,
    Matching,
    Metadata,
    TextFacts,
    UnitFacts,
    begins,
    contains,
    is_one_word,
    occurs,
    pattern_ranges,
    words_of,
)
from codelens.query.filters import FIELD_TESTS
from codelens.query.nodes import (
    DOC,
    And,
    Filter,
    Identifier,
    Node,
    Not,
    Or,
    Pattern,
    Phrase,
    Word,
    asks_todos,
    kinds_meant,
    positive_leaves,
)
from codelens.query.patterns import ANY, Plan, all_of, any_of, required_literals, required_text
from codelens.store.documents import DocumentRow
from codelens.store.texts import DocumentText, Texts
from codelens.store.units import Brief
from codelens.text.terms import fold


@dataclass(frozen=True, slots=True)
class Verdict:
    """The value of a condition, None if more facts are needed. `blame` is the smallest node that caused a False: a leaf, a
    negation, or an Or whose parts all failed."""

    value: bool | None
    blame: Node | None = None


TRUE, UNKNOWN = Verdict(True), Verdict(None)
MANY_ALTERNATIVES = 4
"""Deciding 4, 16 and 400 words of Flask over its 216 files took .17, .37 and 2.8 CPU s one by one, .10, .14 and 1.4 narrowed."""


def evaluate(node: Node | None, facts: DocumentFacts, matching: Matching) -> Verdict:
    """Evaluate a query's tree on the known facts. Raises OutOfTime when the budget of `matching` is spent."""
    match node:
        case None | Word() | Identifier():  # at the top these only rank
            return TRUE
        case And(parts):
            return _conjunction([evaluate(part, facts, matching) for part in parts])
    return _decide(node, facts, matching)


def demanded_kinds(node: Node | None) -> tuple[frozenset[str] | None, Node | None]:
    """(kinds that a match can have, the remaining conditions on these); None if any kind can match."""
    parts = node.parts if isinstance(node, And) else (node,) if node else ()
    kind_filters = [part for part in parts if isinstance(part, Filter) and part.field == "kind"]
    kinds = [kinds_meant(part.values) for part in kind_filters]
    rest = tuple(part for part in parts if part not in kind_filters or DOC in part.values)
    return (frozenset.intersection(*kinds) if kinds else None), And(rest)


def left_open(node: Node | None, facts: DocumentFacts, matching: Matching) -> Node | None:
    """The part of a query that these facts do not satisfy already; None if they satisfy all of it."""
    parts = node.parts if isinstance(node, And) else (node,) if node else ()
    parts = tuple(part for part in parts if not evaluate(part, facts, matching).value)
    return And(parts) if len(parts) > 1 else parts[0] if parts else None


@dataclass(frozen=True, slots=True)
class AnyWord:
    """Alternative words, decided together: the text is split into words once for all of them."""

    words: frozenset[str]  # Folded if case is ignored


def with_words_together(node: Node | None, matching: Matching) -> Any:
    """An equivalent tree in which the plain words of each `Or` are one AnyWord."""
    match node:
        case And(parts):
            return And(tuple(with_words_together(part, matching) for part in parts))
        case Not(part):
            return Not(with_words_together(part, matching))
        case Or(parts):
            plain = [part for part in parts if isinstance(part, Word | Identifier) and _is_plain(part)]
            if len(plain) < MANY_ALTERNATIVES:
                return Or(tuple(with_words_together(part, matching) for part in parts))
            words = frozenset(fold(part.text) if matching.case != "yes" else part.text for part in plain)
            rest = (part for part in parts if not (isinstance(part, Word | Identifier) and _is_plain(part)))
            return Or((AnyWord(words), *(with_words_together(part, matching) for part in rest)))  # type: ignore[arg-type]
    return node


def _is_plain(leaf: Word | Identifier) -> bool:
    """True for one word of letters, digits and underscores, which cannot span a dotted name."""
    return not (isinstance(leaf, Word) and leaf.begun) and is_one_word(leaf.text)


def has_many_alternatives(node: Node) -> bool:
    """True if searching a document's whole text first is faster than testing unit by unit."""
    parts = node.parts if isinstance(node, And) else (node,)
    return any(isinstance(part, Or) and len(part.parts) >= MANY_ALTERNATIVES for part in parts)


def narrowed(node: Node, path: str, text: str, matching: Matching) -> Node:
    """A tree for the units of one document: without alternatives that its path and text cannot satisfy."""
    match node:
        case And(parts):
            return And(tuple(narrowed(part, path, text, matching) for part in parts))
        case Or(parts):
            return Or(tuple(part for part in parts if _may_hold(part, path, text, matching)))
    return node


def holds_nowhere(node: Node) -> bool:
    """True if a narrowed tree has a required `Or` without alternatives left."""
    parts = node.parts if isinstance(node, And) else (node,)
    return any(isinstance(part, Or) and not part.parts for part in parts)


def _may_hold(node: Node, path: str, text: str, matching: Matching) -> bool:
    match node:
        case Phrase(wanted):
            return occurs(text, wanted, matching.ignores_case(wanted), whole_word=False)
        case Word(wanted) | Identifier(wanted) if wanted.replace("_", "").isalnum():  # so it cannot span a dotted name
            ignore = matching.case != "yes"
            return any(occurs(known, wanted, ignore, whole_word=False) for known in (path, text))
    return True


def _decide(node: Node, facts: DocumentFacts, matching: Matching) -> Verdict:
    """Evaluate below the top level, where words are conditions too."""
    match node:
        case And(parts):
            return _conjunction([_decide(part, facts, matching) for part in parts])
        case Or(parts):
            return _disjunction(node, parts, facts, matching)
        case Not(part):
            value = _decide(part, facts, matching).value
            return UNKNOWN if value is None else Verdict(not value, node if value else None)
    return _verdict(_leaf(node, facts, matching), node)


def _conjunction(verdicts: list[Verdict]) -> Verdict:
    failed = next((v for v in verdicts if v.value is False), None)
    return failed or (UNKNOWN if UNKNOWN in verdicts else TRUE)


def _disjunction(node: Or, parts: tuple[Node, ...], facts: DocumentFacts, matching: Matching) -> Verdict:
    unknown = False
    for part in parts:
        value = _decide(part, facts, matching).value
        if value:
            return TRUE
        unknown |= value is None
    return UNKNOWN if unknown else Verdict(False, node)


def _verdict(value: bool | None, node: Node) -> Verdict:
    return UNKNOWN if value is None else TRUE if value else Verdict(False, node)


def _leaf(leaf: Node | AnyWord, facts: DocumentFacts, matching: Matching) -> bool | None:
    text = facts.text if isinstance(facts, TextFacts) else None
    match leaf:
        case Word() if leaf.begun:
            return _mentions(leaf.begun, facts, matching, goes_on=True)
        case Word(wanted) | Identifier(wanted):
            return _mentions(wanted, facts, matching)
        case Phrase(wanted):
            return None if text is None else contains(text, wanted, matching)
        case Pattern(source):
            return None if text is None else bool(pattern_ranges(text, source, matching, limit=1))
        case Filter(name, values):
            return FIELD_TESTS[name](facts, values, matching)
        case AnyWord(words):
            found = any(not words.isdisjoint(words_of(known, matching.case != "yes")) for known in _known(facts))
            return found or (None if text is None else False)
    return True


def _known(facts: DocumentFacts) -> list[str]:
    """The known texts in which a word may occur, shortest first."""
    known = [facts.path]
    if isinstance(facts, UnitFacts):
        known += [facts.name, facts.qualified_name]
    if isinstance(facts, TextFacts):
        known.append(facts.text)
    return known


def _mentions(word: str, facts: DocumentFacts, matching: Matching, goes_on: bool = False) -> bool | None:
    """True if the path, name or text has the word, or with `goes_on` a word that starts with it; None if that is unknown. Case
    counts only with `case:yes`."""
    ignore = matching.case != "yes"
    known = _known(facts)
    if any(begins(text, word, ignore) if goes_on else occurs(text, word, ignore, whole_word=True) for text in known):
        return True
    return False if isinstance(facts, TextFacts) else None


def literal_requirements(node: Node | None) -> Plan:
    """The substrings that every matching document contains, from phrases, `content:`, patterns and required words.

    A required word may be in the path instead: see `demanded_words`.
    """
    match node:
        case And(parts):
            return all_of(literal_requirements(part) for part in parts if not isinstance(part, Word | Identifier))
        case Word() | Identifier():
            return ANY
    return _required(node)


def _required(node: Node | None) -> Plan:
    match node:
        case Word(text) | Identifier(text):
            word = node.begun or text if isinstance(node, Word) else text
            return required_text(word) if is_one_word(word) else ANY
        case Phrase(text):
            return required_text(text)
        case Pattern(source):
            return required_literals(source)
        case Filter("content", values):
            return any_of(map(required_text, values))
        case And(parts):
            return all_of(map(_required, parts))
        case Or(parts):
            return any_of(map(_required, parts))
    return ANY


def demanded_words(node: Node | None) -> frozenset[str]:
    """The words and prefixes that the tree requires as a condition."""
    match node:
        case And(parts):
            return frozenset().union(*(demanded_words(p) for p in parts if not isinstance(p, Word | Identifier)))
        case Or():
            of_words = (leaf for leaf in positive_leaves(node) if isinstance(leaf, Word | Identifier))
            return frozenset(leaf.begun or leaf.text if isinstance(leaf, Word) else leaf.text for leaf in of_words)
    return frozenset()


LONGEST_REACH = 4096
"""Most bytes of the first and last line that count as next to a unit, because an endless line would belong to each of its
pieces. Even, so that UTF-16 stays whole. Chosen."""
Undecided = tuple[UnitId, UnitFacts, Span]


@dataclass(frozen=True, slots=True)
class Demand:
    """The conditions of one query."""

    node: Node | None
    matching: Matching
    demands_text: bool
    """True if a phrase or pattern is required. It may be next to the units, where no unit contains it."""
    repositories: Mapping[int, str]
    metadata: Metadata  # EMPTY if no condition needs it
    changes: LastChanges | None = None  # None if no condition needs last changes
    parts: Mapping[DocumentId, Collection[int]] = field(default_factory=dict)
    """Large document → the parts with units that may match. In documents not listed here any part may."""


@dataclass(slots=True)
class Satisfying:
    """The units that satisfy a query."""

    units: list[UnitId] = field(default_factory=list)
    reach: dict[UnitId, Span] = field(default_factory=dict)
    """Unit → a wider span, for units that match by text next to them: a comment above, a line of brackets."""
    files: int = 0  # Number of the given documents that are decided


def matching_of(document: DocumentRow, matching: Matching, changes: LastChanges | None) -> Matching:
    """The matching for a document: with its last change if a condition needs it."""
    return replace(matching, last=changes.of_document(document)) if changes else matching


def _matchings(document: DocumentRow, demand: Demand, texts: Texts) -> Mapping[UnitId, Matching]:
    """The matching for each unit; empty if no condition needs last changes."""
    if demand.changes is None:
        return {}
    units = texts.store.units.of_document(document.id)
    last = demand.changes.of_units(document, units)
    return {unit.id: replace(demand.matching, last=last.get(unit.id)) for unit in units}


def add_satisfying(documents: Sequence[DocumentRow], demand: Demand, texts: Texts, satisfying: Satisfying) -> None:
    """Add the units of these documents that satisfy the query. Raises OutOfTime; the documents done by then are added."""
    budget = demand.matching.budget
    rows = {d.id: d for d in documents}
    kinds, rest = demanded_kinds(demand.node)
    briefs = texts.store.units.briefs(list(rows), kinds, asks_todos(demand.node))
    large = {document: texts.of(rows[document]) for document in texts.store.parts.documents() if document in rows}
    each: tuple[int, Mapping[UnitId, Matching]] = (-1, {})
    before = -1

    def place(brief: Brief) -> tuple[DocumentId, int]:
        """The document of a unit, and its part."""
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
    """The outermost units that match with the text next to them in their part, each with its wider span."""
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
    """Outermost span → the span extended back to the one before, in whole lines.

    Units leave out comments above a definition, words like `export` and lines of brackets. Text there belongs to the unit below.
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
