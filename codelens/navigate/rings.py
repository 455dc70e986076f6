"""Nodes → what lies behind them, hop by hop, and the lines of a tree that tells it.

`codelens.graph` breaks ties by numbers of nodes; here the order is that of the contents, since people see it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from codelens.navigate.view import GraphView
from codelens.nouns import dataclass
from codelens.related import Relation
from codelens.relations import Edge, Node


class Link(NamedTuple):
    """A way on from a node: the edge that says so, the node that it leads to, and what is to be said of it."""

    edge: Edge
    node: Node
    via: str = ""


Ring = Callable[[Sequence[Node]], Mapping[Node, Sequence[Link]]]
"""Nodes → the links of each, in the order in which to tell them; one question to the store for all of them."""


@dataclass(frozen=True, slots=True)
class Reached:
    """Everything within reach. `links` has the nodes that were asked for theirs."""

    starts: tuple[Node, ...]
    links: Mapping[Node, Sequence[Link]]
    first: Mapping[Node, tuple[Node, Link]]
    """Node → (the node before it, the link) by which it was found first, in the order of being found; starts have none."""
    depth: Mapping[Node, int]

    def way(self, node: Node) -> list[Link]:
        """The links from a start to this node."""
        links = []
        while node in self.first:
            node, link = self.first[node]
            links.append(link)
        return links[::-1]


def reach(
    view: GraphView, starts: Sequence[Node], ring_of: Ring, depth: int, until: Collection[Node] = frozenset()
) -> Reached:
    """All within `depth` hops, nearest first; no further than the ring in which one of `until` is found."""
    links: dict[Node, Sequence[Link]] = {}
    first: dict[Node, tuple[Node, Link]] = {}
    depths = dict.fromkeys(starts, 0)
    ring = sorted(depths, key=view.order)
    for hop in range(1, depth + 1):
        found = ring_of(ring)
        links.update({node: found.get(node, ()) for node in ring})
        new: dict[Node, None] = {}
        for node in ring:
            for link in links[node]:
                if link.node not in depths:
                    depths[link.node] = hop
                    first[link.node] = (node, link)
                    new[link.node] = None
        ring = sorted(new, key=view.order)
        if not ring or not new.keys().isdisjoint(until):
            break
    return Reached(tuple(starts), links, first, depths)


Aside = Callable[[Node, int], Iterable[Relation]]
"""(node, depth) → what is told of a node before what lies behind it, at that depth."""


def nothing(node: Node, depth: int) -> tuple[Relation, ...]:
    """The `Aside` of a tree that tells its links alone."""
    return ()


def tree_of(view: GraphView, reached: Reached, outgoing: bool, aside: Aside = nothing) -> list[Relation]:
    """The lines of a tree. What lies behind a node is told where it was reached first; elsewhere it is marked `again`."""
    return list(_lines(view, reached, outgoing, aside))


def _lines(view: GraphView, reached: Reached, outgoing: bool, aside: Aside) -> Iterator[Relation]:
    starts = frozenset(reached.starts)
    yield from (line for start in sorted(starts, key=view.order) for line in aside(start, 1))
    roots = dict.fromkeys(link for start in sorted(starts, key=view.order) for link in reached.links.get(start, ()))
    # Links of several starts that lead to one node stand together. A stack: the next line is the last entry.
    stack = [(1, starts, link) for link in sorted(roots, key=lambda link: _told_order(view, link))][::-1]
    begun = set(starts)
    while stack:
        depth, before, link = stack.pop()
        behind = reached.links.get(link.node, ())
        mine = link.node in reached.first and reached.first[link.node][0] in before
        again = bool(behind) and not mine and not (depth == 1 and link.node in starts)
        yield view.relation(link.edge, outgoing, depth, link.via, again)
        # Several lines may lead to one node: what lies behind it follows the last of them.
        last = not stack or stack[-1][0] != depth or stack[-1][2].node != link.node
        if mine and last and link.node not in begun:
            begun.add(link.node)
            yield from aside(link.node, depth + 1)
            stack += [(depth + 1, frozenset([link.node]), inner) for inner in reversed(behind)]


def _told_order(view: GraphView, link: Link) -> tuple[object, ...]:
    source = view.named(link.edge.source)
    return (*view.order(link.node), source.repository, source.path, link.edge.line)
