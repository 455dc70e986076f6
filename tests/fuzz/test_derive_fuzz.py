"""Arbitrary and broken bytes through every grammar; `make fuzz` tries thousands."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from codelens.config import Settings
from codelens.indexing.workers import derive_all
from codelens.model.extraction import DerivedDocument
from tools.fuzz.derive import check, written

ROUNDS = 5


@pytest.mark.slow
def test_no_bytes_stop_a_run(tmp_path: Path) -> None:
    jobs = list(written(tmp_path, random.Random(20), ROUNDS))
    results = list(derive_all(jobs, Settings(include_vendored=True)))
    assert len(results) == len(jobs)
    assert sum(isinstance(r, DerivedDocument) for r in results) > len(jobs) // 2
    for result in results:
        check(result)
