"""A folder with somebody else's model → the embedder that runs it, chosen by the files that lie there.

A model that several of them could run is run by the lightest: model2vec's tables by `model2vec`, a graph by `onnxruntime`,
anything else of sentence-transformers' layout by that package.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import xxhash

from codelens.embed.base import Embedder
from codelens.errors import UsageError
from codelens.notation import parse_json

GRAPHS = ("model.onnx", "onnx/model.onnx")
WEIGHTS = "model.safetensors"
TOKENIZER = "tokenizer.json"
HINT = (
    f"it wants {TOKENIZER} and either {WEIGHTS} with a config.json of model2vec, or {' or '.join(GRAPHS)}, "
    f"or sentence-transformers' modules.json and {WEIGHTS}"
)
_BLOCK = 1 << 20


def open_folder(path: Path) -> Embedder:
    """The embedder of a model's folder. Raises UsageError where it holds no model, or what runs it is not installed.

    The model itself is loaded with the first text.
    """
    if is_static(path):
        from codelens.embed.static_table import StaticTableEmbedder

        return StaticTableEmbedder(path)
    graph = next((path / name for name in GRAPHS if (path / name).is_file()), None)
    if graph and (path / TOKENIZER).is_file():
        from codelens.embed.graph_model import GraphEmbedder

        return GraphEmbedder(path, graph)
    if (path / "modules.json").is_file() and any(path.glob(f"**/{WEIGHTS}")):
        from codelens.embed.sentence_model import SentenceEmbedder

        return SentenceEmbedder(path)
    raise UsageError(f"the folder {path} holds no model that can be used", HINT)


def is_static(path: Path) -> bool:
    """Whether the folder is one that model2vec writes."""
    if not all((path / name).is_file() for name in (WEIGHTS, TOKENIZER, "config.json")):
        return False
    config = read_json(path / "config.json")
    return isinstance(config, dict) and config.get("model_type") == "model2vec"


def read_json(path: Path) -> Any:
    """What a file of a model's folder says; None where there is no such file. Raises UsageError where it is no JSON."""
    try:
        return parse_json(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as fault:
        raise UsageError(f"cannot read {path}: {fault}", "copy the model anew") from None


def stamp(path: Path) -> tuple[object, ...]:
    """What changes when a file of the folder does: (name, size, time) of each. Raises OSError."""
    found = [(str(file), file.stat()) for file in model_files(path)]
    return tuple((name, status.st_size, status.st_mtime_ns) for name, status in found)


def model_files(path: Path) -> list[Path]:
    """The files that may decide vectors, in order of name: settings, tokenizers and weights, no other formats of these."""
    others = ("*.json", "*.txt", "*.model", "*.safetensors", "*.onnx", "*.onnx_data", "*.onnx.data")
    return sorted(
        {file for kind in others for below in ("", "*/") for file in path.glob(below + kind) if file.is_file()}
    )


def digest(rules: str, path: Path, files: Iterable[Path]) -> str:
    """16 hex digits over the rules' version and the files, by their names in the folder. Raises UsageError."""
    found = xxhash.xxh3_64(rules.encode())
    try:
        for file in files:
            found.update(f"\0{file.relative_to(path).as_posix()}\0{file.stat().st_size}\0".encode())
            with file.open("rb") as opened:
                while block := opened.read(_BLOCK):
                    found.update(block)
    except OSError as fault:
        raise UsageError(f"cannot read the model {path}: {fault}") from None
    return found.hexdigest()
