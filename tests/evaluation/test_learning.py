"""Learning weights: what is planted is found, signs hold, sets are fitted as they are mixed, and all of it repeats itself."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

from codelens.config import load_weights
from codelens.errors import UsageError
from codelens.evaluation.fitting import (
    COLUMNS,
    KINDS,
    LOOSE,
    NEVER_NEGATIVE,
    NEVER_POSITIVE,
    RANKS,
    UNTAUGHT,
    Sample,
    TrainingQuery,
    Weights,
    compute_relevance,
    fit_queries,
    fit_weights,
    score_candidates,
    select_bounds,
)
from codelens.evaluation.tune import DECIMALS, format_features
from codelens.search.intent import SHAPES
from tools.model.choose import excluded_names, exclusion
from tools.weights.__main__ import with_features
from tools.weights.folds import fit_shipped
from tools.weights.repositories import read_manifest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
PLANTED = np.array([3.0, -2.0, 0.0], np.float32)


def questions(
    count: int, planted: np.ndarray, shares: tuple[float, ...] = (1.0,), seed: int = 1
) -> list[TrainingQuery]:
    """Twenty candidates each; the answer is drawn by the softmax of what the planted weights say."""
    chance = np.random.default_rng(seed)
    found = []
    for _ in range(count):
        values = chance.random((20, len(planted)), np.float32)
        powers = np.exp(values @ planted)
        relevance = np.zeros(20, np.float32)
        relevance[chance.choice(20, p=powers / powers.sum())] = 1.0
        found.append(TrainingQuery(values, relevance, shares))
    return found


def test_planted_weights_are_found() -> None:
    found, _ = fit_queries(questions(4000, PLANTED), [[0.0]] * 3, 0.0, [(None, None)] * 3)
    assert np.array(found)[:, 0] == pytest.approx(PLANTED, abs=0.25)


def test_bounds_hold_and_one_weight_may_be_given() -> None:
    limits = [(1.0, 1.0), (0.0, None), (None, -0.5)]
    found, _ = fit_queries(questions(500, PLANTED), [[0.0]] * 3, 0.0, limits)
    (first,), (second,), (third,) = found
    assert (first, second) == (1.0, 0.0)
    assert third <= -0.5


def test_sets_are_fitted_under_the_shares_in_which_they_are_mixed() -> None:
    one, other = np.array([4.0, 0.0, 0.0], np.float32), np.array([0.0, 4.0, 0.0], np.float32)
    asked = questions(2500, one, (1.0, 0.0), 1) + questions(2500, (one + other) / 2, (0.5, 0.5), 2)
    found, _ = fit_queries(asked, [[0.0, 0.0]] * 3, 0.0, [(None, None)] * 3)
    assert np.array(found)[:, 0] == pytest.approx(one, abs=0.4)
    assert np.array(found)[:, 1] == pytest.approx(other, abs=0.6)


def test_the_pull_keeps_weights_where_they_began() -> None:
    asked = questions(50, PLANTED)
    (near, *_), _ = fit_queries(asked, [[1.0]] * 3, 100.0, [(None, None)] * 3)
    (far, *_), _ = fit_queries(asked, [[1.0]] * 3, 0.001, [(None, None)] * 3)
    assert abs(near[0] - 1.0) < 0.01 < abs(far[0] - 1.0)


def test_a_block_boundary_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = questions(60, PLANTED)
    whole, loss = fit_queries(asked, [[0.0]] * 3, 0.1, [(None, None)] * 3)
    monkeypatch.setattr("codelens.evaluation.fitting.ROWS", 100)
    parts, same = fit_queries(asked, [[0.0]] * 3, 0.1, [(None, None)] * 3)
    assert np.array(parts) == pytest.approx(np.array(whole), abs=1e-3)
    assert same == pytest.approx(loss, abs=1e-5)


def test_questions_without_an_answer_teach_nothing() -> None:
    asked = questions(100, PLANTED)
    dumb = TrainingQuery(np.ones((5, 3), np.float32), np.zeros(5, np.float32))
    fitted = [fit_queries(part, [[0.0]] * 3, 0.1, [(None, None)] * 3) for part in (asked, [*asked, dumb])]
    assert fitted[0] == fitted[1]
    with pytest.raises(ValueError, match="no question"):
        fit_queries([dumb], [[0.0]] * 3, 0.1, [(None, None)] * 3)


# Measured tasks


def measured(kind: str, shape: str, planted: Mapping[str, float], number: int, repository: str = "boats") -> Sample:
    chance = np.random.default_rng(number)
    values = np.zeros((30, len(COLUMNS)), np.float32)
    strength = np.zeros(30)
    for name, weight in planted.items():
        values[:, COLUMNS.index(name)] = chance.random(30, np.float32)
        strength += weight * values[:, COLUMNS.index(name)]
    credits = np.full(30, -1, np.int16)
    powers = np.exp(strength)
    credits[chance.choice(30, p=powers / powers.sum())] = 0
    shares = tuple(float(name == shape) for name in SHAPES)
    key = f"{repository}/{kind}-{number}"
    return Sample(key, repository, kind, shares, 1, values, credits, np.zeros(30, np.bool_), np.zeros(30, np.bool_))


def many(count: int = 300) -> list[Sample]:
    changes = [measured("commit", "change", {"lines": 4.0, "nearest": 2.0, "chunk": 3.0}, n) for n in range(count)]
    asked = [measured("documentation", "question", {"lines": -4.0, "nearest": 5.0}, 1000 + n) for n in range(count)]
    return changes + asked


def of(weights: Weights, name: str, shape: str) -> float:
    weight = weights[name]
    assert not isinstance(weight, float | int)
    return weight[shape]


def test_each_set_learns_from_its_own_queries() -> None:
    fitted = fit_weights(many(), {}, 0.001)
    assert of(fitted.weights, "lines", "change") > 2 > -2 > of(fitted.weights, "lines", "question")
    assert of(fitted.weights, "nearest", "question") > of(fitted.weights, "nearest", "change") > 1
    assert of(fitted.weights, "lines", "task") == 0.0
    assert of(fitted.weights, "chunk", "change") == 0.0, (
        "planted at 3, and text between definitions is never found for being it"
    )
    assert fitted.tasks == {"commit": 300, "documentation": 300}


def test_learning_repeats_itself() -> None:
    assert fit_weights(many(60), {}, 0.01) == fit_weights(many(60), {}, 0.01)


def test_little_that_is_known_moves_shipped_weights_little() -> None:
    shipped: Weights = load_weights()["codelens"]["features"]
    fitted = fit_weights(many(20), shipped, 0.5)
    moved = [abs(of(fitted.weights, "lines", "change") - shipped["lines"]["change"])]  # type: ignore[index]
    assert 0 < moved[0] < 1
    assert of(fitted.weights, "bm25", "change") == pytest.approx(shipped["bm25"]["change"], abs=0.01)  # type: ignore[index]


def test_kinds_that_teach_nothing_are_left_out() -> None:
    strange = measured("story", "task", {"lines": 9.0}, 1)
    assert fit_weights([*many(20), strange], {}, 0.1).loss == fit_weights(many(20), {}, 0.1).loss
    with pytest.raises(UsageError, match="no task has an answer"):
        fit_weights([strange], {}, 0.1)


def test_a_commit_to_tests_alone_teaches_only_where_its_subject_speaks_of_tests() -> None:
    def tests_changed(number: int, feature: str) -> Sample:
        one = measured("commit", "change", {"lines": 4.0}, number)
        one.values[one.credits >= 0, COLUMNS.index(feature)] = 1.0
        return one

    unsaid = [tests_changed(2000 + n, "test") for n in range(20)]
    assert fit_shipped([*many(20), *unsaid]) == fit_shipped(many(20))
    said = [tests_changed(2000 + n, "function") for n in range(20)]
    fitted = fit_shipped([*many(20), *said])
    assert fitted.tasks["commit"] == 40
    assert of(fitted.weights, "function", "change") > 0.5
    assert fit_weights([*many(20), *unsaid], {}, 0.1).tasks["commit"] == 40, "one's own habits are one's own"


@pytest.mark.parametrize(
    ("credits", "aside", "loosely_right", "expected"),
    [
        ([0, 1, -1], [False, True, False], [True, True, False], [1.0, 0.0, 0.0]),
        ([-1, 0, -1], [False, True, False], [False, True, False], [0.0, 1.0, 0.0]),
        ([0, -1, -1], [False, False, True], [True, True, True], [1.0, LOOSE, 0.0]),
    ],
    ids=["not next to answers in code", "as the only answers", "of the theme, in code"],
)
def test_answers_outside_the_code_and_of_the_theme(
    credits: list[int], aside: list[bool], loosely_right: list[bool], expected: list[float]
) -> None:
    values = np.zeros((3, len(COLUMNS)), np.float32)
    arrays = np.array(credits, np.int16), np.array(aside), np.array(loosely_right)
    found = compute_relevance(Sample("a/1", "a", "commit", (), 2, values, *arrays))
    assert found.tolist() == pytest.approx(expected)


def test_the_section_that_a_topic_is_of_is_no_candidate() -> None:
    def topic(sections: float) -> Sample:
        one = measured("topic", "task", {"lines": 4.0}, 7)
        one.values[:, COLUMNS.index("section")] = np.where(one.credits < 0, sections, 0.0)
        return one

    with_code, alone = fit_weights([topic(0.0)], {}, 0.1), fit_weights([topic(1.0)], {}, 0.1)
    assert with_code.loss > alone.loss, "nothing but the answer is left beside sections"


def test_a_score_is_ranks_and_features() -> None:
    one = measured("commit", "change", {"lines": 1.0, RANKS: 1.0}, 3)
    expected = one.values[:, COLUMNS.index("lines")] * 2.0 + one.values[:, COLUMNS.index(RANKS)]
    assert score_candidates(one, {"lines": {"change": 2.0, "task": 9.0}}) == pytest.approx(expected, rel=1e-5)


def test_every_rule_is_of_a_feature_that_there_is() -> None:
    named = set(UNTAUGHT) | NEVER_POSITIVE | NEVER_NEGATIVE
    assert named <= set(COLUMNS)
    assert select_bounds(RANKS) == (1.0, 1.0)
    assert not NEVER_POSITIVE & NEVER_NEGATIVE
    assert all(share > 0 for share in KINDS.values())


# The file


WEIGHTS: Weights = {"bm25": {"task": 1.23456, "change": 0.0001, "identifier": -0.0001}, "own_class": 30.0, "walk": {}}


def test_a_table_reads_as_what_was_learned() -> None:
    text = format_features(WEIGHTS)
    assert text == "[codelens.features]\nbm25 = { task = 1.235 }\nown_class = 30.0\n"
    assert tomllib.loads(text) == {"codelens": {"features": {"bm25": {"task": 1.235}, "own_class": 30.0}}}


def test_the_shipped_weights_are_written_as_they_stand() -> None:
    text = (ROOT / "codelens/weights.toml").read_text(encoding="utf-8")
    features = tomllib.loads(text)["codelens"]["features"]
    assert tomllib.loads(with_features(text, features)) == tomllib.loads(text)
    assert with_features(with_features(text, features), features) == with_features(text, features)
    changed = with_features(text, WEIGHTS)
    assert tomllib.loads(changed)["codelens"]["features"] == {"bm25": {"task": 1.235}, "own_class": 30.0}
    rest = {name: section for name, section in tomllib.loads(text)["codelens"].items() if name != "features"}
    assert {n: s for n, s in tomllib.loads(changed)["codelens"].items() if n != "features"} == rest
    assert changed.count("\n# The walk over the symbol graph.") == 1, "a comment above the next table stays with it"


def test_a_text_ends_with_the_table_or_has_none() -> None:
    assert with_features("[codelens.features]\nold = 1\n", WEIGHTS) == format_features(WEIGHTS)
    with pytest.raises(ValueError, match="there is no"):
        with_features("[rrf.features]\n", WEIGHTS)
    assert DECIMALS == 3


# The manifest


def test_the_shipped_manifest() -> None:
    rows = read_manifest()
    assert len(rows) >= 25
    assert len({row.language for row in rows}) >= 8
    assert all(len(row.head) == 40 and int(row.head, 16) for row in rows)
    assert [row.name for row in rows] == sorted({row.name for row in rows})
    text = (ROOT / "tools/model/excluded.txt").read_text(encoding="utf-8")
    names = excluded_names(text)
    assert names
    refused = {
        row.repository: exclusion(part, names) for row in rows for part in (row.name, *row.repository.split("/"))
    }
    assert not [repository for repository, why in refused.items() if why]


def test_an_invalid_manifest(tmp_path: Path) -> None:
    path = tmp_path / "m.tsv"
    for text in ("", "name\n", "name\trepository\thead\tlanguage\na\tb\n"):
        path.write_text(text)
        with pytest.raises(UsageError, match=r"m\.tsv:"):
            read_manifest(path)
    with pytest.raises(UsageError):
        read_manifest(tmp_path / "none.tsv")


def test_where_a_clone_lies(tmp_path: Path) -> None:
    row = read_manifest()[0]
    with pytest.raises(UsageError, match="no clone of"):
        row.clone(tmp_path)
    for place in (row.repository.split("/")[1], row.repository.replace("/", "+") + "/repo"):
        (tmp_path / place).mkdir(parents=True)
        assert row.clone(tmp_path) == tmp_path / place
