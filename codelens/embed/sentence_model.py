"""A folder of sentence-transformers → vectors, by that package, for models that no lighter one can run.

It is told three times to stay off the network, and runs no code that lies in the folder.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from codelens.embed.base import EmbeddedFields
from codelens.embed.extras import demand
from codelens.embed.folders import digest, model_files
from codelens.embed.prose import LEAST_COSINE, as_text
from codelens.embed.rounded import rounded
from codelens.embed.sentence_settings import read_prompts
from codelens.errors import UsageError

RULES = "sentence-transformers 1"
"""Change the number with anything that changes what this gives."""


class SentenceEmbedder:
    """See the module. Raises UsageError where the package is not installed, or cannot read the folder."""

    slow = True
    least_cosine = LEAST_COSINE

    def __init__(self, path: Path) -> None:
        demand("sentence-transformers", f"the model {path}, which has no ONNX graph,")
        self.name, self._path = path.name, path
        self._query_prompt, self._code_prompt = read_prompts(path)

    @property
    def dimensions(self) -> int:
        """Of its vectors as they are stored."""
        return len(self._embedded(""))

    def knows(self, text: str) -> bool:
        """Never: tokenizers that only this package reads do not all say what is a word."""
        return False

    def fingerprint(self) -> str:
        """16 hex digits over its files."""
        return self._fingerprint

    @cached_property
    def _fingerprint(self) -> str:
        return digest(RULES, self._path, [f for f in model_files(self._path) if "onnx" not in f.name])

    def embed_code(self, fields: Sequence[EmbeddedFields]) -> list[bytes]:
        """One vector for each entry, each text by itself: a batch would pad it, and round otherwise."""
        return [self._embedded(self._code_prompt + as_text(entry)) for entry in fields]

    def embed_query(self, text: str) -> bytes:
        """The text's vector, after the model's prompt for queries."""
        vector = self._embedded(self._query_prompt + text) if text.strip() else b""
        return vector if any(vector) else b""

    def _embedded(self, text: str) -> bytes:
        try:
            found = self._model.encode([text], prompt="", batch_size=1, show_progress_bar=False, convert_to_numpy=True)
            return rounded(found[0].tolist())
        except Exception as fault:  # the package's edge
            raise UsageError(f"the model {self._path} fails: {fault}", "take another model") from None

    @cached_property
    def _model(self) -> Any:
        os.environ |= {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1", "HF_HUB_DISABLE_TELEMETRY": "1"}
        from sentence_transformers import SentenceTransformer

        try:
            return SentenceTransformer(str(self._path), device="cpu", local_files_only=True, trust_remote_code=False)
        except Exception as fault:  # as above
            raise UsageError(f"sentence-transformers cannot read {self._path}: {fault}", "copy it anew") from None
