"""Embedders for models of others in a folder: ONNX graphs, model2vec tables, sentence-transformers.

A graph runs each text separately on one thread, because kernels round differently in batches of other shapes; several texts run
in parallel. A piece of 2048 characters takes MiniLM (6 layers, 256 tokens) about 270 ms on two busy cores.
sentence-transformers is kept off the network in three ways, and runs no code from the folder.
"""

from __future__ import annotations

import os
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from codelens.embed.base import LEAST_COSINE, EmbeddedFields, as_text, rounded
from codelens.embed.folders import (
    CLS,
    TOKENIZER,
    WEIGHTS,
    SentenceSettings,
    hash_files,
    model_files,
    read_prompts,
    read_settings,
    require_extra,
)
from codelens.errors import UsageError

if TYPE_CHECKING:
    from model2vec import StaticModel
    from onnxruntime import InferenceSession
    from tokenizers import Encoding, Tokenizer

_WORD = re.compile(r"[^\W\d_]{3,}")
"""At least three letters: shorter words are in every vocabulary, and are pieces of others."""
UNKNOWN = frozenset({"[UNK]", "<unk>"})
WHOLE_OUTPUT = "sentence_embedding"  # Name of an output that is already pooled
MOST_THREADS = 8  # At most as many threads as index workers
FATAL = 4  # Log level of onnxruntime: its errors reach us as exceptions


def knows_word(tokenizer: Tokenizer, text: str) -> bool:
    """True if any word of the text is a single known token: in pieces a model accepts every word."""
    for word in _WORD.findall(text):
        pieces = tokenizer.encode(word, add_special_tokens=False).tokens
        if len(pieces) == 1 and pieces[0] not in UNKNOWN:
            return True
    return False


class FolderEmbedder(ABC):
    """Base of the embedders for folders. Raises UsageError if a package is missing, or the model does not embed texts."""

    slow = True
    least_cosine = LEAST_COSINE
    rules: ClassVar[str]  # Part of the fingerprint. Raise its number with any change of the vectors.
    query_prompt = code_prompt = ""

    def __init__(self, path: Path) -> None:
        self.name, self._path = path.name, path

    @property
    def dimensions(self) -> int:
        """Dimensions of the stored vectors."""
        return len(self._embed(""))

    def knows(self, text: str) -> bool:
        """False if the vocabulary is unknown."""
        return False

    def fingerprint(self) -> str:
        """16 hex digits over its files; versions of packages are left out, because their rounding mostly vanishes in ours."""
        return self._fingerprint

    @cached_property
    def _fingerprint(self) -> str:
        return hash_files(self.rules, self._path, self._files())

    def embed_code(self, fields: Sequence[EmbeddedFields]) -> list[bytes]:
        """One vector per entry, after the model's prompt for documents. Each text by itself: padding would change rounding."""
        return [self._embed(self.code_prompt + as_text(entry)) for entry in fields]

    def embed_query(self, text: str) -> bytes:
        """The text's vector, after the model's prompt for queries; empty if it is zero."""
        vector = self._embed(self.query_prompt + text) if text.strip() else b""
        return vector if any(vector) else b""

    @abstractmethod
    def _files(self) -> list[Path]:
        """The files that decide vectors."""

    @abstractmethod
    def _embed(self, text: str) -> bytes:
        """The vector of a text."""


class GraphEmbedder(FolderEmbedder):
    """Runs an ONNX graph."""

    rules = "onnx 1"

    def __init__(self, path: Path, graph: Path) -> None:
        require_extra("onnx", f"the model {path}")
        super().__init__(path)
        self._graph = graph
        self._settings: SentenceSettings = read_settings(path)
        self.query_prompt, self.code_prompt = self._settings.query_prompt, self._settings.code_prompt

    def knows(self, text: str) -> bool:
        """True if any word is one token."""
        return knows_word(self._tokenizer, text)

    def embed_code(self, fields: Sequence[EmbeddedFields]) -> list[bytes]:
        """One vector per entry, after the model's prompt for documents."""
        _ = self._session, self._tokenizer  # made here: threads would make several
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        with ThreadPoolExecutor(min(cores, MOST_THREADS)) as pool:
            return list(pool.map(lambda entry: self._embed(self.code_prompt + as_text(entry)), fields))

    def _files(self) -> list[Path]:
        graphs = self._graph.parent.glob(f"{self._graph.name}*")
        return sorted({*(f for f in model_files(self._path) if f.suffix in (".json", ".txt", ".model")), *graphs})

    def _embed(self, text: str) -> bytes:
        tokens = self._tokenizer.encode(text.lower() if self._settings.lower_case else text)
        try:
            return rounded(self._pool(tokens))
        except UsageError:
            raise
        except Exception as fault:  # the runtime's edge: its errors are many, and say nothing to people
            raise UsageError(f"the model {self._path} fails: {_one_line(fault)}", "use another model") from None

    def _pool(self, tokens: Encoding) -> list[float]:
        """The graph's pooled output, the first token's vector, or the mean of all attended tokens."""
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
                raise UsageError(f"the model {self._path} needs an unknown input: {wanted.name}")
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
            raise UsageError(f"onnxruntime cannot read {self._graph}: {_one_line(fault)}", "copy it again") from None

    @cached_property
    def _tokenizer(self) -> Tokenizer:
        from tokenizers import Tokenizer

        file = self._path / "tokenizer.json"
        try:
            tokenizer = Tokenizer.from_file(str(file))
        except Exception as fault:  # as above
            raise UsageError(f"cannot read {file}: {_one_line(fault)}", "copy it again") from None
        tokenizer.no_padding()
        tokenizer.enable_truncation(self._settings.most_tokens)
        return tokenizer


def _one_line(fault: Exception) -> str:
    return " ".join(str(fault).split())[:200]


class StaticTableEmbedder(FolderEmbedder):
    """Averages rows of a model2vec table."""

    # Slow: 2048 characters take 1.5 CPU ms, and its table may have hundreds of MB, which not every worker should hold.
    rules = "model2vec 1"

    def __init__(self, path: Path) -> None:
        require_extra("model2vec", f"the model {path}")
        super().__init__(path)

    @property
    def dimensions(self) -> int:
        """Dimensions of the table; stored vectors may have up to seven more, see `rounded`."""
        return int(self._model.dim)

    def knows(self, text: str) -> bool:
        """True if any word has a row of its own."""
        return knows_word(self._model.tokenizer, text)

    def embed_code(self, fields: Sequence[EmbeddedFields]) -> list[bytes]:
        """One vector per entry; zeros if no token has a row."""
        return self._embed_all([as_text(entry) for entry in fields]) if fields else []

    def _files(self) -> list[Path]:
        return [self._path / name for name in ("config.json", WEIGHTS, TOKENIZER)]

    def _embed(self, text: str) -> bytes:
        return self._embed_all([text])[0]

    def _embed_all(self, texts: list[str]) -> list[bytes]:
        """Vectors of texts; all tokens count, because pieces are short."""
        rows = self._model.encode(texts, max_length=None, use_multiprocessing=False)
        try:
            return [rounded(row) for row in rows.tolist()]
        except ValueError as fault:
            raise UsageError(f"the model {self._path} gives {fault}", "use another model") from None

    @cached_property
    def _model(self) -> StaticModel:
        from model2vec import StaticModel

        try:
            return StaticModel.from_pretrained(self._path)
        except Exception as fault:  # another package's edge: it has no error class of its own
            raise UsageError(f"model2vec cannot read {self._path}: {fault}", "copy the model again") from None


class SentenceEmbedder(FolderEmbedder):
    """Runs sentence-transformers. Not every tokenizer of it reveals its vocabulary."""

    rules = "sentence-transformers 1"

    def __init__(self, path: Path) -> None:
        require_extra("sentence-transformers", f"the model {path}, which has no ONNX graph,")
        super().__init__(path)
        self.query_prompt, self.code_prompt = read_prompts(path)

    def _files(self) -> list[Path]:
        return [f for f in model_files(self._path) if "onnx" not in f.name]

    def _embed(self, text: str) -> bytes:
        try:
            rows = self._model.encode([text], prompt="", batch_size=1, show_progress_bar=False, convert_to_numpy=True)
            return rounded(rows[0].tolist())
        except Exception as fault:  # the package's edge
            raise UsageError(f"the model {self._path} fails: {fault}", "use another model") from None

    @cached_property
    def _model(self) -> Any:
        os.environ |= {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1", "HF_HUB_DISABLE_TELEMETRY": "1"}
        from sentence_transformers import SentenceTransformer

        try:
            return SentenceTransformer(str(self._path), device="cpu", local_files_only=True, trust_remote_code=False)
        except Exception as fault:  # as above
            raise UsageError(f"sentence-transformers cannot read {self._path}: {fault}", "copy it again") from None
