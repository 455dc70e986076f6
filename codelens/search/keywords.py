"""A task's words → knowing's keywords: names that the task says or may mean, and single words, the more telling first.

    exact        identifiers in back-ticks
    compounds    identifiers as written, and pairs of neighbouring words joined
    components   words: the first noun behind a verb that opens the task, then the longest first

Verbs of tasks (add, refactor) and words of programs (func, err) are left out. Abbreviations, and words of the clusters that
a keyword belongs to, are further terms of the texts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path

from codelens.model.fast_dataclass import dataclass
from codelens.model.search import ExpandedQuery, Term
from codelens.search.terms import (
    MOST_BEGINNINGS,
    MOST_TERMS,
    is_compound,
    load_words,
    may_join,
    split_text,
    stem,
)
from codelens.text.identifiers import fold_identifier, split_identifier, split_qualified
from codelens.text.notation import parse_toml
from codelens.text.terms import BEGINNING, beginning_terms, token_terms, tokens

PRIORITY, COMPONENT, PAIR, THESAURUS = "priority", "component", "pair", "thesaurus"
"""Tiers of terms; `priority` is the noun behind the verb."""
SHORTEST_KEYWORD = 2  # Letters; knowing's figure, as the next
LONGEST_EXACT = 100  # Characters of an identifier in back-ticks


@dataclass(frozen=True, slots=True)
class KeywordLists:
    """keywords.toml, with the stop words of words.toml."""

    stop: frozenset[str]
    action: frozenset[str]
    clusters: Mapping[str, tuple[str, ...]]  # Stem of a word → the other words of its clusters


@cache
def keyword_lists() -> KeywordLists:
    """The lists, read once."""
    table = parse_toml(Path(__file__).with_name("keywords.toml").read_text(encoding="utf-8"))
    stop = frozenset(f"{table['stop']} {table['programming']}".split()) | load_words().stop
    others: dict[str, dict[str, None]] = {}
    for line in table["clusters"].values():
        cluster = line.split()
        for word in cluster:
            others.setdefault(_form(word), {}).update(dict.fromkeys(w for w in cluster if w != word))
    return KeywordLists(stop, frozenset(table["action"].split()), {w: tuple(found) for w, found in others.items()})


def _form(word: str) -> str:
    """The stem without a plural's ending: consumers, consumer → consum."""
    return stem(stem(word))


def keywords(texts: Sequence[str], identifiers: Sequence[str], whole: str, clusters: bool = True) -> ExpandedQuery:
    """The keywords as a query's terms. Arguments as of `terms.expand`; `clusters` adds words that stand for others.

    If nothing is left of a query, all of its words are looked for.
    """
    lists = keyword_lists()
    names = {fold_identifier(split_qualified(i)[1]): Term("", "exact", f"`{i}`") for i in identifiers if _is_exact(i)}
    components = {part: f"`{i}`" for i in identifiers if _is_exact(i) for part in _parts(i)}
    first, begun = "", list[Term]()
    for place, text in enumerate(texts):
        split = split_text(text)
        stars = [token.removesuffix(BEGINNING) for token in split if token.endswith(BEGINNING)]
        begun += [Term(term, "prefix", token) for token in stars[:MOST_BEGINNINGS] for term in beginning_terms(token)]
        said = [token for token in split if not token.endswith(BEGINNING)]
        first = first or (_noun_behind_verb(said, lists) if not place else "")
        for folded, term in _compounds(said, lists):
            names.setdefault(folded, term)
        for token in said:
            for part in _parts(token):
                if part not in lists.stop and part not in lists.action and len(part) >= SHORTEST_KEYWORD:
                    components.setdefault(part, token)
    if not (names or components or begun):
        components = {part: token for text in texts for token in tokens(text) for part in _parts(token)}
    words = [
        Term(part, PRIORITY if part == first else COMPONENT, token)
        for part, token in sorted(components.items(), key=lambda item: (item[0] != first, -len(item[0])))
    ][:MOST_TERMS]
    found = {folded: Term(folded, term.tier, term.origin) for folded, term in list(names.items())[:MOST_TERMS]}
    of_names = {term.text: term for term in words}
    alike = _clustered(of_names, lists) if clusters else ()
    extra = {term.text: term for term in alike}
    return ExpandedQuery(whole, tuple(found.values()), (*words, *begun), tuple(extra.values()), texts=tuple(texts))


def _is_exact(identifier: str) -> bool:
    return len(identifier) <= LONGEST_EXACT and not any(c.isspace() for c in identifier) and bool(_parts(identifier))


def _parts(token: str) -> list[str]:
    """The whole identifier and its words, in lower case; of a dotted one, those of each part."""
    return list(dict.fromkeys(term for one in tokens(token) for term in token_terms(one)))


def _noun_behind_verb(said: Sequence[str], lists: KeywordLists) -> str:
    """The first word behind a verb that opens the task, without stop words and verbs; empty for another beginning."""
    if not said or said[0].casefold() not in lists.action:
        return ""
    rest = (token.casefold() for token in said[1:])
    noun = next((word for word in rest if word not in lists.stop and word not in lists.action), "")
    return noun if noun.isalnum() else ""


def _compounds(said: Sequence[str], lists: KeywordLists) -> Iterator[tuple[str, Term]]:
    """(folded name, term) of identifiers of several parts, and of neighbouring words joined."""
    previous = ""
    for token in said:
        word = token.casefold()
        if is_compound(token, split_identifier(token)):
            yield fold_identifier(split_qualified(token)[1]), Term("", "compound", token)
            previous = ""
        elif word in lists.stop or word in lists.action:
            previous = ""
        else:
            if previous and may_join(previous, word):
                yield fold_identifier(previous + word), Term("", PAIR, f"{previous} {token}")
            previous = word


def _clustered(words: Mapping[str, Term], lists: KeywordLists) -> Iterator[Term]:
    for word in words:
        for other in lists.clusters.get(_form(word), ()):
            if other not in words:
                yield Term(other, THESAURUS, f"{word} ~ {other}")
