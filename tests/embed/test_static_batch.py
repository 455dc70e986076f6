"""The static embedder: numpy's batches and plain Python give the same vectors, to the bit, in any company."""

from __future__ import annotations

import math
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from codelens.embed.base import EmbeddedFields
from codelens.embed.model_file import ModelFile, find_word_rows
from codelens.embed.static import ROOTS, StaticEmbedder
from codelens.text.terms import split_into_words, tokens
from tests.embed.models import WORDS, make_model

texts = st.one_of(
    st.text(max_size=200),
    st.lists(st.sampled_from([*WORDS, "getHTTPResponse", "größe", "連接数据库", "__init__", "42"]), max_size=80).map(
        " ".join
    ),
)
entries = st.lists(st.tuples(texts, texts, texts, texts), max_size=8)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_model(tmp_path_factory.mktemp("models") / "m.model")


def rows(file: ModelFile, text: str) -> Counter[int]:
    return Counter(
        row for token in tokens(text) for word in split_into_words(token) for row in find_word_rows(word, file.find_row)
    )


def vector(file: ModelFile, weights: Sequence[tuple[int, int]]) -> bytes:
    """The sum of rows, each times a whole number, in Python's own numbers, of length 127."""
    sums = [0] * file.dimensions
    for row, number in weights:
        for i in range(file.dimensions):
            sums[i] += number * file.rows[row * file.dimensions + i]
    norm = math.sqrt(sum(v * v for v in sums))
    return bytes(round(v * (127 / norm)) & 0xFF for v in sums) if norm else bytes(file.dimensions)


def slowly(file: ModelFile, fields: Sequence[str]) -> bytes:
    weights = []
    for text, factor in zip(fields, file.factors, strict=True):
        bag = rows(file, text)
        for row, count in bag.items():
            share = math.sqrt(count / bag.total())
            weights.append((row, round(file.code_weights[row] * share * factor)))
    return vector(file, weights)


@settings(deadline=None)  # the first example imports numpy
@given(entries)
def test_batches_give_the_same_vectors_as_plain_python(model: Path, entries: list[tuple[str, str, str, str]]) -> None:
    found = StaticEmbedder(model).embed_code([EmbeddedFields(*entry) for entry in entries])
    assert found == [slowly(ModelFile(model), entry) for entry in entries]


@settings(deadline=None)  # the first example imports numpy
@given(texts)
def test_queries_are_sums_of_rows(model: Path, text: str) -> None:
    file = ModelFile(model)
    weights = [(row, file.query_weights[row] * ROOTS[count]) for row, count in rows(file, text).items()]
    expected = vector(file, weights)
    assert StaticEmbedder(model).embed_query(text) == (expected if any(expected) else b"")


def test_long_entries_and_long_calls_are_embedded_exactly(model: Path) -> None:
    """Beyond what is summed in 32 bits, and over several passes."""
    file = ModelFile(model)
    some = [("open", "file", " ".join(WORDS[i % 7 :]), " ".join(WORDS) * (i % 5 * 40)) for i in range(60)]
    wide = ("a b c", "", "", " ".join(f"{a}{b}" for a in "abcdefghijklmnopqrstuvwxyz0123456789" for b in "xyz"))
    found = StaticEmbedder(model).embed_code([EmbeddedFields(*entry) for entry in [*some, wide]])
    assert found == [slowly(file, entry) for entry in [*some, wide]]


def test_a_query_does_not_import_numpy(model: Path) -> None:
    program = (
        "import sys; from codelens.embed.registry import open_embedder; "
        f"assert open_embedder({str(model)!r}).embed_query('open the file'); assert 'numpy' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
