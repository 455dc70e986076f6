"""An embedder that is slow → the same with a memory: what was embedded once, in any index or worktree, is read from a file.

Only for those that say that they are slow. On Django's units the static model makes a vector in 58 µs; to look one up takes 11,
but to keep one 47 and 336 bytes: a first build would embed for twice as long, to save a later one a twentieth of what parsing
takes.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import xxhash

from codelens.embed.base import EmbeddedFields, Embedder
from codelens.store.kept_vectors import KeptVectors


class KeepingEmbedder:
    """Gives what `embedder` gives; `file` is made if it is not there."""

    slow = True

    def __init__(self, embedder: Embedder, file: Path) -> None:
        self.name, self.least_cosine, self._embedder = embedder.name, embedder.least_cosine, embedder
        self._kept = KeptVectors(file)

    @property
    def dimensions(self) -> int:
        """Those of the embedder."""
        return self._embedder.dimensions

    def knows(self, text: str) -> bool:
        """What the embedder says."""
        return self._embedder.knows(text)

    def fingerprint(self) -> str:
        """That of the embedder: the vectors are the same."""
        return self._embedder.fingerprint()

    def embed_query(self, text: str) -> bytes:
        """Always anew: questions are short, and nobody's business."""
        return self._embedder.embed_query(text)

    def embed_code(self, fields: Sequence[EmbeddedFields]) -> list[bytes]:
        """Those that are known from the file, the others from the embedder, once for equal ones."""
        keys = [self._key(entry) for entry in fields]
        known = self._kept.get(keys)
        missing = {key: entry for key, entry in zip(keys, fields, strict=True) if key not in known}
        made = dict(zip(missing, self._embedder.embed_code(list(missing.values())), strict=True))
        self._kept.put(made)
        known |= made
        return [known[key] for key in keys]

    def _key(self, entry: EmbeddedFields) -> bytes:
        parts = (self.fingerprint(), entry.name, entry.context, entry.signature, entry.body)
        return xxhash.xxh3_128_digest("\0".join(parts).encode("utf-8", "surrogatepass"))
