"""Read the files of a model's folder: settings of sentence-transformers, prompts, fingerprints, and the extras that run it.

A text becomes one vector by pooling, with a maximum length and prompts. Normalisation does not matter: all vectors are stored
with the same length.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import xxhash

from codelens.errors import MissingExtra, UsageError
from codelens.model.fast_dataclass import dataclass
from codelens.text.notation import parse_json

WEIGHTS = "model.safetensors"
TOKENIZER = "tokenizer.json"
_BLOCK = 1 << 20


def read_json(path: Path) -> Any:
    """The JSON content of a file; None for a missing file. Raises UsageError if it is not JSON."""
    try:
        return parse_json(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as fault:
        raise UsageError(f"cannot read {path}: {fault}", "copy the model again") from None


def stamp(path: Path) -> tuple[object, ...]:
    """(name, size, time) of each file of a model. Raises OSError."""
    statuses = [(str(file), file.stat()) for file in model_files(path)]
    return tuple((name, status.st_size, status.st_mtime_ns) for name, status in statuses)


def model_files(path: Path) -> list[Path]:
    """The files that may decide vectors, sorted by name: settings, tokenizers and weights."""
    others = ("*.json", "*.txt", "*.model", "*.safetensors", "*.onnx", "*.onnx_data", "*.onnx.data")
    return sorted(
        {file for kind in others for below in ("", "*/") for file in path.glob(below + kind) if file.is_file()}
    )


def hash_files(rules: str, path: Path, files: Iterable[Path]) -> str:
    """16 hex digits over the version of our rules and the files. Raises UsageError."""
    digest = xxhash.xxh3_64(rules.encode())
    try:
        for file in files:
            digest.update(f"\0{file.relative_to(path).as_posix()}\0{file.stat().st_size}\0".encode())
            with file.open("rb") as content:
                while block := content.read(_BLOCK):
                    digest.update(block)
    except OSError as fault:
        raise UsageError(f"cannot read the model {path}: {fault}") from None
    return digest.hexdigest()


MEAN, CLS = "mean", "cls"
LONGEST = 512  # Default token limit: that of BERT's encoders
QUERY_PROMPTS, CODE_PROMPTS = ("query", "Query", "s2p_query"), ("document", "passage", "Document")
"""Names of prompts; the first that exists counts. `query` and `document` are sentence-transformers' own."""


@dataclass(frozen=True, slots=True)
class SentenceSettings:
    """Settings of a folder; the defaults hold for a folder without such files."""

    pooling: str = MEAN
    most_tokens: int = LONGEST
    lower_case: bool = False
    query_prompt: str = ""
    code_prompt: str = ""


def read_settings(path: Path) -> SentenceSettings:
    """Read the settings. Raises UsageError for modules other than pooling, and for other poolings than mean and cls."""
    transformer, pooling = path, Path()
    modules = read_json(path / "modules.json")
    for module in modules if isinstance(modules, list) else ():
        if not isinstance(module, dict):
            continue
        kind, folder = str(module.get("type", "")).rpartition(".")[2], path / str(module.get("path", ""))
        if kind == "Transformer":
            transformer = folder
        elif kind == "Pooling":
            pooling = folder / "config.json"
        elif kind != "Normalize":
            raise UsageError(f"the model {path} has an unknown module: {kind}", "use another model")
    limits = _read_mapping(transformer / "sentence_bert_config.json") or _read_mapping(
        path / "sentence_bert_config.json"
    )
    return SentenceSettings(
        _read_pooling(path, _read_mapping(pooling) if pooling.name else {}),
        _most_tokens(limits, _read_mapping(transformer / "config.json")),
        limits.get("do_lower_case") is True,
        *read_prompts(path),
    )


def read_prompts(path: Path) -> tuple[str, str]:
    """The prompts for queries and for code; empty if the model has none."""
    config = _read_mapping(path / "config_sentence_transformers.json")
    prompts, default = config.get("prompts"), config.get("default_prompt_name")
    if not isinstance(prompts, dict):
        return "", ""

    def choose(names: tuple[str, ...]) -> str:
        candidates = (*names, default) if isinstance(default, str) else names
        return next((str(prompts[name]) for name in candidates if prompts.get(name)), "")

    return choose(QUERY_PROMPTS), choose(CODE_PROMPTS)


def _read_mapping(path: Path) -> Mapping[str, Any]:
    content = read_json(path)
    return content if isinstance(content, dict) else {}


def _read_pooling(path: Path, config: Mapping[str, Any]) -> str:
    """The enabled mode: `pooling_mode_…: true`, or since version 5.2 `pooling_mode: "…"`."""
    if isinstance(named := config.get("pooling_mode"), str):
        modes = {named}
    else:
        modes = {
            key.removeprefix("pooling_mode_") for key, value in config.items() if value is True and "_mode_" in key
        }
    mode = ", ".join(sorted(modes)) or MEAN
    pooling = {"mean_tokens": MEAN, "cls_token": CLS}.get(mode, mode)
    if pooling not in (MEAN, CLS):
        raise UsageError(f"the model {path} pools by {pooling}; only mean and cls are supported", "use another model")
    return pooling


def _most_tokens(limits: Mapping[str, Any], config: Mapping[str, Any]) -> int:
    places = config.get("max_position_embeddings")
    for limit in (limits.get("max_seq_length"), min(places, LONGEST) if isinstance(places, int) else None):
        if isinstance(limit, int) and limit > 0:
            return limit
    return LONGEST


EXTRAS: Mapping[str, tuple[str, ...]] = {
    "model2vec": ("model2vec",),
    "onnx": ("onnxruntime", "tokenizers", "numpy"),
    "sentence-transformers": ("sentence_transformers",),
}
"""Extra → the modules it installs."""


def is_installed(extra: str) -> bool:
    """True if all modules of an extra are installed."""
    return all(find_spec(module) is not None for module in EXTRAS[extra])


def require_extra(extra: str, what: str) -> None:
    """Raise UsageError unless the extra that `what` needs is installed."""
    missing = [module for module in EXTRAS[extra] if find_spec(module) is None]
    if missing:
        raise MissingExtra(what, missing, extra)
