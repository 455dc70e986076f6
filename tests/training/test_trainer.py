"""Training: its gradients are those of its loss, it learns what words mean, and it can be repeated."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from codelens.training.corpus import KINDS, Corpus, build_bag_matrix, map_to_rows
from codelens.training.model import DOC, FIELDS, Model, Recipe
from codelens.training.trainer import (
    compute_gradients,
    compute_reciprocal_rank,
    draw_batches,
    drop_words,
    embed_pairs,
    find_same_questions,
    train_model,
)
from tests.training.small import SAID, WRITTEN, corpus
from tools.model.build import begin, build, frequencies

pytestmark = pytest.mark.slow

SMALL = Recipe(dimensions=16, steps=120, batch=128, run=32, rate=0.02, sif=0.1)
WHOLE = replace(SMALL, dropped=(0.0, 0.0, 0.0, 0.0), forgotten=(0.0, 0.0))


def begun(recipe: Recipe = SMALL) -> tuple[Corpus, Model, list[str]]:
    words = corpus()
    rows = build(frequencies(words), 200, 50)
    found = map_to_rows(words, rows)
    return found, begin(np.bincount(found.ids, minlength=len(rows)).astype(np.int64), recipe), rows


@pytest.mark.parametrize("part", ["rows", "query", "code", "factors", "temperature"])
def test_the_gradients_are_those_of_the_loss(part: str) -> None:
    found, model, _ = begun()
    pairs = np.arange(0, 60)
    model.factors += np.array([0.1, -0.2, 0.3, 0.0], np.float32)

    def loss(changed: Model) -> float:
        return compute_gradients(found, pairs, changed, WHOLE, np.random.default_rng(0))[0]

    _, slope = compute_gradients(found, pairs, model, WHOLE, np.random.default_rng(0))
    step = 1e-2
    draw = np.random.default_rng(3)
    if part == "temperature":
        up, down = (replace_temperature(model, model.temperature * np.exp(s)) for s in (step, -step))
        assert (loss(up) - loss(down)) / (2 * step) == pytest.approx(float(slope.heat[0]), rel=0.02, abs=1e-3)
        return
    given = getattr(slope, part)
    direction = draw.standard_normal(given.shape).astype(np.float32)
    moved = []
    for sign in (step, -step):
        changed = model.copy()
        value = getattr(changed, part)
        value[slice(None) if part == "factors" else slope.used] += np.float32(sign) * direction
        moved.append(loss(changed))
    assert (moved[0] - moved[1]) / (2 * step) == pytest.approx(float((given * direction).sum()), rel=0.05, abs=2e-3)


def test_factors_are_learnt_from_whole_pairs_of_a_kind() -> None:
    found, model, _ = begun()
    docs = np.flatnonzero(found.kinds == DOC)[:60]
    without_names = replace(SMALL, dropped=(1.0, 0.0, 0.0, 0.0))
    slopes = [
        compute_gradients(found, docs, model, r, np.random.default_rng(0))[1].factors for r in (WHOLE, without_names)
    ]
    assert [bool(slope[DOC].any()) for slope in slopes] == [True, False]
    assert not np.delete(slopes[0], DOC, axis=0).any()


def test_words_are_forgotten_as_often_as_the_recipe_says() -> None:
    found, _, _ = begun()
    shares, _ = build_bag_matrix(found, np.arange(600 * 5))
    kept = shares.copy()
    drop_words(kept, 1000, replace(SMALL, forgotten=(0.0, 0.4)), np.random.default_rng(0))
    end = shares.indptr[1000]
    assert (kept.data[:end] == shares.data[:end]).all()
    assert (kept.data[end:] == 0).mean() == pytest.approx(0.4, abs=0.03)
    left = kept.data[end:] != 0
    assert (kept.data[end:][left] == shares.data[end:][left]).all()


def replace_temperature(model: Model, temperature: float) -> Model:
    changed = model.copy()
    changed.temperature = float(temperature)
    return changed


def test_it_learns_which_words_of_queries_match_which_words_of_code() -> None:
    found, model, rows = begun()
    learnt, held = np.arange(0, 450), np.arange(450, 600)  # the fourth package is not shown
    before = compute_reciprocal_rank(found, held, model)
    losses: list[float] = []
    train_model(found, learnt, SMALL, model, lambda step, loss, now: losses.append(loss))
    after = compute_reciprocal_rank(found, held, model)
    assert np.mean(losses[-10:]) < np.mean(losses[:10]) - 1
    assert after > before + 0.15
    place = {name: i for i, name in enumerate(rows)}
    unit = model.rows / np.linalg.norm(model.rows, axis=1, keepdims=True)
    for said, written in zip(SAID, WRITTEN, strict=True):
        nearest = max(WRITTEN, key=lambda w: float(unit[place[said]] @ unit[place[w]]))
        assert nearest == written


def test_it_can_be_repeated() -> None:
    results = []
    for _ in range(2):
        found, model, _ = begun()
        train_model(found, np.arange(600), replace(SMALL, steps=20), model)
        results.append((model.rows.tobytes(), model.query.tobytes(), model.factors.tobytes(), model.temperature))
    assert results[0] == results[1]


def test_bodies_count_less_than_training_finds() -> None:
    factors = []
    for body in (1.0, 0.5):
        found, model, _ = begun()
        train_model(found, np.arange(600), replace(SMALL, steps=5, body=body), model)
        factors.append(model.factors)
    assert np.exp(factors[1] - factors[0]) == pytest.approx(np.array([[1.0, 1.0, 1.0, 0.5]] * len(KINDS)), rel=1e-5)


def test_batches_hold_runs_of_a_package_and_each_kind_its_share() -> None:
    found, _, _ = begun()
    source = draw_batches(
        found, np.arange(600), replace(SMALL, shares=(0.75, 0.25, 0.0, 0.0, 0.0)), np.random.default_rng(1)
    )
    for _ in range(5):
        pairs = next(source)
        kinds = found.kinds[pairs]
        assert len(pairs) > 100
        assert abs((kinds == 0).mean() - 0.75) < 0.1
        assert len(np.unique(found.package[pairs])) <= 6


def test_pairs_that_ask_the_same_are_found() -> None:
    one, other = find_same_questions(np.array([5, 7, 5, 9, 5], np.int64))
    assert sorted(zip(one.tolist(), other.tolist(), strict=True)) == [(0, 2), (0, 4), (2, 0), (2, 4), (4, 0), (4, 2)]
    assert [len(part) for part in find_same_questions(np.array([1, 2, 3], np.int64))] == [0, 0]


def test_vectors_have_length_one() -> None:
    found, model, _ = begun()
    for part in embed_pairs(found, np.arange(50), model):
        assert part.shape == (50, SMALL.dimensions)
        assert np.linalg.norm(part, axis=1) == pytest.approx(1, abs=1e-5)
    assert model.factors.shape == (len(KINDS), FIELDS)
