"""Find the nodes that a user's target means, and make the answer of a question about it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from codelens.errors import TargetError
from codelens.graph.view import GraphView
from codelens.model.code import CHUNK_KINDS, TYPE_KINDS
from codelens.model.fast_dataclass import frozen_dataclass
from codelens.model.graph import NamedNode, Node, Relation, RelationAnswer, RelationOptions, make_document_node
from codelens.model.search import Notice
from codelens.store.documents import DocumentRow
from codelens.store.targets import SAME_NAME, UserTarget, resolve_target
from codelens.text.identifiers import fold_identifier


@frozen_dataclass
class ResolvedTarget:
    """A target and its nodes. A file includes all of its contents."""

    named: NamedNode
    nodes: tuple[Node, ...]
    whole_file: bool = False  # True if the target is a file, not something in it
    inherited_by: str = ""  # The type that the user named, if the target is a member that it inherits


class NameOnLine(NamedTuple):
    """A target of the form PATH:LINE:NAME. For other forms, there is no document, and `name` is the whole target."""

    name: str
    line: int = 0
    document: DocumentRow | None = None
    node: Node | None = None  # The node that the name means there; None if the graph does not show it


_NAME_ON_LINE = re.compile(r"(.+):(\d{1,9}):([^\s:/\\\d][^\s:/\\]*)")


def read_name_on_line(text: str, view: GraphView) -> NameOnLine:
    """Find what PATH:LINE:NAME means: a definition there, the target of the line's surest edge, or what the file imports."""
    parts = _NAME_ON_LINE.fullmatch(text)
    document = resolve_target(parts[1], view.store).document if parts else None
    if parts is None or document is None:
        return NameOnLine(text)
    line, name = int(parts[2]), parts[3]
    units = view.store.units.list_in_document(document.id)
    defined = [Node(unit.id) for unit in units if unit.name == name and unit.name_line == line]
    edges = list(view.store.edges.find_outgoing([make_document_node(document.id), *(Node(unit.id) for unit in units)]))
    view.read_nodes([edge.target for edge in edges])
    edges = [edge for edge in edges if view.name_node(edge.target).name == name]
    edges = [e for e in edges if e.line == line] or [e for e in edges if e.kind == "imports"]
    surest = max((e.confidence for e in edges), default=0.0)
    meant = defined[:1] or list({e.target for e in edges if e.confidence == surest})
    return NameOnLine(name, line, document, meant[0] if len(meant) == 1 else None)


def resolve_start(text: str, view: GraphView) -> ResolvedTarget:
    """Find the nodes of PATH, PATH:LINE, PATH:LINE:NAME, a symbol's name, or an external's name.

    Raises TargetError if no target or several fit; NothingNamed for a name without a definition.
    """
    place = read_name_on_line(text, view)
    if place.node is not None:
        return ResolvedTarget(view.name_node(place.node), (place.node,))
    if place.document is not None:
        hint = f"`codelens refs {place.name}` lists its places"
        raise TargetError(f"no edge of the graph leads from {text} to a definition", hint=hint)
    try:
        return _find_nodes(resolve_target(text, view.store), view)
    except TargetError:
        for name in (text, f"module:{text}"):
            if external := [n for n, known in view.store.edges.find_externals_by_prefix(name).items() if known == name]:
                return ResolvedTarget(view.name_node(external[0]), (external[0],))
        if (member := _find_inherited(text, view)) is None:
            raise
        return member


def _find_nodes(target: UserTarget, view: GraphView) -> ResolvedTarget:
    if target.document is not None and target.line is None:
        start = make_document_node(target.document.id)
        contents = map(Node, view.store.units.list_ids([target.document.id]))
        return ResolvedTarget(view.name_node(start), (start, *contents), whole_file=True)
    if target.unit is None:
        if target.document is None:
            hint = "`codelens status --skipped` lists what is not"
            raise TargetError(f"{target.text} is not in the index", hint=hint)
        raise TargetError(f"no symbol covers line {target.line} of {target.path}")
    node = Node(target.unit.id)
    # Text outside of all symbols belongs to the document.
    around = (make_document_node(target.unit.document),) if target.unit.kind in CHUNK_KINDS else ()
    return ResolvedTarget(view.name_node(node), (node, *around))


def _find_inherited(text: str, view: GraphView) -> ResolvedTarget | None:
    """Find the inherited member that TYPE.NAME means: `Flask.route` is defined in a base of Flask. None unless exactly one fits."""
    holder, _, name = text.replace("::", ".").replace("#", ".").removesuffix("()").rpartition(".")
    same = view.store.units.find_by_name(fold_identifier(holder.rpartition(".")[2]), None, SAME_NAME) if holder else []
    rows = view.store.units.read_rows(same).values()
    owners = [u.id for u in rows if u.kind in TYPE_KINDS and f".{u.qualified_name}".endswith(f".{holder}")]
    edges = view.store.edges.find_outgoing(owners, {"inherits"})
    members = tuple({e.target for e in edges if view.name_node(e.target).name == name})
    return ResolvedTarget(view.name_node(members[0]), members, inherited_by=holder) if len(members) == 1 else None


def make_answer(
    view: GraphView,
    question: str,
    starts: Sequence[ResolvedTarget],
    relations: Sequence[Relation],
    options: RelationOptions,
    rest: tuple[int, Iterable[Notice]],
) -> RelationAnswer:
    """Make the answer from the relations within the limit. `rest` has the number of unresolved uses, and notices."""
    unresolved, notices = rest
    texts = [f"{s.inherited_by} inherits {s.named.qualified_name}" for s in starts if s.inherited_by]
    inherited = [Notice("inherited", text) for text in texts]
    targets, shown = tuple(start.named for start in starts), tuple(relations[: options.limit])
    return RelationAnswer(question, targets, shown, len(relations), unresolved, (*inherited, *notices), view.info)
