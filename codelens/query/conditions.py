"""Decides which units satisfy a query's conditions, and reads a unit's text only if nothing else decides.

Facts come in three levels: about a document, about a unit, and the unit's text. A leaf that needs a higher level is None,
Kleene's "unknown", and And and Or combine the three values. A False comes with the node that caused it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, NamedTuple

from codelens.model.code import DocumentId, Span, UnitId, UnitRow
from codelens.model.fast_dataclass import dataclass, field, frozen_dataclass, replace
from codelens.query.facts import (
    EMPTY,
    Facts,
    LastChanges,
    Matching,
    Metadata,
    contains_phrase,
    find_pattern,
    find_words,
    has_word_starting,
    is_one_word,
    occurs,
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
    asks_for_todos,
    expand_kinds,
    find_positive_leaves,
    is_exact,
    join_parts,
    list_required_parts,
)
from codelens.query.patterns import ANY, Plan, require_all, require_any, require_literals, require_text
from codelens.store.documents import DocumentRow
from codelens.store.texts import DocumentText, Texts
from codelens.store.units import Brief
from codelens.text.terms import fold


@frozen_dataclass
class Verdict:
    """The value of a condition; None if more facts are needed. `blame` is the smallest node that made it False: a leaf, a
    negation, or an Or whose parts all failed."""

    value: bool | None
    blame: Node | None = None


TRUE, UNKNOWN = Verdict(True), Verdict(None)
MANY_ALTERNATIVES = 4
"""Least words of an OR to join. Flask (216 files), 4, 16 and 400 words: .17, .37, 2.8 CPU s singly; .10, .14, 1.4 joined."""


def evaluate_node(node: Node | None, facts: Facts, matching: Matching) -> Verdict:
    """Evaluate a query's tree on the known facts. Raises OutOfTime when the budget of `matching` is spent."""
    match node:
        case None | Word() | Identifier():  # at the top these only rank
            return TRUE
        case And(parts):
            return _combine_verdicts([evaluate_node(part, facts, matching) for part in parts])
    return _decide(node, facts, matching)


def split_off_kinds(node: Node | None) -> tuple[frozenset[str] | None, Node | None]:
    """Split a tree into (kinds that a match can have, None for any kind; the remaining conditions)."""
    parts = list_required_parts(node)
    kind_filters = [part for part in parts if isinstance(part, Filter) and part.field == "kind"]
    kinds = [expand_kinds(part.values) for part in kind_filters]
    rest = tuple(part for part in parts if part not in kind_filters or DOC in part.values)
    return (frozenset.intersection(*kinds) if kinds else None), And(rest)


def find_undecided(node: Node | None, facts: Facts, matching: Matching) -> Node | None:
    """Find the part of a query that these facts do not satisfy yet; None if they satisfy all of it."""
    return join_parts([part for part in list_required_parts(node) if not evaluate_node(part, facts, matching).value])


@frozen_dataclass
class AnyWord:
    """A node for alternative words, of which one must occur. All are tested together, so that a text is split only once."""

    words: frozenset[str]  # Folded if case is ignored


def join_alternatives(node: Node | None, matching: Matching) -> Any:
    """Replace the plain words of each `Or` that has many of them by one AnyWord."""
    match node:
        case And(parts):
            return And(tuple(join_alternatives(part, matching) for part in parts))
        case Not(part):
            return Not(join_alternatives(part, matching))
        case Or(parts):
            rest: list[Any] = [join_alternatives(part, matching) for part in parts if not _is_plain_word(part)]
            words = [part.text for part in parts if isinstance(part, Word | Identifier) and _is_plain_word(part)]
            if len(words) < MANY_ALTERNATIVES:
                return Or(tuple(join_alternatives(part, matching) for part in parts))
            joined: Any = AnyWord(frozenset(words if matching.case == "yes" else map(fold, words)))
            return Or((joined, *rest))
    return node


def _is_plain_word(node: Node) -> bool:
    """True for a word or identifier of letters, digits and underscores only, so that it cannot span a dotted name."""
    return isinstance(node, Word | Identifier) and not getattr(node, "prefix", "") and is_one_word(node.text)


def has_many_alternatives(node: Node) -> bool:
    """True if a required OR has so many parts that searching a document's whole text first is faster than unit by unit."""
    return any(isinstance(part, Or) and len(part.parts) >= MANY_ALTERNATIVES for part in list_required_parts(node))


def drop_impossible_choices(node: Node, path: str, text: str, matching: Matching) -> Node | None:
    """Drop alternatives that a document's path and text cannot satisfy; None if no part of the document can match."""
    parts = [
        Or(tuple(choice for choice in part.parts if _may_hold(choice, path, text, matching)))
        if isinstance(part, Or)
        else part
        for part in list_required_parts(node)
    ]
    return None if any(isinstance(part, Or) and not part.parts for part in parts) else And(tuple(parts))


def _may_hold(node: Node, path: str, text: str, matching: Matching) -> bool:
    match node:
        case Phrase(wanted):
            return occurs(text, wanted, matching.ignores_case(wanted), whole_word=False)
        case Word(wanted) | Identifier(wanted) if wanted.replace("_", "").isalnum():  # so it cannot span a dotted name
            ignore = matching.case != "yes"
            return any(occurs(known, wanted, ignore, whole_word=False) for known in (path, text))
    return True


def _decide(node: Node | AnyWord, facts: Facts, matching: Matching) -> Verdict:
    """Evaluate below the top level, where words are conditions too."""
    value: bool | None = None
    match node:
        case And(parts):
            return _combine_verdicts([_decide(part, facts, matching) for part in parts])
        case Or(parts):
            value = False
            for part in parts:
                match _decide(part, facts, matching).value:
                    case True:
                        return TRUE
                    case None:
                        value = None
        case Not(part):
            value = _decide(part, facts, matching).value
            value = None if value is None else not value
        case Word(word) | Identifier(word):
            value = _is_mentioned(word, getattr(node, "prefix", ""), facts, matching)
        case Filter(name, values):
            value = FIELD_TESTS[name](facts, values, matching)
        case AnyWord(words):
            texts = (find_words(text, matching.case != "yes") for text in _list_known_texts(facts))
            value = any(not words.isdisjoint(text) for text in texts) or (None if facts.text is None else False)
        case Phrase(phrase) if facts.text is not None:
            value = contains_phrase(facts.text, phrase, matching)
        case Pattern(source) if facts.text is not None:
            value = bool(find_pattern(facts.text, source, matching, limit=1))
    return UNKNOWN if value is None else TRUE if value else Verdict(False, node)  # type: ignore[arg-type]


def _combine_verdicts(verdicts: list[Verdict]) -> Verdict:
    failed = next((v for v in verdicts if v.value is False), None)
    return failed or (UNKNOWN if UNKNOWN in verdicts else TRUE)


def _list_known_texts(facts: Facts) -> list[str]:
    """List the known texts in which a word may occur, shortest first."""
    names = [facts.name, facts.qualified_name] if facts.kind is not None else []
    return [facts.path, *names, *([facts.text] if facts.text is not None else [])]


def _is_mentioned(word: str, beginning: str, facts: Facts, matching: Matching) -> bool | None:
    """True if path, name or text has the word, or if `beginning` is set, a word that starts with it; None if unknown.
    Case counts only with `case:yes`."""
    ignore, texts = matching.case != "yes", _list_known_texts(facts)
    if any(
        has_word_starting(t, beginning, ignore) if beginning else occurs(t, word, ignore, whole_word=True)
        for t in texts
    ):
        return True
    return False if facts.text is not None else None


def demands_text(node: Node | None) -> bool:
    """True if a query has a condition on text: a phrase, a pattern, `content:`, or a word that does not only rank."""
    conditions = (part for part in list_required_parts(node) if not isinstance(part, Word | Identifier))
    leaves = (leaf for part in conditions for leaf in find_positive_leaves(part))
    return any(is_exact(leaf) or isinstance(leaf, Word | Identifier | AnyWord) for leaf in leaves)


def plan_literals(node: Node | None) -> Plan:
    """Plan which substrings every matching document contains, from phrases, `content:`, patterns and required words.

    A required word may be in the path instead: see `find_demanded_words`.
    """
    match node:
        case And(parts):
            return require_all(plan_literals(part) for part in parts if not isinstance(part, Word | Identifier))
        case Word() | Identifier():
            return ANY
    return _plan_node(node)


def _plan_node(node: Node | None) -> Plan:
    match node:
        case Word(text) | Identifier(text):
            word = node.prefix or text if isinstance(node, Word) else text
            return require_text(word) if is_one_word(word) else ANY
        case Phrase(text):
            return require_text(text)
        case Pattern(source):
            return require_literals(source)
        case Filter("content", values):
            return require_any(map(require_text, values))
        case And(parts):
            return require_all(map(_plan_node, parts))
        case Or(parts):
            return require_any(map(_plan_node, parts))
    return ANY


def find_demanded_words(node: Node | None) -> frozenset[str]:
    """Find the words and prefixes that the tree requires as conditions."""
    match node:
        case And(parts):
            return frozenset().union(*(find_demanded_words(p) for p in parts if not isinstance(p, Word | Identifier)))
        case Or():
            of_words = (leaf for leaf in find_positive_leaves(node) if isinstance(leaf, Word | Identifier))
            return frozenset(leaf.prefix or leaf.text if isinstance(leaf, Word) else leaf.text for leaf in of_words)
    return frozenset()


LONGEST_REACH = 4096
"""Most bytes of a line that count as next to a unit, so that an endless line does not belong to each of its pieces.
Even, so that no UTF-16 character is cut."""
Undecided = tuple[UnitId, Facts, Span]


@frozen_dataclass
class Conditions:
    """The conditions of one query, with the data that decides them."""

    node: Node | None
    matching: Matching
    repositories: Mapping[int, str]
    metadata: Metadata = EMPTY  # A user's table, if some condition needs it
    changes: LastChanges | None = None  # None if no condition needs last changes

    def collect_facts(self, document: DocumentRow) -> Facts:
        repository = self.repositories[document.repository]
        metadata = self.metadata.find_values(repository, document.path)
        return Facts(document.path, repository, document.language, document.roles, metadata)

    def make_matching(self, document: DocumentRow) -> Matching:
        return replace(self.matching, last=self.changes.find_for_document(document)) if self.changes else self.matching

    def make_unit_matchings(self, document: DocumentRow, units: Sequence[UnitRow]) -> Mapping[UnitId, Matching]:
        """Make the Matching of each of these units of a document; empty if no condition needs last changes."""
        if self.changes is None:
            return {}
        last = self.changes.find_for_units(document, units)
        return {unit.id: replace(self.matching, last=last.get(unit.id)) for unit in units}

    def decide(self, document: DocumentRow, node: Node | None) -> Verdict:
        """Evaluate a part of the query on the facts known about a document."""
        return evaluate_node(node, self.collect_facts(document), self.make_matching(document))


@dataclass(slots=True)
class SatisfyingUnits:
    """The units that satisfy a query."""

    units: list[UnitId] = field(default_factory=list)
    reach: dict[UnitId, Span] = field(default_factory=dict)
    """Unit → a wider span, for units that match by text next to them: a comment above, a line of brackets."""
    files: int = 0  # Number of documents decided so far


def add_satisfying(
    documents: Sequence[DocumentRow],
    conditions: Conditions,
    parts: Mapping[DocumentId, Collection[int]],
    texts: Texts,
    satisfying: SatisfyingUnits,
) -> None:
    """Add the units of these documents that satisfy the query. Raises OutOfTime; the documents done by then are added.

    `parts` maps large documents to the parts that may hold matching units. Other documents are searched whole.
    """
    budget, matching = conditions.matching.budget, conditions.matching
    rows = {d.id: d for d in documents}
    kinds, rest = split_off_kinds(conditions.node)
    briefs = texts.store.units.list_briefs(list(rows), kinds, asks_for_todos(conditions.node))
    large = {number: texts.read(rows[number]) for number in texts.store.parts.list_documents() if number in rows}
    demanding_text = demands_text(conditions.node)
    before = -1
    matchings: tuple[int, Mapping[UnitId, Matching]] = (-1, {})

    def place(brief: Brief) -> tuple[DocumentId, int]:
        return brief[1], large[brief[1]].find_part(brief[5]) if brief[1] in large else 0

    for (document, part), units in groupby(briefs, key=place):
        satisfying.files += before not in (-1, document)
        before, row = document, rows[document]
        budget.check()
        if document in large and part not in parts.get(document, (part,)):
            continue
        facts = conditions.collect_facts(row)
        node = find_undecided(rest, facts, conditions.make_matching(row))
        if node is None:
            satisfying.units += [unit for unit, *_ in units]
            continue
        if has_many_alternatives(node):
            text = texts.read(row)
            node = drop_impossible_choices(node, row.path, text.decode_span(text.find_part_span(part)), matching)
            if node is None:
                continue
        if conditions.changes and matchings[0] != document:
            matchings = document, conditions.make_unit_matchings(row, texts.store.units.list_in_document(document))
        decider = _UnitDecider(node, matching, matchings[1])
        undecided: list[Undecided] = []
        satisfied = len(satisfying.units)
        for unit, _, kind, name, container, start, end in units:
            unit_facts = facts.narrow_to_unit(kind, name, f"{container}.{name}" if container else name)
            value = decider.decide(unit, unit_facts)
            if value is None:
                undecided.append((unit, unit_facts, Span(start, end)))
            elif value:
                satisfying.units.append(unit)
        if undecided:
            is_first = demanding_text and len(satisfying.units) == satisfied
            _add_by_text(satisfying, decider, undecided, texts.read(row), part if is_first else None)
            if document not in large:
                texts.forget(row)
    satisfying.files = len(documents)  # some have no units


def _add_by_text(
    satisfying: SatisfyingUnits,
    decider: _UnitDecider,
    undecided: Sequence[Undecided],
    text: DocumentText,
    part: int | None,
) -> None:
    """Add the units whose text satisfies the query, else the outermost that match with the text next to them in `part`."""
    before = len(satisfying.units)
    satisfying.units += decider.decide_texts(undecided, text)
    if len(satisfying.units) == before and part is not None:
        around = _extend_spans([span for _, _, span in undecided], text, text.find_part_span(part))
        near = [(unit, facts, around[span]) for unit, facts, span in undecided if span in around]
        matching = set(decider.decide_texts(near, text))
        reach = {unit: span for unit, _, span in near if unit in matching}
        satisfying.reach |= reach
        satisfying.units += reach


class _UnitDecider(NamedTuple):
    """Decides which units of a document satisfy a condition."""

    node: Node
    matching: Matching
    matchings: Mapping[UnitId, Matching]  # For units with a last change of their own

    def decide(self, unit: UnitId, facts: Facts) -> bool | None:
        return evaluate_node(self.node, facts, self.matchings.get(unit, self.matching)).value

    def decide_texts(self, undecided: Iterable[Undecided], whole: DocumentText) -> Iterator[UnitId]:
        for unit, facts, span in undecided:
            self.matching.budget.check()
            if self.decide(unit, facts._replace(text=whole.read_span(span))):
                yield unit


def _extend_spans(spans: Sequence[Span], whole: DocumentText, part: Span) -> dict[Span, Span]:
    """Map each outermost span to a span that also covers the lines between it and the span before.

    Units leave out comments above a definition, words like `export` and lines of brackets. Text there belongs to the unit below.
    """
    reached: dict[Span, Span] = {}
    start = end = part.start
    for span in sorted(spans, key=lambda s: (s.start, -s.end)):
        if span.start >= end:
            end = span.end
            first, last = max(start - LONGEST_REACH, part.start), min(end + LONGEST_REACH, part.end)
            reached[span] = Span(max(whole.find_line_start(start), first), min(whole.find_line_end(end), last))
            start = end
    if reached:
        last_one = next(reversed(reached))
        reached[last_one] = Span(reached[last_one].start, part.end)
    return reached
