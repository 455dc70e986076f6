"""The symbol graph: nodes, kinds of edges and their confidence, and the answers to questions about it.

An edge runs from the code that names something to the thing named: from a caller to its callee, from a subclass to its base, from
a decorated function to its decorator. Indexes store the numbers of kinds and tiers, so these never change.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple, NewType

from codelens.model.code import Freshness, IndexInfo, Span
from codelens.model.fast_dataclass import frozen_dataclass
from codelens.model.request import SearchOptions
from codelens.model.search import Notice

Node = NewType("Node", int)  # A unit's id, minus a document's id, or EXTERNAL plus an external's id
EXTERNAL = 1 << 40

STORED_KINDS = (
    *("calls", "imports", "extends", "implements", "inherits", "overrides", "references", "type_hint_of"),
    *("accesses_field", "decorates", "throws", "tests", "reads_env", "executes_process", "handles_route"),
    *("documents", "consumes_endpoint", "implements_rpc", "consumes_rpc", "depends_on", "deployed_by"),
    *("gated_by_flag", "owned_by", "authored_by", "member_of"),
)  # In the order of their numbers, so new ones come last
KINDS: Mapping[str, int] = {kind: number for number, kind in enumerate(STORED_KINDS, start=1)}
"""Stored kinds → their numbers. `tests` is a call from test code to other code. `member_of` is stored only for members defined
outside of their type's text (Go methods); for others it follows from the units."""
IMPLIED_KINDS = ("contains", "member_of", "tested_by", "co_tested_with", "similar_to")
"""Kinds that are not stored but follow from units and stored edges."""
NAME_OF_KIND: Mapping[int, str] = {number: name for name, number in KINDS.items()}
EDGE_OF: Mapping[str, str] = {
    "call": "calls",
    "construct": "calls",
    "type": "type_hint_of",
    "extends": "extends",
    "implements": "implements",
    "decorate": "decorates",
    "throw": "throws",
    "field": "accesses_field",
    "use": "references",
}  # Kind of a reference to a definition → kind of its edge


class Tier(NamedTuple):
    """A way of finding an edge's target, with its confidence."""

    number: int
    provenance: str
    confidence: float
    """From 0 to 1, on the scale of knowing: .9 for a language server, .7 for syntax, less for a guess; steps between are chosen."""


TIERS: Mapping[str, Tier] = {
    tier.provenance: tier
    for tier in (
        *(Tier(1, "precise", 0.9), Tier(2, "scope", 0.85), Tier(3, "file", 0.8), Tier(4, "import", 0.8)),
        *(Tier(5, "receiver", 0.75), Tier(6, "package", 0.75), Tier(7, "literal", 0.7), Tier(8, "implied", 0.7)),
        *(Tier(9, "unique", 0.5), Tier(10, "ambiguous", 0.2)),
    )
}
"""Provenance → tier. In order, the target comes from: a language server's index (SCIP); the enclosing function or type; the same
file; an import; the receiver's type; the same package, namespace or include; the value of a literal; other edges; the
repository's only definition of that name; a guess among a few definitions of that name."""
TIER_OF_NUMBER: Mapping[int, Tier] = {tier.number: tier for tier in TIERS.values()}
LINK_COUNTS = ("resolved", "external", "local", "guessed", "unresolved", "out_of_fuel")
"""Outcomes of linking a reference: it leads to a definition in the repository, to something outside, or to a variable or
module; its target is guessed by name alone; no target is found. References that ran out of fuel also count as guessed
or unresolved."""
RESOLVED = 0.5  # Minimum confidence of an edge that counts as resolved


@frozen_dataclass
class Edge:
    """A directed relation of one kind, with the line of code that it comes from."""

    source: Node
    kind: str
    target: Node
    line: int  # Line in the source's document, from 1; 0 if the edge follows from others
    provenance: str
    confidence: float


def make_document_node(document: int) -> Node:
    """Make the node of a document from its id."""
    return Node(-document)


def make_external_node(external: int) -> Node:
    """Make the node of an external from its id."""
    return Node(EXTERNAL + external)


def is_unit(node: int) -> bool:
    """Test whether a node is a unit, not a document or an external."""
    return 0 < node < EXTERNAL


FILE, OUTSIDE = "file", "external"
"""Kinds of the nodes that are not units: a document, and something outside of the index."""
BY_NAME = "name"  # Provenance of a relation to a name whose definition is not in the index
BY_NAME_CONFIDENCE = 0.5  # The confidence of the tier `unique`
SURE, LIKELY, ONLY_BY_NAME = CERTAINTIES = ("resolved", "likely", "by name")
"""Certainty that a place means the target: scopes, imports or types lead to it; it is the only reachable definition; only the
name agrees."""
UNRESOLVED = "unresolved"  # Provenance of a relation to a name that linking could not follow; its confidence is 0


@frozen_dataclass
class NamedNode:
    """A node of the graph with its names: a unit, a file, or something outside of the index."""

    kind: str  # A unit's kind, `file` or `external`
    name: str
    qualified_name: str  # The path of a file; the name of an external with its scheme ('module:numpy', 'env:HOME')
    repository: str = ""
    root: str = ""
    path: str = ""  # Empty for an external; `os_path` is the same path in the operating system's form
    os_path: str = ""
    language: str = ""
    line: int = 0
    column: int = 0  # Position of its name, from 1; 0 for an external
    start_byte: int = 0
    end_byte: int = 0
    signature: str = ""
    test: bool = False  # True if its file holds tests

    def content_order(self) -> tuple[bool, str, str, int, str, str]:
        """Return a sort key: by repository and position, externals last."""
        return (self.kind == OUTSIDE, self.repository, self.path, self.start_byte, self.kind, self.qualified_name)


@frozen_dataclass
class SourceLine:
    """A line of an indexed file, with its indexed text."""

    repository: str
    root: str
    path: str
    os_path: str
    line: int  # From 1; 0 if there is no line, as for an external
    column: int  # From 1, in UTF-8 bytes: the start of the target's name, else of the line's text
    column_utf16: int
    text: str
    freshness: Freshness


NO_SPAN = Span(0, 0)


@frozen_dataclass
class Relation:
    """One edge of an answer, with the names and positions of its ends."""

    kind: str
    source: NamedNode
    target: NamedNode
    outgoing: bool  # True if the answer lists the target, false if it lists the source
    depth: int  # Hops from the target of the question, from 1
    provenance: str
    confidence: float
    place: SourceLine
    via: str = ""
    """Why the edge leads to another method of that name: one overrides the other, so a call of one may run the other."""
    again: bool = False  # True if the subtree of this node is listed elsewhere in the tree
    role: str = ""  # The role of the name at this place, by `lang.tokens`; empty if the place was not read
    span: Span = NO_SPAN  # The bytes of the name in the file; empty if the place was not read
    certainty: str = ""  # One of CERTAINTIES in an answer about references, else empty

    @property
    def listed(self) -> NamedNode:
        """The end of the edge that the answer lists: its target or its source."""
        return self.target if self.outgoing else self.source

    @property
    def test(self) -> bool:
        """True if the listed end is a test."""
        return self.listed.test or (self.kind == "tests" and not self.outgoing)


@frozen_dataclass
class RelationAnswer:
    """The answer to a question about the graph: its targets, and relations in reading order."""

    question: str  # refs, callers, callees, path, impact, hierarchy, test-scope
    targets: tuple[NamedNode, ...]
    relations: tuple[Relation, ...]  # For a tree, in preorder: a node, then its children one level deeper
    total: int  # Relations before the limit
    unresolved: int  # Uses of a name that linking could not follow, and that may belong to the answer
    notices: tuple[Notice, ...]
    index: IndexInfo


@frozen_dataclass
class CentralSymbol:
    """A symbol on the repository map."""

    named: NamedNode
    share: float  # Its share of the whole graph's centrality, 0 to 1
    used_by: int  # Number of other files that refer to it
    depth: int  # Number of symbols on the map that contain it: its indentation

    @property
    def text(self) -> str:
        """The symbol's line of text on the map: line number and signature."""
        signature = " ".join(self.named.signature.split()) or f"{self.named.kind} {self.named.name}"
        return f"{self.named.line:>5}  {'  ' * self.depth}{signature[:LONGEST_SIGNATURE]}"


LONGEST_SIGNATURE = 120  # Maximum length of a signature on the map, in characters


@frozen_dataclass
class RepositoryMap:
    """The most central symbols that fit a budget. Files are ordered by their most central symbol, symbols by position."""

    files: tuple[tuple[CentralSymbol, ...], ...]
    uses: tuple[tuple[int, int], ...]  # (from, to) pairs: indexes of symbols on the map, in order, from 0
    total: int  # Number of symbols that were candidates
    budget: int
    tokens: int  # Estimated tokens of the map as text: characters ÷ 4, rounded up
    notices: tuple[Notice, ...]
    index: IndexInfo


@frozen_dataclass
class RelationOptions:
    """Options of a question about the graph."""

    kinds: tuple[str, ...] = ()  # Kinds of edges; empty for the question's defaults
    min_confidence: float | None = None  # None for the question's default
    depth: int | None = None
    limit: int | None = None
    members: bool = False  # True to list overridden members in a hierarchy
    sure: bool = False  # True to list only places that are resolved
    text: bool = False  # True to list the name in comments, strings and documents too
    unresolved: bool = False  # True to list the uses that linking could not follow instead
    where: SearchOptions | None = None  # Restricts the answer to files that these options select; None for all files


@frozen_dataclass
class ReachingTest:
    """A test that reaches the changed or named code."""

    test: NamedNode  # A test function or class, or the whole file if its part is unknown
    depth: int  # Edges from that code to the test; 0 if the test itself was named
    through: tuple[str, ...]  # Qualified names on the way from that code to the test, without both ends


@frozen_dataclass
class ReachingTests:
    """The tests to run for a change, nearest first."""

    touched: tuple[NamedNode, ...]  # The changed or named code, in order of position
    tests: tuple[ReachingTest, ...]
    unresolved: int  # Calls that linking could not follow and that may reach more tests
    notices: tuple[Notice, ...]
    index: IndexInfo


class GraphLink(NamedTuple):
    """An exported edge between nodes, which are given by number."""

    source: int
    target: int
    kind: str
    line: int
    provenance: str
    confidence: float


@frozen_dataclass
class GraphStream:
    """A graph streamed from the index. Read `nodes` to the end before `links`."""

    nodes: Iterator[tuple[int, NamedNode]]
    links: Iterator[GraphLink]
