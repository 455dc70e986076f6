"""Decides conditions in three values, so that a document can be thrown out before its text is read.

What is known comes in three levels: of a document, of a unit in it, of the unit's text. A leaf that needs more than is
known is None (Kleene's "unknown"); And and Or make of that what they can. False comes with the node to blame.
"""

from __future__ import annotations

from typing import Any

from codelens.nouns import dataclass
from codelens.search.facts import (
    DocumentFacts,
    Matching,
    TextFacts,
    UnitFacts,
    begins,
    contains,
    is_one_word,
    occurs,
    pattern_ranges,
    words_of,
)
from codelens.search.fields import FIELD_TESTS
from codelens.search.literals import ANY, Plan, all_of, any_of, fold, required_literals, required_text
from codelens.search.nodes import (
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
    kinds_meant,
    positive_leaves,
)

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


@dataclass(frozen=True, slots=True)
class AnyWord:
    """Alternatives that are words, decided together: a text is taken apart once, however many they are."""

    words: frozenset[str]
    """Folded, unless case counts."""


def with_words_together(node: Node | None, matching: Matching) -> Any:
    """A tree that decides the same, with an AnyWord in each `Or` for its plain words."""
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
    """Whether it is one word of letters, digits and underscores, so that it cannot span a dotted name."""
    return not (isinstance(leaf, Word) and leaf.begun) and is_one_word(leaf.text)


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


def holds_nowhere(node: Node) -> bool:
    """Whether a narrowed tree has lost every alternative of something that must hold."""
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
    """The texts in which a word may occur, shortest first."""
    known = [facts.path]
    if isinstance(facts, UnitFacts):
        known += [facts.name, facts.qualified_name]
    if isinstance(facts, TextFacts):
        known.append(facts.text)
    return known


def _mentions(word: str, facts: DocumentFacts, matching: Matching, goes_on: bool = False) -> bool | None:
    """Whether a word occurs as a whole in the path, name or text, or begins one there that `goes_on`; case only counts where
    `case:yes` says so."""
    ignore = matching.case != "yes"
    known = _known(facts)
    if any(begins(text, word, ignore) if goes_on else occurs(text, word, ignore, whole_word=True) for text in known):
        return True
    return False if isinstance(facts, TextFacts) else None


def literal_requirements(node: Node | None) -> Plan:
    """What every document that satisfies the tree must contain, from phrases, `content:`, patterns and demanded words.

    A demanded word may be on the path instead: see `demanded_words`.
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
            said = node.begun or text if isinstance(node, Word) else text
            return required_text(said) if is_one_word(said) else ANY
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
    """The words, and beginnings of words, that the tree demands as a condition."""
    match node:
        case And(parts):
            return frozenset().union(*(demanded_words(p) for p in parts if not isinstance(p, Word | Identifier)))
        case Or():
            of_words = (leaf for leaf in positive_leaves(node) if isinstance(leaf, Word | Identifier))
            return frozenset(leaf.begun or leaf.text if isinstance(leaf, Word) else leaf.text for leaf in of_words)
    return frozenset()
