"""codelens export: forms that other programs read, and the same bytes for the same contents."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from codelens.index import Index
from tests.accepted import accepted
from tests.commands import Run
from tests.graph.linked import FILES, linked
from tests.render.schema import check
from tests.search.trees import QUICK, Tree

pytestmark = pytest.mark.slow

networkx = pytest.importorskip("networkx")  # the extra `graph`

FOUND = 0
FORMATS = ("json", "dot", "graphml")


@pytest.fixture(scope="module")
def shapes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tree with a graph that is written by hand; tests do not change it."""
    folder = tmp_path_factory.mktemp("shapes")
    linked(folder).close()
    (folder / ".codelens").mkdir()
    accepted(Path(shutil.move(folder / "index.db", folder / ".codelens/index.db")))
    return folder


def exported(run: Run, folder: Path, *more: str) -> tuple[dict[int, str], list[tuple[str, str, str]]]:
    ran = run("graph", "export", *more, cwd=folder)
    assert ran.code == FOUND
    record = json.loads(ran.out)
    check(record, "export")
    names = {node["id"]: node["qualified_name"] for node in record["nodes"]}
    return names, [(names[e["source"]], e["kind"], names[e["target"]]) for e in record["edges"]]


def test_all_nodes_in_order_and_all_edges_between_them(shapes: Path, run: Run) -> None:
    names, edges = exported(run, shapes)
    assert list(names) == list(range(len(names)))
    assert list(names.values())[:3] == ["app/base.py", "Shape", "Shape.area"]
    assert list(names.values())[-1] == "module:math"
    assert ("draw_all.one", "calls", "draw") in edges
    assert ("Shape", "contains", "Shape.area") in edges
    assert ("app/round.py", "imports", "module:math") in edges


def test_kinds_and_paths_restrict_the_export(shapes: Path, run: Run) -> None:
    _, edges = exported(run, shapes, "--kinds", "extends,tests")
    assert {kind for _, kind, _ in edges} == {"extends", "tests"}
    names, edges = exported(run, shapes, "tree/app/round.py", "--kinds", "calls,extends,imports")
    known = ["app/round.py", "round.py", "Circle", "Circle.area", "Disc", "Disc.area", "pi", "module:math"]
    assert list(names.values()) == known
    assert ("Disc", "extends", "Circle") in edges
    assert not [edge for edge in edges if "Shape" in edge]


def test_min_confidence_leaves_out_guesses(shapes: Path, run: Run) -> None:
    assert ("guess", "calls", "Shape.name") in exported(run, shapes)[1]
    assert ("guess", "calls", "Shape.name") not in exported(run, shapes, "--min-confidence", "0.5")[1]


def test_networkx_reads_the_graphml(shapes: Path, run: Run, tmp_path: Path) -> None:
    (tmp_path / "graph.graphml").write_bytes(run("graph", "export", "--format", "graphml", cwd=shapes).raw)
    graph = networkx.read_graphml(tmp_path / "graph.graphml")
    names, edges = exported(run, shapes)
    assert sorted(d["qualified_name"] for _, d in graph.nodes(data=True)) == sorted(names.values())
    assert sorted(d["kind"] for *_, d in graph.edges(data=True)) == sorted(kind for _, kind, _ in edges)
    assert {d["test"] for _, d in graph.nodes(data=True)} == {True, False}


@pytest.mark.skipif(shutil.which("dot") is None, reason="no Graphviz here")
def test_graphviz_reads_the_dot(shapes: Path, run: Run) -> None:
    text = run("graph", "export", "--format", "dot", cwd=shapes).raw
    ran = subprocess.run(["dot", "-Tplain"], input=text, capture_output=True)
    assert (ran.returncode, ran.stderr) == (0, b"")


NASTY = {'a"\x1b<&>.py': 'def f(a="<&>\\x00"):\n    g()\n\n\ndef g():\n    pass\n'}


@pytest.mark.skipif(os.name == "nt", reason="such names cannot be")
@pytest.mark.parametrize("form", FORMATS)
def test_hostile_names_are_escaped_in_every_format(form: str, tmp_path: Path, run: Run) -> None:
    Tree(tmp_path, NASTY).index().close()
    out = run("graph", "export", "--format", form, "--db", str(tmp_path / "index.db"), cwd=tmp_path).out
    assert "\x1b" not in out
    if form == "json":
        assert json.loads(out)["nodes"][0]["path"] == 'a"\x1b<&>.py'
    if form == "graphml":
        assert dict(networkx.parse_graphml(out).nodes(data=True))["n0"]["path"] == 'a"\ufffd<&>.py'


def test_equal_contents_give_equal_bytes_whatever_came_before(tmp_path: Path, run: Run) -> None:
    """Ids of an index that saw files come and go are others than those of a fresh one."""
    tree = Tree(tmp_path, {"z.py": "def z():\n    a()\n"} | FILES)
    tree.index().close()
    (tree.root / "z.py").unlink()
    tree.write({"a.py": "from app.round import pi\n\n\ndef a():\n    return pi()\n"})
    tree.index().close()
    Index.build(tmp_path / "fresh.db", [tree.root], QUICK)
    for form in FORMATS:
        old, new = (
            run("graph", "export", "--format", form, "--db", str(tmp_path / db)).out for db in ("index.db", "fresh.db")
        )
        old, new = (re.sub(r'"indexed_at": ?"[^"]*"', '"indexed_at": …', text) for text in (old, new))
        assert old.replace("index.db", "fresh.db") == new
