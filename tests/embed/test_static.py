"""The static embedder: a file of whole numbers, and the same vectors from plain Python, from numpy and from the trainer."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from codelens.embed.base import EmbeddedFields
from codelens.embed.model_file import MAGIC, ModelFile, ModelTable, write_model
from codelens.embed.static import StaticEmbedder
from codelens.errors import UsageError
from codelens.training.corpus import map_to_rows
from codelens.training.model import Recipe, load_model, write_quantised
from codelens.training.trainer import embed_pairs, train_model
from tests.training.small import corpus, pairs
from tools.model.build import begin, build, frequencies

RECIPE = Recipe(dimensions=32, steps=40, batch=128, run=32, rate=0.02, sif=0.1)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    words = corpus()
    names = build(frequencies(words), 150, 60)
    found = map_to_rows(words, names)
    trained = begin(np.bincount(found.ids, minlength=len(names)).astype(np.int64), RECIPE)
    train_model(found, np.arange(len(found)), RECIPE, trained)
    path = tmp_path_factory.mktemp("models") / "small.model"
    write_quantised(path, trained, names, {"name": "small", "about": "made by a test"})
    return path


def as_vector(packed: bytes) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    found = np.frombuffer(packed, np.int8).astype(np.float64)
    return found / np.linalg.norm(found)


@pytest.mark.slow
def test_a_model_file_gives_the_vectors_of_the_trainer(model: Path) -> None:
    words = corpus()
    floats, names = load_model(ModelFile(model))
    queries, code = embed_pairs(map_to_rows(words, names), np.arange(40), floats)
    embedder = StaticEmbedder(model)
    asked = pairs(0, 40)
    fields = [EmbeddedFields(p["name"], p["context"], p["signature"], p["body"]) for p in asked]
    for i, packed in enumerate(embedder.embed_code(fields)):
        assert as_vector(packed) @ code[i] > 0.999
        assert as_vector(embedder.embed_query(asked[i]["query"])) @ queries[i] > 0.999


@pytest.mark.slow
def test_a_vector_is_the_same_alone_and_among_others(model: Path) -> None:
    fields = [EmbeddedFields(p["name"], p["context"], p["signature"], p["body"]) for p in pairs(9, 300)]
    together = StaticEmbedder(model).embed_code(fields)
    alone = StaticEmbedder(model)
    assert [alone.embed_code([f])[0] for f in fields[::7]] == together[::7]


@pytest.mark.slow
def test_a_text_without_words_has_no_vector(model: Path) -> None:
    embedder = StaticEmbedder(model)
    assert embedder.embed_query("") == b""
    assert embedder.embed_query("!? ++") == b""
    assert not any(embedder.embed_code([EmbeddedFields("", "", "", "")])[0])
    assert embedder.embed_code([]) == []


@pytest.mark.slow
def test_a_query_imports_no_numpy(model: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from codelens.embed.static import StaticEmbedder;"
        f"assert len(StaticEmbedder(Path({str(model)!r})).embed_query('remove the user')) == 32;"
        "assert 'numpy' not in sys.modules and 'codelens.zstd' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_hash_covers_the_numbers_and_not_the_card(tmp_path: Path) -> None:
    def written(name: str, weight: int, card: str) -> str:
        table = ModelTable(["a", "b"], [weight, 2], [1, 1], bytes(range(8)), [1, 1, 1, 1])
        write_model(tmp_path / name, {"name": card}, table)
        return ModelFile(tmp_path / name).digest()

    assert written("one", 1, "x") == written("two", 1, "y")
    assert written("one", 1, "x") != written("two", 3, "x")


@pytest.mark.slow
def test_rows_are_found_by_name(model: Path) -> None:
    file = ModelFile(model)
    assert [file.find_row(name) for name in file.names] == list(range(len(file.names)))
    assert file.find_row("no such word") is None


@pytest.mark.slow
@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(lambda raw: b"", id="empty"),
        pytest.param(lambda raw: b"not a model" * 40, id="something else"),
        pytest.param(lambda raw: raw[: len(raw) // 2], id="cut"),
        pytest.param(lambda raw: MAGIC + b"\xff\xff\xff\x7f" + raw[len(MAGIC) + 4 :], id="length"),
        pytest.param(lambda raw: raw.replace(b'"rows"', b'"raws"', 1), id="header"),
    ],
)
def test_a_file_that_is_not_a_model_is_refused(model: Path, tmp_path: Path, damage: object) -> None:
    path = tmp_path / "damaged.model"
    path.write_bytes(damage(model.read_bytes()))  # type: ignore[operator]
    with pytest.raises(UsageError):
        ModelFile(path)


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        ModelFile(tmp_path / "none.model")
