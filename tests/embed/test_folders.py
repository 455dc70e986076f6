"""Models of others in folders: their vectors are those that their files say, in our form, and each depends on its text alone."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from codelens.embed.base import EmbeddedFields, Embedder, format_fields, scale_to_int8
from codelens.embed.registry import open_embedder
from codelens.errors import UsageError, format_install_command
from tests.embed.folders import TOKENS, make_graph, make_table, sentence_layout, table

pytestmark = pytest.mark.slow


def entry(body: str, name: str = "", signature: str = "") -> EmbeddedFields:
    return EmbeddedFields(name, "", signature, body)


def opened(path: Path) -> Embedder:
    return open_embedder(str(path))


def rows_of(words: str, seed: int = 1, dimensions: int = 20, frame: bool = True) -> Any:
    tokens = ["[CLS]", *words.split(), "[SEP]"] if frame else words.split()
    return table(seed, dimensions)[[TOKENS.index(token) for token in tokens]].astype(np.float64)


def alike(found: bytes, expected: Iterable[float]) -> bool:
    """Equal but for a last digit, which sums in 32 bits may turn."""
    wanted = np.frombuffer(scale_to_int8([float(v) for v in expected]), np.int8).astype(int)
    got = np.frombuffer(found, np.int8).astype(int)
    return got.shape == wanted.shape and bool(np.abs(got - wanted).max() <= 1)


BODIES = [
    "open file",
    "reader",
    "open file reader stock reserve first path greet name self return def " * 9,
    "stock",
    "",
]


@pytest.mark.parametrize("make", [make_table, make_graph])
def test_a_vector_depends_on_its_text_alone(make: Any, tmp_path: Path) -> None:
    embedder = opened(make(tmp_path / "m"))
    together = embedder.embed_code([entry(body) for body in BODIES])
    assert together == [embedder.embed_code([entry(body)])[0] for body in BODIES]
    assert together[::-1] == embedder.embed_code([entry(body) for body in BODIES[::-1]])
    assert embedder.embed_code([]) == []
    assert len(set(together)) == len(BODIES)
    for vector in together[:-1]:
        assert len(vector) == 24, "20 dimensions, and zeros up to whole bytes of bits"
        length = math.hypot(*np.frombuffer(vector, np.int8).tolist())
        assert length == pytest.approx(127, abs=2)
    assert embedder.embed_query("") == b""
    assert embedder.is_slow


def test_a_table_gives_the_mean_of_the_rows(tmp_path: Path) -> None:
    embedder = opened(make_table(tmp_path / "m"))
    assert (embedder.name, embedder.dimensions) == ("m", 20)
    (vector,) = embedder.embed_code([entry("open file", name="greet")])
    assert alike(vector, rows_of("greet open file", frame=False).mean(axis=0))
    assert alike(embedder.embed_query("stock"), rows_of("stock", frame=False)[0])
    assert embedder.embed_query("unheard-of") == opened(tmp_path / "m").embed_query("unheard-of")


@pytest.mark.parametrize("make", [make_table, make_graph])
def test_words_of_the_vocabulary_are_known(make: Any, tmp_path: Path) -> None:
    embedder = opened(make(tmp_path / "m"))
    assert embedder.knows_any_word("where to open it") and embedder.knows_any_word("Stock?")
    assert (
        not embedder.knows_any_word("xqzzy") and not embedder.knows_any_word("") and not embedder.knows_any_word(": 12")
    )


@pytest.mark.parametrize("file", ["model.onnx", "onnx/model.onnx"])
def test_a_graph_without_a_layout_is_pooled_by_the_mean(file: str, tmp_path: Path) -> None:
    embedder = opened(make_graph(tmp_path / "m", file=file))
    (vector,) = embedder.embed_code([entry("open file")])
    assert alike(vector, rows_of("open file").mean(axis=0))
    assert alike(embedder.embed_query("stock"), rows_of("stock").mean(axis=0))


@pytest.mark.parametrize(
    ("pooling", "by_cls"),
    [
        ({}, False),
        ({"pooling_mode_mean_tokens": False, "pooling_mode_cls_token": True}, True),
        ({"pooling_mode": "cls"}, True),
        ({"pooling_mode": "mean"}, False),
    ],
)
def test_the_layout_of_a_folder_decides_the_pooling(pooling: dict[str, Any], by_cls: bool, tmp_path: Path) -> None:
    embedder = opened(make_graph(tmp_path / "m", **sentence_layout(**pooling)))
    rows = rows_of("open file")
    assert alike(embedder.embed_query("open file"), rows[0] if by_cls else rows.mean(axis=0))


def test_the_pooled_output_of_a_graph_is_used(tmp_path: Path) -> None:
    embedder = opened(make_graph(tmp_path / "m", whole=True, **sentence_layout()))
    assert alike(embedder.embed_query("open file"), rows_of("open file").sum(axis=0))


def test_prompts_stand_before_texts(tmp_path: Path) -> None:
    prompts = {"prompts": {"query": "query: ", "document": "code: "}, "default_prompt_name": None}
    embedder = opened(make_graph(tmp_path / "m", config_sentence_transformers=prompts))
    assert alike(embedder.embed_query("stock"), rows_of("query : stock").mean(axis=0))
    (vector,) = embedder.embed_code([entry("stock")])
    assert alike(vector, rows_of("code : stock").mean(axis=0))


def test_a_default_prompt_applies_to_code_and_queries(tmp_path: Path) -> None:
    prompts = {"prompts": {"any": "code: "}, "default_prompt_name": "any"}
    embedder = opened(make_graph(tmp_path / "m", config_sentence_transformers=prompts))
    assert embedder.embed_query("stock") == embedder.embed_code([entry("stock")])[0]
    assert alike(embedder.embed_query("stock"), rows_of("code : stock").mean(axis=0))


@pytest.mark.parametrize(
    "layout", [{"sentence_bert_config": {"max_seq_length": 4}}, {"config": {"max_position_embeddings": 4}}]
)
def test_texts_are_cut_at_the_token_limit_of_the_model(layout: dict[str, Any], tmp_path: Path) -> None:
    embedder = opened(make_graph(tmp_path / "m", **layout))
    assert alike(embedder.embed_query("open file reader stock"), rows_of("open file").mean(axis=0))


def test_only_inputs_that_the_graph_names_are_passed(tmp_path: Path) -> None:
    inputs = ("input_ids", "attention_mask", "token_type_ids", "position_ids")
    embedder = opened(make_graph(tmp_path / "m", inputs=inputs))
    assert embedder.embed_query("open file") == opened(make_graph(tmp_path / "n")).embed_query("open file")


@pytest.mark.parametrize("make", [make_table, make_graph])
def test_the_fingerprint_follows_the_content(make: Any, tmp_path: Path) -> None:
    first, moved, other = (make(tmp_path / name, seed=seed) for name, seed in (("a", 1), ("b", 1), ("c", 2)))
    before = opened(first).compute_fingerprint()
    assert before == opened(moved).compute_fingerprint() != opened(other).compute_fingerprint()
    make(first, seed=3)
    assert opened(first).compute_fingerprint() != before, "a folder that was written anew is read anew"


def test_the_fingerprint_follows_the_settings(tmp_path: Path) -> None:
    plain, cls = make_graph(tmp_path / "a"), make_graph(tmp_path / "b", **sentence_layout(pooling_mode="cls"))
    assert opened(plain).compute_fingerprint() != opened(cls).compute_fingerprint()


def break_graph(folder: Path) -> None:
    (folder / "model.onnx").write_bytes(b"no graph")


def break_tokenizer(folder: Path) -> None:
    (folder / "tokenizer.json").write_text("{}")


def break_table(folder: Path) -> None:
    (folder / "model.safetensors").write_bytes(b"no table")


@pytest.mark.parametrize(
    ("make", "damage", "said"),
    [
        (make_graph, break_graph, "onnxruntime cannot read "),
        (make_graph, break_tokenizer, "cannot read "),
        (make_table, break_table, "model2vec cannot read "),
    ],
)
def test_a_damaged_folder_is_reported_in_one_line(make: Any, damage: Any, said: str, tmp_path: Path) -> None:
    damage(make(tmp_path / "m"))
    with pytest.raises(UsageError) as told:
        opened(tmp_path / "m").embed_query("open")
    assert str(told.value).startswith(said)
    assert "\n" not in str(told.value)
    assert told.value.hint


@pytest.mark.parametrize(
    ("layout", "said"),
    [
        (sentence_layout(pooling_mode="lasttoken"), "pools by lasttoken"),
        (sentence_layout(pooling_mode_max_tokens=True), "pools by max_tokens, mean_tokens"),
        ({"modules": [{"path": "2_Dense", "type": "sentence_transformers.models.Dense"}]}, "unknown module: Dense"),
    ],
)
def test_a_layout_with_unknown_modules_is_refused(layout: dict[str, Any], said: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=said):
        opened(make_graph(tmp_path / "m", **layout))


def test_an_unknown_input_of_a_graph_is_refused(tmp_path: Path) -> None:
    embedder = opened(make_graph(tmp_path / "m", inputs=("input_ids", "pixels")))
    with pytest.raises(UsageError, match="needs an unknown input: pixels"):
        embedder.embed_query("open")


def test_the_error_for_a_folder_without_a_model_lists_its_files(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "bert"}))
    with pytest.raises(UsageError, match="contains no usable model") as told:
        opened(tmp_path)
    assert "tokenizer.json" in told.value.hint


def test_settings_that_are_not_json_are_reported(tmp_path: Path) -> None:
    (make_graph(tmp_path / "m") / "modules.json").write_text("[")
    with pytest.raises(UsageError, match=r"cannot read .*modules\.json"):
        opened(tmp_path / "m")


@pytest.mark.skipif(find_spec("sentence_transformers") is not None, reason="it brings torch, and is here all the same")
def test_a_package_that_is_missing_is_named_with_its_extra(tmp_path: Path) -> None:
    folder = make_table(tmp_path / "m")
    (folder / "config.json").write_text(json.dumps({"model_type": "bert"}))
    with pytest.raises(UsageError, match="needs sentence_transformers") as told:
        opened(folder)
    assert told.value.hint == format_install_command("sentence-transformers")


def test_code_is_formatted_as_one_text() -> None:
    fields = EmbeddedFields(
        "greet", "Host lib/b.py", "def greet(name):\nSay hello.", "def greet(name):\n    return name\n"
    )
    assert format_fields(fields) == "greet Host lib/b.py\nSay hello.\ndef greet(name):\n    return name"
    assert format_fields(EmbeddedFields("", "", "", "words")) == "words"
    assert format_fields(EmbeddedFields("", "", "", "")) == ""


@pytest.mark.parametrize("values", [[], [float("nan")], [float("inf"), 1.0], [1e300, 1e300], [0.0] * 20_000])
def test_invalid_numbers_are_no_vector(values: list[float]) -> None:
    with pytest.raises(ValueError):
        scale_to_int8(values)


def test_vectors_are_rounded_to_length_127() -> None:
    assert scale_to_int8([0.0, 0.0]) == bytes(8)
    assert scale_to_int8([3.0, -4.0]) == bytes([76, 256 - 102]) + bytes(6)
    assert scale_to_int8([-5.0] + [0.0] * 7) == bytes([256 - 127]) + bytes(7)
    assert len(scale_to_int8([1.0] * 384)) == 384
