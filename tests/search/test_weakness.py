"""Weak answers: which are called so, where it is said, and which queries are never judged."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from codelens.index import Index
from tests.conftest import Run
from tests.search.trees import QUICK

SAMPLES = Path(__file__).parents[2] / "sample_repos"
FOREIGN = "draw a map of the nearest stops"
MEANT = "lock after too many wrong passwords"


@pytest.fixture(scope="module")
def samples(tmp_path_factory: pytest.TempPathFactory) -> Path:
    db = tmp_path_factory.mktemp("weak") / "index.db"
    Index.build(db, [SAMPLES / "notes/repo", SAMPLES / "shop/repo"], QUICK)
    return db


def answer(run: Run, samples: Path, *arguments: str) -> tuple[dict[str, Any], str]:
    ran = run("search", "--json", "--db", str(samples), "--root-scope", *arguments)
    return json.loads(ran.out), ran.err


def test_a_question_about_something_else_is_called_weak(run: Run, samples: Path) -> None:
    found, err = answer(run, samples, FOREIGN)
    assert found["weak"] and found["results"]
    assert sum(line.startswith("codelens: weak: ") for line in err.splitlines()) == 1


def test_an_answered_question_is_not_called_weak(run: Run, samples: Path) -> None:
    found, err = answer(run, samples, MEANT)
    assert not found["weak"] and "weak:" not in err


def test_json_lines_end_with_the_notice_of_a_weak_answer(run: Run, samples: Path) -> None:
    ran = run("search", "--jsonl", "--db", str(samples), "--root-scope", FOREIGN)
    end = json.loads(ran.out.splitlines()[-1])
    assert (end["type"], end["weak"]) == ("end", True)


def test_documents_that_were_asked_for_are_not_judged_by_the_scores_of_code(run: Run, samples: Path) -> None:
    assert not answer(run, samples, "how can a note carry no scripts", "--kind", "doc")[0]["weak"]


@pytest.mark.parametrize("arguments", [(FOREIGN, "--mode", "keyword"), (FOREIGN, "--profile", "rrf"), ("nearest",)])
def test_names_other_modes_and_profiles_are_not_judged(run: Run, samples: Path, arguments: tuple[str, ...]) -> None:
    assert not answer(run, samples, *arguments)[0]["weak"]
