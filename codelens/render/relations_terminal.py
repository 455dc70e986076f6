"""Writes answers about the graph for a terminal: places by file, trees, paths of hops, impact by distance."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Console
from rich.style import Style
from rich.text import Text
from rich.tree import Tree

from codelens.model.code import Freshness
from codelens.model.graph import UNRESOLVED, NamedNode, Relation, RelationAnswer, RepositoryMap
from codelens.model.groups import group_pairs
from codelens.render.paths import PathStyle
from codelens.render.relations import format_remark
from codelens.render.terminal import DIM, HEADING, make_console, render_texts
from codelens.render.visible import escape_text
from codelens.text.counts import quantity

BOLD = Style(bold=True)
NUMBER = Style(color="green")
GUESS = Style(color="yellow")


def render_relations(result: RelationAnswer, paths: PathStyle, color: bool) -> Iterator[str]:
    """Write each part of the answer as one text; a last line tells how many relations were left out."""
    console = make_console(color)
    is_listed = any(relation.provenance == UNRESOLVED for relation in result.relations)
    if is_listed or result.question == "refs":
        yield from (render_texts(console, lines) for lines in _render_references(result, paths))
    elif result.question == "path":
        yield render_texts(console, _render_paths(result, paths))
    elif result.question == "impact":
        yield from (render_texts(console, lines) for lines in _render_impact(result, paths))
    else:
        yield from _draw_trees(result, paths, console)
    if len(result.relations) < result.total:
        yield render_texts(console, [Text(f"\n{len(result.relations)} of {result.total}; -m N shows more", DIM)])


def render_map(result: RepositoryMap, paths: PathStyle, color: bool) -> Iterator[str]:
    """Write the files of a map as headings, with the lines of their symbols; then its cost."""
    console = make_console(color)
    for file in result.files:
        named = file[0].named
        lines = [Text(escape_text(paths.format_path(named.root, named.os_path)), HEADING)]
        for central in file:
            number, rest = central.text[:5], central.text[7:]
            used = f"  used by {central.used_by} file{'s' * (central.used_by != 1)}" if central.used_by else ""
            lines.append(Text("").append(number + "  ", NUMBER).append(escape_text(rest)).append(used, DIM))
        yield render_texts(console, lines)
    count = sum(len(file) for file in result.files)
    symbols = f"{count} of {quantity(result.total, 'symbol')}"
    text = f"\n{symbols}, about {result.tokens} of {result.budget} tokens; --budget N changes that"
    yield render_texts(console, [Text(text, DIM)])


def _render_references(result: RelationAnswer, paths: PathStyle) -> Iterator[list[Text]]:
    files = group_pairs(((r.certainty, r.place.root, r.place.os_path), r) for r in result.relations)
    width = max((len(r.kind) for r in result.relations), default=0)
    for i, ((_, *file), relations) in enumerate(files.items()):
        heading = Text("").append(escape_text(paths.format_path(*file)), HEADING)
        if relations[0].place.freshness is not Freshness.FRESH:
            heading.append(f"  {relations[0].place.freshness} since it was indexed", GUESS)
        lines = [*([Text("")] if i else []), heading]
        for relation in relations:
            line = Text("").append(f"{relation.place.line:>6}  ", NUMBER).append(f"{relation.kind:<{width}}  ", DIM)
            if relation.source.path != relation.source.qualified_name:
                line.append(escape_text(relation.source.qualified_name) + "  ", BOLD)
            line.append(escape_text(relation.place.text.strip()))
            lines.append(line.append(escape_text(format_remark(relation)), GUESS))
        yield lines


def _make_label(named: NamedNode, paths: PathStyle) -> Text:
    label = Text("").append(escape_text(named.qualified_name), BOLD)
    label.append(f"  {named.kind}", DIM)
    if named.line and named.path != named.qualified_name:
        label.append(f"  {escape_text(paths.format_path(named.root, named.os_path))}:{named.line}", DIM)
    return label


def _draw_trees(result: RelationAnswer, paths: PathStyle, console: Console) -> Iterator[str]:
    """Draw a tree for each direction; a hierarchy has two."""
    for outgoing in (True, False):
        relations = [r for r in result.relations if r.outgoing == outgoing]
        if not relations:
            continue
        direction = ("above " if outgoing else "below ") if result.question == "hierarchy" else ""
        tree = Tree(Text("").append(direction, DIM) + _make_label(result.targets[0], paths), guide_style=DIM)
        _add_branches(tree, relations, paths)
        with console.capture() as capture:
            console.print(tree, soft_wrap=True)
        yield capture.get()


def _add_branches(tree: Tree, relations: Sequence[Relation], paths: PathStyle) -> None:
    """Add relations, in the order of the tree's lines, as branches. Successive relations to one node share a branch."""
    branches: list[tuple[Tree, NamedNode | None]] = [(tree, None)]  # the current branch at each depth
    for relation in relations:
        del branches[relation.depth + 1 :]
        if len(branches) > relation.depth and branches[relation.depth][1] == relation.listed:
            label = branches[relation.depth][0].label
            assert isinstance(label, Text)
            label.append_text(_render_call(relation))
            continue
        del branches[relation.depth :]
        label = _make_label(relation.listed, paths)
        turned = relation.kind == "overrides" and relation.outgoing
        label.append("  overridden" if turned else f"  {relation.kind}", NUMBER)
        if relation.kind == "overrides":
            other = relation.source if relation.outgoing else relation.target
            label.append(f" {'by ' * relation.outgoing}{escape_text(other.qualified_name)}", DIM)
        label.append(escape_text(format_remark(relation)), GUESS)
        label.append("  listed elsewhere" if relation.again else "", DIM)
        label.append_text(_render_call(relation))
        branches.append((branches[-1][0].add(label), relation.listed))


def _render_call(relation: Relation) -> Text:
    """Render the source line of a call; empty for inheritance, where the line only repeats the label."""
    if relation.kind in ("extends", "implements", "overrides"):
        return Text("")
    return Text("").append(f"\n{relation.place.line:>5}  ", NUMBER).append(escape_text(relation.place.text.strip()))


def _render_paths(result: RelationAnswer, paths: PathStyle) -> list[Text]:
    if not result.relations:
        return []
    at = result.relations[0].source
    lines = [_make_label(at, paths)]
    for relation in result.relations:
        if relation.source != at:  # a local function, or another member of the target
            lines.append(Text("").append("  in ", DIM) + _make_label(relation.source, paths))
        at = relation.target
        hop = Text("").append(f"  {relation.kind}", NUMBER)
        hop.append(escape_text(format_remark(relation)), GUESS)
        hop.append(f"  {relation.place.line}  ", DIM).append(escape_text(relation.place.text.strip()))
        lines += [hop, _make_label(relation.target, paths)]
    return lines


def _render_impact(result: RelationAnswer, paths: PathStyle) -> Iterator[list[Text]]:
    groups = group_pairs(("tests" if r.test else f"depth {r.depth}", r) for r in result.relations)
    for name, relations in groups.items():
        lines = [Text(f"{name}: {len(relations)}", HEADING)]
        for relation in relations:
            line = Text("  ") + _make_label(relation.listed, paths)
            line.append(f"  {relation.kind} ", NUMBER).append(escape_text(relation.target.qualified_name))
            lines.append(line.append(escape_text(format_remark(relation)), GUESS))
        yield lines
