"""Terms of a query → FTS5 phrases: a term is one phrase, a beginning (`deploy*`) as many as its stems need.

The index holds stems, and FTS5 stems what it is asked for, beginnings too: `"deploy" *` asks for what begins with "deploi", and
misses "deployment" (deploy); `"authenticat" *` misses "authentication" (authent). So a beginning is asked for by a word whose
stem it is, and what is stemmed to something else by its usual endings. What users typed stands in double quotes, doubled inside.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import apsw

from codelens.text.terms import BEGINNING

TOKENIZER = ("porter", ["unicode61", "remove_diacritics", "2", "tokenchars", "_"])
"""That of the table unit_terms."""
CARRIERS = ("", "s", "ed", "ing", "ness", "ment", "ful", "ly")
"""Endings that the stemmer takes off, each by another of its rules: one of them mostly leaves what it was put behind."""
ENDINGS = (
    "ication", "ization", "ations", "ement", "ness", "ity", "able", "ible", "ance", "ence", "ative", "ously", "ally", "ers",
    "ors", "ies", "ing", "ed", "es",
)  # fmt: skip
"""The commonest endings of English words."""
TAILS = ("", *dict.fromkeys(end[at:] for end in ENDINGS for at in range(len(end))))
"""What may follow where somebody stopped to type."""
SHORTEST_STEM = 3
"""Letters. `uses` is stemmed to `us`, and what begins with that is another thing; then only the word itself is asked for."""


def quoted(term: str) -> str:
    """A term as an FTS5 string: nothing in it is an operator. NUL ends FTS5's input, so it becomes a space."""
    return '"' + term.replace('"', '""').replace("\0", " ") + '"'


class Phrases:
    """Of one connection, which knows the tokenizer."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection
        self._known: dict[str, tuple[str, ...]] = {}
        self._tokenizer: apsw.FTS5Tokenizer | None = None

    def of(self, term: str) -> tuple[str, ...]:
        """The FTS5 phrases of which a text with this term has one or more."""
        if not term.endswith(BEGINNING):
            return (quoted(term),)
        if term not in self._known:
            self._known[term] = tuple(self._of_beginning(term.removesuffix(BEGINNING)))
        return self._known[term]

    def any_of(self, terms: Iterable[str]) -> str:
        """The FTS5 expression that a text with any of these terms satisfies."""
        return " OR ".join(phrase for term in terms for phrase in self.of(term))

    def _of_beginning(self, begun: str) -> Iterator[str]:
        """First whatever has a stem that begins so, then the stems that do not and are of words that do."""
        own = self._stem(begun)
        carrier = next((begun + end for end in CARRIERS if self._stem(begun + end) == begun), "")
        if not carrier and begun.startswith(own) and len(own) >= SHORTEST_STEM:
            carrier, begun = begun, own
        if not carrier:
            yield quoted(begun)
            return
        yield f"{quoted(carrier)} *"
        others: dict[str, str] = {}
        for tail in TAILS:
            stem = self._stem(begun + tail)
            if not stem.startswith(begun):
                others.setdefault(stem, begun + tail)
        yield from map(quoted, others.values())

    def _stem(self, word: str) -> str:
        if self._tokenizer is None:
            self._tokenizer = self._connection.fts5_tokenizer(TOKENIZER[0], TOKENIZER[1])
        found = self._tokenizer(word.encode(), apsw.FTS5_TOKENIZE_QUERY, None, include_offsets=False)
        return next((str(stems[0]) for stems in found), "")
