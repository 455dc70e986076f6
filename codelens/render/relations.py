"""Writes answers about the graph as JSON objects, lines for a pipe, and Graphviz.

One decision to question: if results are places in the text (refs, callers, callees), each line shows the source line, as
grep does; if they are steps (path, impact, hierarchy), each line describes the step after its place.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping

from codelens.model.code import IndexInfo
from codelens.model.graph import (
    FILE,
    RESOLVED,
    SURE,
    UNRESOLVED,
    GraphStream,
    NamedNode,
    ReachingTest,
    ReachingTests,
    Relation,
    RelationAnswer,
    RepositoryMap,
)
from codelens.render.formats import Field, end_with_break, parse_template, read_attributes
from codelens.render.paths import PathStyle
from codelens.render.records import SCHEMA, Record, build_ending, build_index_record, encode_path, pick_fields, to_json
from codelens.render.visible import INVISIBLE, escape_breaks, escape_text

PLACES = ("refs", "callers", "callees")  # Questions that are answered with places in the text


def build_answer_record(result: RelationAnswer, exit_code: int) -> Record:
    """Build the object that --json prints for any question about the graph; `relations` may be empty."""
    return {
        "schema": SCHEMA,
        "question": result.question,
        "targets": [build_node_record(named) for named in result.targets],
        "relations": [build_relation_record(relation) for relation in result.relations],
        **pick_fields(result, "total unresolved"),
        **build_ending(result, exit_code),
    }


def build_relation_record(relation: Relation) -> Record:
    """Build the object of an edge: its ends, its certainty, and the source line that it comes from."""
    place, direction = relation.place, "out" if relation.outgoing else "in"
    record = {"kind": relation.kind, "direction": direction, "depth": relation.depth}
    record |= {"source": build_node_record(relation.source), "target": build_node_record(relation.target)}
    record |= pick_fields(relation, "provenance confidence via again certainty role")
    record |= {"start_byte": relation.span.start, "end_byte": relation.span.end, "test": relation.test}
    record |= pick_fields(place, "repository root path") | encode_path(place.path)
    return record | pick_fields(place, "line column column_utf16 text freshness")


def build_node_record(named: NamedNode) -> Record:
    """Build the object of a symbol, file or external; an external has line 0 and an empty path."""
    place = pick_fields(named, "name qualified_name kind language repository path") | encode_path(named.path)
    return place | pick_fields(named, "line column start_byte end_byte signature test")


def build_map_record(result: RepositoryMap, exit_code: int) -> Record:
    """Build the object of `map --json`; `uses` are pairs of positions, from 0, in the list of all its symbols."""
    return {
        "schema": SCHEMA,
        "files": [
            pick_fields(file[0].named, "repository root path")
            | encode_path(file[0].named.path)
            | {"symbols": [build_node_record(c.named) | pick_fields(c, "share used_by depth") for c in file]}
            for file in result.files
        ],
        "uses": [list(pair) for pair in result.uses],
        **pick_fields(result, "total budget tokens"),
        **build_ending(result, exit_code),
    }


def format_relations(result: RelationAnswer, paths: PathStyle) -> Iterator[str]:
    """Write path:line:column:text for each relation. A call's line begins with its caller, or for callees with the callee."""
    known: set[str] = set()
    for relation in result.relations:
        place = relation.place
        head = f"{paths.format_path(place.root, place.os_path)}:{place.line}:{place.column}:" if place.line else ""
        text = escape_breaks(place.text.rstrip("\r\n"))
        if relation.provenance == UNRESOLVED or result.question in ("callers", "callees"):
            text = f"{escape_text(relation.listed.qualified_name)}: {text.strip()}"
        elif result.question not in PLACES:
            text = escape_text(format_step(relation, result.question))
        line = f"{head}{text}\n"
        if result.question not in PLACES or line not in known:  # one line may call several things
            known.add(line)
            yield line


RELATION_FIELDS: Mapping[str, Field[Relation]] = {
    "path": lambda r, paths: paths.format_path(r.place.root, r.place.os_path),
    **read_attributes("place.line place.column"),
    "text": lambda r, _: escape_breaks(r.place.text.strip()),
    **read_attributes("kind"),
    "source": lambda r, _: r.source.qualified_name,
    "target": lambda r, _: r.target.qualified_name,
    **read_attributes("depth"),
    "confidence": lambda r, _: f"{r.confidence:g}",
    **read_attributes("provenance certainty role span.start span.end via"),
    "test": lambda r, _: "test" if r.test else "",
}
"""Fields that `{…}` in --format may name."""


def format_by_template(result: RelationAnswer, paths: PathStyle, template: str) -> Iterator[str]:
    """Write each relation by the user's template, without repeated lines. Raises UsageError for an unknown field."""
    fill = parse_template(template, RELATION_FIELDS)
    for text in dict.fromkeys(fill(relation, paths) for relation in result.relations):
        yield end_with_break(text)


def format_step(relation: Relation, question: str) -> str:
    """Write a relation as a sentence: 'A calls B'."""
    depth = f"{'test, ' if relation.test else ''}depth {relation.depth}: " if question == "impact" else ""
    return f"{depth}{relation.source.qualified_name} {relation.kind} {relation.target.qualified_name}{format_remark(relation)}"


def format_remark(relation: Relation) -> str:
    """Write remarks on a relation: its confidence and where it was found."""
    via = [relation.via] if relation.via else []
    if relation.provenance == UNRESOLVED:
        return " (not followed)"
    if relation.certainty:
        return "" if relation.certainty == SURE else f" ({relation.certainty})"
    guess = [f"a guess, {relation.confidence:g}"] if relation.confidence < RESOLVED else []
    return f" ({'; '.join([*via, *guess])})" if via or guess else ""


def format_map(result: RepositoryMap, paths: PathStyle) -> Iterator[str]:
    """Write each path, and below it the lines of its symbols."""
    for file in result.files:
        yield f"{escape_text(paths.format_path(file[0].named.root, file[0].named.os_path))}\n"
        yield from (f"{escape_text(central.text)}\n" for central in file)


def format_dot(result: RelationAnswer) -> Iterator[str]:
    """Write an answer for Graphviz, with the targets in bold and guesses dashed."""
    ends = [*result.targets, *(n for r in result.relations for n in (r.source, r.target))]
    nodes = sorted(dict.fromkeys(ends), key=NamedNode.content_order)
    edges = {(r.source, r.target, r.kind): r for r in reversed(result.relations)}
    place = {node: i for i, node in enumerate(nodes)}
    lines = []
    for (source, target, kind), relation in edges.items():
        style = ", style=dashed" if relation.confidence < RESOLVED else ""
        lines.append((place[source], place[target], f" [label={quote_for_dot(kind)}{style}]"))
    return _format_digraph(enumerate(nodes), sorted(lines), result.targets)


def format_map_dot(result: RepositoryMap) -> Iterator[str]:
    """Write a map for Graphviz: its symbols, and which of them use which."""
    nodes = enumerate(central.named for file in result.files for central in file)
    return _format_digraph(nodes, sorted((a, b, "") for a, b in result.uses))


def _format_digraph(
    nodes: Iterable[tuple[int, NamedNode]], edges: Iterable[tuple[int, int, str]], bold: Collection[NamedNode] = ()
) -> Iterator[str]:
    """Write a digraph. Nodes are (number, node), edges (from, to, attributes)."""
    yield "digraph codelens {\n  rankdir=LR;\n  node [shape=box];\n"
    for number, node in nodes:
        where = f"{node.path}:{node.line}" if node.line else node.kind
        style = ", style=bold" if node in bold else ""
        yield f"  n{number} [label={quote_for_dot(node.qualified_name)}, tooltip={quote_for_dot(where)}{style}];\n"
    for source, target, attributes in edges:
        yield f"  n{source} -> n{target}{attributes};\n"
    yield "}\n"


def quote_for_dot(text: str) -> str:
    """Quote a text for Graphviz, so that nothing in it is an escape, an attribute or markup."""
    return '"' + escape_text(text).replace("\\", "\\\\").replace('"', '\\"') + '"'


def format_test_path(reaching: ReachingTest, paths: PathStyle) -> str:
    return paths.format_path(reaching.test.root, reaching.test.os_path)


def format_pytest_id(reaching: ReachingTest, paths: PathStyle) -> str:
    """Write path::Class::function, as pytest names its tests; the path alone for a whole file."""
    test = reaching.test
    parts = [] if test.kind == FILE else test.qualified_name.split(".")
    return "::".join([format_test_path(reaching, paths), *parts])


REACHING_FIELDS: Mapping[str, Field[ReachingTest]] = {
    "path": format_test_path,
    "pytest": format_pytest_id,
    "name": lambda r, _: "" if r.test.kind == FILE else r.test.name,
    "qualified_name": lambda r, _: "" if r.test.kind == FILE else r.test.qualified_name,
    **read_attributes("test.kind test.language test.line depth"),
    "through": lambda r, _: " ".join(r.through),
}
"""Fields that `{…}` in --format may name."""
FORMS = {"paths": "{path}", "pytest": "{pytest}"}  # Name → template


def format_reaching_tests(result: ReachingTests, paths: PathStyle, form: str, null: bool = False) -> Iterator[str]:
    """Write each test by a name of FORMS or a template, without repeated lines. With `null` a NUL byte replaces the line break."""
    fill = parse_template(FORMS.get(form, form), REACHING_FIELDS)
    paths = paths.drop_quotes() if null else paths
    for text in dict.fromkeys(fill(reaching, paths) for reaching in result.tests):
        yield text + "\0" if null else end_with_break(text)


def build_reaching_record(result: ReachingTests, paths: PathStyle, exit_code: int) -> Record:
    plain = paths.drop_quotes()
    return {
        "schema": SCHEMA,
        "touched": [build_node_record(named) for named in result.touched],
        "tests": [
            build_node_record(r.test) | pick_fields(r, "depth through") | {"pytest": format_pytest_id(r, plain)}
            for r in result.tests
        ],
        "total": len(result.tests),
        "unresolved": result.unresolved,
        **build_ending(result, exit_code),
    }


_FIELDS = "kind name qualified_name language repository path line signature test"
"""GraphML's attributes of nodes."""
_OF_LINKS = "kind line provenance confidence"
_TYPES = {"line": "int", "test": "boolean", "confidence": "double"}
"""GraphML's types of attributes; the others are strings."""
_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML 1.0 cannot represent."""
_MISLEADING = re.compile(f"[\r{INVISIBLE}]")
"""Characters that are written as references: a parser would drop the first, and a terminal obeys or hides the others."""


def format_graph_json(graph: GraphStream, index: IndexInfo) -> Iterator[str]:
    """Write one JSON object: `nodes` with their number as `id`, and `edges` between these numbers, a line each."""
    nodes = ({"id": number} | build_node_record(named) for number, named in graph.nodes)
    edges = (link._asdict() for link in graph.links)
    yield f'{{"schema": {SCHEMA}, "nodes": ['
    for records, end in ((nodes, '\n], "edges": ['), (edges, "\n], ")):
        for number, record in enumerate(records):
            yield f"{',' if number else ''}\n{to_json(record).rstrip()}"
        yield end
    yield f'"index": {to_json(build_index_record(index)).rstrip()}, "exit_code": 0}}\n'


def format_graph_graphml(graph: GraphStream, index: IndexInfo) -> Iterator[str]:
    """Write GraphML (Brandes et al., 2002), as Gephi, yEd and networkx read it. Characters that XML forbids become U+FFFD."""
    yield '<?xml version="1.0" encoding="UTF-8"?>\n<graphml xmlns="http://graphml.graphdrawing.org/xmlns">\n'
    for target, fields in (("node", _FIELDS), ("edge", _OF_LINKS)):
        for name in fields.split():
            kind = _TYPES.get(name, "string")
            yield f'  <key id="{target}_{name}" for="{target}" attr.name="{name}" attr.type="{kind}"/>\n'
    yield '  <graph id="codelens" edgedefault="directed">\n'
    for number, named in graph.nodes:
        yield f'    <node id="n{number}">{_format_values("node", _FIELDS, named)}</node>\n'
    for number, link in enumerate(graph.links):
        ends = f'id="e{number}" source="n{link.source}" target="n{link.target}"'
        yield f"    <edge {ends}>{_format_values('edge', _OF_LINKS, link)}</edge>\n"
    yield "  </graph>\n</graphml>\n"


def _format_values(target: str, fields: str, item: object) -> str:
    from xml.sax.saxutils import escape  # imports network modules, so only GraphML loads it

    values = ((name, getattr(item, name)) for name in fields.split())
    texts = [(name, str(value).lower() if isinstance(value, bool) else str(value)) for name, value in values]
    safe = [(name, escape(_NOT_XML.sub("\ufffd", text))) for name, text in texts if text]
    shown = [(name, _MISLEADING.sub(lambda found: f"&#{ord(found[0])};", text)) for name, text in safe]
    return "".join(f'<data key="{target}_{name}">{text}</data>' for name, text in shown)


def format_graph_dot(graph: GraphStream, index: IndexInfo) -> Iterator[str]:
    edges = ((link.source, link.target, f" [label={quote_for_dot(link.kind)}]") for link in graph.links)
    return _format_digraph(graph.nodes, edges)


GRAPH_FORMATS = {"json": format_graph_json, "dot": format_graph_dot, "graphml": format_graph_graphml}
"""Format → the function that writes it."""
