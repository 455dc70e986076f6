"""Files of equivalence classes → the classes: those that come with codelens, and a person's own.

A table for each class, phrases and targets as one string each, as in words.toml: lists of strings take three times as long.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from codelens.errors import SettingsError
from codelens.lang.registry import accepted_names
from codelens.notation import parse_toml
from codelens.search.equivalence import SHORTEST_TARGET, EquivalenceClass, usable_targets
from codelens.search.expand import load_words
from codelens.search.ownfiles import read_own_file

SHIPPED = Path(__file__).with_name("classes")
SHIPPED_WEIGHT = 0.8
"""Of universal classes and those of a language; knowing's figure."""
USER_WEIGHT = 1.0
"""Of the classes of a person's own file, where it says nothing else; knowing's figure."""
LARGEST = 1_000_000
"""Bytes of such a file; the largest of those that are shipped has 28 000. Chosen."""
HINT = "a class is a table: phrases = 'blast radius, ripple effect' and targets = 'impact_of TransitiveCallers'"
_QUOTE = "'"


def shipped_classes(said: Sequence[Sequence[str]]) -> list[EquivalenceClass]:
    """Of the classes that come with codelens those that may match: universal ones first, then by language.

    Only tables with a phrase whose words all begin as words of the query do are parsed: all of them take 10 ms, a few take 1.
    """
    stems = tuple(dict.fromkeys(word for words in said for word in words))
    found: list[EquivalenceClass] = []
    for path, head, tables in _shipped_tables():
        if some := [table for phrases, table in tables if _may_match(phrases, stems)]:
            found += _parse("\n[".join([head, *some]), path, SHIPPED_WEIGHT, own=False)
    return found


def _may_match(phrases: str, stems: tuple[str, ...]) -> bool:
    """Whether a phrase holds nothing but words that begin so, and stop words. A stem is the beginning of its word."""
    stop = load_words().stop
    return any(f" {word}" in phrases for word in stems) and any(
        all(word.startswith(stems) or word in stop for word in phrase.split()) for phrase in phrases.split(",")
    )


@cache
def _shipped_tables() -> list[tuple[Path, str, list[tuple[str, str]]]]:
    """(file, what stands above its tables, (phrases with a blank before each, table) of each): read, and not parsed."""
    found = []
    for file in sorted(SHIPPED.glob("*.toml"), key=lambda file: (file.stem != "universal", file.stem)):
        head, *tables = file.read_text(encoding="utf-8").split("\n[")
        found.append((file, head, [(f" {table.split(_QUOTE, 2)[1]}", table) for table in tables]))
    return found


def user_classes(path: str) -> Sequence[EquivalenceClass]:
    """The classes of a person's own file. Raises SettingsError for one that cannot be read, or says something else."""
    return _parse(read_own_file(path, "classes", HINT, LARGEST), path, USER_WEIGHT, own=True)


def _parse(text: str, path: Path | str, weight: float, own: bool) -> list[EquivalenceClass]:
    """A table for each class; `phrases` with commas between, `targets` with blanks between, as in words.toml.

    `weight` is that of a class that names none; `languages` stands in a class, or above all for the whole file.
    """
    try:
        table = parse_toml(text)
        everywhere = _languages(table.pop("languages", ""), own)
        return [_class(name, row, weight, everywhere, own) for name, row in table.items()]
    except ValueError as fault:
        raise SettingsError(f"{path}: {fault}", HINT) from None


def _class(name: str, row: Any, weight: float, languages: tuple[str, ...], own: bool) -> EquivalenceClass:
    if not isinstance(row, dict):
        raise ValueError(f"'{name}' is no class")
    if unknown := sorted(row.keys() - {"phrases", "targets", "weight", "languages"}):
        raise ValueError(f"class '{name}' has no '{unknown[0]}'")
    phrases = tuple(p.strip() for p in _text(name, row, "phrases").split(",") if p.strip())
    targets = tuple(_text(name, row, "targets").split())
    if not phrases or not targets:
        raise ValueError(f"class '{name}' has no {'targets' if phrases else 'phrases'}")
    weight = row.get("weight", weight)
    if not isinstance(weight, (int, float)) or isinstance(weight, bool) or not 0 < weight <= 1:
        raise ValueError(f"class '{name}': weight is above 0 and at most 1, not {weight!r}")
    languages = _languages(row["languages"], own) if "languages" in row else languages
    concept = EquivalenceClass(name, phrases, targets, float(weight), languages, own)
    if not usable_targets(concept):
        raise ValueError(
            f"class '{name}': each of its targets is shorter than {SHORTEST_TARGET} letters, or says nothing"
        )
    return concept


def _text(name: str, row: Mapping[str, Any], key: str) -> str:
    value = row.get(key, "")
    if not isinstance(value, str):
        raise ValueError(f"class '{name}': {key} is one string, not {value!r}")
    return value


def _languages(value: Any, own: bool) -> tuple[str, ...]:
    """As documents carry them. Shipped files name them so; reading the table of all languages takes longer than a search has."""
    if not isinstance(value, str):
        raise ValueError(f"languages is one string with blanks between, not {value!r}")
    if not own:
        return tuple(value.split())
    known = accepted_names()
    if unknown := [name for name in value.split() if name.lower() not in known]:
        raise ValueError(f"there is no language '{unknown[0]}'")
    return tuple(known[name.lower()] for name in value.split())
