"""What is known when a condition is decided, in three levels, and how text is compared."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import field
from functools import lru_cache

from codelens.budget import TimeBudget
from codelens.nouns import dataclass
from codelens.past import LastChange
from codelens.search.literals import fold
from codelens.search.metadata import Scalar
from codelens.search.patterns import Ranges, compile_pattern, find_all, has_upper
from codelens.text.identifiers import CJK, is_cjk

_WORD = re.compile(rf"[^\W{CJK}]+")
"""A longest run of what `_in_word` takes."""


@dataclass(frozen=True, slots=True)
class DocumentFacts:
    """What is known of a document before any of its units is looked at."""

    path: str
    repository: str
    language: str
    roles: frozenset[str] = frozenset()
    """Such as 'test'; what `is:` asks for."""
    metadata: Mapping[str, Scalar] = field(default_factory=dict)
    """What a person's table says of it; what `meta:` asks for."""


@dataclass(frozen=True, slots=True)
class UnitFacts(DocumentFacts):
    """What is known of a unit before its text is read."""

    kind: str = ""
    name: str = ""
    qualified_name: str = ""


@dataclass(frozen=True, slots=True)
class TextFacts(UnitFacts):
    """All that can be known of a unit: no condition stays undecided."""

    text: str = ""


@dataclass(frozen=True, slots=True)
class Matching:
    """How text is compared in one query. `-i` is case 'no', `-w` is whole_word; the budget is shared by all texts."""

    case: str = "auto"
    whole_word: bool = False
    budget: TimeBudget = field(default_factory=TimeBudget)
    last: LastChange | None = None
    """The last change of what is looked at, where the query asks for it and it is known."""

    def ignores_case(self, text: str) -> bool:
        """Smart case: a text with an upper-case letter means its case."""
        return self._ignores_case(any(map(str.isupper, text)))

    def ignores_case_of_pattern(self, source: str) -> bool:
        """The same for a regular expression, whose escapes such as \\S are no letters."""
        return self._ignores_case(has_upper(source))

    def _ignores_case(self, says_upper: bool) -> bool:
        return self.case == "no" or (self.case == "auto" and not says_upper)


def contains(text: str, wanted: str, matching: Matching) -> bool:
    """Whether a text holds a phrase, as the query compares phrases."""
    return occurs(text, wanted, matching.ignores_case(wanted), matching.whole_word)


def occurs(text: str, wanted: str, ignore_case: bool, whole_word: bool) -> bool:
    """Whether a text holds another; as a whole word if its ends do not go on as words in the text."""
    if ignore_case:
        text, wanted = _folded(text), fold(wanted)
    at = text.find(wanted)
    while whole_word and at >= 0 and not _stands_alone(text, at, at + len(wanted)):
        at = text.find(wanted, at + 1)
    return at >= 0


def begins(text: str, wanted: str, ignore_case: bool) -> bool:
    """Whether some word of a text begins with another text, or is it."""
    if ignore_case:
        text, wanted = _folded(text), fold(wanted)
    at = text.find(wanted)
    while at >= 0 and _joins(text, at):
        at = text.find(wanted, at + 1)
    return at >= 0


_folded = lru_cache(maxsize=8)(fold)  # several conditions ask about one text


@lru_cache(maxsize=8)
def words_of(text: str, ignore_case: bool) -> frozenset[str]:
    """The words that stand alone in a text, as `occurs` borders them."""
    return frozenset(_WORD.findall(_folded(text) if ignore_case else text))


def is_one_word(text: str) -> bool:
    """Whether a text is a single word, with nothing that borders words in it."""
    return bool(_WORD.fullmatch(text))


def _stands_alone(text: str, start: int, end: int) -> bool:
    return not (_joins(text, start) or _joins(text, end))


def _joins(text: str, at: int) -> bool:
    """Whether the characters before and after a place belong to one word."""
    return 0 < at < len(text) and _in_word(text[at - 1]) and _in_word(text[at])


def _in_word(character: str) -> bool:
    """Chinese, Japanese and Korean have no word borders, so there every place is one."""
    return (character.isalnum() or character == "_") and not is_cjk(character)


def occurrences(text: str, wanted: str, matching: Matching) -> Iterator[tuple[int, int]]:
    """Character ranges in which a text holds a phrase, as the query compares phrases. Folding keeps every place."""
    if not wanted:
        return
    if matching.ignores_case(wanted):
        text, wanted = _folded(text), fold(wanted)
    at = text.find(wanted)
    while at >= 0:
        end = at + len(wanted)
        if not matching.whole_word or _stands_alone(text, at, end):
            yield at, end
        at = text.find(wanted, end)


def pattern_ranges(text: str, source: str, matching: Matching, limit: int = 0) -> Ranges:
    """Character ranges in which a text matches a pattern, as the query compares patterns; see `find_all`."""
    program = compile_pattern(source, matching.ignores_case_of_pattern(source), matching.whole_word)
    return find_all(program, text, matching.budget, limit)
