"""The hashing embedder: its vectors are the same from both paths, everywhere, and near where words are shared."""

from __future__ import annotations

import math
import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from codelens.embed.base import EmbeddedFields
from codelens.embed.hashing import HashingBatch, HashingEmbedder, read_common_words
from tests.steps import calls

EMBEDDER = HashingEmbedder()
NAMES = [
    "getHTTPResponse",
    "parse_config",
    "_private",
    "BM25Nodes",
    "x509Cert",
    "連接数据库",
    "größe",
    "the",
    "return",
    "__init__",
    "42",
    "a",
]
texts = st.one_of(st.text(max_size=300), st.lists(st.sampled_from(NAMES), max_size=60).map(" ".join))


def code(name: str = "", context: str = "", signature: str = "", body: str = "") -> bytes:
    (vector,) = EMBEDDER.embed_code([EmbeddedFields(name, context, signature, body)])
    return vector


def nearness(one: bytes, other: bytes) -> float:
    return float(np.dot(np.frombuffer(one, np.int8).astype(int), np.frombuffer(other, np.int8).astype(int))) / 127**2


@given(texts)
def test_queries_and_batches_give_the_same_vectors(text: str) -> None:
    (expected,) = HashingBatch(filler=0).embed_entries([("", "", "", text)])
    assert EMBEDDER.embed_query(text) == (expected if any(expected) else b"")


@given(st.lists(st.tuples(texts, texts, texts, texts), max_size=8))
def test_a_vector_does_not_depend_on_other_entries(entries: list[tuple[str, str, str, str]]) -> None:
    fields = [EmbeddedFields(*entry) for entry in entries]
    assert EMBEDDER.embed_code(fields) == [vector for one in fields for vector in HashingEmbedder().embed_code([one])]


@given(texts)
def test_vectors_have_length_127_or_none(text: str) -> None:
    vector = np.frombuffer(code(body=text), np.int8).astype(float)
    assert len(vector) == EMBEDDER.dimensions
    assert not vector.any() or abs(math.sqrt(vector @ vector) - 127) < 5  # 256 roundings of at most a half


@pytest.mark.slow
def test_a_long_text_causes_no_overflow() -> None:
    one = code(body="token " * 1_000_000 + " ".join(f"word{i}" for i in range(50_000)))
    assert any(one)


@pytest.mark.parametrize("text", ["", "  ", "the of and", "+-*/"])
def test_a_query_without_words_of_weight_has_no_vector(text: str) -> None:
    assert EMBEDDER.embed_query(text) == b""


def test_shared_words_and_stems_are_near() -> None:
    query = EMBEDDER.embed_query("how is the configuration parsed")
    wanted = code(
        "parse_config", "Settings app/config.py", "def parse_config(path)", "return Configuration(read(path))"
    )
    other = code("send_mail", "Mailer app/mail.py", "def send_mail(to, subject)", "self.connection.write(message)")
    assert nearness(query, wanted) > 0.3 > nearness(query, other) + 0.15


def test_common_words_have_no_weight_in_queries() -> None:
    assert {"the", "how"} <= read_common_words() and "config" not in read_common_words()
    assert EMBEDDER.embed_query("how is the config parsed") == EMBEDDER.embed_query("config parsed")


@pytest.mark.parametrize("rule", ["STEMS", "WORD", "FILLER_IN_CODE", "VERSION", "FIELD_FACTORS"])
def test_the_fingerprint_follows_every_rule(rule: str, monkeypatch: pytest.MonkeyPatch) -> None:
    before = HashingEmbedder().compute_fingerprint()
    monkeypatch.setattr(f"codelens.embed.hashing.{rule}", {"changed": 1.0})
    assert HashingEmbedder().compute_fingerprint() != before


def test_the_same_bytes_whatever_the_hash_seed() -> None:
    program = (
        "from codelens.embed.hashing import HashingEmbedder as e; from codelens.embed.base import EmbeddedFields as F; import sys; "
        "print(e().compute_fingerprint(), e().embed_query('open the file reader').hex()); "
        "print(e().embed_code([F('a_b', 'c', 'd', 'e')])[0].hex())"
    )
    answers = {
        subprocess.run(
            [sys.executable, "-c", program], env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True, check=True
        ).stdout
        for seed in ("0", "1", "77")
    }
    assert len(answers) == 1


def test_a_query_imports_no_numpy() -> None:
    program = (
        "import sys; from codelens.embed.registry import open_embedder; open_embedder('hashing').embed_query('a query of words'); "
        "sys.exit('numpy' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program]).returncode == 0


def test_features_of_a_token_are_computed_once() -> None:
    words = [f"word{i % 700}" for i in range(300)]
    fields = [EmbeddedFields("name", "context", "def f(x)", " ".join(words[i % 7 :])) for i in range(600)]
    computed = calls(lambda: EMBEDDER.embed_code(fields))["hashing.__missing__"]
    assert 0 < computed < 2 * len(words)
