"""Ranks files for a query: by BM25 over their paths, definitions and imports, and by vectors, joined by ranks.

A file is as near to the query as its own vector or the nearest of its units. A query that is a file's name or the end of its
path means that file, so a match of names has a contribution of its own, which ranks by meaning cannot outweigh.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from codelens.config import Settings, load_weights
from codelens.errors import UsageError
from codelens.model.budget import CHANNELS
from codelens.model.code import DocumentId, UnitId, UnitRow
from codelens.model.fast_dataclass import replace
from codelens.model.graph import make_document_node
from codelens.model.request import OPTIONS, UNITS, SearchOptions
from codelens.model.search import Candidate, ExpandedQuery, Match, rank_candidates
from codelens.query.conditions import demands_text
from codelens.query.nodes import Query
from codelens.search.channels import Channel, ChannelResult, Findings
from codelens.search.channels.vector import compute_query_vector, find_by_meaning
from codelens.search.evidence import OF_AN_EXTRA
from codelens.search.fuse import fuse_rankings, normalise_weights
from codelens.search.lexicon import LETTERS_PER_SLIP, add_related_words, load_aliases
from codelens.search.order import add_factors, drop_below, finish_ranking, sort_candidates
from codelens.search.profiles import load_profile
from codelens.search.rankers import Ranking
from codelens.search.retrieve import retrieve
from codelens.search.run import SearchRun
from codelens.search.scope import list_documents_in_scope, make_file_unit
from codelens.search.terms import expand_query, list_plain_texts
from codelens.store.documents import DocumentRow
from codelens.store.store import Part, Store
from codelens.store.vectors import compute_cosine
from codelens.text.bm25 import K1, score_text, weigh_length
from codelens.text.identifiers import fold_identifier
from codelens.text.terms import index_terms

FIELDS: Mapping[str, float] = {"concepts": 3.0, "path": 1.0, "names": 1.0, "imports": 0.5}
"""Field → weight of a word in it; chosen, not fitted. `concepts` is the file's name with its folder."""
LABELS: Mapping[str, str] = {"concepts": "name", "path": "folders", "names": "defines", "imports": "imports"}


def rank_by_words(query: ExpandedQuery, store: Store) -> dict[DocumentId, tuple[float, str]]:
    """Map each file with a word of the query to (BM25F, reason such as 'BM25 4.20: name config; defines load, read')."""
    documents, names = store.files.read_totals()
    weights = dict.fromkeys((t.text for t in query.extra), OF_AN_EXTRA) | {t.text: 1.0 for t in query.words}
    counted = store.run_tasks(*(partial(_count_in_fields, term, store) for term in weights))
    counts_of: dict[str, Mapping[str, Mapping[DocumentId, int]]] = dict(zip(weights, counted, strict=True))
    lengths = store.files.count_definitions({d for of in counts_of.values() for field in of.values() for d in field})
    mean = names / documents if documents else 1.0
    parts: dict[DocumentId, list[tuple[float, float]]] = {}
    matched: dict[DocumentId, dict[str, list[str]]] = {}
    for term, fields in counts_of.items():
        holding = {document for counts in fields.values() for document in counts}
        idf = math.log1p((documents - len(holding) + 0.5) / (len(holding) + 0.5))
        for document in holding:
            norm = weigh_length(lengths.get(document, 0), mean, 1.0) if mean else 1.0
            counts = {name: counts[document] for name, counts in fields.items() if document in counts}
            count = math.fsum(FIELDS[n] * c / (norm if n == "names" else 1.0) for n, c in counts.items())
            parts.setdefault(document, []).append((weights[term] * idf, count))
            for name in counts:
                matched.setdefault(document, {}).setdefault(name, []).append(term)
    scores = {document: score_text(terms, K1, K1 + 1) for document, terms in parts.items()}

    def describe(document: DocumentId) -> str:
        fields = (f"{LABELS[n]} {', '.join(matched[document][n])}" for n in FIELDS if n in matched[document])
        return f"BM25 {scores[document]:.2f}: {'; '.join(fields)}"

    return {document: (score, describe(document)) for document, score in scores.items()}


def _count_in_fields(term: str, store: Store) -> Mapping[str, Mapping[DocumentId, int]]:
    """Count a term's occurrences: field → document → count."""
    store.budget.check()
    imports, concepts, folders, names = store.run_tasks(
        partial(store.files.find_imports, term),
        *(partial(store.files.find_on_path, term, field) for field in ("concepts", "path")),
        partial(store.files.count_named, term),
    )
    importing = [document for document, text in imports if term in index_terms(text).split()]
    found = {"concepts": concepts, "path": folders, "imports": importing}
    return {"names": names} | {field: dict.fromkeys(documents, 1) for field, documents in found.items()}


MODES = ("hybrid", "keyword", "vector", "fuzzy")
"""The modes. In `fuzzy` no channel runs: only file names count, and they are always compared letter by letter."""
WITHOUT_ENDING = 0.5
"""Value of a name that lacks only the file's ending, as `gin` for gin.go; it outweighs all ranks but the first."""
_LINE = re.compile(r"(?::\d+){1,2}:?$")
OTHER_CASE = 0.9  # Value of a name that differs from the file's only in case
LIKE_ITS_NAME = 0.8
"""Most value of a name that is a part of the file's; for a misspelled name, divided by the number of typing mistakes. With one
mistake, the file still goes before the files that are nearest in meaning to the misspelled word."""
SHORTEST_LIKE = 3  # Fewest letters of a name that is compared letter by letter
MOST_OUTLINED = 12  # Most names of a file's definitions that its hit shows; they fill one line


def rank_files(query: str | Query, store: Store, options: SearchOptions, settings: Settings) -> Ranking:
    """Find and rank the files that match a query, as candidates of the kind `file`.

    Raises the errors of `rank`, and UsageError for options and modes that do not apply to files.
    """
    for name, row in OPTIONS.items():
        if row.applies == (UNITS,) and getattr(options, name) != row.default:
            raise UsageError(f"{row.spelling} does not apply to --files-only", "leave out one of the two")
    profile, weights = load_profile(SearchOptions(profile=options.profile), settings.weights), _read_weights(options)
    run = SearchRun.start(query, store, options, settings, profile)
    query, files = run.query, FilesInScope(run)
    run.trace.count_lap("scope")
    terms = expand_query(list_plain_texts(query), query.identifiers, query.text)
    terms = add_related_words(terms, store, load_aliases(settings.aliases) if settings.aliases else {}, {})
    run = replace(run, terms=terms, abilities=run.find_abilities())
    run.budget.limits += terms.left_out
    run.trace.terms = [(t.tier, t.text, t.origin) for t in (*terms.words, *terms.extra)]
    run.trace.count_lap("terms")
    modes = [mode for mode in MODES if mode != "fuzzy" or weights["named"]]
    if options.mode not in modes:
        raise UsageError(f"--files-only has no mode '{options.mode}'", f"modes: {', '.join(modes)}")
    cuts = weights["cuts"]
    ways = (
        Channel("keyword", ("hybrid", "keyword"), partial(find_files_by_words, files)),
        Channel("vector", ("hybrid", "vector"), partial(find_files_by_meaning, files, int(cuts["units"]))),
    )
    chosen = [way for way in ways if options.mode in way.modes and weights["channels"][way.name]]
    names = list(_find_possible_names(query))
    findings, named = store.run_tasks(
        partial(retrieve, run, chosen, lambda name, _: int(cuts[name])),
        partial(files.compare_names, names, _compare_endings),
    )
    if options.mode == "fuzzy":  # then all words are compared by their letters
        names = [*dict.fromkeys([*names, *query.words, *query.identifiers])]
    elif named or options.mode == "vector":
        names = []
    else:  # else those with a word that is in no file's name
        unknown = {term.text for term in terms.words if not store.files.find_on_path(term.text, "concepts")}
        names = [name for name in names if unknown & set(index_terms(name.rpartition("/")[2]).split())]
    if names:
        named |= files.compare_names(names, _compare_letters)
    if demands_text(run.query.node) or not (terms.words or terms.names):  # files are found for the conditions alone
        findings = findings._replace(literal=frozenset(map(_convert_to_unit, files.find_rows())))

    candidates = _score_files(run, files, findings, named, weights)
    best, given = candidates[0].score if candidates else 0.0, options.min_score
    spared, least = (findings.literal, weights["minimum"]) if given is None else ((), given)

    def find_least(candidate: Candidate) -> float:
        return -math.inf if candidate.unit.id in spared else best * least

    candidates = drop_below(run.trace, candidates, lambda c: c.score, find_least, best)
    ranking = finish_ranking(Ranking(run, findings, candidates), sort_candidates(run, candidates))
    run.trace.count_lap("order")
    return ranking


def _score_files(
    run: SearchRun,
    files: FilesInScope,
    findings: Findings,
    named: Mapping[UnitId, tuple[float, str]],
    weights: Mapping[str, Any],
) -> list[Candidate]:
    """Make the candidates for all found files, with their contributions, best first."""
    options = run.options
    rows = files.make_file_units(findings.units | named.keys() | findings.literal)
    k = options.rrf_k or run.profile.rrf_k
    channels = normalise_weights(weights["channels"], findings.channels)
    candidates = fuse_rankings(findings.matches, channels, k, rows, options.fusion)
    add_factors(candidates, run.terms, weights["factors"])
    by_unit = {candidate.unit.id: candidate for candidate in candidates}
    for unit, (value, reason) in named.items() if weights["named"] else ():
        by_unit.setdefault(unit, Candidate(rows[unit])).add_bonus("named", weights["named"] / (k + 1), value, reason)
    others = (Candidate(rows[unit]) for unit in findings.literal - by_unit.keys())
    return rank_candidates([*by_unit.values(), *others])


def _read_weights(options: SearchOptions) -> dict[str, Any]:
    """Read the profile's table `files` of weights.toml, or the default profile's if it has none, changed by --weights."""
    profiles = load_weights()
    row = profiles.get(options.profile, {}).get("files") or profiles["codelens"]["files"]
    if unknown := sorted(set(options.weights) - set(row["channels"])):
        channels = f"channels: {', '.join(sorted(row['channels']))}"
        raise UsageError(f"--files-only has no channel '{unknown[0]}'", channels)
    return {**row, "channels": {**row["channels"], **options.weights}}


NamesFound = dict[DocumentId, tuple[float, str]]  # File → (how well its name fits, from 0 to 1; reason)
NameComparison = Callable[[Sequence[str], Iterable[tuple[DocumentId, str]]], NamesFound]
"""A function that compares names with the paths of files."""


class FilesInScope:
    """The files that may be found: those that the options allow, with a unit that satisfies the query's conditions. If nothing
    restricts them, all files may be found, and none is read in advance."""

    def __init__(self, run: SearchRun) -> None:
        self._store, self._options = run.store, run.options
        self._chosen: dict[DocumentId, DocumentRow] | None = None
        if run.within is not None:
            holding = None if run.query.plain and not run.options.kinds else run.store.files.find_holding(run.within)
            self._chosen = self._read_rows(holding)

    def _read_rows(self, documents: Collection[DocumentId] | None) -> dict[DocumentId, DocumentRow]:
        return {row.id: row for row in list_documents_in_scope(self._store, self._options, documents)}

    def find_rows(self, documents: Collection[DocumentId] | None = None) -> Mapping[DocumentId, DocumentRow]:
        """Read the rows of the given files that may be found; by default, of all files that may be found."""
        if self._chosen is None:
            return self._read_rows(documents)
        if documents is None:
            return self._chosen
        return {document: self._chosen[document] for document in documents if document in self._chosen}

    def make_file_units(self, units: Collection[UnitId]) -> dict[UnitId, UnitRow]:
        """Read files as units that hits can show: each is its whole file, with the names of its definitions as doc."""
        store, ids = self._store, [DocumentId(-unit) for unit in sorted(units, reverse=True)]
        names, documents = {r.id: r.name for r in store.documents.list_repositories()}, self.find_rows(ids)

        def make_unit(document: DocumentRow) -> UnitRow:
            outline = ", ".join(name for _, name in store.files.read_outline(document.id, MOST_OUTLINED))
            return make_file_unit(document, names[document.repository], store, outline)

        rows = store.run_tasks(*(partial(make_unit, documents[document]) for document in ids))
        return {row.id: row for row in rows}

    def select_best(self, matches: Mapping[DocumentId, Match], limit: int) -> ChannelResult:
        """Select the `limit` best of these files that may be found, best first, ties by repository and path."""
        scores = {document: match.raw_score for document, match in matches.items()}
        if self._chosen is None and len(scores) > limit:
            least = sorted(scores.values())[-limit]
            scores = {document: score for document, score in scores.items() if score >= least}
        rows = self.find_rows(scores)
        order = sorted(rows, key=lambda d: (-scores[d], rows[d].repository, rows[d].path))[:limit]
        return ChannelResult([matches[document] for document in order])

    def measure_distances(self, vector: bytes, limit: int) -> dict[DocumentId, float]:
        """Measure the distances of the files' vectors from a vector, at least of the `limit` nearest files."""
        if self._chosen is None:
            return self._store.vectors.find_nearest_files(vector, limit)
        return self._store.vectors.measure_files(vector, self._chosen)

    def compare_names(self, names: Sequence[str], comparison: NameComparison) -> dict[UnitId, tuple[float, str]]:
        """Map each file whose path fits one of these names to (value, reason)."""
        named: NamesFound = {}
        if self._chosen is not None:
            named = comparison(names, ((row.id, row.path) for row in self._chosen.values()))
        else:
            with self._store.budget.part(CHANNELS, "names of files were not compared with the query"):
                parts = self._store.run_on_each_index(partial(_compare_with_index, comparison, names))
                named = {DocumentId(unit): found for part in parts for unit, found in part.of.items()}
        return {_convert_to_unit(document): found for document, found in named.items()}


def _compare_with_index(
    comparison: NameComparison, names: Sequence[str], store: Store, _: None
) -> Part[tuple[float, str]]:
    """Compare the names with every file of one index; the result holds documents in place of units."""
    named = comparison(names, store.documents.list_paths())
    return Part(of={UnitId(document): found for document, found in named.items()})


def find_files_by_words(files: FilesInScope, run: SearchRun, limit: int) -> ChannelResult:
    """Find files by the query's words, best first, ties by path. The raw score is BM25F."""
    scores = rank_by_words(run.terms, run.store)
    return files.select_best({d: Match(_convert_to_unit(d), *score) for d, score in scores.items()}, limit)


def find_files_by_meaning(files: FilesInScope, most_units: int, run: SearchRun, limit: int) -> ChannelResult:
    """Find files by their own vectors (of path, exports and imports), or by the vector of a unit if that is nearer; the
    `most_units` nearest units count. Nearest first, ties by path. The raw score is the cosine."""
    vector, least = compute_query_vector(run)
    if not vector:
        return ChannelResult([])
    near = {d: compute_cosine(far) for d, far in files.measure_distances(vector, limit).items()}
    matches = {d: Match(_convert_to_unit(d), near[d], f"cosine {near[d]:.3f}") for d in near if near[d] >= least}
    units = find_by_meaning(run, most_units).matches if most_units else ()
    rows = run.store.units.read_rows([match.unit for match in units])
    in_scope = files.find_rows({row.document for row in rows.values()})
    for match in units:
        row = rows[match.unit]
        if row.document in in_scope and match.raw_score > near.get(row.document, least):
            near[row.document] = match.raw_score
            reason = f"{match.reason} of {row.qualified_name}"
            matches[row.document] = Match(_convert_to_unit(row.document), match.raw_score, reason)
    return files.select_best(matches, limit)


def _find_possible_names(query: Query) -> Iterator[str]:
    """Find texts that may name a file: the whole query, and words with a dot or slash, without a line number at the end."""
    texts = (*query.words, *query.identifiers, *query.phrases)
    words = [text for text in texts if "." in text.strip(".") or "/" in text.strip("/")]
    for text in dict.fromkeys([query.text.strip(' `"'), *words]):
        if name := _LINE.sub("", text.strip().removeprefix("./").strip("/")):
            yield name


def _compare_endings(names: Sequence[str], paths: Iterable[tuple[DocumentId, str]]) -> NamesFound:
    """Map each document whose path ends in a name to (value, reason). A single word may leave out the file's ending."""
    named: NamesFound = {}
    ends_sought = [(name, f"/{name}", f"/{name}".casefold(), " " not in name) for name in names]
    for document, below in paths:
        path = f"/{below}"
        folded, (stem, dot, _) = path.casefold(), path.rpartition(".")
        for name, end, folded_end, is_word in ends_sought:
            if folded.endswith(folded_end):
                value = 1.0 if path.endswith(end) else OTHER_CASE
                named[document] = max(named.get(document, (0.0, "")), (value, f"its path ends in {name}"))
            if is_word and dot and stem.casefold().endswith(folded_end):
                value = WITHOUT_ENDING * (1.0 if stem.endswith(end) else OTHER_CASE)
                named[document] = max(named.get(document, (0.0, "")), (value, f"its name is {name} with an ending"))
    return named


def _compare_letters(names: Sequence[str], paths: Iterable[tuple[DocumentId, str]]) -> NamesFound:
    """Map each document whose name is like one of these to (value, reason). File endings do not count."""
    from rapidfuzz.distance import OSA  # 27 ms, and most queries have no mistake

    sought = [(name, part) for name in names if len(part := _fold_file_stem(name)) >= SHORTEST_LIKE]
    named: NamesFound = {}
    for document, path in paths:
        stem = _fold_file_stem(path)
        for name, part in sought if stem else ():
            best = named.get(document, (0.0, ""))
            most = min(len(stem), len(part)) // LETTERS_PER_SLIP
            if part in stem:
                value = LIKE_ITS_NAME * (1.0 + len(part) / len(stem)) / 2
                named[document] = max(best, (value, f"its name has {name}"))
            elif 0 < (slips := OSA.distance(part, stem, score_cutoff=most)) <= most:
                said = f"{name} ~ {path.rpartition('/')[2]}, {slips} typing mistake{'s' * (slips > 1)}"
                named[document] = max(best, (LIKE_ITS_NAME / slips, said))
    return named


def _fold_file_stem(path: str) -> str:
    """Reduce a path to the letters and digits of the file's name, without its endings."""
    return fold_identifier(path.rpartition("/")[2].lstrip(".").partition(".")[0])


def _convert_to_unit(document: int) -> UnitId:
    """Make the unit id that stands for a file: the number of its node in the graph."""
    return UnitId(make_document_node(document))
