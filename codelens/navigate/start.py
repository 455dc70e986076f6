"""What a person asks about → the nodes where the answer begins."""

from __future__ import annotations

from codelens.errors import TargetError
from codelens.model import CHUNK_KINDS, TYPE_KINDS
from codelens.navigate.neighbours import contains
from codelens.navigate.view import GraphView, nodes_of_document
from codelens.nouns import dataclass
from codelens.related import Named
from codelens.relations import Node, document_node, is_unit
from codelens.targets import Target, resolve_target


@dataclass(frozen=True, slots=True)
class Start:
    """A target: what it is, and its nodes. A file stands for all that lies in it."""

    named: Named
    nodes: tuple[Node, ...]
    whole_file: bool = False
    """Whether a file was named, not something in it."""


def resolve_start(text: str, view: GraphView) -> Start:
    """PATH, PATH:LINE, a symbol's name, or the name of an external that the graph has.

    Raises TargetError where that is nothing, or several things; NothingNamed where a name has no definition.
    """
    try:
        return _of_target(resolve_target(text, view.store), view)
    except TargetError:
        if (node := _external(text, view)) is not None:
            return Start(view.named(node), (node,))
        raise


def with_insides(nodes: tuple[Node, ...], view: GraphView, types_too: bool) -> list[Node]:
    """These, and what lies in them at any depth: local functions and, `types_too`, what lies in types."""
    found, ring = dict.fromkeys(nodes), list(nodes)
    while ring:
        ring = [n for n in ring if is_unit(n) and (types_too or view.named(n).kind not in TYPE_KINDS)]
        ring = [e.target for e in contains(view.store, ring) if e.target not in found]
        found.update(dict.fromkeys(ring))
    return sorted(found, key=view.order)


def _of_target(target: Target, view: GraphView) -> Start:
    if target.document is not None and target.line is None:
        nodes = nodes_of_document(target.document.id, view.store)
        return Start(view.named(nodes[0]), tuple(nodes), whole_file=True)
    if target.unit is None:
        if target.document is None:
            raise TargetError(
                f"{target.text} is not in the index", hint="`codelens status --skipped` lists what is not"
            )
        raise TargetError(f"no symbol covers line {target.line} of {target.path}")
    node = Node(target.unit.id)
    if target.unit.kind in CHUNK_KINDS:  # what stands outside of all symbols is the document's own
        return Start(view.named(node), (node, document_node(target.unit.document)))
    return Start(view.named(node), (node,))


def _external(text: str, view: GraphView) -> Node | None:
    for name in (text, f"module:{text}"):
        exact = [n for n, known in view.store.edges.externals_named(name).items() if known == name]
        if exact:
            return exact[0]
    return None
