"""The search box: words in titles and bodies, best notes first."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable

from notes.store import Note

TITLE_WEIGHT = 4.0

_WORD = re.compile(r"\w+")


def tokenize(text: str) -> list[str]:
    return [word.casefold() for word in _WORD.findall(text)]


def rank_notes(notes: Iterable[Note], query: str) -> list[tuple[Note, float]]:
    """Notes that hold at least one word of the query, with their scores.

    A word counts by how rare it is among all notes, and a word in the title counts TITLE_WEIGHT times.
    """
    pool = list(notes)
    wanted = set(tokenize(query))
    rarity = _inverse_document_frequency(pool, wanted)
    scored = [(note, _score(note, rarity)) for note in pool]
    return sorted(((n, s) for n, s in scored if s > 0), key=lambda pair: (-pair[1], pair[0].title))


def _inverse_document_frequency(notes: list[Note], words: set[str]) -> dict[str, float]:
    found = Counter(word for note in notes for word in words & set(tokenize(f"{note.title} {note.body}")))
    return {word: math.log(1 + len(notes) / found[word]) for word in words if found[word]}


def _score(note: Note, rarity: dict[str, float]) -> float:
    title, body = Counter(tokenize(note.title)), Counter(tokenize(note.body))
    return sum(w * (TITLE_WEIGHT * title[t] + math.log1p(body[t])) for t, w in rarity.items())


def excerpt(body: str, query: str, width: int = 160) -> str:
    """The part of a note around the first word that was searched for."""
    place = min((body.casefold().find(w) for w in tokenize(query) if w in body.casefold()), default=0)
    start = max(0, place - width // 3)
    return ("…" if start else "") + body[start : start + width].replace("\n", " ")
