"""Which languages are read by a reader of our own, since no grammar of theirs is linked; all others by their grammar."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from codelens.derived import Extraction
from codelens.lang.captures import extract_captures
from codelens.lang.protobuf import RULES as PROTOBUF
from codelens.lang.protobuf import read_protobuf


class Reader(NamedTuple):
    """A function that reads UTF-8 bytes, and the version of its rules, which the recipe of a document counts."""

    rules: str
    read: Callable[[bytes], Extraction]


READERS: Mapping[str, Reader] = {"protobuf": Reader(PROTOBUF, read_protobuf)}


def reader_rules(language: str) -> str:
    """The version of the reader of a language; empty where a grammar reads it, or nothing does."""
    return READERS[language].rules if language in READERS else ""


def extract_symbols(utf8: bytes, language: str, definitions_only: bool = False) -> Extraction:
    """Everything the reader or the query of `language` finds. Raises GrammarMissing where it has neither."""
    if reader := READERS.get(language):
        return reader.read(utf8)
    return extract_captures(utf8, language, definitions_only)
