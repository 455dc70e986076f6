"""A query's words → the equivalence classes that it speaks of: concepts, each with the phrases that people say for it and the
names that programs give it.

Phrases are looked for word by word, by their stems and without stop words. So a verb before a phrase changes nothing: "find
blast radius" and "compute the blast radius" hold "blast radius", and no product of phrases and verbs need be written down.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from codelens.nouns import dataclass
from codelens.search.evidence import stem
from codelens.search.expand import load_words
from codelens.text.identifiers import fold_identifier, split_identifier
from codelens.text.terms import tokens

SHORTEST_TARGET = 4
"""Letters. Shorter names are borne by hundreds of unrelated units; knowing's figure."""
GENERIC = frozenset(("get", "set", "do", "new", "run", "put", "post", "call", "add", "pop"))
"""Names that say nothing by themselves; knowing's list."""


@dataclass(frozen=True, slots=True)
class EquivalenceClass:
    """Phrases and names treated as one concept. `targets` are names as a program spells them, in any of its styles."""

    name: str
    phrases: tuple[str, ...]
    targets: tuple[str, ...]
    weight: float
    languages: tuple[str, ...] = ()
    """Of the documents that hold its targets; empty for all."""
    own: bool = False
    """Whether it is from a person's own file."""


@dataclass(frozen=True, slots=True)
class ClassMatch:
    """A class and the phrases of it that the query says, longest first."""

    concept: EquivalenceClass
    phrases: tuple[str, ...]
    words: int
    """Of the longest of these phrases."""

    @property
    def strong(self) -> bool:
        """Two phrases, or one of several words: a single word belongs to too many concepts (knowing's gate)."""
        return len(self.phrases) > 1 or self.words > 1


def stems_of(texts: Sequence[str]) -> list[list[str]]:
    """The words of each text, split as names are, without stop words and endings."""
    stop = load_words().stop
    words = ((word for token in tokens(text) for word in split_identifier(token)) for text in texts)
    return [[stem(word) for word in of_one if word not in stop] for of_one in words]


def usable_targets(concept: EquivalenceClass) -> list[str]:
    """The folded targets that are looked up: none that is short or says nothing, each once."""
    folded = dict.fromkeys(fold_identifier(target) for target in concept.targets)
    return [name for name in folded if len(name) >= SHORTEST_TARGET and name not in GENERIC]


def match_classes(said: Sequence[Sequence[str]], classes: Iterable[EquivalenceClass]) -> list[ClassMatch]:
    """The classes of which one of these texts holds a phrase; `said` is `stems_of` the texts.

    Heaviest first, then by the longest phrase, then by the number of phrases. Phrases that differ in endings alone are one.
    """
    found, runs = [], _Runs(said)
    for concept in classes:
        held: dict[tuple[str, ...], str] = {}
        for phrase, stems in zip(concept.phrases, stems_of(concept.phrases), strict=True):
            if stems and tuple(stems) in runs[len(stems)]:
                held.setdefault(tuple(stems), phrase)
        if held:
            longest = sorted(held, key=lambda stems: -len(stems))
            found.append(ClassMatch(concept, tuple(held[stems] for stems in longest), len(longest[0])))
    return sorted(found, key=lambda match: (-match.concept.weight, -match.words, -len(match.phrases)))


class _Runs(dict[int, frozenset[tuple[str, ...]]]):
    """Length → all runs of so many words in some texts: so a phrase is looked up, however many the texts are."""

    def __init__(self, texts: Sequence[Sequence[str]]) -> None:
        self._texts = texts

    def __missing__(self, length: int) -> frozenset[tuple[str, ...]]:
        starts = ((words, at) for words in self._texts for at in range(len(words) - length + 1))
        self[length] = frozenset(tuple(words[at : at + length]) for words, at in starts)
        return self[length]
