"""The whole way from files of pairs to a model that an embedder opens."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from codelens.embed.static import StaticEmbedder
from tests.training.small import pairs
from tools.model.build import main, parted, read_corpus
from tools.model.manifest import Package, write_manifest
from tools.model.pairs import ENDING, write_pairs

SMALL = ["--words", "150", "--pieces", "50", "--dimensions", "16", "--steps", "30", "--batch", "128", "--run", "32"]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Three packages' pairs and their manifest, of which one is held out."""
    folder = tmp_path / "pairs"
    folder.mkdir()
    rows = []
    for number, split in enumerate(("train", "train", "held-out")):
        write_pairs(folder / f"pypi-package{number}{ENDING}", pairs(number, 120))
        rows.append(Package("pypi", f"package{number}", "1", "MIT", "0" * 64, split, "python"))
    (tmp_path / "packages.tsv").write_text(write_manifest(rows))
    return tmp_path


def build(data: Path, model: str, *more: str) -> Path:
    path = data / model
    given = [str(data / "pairs"), str(path), "--manifest", str(data / "packages.tsv"), *SMALL, *more]
    assert main(given) == 0
    return path


@pytest.mark.slow
def test_pairs_become_a_model(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    embedder = StaticEmbedder(build(data, "one.model", "--name", "mine"))
    assert embedder.name == "mine"
    assert embedder.dimensions == 16
    assert len(embedder.embed_query("remove the user")) == 16
    told = capsys.readouterr()
    assert "held out" in told.err
    figures = [float(n) for n in re.findall(r"([\d.]+) as (?:trained|written)", told.out)]
    assert len(figures) == 2
    assert abs(figures[0] - figures[1]) < 0.02, "eight bits cost nothing"
    assert figures[0] > 0.05


@pytest.mark.slow
def test_it_can_be_repeated_and_the_seed_counts(data: Path) -> None:
    one, again, other = build(data, "one.model"), build(data, "two.model"), build(data, "three.model", "--seed", "2")
    assert one.read_bytes() == again.read_bytes()
    assert StaticEmbedder(one).compute_fingerprint() != StaticEmbedder(other).compute_fingerprint()


def test_what_the_manifest_holds_out_is_not_learnt_from(data: Path) -> None:
    corpus = read_corpus(data / "pairs")
    rows = [Package("pypi", "package1", "1", "MIT", "0" * 64, "held-out", "python")]
    learnt, held_out = parted(corpus, rows)
    assert {corpus.packages[i] for i in corpus.package[learnt]} == {"pypi-package0", "pypi-package2"}
    assert {corpus.packages[i] for i in corpus.package[held_out]} == {"pypi-package1"}
    assert (corpus.kinds[held_out] == 0).all()


def test_too_few_pairs_are_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "empty").mkdir()
    assert main([str(tmp_path / "empty"), str(tmp_path / "x.model"), *SMALL]) == 2
    assert "no pairs" in capsys.readouterr().err
    assert not (tmp_path / "x.model").exists()
