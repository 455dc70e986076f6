"""Concepts: units named as code usually names what the query's phrases mean. A class has the phrases that people say for a concept
and the names that programs give it.

Phrases are looked for word by word, by their stems and without stop words. So a verb before a phrase changes nothing: "find
blast radius" and "compute the blast radius" hold "blast radius", and no product of phrases and verbs need be written down.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from codelens.errors import SettingsError
from codelens.lang.registry import map_accepted_names
from codelens.model.code import UnitId
from codelens.model.fast_dataclass import dataclass
from codelens.model.search import Match
from codelens.search.channels import ChannelResult
from codelens.search.run import SearchRun
from codelens.search.terms import load_words, strip_ending
from codelens.text.identifiers import fold_identifier, split_identifier
from codelens.text.notation import parse_toml, read_own_file
from codelens.text.terms import tokens

SHORTEST_TARGET = 4  # Letters. Shorter names are borne by hundreds of unrelated units.
GENERIC = frozenset(("get", "set", "do", "new", "run", "put", "post", "call", "add", "pop"))
"""Names that say nothing by themselves."""


@dataclass(frozen=True, slots=True)
class EquivalenceClass:
    """Phrases and names treated as one concept. `targets` are names as a program spells them, in any of its styles."""

    name: str
    phrases: tuple[str, ...]
    targets: tuple[str, ...]
    weight: float
    languages: tuple[str, ...] = ()  # Only documents in these languages hold its targets; empty means any
    own: bool = False  # True for a class from the user's own file


@dataclass(frozen=True, slots=True)
class ClassMatch:
    """A class and the phrases of it that the query says, longest first."""

    concept: EquivalenceClass
    phrases: tuple[str, ...]
    words: int  # Number of words in the longest of these phrases

    @property
    def strong(self) -> bool:
        """Two phrases, or one of several words: a single word belongs to too many concepts."""
        return len(self.phrases) > 1 or self.words > 1

    @property
    def score(self) -> float:
        """The weight of the class, or a share of it for a weak match."""
        return self.concept.weight * (1.0 if self.strong else WEAK)


def split_into_stems(texts: Sequence[str]) -> list[list[str]]:
    """The words of each text, split as names are, without stop words and endings."""
    stop = load_words().stop
    words = ((word for token in tokens(text) for word in split_identifier(token)) for text in texts)
    return [[strip_ending(word) for word in of_one if word not in stop] for of_one in words]


def select_targets(concept: EquivalenceClass) -> list[str]:
    """The folded targets that are looked up: none that is short or says nothing, each once."""
    folded = dict.fromkeys(fold_identifier(target) for target in concept.targets)
    return [name for name in folded if len(name) >= SHORTEST_TARGET and name not in GENERIC]


def match_classes(words: Sequence[Sequence[str]], classes: Iterable[EquivalenceClass]) -> list[ClassMatch]:
    """The classes with a phrase that one of these texts contains; `words` is `split_into_stems` the texts.

    Heaviest first, then by the longest phrase, then by the number of phrases. Phrases that differ in endings alone are one.
    """
    matches, runs = [], _Runs(words)
    for concept in classes:
        phrases: dict[tuple[str, ...], str] = {}
        for phrase, stems in zip(concept.phrases, split_into_stems(concept.phrases), strict=True):
            if stems and tuple(stems) in runs[len(stems)]:
                phrases.setdefault(tuple(stems), phrase)
        if phrases:
            longest = sorted(phrases, key=lambda stems: -len(stems))
            matches.append(ClassMatch(concept, tuple(phrases[stems] for stems in longest), len(longest[0])))
    return sorted(matches, key=lambda match: (-match.concept.weight, -match.words, -len(match.phrases)))


class _Runs(dict[int, frozenset[tuple[str, ...]]]):
    """Length → all runs of so many words in some texts: so a phrase is looked up, however many the texts are."""

    def __init__(self, texts: Sequence[Sequence[str]]) -> None:
        self._texts = texts

    def __missing__(self, length: int) -> frozenset[tuple[str, ...]]:
        starts = ((words, at) for words in self._texts for at in range(len(words) - length + 1))
        self[length] = frozenset(tuple(words[at : at + length]) for words, at in starts)
        return self[length]


SHIPPED = Path(__file__).parent.with_name("classes")
SHIPPED_WEIGHT = 0.8  # Weight of the shipped classes
USER_WEIGHT = 1.0  # Default weight of the user's own classes
LARGEST = 1_000_000  # Bytes of such a file; the largest of those that are shipped has 28 000
HINT = "a class is a table: phrases = 'blast radius, ripple effect' and targets = 'impact_of TransitiveCallers'"
_QUOTE = "'"


def load_shipped_classes(query_phrases: Sequence[Sequence[str]]) -> list[EquivalenceClass]:
    """The shipped classes that may match: universal ones first, then by language.

    Only tables with a phrase whose words all begin as words of the query do are parsed: all of them take 10 ms, a few take 1.
    """
    stems = tuple(dict.fromkeys(word for words in query_phrases for word in words))
    stop = load_words().stop

    def may_match(phrases: str) -> bool:
        """True if some phrase consists of words that begin with the stems, and stop words."""
        return any(f" {word}" in phrases for word in stems) and any(
            all(word.startswith(stems) or word in stop for word in phrase.split()) for phrase in phrases.split(",")
        )

    classes: list[EquivalenceClass] = []
    for path, head, tables in _list_shipped_tables():
        if some := [table for phrases, table in tables if may_match(phrases)]:
            classes += _parse("\n[".join([head, *some]), path, SHIPPED_WEIGHT, own=False)
    return classes


@cache
def _list_shipped_tables() -> list[tuple[Path, str, list[tuple[str, str]]]]:
    """(file, the lines above its tables, (phrases with a blank before each, table) of each): read, and not parsed."""
    files = []
    for file in sorted(SHIPPED.glob("*.toml"), key=lambda file: (file.stem != "universal", file.stem)):
        head, *tables = file.read_text(encoding="utf-8").split("\n[")
        files.append((file, head, [(f" {table.split(_QUOTE, 2)[1]}", table) for table in tables]))
    return files


def load_user_classes(path: str) -> Sequence[EquivalenceClass]:
    """The classes of a person's own file. Raises SettingsError for one that cannot be read, or says something else."""
    return _parse(read_own_file(path, "classes", HINT, LARGEST), path, USER_WEIGHT, own=True)


def _parse(text: str, path: Path | str, weight: float, own: bool) -> list[EquivalenceClass]:
    """A table for each class; `phrases` with commas between, `targets` with blanks between, as in words.toml.

    `weight` is that of a class that names none; `languages` stands in a class, or above all for the whole file.
    """
    try:
        table = parse_toml(text)
        everywhere = _read_languages(table.pop("languages", ""), own)
        return [_read_class(name, row, weight, everywhere, own) for name, row in table.items()]
    except ValueError as fault:
        raise SettingsError(f"{path}: {fault}", HINT) from None


def _read_class(name: str, row: Any, weight: float, languages: tuple[str, ...], own: bool) -> EquivalenceClass:
    if not isinstance(row, dict):
        raise ValueError(f"'{name}' is not a class")
    if unknown := sorted(row.keys() - {"phrases", "targets", "weight", "languages"}):
        raise ValueError(f"class '{name}' has no '{unknown[0]}'")
    texts = {key: row.get(key, "") for key in ("phrases", "targets")}
    for key, text in texts.items():
        if not isinstance(text, str):
            raise ValueError(f"class '{name}': {key} must be a string, not {text!r}")
    phrases = tuple(p.strip() for p in texts["phrases"].split(",") if p.strip())
    targets = tuple(texts["targets"].split())
    if not phrases or not targets:
        raise ValueError(f"class '{name}' has no {'targets' if phrases else 'phrases'}")
    weight = row.get("weight", weight)
    if not isinstance(weight, (int, float)) or isinstance(weight, bool) or not 0 < weight <= 1:
        raise ValueError(f"class '{name}': weight must be above 0 and at most 1, not {weight!r}")
    languages = _read_languages(row["languages"], own) if "languages" in row else languages
    concept = EquivalenceClass(name, phrases, targets, float(weight), languages, own)
    if not select_targets(concept):
        raise ValueError(f"class '{name}': all its targets are shorter than {SHORTEST_TARGET} letters, or too common")
    return concept


def _read_languages(value: Any, own: bool) -> tuple[str, ...]:
    """The languages as documents name them. Shipped files use these names: the table of all languages is slow to read."""
    if not isinstance(value, str):
        raise ValueError(f"languages must be a string with spaces between the names, not {value!r}")
    if not own:
        return tuple(value.split())
    known = map_accepted_names()
    if unknown := [name for name in value.split() if name.lower() not in known]:
        raise ValueError(f"there is no language '{unknown[0]}'")
    return tuple(known[name.lower()] for name in value.split())


NAMED_CAP = 20
"""Units of one name that are taken: a third of what the symbol channel takes of a name that the query itself says; 3 measured no
other than 20."""
WEAK = 0.5
"""Share of its weight that a user's own class keeps if a single word matches it: its targets are found, but not at the top."""


def find_by_concept(run: SearchRun, limit: int) -> ChannelResult:
    """Heaviest class first, and in it target by target. The raw score is the weight of the class, or of the learned unit.

    The user's own classes count; the shipped ones too, if the profile gives the channel a weight, but these need a strong match.
    Raises SettingsError for a file of classes with faults.
    """
    query, store, uses_shipped = run.terms, run.store, run.profile.channels.get("equivalence", 0.0) > 0
    own = load_user_classes(run.settings.classes) if run.settings.classes else ()
    words = split_into_stems(query.texts) if own or uses_shipped else []
    class_matches = match_classes(words, (*own, *(load_shipped_classes(words) if uses_shipped else ())))
    learned = list(query.learned)
    matches: dict[UnitId, Match] = {}
    chosen = sorted((m for m in class_matches if m.strong or m.concept.own), key=lambda match: -match.score)
    lookups = {
        (match, target): (target, run.within, NAMED_CAP, match.concept.languages)
        for match in chosen
        for target in select_targets(match.concept)
    }
    store.foresee(*(("units.find_by_name", lookup) for lookup in lookups.values()))
    for (match, target), lookup in lookups.items():
        while learned and learned[0].raw_score > match.score:
            matches.setdefault(learned[0].unit, learned.pop(0))
        phrases = " and ".join(f'"{phrase}"' for phrase in match.phrases[:2])
        reason = f"{phrases} of class {match.concept.name} names {target}"
        for unit in store.units.find_by_name(*lookup):
            matches.setdefault(unit, Match(unit, match.score, reason))
    for match_of_use in learned:
        matches.setdefault(match_of_use.unit, match_of_use)
    return ChannelResult(list(matches.values())[:limit])
