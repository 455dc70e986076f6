"""A stream of nodes and edges → the text of a file that other programs read: JSON, Graphviz or GraphML, line by line."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from xml.sax.saxutils import escape

from codelens.model import IndexInfo
from codelens.related import GraphStream
from codelens.render.records import SCHEMA, index_record, to_json
from codelens.render.relations import node_record, quoted

_FIELDS = (
    *(("kind", "string"), ("name", "string"), ("qualified_name", "string"), ("language", "string")),
    *(("repository", "string"), ("path", "string"), ("line", "int"), ("signature", "string"), ("test", "boolean")),
)
"""GraphML's attributes of nodes, and their types."""
_OF_LINKS = (("kind", "string"), ("line", "int"), ("provenance", "string"), ("confidence", "double"))
_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What XML 1.0 has no way to write."""


def graph_json(graph: GraphStream, index: IndexInfo) -> Iterator[str]:
    """One object: `nodes` with their number as `id`, `edges` that name them, a line each."""
    yield f'{{"schema": {SCHEMA}, "nodes": ['
    yield from _listed(to_json({"id": number} | node_record(named)) for number, named in graph.nodes)
    yield '\n], "edges": ['
    yield from _listed(to_json(link._asdict()) for link in graph.links)
    yield f'\n], "index": {to_json(index_record(index)).rstrip()}, "exit_code": 0}}\n'


def _listed(texts: Iterator[str]) -> Iterator[str]:
    for number, text in enumerate(texts):
        yield f"{',' if number else ''}\n{text.rstrip()}"


def graph_dot(graph: GraphStream, index: IndexInfo) -> Iterator[str]:
    """Graphviz."""
    yield "digraph codelens {\n  rankdir=LR;\n  node [shape=box];\n"
    for number, named in graph.nodes:
        where = f"{named.path}:{named.line}" if named.line else named.kind
        yield f"  n{number} [label={quoted(named.qualified_name)}, tooltip={quoted(where)}];\n"
    for link in graph.links:
        yield f"  n{link.source} -> n{link.target} [label={quoted(link.kind)}];\n"
    yield "}\n"


def graph_graphml(graph: GraphStream, index: IndexInfo) -> Iterator[str]:
    """GraphML (Brandes et al., 2002), as Gephi, yEd and networkx read it. Characters that XML cannot write become U+FFFD."""
    yield '<?xml version="1.0" encoding="UTF-8"?>\n<graphml xmlns="http://graphml.graphdrawing.org/xmlns">\n'
    for target, fields in (("node", _FIELDS), ("edge", _OF_LINKS)):
        for name, kind in fields:
            yield f'  <key id="{target}_{name}" for="{target}" attr.name="{name}" attr.type="{kind}"/>\n'
    yield '  <graph id="codelens" edgedefault="directed">\n'
    for number, named in graph.nodes:
        yield f'    <node id="n{number}">{_values("node", _FIELDS, named)}</node>\n'
    for number, link in enumerate(graph.links):
        ends = f'id="e{number}" source="n{link.source}" target="n{link.target}"'
        yield f"    <edge {ends}>{_values('edge', _OF_LINKS, link)}</edge>\n"
    yield "  </graph>\n</graphml>\n"


def _values(target: str, fields: Sequence[tuple[str, str]], told: object) -> str:
    values = ((name, getattr(told, name)) for name, _ in fields)
    return "".join(f'<data key="{target}_{name}">{_text(value)}</data>' for name, value in values if value != "")


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return escape(_NOT_XML.sub("\ufffd", str(value))).replace("\r", "&#13;")


GRAPH_FORMATS = {"json": graph_json, "dot": graph_dot, "graphml": graph_graphml}
"""Name of a form → what writes it."""
