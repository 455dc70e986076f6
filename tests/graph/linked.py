"""A small tree with a graph that is written by hand, so that no test of reading depends on how linking is done."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from codelens.index import Index
from codelens.model.graph import RelationAnswer, RelationOptions
from codelens.store.store import Store
from tests.search.trees import QUICK, Tree
from tests.writable import writable

FILES = {
    "app/base.py": """\
class Shape:
    def area(self):
        return 0

    def name(self):
        return "shape"
""",
    "app/round.py": """\
import math
from app.base import Shape


class Circle(Shape):
    def area(self):
        return pi() * math.sqrt(4)


class Disc(Circle):
    def area(self):
        return super().area()


def pi():
    return 3
""",
    "app/draw.py": """\
from app.base import Shape
from app.round import pi


def draw(shape: Shape):
    return shape.area()


def draw_all(shapes):
    def one(shape):
        draw(shape)

    for shape in shapes:
        one(shape)
        draw(shape)


def guess(thing):
    thing.name()
    thing.nothing()
""",
    "tests/test_draw.py": """\
from app.draw import draw, draw_all


def test_draw():
    assert draw(None) is None
    assert draw_all([]) is None
""",
}

Row = tuple[str, str, str, int, str]
"""(source, kind, target, line, tier); ends are qualified names, paths, or names of externals with their scheme."""

EDGES: tuple[Row, ...] = (
    ("app/round.py", "imports", "module:math", 1, "import"),
    ("app/round.py", "imports", "app/base.py", 2, "import"),
    ("app/round.py", "imports", "Shape", 2, "import"),
    ("Circle", "extends", "Shape", 5, "import"),
    ("Circle.area", "overrides", "Shape.area", 0, "implied"),
    ("Circle.area", "calls", "pi", 7, "file"),
    ("Disc", "extends", "Circle", 10, "file"),
    ("Disc.area", "overrides", "Circle.area", 0, "implied"),
    ("Disc.area", "calls", "Circle.area", 12, "scope"),
    ("app/draw.py", "imports", "app/base.py", 1, "import"),
    ("app/draw.py", "imports", "app/round.py", 2, "import"),
    ("draw", "type_hint_of", "Shape", 5, "import"),
    ("draw", "calls", "Shape.area", 6, "receiver"),
    ("draw_all.one", "calls", "draw", 11, "scope"),
    ("draw_all", "calls", "draw_all.one", 14, "scope"),
    ("draw_all", "calls", "draw", 15, "file"),
    ("guess", "calls", "Shape.name", 19, "ambiguous"),
    ("tests/test_draw.py", "imports", "app/draw.py", 1, "import"),
    ("test_draw", "tests", "draw", 5, "import"),
    ("test_draw", "tests", "draw_all", 6, "import"),
)


def linked(folder: Path, files: dict[str, str | bytes] | None = None, edges: Iterable[Row] = EDGES) -> Index:
    """The tree, indexed, with these edges in the place of those that linking found."""
    tree = Tree(folder, FILES if files is None else files, QUICK)
    tree.index().close()
    link(tree.db, edges)
    return Index.open(tree.db, QUICK)


def link(db: Path, edges: Iterable[Row]) -> None:
    rows = list(edges)
    with writable(db) as connection:
        connection.execute(
            "DELETE FROM edges; UPDATE documents SET linked = 'by hand'; DELETE FROM externals"
        ).fetchall()
    with Store.write(db) as store, store.writing():
        nodes = {d.path: -d.id for d in store.documents.read_rows()}
        for document in store.documents.read_rows():
            for unit in store.units.list_in_document(document.id):
                nodes.setdefault(unit.qualified_name, unit.id)
        nodes |= store.edges.add_externals(t for _, _, t, _, _ in rows if ":" in t)
        by_source: dict[int, list[tuple[int, str, int, int, str]]] = {}
        for source, kind, target, line, tier in rows:
            by_source.setdefault(nodes[source], []).append((nodes[source], kind, nodes[target], line, tier))
        for source, some in by_source.items():
            store.edges.delete_edges_from([source])
            store.edges.add(some)


def told(related: RelationAnswer) -> list[str]:
    """'depth kind name', with the line and what is remarkable, in order."""
    return [
        " ".join(
            [
                f"{r.depth} {r.kind} {r.listed.qualified_name}:{r.place.line}",
                *([r.via] if r.via else []),
                *(["again"] if r.again else []),
            ]
        )
        for r in related.relations
    ]


def asking(**options: object) -> RelationOptions:
    return RelationOptions(**options)  # type: ignore[arg-type]
