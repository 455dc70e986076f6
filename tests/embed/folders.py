"""Small models in the layouts of others: a table of model2vec, ONNX graphs of sentence-transformers' kind.

Tests that make one are slow: the first tier is without the packages for it.

A graph is a table of random rows, gathered by the tokens' ids: rank 3, as an encoder's last layer gives it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from tests.embed.models import WORDS

TOKENS = ("[UNK]", "[CLS]", "[SEP]", "query", "code", ":", *WORDS)
POOLING = {"pooling_mode_cls_token": False, "pooling_mode_mean_tokens": True, "pooling_mode_max_tokens": False}


def table(seed: int, dimensions: int) -> Any:
    """A row for each token; the same seed makes the same."""
    return np.random.default_rng(seed).standard_normal((len(TOKENS), dimensions)).astype(np.float32)


def tokenizer(frame: bool) -> Any:
    """Words as they stand, in lower case; with a `frame`, [CLS] before and [SEP] after them."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

    made = Tokenizer(models.WordLevel({token: i for i, token in enumerate(TOKENS)}, unk_token="[UNK]"))
    made.normalizer = normalizers.Lowercase()
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    if frame:
        made.post_processor = processors.TemplateProcessing(
            single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 1), ("[SEP]", 2)]
        )
    return made


def make_table(folder: Path, seed: int = 1, dimensions: int = 20) -> Path:
    """A folder as model2vec writes it."""
    from model2vec import StaticModel

    config = {"model_type": "model2vec", "architectures": ["StaticModel"], "normalize": True}
    StaticModel(table(seed, dimensions), tokenizer(frame=False), config=config).save_pretrained(folder)
    return folder


def make_graph(
    folder: Path,
    seed: int = 1,
    dimensions: int = 20,
    file: str = "model.onnx",
    inputs: tuple[str, ...] = ("input_ids", "attention_mask"),
    whole: bool = False,
    **layout: Any,
) -> Path:
    """A folder with a graph; `whole`: that gives one vector for a text. `layout`: a file's name without .json → its content."""
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    file_path = folder / file
    file_path.parent.mkdir(parents=True, exist_ok=True)
    nodes = [helper.make_node("Gather", ["rows", "input_ids"], ["last_hidden_state"])]
    shape: list[Any] = [1, None, dimensions]
    output = "last_hidden_state"
    if whole:
        nodes.append(helper.make_node("ReduceSum", ["last_hidden_state", "axes"], ["sentence_embedding"], keepdims=0))
        shape, output = [1, dimensions], "sentence_embedding"
    graph = helper.make_graph(
        nodes,
        "made",
        [helper.make_tensor_value_info(name, TensorProto.INT64, [1, None]) for name in inputs],
        [helper.make_tensor_value_info(output, TensorProto.FLOAT, shape)],
        [numpy_helper.from_array(table(seed, dimensions), "rows"), numpy_helper.from_array(np.array([1]), "axes")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.save(model, str(file_path))
    tokenizer(frame=True).save(str(folder / "tokenizer.json"))
    write_layout(folder, layout)
    return folder


def write_layout(folder: Path, layout: Mapping[str, Any]) -> None:
    for name, content in layout.items():
        place = folder / f"{name}.json"
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(json.dumps(content))


def sentence_layout(**pooling: Any) -> dict[str, Any]:
    """The files of a model that was saved by sentence-transformers."""
    kinds = {"": "Transformer", "1_Pooling": "Pooling", "2_Normalize": "Normalize"}
    modules = [
        {"idx": i, "name": str(i), "path": path, "type": f"sentence_transformers.models.{kind}"}
        for i, (path, kind) in enumerate(kinds.items())
    ]
    return {"modules": modules, "1_Pooling/config": {**POOLING, **pooling}}
