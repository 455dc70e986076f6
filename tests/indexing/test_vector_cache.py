"""A slow embedder embeds each text once for all indexes; the vectors are the same."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from codelens.embed.base import EmbeddedFields
from codelens.embed.hashing import HashingEmbedder
from codelens.indexing.embedding import CachingEmbedder


class Slow(HashingEmbedder):
    """Counts the texts that it embeds."""

    is_slow = True

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[str] = []

    def embed_code(self, fields: Sequence[EmbeddedFields]) -> list[bytes]:
        self.asked += [entry.name for entry in fields]
        return super().embed_code(fields)


class Other(Slow):
    def compute_fingerprint(self) -> str:
        return "another"


def entries(*names: str) -> list[EmbeddedFields]:
    return [EmbeddedFields(name, "a.py", f"def {name}()", "return stock") for name in names]


def test_equal_texts_are_embedded_once(tmp_path: Path) -> None:
    slow, file = Slow(), tmp_path / "cache/vectors.db"
    expected = HashingEmbedder().embed_code(entries("first", "second", "first", "third"))
    assert CachingEmbedder(slow, file).embed_code(entries("first", "second", "first")) == expected[:3]
    assert CachingEmbedder(slow, file).embed_code(entries("first", "second", "first", "third")) == expected
    assert slow.asked == ["first", "second", "third"]
    assert CachingEmbedder(slow, file).embed_code([]) == []


def test_each_embedder_has_its_own_cached_vectors(tmp_path: Path) -> None:
    file, other = tmp_path / "vectors.db", Other()
    CachingEmbedder(Slow(), file).embed_code(entries("first"))
    CachingEmbedder(other, file).embed_code(entries("first"))
    assert other.asked == ["first"]


def test_a_damaged_cache_only_costs_time(tmp_path: Path) -> None:
    file = tmp_path / "vectors.db"
    file.write_bytes(b"no database at all" * 100)
    for path in (file, file / "below"):
        slow = Slow()
        for _ in range(2):
            assert CachingEmbedder(slow, path).embed_code(entries("first")) == HashingEmbedder().embed_code(
                entries("first")
            )
        assert slow.asked == ["first", "first"]
