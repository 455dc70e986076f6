"""Random edits of trees whose files know each other: the edges of an updated index are those of a fresh one."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from codelens.config import Settings
from codelens.index import Index
from tests.dump import dump
from tests.indexing.here import derive_here
from tests.tiers import examples

PYTHON = (
    "class Base:\n    def run(self): return self.step()\n    def step(self): return 1\n\n\ndef make() -> Base: return Base()\n",
    "class Base:\n    def run(self): pass\n    def other(self): pass\n\n\ndef make(): return Base()\n",
    "from pkg.b import Base\n\n\nclass Child(Base):\n    def step(self): return self.run()\n\n\nchild = Child()\n",
    "from .b import *\nfrom . import c\n\n\ndef use(x: Base):\n    x.run()\n    c.make().step()\n    make().run()\n",
    "import pkg.b\nimport pkg\n\n\ndef go():\n    pkg.b.make().run()\n    pkg.use(1)\n    thing.unique_member()\n",
    "from pkg import make\n\n\ndef test_it():\n    value = make()\n    value.run()\n    value.other()\n",
    "class Lonely:\n    def unique_member(self): pass\n",
    "",
)
SCRIPT = (
    "export class Base { run() { return this.step(); } step() {} }\nexport function make(): Base { return new Base(); }\n",
    "export { Base as Root, make } from './y';\nimport { make } from './y';\nmake().run();\n",
    "import * as all from './x';\nimport { Root } from './x';\nexport class Child extends Root { go() { all.make().step(); } }\n",
    "export const make = () => 1;\n",
)
GO = (
    "package m\n\ntype T struct{ N *Other }\n\nfunc (t *T) Close() error { return t.N.Close() }\n\nfunc (t *T) Open() {}\n",
    "package m\n\ntype Other struct{}\n\nfunc (o *Other) Close() error { return nil }\n",
    "package m\n\ntype Closer interface{ Close() error }\n\nfunc All(c Closer) { c.Close(); New().Open() }\n\n"
    "func New() *T { return &T{} }\n",
    "package m\n\ntype Closer interface {\n\tClose() error\n\tOpen()\n}\n\ntype T struct{ Other }\n",
)
JAVA = (
    "package p;\npublic class A { public B make() { return new B(); } void f() { make().go(); } }\n",
    "package p;\npublic class B extends A { public void go() { f(); } }\n",
    "package p;\npublic interface B { void go(); }\n",
    "package p;\nimport p.B;\nclass C implements B { public void go() {} static void all(B b) { b.go(); } }\n",
)
FILES = {
    **dict.fromkeys(("pkg/__init__.py", "pkg/b.py", "pkg/c.py", "a.py", "tests/test_a.py"), PYTHON),
    **dict.fromkeys(("x.ts", "y.ts", "z.ts"), SCRIPT),
    **dict.fromkeys(("m/one.go", "m/two.go", "m/three.go"), GO),
    **dict.fromkeys(("p/A.java", "p/B.java", "q/C.java"), JAVA),
}
NAMES = sorted(FILES)
EDIT = st.one_of(
    st.tuples(st.just("write"), st.sampled_from(NAMES), st.integers(0, 7)),
    st.tuples(st.just("write"), st.sampled_from(NAMES), st.integers(0, 7)),
    st.tuples(st.just("remove"), st.sampled_from(NAMES), st.just(0)),
    st.tuples(st.just("prepend"), st.sampled_from(NAMES), st.just(0)),
)
SCRIPTS = st.lists(st.lists(EDIT, min_size=1, max_size=4), min_size=1, max_size=3)


def apply(root: Path, edit: tuple[str, str, int]) -> None:
    """One edit; what cannot be done is nothing."""
    what, name, number = edit
    path = root / name
    if what == "write":
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(FILES[name][number % len(FILES[name])])
    elif what == "remove":
        path.unlink(missing_ok=True)
    elif path.exists():
        path.write_text("\n\n" + path.read_text())


def linked(root: Path, index: Path) -> dict[str, list[tuple[object, ...]]]:
    """The tables of the graph, without their history."""
    Index.build(index, [root], Settings(jobs=1, fuzzy=False, vector=False))
    tables = dump(index)
    return {name: tables[name] for name in ("edges", "externals", "link_asks", "link_counts")}


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    derive_here(monkeypatch)


@pytest.mark.slow
@pytest.mark.usefixtures("here")
@settings(
    max_examples=examples(60),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
@given(start=st.lists(EDIT, min_size=6, max_size=20), rounds=SCRIPTS)
@example(  # an interface comes that types satisfy by methods which more than one type of the name may own
    start=[("write", "m/three.go", 0), ("write", "m/two.go", 3)], rounds=[[("write", "m/one.go", 2)]]
)
@example(  # two types have one name, and so both the methods that stand outside of them
    start=[("write", "m/three.go", 3)], rounds=[[("write", "m/one.go", 1), ("write", "m/two.go", 0)]]
)
@example(  # a module passes on by a wildcard what it did not know before
    start=[("write", "a.py", 5), ("write", "pkg/__init__.py", 2)], rounds=[[("write", "pkg/__init__.py", 3)]]
)
def test_the_edges_of_an_updated_index_are_the_fresh_ones(
    start: list[tuple[str, str, int]], rounds: list[list[tuple[str, str, int]]]
) -> None:
    place = Path(tempfile.mkdtemp())
    try:
        root = place / "tree"
        root.mkdir()
        (root / "go.mod").write_text("module example.org/m\n")
        for edit in start:
            apply(root, edit)
        linked(root, place / "updated.db")
        for edits in rounds:
            for edit in edits:
                apply(root, edit)
            updated = linked(root, place / "updated.db")
            fresh = linked(root, place / "fresh.db")
            (place / "fresh.db").unlink()
            assert updated == fresh
    finally:
        shutil.rmtree(place)
