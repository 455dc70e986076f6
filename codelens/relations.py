"""The nouns of the symbol graph: kinds of edges, how sure one is, and what its ends are.

An edge runs from where the text stands to what it names: a caller calls, a subclass extends, a function that carries a
decorator decorates. The numbers are stored; a kind or tier keeps its own for ever.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, NewType

from codelens.nouns import dataclass

Node = NewType("Node", int)
"""A unit by its id, a document by minus its id, an external by EXTERNAL and its id."""
EXTERNAL = 1 << 40

KINDS: Mapping[str, int] = {
    "calls": 1,
    "imports": 2,
    "extends": 3,
    "implements": 4,
    "inherits": 5,
    "overrides": 6,
    "references": 7,
    "type_hint_of": 8,
    "accesses_field": 9,
    "decorates": 10,
    "throws": 11,
    "tests": 12,
    "reads_env": 13,
    "executes_process": 14,
    "handles_route": 15,
    "documents": 16,
    "consumes_endpoint": 17,
    "implements_rpc": 18,
    "consumes_rpc": 19,
    "depends_on": 20,
    "deployed_by": 21,
    "gated_by_flag": 22,
    "owned_by": 23,
    "authored_by": 24,
    "member_of": 25,
}
"""Stored kinds → their numbers. A call from a test to what is no test is `tests`. `member_of` is stored only where a
definition stands outside of the type that it belongs to (a Go method); else it follows from the units."""
IMPLIED_KINDS = ("contains", "member_of", "tested_by", "co_tested_with", "similar_to")
"""Kinds that follow from units and stored edges: they are told when edges are read, not stored."""
NAME_OF_KIND: Mapping[int, str] = {number: name for name, number in KINDS.items()}


class Tier(NamedTuple):
    """How an edge's target was found."""

    number: int
    provenance: str
    confidence: float
    """0 to 1. The scale is knowing's: .9 by a language server, .7 by syntax, less by guess; steps within it are chosen."""


TIERS: Mapping[str, Tier] = {
    tier.provenance: tier
    for tier in (
        Tier(1, "precise", 0.9),
        Tier(2, "scope", 0.85),
        Tier(3, "file", 0.8),
        Tier(4, "import", 0.8),
        Tier(5, "receiver", 0.75),
        Tier(6, "package", 0.75),
        Tier(7, "literal", 0.7),
        Tier(8, "implied", 0.7),
        Tier(9, "unique", 0.5),
        Tier(10, "ambiguous", 0.2),
    )
}
"""Provenance → tier: an index of a language server (SCIP, LSIF); the enclosing function or type; the same file; an import;
the type of the receiver; the same package, namespace or include; what a literal says; other edges; the only definition of
that name in the repository; one of a few of that name."""
TIER_OF_NUMBER: Mapping[int, Tier] = {tier.number: tier for tier in TIERS.values()}
LINK_COUNTS = ("resolved", "external", "local", "guessed", "unresolved", "out_of_fuel")
"""What becomes of a reference: it leads to a definition of the repository, to something outside of it, or to a variable or
module; it is guessed by its name alone; nothing is found. Those for which fuel ran out are among the guessed and unresolved."""
RESOLVED = 0.5
"""Confidence from which an edge counts as resolved; below it is one of several guesses."""


@dataclass(frozen=True, slots=True)
class Edge:
    """One directed, kinded relation, with the line that it stems from."""

    source: Node
    kind: str
    target: Node
    line: int
    """Of the source's document, from 1; 0 where the edge follows from others."""
    provenance: str
    confidence: float


def document_node(document: int) -> Node:
    """The node of a document."""
    return Node(-document)


def external_node(external: int) -> Node:
    """The node of an external."""
    return Node(EXTERNAL + external)


def is_unit(node: int) -> bool:
    """Whether a node is a unit: neither a document nor an external."""
    return 0 < node < EXTERNAL
