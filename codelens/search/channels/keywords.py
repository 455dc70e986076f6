"""knowing's two channels of keywords: names tier by tier, and the texts of symbols.

Both stand in the place of the channels `symbol` and `exact` where a profile looks for keywords. Tiers and caps are knowing's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from codelens.model.code import UnitId
from codelens.model.search import Match, Term
from codelens.search.keywords import PAIR
from codelens.search.run import SearchRun
from codelens.store.postings import InColumns
from codelens.store.units import UnitSet
from codelens.text.identifiers import fold_identifier, split_qualified
from codelens.text.terms import BEGINNING

FEW = 5  # Matches of the names below which single words are looked for as names
PREFIX_BELOW, PREFIX_CAP = 15, 30  # A tier runs below the first number of matches so far, and fills up to the second
SUBSTRING_BELOW, SUBSTRING_CAP, SUBSTRING_LETTERS = 5, 20, 4
PATH_BELOW, PATH_LETTERS = 30, 3
SHORTEST_PATH_TERM = 4  # Letters of a word that may begin the name of a folder
COMMON_ON_PATHS, FEW_FILES = 0.1, 3
"""Share of all files, and as many in any tree: a word on the paths of more names the project, not a place in it. Chosen."""
IS_NAMED, BEGINS, HOLDS, ON_PATH = 4.0, 3.0, 2.0, 1.0  # Raw scores of the tiers 1 to 4. Only their order is meant.

Ask = Callable[[str, int], Iterable[UnitId]]  # (text, at most so many) → units


class TieredNames:
    """Exact names, beginnings, parts of qualified names, and names of folders and files; each unit in the first tier it fits."""

    name = "symbol"

    def retrieve(self, run: SearchRun, limit: int) -> Sequence[Match]:
        """Names of the query first; its words alone as names only where these gave few. The raw score says the tier."""
        found: dict[UnitId, Match] = {}
        names, words = run.terms.names, [term for term in run.terms.words if not term.text.endswith(BEGINNING)]
        places = [one for text in names for one in _spellings(text)] + [word.text for word in words]
        run.store.foresee(
            *(("units.named_as", _as_named(term, run, limit)) for term in (*names, *words)),
            *(("units.named_from", (term.text, run.within, PREFIX_CAP)) for term in (*names, *words)),
            *(("documents.on_paths", (text,)) for text in places),
        )
        _exactly(names, run, found, limit)
        self._begun([term for term in (*names, *run.terms.words) if term.tier == "prefix"], run, found)
        if len(found) < PREFIX_BELOW:
            _from(names, run, found)
        if len(found) < FEW:
            _exactly(words, run, found, limit)
            if len(found) < PREFIX_BELOW:
                _from(words, run, found)
        texts = {text: term.origin for term in (*names, *words) for text in _spellings(term)}
        if len(found) < SUBSTRING_BELOW:
            parts = [one for one in texts if len(one) >= SUBSTRING_LETTERS]
            run.store.foresee(*(("units.qualified_with", (text, run.within, SUBSTRING_CAP)) for text in parts))
            for text in parts:
                units = run.store.units.qualified_with(text, run.within, SUBSTRING_CAP)
                _add(
                    units, Match(UnitId(0), HOLDS, f"tier 3: qualified name holds {texts[text]}"), SUBSTRING_CAP, found
                )
        most = int(run.profile.keywords["folders"])
        if len(found) < PATH_BELOW:
            segments = [one for one in texts if len(one) >= PATH_LETTERS and names_a_place(one, run)]
            run.store.foresee(*(("units.in_segment", (text, run.within, most)) for text in segments))
            for text in segments:
                units = run.store.units.in_segment(text, run.within, most)
                _add(units, Match(UnitId(0), ON_PATH, f"tier 4: lies in {texts[text]}"), most, found)
        return list(found.values())[:limit]

    @staticmethod
    def _begun(terms: Sequence[Term], run: SearchRun, found: dict[UnitId, Match]) -> None:
        """Names that begin as a word with a star says."""
        for term in terms:
            begun = fold_identifier(term.text.removesuffix(BEGINNING))
            for ask in (run.store.units.named, run.store.units.named_from):
                units = ask(begun, run.within, PREFIX_CAP)
                _add(units, Match(UnitId(0), BEGINS, f"tier 2: name begins with {term.origin}"), PREFIX_CAP, found)


def _exactly(terms: Sequence[Term], run: SearchRun, found: dict[UnitId, Match], limit: int) -> None:
    for term in terms:
        units = run.store.units.named_as(*_as_named(term, run, limit))
        _add(units, Match(UnitId(0), IS_NAMED, f"tier 1: is named {term.origin}"), limit, found)


def _as_named(term: Term, run: SearchRun, limit: int) -> tuple[str, str, UnitSet | None, int]:
    """The arguments of `named_as`."""
    holder, name = split_qualified(term.origin.strip("`"))
    if fold_identifier(name) != term.text:  # a word of a name, or two words joined
        holder, name = "", term.text
    return name, holder, run.within, limit


def _from(terms: Sequence[Term], run: SearchRun, found: dict[UnitId, Match]) -> None:
    for term in terms:
        units = run.store.units.named_from(term.text, run.within, PREFIX_CAP)
        _add(units, Match(UnitId(0), BEGINS, f"tier 2: name begins with {term.origin}"), PREFIX_CAP, found)


def _add(units: Iterable[UnitId], like: Match, most: int, found: dict[UnitId, Match]) -> None:
    """Add units that are not found yet, until there are `most`."""
    for unit in units:
        if len(found) >= most:
            return
        found.setdefault(unit, Match(unit, like.raw_score, like.reason))


def _spellings(term: Term) -> list[str]:
    """A keyword in lower case as it may stand in a path or a qualified name: a pair joined, and with an underscore."""
    if term.tier == PAIR:
        return [term.text, "_".join(term.origin.casefold().split())]
    said = term.origin.strip("`").removesuffix("()").casefold()
    return [said if fold_identifier(said) == term.text else term.text]


class KeywordTexts:
    """BM25 of words in all texts, of compounds in names, of pairs as phrases, and of beginnings of folders in paths."""

    name = "exact"

    def retrieve(self, run: SearchRun, limit: int) -> Sequence[Match]:
        """Units with any of the terms. The raw score is BM25, above 0."""
        query, fields = run.terms, run.profile.fields
        words = dict.fromkeys(t.text for t in (*query.words, *query.extra) if t.text not in query.common)
        compounds = (t.origin.strip("`") for t in query.names if t.tier != PAIR)
        terms: list[str | InColumns] = [*words]
        terms += [InColumns(split_qualified(one)[1].casefold(), ("name",)) for one in compounds]
        terms += [InColumns(t.origin.casefold()) for t in query.names if t.tier == PAIR]
        terms += [InColumns(word, ("path",), begins=True) for word in path_terms(run)]
        columns = [column for column, weight in fields.items() if weight] if 0.0 in fields.values() else []
        found = run.store.postings.bm25(terms, fields, run.within, limit, columns) if terms else []
        return [Match(unit, score, f"BM25 {score:.2f}") for unit, score in found]


def path_terms(run: SearchRun) -> list[str]:
    """The words of the query that may begin the name of a folder or file, without the project's own name."""
    words = [t.text for t in run.terms.words if len(t.text) >= SHORTEST_PATH_TERM and t.text.isalpha()]
    run.store.foresee(*(("documents.on_paths", (word,)) for word in words))
    return [word for word in words if names_a_place(word, run)]


def names_a_place(text: str, run: SearchRun) -> bool:
    """True if not too many files have it at the beginning of their name or of a folder's."""
    most = max(FEW_FILES, COMMON_ON_PATHS * run.store.occurrences.files())
    return run.store.documents.on_paths(text) <= most
