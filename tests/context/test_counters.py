"""Counting tokens: never over the network, and always by a method that is named."""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path
from types import ModuleType

import pytest

from codelens.context import counters
from codelens.context.counters import ADDRESS, open_counter
from codelens.errors import UsageError

NAMED = hashlib.sha1(ADDRESS.format("o200k_base").encode()).hexdigest()  # The cached file


@pytest.mark.parametrize(("text", "tokens"), [("", 0), ("a", 1), ("abcd", 1), ("abcde", 2), ("ü" * 8, 2)])
def test_characters_by_four_rounded_up(text: str, tokens: int) -> None:
    counter = open_counter("chars")
    assert (counter.name, counter.count(text)) == ("chars/4", tokens)


def test_an_unknown_counter_is_refused() -> None:
    with pytest.raises(UsageError, match="no counter 'words'"):
        open_counter("words")


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A tokenizer that is there, and an empty folder where it looks for vocabularies."""
    made = ModuleType("tiktoken")
    made.__spec__ = __import__("importlib.machinery").machinery.ModuleSpec("tiktoken", None)
    monkeypatch.setitem(sys.modules, "tiktoken", made)
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    return tmp_path


def test_without_a_vocabulary_nothing_is_fetched(installed: Path) -> None:
    assert open_counter("auto").name == "chars/4"
    with pytest.raises(UsageError, match="no vocabulary"):
        open_counter("tiktoken")


def test_a_vocabulary_with_another_digest_is_not_used_since_it_would_be_fetched_again(installed: Path) -> None:
    (installed / NAMED).write_bytes(b"not the vocabulary")
    assert open_counter("auto").name == "chars/4"


def test_a_tokenizer_without_a_vocabulary_is_not_used(installed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", "")
    assert open_counter("auto").name == "chars/4"


def test_a_vocabulary_that_is_there_counts(installed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    raw = b"a vocabulary"
    (installed / NAMED).write_bytes(raw)
    monkeypatch.setattr(counters, "VOCABULARIES", {"o200k_base": hashlib.sha256(raw).hexdigest()})

    class Encoding:
        def encode_ordinary(self, text: str) -> list[str]:
            return text.split()

    monkeypatch.setattr(sys.modules["tiktoken"], "get_encoding", lambda name: Encoding(), raising=False)
    counter = open_counter("tiktoken")
    assert (counter.name, counter.count("one two three")) == ("tiktoken o200k_base", 3)
