"""Data classes of a search: matches, candidates and their contributions, hits, explanations, and the trace of the pipeline."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from operator import itemgetter
from time import perf_counter
from typing import Any, NamedTuple

from codelens.model.code import DocumentId, Freshness, IndexInfo, UnitId, UnitRow
from codelens.model.fast_dataclass import dataclass, field, frozen_dataclass
from codelens.model.request import SearchOptions


@frozen_dataclass
class Contribution:
    """One signed part of a score, with its reason. `rule` and `operands` suffice to recompute `amount`."""

    source: str
    amount: float
    reason: str
    rule: str = ""
    operands: Mapping[str, float] = field(default_factory=dict)


FUSION = "fusion"  # The family of contributions from ranks in channels
RULES_OF_RANKS = frozenset({"rrf", "share", "rrf_share"})  # Rules of contributions from ranks in channels
FAMILIES: Mapping[str, tuple[str, ...]] = {
    FUSION: (),  # recognised by rule, because channels vary
    "words": ("bm25", "related_words", "coverage", "verbatim", "token", "fragment", "own_class"),
    "names": ("exact_name", "whole_name", "name_match", "related_name", "resemblance", "name_part"),
    "meaning": ("nearness", "nearest", "near_unmet", "rerank"),
    "file": ("file", "file_hits", "further"),
    "place": ("place", "named", "file_name", "scope", "test", "example", "vendored", "docs", "generated"),
    "graph": (
        *("walk", "uses", "uses_hits", "used_by_hits", "expansion", "blast_radius", "confidence", "distance"),
        *("seed_authority", "common_authority", "seed_hub"),
    ),
    "history": ("messages", "recency", "commits"),
    "memory": ("favorite", "useful", "useless", "session", "pin"),
    "popularity": ("stars", "rating", "success", "usage"),
    "shape": ("type", "function", "chunk", "section", "local", "quoted", "lines", "parts"),
}  # Family → the sources of its contributions, most of which are features. `why` shows families first
_FAMILY_OF: Mapping[str, str] = {source: family for family, sources in FAMILIES.items() for source in sources}


def find_family(part: Contribution) -> str:
    """Find the family of a contribution: FUSION if a rank made it, else the family that lists its source, else `other`."""
    return FUSION if part.rule in RULES_OF_RANKS else _FAMILY_OF.get(part.source, "other")


MOST_DECIDING = 3  # Maximum number of parts that explain the difference of two scores


def describe_gap(gaps: Mapping[str, float], places: int) -> tuple[str, str]:
    """Format the difference of two scores, and the parts that make it: the largest first, then the largest opposing part if it
    exceeds one of these, and the remainder as `other`.

    `gaps`: source or family → how much more of it the first score has. `places`: minimum number of decimal places.
    """
    gap = math.fsum(gaps.values())
    if not gap:
        return "0", "a tie, by path and place"
    places = max(places, 1 - math.floor(math.log10(abs(gap))))
    deciding = sorted(((n, a) for n, a in gaps.items() if a * gap > 0), key=lambda part: (-abs(part[1]), part[0]))
    shown = deciding[:MOST_DECIDING]
    opposing = sorted(((n, a) for n, a in gaps.items() if a * gap < 0), key=lambda part: (-abs(part[1]), part[0]))
    shown += [part for part in opposing[:1] if abs(part[1]) > min(abs(amount) for _, amount in shown)]
    named = [(name.replace("_", " "), round(amount, places)) for name, amount in shown]
    if rest := round(math.fsum((round(gap, places), *(-amount for _, amount in named))), places):
        named.append(("other", rest))
    return f"{abs(gap):.{places}f}", ", ".join(f"{name} {amount:+.{places}f}" for name, amount in named)


@frozen_dataclass
class Match:
    """A unit found by one channel."""

    unit: UnitId
    raw_score: float
    reason: str


@frozen_dataclass
class Term:
    """A normalised search term, and where it comes from."""

    text: str
    tier: str
    origin: str
    strength: float = 1.0  # Its weight relative to a query word; less than 1 for a related word
    stands_for: tuple[str, ...] = ()  # The terms of the query that it is related to


@frozen_dataclass
class ExpandedQuery:
    """A query's terms in the forms that the channels use."""

    text: str = ""
    names: tuple[Term, ...] = ()
    """Names folded to letters and digits, from the tiers `exact` and `compounds`; most specific first."""
    words: tuple[Term, ...] = ()  # Terms of the full-text index, in the order of the query
    extra: tuple[Term, ...] = ()
    """Terms from abbreviations and corrected spellings; they find units but do not count as coverage."""
    related: tuple[Term, ...] = ()  # Related terms from the lexicon, most useful first
    common: tuple[str, ...] = ()  # Terms that the exact channel leaves out because too many units have them
    texts: tuple[str, ...] = ()  # The plain parts of the query as written, in order; phrases are taken from them
    learned: tuple[Match, ...] = ()  # Units used before for the query's words, greatest weight first
    left_out: tuple[str, ...] = ()  # Messages about terms that limits left out
    vector: bytes = b""  # The embedding of the code in question; if empty, `text` is embedded


@frozen_dataclass
class QueryTarget:
    """A unit that the query names by place (PATH, PATH:LINE or PATH:LINE:COLUMN) or by a mark such as TODO."""

    value: float  # 1 for the innermost unit at the line, less for others
    reason: str
    line: int = 0  # 0 if the query has no line; `column` likewise
    column: int = 0


ReasonWriter = Callable[[UnitRow, str, float], str]  # Writes the reason for a unit's feature with its value


class Candidate:
    """A unit that may become a hit. Its score is the sum of its contributions.

    A search measures some twenty features of hundreds of candidates and shows only a few. So only amounts are kept; the
    contributions with their reasons are made when they are read.
    """

    __slots__ = ("_amounts", "_features", "_recorded", "_sum", "_unmade", "channels", "judge", "unit", "write_reason")

    def __init__(
        self, unit: UnitRow, channels: dict[str, int] | None = None, recorded: list[Contribution] | None = None
    ) -> None:
        self.unit = unit
        self.channels: dict[str, int] = {} if channels is None else channels  # Channel → rank, from 1
        self.write_reason: ReasonWriter | None = None
        self.judge: Callable[[UnitRow], float] | None = None
        """Computes the unit's confidence (`search.confidence`); None if the profile has no confidences."""
        self._recorded = recorded
        self._unmade: list[tuple[Any, ...]] = []  # Functions that make further contributions, each with its arguments
        self._features: list[tuple[Sequence[tuple[str, float]], Sequence[float]]] = []
        """For each call of `add_features`: (name, weight) of each feature, and the values."""
        self._amounts: list[float] = []  # The amounts of `_unmade` and `_features`
        self._sum = 0, 0.0  # The number of amounts that were summed, and their sum

    @property
    def confidence(self) -> float | None:
        """Probability that the unit is what the query asks for. Computed on demand, because a search shows few candidates."""
        return self.judge(self.unit) if self.judge else None

    @property
    def recorded(self) -> list[Contribution]:
        """Contributions other than features: ranks, factors, and those of later steps."""
        if self._recorded is None:
            self._recorded = []
        if self._unmade:
            self._recorded += [make(*given) for make, *given in self._unmade]
            self._unmade = []
            self._amounts = [weight * value for _, weight, value in self.measured]
        return self._recorded

    @property
    def measured(self) -> list[tuple[str, float, float]]:
        """(feature, weight, value) of each feature whose value is not 0."""
        parts = (part for features, row in self._features for part in zip(features, row, strict=True))
        return [(*feature, value) for feature, value in parts if value]

    @property
    def contributions(self) -> list[Contribution]:
        """All parts of the score: ranks, then features, then factors on their sum."""
        recorded, write, ranks = self.recorded, self.write_reason, len(self.channels)
        features = [_make_bonus(*of, write(self.unit, of[0], of[2])) for of in self.measured if write is not None]
        return recorded[:ranks] + features + recorded[ranks:]

    def write_reasons(self) -> None:
        """Make all contributions with their reasons now, while the index that some reasons need is open."""
        self._recorded, self._features, self._amounts = self.contributions, [], []

    def forget_features(self) -> None:
        """Remove the features from the score."""
        self._recorded, self._features, self._amounts = self.recorded, [], []

    @property
    def score(self) -> float:
        """The exact sum (fsum) of the contributions, which does not depend on their order."""
        if self._recorded:
            return math.fsum([*self._amounts, *[part.amount for part in self._recorded]])
        if self._sum[0] != len(self._amounts):
            self._sum = len(self._amounts), math.fsum(self._amounts)
        return self._sum[1]

    def add(self, amount: float, make: Callable[..., Contribution], *given: object) -> None:
        """Add an amount to the score; `make(*given)` makes its contribution when that is read."""
        self._amounts.append(amount)
        self._unmade.append((make, *given))

    def add_bonus(self, source: str, weight: float, value: float, reason: str) -> None:
        """Add `weight` times `value` to the score; the value is usually from 0 to 1."""
        self.add(weight * value, _make_bonus, source, weight, value, reason)


def _make_bonus(source: str, weight: float, value: float, reason: str) -> Contribution:
    return Contribution(source, weight * value, reason, "bonus", {"weight": weight, "value": value})


def add_features(candidates: Sequence[Candidate], columns: Iterable[tuple[str, float, Sequence[float]]]) -> None:
    """Add features to the candidates' scores. Each column is (name, weight, value of each candidate)."""
    if not (columns := [column for column in columns if any(column[2])]):
        return
    features = [(name, weight) for name, weight, _ in columns]
    rows = zip(*[values for _, _, values in columns], strict=True)
    products = zip(*[[weight * value for value in values] for _, weight, values in columns], strict=True)
    for candidate, row, amounts in zip(candidates, rows, products, strict=True):
        if any(row):
            candidate._features.append((features, row))
            candidate._amounts += amounts


def rank_with_scores(candidates: Iterable[Candidate]) -> list[tuple[float, Candidate]]:
    """Sort candidates into (score, candidate) pairs, best first; equal scores are ordered by content."""
    pairs = sorted([(candidate.score, candidate) for candidate in candidates], key=itemgetter(0), reverse=True)
    shared = {score for (score, _), (other, _) in pairwise(pairs) if score == other}
    if shared:
        pairs.sort(key=lambda pair: (-pair[0], pair[1].unit.content_order() if pair[0] in shared else ()))
    return pairs


def rank_candidates(candidates: Iterable[Candidate]) -> list[Candidate]:
    """Sort candidates, best first; equal scores are ordered by content."""
    return [candidate for _, candidate in rank_with_scores(candidates)]


@frozen_dataclass
class SnippetLine:
    """One line of a hit as it was indexed; `number` is from 1."""

    number: int
    text: str
    matches: tuple[tuple[int, int], ...] = ()  # Half-open character ranges of `text` that match the query


@frozen_dataclass
class Hit:
    """A search result with all that an output format shows."""

    rank: int
    unit: UnitRow
    score: float
    channels: Mapping[str, int]
    contributions: tuple[Contribution, ...]  # Only ranks and factors if the options ask for no reasons
    freshness: Freshness
    root: str  # Absolute path of the repository's root; the path of the unit is relative to it
    line: int
    column: int
    column_utf16: int
    """`line`, `column` and `column_utf16` are the place to jump to: the match of a phrase or pattern, else the symbol's name, else
    the most relevant line. All count from 1; `column` counts UTF-8 bytes of the decoded line."""
    snippet: tuple[SnippetLine, ...]
    path_bytes: bytes | None = None  # The path's bytes if they are not UTF-8
    confidence: float | None = None
    """Probability that it is what the query asks for; None if the profile has no confidences."""


@frozen_dataclass
class Notice:
    """A remark about the whole answer, such as a missing capability or a part of the query that was taken as text."""

    code: str
    text: str


NOTHING_ASKED = "nothing-asked"  # Code of the notice that no channel could run, so that an empty result means nothing
INCOMPLETE = "incomplete"  # Code of the notice that a search for lines ended early
WEAK = "weak"  # Code of the notice that probably none of the hits is what the query asks for
MEMORY_UNUSED = "memory"  # Code of the notice that the memory file cannot be used


@frozen_dataclass
class Original:
    """The code that hits should resemble, resolved from `--like`."""

    target: str  # The target as given; `-` for code from stdin
    name: str  # Qualified name of a unit, or path of a file; empty for code from stdin
    kind: str  # The unit's kind, file or snippet
    language: str
    repository: str = ""
    path: str = ""
    start_line: int = 0
    end_line: int = 0  # Like `start_line`, 0 for code from stdin


@dataclass(slots=True)
class Event:
    """A change of the list of candidates without a change of scores: a cut, a filter or a grouping."""

    stage: str
    unit: UnitRow
    text: str


@frozen_dataclass
class Intent:
    """The kind that a query was classified as, with the reason."""

    name: str  # identifier, path, regex, change, task or question
    reason: str
    shares: Mapping[str, float]  # Set of weights → its share in the ranking; shares sum to 1


@dataclass(slots=True)
class Trace:
    """A record of the pipeline's work, which `why` prints."""

    intent: Intent | None = None  # None if the profile weighs all queries alike
    weights: str = ""  # Path of the user's file of feature weights; empty for the shipped weights
    original: Original | None = None  # The code that hits should resemble; None for a search by a query alone
    terms: list[tuple[str, str, str]] = field(default_factory=list)  # (tier, term, origin)
    common: tuple[str, ...] = ()  # Terms that the exact channel leaves out because too many units have them
    rankings: dict[str, tuple[Match, ...]] = field(default_factory=dict)
    """Channel → its matches, best first, after its cut."""
    cuts: dict[str, int] = field(default_factory=dict)  # Channel → limit of its matches
    seconds: dict[str, float] = field(default_factory=dict)
    """Step → seconds, in the order of steps: scope, terms, each channel, literal, features, walk, order, present."""
    since: float = field(default_factory=perf_counter)  # Time (perf_counter) at which the last step ended
    fused: dict[UnitId, float] = field(default_factory=dict)
    """Unit → its fused score, in profiles that use it only to choose seeds."""
    nearness: dict[UnitId, float] = field(default_factory=dict)
    """Unit → its mass in the graph walk divided by the largest, 1 for seeds; empty without a walk."""
    metadata: dict[DocumentId, Mapping[str, str | float | bool]] = field(default_factory=dict)
    """Document → its values in the user's metadata table."""
    candidates: list[Candidate] = field(default_factory=list)  # All candidates in final order, before the limit
    events: list[Event] = field(default_factory=list)

    def find_match(self, channel: str, rank: int) -> Match | None:
        """Return the match at a rank, from 1, in a channel; None beyond the channel's cut."""
        ranking = self.rankings.get(channel, ())
        return ranking[rank - 1] if rank <= len(ranking) else None

    def count_lap(self, step: str) -> None:
        """Add the time since the end of the last step to this step."""
        now = perf_counter()
        self.seconds[step] = self.seconds.get(step, 0.0) + now - self.since
        self.since = now


class MatchedLine(NamedTuple):
    """A matching line of a file, or a line of context."""

    number: int  # From 1
    text: str
    r"""The whole line without its line feed; "\r" is kept."""
    ranges: tuple[tuple[int, int], ...] = ()
    """Half-open character ranges that match, sorted and disjoint; empty for context, with `invert`, and for empty matches."""
    matched: bool = True  # False for a line of context


@frozen_dataclass
class FileLines:
    """A file with matching lines. `lines` can be iterated once; it reads the file's text as it goes."""

    document: DocumentId
    repository: str
    root: str
    path: str
    os_path: str  # The path as the operating system knows it
    language: str
    freshness: Freshness
    lines: Iterator[MatchedLine]


@frozen_dataclass
class SearchResult:
    """The answer of a search: the hits of one page, their total, and notices."""

    query: str
    hits: tuple[Hit, ...]
    total: int  # Candidates that passed every filter and cut, before limit and offset
    channels: tuple[str, ...]  # The channels that ran
    notices: tuple[Notice, ...]
    index: IndexInfo
    options: SearchOptions
    trace: Trace
    trigram_available: bool = True

    @property
    def left_out(self) -> int:
        """Number of candidates after the last hit, which the limit left out."""
        return max(0, self.total - self.options.offset - len(self.hits))

    @property
    def weak(self) -> bool:
        """True if probably none of the hits is what the query asks for."""
        return any(notice.code == WEAK for notice in self.notices)

    @property
    def failed(self) -> bool:
        """True if no channel could run, so that the empty answer means nothing, or if lines are missing."""
        return any(notice.code in (NOTHING_ASKED, INCOMPLETE) for notice in self.notices)

    @property
    def exit_code(self) -> int:
        """0 if there are hits, 1 if not, 2 if the search failed."""
        return 2 if self.failed else 0 if self.hits else 1


@frozen_dataclass
class Loss:
    """The reason why a unit is not among the hits, and the first stage that dropped it."""

    stage: str
    """ignored, hidden, skipped, not indexed, parse failed, not a symbol, filtered, below minimum, not reached,
    cut, no channel, beaten, offset, out of time."""
    text: str
    remedy: str  # The smallest change of query, options or tree that makes it a hit; empty if unknown
    remedy_query: str = ""  # A query that was tried and finds the target; it needs `remedy_options` if they are set
    remedy_options: SearchOptions | None = None  # The options it needs, if they differ from the search's


@frozen_dataclass
class Explanation:
    """The explanation of one target: its rank or its loss, and the candidates directly above and below."""

    target: str
    candidate: Candidate | None
    rank: int | None  # From 1, before the limit is applied; None if it is not a candidate
    above: Candidate | None
    below: Candidate | None
    loss: Loss | None


@frozen_dataclass
class WhyResult:
    """A search with an explanation of each rank."""

    search: SearchResult
    explanations: tuple[Explanation, ...]  # One per target; without targets, one per hit

    @property
    def exit_code(self) -> int:
        """0 if there are targets and all are hits, 2 if no channel could run, else 1."""
        ranked = [e.loss is None and e.candidate is not None for e in self.explanations]
        return 2 if self.search.failed else 0 if ranked and all(ranked) else 1
