"""A query → files in order: BM25 over what files say of themselves, and the nearest of their units' vectors, joined by ranks.

A file's vector is that of its unit that lies nearest to the query, so none is stored for files. Who writes a file's name or the
end of its path means that file: a contribution of its own, so that ranks by meaning cannot outweigh it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, TypeAlias

from codelens.config import Settings, load_weights
from codelens.errors import UsageError
from codelens.model.budget import CHANNELS
from codelens.model.code import DocumentId, IndexInfo, UnitId, UnitRow
from codelens.model.fast_dataclass import dataclass
from codelens.model.graph import document_node
from codelens.model.request import OPTIONS, UNITS, SearchOptions
from codelens.model.search import Candidate, Event, ExpandedQuery, Match, SearchResult, in_order
from codelens.query.nodes import Query
from codelens.search.channels import Channel
from codelens.search.channels.vector import VectorChannel, query_vector
from codelens.search.evidence import OF_AN_EXTRA
from codelens.search.fuse import fuse, normalised
from codelens.search.lexicon import LETTERS_PER_SLIP, own_aliases, with_related
from codelens.search.order import add_factors, sort
from codelens.search.present import answer
from codelens.search.profiles import load_profile
from codelens.search.retrieve import run_channels
from codelens.search.run import BELOW_MINIMUM, SearchRun
from codelens.search.scope import documents_in_scope, whole_file
from codelens.search.terms import expand, plain_texts
from codelens.store.documents import DocumentRow
from codelens.store.store import Part, Store
from codelens.store.units import UnitSet
from codelens.store.vectors import cosine
from codelens.text.identifiers import fold_identifier
from codelens.text.terms import index_terms

K1, B = 1.2, 0.75
"""BM25's, Graph Memory's figures; `B` is of the names a file defines, the only field that grows with it."""
FIELDS: Mapping[str, float] = {"concepts": 3.0, "path": 1.0, "names": 1.0, "imports": 0.5}
"""Field → weight of a word in it. Chosen; `concepts` is the file's name with its folder."""
LABELS: Mapping[str, str] = {"concepts": "name", "path": "folders", "names": "defines", "imports": "imports"}


@dataclass(frozen=True, slots=True)
class FileWords:
    """A file's score by the query's words."""

    score: float
    reason: str  # 'BM25 4.20: name config; defines load, read'


def rank_by_words(query: ExpandedQuery, store: Store) -> dict[DocumentId, FileWords]:
    """The files that contain any word of the query; in no order."""
    documents, names = store.files.totals()
    terms = dict.fromkeys((t.text for t in query.extra), OF_AN_EXTRA) | dict.fromkeys(
        (t.text for t in query.words), 1.0
    )
    store.foresee(
        *((f"files.{field}", (term,)) for term in terms for field in ("importing", "naming")),
        *(("files.on_path", (term, field)) for term in terms for field in ("concepts", "path")),
    )
    found = {term: _found(term, store) for term in terms}
    lengths = store.files.named_units({d for fields in found.values() for held in fields.values() for d in held})
    mean = names / documents if documents else 1.0
    scores: dict[DocumentId, list[float]] = {}
    matched: dict[DocumentId, dict[str, list[str]]] = {}
    for term, fields in found.items():
        holding = {document for held in fields.values() for document in held}
        idf = math.log1p((documents - len(holding) + 0.5) / (len(holding) + 0.5))
        for document in holding:
            long = 1.0 - B + B * lengths.get(document, 0) / mean if mean else 1.0
            parts = {name: held[document] for name, held in fields.items() if document in held}
            count = math.fsum(FIELDS[n] * c / (long if n == "names" else 1.0) for n, c in parts.items())
            scores.setdefault(document, []).append(terms[term] * idf * count * (K1 + 1) / (count + K1))
            for name in parts:
                matched.setdefault(document, {}).setdefault(name, []).append(term)
    return {d: FileWords(total := math.fsum(parts), _reason(total, matched[d])) for d, parts in scores.items()}


def _found(term: str, store: Store) -> Mapping[str, Mapping[DocumentId, int]]:
    """Field → document → how often the term is in it."""
    store.budget.check()
    importing: dict[DocumentId, int] = {}
    for document, text in store.files.importing(term):
        if term in index_terms(text).split():
            importing[document] = importing.get(document, 0) + 1
    return {
        "concepts": dict.fromkeys(store.files.on_path(term, "concepts"), 1),
        "path": dict.fromkeys(store.files.on_path(term, "path"), 1),
        "names": store.files.naming(term),
        "imports": dict.fromkeys(importing, 1),
    }


def _reason(score: float, matched: Mapping[str, Sequence[str]]) -> str:
    parts = [f"{LABELS[name]} {', '.join(matched[name])}" for name in FIELDS if name in matched]
    return f"BM25 {score:.2f}: {'; '.join(parts)}"


MODES: Mapping[str, tuple[str, ...]] = {
    "hybrid": ("keyword", "vector"),
    "keyword": ("keyword",),
    "vector": ("vector",),
    "fuzzy": (),
}
"""Mode → its channels. Without channels, names alone count, which `fuzzy` always compares by their letters."""
WITHOUT_ENDING = 0.5
"""Value of a name, of 1, that is the file's without its ending: `gin` and gin.go. Chosen: above all ranks but the first."""
_LINE = re.compile(r"(?::\d+){1,2}:?$")
OTHER_CASE = 0.9  # Value of a name, of 1, that is the file's but for case
LIKE_ITS_NAME = 0.8
"""Value of a name, of 1, that is a part of the file's, or, divided by the number of typing mistakes, nearly the file's. Chosen:
with one mistake it goes before whatever is nearest in meaning to a word that does not exist."""
SHORTEST_LIKE = 3  # Letters of a name that others may resemble
MOST_OUTLINED = 12  # Names that stand for what a file defines. A line.


def search_files(
    query: str | Query, store: Store, info: IndexInfo, options: SearchOptions, settings: Settings
) -> SearchResult:
    """Answer one query with files: hits of the kind `file`. Raises the errors of a search."""
    with store.spending(settings.query_seconds):
        result = answer(rank_files(query, store, options, settings), info)
        result.trace.lap("present")
        return result


def rank_files(query: str | Query, store: Store, options: SearchOptions, settings: Settings) -> SearchRun:
    """Find and order all files, each with its contributions."""
    for name, row in OPTIONS.items():
        if row.applies == (UNITS,) and getattr(options, name) != row.default:
            raise UsageError(f"{row.spelling} does not apply to --files-only", "leave out one of the two")
    profile, weights = load_profile(SearchOptions(profile=options.profile), settings.weights), _weights(options)
    run = SearchRun.start(query, store, options, settings, profile)
    files = FilesInScope(run)
    run.trace.lap("scope")
    terms = expand(plain_texts(run.query), run.query.identifiers, run.query.text)
    run.terms = with_related(terms, store, own_aliases(settings.aliases) if settings.aliases else {}, {})
    run.budget.limits += run.terms.left_out
    run.abilities = run.find_abilities()
    run.trace.terms = [(t.tier, t.text, t.origin) for t in (*run.terms.words, *run.terms.extra)]
    run.trace.lap("terms")
    matches, named = store.at_once(
        partial(_retrieve, run, files, weights), partial(files.named, list(_names(run.query)))
    )
    run.channels = tuple(sorted(matches))
    if names := _names_to_resemble(run, named):
        named |= files.resembling(names)

    rows = _rows({m.unit for found in matches.values() for m in found} | set(named), files, store)
    k = options.rrf_k or profile.rrf_k
    candidates = fuse(matches, normalised(weights["channels"], sorted(matches)), k, rows, options.fusion)
    add_factors(candidates, run.terms, weights["factors"])
    candidates = _with_names(candidates, named, rows, weights["named"] / (k + 1))
    if run.scope.demands_text or not (run.terms.words or run.terms.names):  # files are found for the conditions alone
        run.literal = frozenset(_unit(document) for document in files.all())
        known = {c.unit.id for c in candidates}
        candidates += [Candidate(row) for row in _rows(run.literal - known, files, store).values()]
    candidates = _enough(run, in_order(candidates), weights["minimum"])
    run.finish(sort(candidates, options, run.scope))
    run.trace.lap("order")
    return run


def _weights(options: SearchOptions) -> dict[str, Any]:
    """The table [PROFILE.files] of weights.toml, the default profile's where a profile has none, with --weights."""
    profiles = load_weights()
    row = profiles.get(options.profile, {}).get("files") or profiles["codelens"]["files"]
    if unknown := sorted(set(options.weights) - set(row["channels"])):
        raise UsageError(
            f"--files-only has no channel '{unknown[0]}'", f"channels: {', '.join(sorted(row['channels']))}"
        )
    return {**row, "channels": {**row["channels"], **options.weights}}


NameComparison: TypeAlias = (
    "Callable[[Sequence[str], Iterable[tuple[DocumentId, str]]], dict[DocumentId, tuple[float, str]]]"
)
"""Names and the paths of files → file → (how well it fits, of 1; the reason)."""


class FilesInScope:
    """The files that may be found: all, without reading what they are; else those that the options let take part, and of
    these, where there are conditions, those with a unit that satisfies them.
    """

    def __init__(self, run: SearchRun) -> None:
        self._store, self._options = run.store, run.options
        self._chosen = None if run.within is None else self._those_chosen(run, run.within)

    def _those_chosen(self, run: SearchRun, within: UnitSet) -> dict[DocumentId, DocumentRow]:
        held = None if run.query.plain and not run.options.kinds else run.store.files.holding(within)
        return {row.id: row for row in documents_in_scope(run.store, run.options, held)}

    def all(self) -> Mapping[DocumentId, DocumentRow]:
        """Their rows."""
        return self._all_of(None) if self._chosen is None else self._chosen

    def among(self, documents: Collection[DocumentId]) -> Mapping[DocumentId, DocumentRow]:
        """The rows of these files, of those that may be found."""
        if self._chosen is None:
            return self._all_of(documents)
        return {document: self._chosen[document] for document in documents if document in self._chosen}

    def _all_of(self, documents: Collection[DocumentId] | None) -> dict[DocumentId, DocumentRow]:
        return {row.id: row for row in documents_in_scope(self._store, self._options, documents)}

    def best(self, scores: Mapping[DocumentId, float], limit: int) -> list[DocumentId]:
        """Files of these that may be found, the best first, ties by repository and path."""
        if self._chosen is None and len(scores) > limit:
            least = sorted(scores.values())[-limit]
            scores = {document: score for document, score in scores.items() if score >= least}
        rows = self.among(scores)
        return sorted(rows, key=lambda d: (-scores[d], rows[d].repository, rows[d].path))[:limit]

    def near(self, vector: bytes, limit: int) -> dict[DocumentId, float]:
        """The distances of their vectors, of the `limit` nearest at least."""
        if self._chosen is None:
            return self._store.vectors.nearest_files(vector, limit)
        return self._store.vectors.of_files(vector, self._chosen)

    def named(self, names: Sequence[str]) -> dict[UnitId, tuple[float, str]]:
        """Files whose path ends in one of these names → (value, reason)."""
        return self._compared(_ending_in, names)

    def resembling(self, names: Sequence[str]) -> dict[UnitId, tuple[float, str]]:
        """Files of whose name one of these is a part, or that are named so but for typing mistakes → (value, reason)."""
        return self._compared(_like_names, names)

    def _compared(self, compare: NameComparison, names: Sequence[str]) -> dict[UnitId, tuple[float, str]]:
        found: dict[DocumentId, tuple[float, str]] = {}
        if self._chosen is not None:
            found = compare(names, ((row.id, row.path) for row in self._chosen.values()))
        else:
            with self._store.budget.part(CHANNELS, "names of files were not compared with the query"):
                parts = self._store.in_parts(partial(_compared_in, compare, names))
                found = {DocumentId(unit): named for part in parts for unit, named in part.of.items()}
        return {_unit(document): named for document, named in found.items()}


def _compared_in(compare: NameComparison, names: Sequence[str], store: Store, _: None) -> Part[tuple[float, str]]:
    """The work of each index for `FilesInScope.named`; its documents take the place of units."""
    found = compare(names, store.documents.paths())
    return Part(of={UnitId(document): named for document, named in found.items()})


class FileWordsChannel:
    """Files by the words of the query."""

    name = "keyword"

    def __init__(self, files: FilesInScope) -> None:
        self.files = files

    def retrieve(self, run: SearchRun, limit: int) -> Sequence[Match]:
        """Best first, ties by path. The raw score is BM25F."""
        found = rank_by_words(run.terms, run.store)
        order = self.files.best({document: words.score for document, words in found.items()}, limit)
        return [Match(_unit(d), found[d].score, found[d].reason) for d in order]


class FileVectorsChannel:
    """Files by their own vectors, of path, exports and imports; and by the nearest of `units` units, where that is nearer."""

    name = "vector"

    def __init__(self, files: FilesInScope, units: int) -> None:
        self.files, self.units = files, units

    def retrieve(self, run: SearchRun, limit: int) -> Sequence[Match]:
        """Nearest first, ties by path. The raw score is the cosine."""
        vector, least = query_vector(run)
        if not vector:
            return []
        near = {d: cosine(far) for d, far in self.files.near(vector, limit).items()}
        found = {d: Match(_unit(d), near[d], f"cosine {near[d]:.3f}") for d in near if near[d] >= least}
        units = VectorChannel().retrieve(run, self.units) if self.units else ()
        rows = run.store.units.rows([match.unit for match in units])
        among = self.files.among({row.document for row in rows.values()})
        for match in units:
            row = rows[match.unit]
            if row.document in among and match.raw_score > near.get(row.document, least):
                near[row.document] = match.raw_score
                reason = f"{match.reason} of {row.qualified_name}"
                found[row.document] = Match(_unit(row.document), match.raw_score, reason)
        order = self.files.best({document: match.raw_score for document, match in found.items()}, limit)
        return [found[document] for document in order]


def _retrieve(
    run: SearchRun, files: FilesInScope, weights: Mapping[str, Mapping[str, float]]
) -> dict[str, Sequence[Match]]:
    """Channel with a weight → its files, best first. Raises UsageError for a mode that files do not have."""
    modes = [mode for mode, channels in MODES.items() if channels or weights["named"]]
    if run.options.mode not in modes:
        raise UsageError(f"--files-only has no mode '{run.options.mode}'", f"modes: {', '.join(modes)}")
    channels: Sequence[Channel] = (
        FileWordsChannel(files),
        FileVectorsChannel(files, int(weights["cuts"]["units"])),
    )
    chosen = [c for c in channels if c.name in MODES[run.options.mode] and weights["channels"][c.name]]
    return run_channels(run, chosen, lambda name, _: int(weights["cuts"][name]))


def _names(query: Query) -> Iterator[str]:
    """Texts that may name a file: the whole query, and words with a dot or slash. A line behind a path does not count."""
    words = [
        w for w in (*query.words, *query.identifiers, *query.phrases) if "." in w.strip(".") or "/" in w.strip("/")
    ]
    for text in dict.fromkeys([query.text.strip(' `"'), *words]):
        if name := _LINE.sub("", text.strip().removeprefix("./").strip("/")):
            yield name


def _ending_in(names: Sequence[str], paths: Iterable[tuple[DocumentId, str]]) -> dict[DocumentId, tuple[float, str]]:
    """Documents whose path ends in a name → (value, reason). One word alone also names a file without its ending."""
    found: dict[DocumentId, tuple[float, str]] = {}
    ends_sought = [(name, f"/{name}", f"/{name}".casefold(), " " not in name) for name in names]
    for document, below in paths:
        path = f"/{below}"
        folded, (stem, dot, _) = path.casefold(), path.rpartition(".")
        for name, end, folded_end, is_word in ends_sought:
            if folded.endswith(folded_end):
                value = 1.0 if path.endswith(end) else OTHER_CASE
                found[document] = max(found.get(document, (0.0, "")), (value, f"its path ends in {name}"))
            if is_word and dot and stem.casefold().endswith(folded_end):
                value = WITHOUT_ENDING * (1.0 if stem.endswith(end) else OTHER_CASE)
                found[document] = max(found.get(document, (0.0, "")), (value, f"its name is {name} with an ending"))
    return found


def _names_to_resemble(run: SearchRun, named: Mapping[UnitId, tuple[float, str]]) -> list[str]:
    """The names that files are compared with by letters: in the mode `fuzzy` all words; else, if no file is named so, those with a
    word that is in no file's name.
    """
    if run.options.mode == "fuzzy":
        return [*dict.fromkeys([*_names(run.query), *run.query.words, *run.query.identifiers])]
    if named or run.options.mode == "vector":
        return []
    unknown = {term.text for term in run.terms.words if not run.store.files.on_path(term.text, "concepts")}
    return [name for name in _names(run.query) if unknown & set(index_terms(name.rpartition("/")[2]).split())]


def _like_names(names: Sequence[str], paths: Iterable[tuple[DocumentId, str]]) -> dict[DocumentId, tuple[float, str]]:
    """Documents with a name like one of these → (value, reason). Endings do not count."""
    from rapidfuzz.distance import OSA  # 27 ms, and most queries have no mistake

    sought = [(name, part) for name in names if len(part := _folded_stem(name)) >= SHORTEST_LIKE]
    found: dict[DocumentId, tuple[float, str]] = {}
    for document, path in paths:
        own = _folded_stem(path)
        for name, part in sought if own else ():
            best = found.get(document, (0.0, ""))
            most = min(len(own), len(part)) // LETTERS_PER_SLIP
            if part in own:
                value = LIKE_ITS_NAME * (1.0 + len(part) / len(own)) / 2
                found[document] = max(best, (value, f"its name has {name}"))
            elif 0 < (slips := OSA.distance(part, own, score_cutoff=most)) <= most:
                said = f"{name} ~ {path.rpartition('/')[2]}, {slips} typing mistake{'s' * (slips > 1)}"
                found[document] = max(best, (LIKE_ITS_NAME / slips, said))
    return found


def _folded_stem(path: str) -> str:
    """The letters and digits of a file's name before its endings."""
    return fold_identifier(path.rpartition("/")[2].lstrip(".").partition(".")[0])


def _with_names(
    candidates: Sequence[Candidate],
    named: Mapping[UnitId, tuple[float, str]],
    rows: Mapping[UnitId, UnitRow],
    weight: float,
) -> list[Candidate]:
    by_unit = {c.unit.id: c for c in candidates}
    for unit, (value, reason) in named.items() if weight else ():
        by_unit.setdefault(unit, Candidate(rows[unit])).add_bonus("named", weight, value, reason)
    return list(by_unit.values())


def _enough(run: SearchRun, candidates: Sequence[Candidate], minimum: float) -> list[Candidate]:
    """The candidates with at least this share of the best score; literal finds stay, unless --min-score says otherwise."""
    given = run.options.min_score
    least = minimum if given is None else given
    best = candidates[0].score if candidates else 0.0
    kept = []
    for candidate in candidates:
        if candidate.score >= least * best or (given is None and candidate.unit.id in run.literal):
            kept.append(candidate)
        else:
            share = math.floor(candidate.score / best * 1000) / 1000  # down, so that this minimum lets it pass
            run.trace.events.append(Event(BELOW_MINIMUM, candidate.unit, f"{share:.3f}"))
    return kept


def _unit(document: int) -> UnitId:
    """A file stands among units by the number of its node in the graph."""
    return UnitId(document_node(document))


def _rows(units: Collection[UnitId], files: FilesInScope, store: Store) -> dict[UnitId, UnitRow]:
    """Files as hits show them: the whole of each, with the names of what it defines as its doc."""
    names = {r.id: r.name for r in store.documents.repositories()}
    found = {}
    ids = [DocumentId(-unit) for unit in units]
    store.foresee(
        ("documents.rows", (ids,)),
        *(("files.outline", (d, MOST_OUTLINED)) for d in ids),
        *(("files.extent", (d,)) for d in ids),
    )
    documents = files.among(ids)
    for unit in sorted(units, reverse=True):
        document = documents[DocumentId(-unit)]
        outline = [name for _, name in store.files.outline(document.id, MOST_OUTLINED)]
        found[unit] = whole_file(document, names[document.repository], store, ", ".join(outline))
    return found
