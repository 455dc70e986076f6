"""The walk of the profile knowing goes over the whole graph: documents, what lies outside, and implied edges are ways, too."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from codelens.model.search import Candidate
from tests.search.test_knowing import ranked, reason
from tests.search.trees import Tree

ONE_SEED = {"fewest": 0, "seeds": {"0": 1}, "paths": 0, "neighbours": 0.0}
ALL = {"faint": 0.0}


def reached(folder: Path, files: Mapping[str, str], query: str, **walk: Any) -> dict[str, Candidate]:
    """Name → candidate of a walk that starts at the one unit that the query names."""
    tree = Tree(folder, files)
    tree.index().close()
    found = ranked(tree.db, query, seeds=ONE_SEED, walk={**ALL, **walk}).candidates
    return {candidate.unit.name: candidate for candidate in found}


def way(found: Mapping[str, Candidate], name: str) -> str:
    return reason(found[name], "blast_radius").partition(": ")[2].partition(" (authority")[0]


def test_functions_that_share_an_outside_type_are_next_but_one(tmp_path: Path) -> None:
    files = {
        "a.py": "from web import Request\n\n\ndef first(request: Request):\n    return 1\n",
        "b.py": "from web import Request\n\n\ndef second(request: Request):\n    return 2\n",
        "c.py": "def third(request):\n    return 3\n",
    }
    found = reached(tmp_path, files, "`first`")
    assert way(found, "second") == "reached from first, which names Request, which it names"
    assert "third" not in found
    assert "symbol:Request" not in {c.unit.name for c in found.values()}


@pytest.mark.parametrize(
    ("kind", "one", "other"),
    [
        ("reads_env", "import os\n\n\ndef {}():\n    return os.environ['HOME_OF_LAMPS']\n", "env:HOME_OF_LAMPS"),
        ("executes_process", "import subprocess\n\n\ndef {}():\n    subprocess.run(['make'])\n", "process:make"),
    ],
)
def test_functions_that_name_one_thing_outside_are_next_but_one(
    kind: str, one: str, other: str, tmp_path: Path
) -> None:
    found = reached(tmp_path, {"a.py": one.format("first"), "b.py": one.format("second")}, "`first`")
    verb = {"reads_env": "reads", "executes_process": "runs"}[kind]
    assert way(found, "second") == f"reached from first, which {verb} {other}, which it {verb}"
    assert "second" not in reached(
        tmp_path / "none", {"a.py": one.format("first"), "b.py": one.format("second")}, "`first`", kinds={}
    )


def test_a_file_that_imports_two_things_joins_them(tmp_path: Path) -> None:
    files = {
        "a.py": "def first():\n    return 1\n",
        "b.py": "def second():\n    return 2\n",
        "both.py": "from a import first\nfrom b import second\n",
    }
    assert (
        way(reached(tmp_path, files, "`first`"), "second")
        == "reached from first, which both.py imports, which imports it"
    )


def test_what_is_tested_together_is_joined_and_tests_weigh_less_back(tmp_path: Path) -> None:
    files = {
        "a.py": "def first():\n    return 1\n\n\ndef second():\n    return 2\n\n\ndef third():\n    return first()\n",
        "tests/test_a.py": "from a import first, second\n\n\ndef test_both():\n    assert first() < second()\n",
    }
    tree = Tree(tmp_path, files)
    tree.index().close()
    step = {
        **ALL,
        "hops": 1,
        "steps": 1,
        "kinds": {"calls": 1.0, "tests": 0.6, "tested_by": 0.5, "co_tested_with": 0.5},
    }
    found = ranked(tree.db, "`first`", seeds=ONE_SEED, walk=step)
    held = {c.unit.name: found.run.trace.nearness[c.unit.id] for c in found.candidates}
    assert held["second"] == pytest.approx(held["test_both"])  # .5 and .5
    assert held["third"] == pytest.approx(2 * held["second"])


def test_functions_that_call_the_same_are_joined(tmp_path: Path) -> None:
    body = "    one()\n    two()\n    three()\n"
    helpers = "".join(f"def {name}():\n    pass\n\n\n" for name in ("one", "two", "three"))
    files = {"a.py": f"{helpers}def first():\n{body}\n\ndef second():\n{body}"}
    step = {"hops": 1, "steps": 1}
    assert way(reached(tmp_path, files, "`first`", **step), "second") == "reached from first, which resembles it"


def test_a_kind_without_a_weight_has_that_of_unknown_ones(tmp_path: Path) -> None:
    files = {"a.py": "def first():\n    second()\n\n\ndef second():\n    pass\n"}
    assert "second" in reached(tmp_path / "with", files, "`first`", kinds={"unknown": 0.3})
    assert "second" not in reached(tmp_path / "without", files, "`first`", kinds={"unknown": 0.0})
