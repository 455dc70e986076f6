# ruff: noqa: E501 - sources of other languages keep to their own lines
"""Edges to the types whose fields a function reads or writes, language by language."""

from __future__ import annotations

from pathlib import Path

import pytest

from codelens.config import Settings
from codelens.index import Index
from codelens.model.graph import RelationOptions
from codelens.store.store import Store
from tests.indexing.here import derive_here

SOURCES = {
    "c": "struct point { int x; int y; };\nint sum(struct point *p, int x) { int y = x; return p->x + y; }\n",
    "cpp": "class Point {\n public:\n  int get();\n  int of(int x) { return x; }\n private:\n  int x;\n};\nint Point::get() { return x; }\n",
    "cs": "class Point {\n  int x;\n  int Get() { return x; }\n  int Of(int x) { return x; }\n  void Put(int y) { this.x = y; }\n}\n",
    "go": "package p\n\ntype Point struct{ x int }\n\nfunc (p *Point) Get() int { return p.x }\n\nfunc Of(point *Point, x int) int { point.x = x; return x }\n",
    "java": (
        "class Point {\n  int x; java.util.List<String> names;\n  int get() { return x; }\n  int of(int x) { return x; }\n"
        "  void add() { names.add(null); }\n}\nclass Line {\n  int end(Point p) { int y = p.x; return y; }\n}\n"
    ),
    "js": "class Point {\n  constructor(x) { this.x = x; }\n  get() { return this.x; }\n  other() { return this.get(); }\n}\n",
    "kt": "class Point(val x: Int) {\n  val y = 1\n  fun get(): Int { return x }\n  fun of(x: Int): Int { return x }\n  fun put() { use(this.y) }\n}\n",
    "php": "<?php\nclass Point {\n  function __construct($x) { $this->x = $x; }\n  function get() { return $this->x; }\n  function of($x) { return $x; }\n}\n",
    "py": (
        "class Base:\n    def __init__(self, x):\n        self.x = x\n\n\nclass Point(Base):\n    def get(self):\n"
        "        return self.x\n\n    def of(self, x):\n        return x\n\n\ndef outside(point: Point):\n    print(point.x)\n"
    ),
    "rb": "class Point\n  def initialize(x)\n    @x = x\n  end\n\n  def x = 1\n\n  def get\n    @x\n  end\n\n  def of\n    x\n  end\nend\n",
    "rs": "struct Point { x: i32 }\n\nimpl Point {\n    fn get(&self) -> i32 { self.x }\n}\n\nfn outside(p: &Point, x: i32) -> i32 { p.x + x }\n",
    "scala": "class Point(val x: Int) {\n  val y = 1\n  def get = this.x\n  def of(x: Int): Int = x\n  def put(p: Point) = p.y\n}\n",
    "swift": "struct Point {\n  var x: Int\n  func get() -> Int { return self.x }\n  func of(x: Int) -> Int { return x }\n  func bare() { use(x) }\n}\n",
    "ts": "interface Point { x: number }\nclass Line {\n  private end = 1\n  get() { return this.end }\n}\nfunction of(p: Point, x: number) { use(p.x, x) }\n",
}
EXPECTED = {
    "c": {"2 sum point"},
    "cpp": {"8 Point.get Point"},
    "cs": {"3 Point.Get Point", "5 Point.Put Point"},
    "go": {"5 Point.Get Point", "7 Of Point"},
    "java": {"3 Point.get Point", "5 Point.add Point", "8 Line.end Point"},
    "js": {"2 Point.constructor Point", "3 Point.get Point"},
    "kt": {"3 Point.get Point", "5 Point.put Point"},
    "php": {"3 Point.__construct Point", "4 Point.get Point"},
    "py": {"3 Base.__init__ Base", "8 Point.get Base", "15 outside Base"},
    "rb": {"3 Point.initialize Point", "9 Point.get Point"},
    "rs": {"4 Point.get Point", "7 outside Point"},
    "scala": {"3 Point.get Point", "5 Point.put Point"},
    "swift": {"3 Point.get Point", "5 Point.bare Point"},
    "ts": {"4 Line.get Line", "6 of Point"},
}
"""Line, function and type. A parameter or a method of the field's name is no field."""


def built(tmp_path: Path, name: str, source: str, monkeypatch: pytest.MonkeyPatch) -> Path:
    derive_here(monkeypatch)
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / name).write_text(source)
    Index.build(index := tmp_path / "index.db", [tmp_path / "tree"], Settings(jobs=1, fuzzy=False, vector=False))
    return index


@pytest.mark.parametrize("extension", SOURCES)
def test_a_function_leads_to_the_types_whose_fields_it_uses(
    extension: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = built(tmp_path, f"one.{extension}", SOURCES[extension], monkeypatch)
    with Store.read(index) as store:
        units = {unit.id: unit for d in store.documents.read_rows() for unit in store.units.list_in_document(d.id)}
        edges = list(store.edges.list_all(["accesses_field"]))
    found = {f"{e.line} {units[e.source].qualified_name} {units[e.target].qualified_name}" for e in edges}
    assert found == EXPECTED[extension]


GO = (
    "package p\n\ntype Point struct{ x, y int }\n\nfunc Of(p *Point) int {\n\tp.x = 1\n\tp.x++\n\treturn p.x + p.y\n}\n"
)


def test_each_field_counts_once_a_function_and_refs_lists_it_where_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Index.open(built(tmp_path, "one.go", GO, monkeypatch)) as index:
        plain = index.graph.refs("Point", RelationOptions())
        accesses = index.graph.refs("Point", RelationOptions(kinds=("accesses_field",)))
    assert [(r.kind, r.place.line) for r in plain.relations] == [("type_hint_of", 5)]
    assert [(r.kind, r.place.line) for r in accesses.relations] == [("accesses_field", 6), ("accesses_field", 8)]
