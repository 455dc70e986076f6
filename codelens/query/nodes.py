"""The syntax tree of a query: leaves, operators, and the parsed query with its notices.

Leaves hold the meaning, not the spelling: quotes and escapes are removed, aliases of values are resolved. Words and
identifiers at the top level only rank. Everything else, and everything below OR and NOT, is a condition.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import groupby

from codelens.model.code import CHUNK_KINDS, SYMBOL_KINDS, TODO
from codelens.model.fast_dataclass import frozen_dataclass, replace
from codelens.model.request import OPTIONS, read_words
from codelens.model.search import Notice
from codelens.text.terms import BEGINNING, find_prefix

ROLES = ("test", "vendored")  # Values of `is:`
PUNCTUATION = ".,;:!?"  # Characters that are not part of a word they follow
CASES = read_words(OPTIONS["case"])
_KIND_ALIASES = {"cls": "class", "var": "variable", "const": "constant"}
_KIND_ALIASES |= dict.fromkeys(("func", "fn", "def"), "function")
DOC = "doc"
KIND_GROUPS: Mapping[str, tuple[str, ...]] = {
    # value of `kind:` and --kind → kinds of units
    DOC: ("section", "text"),  # only of prose: the `text` of configuration is excluded
    "code": (*SYMBOL_KINDS, "toplevel"),
    "task": ("task", TODO),  # a TODO comment is a task too
}
KINDS: Mapping[str, str] = {kind: kind for kind in (*SYMBOL_KINDS, *CHUNK_KINDS, *KIND_GROUPS)} | _KIND_ALIASES
"""Value of `kind:` → the kind or group of kinds that it selects."""


def expand_kinds(values: Iterable[str]) -> frozenset[str]:
    """Expand values of `kind:` to the kinds of units that they select. For `doc` the document must also be prose."""
    return frozenset(kind for value in values for kind in KIND_GROUPS.get(value, (value,)))


@frozen_dataclass
class Word:
    """A word between spaces. `start` is its offset in the query, in characters from 0."""

    text: str
    start: int = 0

    @property
    def prefix(self) -> str:
        """The part before a star at the end of the word; empty for words without a star."""
        return find_prefix(self.text.rstrip(PUNCTUATION))


@frozen_dataclass
class Phrase:
    """Text that a unit's text must contain, including its spaces."""

    text: str


@frozen_dataclass
class Identifier:
    """A name in back-ticks. It sets no condition, but ranks above all other terms."""

    text: str


@frozen_dataclass
class Pattern:
    """A regular expression that must match somewhere in a unit's text."""

    source: str


@frozen_dataclass
class Filter:
    """A field and its values, of which at least one must match. Values of lang, kind, is and meta are canonical."""

    field: str
    values: tuple[str, ...]


@frozen_dataclass
class And:
    """Every part must hold, except words and identifiers at the top level, which rank."""

    parts: tuple[Node, ...]


@frozen_dataclass
class Or:
    """At least one part must hold."""

    parts: tuple[Node, ...]


@frozen_dataclass
class Not:
    """The part must not hold. Words in it do not rank."""

    part: Node


Leaf = Word | Phrase | Identifier | Pattern | Filter
Node = Leaf | And | Or | Not


@frozen_dataclass
class Query:
    """A parsed query. `case` is auto, yes or no, from `case:` in the text if given; `node` is None for an empty query."""

    text: str
    node: Node | None
    notices: tuple[Notice, ...] = ()
    case: str = "auto"

    @property
    def words(self) -> tuple[str, ...]:
        """The words that are not negated, in order."""
        return tuple(leaf.text for leaf in find_positive_leaves(self.node) if isinstance(leaf, Word))

    @property
    def identifiers(self) -> tuple[str, ...]:
        """The names in back-ticks that are not negated, in order."""
        return tuple(leaf.text for leaf in find_positive_leaves(self.node) if isinstance(leaf, Identifier))

    @property
    def phrases(self) -> tuple[str, ...]:
        """The quoted phrases that are not negated. Values of `content:` are not included: they are only conditions."""
        return tuple(leaf.text for leaf in find_positive_leaves(self.node) if isinstance(leaf, Phrase))

    @property
    def ranking_texts(self) -> tuple[Word | Phrase, ...]:
        """The texts that rank, in order. Adjacent words form one text, so that pairs of words count."""
        return tuple(_find_ranking_texts(self.node, True))

    @property
    def loose_words(self) -> tuple[str, ...]:
        """The words and identifiers that only rank, in order."""
        return tuple(part.text for part in list_required_parts(self.node) if isinstance(part, Word | Identifier))

    @property
    def asks_for_lines(self) -> bool:
        """True if the query's only text is a phrase, a pattern or `content:`, or an OR of these."""
        texts = [part for part in list_required_parts(self.node) if is_about_text(part) and not isinstance(part, Not)]
        return len(texts) == 1 and all(map(is_exact, find_positive_leaves(texts[0])))

    @property
    def is_question(self) -> bool:
        """True if the query has several plain words, with or without conditions. Its results are always ranked."""
        return isinstance(self.node, And) and sum(isinstance(part, Word) for part in self.node.parts) > 1

    @property
    def plain(self) -> bool:
        """True if the query consists of words and identifiers, without conditions."""
        return all(isinstance(part, Word | Identifier) for part in list_required_parts(self.node))


def list_required_parts(node: Node | None) -> tuple[Node, ...]:
    """List the parts of a query that AND joins at its top. Words and identifiers among them only rank."""
    return node.parts if isinstance(node, And) else (node,) if node is not None else ()


def join_parts(parts: Sequence[Node]) -> Node | None:
    """Make a tree that requires all of these parts; None without parts."""
    return And(tuple(parts)) if len(parts) > 1 else next(iter(parts), None)


def is_about_text(node: Node) -> bool:
    """True if a condition has a leaf about text, not only about files and units."""
    match node:
        case And(parts) | Or(parts):
            return any(map(is_about_text, parts))
        case Not(part):
            return is_about_text(part)
        case Filter(field):
            return field == "content"
    return True


def is_exact(leaf: Node) -> bool:
    """True if a leaf must occur as it is written: a phrase, a pattern, or `content:`."""
    return isinstance(leaf, Phrase | Pattern) or (isinstance(leaf, Filter) and leaf.field == "content")


def find_positive_leaves(node: Node | None, positive: bool = True) -> Iterator[Leaf]:
    """Find the leaves under an even number of negations, in the order of the query."""
    match node:
        case None:
            return
        case Not(part):
            yield from find_positive_leaves(part, not positive)
        case And(parts) | Or(parts):
            for part in parts:
                yield from find_positive_leaves(part, positive)
        case leaf:
            if positive:
                yield leaf


MARKS = frozenset({"TODO", "FIXME", "XXX", "HACK"})
"""Words that begin a TODO comment. A query that is one of these words asks for such comments."""


def find_todo_mark(node: Node | None) -> str:
    """Find the mark, such as FIXME, if it is the whole query; empty for any other query."""
    return node.text if isinstance(node, Word) and node.text in MARKS else ""


def asks_for_todos(node: Node | None) -> bool:
    """True if a query asks for TODO comments, which searches otherwise leave out."""
    leaves = find_positive_leaves(node)
    return bool(find_todo_mark(node)) or any(
        isinstance(f, Filter) and f.field == "kind" and TODO in expand_kinds(f.values) for f in leaves
    )


def list_leaves(node: Node | None) -> Iterator[Leaf]:
    """List all leaves, negated ones last."""
    yield from find_positive_leaves(node)
    yield from find_positive_leaves(node, positive=False)


def _find_ranking_texts(node: Node | None, positive: bool) -> Iterator[Word | Phrase]:
    match node:
        case Not(part):
            yield from _find_ranking_texts(part, not positive)
        case Or(parts):
            for part in parts:
                yield from _find_ranking_texts(part, positive)
        case And(parts):
            for are_words, run in groupby(parts, key=lambda part: isinstance(part, Word)):
                if are_words and positive:  # adjacent words are joined by a space
                    words = [part for part in run if isinstance(part, Word)]
                    yield Word(" ".join(word.text for word in words), words[0].start)
                for part in run if not are_words else ():
                    yield from _find_ranking_texts(part, positive)
        case Word() | Phrase() if positive:
            yield node


def split_phrases(query: Query) -> Query | None:
    """Replace the phrases of a query by their words; None if the query has no phrase or no other words."""
    parts = query.node.parts if isinstance(query.node, And) else ()
    if not any(isinstance(part, Phrase) for part in parts) or not query.loose_words:
        return None
    loose: list[Node] = []
    for part in parts:
        loose += [Word(word) for word in part.text.split()] if isinstance(part, Phrase) else [part]
    return replace(query, node=And(tuple(loose)))


def remove_node(node: Node | None, left_out: Node) -> Node | None:
    """Copy the tree without one of its nodes; None if nothing remains."""
    if node is left_out or node is None:
        return None
    if isinstance(node, And | Or):
        rest = tuple(part for part in (remove_node(p, left_out) for p in node.parts) if part is not None)
        return type(node)(rest) if len(rest) > 1 else next(iter(rest), None)
    return node


def add_stars(node: Node | None, excluded: Collection[str]) -> Node | None:
    """Copy the tree with a star after each word that can have one, except the `excluded` words (lower case)."""
    match node:
        case Word(text, start):
            word = text.rstrip(PUNCTUATION)
            marked = f"{word}{BEGINNING}"
            fits = find_prefix(marked) and word.casefold() not in excluded
            return Word(marked + text.removeprefix(word), start) if fits else node
        case And(parts):
            return And(tuple(add_stars(part, excluded) or part for part in parts))
        case Or(parts):
            return Or(tuple(add_stars(part, excluded) or part for part in parts))
        case Not(part):
            return Not(add_stars(part, excluded) or part)
    return node


NEGATED_WORD = r"[^\W\d]\w|[^\W\d\x00-\x7f]|_"
"""Pattern of the start of a word that a dash can negate. A dash with one ASCII letter is a command-line flag."""


def format_node(node: Node) -> str:
    """Write a node as a query in one line: 'lang:go', '-is:test', '(a OR "b c") kind:class'."""
    match node:
        case Word(text):
            written = text
        case Phrase(text):
            written = _quote(text)
        case Identifier(text):
            written = f"`{text}`"
        case Pattern(source):
            written = f"/{source}/"
        case Filter(field, values):
            quoted = (_quote(value) if re.search(r'[\s,()"]', value) else value for value in values)
            written = f"{field}:{','.join(quoted)}"
        case Not(part):
            dash = not isinstance(part, Not) and (not isinstance(part, Word) or re.match(NEGATED_WORD, part.text))
            written = ("-" if dash else "NOT ") + _describe_group(part)
        case And(parts):
            written = " ".join(format_node(p) if not isinstance(p, Or) else _describe_group(p) for p in parts)
        case Or(parts):
            written = " OR ".join(map(format_node, parts))
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in written)


def _describe_group(node: Node) -> str:
    return f"({format_node(node)})" if isinstance(node, And | Or) else format_node(node)


def _quote(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
