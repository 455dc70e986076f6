"""A thing → every place that names it, by kind."""

from __future__ import annotations

from codelens.errors import TargetError
from codelens.model import Notice
from codelens.navigate.calls import answer
from codelens.navigate.names import place_order, unresolved_calls, uses_of_module, uses_of_name
from codelens.navigate.start import Start, resolve_start
from codelens.navigate.view import GraphView, outside
from codelens.related import Related, RelationOptions
from codelens.targets import NothingNamed


def refs(view: GraphView, target: str, asked: RelationOptions) -> Related:
    """Edges that end at the target, by place; of a file those from other files. A name that has no definition: its uses.

    Raises TargetError for what is neither defined nor used.
    """
    try:
        start = resolve_start(target, view)
    except NothingNamed as fault:
        return _uses(view, target, asked, fault)
    own = frozenset(start.nodes) if start.whole_file else frozenset()
    edges = [e for e in view.arriving(start.nodes, asked.kinds) if e.source not in own]
    relations = [view.relation(edge, outgoing=False) for edge in edges]
    if start.named.qualified_name.startswith("module:"):
        uses = uses_of_module(view, start.named.qualified_name.removeprefix("module:"), asked.kinds)
        relations += [r for r in uses if r.confidence >= view.least]
    relations.sort(key=place_order)
    return answer(view, "refs", [start], relations, asked, [*view.notices(relations), *unresolved_calls(view, start)])


def _uses(view: GraphView, target: str, asked: RelationOptions, fault: TargetError) -> Related:
    relations = [r for r in uses_of_name(view, target, asked.kinds) if r.confidence >= view.least]
    if not relations:
        raise fault
    notices = [Notice("external", f"{target} is not defined in the index: these are the places that use the name")]
    named = Start(outside(relations[0].target.qualified_name), ())
    return answer(view, "refs", [named], relations, asked, [*notices, *view.notices(relations)])
