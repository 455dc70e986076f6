"""Words that are spelt alike learn from each other."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from codelens.embed.model_file import PIECE
from codelens.training.model import Recipe
from codelens.training.trainer import SummedRows, compute_part_shares, list_letter_runs

NAMES = ["parse", "parser", "parsing", "walk", "walks", PIECE + "pars"]
RECIPE = Recipe(dimensions=8, part_lengths=(4,), part_rows=2)


def test_parts_are_runs_of_letters_and_know_where_a_word_ends() -> None:
    assert list_letter_runs("parse", (4, 5)) == ["<par", "pars", "arse", "rse>", "<pars", "parse", "arse>"]
    assert list_letter_runs(PIECE + "pars", (4,)) == ["<par", "pars"]
    assert list_letter_runs("anananan", (4,)) == ["<ana", "anan", "nana", "nan>"]
    assert list_letter_runs("a", (4,)) == []


@pytest.mark.slow
def test_a_part_needs_several_names_and_a_name_shares_itself_out() -> None:
    found = compute_part_shares(NAMES, RECIPE).toarray()
    assert found.shape[1] == 5  # <par pars arse <wal walk
    assert (found[0] > 0).sum() == 3 and (found[3] > 0).sum() == 2
    assert (found**2).sum(axis=1) == pytest.approx(1)


@pytest.mark.slow
def test_a_row_moves_with_those_that_share_its_parts() -> None:
    rows = np.ones((len(NAMES), 8), np.float32)
    summed = SummedRows(rows, NAMES, RECIPE)
    before = rows.copy()
    summed.move(np.array([0]), np.ones((1, 8), np.float32), 0.01, 1)
    moved = np.abs(rows - before).max(axis=1)
    assert moved[0] > moved[1] > 0
    assert moved[2] > 0 and moved[5] > 0
    assert moved[3] == moved[4] == 0


@pytest.mark.slow
def test_without_parts_words_learn_alone() -> None:
    rows = np.ones((len(NAMES), 8), np.float32)
    summed = SummedRows(rows, NAMES, replace(RECIPE, part_lengths=()))
    before = rows.copy()
    summed.move(np.array([0]), np.ones((1, 8), np.float32), 0.01, 1)
    assert (rows != before).any(axis=1).tolist() == [True] + [False] * 5
