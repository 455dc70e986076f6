"""Installations that lack a part: codelens works with fewer features and says so."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    root = tmp_path / "tree"
    root.mkdir()
    (root / "a.py").write_text("def reserve_stock(): pass\n")
    return root


def codelens(root: Path, *arguments: str, lacking: Path | None = None) -> subprocess.CompletedProcess[str]:
    """A codelens command; packages in the folder `lacking` hide installed ones."""
    environment = os.environ | ({"PYTHONPATH": str(lacking)} if lacking else {})
    command = [sys.executable, "-m", "codelens", *arguments]
    return subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True)


@pytest.fixture
def no_vec(tmp_path: Path) -> Path:
    (tmp_path / "lacking/sqlite_vec").mkdir(parents=True)
    (tmp_path / "lacking/sqlite_vec/__init__.py").write_text("")
    return tmp_path / "lacking"


def test_without_sqlite_vec_an_index_is_made_without_vectors(tree: Path, no_vec: Path) -> None:
    made = codelens(tree, "index", lacking=no_vec)
    assert made.returncode == 0
    assert "sqlite-vec cannot be loaded here" in made.stderr
    found = codelens(tree, "search", "reserve stock", lacking=no_vec)
    assert found.stdout.startswith("a.py:1:5:")
    assert "without vectors" in found.stderr
    (tree / "a.py").write_text("def release_stock(): pass\n")
    assert codelens(tree, "index", lacking=no_vec).returncode == 0
    assert "release_stock" in codelens(tree, "search", "stock", lacking=no_vec).stdout
    assert codelens(tree, "status", "--json", lacking=no_vec).returncode == 0
    assert "release_stock" in codelens(tree, "search", "stock").stdout, "also where sqlite-vec is there"


def test_without_sqlite_vec_an_index_with_vectors_is_read_only(tree: Path, no_vec: Path) -> None:
    assert codelens(tree, "index").returncode == 0
    found = codelens(tree, "search", "reserve stock", lacking=no_vec)
    assert found.stdout.startswith("a.py:1:5:")
    assert "no vector results" in found.stderr
    (tree / "a.py").write_text("def release_stock(): pass\n")
    refused = codelens(tree, "index", lacking=no_vec)
    assert refused.returncode == 3
    assert "--rebuild --no-vector" in refused.stderr
    assert codelens(tree, "index", "--rebuild", "--no-vector", lacking=no_vec).returncode == 0
    assert "release_stock" in codelens(tree, "search", "stock", lacking=no_vec).stdout


@pytest.mark.skipif(sys.platform == "win32", reason="limits of a process")
@pytest.mark.parametrize("room", [20_000, 200_000])
def test_a_full_disk_is_reported_and_the_next_run_continues(room: int, tree: Path) -> None:
    import resource

    for number in range(60):
        lines = (f"def function_{number}_{i}(a):\n    return {hash((number, i)) % 997}\n" for i in range(60))
        (tree / f"m{number}.py").write_text("".join(lines))

    def little_room() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))

    command = [sys.executable, "-m", "codelens", "index"]
    full = subprocess.run(command, cwd=tree, capture_output=True, text=True, preexec_fn=little_room)
    assert full.returncode == 2
    assert "index.db cannot be written" in full.stderr
    assert "Traceback" not in full.stderr
    assert codelens(tree, "search", "function").returncode == 3
    assert codelens(tree, "index").returncode == 0
    assert codelens(tree, "search", "function_3_7").stdout.startswith("m3.py:15:5:")
