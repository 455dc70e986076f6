"""The JSON files of sentence-transformers' layout → how a text becomes one vector: pooling, longest text, prompts.

Whether a model normalises its vectors does not matter here: all are stored with the same length.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from codelens.embed.folders import read_json
from codelens.errors import UsageError
from codelens.nouns import dataclass

MEAN, CLS = "mean", "cls"
LONGEST = 512
"""Tokens, where the folder does not say: what the encoders of BERT's kind were trained with."""
QUERY_PROMPTS, CODE_PROMPTS = ("query", "Query", "s2p_query"), ("document", "passage", "Document")
"""Names of prompts, the first that is there counts; `query` and `document` are sentence-transformers' own."""


@dataclass(frozen=True, slots=True)
class SentenceSettings:
    """What the layout says; its defaults are for a folder that has no such files."""

    pooling: str = MEAN
    most_tokens: int = LONGEST
    lower_case: bool = False
    query_prompt: str = ""
    code_prompt: str = ""


def read_settings(path: Path) -> SentenceSettings:
    """Raises UsageError for a layout that asks for more than pooling, or for a pooling that is neither mean nor cls."""
    transformer, pooling = path, None
    for module in _modules(path):
        kind, folder = str(module.get("type", "")).rpartition(".")[2], path / str(module.get("path", ""))
        if kind == "Transformer":
            transformer = folder
        elif kind == "Pooling":
            pooling = read_json(folder / "config.json")
        elif kind != "Normalize":
            raise UsageError(f"the model {path} has a module that is not known here: {kind}", "take another model")
    limits = _mapping(read_json(transformer / "sentence_bert_config.json")) or _mapping(
        read_json(path / "sentence_bert_config.json")
    )
    config = _mapping(read_json(transformer / "config.json"))
    query_prompt, code_prompt = read_prompts(path)
    return SentenceSettings(
        pooling=_pooling(path, _mapping(pooling)),
        most_tokens=_most_tokens(limits, config),
        lower_case=limits.get("do_lower_case") is True,
        query_prompt=query_prompt,
        code_prompt=code_prompt,
    )


def read_prompts(path: Path) -> tuple[str, str]:
    """What stands before each question and before each piece of code; empty where the model wants nothing there."""
    config = _mapping(read_json(path / "config_sentence_transformers.json"))
    return _prompt(config, QUERY_PROMPTS), _prompt(config, CODE_PROMPTS)


def _modules(path: Path) -> list[Mapping[str, Any]]:
    found = read_json(path / "modules.json")
    return [module for module in found if isinstance(module, dict)] if isinstance(found, list) else []


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _pooling(path: Path, config: Mapping[str, Any]) -> str:
    """The one mode that is switched on: `pooling_mode_…: true`, or since version 5.2 `pooling_mode: "…"`."""
    if isinstance(named := config.get("pooling_mode"), str):
        on = {named}
    else:
        on = {key.removeprefix("pooling_mode_") for key, value in config.items() if value is True and "_mode_" in key}
    found = {"mean_tokens": MEAN, "cls_token": CLS}.get(mode := ", ".join(sorted(on)) or MEAN, mode)
    if found not in (MEAN, CLS):
        raise UsageError(f"the model {path} pools by {found}; only mean and cls are known here", "take another model")
    return found


def _most_tokens(limits: Mapping[str, Any], config: Mapping[str, Any]) -> int:
    places = config.get("max_position_embeddings")
    for said in (limits.get("max_seq_length"), min(places, LONGEST) if isinstance(places, int) else None):
        if isinstance(said, int) and said > 0:
            return said
    return LONGEST


def _prompt(config: Mapping[str, Any], names: tuple[str, ...]) -> str:
    """The first of these that there is; without any of them the prompt that the model has for everything."""
    prompts = _mapping(config.get("prompts"))
    named = [*names, default] if isinstance(default := config.get("default_prompt_name"), str) else list(names)
    return next((str(prompts[name]) for name in named if prompts.get(name)), "")
