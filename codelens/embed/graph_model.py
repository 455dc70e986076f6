"""A folder with an ONNX graph and its tokenizer → vectors, by onnxruntime on the CPU.

Each text is a run of its own, on one thread: kernels round otherwise in batches of other shapes, and a vector must depend on its
text alone. Several texts run side by side all the same, one on each core.
A piece of 2048 characters takes MiniLM (6 layers, 256 tokens) some 270 ms on two busy cores.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from codelens.embed.base import EmbeddedFields
from codelens.embed.extras import demand
from codelens.embed.folders import digest, model_files
from codelens.embed.prose import LEAST_COSINE, as_text
from codelens.embed.rounded import rounded
from codelens.embed.sentence_settings import CLS, SentenceSettings, read_settings
from codelens.embed.whole_words import knows_whole
from codelens.errors import UsageError

if TYPE_CHECKING:
    from onnxruntime import InferenceSession
    from tokenizers import Encoding, Tokenizer

RULES = "onnx 1"
"""Change the number with anything that changes what this gives."""
WHOLE_OUTPUT = "sentence_embedding"
"""The name that exporters give to an output that is pooled already."""
MOST_THREADS = 8
"""As many as workers at most."""
FATAL = 4
"""onnxruntime's level of what it logs on standard error; its faults reach us as exceptions."""


class GraphEmbedder:
    """See the module. Raises UsageError where a package is missing, or the graph is not one that embeds texts."""

    slow = True
    least_cosine = LEAST_COSINE

    def __init__(self, path: Path, graph: Path) -> None:
        demand("onnx", f"the model {path}")
        self.name, self._path, self._graph = path.name, path, graph
        self._settings: SentenceSettings = read_settings(path)

    @property
    def dimensions(self) -> int:
        """Of its vectors as they are stored."""
        return len(self._embedded(""))

    def knows(self, text: str) -> bool:
        """Whether any word is one token: in pieces it takes every word, also one that nobody wrote."""
        return knows_whole(self._tokenizer, text)

    def fingerprint(self) -> str:
        """16 hex digits over its files; not over the runtime's version, whose roundings mostly vanish in ours."""
        return self._fingerprint

    @cached_property
    def _fingerprint(self) -> str:
        graphs = self._graph.parent.glob(f"{self._graph.name}*")
        files = [f for f in model_files(self._path) if f.suffix in (".json", ".txt", ".model")]
        return digest(RULES, self._path, sorted({*files, *graphs}))

    def embed_code(self, fields: Sequence[EmbeddedFields]) -> list[bytes]:
        """One vector for each entry, of its one text after the model's prompt for documents."""
        _ = self._session, self._tokenizer  # made here: threads would make several
        with ThreadPoolExecutor(_threads()) as pool:
            return list(pool.map(lambda entry: self._embedded(self._settings.code_prompt + as_text(entry)), fields))

    def embed_query(self, text: str) -> bytes:
        """The text's vector, after the model's prompt for queries."""
        vector = self._embedded(self._settings.query_prompt + text) if text.strip() else b""
        return vector if any(vector) else b""

    def _embedded(self, text: str) -> bytes:
        tokens = self._tokenizer.encode(text.lower() if self._settings.lower_case else text)
        try:
            return rounded(self._pooled(tokens))
        except UsageError:
            raise
        except Exception as fault:  # the runtime's edge: its errors are many, and say nothing to people
            raise UsageError(f"the model {self._path} fails: {_one_line(fault)}", "take another model") from None

    def _pooled(self, tokens: Encoding) -> list[float]:
        """The graph's own vector, or that of the first token, or the mean of all tokens that it is to attend to."""
        import numpy as np

        output = np.asarray(self._session.run([self._output], self._inputs(tokens))[0], np.float64)[0]
        if output.ndim == 1:
            pooled = output
        elif self._settings.pooling == CLS:
            pooled = output[0]
        else:
            mask = np.array(tokens.attention_mask, np.float64)
            pooled = mask @ output / max(mask.sum(), 1.0)
        values: list[float] = pooled.tolist()
        return values

    def _inputs(self, tokens: Encoding) -> Mapping[str, Any]:
        import numpy as np

        given = {
            "input_ids": tokens.ids,
            "attention_mask": tokens.attention_mask,
            "token_type_ids": tokens.type_ids,
            "position_ids": list(range(len(tokens.ids))),
        }
        inputs = {}
        for wanted in self._session.get_inputs():
            if wanted.name not in given:
                raise UsageError(f"the model {self._path} wants an input that is not known here: {wanted.name}")
            kind = np.int32 if "int32" in wanted.type else np.int64
            inputs[wanted.name] = np.array([given[wanted.name]], kind)
        return inputs

    @cached_property
    def _output(self) -> str:
        names = [output.name for output in self._session.get_outputs()]
        return WHOLE_OUTPUT if WHOLE_OUTPUT in names else str(names[0])

    @cached_property
    def _session(self) -> InferenceSession:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = FATAL
        try:
            return onnxruntime.InferenceSession(str(self._graph), options, providers=["CPUExecutionProvider"])
        except Exception as fault:  # as above
            raise UsageError(f"onnxruntime cannot read {self._graph}: {_one_line(fault)}", "copy it anew") from None

    @cached_property
    def _tokenizer(self) -> Tokenizer:
        from tokenizers import Tokenizer

        file = self._path / "tokenizer.json"
        try:
            tokenizer = Tokenizer.from_file(str(file))
        except Exception as fault:  # as above
            raise UsageError(f"cannot read {file}: {_one_line(fault)}", "copy it anew") from None
        tokenizer.no_padding()
        tokenizer.enable_truncation(self._settings.most_tokens)
        return tokenizer


def _threads() -> int:
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(cores, MOST_THREADS)


def _one_line(fault: Exception) -> str:
    return " ".join(str(fault).split())[:200]
