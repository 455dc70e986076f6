"""Extracts keywords from a task as the system `knowing` does: names that the task contains or may mean, and single words.

    exact        identifiers in back-ticks
    compounds    identifiers as written, and pairs of neighbouring words joined
    components   words: the first noun after a verb at the task's beginning, then the longest first

Verbs of tasks (add, refactor) and words of programs (func, err) are left out. Abbreviations, and words of the same clusters,
are further terms. For a profile with keywords, two channels of this module replace `symbol` and `exact`: one finds names tier by
tier, the other finds words in texts. Tiers, limits and lists are those of knowing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from pathlib import Path

from codelens.model.code import UnitId
from codelens.model.fast_dataclass import dataclass
from codelens.model.search import ExpandedQuery, Match, Term
from codelens.search.channels import ChannelResult
from codelens.search.run import SearchRun
from codelens.search.terms import (
    MOST_BEGINNINGS,
    MOST_TERMS,
    is_compound,
    load_words,
    may_join,
    split_text,
    strip_ending,
)
from codelens.store.postings import InColumns
from codelens.text.identifiers import fold_identifier, split_identifier, split_qualified
from codelens.text.notation import parse_toml
from codelens.text.terms import BEGINNING, split_prefix, split_token, tokens

PRIORITY, COMPONENT, PAIR, THESAURUS = "priority", "component", "pair", "thesaurus"
"""Tiers of terms; `priority` is the noun after the verb."""
SHORTEST_KEYWORD = 2  # Fewest letters of a keyword
LONGEST_EXACT = 100  # Most characters of an identifier in back-ticks


@dataclass(frozen=True, slots=True)
class KeywordLists:
    """The lists of keywords.toml, with the stop words of words.toml."""

    stop: frozenset[str]
    action: frozenset[str]
    clusters: Mapping[str, tuple[str, ...]]  # Stem of a word → the other words of its clusters


@cache
def load_lists() -> KeywordLists:
    """Read the lists, once for the process."""
    table = parse_toml(Path(__file__).parent.with_name("keywords.toml").read_text(encoding="utf-8"))
    stop = frozenset(f"{table['stop']} {table['programming']}".split()) | load_words().stop
    others: dict[str, dict[str, None]] = {}
    for line in table["clusters"].values():
        cluster = line.split()
        for word in cluster:
            others.setdefault(_strip_plural_ending(word), {}).update(dict.fromkeys(w for w in cluster if w != word))
    return KeywordLists(stop, frozenset(table["action"].split()), {w: tuple(found) for w, found in others.items()})


def _strip_plural_ending(word: str) -> str:
    """Strip the ending of a plural and then of the singular: consumers, consumer → consum."""
    return strip_ending(strip_ending(word))


def find_keywords(texts: Sequence[str], identifiers: Sequence[str], whole: str, clusters: bool = True) -> ExpandedQuery:
    """Extract a query's keywords, or else all its words, as terms. `clusters` adds related words; see `expand_query`."""
    lists = load_lists()
    exact = [i for i in identifiers if len(i) <= LONGEST_EXACT and i == "".join(i.split()) and _split_identifier(i)]
    names = {fold_identifier(split_qualified(i)[1]): Term("", "exact", f"`{i}`") for i in exact}
    components = {part: f"`{i}`" for i in exact for part in _split_identifier(i)}
    first, begun = "", list[Term]()
    for place, text in enumerate(texts):
        split = split_text(text)
        stars = [token.removesuffix(BEGINNING) for token in split if token.endswith(BEGINNING)]
        begun += [Term(term, "prefix", token) for token in stars[:MOST_BEGINNINGS] for term in split_prefix(token)]
        said = [token for token in split if not token.endswith(BEGINNING)]
        first = first or (_find_noun_after_verb(said, lists) if not place else "")
        for folded, term in _find_compounds(said, lists):
            names.setdefault(folded, term)
        for token in said:
            for part in _split_identifier(token):
                if part not in lists.stop and part not in lists.action and len(part) >= SHORTEST_KEYWORD:
                    components.setdefault(part, token)
    if not (names or components or begun):
        components = {part: token for text in texts for token in tokens(text) for part in _split_identifier(token)}
    words = [
        Term(part, PRIORITY if part == first else COMPONENT, token)
        for part, token in sorted(components.items(), key=lambda item: (item[0] != first, -len(item[0])))
    ][:MOST_TERMS]
    name_terms = [Term(folded, term.tier, term.origin) for folded, term in list(names.items())[:MOST_TERMS]]
    of_names = {term.text: term for term in words}
    extra = {
        other: Term(other, THESAURUS, f"{word} ~ {other}")
        for word in (of_names if clusters else ())
        for other in lists.clusters.get(_strip_plural_ending(word), ())
        if other not in of_names
    }
    return ExpandedQuery(whole, tuple(name_terms), (*words, *begun), tuple(extra.values()), texts=tuple(texts))


def _split_identifier(token: str) -> list[str]:
    """Split an identifier into itself and its words, in lower case; for a dotted one, do so for each part."""
    return list(dict.fromkeys(term for one in tokens(token) for term in split_token(one)))


def _find_noun_after_verb(said: Sequence[str], lists: KeywordLists) -> str:
    """Find the first word, except stop words and verbs, after a verb at the task's beginning; empty for another beginning."""
    if not said or said[0].casefold() not in lists.action:
        return ""
    rest = (token.casefold() for token in said[1:])
    noun = next((word for word in rest if word not in lists.stop and word not in lists.action), "")
    return noun if noun.isalnum() else ""


def _find_compounds(said: Sequence[str], lists: KeywordLists) -> Iterator[tuple[str, Term]]:
    """Find identifiers of several parts, and pairs of neighbouring words joined, as (folded name, term)."""
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


FEW = 5  # Number of matches of names below which single words are also looked up as names
PREFIX_BELOW, PREFIX_CAP = 15, 30  # A tier runs if there are fewer matches than the first, and stops at the second
SUBSTRING_BELOW, SUBSTRING_CAP, SUBSTRING_LETTERS = 5, 20, 4
PATH_BELOW, PATH_LETTERS = 30, 3
SHORTEST_PATH_TERM = 4  # Fewest letters of a word that is looked up as the beginning of a folder's name
COMMON_ON_PATHS, FEW_FILES = 0.1, 3
"""Share of all files, or this number if larger: a word on more paths names the project, and not a place in it."""
IS_NAMED, BEGINS, HOLDS, ON_PATH = 4.0, 3.0, 2.0, 1.0  # Raw scores of the tiers 1 to 4; only their order counts


def find_by_name(run: SearchRun, limit: int) -> ChannelResult:
    """Find units by exact names, beginnings, parts of qualified names, and paths; each unit counts in the first tier it fits.

    Names of the query come first; its single words count as names only if these find few. The raw score depends on the tier.
    """
    matches: dict[UnitId, Match] = {}
    units, within, folders = run.store.units, run.within, int(run.profile.keywords["folders"])
    names, words = run.terms.names, [term for term in run.terms.words if not term.text.endswith(BEGINNING)]
    spellings = {text: term.origin for term in (*names, *words) for text in _list_spellings(term)}

    def add(
        lookups: Iterable[tuple[str, Callable[[], Sequence[UnitId]]]], score: float, relation: str, most: int
    ) -> None:
        """Add the units found by look-ups, given with the keywords, until there are `most` matches."""
        asked = list(lookups)
        found = run.store.run_tasks(*(find for _, find in asked))
        for (origin, _), ids in zip(asked, found, strict=True):
            for unit in ids:
                if len(matches) >= most:
                    return
                matches.setdefault(unit, Match(unit, score, f"{relation} {origin}"))

    def add_named(terms: Iterable[Term]) -> None:
        lookups = ((t.origin, partial(units.find_likeliest, *_split_name(t), within, limit)) for t in terms)
        add(lookups, IS_NAMED, "tier 1: is named", limit)

    def add_begun(beginnings: Iterable[tuple[str, str]], *finders: Callable[..., Sequence[UnitId]]) -> None:
        lookups = ((origin, partial(find, text, within, PREFIX_CAP)) for origin, text in beginnings for find in finders)
        add(lookups, BEGINS, "tier 2: name begins with", PREFIX_CAP)

    add_named(names)
    begun = [term for term in (*names, *run.terms.words) if term.tier == "prefix"]
    beginnings = ((term.origin, fold_identifier(term.text.removesuffix(BEGINNING))) for term in begun)
    add_begun(beginnings, units.find_by_name, units.find_by_prefix)
    if len(matches) < PREFIX_BELOW:
        add_begun(((term.origin, term.text) for term in names), units.find_by_prefix)
    if len(matches) < FEW:
        add_named(words)
        if len(matches) < PREFIX_BELOW:
            add_begun(((term.origin, term.text) for term in words), units.find_by_prefix)
    if len(matches) < SUBSTRING_BELOW:
        parts = [text for text in spellings if len(text) >= SUBSTRING_LETTERS]
        found = ((spellings[text], partial(units.find_by_part, text, within, SUBSTRING_CAP)) for text in parts)
        add(found, HOLDS, "tier 3: qualified name holds", SUBSTRING_CAP)
    if len(matches) < PATH_BELOW:
        segments = select_names_of_places([text for text in spellings if len(text) >= PATH_LETTERS], run)
        found = ((spellings[text], partial(units.find_in_segment, text, within, folders)) for text in segments)
        add(found, ON_PATH, "tier 4: lies in", folders)
    return ChannelResult(list(matches.values())[:limit])


def _split_name(term: Term) -> tuple[str, str]:
    """Split a keyword as written into (name, holder); for a part of a name or joined words, (the folded term, "")."""
    holder, name = split_qualified(term.origin.strip("`"))
    return (name, holder) if fold_identifier(name) == term.text else (term.text, "")


def _list_spellings(term: Term) -> list[str]:
    """List spellings of a keyword in paths and qualified names, in lower case: for a pair, joined and with an underscore."""
    if term.tier == PAIR:
        return [term.text, "_".join(term.origin.casefold().split())]
    written = term.origin.strip("`").removesuffix("()").casefold()
    return [written if fold_identifier(written) == term.text else term.text]


def find_by_words(run: SearchRun, limit: int) -> ChannelResult:
    """Find units by BM25 of words in all texts, compounds in names, pairs as phrases, and beginnings of folders in paths."""
    query, fields = run.terms, run.profile.fields
    words = dict.fromkeys(t.text for t in (*query.words, *query.extra) if t.text not in query.common)
    compounds = (t.origin.strip("`") for t in query.names if t.tier != PAIR)
    terms: list[str | InColumns] = [*words]
    terms += [InColumns(split_qualified(name)[1].casefold(), ("name",)) for name in compounds]
    terms += [InColumns(t.origin.casefold()) for t in query.names if t.tier == PAIR]
    terms += [InColumns(word, ("path",), begins=True) for word in select_path_terms(run)]
    columns = [column for column, weight in fields.items() if weight] if 0.0 in fields.values() else []
    scores = run.store.postings.rank_by_bm25(terms, fields, run.within, limit, columns) if terms else []
    return ChannelResult([Match(unit, score, f"BM25 {score:.2f}") for unit, score in scores])


def select_path_terms(run: SearchRun) -> list[str]:
    """Select the words of the query that may begin the name of a folder or file, without the project's own name."""
    words = [t.text for t in run.terms.words if len(t.text) >= SHORTEST_PATH_TERM and t.text.isalpha()]
    return select_names_of_places(words, run)


def select_names_of_places(texts: Sequence[str], run: SearchRun) -> list[str]:
    """Select the texts that name places in the project: those that do not begin names on the paths of too many files."""
    most = max(FEW_FILES, COMMON_ON_PATHS * run.store.occurrences.count_files())
    counts = run.store.run_tasks(*(partial(run.store.documents.count_on_paths, text) for text in texts))
    return [text for text, count in zip(texts, counts, strict=True) if count <= most]
