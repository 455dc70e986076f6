"""A text from outside the index → its definitions' names, the names it uses, its vector: as indexing would see it.

Only here does a search import tree-sitter, and numpy with the batch embedder.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from textwrap import dedent

from codelens.derived import LITERAL_KINDS, Extraction, Unit
from codelens.embed.base import EmbeddedFields, Embedder
from codelens.embed.joined import joined
from codelens.lang.captures import extract_captures
from codelens.lang.parser import GrammarMissing
from codelens.lang.registry import PLAIN_TEXT, languages
from codelens.nouns import dataclass
from codelens.store.store import Store
from codelens.text.terms import tokens

MOST_GUESSES = 6
"""Languages that are tried, the index's most frequent first: each takes some 20 ms to load its grammar. Chosen."""
MOST_PARSED = 100_000
"""Bytes. What is longer is no snippet, and a grammar here has no worker that could be killed. Chosen."""


@dataclass(frozen=True, slots=True)
class Snippet:
    """What a text says for itself."""

    language: str
    names: Sequence[str]
    """Of its definitions, in order."""
    uses: Mapping[str, int]
    """Name → how often it is used; where no grammar fits, every token."""
    vector: bytes
    """Empty where none was asked for, or nothing is in the text."""


def read_snippet(text: str, language: str, store: Store, embedder: Embedder | None) -> Snippet:
    """`embedder`: that of the index; None for no vector.

    `language` is guessed if empty: the first that takes the text without a fault and finds a definition in it.
    """
    text = dedent(text)  # a method as it stands in its class
    language, found = _extracted(text, [language] if language else _likely(store))
    entries = _entries(text.encode(), found.units if found else ())
    vectors = embedder.embed_code(entries or [EmbeddedFields("", "", "", text)]) if embedder else []
    used = Counter(
        token for r in (found.references if found else ()) if r.kind not in LITERAL_KINDS for token in tokens(r.name)
    )
    names = dict.fromkeys(unit.name for unit in _definitions(found.units if found else ()))
    return Snippet(language, list(names), used or Counter(tokens(text)), joined([v for v in vectors if any(v)]))


def _likely(store: Store) -> list[str]:
    counts = Counter(d.language for d in store.documents.rows())
    known = [name for name in counts if (row := languages().get(name)) is not None and row.grammar]
    return sorted(known, key=lambda name: (-counts[name], name))[:MOST_GUESSES]


def _extracted(text: str, tried: Sequence[str]) -> tuple[str, Extraction | None]:
    """(language, what its grammar found); a single language is taken at its word, faults or not."""
    utf8 = text.encode()
    if len(utf8) > MOST_PARSED:
        return PLAIN_TEXT, None
    without_definition: tuple[str, Extraction | None] = (tried[0] if len(tried) == 1 else PLAIN_TEXT, None)
    for language in tried:
        try:
            found = extract_captures(utf8, language)
        except GrammarMissing:
            continue
        if len(tried) == 1 or (not found.fault and found.units):
            return language, found
        if not found.fault and found.references and without_definition[1] is None:
            without_definition = language, found
    return without_definition


def _definitions(units: Sequence[Unit]) -> list[Unit]:
    return [unit for unit in units if not unit.local]


def _entries(utf8: bytes, units: Sequence[Unit]) -> list[EmbeddedFields]:
    """One entry a definition; the body of one that holds others is theirs."""
    holding = {unit.parent for unit in _definitions(units)}
    return [
        EmbeddedFields(
            unit.name,
            unit.container,
            f"{unit.signature}\n{unit.doc}",
            "" if place in holding else utf8[unit.body_start : unit.span.end].decode("utf-8", "replace"),
        )
        for place, unit in enumerate(units)
        if not unit.local
    ]
