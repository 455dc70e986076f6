"""Counts the query's terms in the candidates, once for a search; all features read these counts.

BM25F (Robertson, Zaragoza, Taylor 2004) is computed here field by field for every candidate, whichever channel found it. FTS5's
own score does not suffice: it uses one length for all fields, and only the units within a channel's cut have one.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import lru_cache, partial
from typing import Any, NamedTuple

from codelens.model.code import DocumentId, UnitId, UnitRow
from codelens.model.history import PastCommit
from codelens.model.search import ExpandedQuery
from codelens.search.channels import Findings
from codelens.search.lexicon import LEXICON
from codelens.search.run import SearchRun
from codelens.search.terms import LENGTH_SHARE, SATURATION, collect_words, load_words, strip_ending
from codelens.store.postings import COLUMNS, Occurrences
from codelens.store.store import Store
from codelens.store.units import UnitSet
from codelens.store.vectors import compute_cosine
from codelens.text.bm25 import compute_idf, score_text, weigh_length
from codelens.text.identifiers import fold_identifier, split_cached, split_identifier, split_qualified
from codelens.text.terms import BEGINNING

OF_AN_ACTION = 0.4
"""Factor on the idf of a verb like `add` or `fix`, which names the task and seldom the code. From a fitted prototype."""
OF_AN_EXTRA = 0.3  # Factor on the idf of abbreviations and corrected spellings
OF_MESSAGES, MESSAGES_LENGTH_SHARE = 1.0, 0.5
"""k and b of BM25 for the messages of a file's past commits. nDCG@10 on commits in a prototype: .408, .411, .411 for k of .25, .5
and 1; .407 and .409 for b of 0 and .5 (tasks .420 and .436). A b above 0 avoids favoring files that change often."""
MOST_OF_MESSAGES, SOME_MESSAGES = 0.2, 20
"""A word in more messages than this share of them, and than this number, is ignored: it is too common, such as "add"."""
IN_FILE_LENGTH_SHARE = 0.5  # b of BM25 for files, whose length is their number of units
_COMMIT_TYPES = "feat fix docs style refactor perf test tests build ci chore revert"
"""Types at the start of conventional commits, which name a kind of change and not a part of the code."""
_AT = {name: place for place, name in enumerate(COLUMNS)}
_NAMED = tuple(_AT[name] for name in ("name", "container"))


class _Scales(dict[int, float]):
    """A cache: length of a field → weight of one occurrence in a field of this length."""

    def __init__(self, weight: float) -> None:
        self._weight, self.mean = weight, 1.0

    def __missing__(self, length: int) -> float:
        self[length] = scale = self._weight / (1.0 - LENGTH_SHARE + LENGTH_SHARE * length / self.mean)
        return scale


class _TermsOfNames(dict[str, str]):
    """A cache: word of a name → the query's term that it is a form of; empty if there is no such term."""

    def __init__(self, query: ExpandedQuery) -> None:
        self.stems = {strip_ending(t.text): t.text for t in reversed(query.words)}
        self._begun = {t.text.removesuffix(BEGINNING): t.text for t in query.words if t.text.endswith(BEGINNING)}

    def __missing__(self, word: str) -> str:
        if not (term := self.stems.get(strip_ending(word), "")) and self._begun:
            term = next((term for begun, term in self._begun.items() if word.startswith(begun)), "")
        self[word] = term
        return term

    def split_name(self, name: str) -> tuple[Sequence[str], Sequence[str]]:
        """Split a name into (its words, those words that are forms of the query's terms), without single letters."""
        words, stems = _split_name(name)
        if not self._begun and self.stems.keys().isdisjoint(stems):
            return words, ()
        return words, [word for word in words if self[word]]


@lru_cache(maxsize=20_000)
def _split_name(name: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    words = tuple([word for word in split_cached(name) if len(word) > 1])
    return words, tuple(map(strip_ending, words))


@lru_cache(maxsize=10_000)
def _parse_counts(counts: bytes) -> tuple[tuple[tuple[int, int], ...], bool]:
    """Parse the counts of one term: ((field number, count) of the fields with it, True if name or container is one)."""
    fields = tuple((field, n) for field, n in enumerate(counts) if n)
    return fields, any(field in _NAMED for field, _ in fields)


Reading = Callable[[Store, Iterable[UnitId]], object]  # A function that reads data about units of a store


class Evidence:
    """Evidence for one query. `add_units` adds candidates; the maxima are taken over the candidates of its first call."""

    def __init__(self, run: SearchRun, findings: Findings, vector: bytes = b"") -> None:
        """Read the query and count its terms in the index; `vector` is its embedding, empty to ignore vectors."""
        self.query, self._store = run.terms, run.store
        self._weights = tuple(run.profile.bm25f.get(column, 0.0) for column in COLUMNS)
        self.channels = frozenset(findings.matches)
        self.verbatim, self.resemblance, self.fragments = findings.evidence
        self.roles_of_original = frozenset(role for unit in run.originals.values() for role in unit.roles)
        self.concepts = {m.unit: m for m in findings.matches.get("equivalence", ())}
        self._read_query()
        self._count_terms()
        self.units: dict[UnitId, UnitRow] = {}
        self.found: dict[UnitId, Occurrences] = {}
        self.bm25: dict[UnitId, float] = {}
        self.related: dict[UnitId, float] = {}  # BM25F of the terms from the lexicon
        self.said: dict[UnitId, float] = {}  # Unit → share of the query's words, by rarity, that it contains
        self.related_names: dict[UnitId, float] = {}
        """Unit → share of the query's words, by rarity, of which its name and container have only related words."""
        self._shares: dict[tuple[int, ...], tuple[float, float]] = {}
        """Places of the terms that a unit or name contains → the last two values for it."""
        self._scales = [_Scales(weight) for weight in self._weights]
        self.cosine: dict[UnitId, float] = {}
        self.files: dict[DocumentId, float] = {}
        self.share_in_file: dict[DocumentId, float] = {}  # File → share of the query's words, by rarity, in its units
        self.uses: dict[int, int] = {}
        self.messages: dict[DocumentId, tuple[float, int]] = {}
        """File → (score of its commits' messages as a share of the best possible, number of the best message)."""
        in_messages: Mapping[
            str, float
        ] = {}  # Word → its rarity in messages, if they have it, and not too many of them
        if run.profile.features.get("messages"):
            messages = self._store.messages
            total, files, said = messages.read_totals()
            counts = {word: messages.count_messages(word) for word in self.terms[: self.words]} if total else {}
            rarity = {word: compute_idf(total, count) for word, count in counts.items()}
            self._of_messages, self._mean_said = math.fsum(rarity.values()), said / files if files else 0.0
            most = max(SOME_MESSAGES, MOST_OF_MESSAGES * total)
            in_messages = {word: rarity[word] for word, n in counts.items() if 0 < n <= most}
        self._wanted = CandidateReads(self.terms, self.asked, in_messages, vector)
        self.best_bm25 = self.best_related = self.best_cosine = self.best_file = self.best_found = 0.0

    def _read_query(self) -> None:
        query = self.query
        self.query_words = collect_words(query)
        self._term_of = _TermsOfNames(query)
        self.split_name = self._term_of.split_name
        self.names = {t.text: t for t in reversed(query.names)}
        self.folded = fold_identifier(query.text)
        holder, name = split_qualified(query.text)
        self.qualified = f"{holder}.{name}" if holder else ""
        """The query as a dotted name, if all of it is one qualified name; else empty."""
        scope = re.match(r"[\w(/., -]{2,40}?\)?(?=!?: )", query.text)
        words = split_identifier(scope[0].replace("/", " ").replace("(", " ").replace(".", " ")) if scope else ()
        actions = load_words().action.union(_COMMIT_TYPES.split())
        self.scope = tuple(dict.fromkeys(strip_ending(w) for w in words if len(w) > 1 and w not in actions))
        self._path_words: dict[str, frozenset[str]] = {}

    def _count_terms(self) -> None:
        """Compute each term's idf by Lucene's formula; the added 1 keeps it from being negative."""
        actions, total = load_words().action, self._store.units.count()
        self.terms: list[str] = []
        self._stands_for: dict[int, tuple[int, ...]] = {}
        """Place of a term from the lexicon → the places of the words that it stands for."""
        self.rarity: list[float] = []
        self._instead = frozenset(t.text for t in self.query.extra if t.tier != "spelling")
        self.parts = [t.text for t in self.query.names if t.tier not in ("pair", "prefix")]
        """Folded texts of the query that may be parts of names: its names, and words that occur in no unit."""
        self.is_one_name = len(self.query.text.split()) == 1
        weighted = [(t, 1.0) for t in self.query.words]
        weighted += [(t, 1.0 if t.tier == "uses" else OF_AN_EXTRA) for t in self.query.extra]
        weighted += [(t, t.strength) for t in self.query.related]
        for term, share in weighted:
            if term.text in self.terms:
                continue
            if term.tier == LEXICON:
                self._stands_for[len(self.terms)] = tuple(map(self.terms.index, term.stands_for))
            frequency = self._store.postings.count_units(term.text)
            if not frequency and share == 1.0:
                self.parts.append(fold_identifier(term.text))
            factor = OF_AN_ACTION if term.origin.casefold() in actions else 1.0
            self.terms.append(term.text)
            self.rarity.append(compute_idf(total, frequency) * share * factor)
        self.words = len({t.text for t in self.query.words})  # `terms` begin with so many words of the query itself
        self.of_words = math.fsum(self.rarity[: self.words])
        self.asked = self.terms[: len(self.terms) - len(self._stands_for)]
        """The terms without those of the lexicon, which come last; only these are counted in files."""
        self._strength = {t.text: t.strength for t in self.query.related}
        self.place = {term: place for place, term in enumerate(self.terms)}
        self._means: Sequence[float] = ()

    @property
    def reading(self) -> Reading:
        """A function that reads from a store all that `add_units` needs for some units."""
        return partial(_read_with_rows, wanted=self._wanted)

    def add_units(self, units: Iterable[UnitRow]) -> None:
        """Add the counts of more candidates. Raises OutOfTime, after which the evidence is unusable."""
        store = self._store
        store.budget.check()
        new = [unit for unit in units if unit.id not in self.units]
        first = not self.units
        self.units |= {unit.id: unit for unit in new}
        pool = UnitSet(sorted(unit.id for unit in new))
        uncounted = {unit.document for unit in new} - self.files.keys()
        occurrences, uses, distances, messages, in_files = _read_counts(store, pool, uncounted, self._wanted)
        store.budget.check()
        self.found |= occurrences
        if not self._means and any(map(store.postings.count_units, self.terms)):
            rows, tokens = store.postings.read_totals()
            self._means = tuple(count / max(1, rows) for count in tokens)
            for scales, mean in zip(self._scales, self._means, strict=False):
                scales.mean = mean or 1.0
        self._weigh_units(occurrences)
        self.uses |= uses
        self.cosine |= {unit: max(0.0, compute_cosine(distance)) for unit, distance in distances.items()}
        rarity = self._wanted.messages
        for document, said in messages.items():
            norm = weigh_length(said.said, self._mean_said, OF_MESSAGES, MESSAGES_LENGTH_SHARE)
            score = score_text(((rarity[word], weight) for word, weight in said.terms.items()), norm)
            self.messages[document] = score / self._of_messages, said.best
        if in_files:
            self._weigh_files(uncounted, *in_files)
        if first:
            self.best_bm25 = max(self.bm25.values(), default=0.0)
            self.best_related = max(self.related.values(), default=0.0)
            self.best_cosine = max(self.cosine.values(), default=0.0)
            self.best_file = max(self.files.values(), default=0.0)
            self.best_found = min(1.0, self.best_bm25 / self.of_words) if self.of_words else 0.0

    def _weigh_units(self, occurrences: Mapping[UnitId, Occurrences]) -> None:
        """Compute for each unit BM25F of the query's terms and of related terms, and the shares of the query's words, by rarity,
        in the unit and in its name. A word counts in part if only a related word occurs.

        BM25F is Σ idf · tf / (k1 + tf), tf = Σ over fields of weight · count / (1 - b + b · length / mean length).
        """
        rarity, scales, stands_for = self.rarity, self._scales, self._stands_for
        for unit, in_unit in occurrences.items():
            lengths = in_unit.lengths
            named: list[int] = []
            parts: list[tuple[float, float]] = []
            related: list[tuple[float, float]] = []
            for place, counts in in_unit.counts.items():
                fields, is_named = _parse_counts(counts)
                frequency = math.fsum([n * scales[field][lengths[field]] for field, n in fields])
                (related if place in stands_for else parts).append((rarity[place], frequency))
                if is_named:
                    named.append(place)
            self.bm25[unit], self.related[unit] = score_text(parts, SATURATION), score_text(related, SATURATION)
            self.said[unit] = self._compute_shares(tuple(in_unit.counts))[0]
            self.related_names[unit] = self._compute_shares(tuple(named))[1]

    def _compute_shares(self, places: tuple[int, ...]) -> tuple[float, float]:
        """Compute (share of the query's words that these terms cover, share that only related terms cover), by rarity. The
        result is cached, because many units contain the same terms."""
        if places not in self._shares:
            said = {place: 1.0 for place in places if place < self.words}
            related: dict[int, float] = {}
            for place in places:
                for word in self._stands_for.get(place, ()):
                    if word not in said:
                        related[word] = max(related.get(word, 0.0), self._strength[self.terms[place]])
            both = ((said | related).items(), related.items())
            held, by_related = (math.fsum([self.rarity[word] * share for word, share in shares]) for shares in both)
            whole = self.of_words
            self._shares[places] = (held / whole, by_related / whole) if whole else (0.0, 0.0)
        return self._shares[places]

    def find_message(self, document: DocumentId) -> PastCommit:
        """Find the commit with the best message among those that changed a file, which must be in `messages`."""
        return self._store.messages.read_commit(self.messages[document][1])[1]

    def _weigh_files(
        self,
        documents: Iterable[DocumentId],
        lengths: Mapping[DocumentId, int],
        holding: Sequence[Mapping[DocumentId, int]],
    ) -> None:
        mean = self._store.units.count() / max(1, self._store.occurrences.count_files())
        counts: dict[DocumentId, list[tuple[int, int]]] = {document: [] for document in documents}
        for place, of_term in enumerate(holding):
            for document, count in of_term.items():
                counts[document].append((place, count))
        for document, counts_in_file in counts.items():
            norm = weigh_length(lengths.get(document, 1), mean, SATURATION, IN_FILE_LENGTH_SHARE)
            self.files[document] = score_text(((self.rarity[place], count) for place, count in counts_in_file), norm)
            rarity = math.fsum([self.rarity[place] for place, _ in counts_in_file if place < self.words])
            self.share_in_file[document] = rarity / self.of_words if self.of_words else 0.0

    def has_stand_in(self, unit: UnitId) -> bool:
        """Decide if the unit contains an abbreviation or alias of one of the query's words."""
        in_unit = self.found.get(unit)
        return in_unit is not None and any(self.terms[place] in self._instead for place in in_unit.counts)

    def compute_scope_share(self, unit: UnitRow) -> float:
        """Compute the share of the words before the query's colon (`fix(parser): …`) that occur in path or qualified name."""
        if not self.scope:
            return 0.0
        if unit.path not in self._path_words:
            words = (word for part in unit.path.split("/") for word in split_identifier(part))
            self._path_words[unit.path] = frozenset(map(strip_ending, words))
        words_here = self._path_words[unit.path].union(map(strip_ending, split_identifier(unit.qualified_name)))
        return sum(word in words_here for word in self.scope) / len(self.scope)

    def compute_rarity(self, words: Iterable[str]) -> float:
        """Compute the share of the query's words, by rarity, of which these words of a name are forms."""
        places = {self.place[self._term_of[w]] for w in words}
        return math.fsum(self.rarity[p] for p in sorted(places)) / self.of_words if self.of_words else 0.0


def read_rows(store: Store, units: Iterable[UnitId]) -> object:
    """Read the rows of units."""
    return store.units.read_rows(units)


class CandidateReads(NamedTuple):
    """The data to read about candidates."""

    terms: Sequence[str]
    asked: Sequence[str]  # The terms that are counted in files
    messages: Mapping[str, float]  # The words that are looked for in messages of commits; empty to read none
    vector: bytes  # The vector to measure distances from; empty to measure none


def _read_counts(store: Store, pool: UnitSet, documents: Collection[DocumentId], wanted: CandidateReads) -> list[Any]:
    """Read about units: counts of the terms, files that use each unit, distances; about files: messages, counts of the terms."""
    terms, asked, messages, vector = wanted
    return store.run_tasks(
        partial(store.occurrences.count_in_units, pool, terms, store.budget.check),
        partial(store.edges.count_using_files, pool),
        partial(store.vectors.measure_units, pool, vector) if vector else dict,
        partial(store.messages.weigh_documents, documents, messages) if messages and documents else dict,
        partial(store.occurrences.count_in_files, documents, asked, store.budget.check) if documents else tuple,
    )


def _read_with_rows(store: Store, units: Iterable[UnitId], wanted: CandidateReads) -> None:
    pool = UnitSet(sorted(units))
    _read_counts(store, pool, {row.document for row in store.units.read_rows(pool).values()}, wanted)
