"""An index above 200 MB, of a tree that a script writes: FTS5 merges its segments in more pages than a writer caches."""

from __future__ import annotations

import base64
import json
import random
import subprocess
from pathlib import Path

import pytest

from codelens.processes.python import build_codelens_command

pytestmark = pytest.mark.slow

FILES = 256
LINES = 2_900
"""Lines of 76 random characters in each file: they compress badly and consist of different trigrams and words, so that a
second of CPU time makes six MB of index.
"""
MIN_INDEX_BYTES = 200_000_000


def write_file(root: Path, number: int, seed: int) -> None:
    """Write a file of random lines, with a line of words in the middle that no other file has."""
    draw = random.Random(f"{number} {seed}")
    lines = [base64.b64encode(draw.randbytes(57)).decode() for _ in range(LINES)]
    lines[LINES // 2] = f"the marker{number}x{seed} stands here"
    (root / f"f{number:03}.txt").write_text("\n".join(lines))


class Commands:
    """Runs codelens on one index."""

    def __init__(self, index: Path) -> None:
        self._index = index

    def run(self, *command: str, code: int = 0) -> str:
        line = [*build_codelens_command(), *command, "--db", str(self._index)]
        ran = subprocess.run(line, capture_output=True, text=True, check=False)
        assert ran.returncode == code, ran.stderr
        return ran.stdout

    def find(self, words: str) -> list[tuple[str, int]]:
        """Search for a phrase; returns path and line of each hit."""
        results = json.loads(self.run("search", f'"{words}"', "--json"))["results"]
        return [(result["path"], result["line"]) for result in results]


def test_a_large_index_is_built_searched_and_updated(tmp_path: Path) -> None:
    root, index = tmp_path / "tree", tmp_path / "index.db"
    root.mkdir()
    for number in range(FILES):
        write_file(root, number, seed=1)
    codelens = Commands(index)
    codelens.run("index", "--no-vector", str(root))
    assert index.stat().st_size > MIN_INDEX_BYTES
    for number in (0, 99, FILES - 1):
        assert codelens.find(f"marker{number}x1 stands") == [(f"f{number:03}.txt", LINES // 2 + 1)]

    for number in (0, 99):
        write_file(root, number, seed=2)
    (root / "f100.txt").unlink()
    report = json.loads(codelens.run("index", "--json", str(root)))["repositories"][0]
    assert (report["changed"], report["removed"], report["indexed"]) == (2, 1, FILES - 1)
    for number in (0, 99):
        assert codelens.find(f"marker{number}x2 stands") == [(f"f{number:03}.txt", LINES // 2 + 1)]
    codelens.run("search", '"marker99x1 stands"', code=1)
    codelens.run("search", '"marker100x1 stands"', code=1)
    codelens.run("doctor", "--check", "full")
    assert [file.name for file in tmp_path.iterdir() if file.is_file()] == ["index.db"]
