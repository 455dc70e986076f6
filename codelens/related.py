"""What the symbol graph answers to `refs`, `impact`, `map` and the other questions: nouns that a search does without."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from codelens.model import Freshness, IndexInfo, Notice, SearchOptions
from codelens.nouns import dataclass

FILE, OUTSIDE = "file", "external"
"""Kinds of nodes that are no unit: a document, and what is no part of what is indexed."""
BY_NAME = "name"
"""The provenance of a relation whose end is known by its name alone: no definition of it is in the index."""
BY_NAME_CONFIDENCE = 0.5
"""As sure as the only definition of a name. Chosen, as are the steps of `relations.TIERS`."""


@dataclass(frozen=True, slots=True)
class Named:
    """A node of the graph as people know it: a unit, a file, or something outside of what is indexed."""

    kind: str
    """A unit's kind, `file` or `external`."""
    name: str
    qualified_name: str
    """Of a file its path; of an external its name with its scheme ('module:numpy', 'env:HOME')."""
    repository: str = ""
    root: str = ""
    path: str = ""
    """Empty for an external; `os_path` is the same as the operating system knows it."""
    os_path: str = ""
    language: str = ""
    line: int = 0
    column: int = 0
    """Where its name stands, from 1; 0 for an external."""
    start_byte: int = 0
    end_byte: int = 0
    signature: str = ""
    test: bool = False
    """Its file holds tests."""

    def content_order(self) -> tuple[bool, str, str, int, str, str]:
        """By place; externals last, by name."""
        return (self.kind == OUTSIDE, self.repository, self.path, self.start_byte, self.kind, self.qualified_name)


@dataclass(frozen=True, slots=True)
class Place:
    """A line of an indexed file, with its text as it was indexed."""

    repository: str
    root: str
    path: str
    os_path: str
    line: int
    """From 1; 0 where there is no such line, as for an external."""
    column: int
    """From 1, in UTF-8 bytes: where the target's name stands in the line, else where the line's text begins."""
    column_utf16: int
    text: str
    freshness: Freshness


@dataclass(frozen=True, slots=True)
class Relation:
    """One edge as people see it."""

    kind: str
    source: Named
    target: Named
    outgoing: bool
    """Whether the answer tells about the target, because the source is known already."""
    depth: int
    """Hops from what was asked about, from 1."""
    provenance: str
    confidence: float
    place: Place
    via: str = ""
    """Says why an edge is told that names another method: one overrides the other, and a call of this may run that."""
    again: bool = False
    """What comes behind this node is told at another place of the tree."""

    @property
    def told(self) -> Named:
        """The end that the answer is about."""
        return self.target if self.outgoing else self.source

    @property
    def test(self) -> bool:
        """Whether it is a test that is told."""
        return self.told.test or (self.kind == "tests" and not self.outgoing)


@dataclass(frozen=True, slots=True)
class Related:
    """An answer: what was asked about, and relations in the order in which to read them."""

    question: str
    """refs, callers, callees, path, impact, hierarchy."""
    targets: tuple[Named, ...]
    relations: tuple[Relation, ...]
    """A tree is in the order of its lines: a node, then what comes behind it, one deeper."""
    total: int
    """Relations before the limit."""
    notices: tuple[Notice, ...]
    index: IndexInfo


@dataclass(frozen=True, slots=True)
class Central:
    """A symbol of the map."""

    named: Named
    share: float
    """Of the walk's mass over everything, 0 to 1."""
    used_by: int
    """Other files that point at it."""
    depth: int
    """How many symbols of the map hold it; the nearest stands above it."""

    @property
    def text(self) -> str:
        """Its line of the map: where it is, and its signature."""
        signature = " ".join(self.named.signature.split()) or f"{self.named.kind} {self.named.name}"
        return f"{self.named.line:>5}  {'  ' * self.depth}{signature[:LONGEST_SIGNATURE]}"


LONGEST_SIGNATURE = 120
"""Characters: a line of a map. Chosen."""


@dataclass(frozen=True, slots=True)
class RepositoryMap:
    """The most central symbols that fit a budget, by file: the file with the most central symbol first, then by place."""

    files: tuple[tuple[Central, ...], ...]
    uses: tuple[tuple[int, int], ...]
    """(from, to) among the symbols of the map, as places in their order from 0."""
    total: int
    """Symbols that could have been on it."""
    budget: int
    tokens: int
    """Characters ÷ 4 of the map as text with paths from the root, rounded up: an estimate of a model's tokens."""
    notices: tuple[Notice, ...]
    index: IndexInfo


@dataclass(frozen=True, slots=True)
class RelationOptions:
    """What a person asks of the graph beside the target."""

    kinds: tuple[str, ...] = ()
    """Empty: those of the question."""
    min_confidence: float | None = None
    """None: the question's own."""
    depth: int | None = None
    limit: int | None = None
    members: bool = False
    """Of a hierarchy: which members are overridden."""
    where: SearchOptions | None = None
    """Only what lies in files that these options let take part; None is everywhere."""


@dataclass(frozen=True, slots=True)
class Reaching:
    """A test that reaches what was asked about."""

    test: Named
    """A test function or a class of tests; the file where no part of it can be told."""
    depth: int
    """Edges between what was asked about and the test; 0 where it is itself what was asked about."""
    through: tuple[str, ...]
    """Qualified names on the way from what was asked about to the test, both left out."""


@dataclass(frozen=True, slots=True)
class ReachingTests:
    """The tests to run for a change, nearest first."""

    touched: tuple[Named, ...]
    """What was asked about, in order of place."""
    tests: tuple[Reaching, ...]
    notices: tuple[Notice, ...]
    index: IndexInfo


NAMING = 3
"""Members that name a community. Chosen."""


@dataclass(frozen=True, slots=True)
class Member:
    """A file or symbol of a community."""

    named: Named
    strength: float
    """The sum of the confidence of its links to other members."""


@dataclass(frozen=True, slots=True)
class Community:
    """Files or symbols that are linked more among each other than with the rest."""

    name: str
    """Of its most central members."""
    members: tuple[Member, ...]
    """The most central first."""
    inside: float
    """The sum of the confidence of links within it."""
    outside: float
    """Of links from it to others."""


@dataclass(frozen=True, slots=True)
class Communities:
    """The communities of a graph, the largest first."""

    of: str
    """files or symbols."""
    groups: tuple[Community, ...]
    alone: int
    """Nodes that nothing links to another."""
    modularity: float
    """Newman's: how much more lies inside than chance would give, below 1."""
    index: IndexInfo
    notices: tuple[Notice, ...]


class GraphLink(NamedTuple):
    """An edge between nodes that have numbers."""

    source: int
    target: int
    kind: str
    line: int
    provenance: str
    confidence: float


@dataclass(frozen=True, slots=True)
class GraphStream:
    """A graph as it is read from the index. Read `nodes` to their end before `links`."""

    nodes: Iterator[tuple[int, Named]]
    links: Iterator[GraphLink]
