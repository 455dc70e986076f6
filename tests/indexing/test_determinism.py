"""The same tree gives the same index and the same answers, however many workers there are and however sets are ordered."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from codelens.config import Settings
from codelens.index import Index
from tests.dump import dump

pytestmark = pytest.mark.slow

SAMPLES = Path(__file__).parents[2] / "sample_repos"
SEARCH = """
import sys
from codelens.cli.main import main
for query in ("parse config", "user login", "sym:index", "lang:python error OR retry", "send mail", "handlr"):
    main(["search", "--json", "--limit", "30", "--db", sys.argv[1], query])
"""


@pytest.fixture(scope="module")
def roots(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("samples")
    for name in ("notes", "shop"):
        shutil.copytree(SAMPLES / name / "repo", folder / name)
    for number in range(150):  # more than one worker's share, so that there are several
        (folder / "shop" / f"extra{number}.py").write_text(
            f"def extra_{number}(x):\n    return helper_{number % 9}(x)\n"
        )
    return [folder / "notes", folder / "shop"]


@pytest.fixture(scope="module")
def index(roots: list[Path]) -> Path:
    path = roots[0].parent / "index.db"
    Index.build(path, roots, Settings(jobs=1))
    return path


def test_four_workers_build_the_same_index_as_one(roots: list[Path], index: Path) -> None:
    other = index.with_name("four.db")
    Index.build(other, roots, Settings(jobs=4))
    assert dump(other) == dump(index)


@pytest.mark.parametrize("seed", ["0", "1", "4294967295"])
def test_an_index_does_not_depend_on_the_order_of_sets(roots: list[Path], index: Path, seed: str) -> None:
    other = index.with_name(f"seed{seed}.db")
    command = [sys.executable, "-m", "codelens", "index", *map(str, roots), "--db", str(other), "-q", "--jobs", "1"]
    subprocess.run(command, env={**os.environ, "PYTHONHASHSEED": seed}, check=True)
    assert dump(other) == dump(index)


def test_answers_are_the_same_bytes_under_ten_hash_seeds(index: Path) -> None:
    answers = set()
    for seed in range(10):
        ran = subprocess.run(
            [sys.executable, "-c", SEARCH, str(index)],
            env={**os.environ, "PYTHONHASHSEED": str(seed)},
            cwd=index.parent,
            capture_output=True,
            check=True,
        )
        assert ran.stdout.count(b"\n") >= 6
        answers.add(ran.stdout)
    assert len(answers) == 1


def test_answers_do_not_depend_on_the_history_of_the_index(roots: list[Path], index: Path) -> None:
    other = index.with_name("grown.db")
    Index.build(other, roots[1:], Settings())
    Index.build(other, roots, Settings())
    extra = roots[1] / "extra0.py"
    text = extra.read_text()
    for content in (text + "x = 1\n", text):
        extra.write_text(content)
        Index.build(other, roots, Settings())
    answers = [
        subprocess.run(
            [sys.executable, "-c", SEARCH, str(place)], cwd=index.parent, capture_output=True, text=True, check=True
        ).stdout.replace(place.name, "")
        for place in (index, other)
    ]
    answers = [re.sub(r'"indexed_at": ?"[^"]*"', '"indexed_at": ""', answer) for answer in answers]
    assert answers[0] == answers[1]
