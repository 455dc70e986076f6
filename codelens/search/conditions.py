"""Decides conditions in three values, so that a document can be thrown out before its text is read.

What is known comes in three levels: of a document, of a unit in it, of the unit's text. A leaf that needs more than is
known is None (Kleene's "unknown"); And and Or make of that what they can. False comes with the node to blame.
"""

from __future__ import annotations

from codelens.nouns import dataclass
from codelens.search.facts import (
    DocumentFacts,
    Matching,
    TextFacts,
    UnitFacts,
    begins,
    contains,
    occurs,
    pattern_ranges,
)
from codelens.search.fields import FIELD_TESTS
from codelens.search.literals import ANY, Plan, all_of, any_of, required_literals, required_text
from codelens.search.nodes import DOC, And, Filter, Identifier, Node, Not, Or, Pattern, Phrase, Word, kinds_meant

__all__ = [
    "DocumentFacts",
    "Matching",
    "TextFacts",
    "UnitFacts",
    "Verdict",
    "evaluate",
    "literal_requirements",
]


@dataclass(frozen=True, slots=True)
class Verdict:
    """`value` is None where more must be known. `blame` is the smallest node that decided a False: a leaf, a negation,
    or an Or of which every part failed."""

    value: bool | None
    blame: Node | None = None


TRUE, UNKNOWN = Verdict(True), Verdict(None)
MANY_ALTERNATIVES = 4
"""Deciding 4, 16 and 400 words of Flask over its 216 files took .17, .37 and 2.8 CPU s one by one, .10, .14 and 1.4 narrowed."""


def evaluate(node: Node | None, facts: DocumentFacts, matching: Matching) -> Verdict:
    """Whether what is known satisfies a query's tree. Raises OutOfTime when the budget of `matching` is spent."""
    match node:
        case None | Word() | Identifier():  # at the top these only rank
            return TRUE
        case And(parts):
            return _conjunction([evaluate(part, facts, matching) for part in parts])
    return _decide(node, facts, matching)


def demanded_kinds(node: Node | None) -> tuple[frozenset[str] | None, Node | None]:
    """(kinds that every match has, what else must be asked of these); None where any kind may match."""
    parts = node.parts if isinstance(node, And) else (node,) if node else ()
    asked = [part for part in parts if isinstance(part, Filter) and part.field == "kind"]
    kinds = [kinds_meant(part.values) for part in asked]
    rest = tuple(part for part in parts if part not in asked or DOC in part.values)
    return (frozenset.intersection(*kinds) if kinds else None), And(rest)


def left_open(node: Node | None, facts: DocumentFacts, matching: Matching) -> Node | None:
    """What is known leaves this much of a query to be decided; a part that it satisfies need not be asked again."""
    parts = node.parts if isinstance(node, And) else (node,) if node else ()
    parts = tuple(part for part in parts if not evaluate(part, facts, matching).value)
    return And(parts) if len(parts) > 1 else parts[0] if parts else None


def has_many_alternatives(node: Node) -> bool:
    """Whether it pays to look through a document's whole text before its units are asked one by one."""
    parts = node.parts if isinstance(node, And) else (node,)
    return any(isinstance(part, Or) and len(part.parts) >= MANY_ALTERNATIVES for part in parts)


def narrowed(node: Node, path: str, text: str, matching: Matching) -> Node:
    """The same for the units of one document, without the alternatives that nothing in its path and text satisfies."""
    match node:
        case And(parts):
            return And(tuple(narrowed(part, path, text, matching) for part in parts))
        case Or(parts):
            return Or(tuple(part for part in parts if _may_hold(part, path, text, matching)))
    return node


def _may_hold(node: Node, path: str, text: str, matching: Matching) -> bool:
    match node:
        case Phrase(wanted):
            return occurs(text, wanted, matching.ignores_case(wanted), whole_word=False)
        case Word(wanted) | Identifier(wanted) if wanted.replace("_", "").isalnum():  # so it cannot span a dotted name
            ignore = matching.case != "yes"
            return any(occurs(known, wanted, ignore, whole_word=False) for known in (path, text))
    return True


def _decide(node: Node, facts: DocumentFacts, matching: Matching) -> Verdict:
    """The same where everything is a condition, words too."""
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


def _leaf(leaf: Node, facts: DocumentFacts, matching: Matching) -> bool | None:
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
    return True


def _mentions(word: str, facts: DocumentFacts, matching: Matching, goes_on: bool = False) -> bool | None:
    """Whether a word occurs as a whole in the path, name or text, or begins one there that `goes_on`; case only counts where
    `case:yes` says so."""
    ignore = matching.case != "yes"
    known = [facts.path]
    if isinstance(facts, UnitFacts):
        known += [facts.name, facts.qualified_name]
    if isinstance(facts, TextFacts):
        known.append(facts.text)
    if any(begins(text, word, ignore) if goes_on else occurs(text, word, ignore, whole_word=True) for text in known):
        return True
    return False if isinstance(facts, TextFacts) else None


def literal_requirements(node: Node | None) -> Plan:
    """What every text that satisfies the tree must contain, from phrases, `content:` and patterns."""
    match node:
        case Phrase(text):
            return required_text(text)
        case Pattern(source):
            return required_literals(source)
        case Filter("content", values):
            return any_of(map(required_text, values))
        case And(parts):
            return all_of(map(literal_requirements, parts))
        case Or(parts):
            return any_of(map(literal_requirements, parts))
    return ANY
