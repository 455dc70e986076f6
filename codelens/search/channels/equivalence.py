"""The channel for concepts: finds units by names that programs usually give to what the query's phrases mean. An equivalence class
has the phrases that users write for a concept and the names that programs give it.

Phrases are compared by their words' stems, without stop words. A verb before a phrase does not matter: "find blast radius"
and "compute the blast radius" both contain "blast radius", so that no class has to list phrases with verbs.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache, partial
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

SHORTEST_TARGET = 4  # Fewest letters of a target; hundreds of unrelated units have shorter names
GENERIC = frozenset(("get", "set", "do", "new", "run", "put", "post", "call", "add", "pop"))
"""Names that are too common to be targets."""


@dataclass(frozen=True, slots=True)
class EquivalenceClass:
    """Phrases and names treated as one concept. `targets` are names in any style of spelling that programs use."""

    name: str
    phrases: tuple[str, ...]
    targets: tuple[str, ...]
    weight: float
    languages: tuple[str, ...] = ()  # Languages of the documents that are searched for targets; empty for any
    own: bool = False  # True for a class from the user's own file


@dataclass(frozen=True, slots=True)
class ClassMatch:
    """A class with those of its phrases that the query contains, longest first."""

    concept: EquivalenceClass
    phrases: tuple[str, ...]
    words: int  # Number of words in the longest of these phrases

    @property
    def is_strong(self) -> bool:
        """True if the query contains two phrases, or one of several words; a single word belongs to too many concepts."""
        return len(self.phrases) > 1 or self.words > 1

    @property
    def score(self) -> float:
        """The weight of the class, reduced for a weak match."""
        return self.concept.weight * (1.0 if self.is_strong else WEAK)


def split_into_stems(texts: Sequence[str]) -> list[list[str]]:
    """Split each text into words, as names are split, without stop words and endings."""
    stop = load_words().stop
    words = ((word for token in tokens(text) for word in split_identifier(token)) for text in texts)
    return [[strip_ending(word) for word in of_one if word not in stop] for of_one in words]


def select_targets(concept: EquivalenceClass) -> list[str]:
    """Select the folded targets to look up, each once, without short and too common ones."""
    folded = dict.fromkeys(fold_identifier(target) for target in concept.targets)
    return [name for name in folded if len(name) >= SHORTEST_TARGET and name not in GENERIC]


def match_classes(words: Sequence[Sequence[str]], classes: Iterable[EquivalenceClass]) -> list[ClassMatch]:
    """Find the classes with a phrase that a text contains; `words` are the texts after `split_into_stems`.

    Heaviest first, then by the longest phrase, then by the number of phrases. Phrases that differ only in endings count once.
    """

    @cache
    def list_runs(length: int) -> frozenset[tuple[str, ...]]:
        starts = ((text, at) for text in words for at in range(len(text) - length + 1))
        return frozenset(tuple(text[at : at + length]) for text, at in starts)

    matches = []
    for concept in classes:
        phrases: dict[tuple[str, ...], str] = {}
        for phrase, stems in zip(concept.phrases, split_into_stems(concept.phrases), strict=True):
            if stems and tuple(stems) in list_runs(len(stems)):
                phrases.setdefault(tuple(stems), phrase)
        if phrases:
            longest = sorted(phrases, key=lambda stems: -len(stems))
            matches.append(ClassMatch(concept, tuple(phrases[stems] for stems in longest), len(longest[0])))
    return sorted(matches, key=lambda match: (-match.concept.weight, -match.words, -len(match.phrases)))


SHIPPED = Path(__file__).parent.with_name("classes")
SHIPPED_WEIGHT = 0.8  # Weight of the shipped classes
USER_WEIGHT = 1.0  # Default weight of the user's own classes
LARGEST = 1_000_000  # Most bytes of a file of classes; the largest shipped file has 28 000
HINT = "a class is a table: phrases = 'blast radius, ripple effect' and targets = 'impact_of TransitiveCallers'"
_QUOTE = "'"


def load_shipped_classes(query_phrases: Sequence[Sequence[str]]) -> list[EquivalenceClass]:
    """Load the shipped classes that may match: universal ones first, then by language.

    Only tables with a phrase whose words all begin with stems of the query are parsed: all take 10 ms, a few take 1.
    """
    stems, stop = tuple(dict.fromkeys(word for words in query_phrases for word in words)), load_words().stop

    def may_match(phrases: str) -> bool:
        """Decide if a phrase consists only of stop words and words that begin with a stem of the query."""
        return any(f" {word}" in phrases for word in stems) and any(
            all(word.startswith(stems) or word in stop for word in phrase.split()) for phrase in phrases.split(",")
        )

    classes: list[EquivalenceClass] = []
    for path, head, tables in _list_shipped_tables():
        if some := [table for phrases, table in tables if may_match(phrases)]:
            classes += _parse_classes("\n[".join([head, *some]), path, SHIPPED_WEIGHT, own=False)
    return classes


@cache
def _list_shipped_tables() -> list[tuple[Path, str, list[tuple[str, str]]]]:
    """Read the shipped files without parsing: (file, lines above its tables, list of (phrases after a blank, table))."""
    files = []
    for file in sorted(SHIPPED.glob("*.toml"), key=lambda file: (file.stem != "universal", file.stem)):
        head, *tables = file.read_text(encoding="utf-8").split("\n[")
        files.append((file, head, [(f" {table.split(_QUOTE, 2)[1]}", table) for table in tables]))
    return files


def load_user_classes(path: str) -> Sequence[EquivalenceClass]:
    """Load the classes of a user's file. Raises SettingsError if it cannot be read or is not a file of classes."""
    return _parse_classes(read_own_file(path, "classes", HINT, LARGEST), path, USER_WEIGHT, own=True)


def _parse_classes(text: str, path: Path | str, weight: float, own: bool) -> list[EquivalenceClass]:
    """Parse a file with a table for each class: `phrases` separated by commas, `targets` by blanks, as in words.toml.

    `weight` is the default for classes; `languages` may be in a class, or at the top for the whole file.
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
    row = {"phrases": "", "targets": "", "weight": weight, **row}
    for key in ("phrases", "targets"):
        if not isinstance(row[key], str):
            raise ValueError(f"class '{name}': {key} must be a string, not {row[key]!r}")
    phrases = tuple(phrase.strip() for phrase in row["phrases"].split(",") if phrase.strip())
    targets, weight = tuple(row["targets"].split()), row["weight"]
    if not phrases or not targets:
        raise ValueError(f"class '{name}' has no {'targets' if phrases else 'phrases'}")
    if not isinstance(weight, (int, float)) or isinstance(weight, bool) or not 0 < weight <= 1:
        raise ValueError(f"class '{name}': weight must be above 0 and at most 1, not {weight!r}")
    languages = _read_languages(row["languages"], own) if "languages" in row else languages
    concept = EquivalenceClass(name, phrases, targets, float(weight), languages, own)
    if not select_targets(concept):
        raise ValueError(f"class '{name}': all its targets are shorter than {SHORTEST_TARGET} letters, or too common")
    return concept


def _read_languages(value: Any, own: bool) -> tuple[str, ...]:
    """Read languages as the names that documents have. Shipped files use these names, as checking them would be slow."""
    if not isinstance(value, str):
        raise ValueError(f"languages must be a string with spaces between the names, not {value!r}")
    if not own:
        return tuple(value.split())
    known = map_accepted_names()
    if unknown := [name for name in value.split() if name.lower() not in known]:
        raise ValueError(f"there is no language '{unknown[0]}'")
    return tuple(known[name.lower()] for name in value.split())


NAMED_CAP = 20  # Most units that are taken for one name, a third of the symbol channel's; 3 measured the same
WEAK = 0.5
"""Factor on the weight of a user's own class if only a single word matches; its targets are found, but not at the top."""


def find_by_concept(run: SearchRun, limit: int) -> ChannelResult:
    """Find the targets of matching classes, heaviest class first, and learned units. The raw score is the weight.

    The user's own classes always count; shipped ones only if the channel has a weight in the profile and the match is strong.
    Raises SettingsError for a faulty file of classes.
    """
    store, uses_shipped = run.store, run.profile.channels.get("equivalence", 0.0) > 0
    own = load_user_classes(run.settings.classes) if run.settings.classes else ()
    words = split_into_stems(run.terms.texts) if own or uses_shipped else []
    class_matches = match_classes(words, (*own, *(load_shipped_classes(words) if uses_shipped else ())))
    learned, matches = list(run.terms.learned), dict[UnitId, Match]()
    chosen = sorted((m for m in class_matches if m.is_strong or m.concept.own), key=lambda match: -match.score)
    targets = [(match, target) for match in chosen for target in select_targets(match.concept)]
    find = partial(store.units.find_by_name, within=run.within, limit=NAMED_CAP)
    found = store.run_tasks(*(partial(find, target, languages=match.concept.languages) for match, target in targets))
    for (match, target), units in zip(targets, found, strict=True):
        while learned and learned[0].raw_score > match.score:
            matches.setdefault(learned[0].unit, learned.pop(0))
        phrases = " and ".join(f'"{phrase}"' for phrase in match.phrases[:2])
        reason = f"{phrases} of class {match.concept.name} names {target}"
        for unit in units:
            matches.setdefault(unit, Match(unit, match.score, reason))
    for match_of_use in learned:
        matches.setdefault(match_of_use.unit, match_of_use)
    return ChannelResult(list(matches.values())[:limit])
