"""The collection of questions: its size, its shares of kinds, and that the checks find what breaks its rules."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tools.questions import check, collection
from tools.questions.collection import PARTS, read_packages, read_part


def test_the_collection_has_no_fault() -> None:
    assert not list(check.find_faults())


def test_parts_and_kinds_have_their_shares() -> None:
    kinds = Counter(row["kind"] for part in PARTS for row in check.read_rows(part))
    total = sum(kinds.values())
    assert total >= 6000 and len(read_packages()) >= 200
    assert len({package.language for package in read_packages()}) >= 10
    for kind, share in {"concept": 0.4, "task": 0.2, "behaviour": 0.15, "symptom": 0.15, "nothing": 0.1}.items():
        assert kinds[kind] / total == pytest.approx(share, abs=0.02)


def test_no_package_is_in_two_parts() -> None:
    names = [set(read_part(part)) for part in PARTS]
    assert not names[0] & names[1] and not names[0] & names[2] and not names[1] & names[2]


def test_a_repeated_question_and_a_wrong_package_are_faults(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "excluded.txt").write_text("flask")
    here = tmp_path / "questions"
    here.mkdir()
    (here / "packages.tsv").write_text((collection.HERE / "packages.tsv").read_text())
    line = (collection.HERE / "measure.jsonl").read_text().splitlines()[0]
    for part in PARTS:
        (here / f"{part}.jsonl").write_text(f"{line}\n" * 2 if part == "measure" else f"{line}\n" * (part == "learn"))
    monkeypatch.setattr(collection, "HERE", here)
    monkeypatch.setattr(check, "HERE", here)
    faults = list(check.find_faults())
    assert any("its package is not of this part" in fault for fault in faults)
    assert any(fault.startswith("asked 3 times") for fault in faults)
