"""A search: its options, and the objects that the pipeline passes on, from matches over candidates to hits and explanations."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from operator import itemgetter
from time import perf_counter
from typing import Any, NamedTuple

from codelens.model.code import DocumentId, Freshness, IndexInfo, UnitId, UnitRow
from codelens.model.fast_dataclass import dataclass, field
from codelens.model.request import SearchOptions


@dataclass(frozen=True, slots=True)
class Contribution:
    """One signed part of a score, with its reason. From `rule` and `operands` another program can recompute `amount`."""

    source: str
    amount: float
    reason: str
    rule: str = ""
    operands: Mapping[str, float] = field(default_factory=dict)


FUSION = "fusion"  # The family of the channels' ranks
RULES_OF_RANKS = frozenset({"rrf", "share", "rrf_share"})  # Rules of contributions that ranks in channels make
FAMILIES: Mapping[str, tuple[str, ...]] = {
    FUSION: (),  # the ranks in the channels, whatever these are
    "words": ("bm25", "related_words", "coverage", "verbatim", "token", "fragment", "own_class"),
    "names": (*("exact_name", "whole_name", "name_match", "related_name", "resemblance", "name_part"),),
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
}
"""Family → the sources of contributions in it, most of them features. `why` shows families first."""
_FAMILY_OF: Mapping[str, str] = {source: family for family, sources in FAMILIES.items() for source in sources}


def find_family(part: Contribution) -> str:
    """The family of a contribution: the fusion for a rank or a score in a channel; else as its source is listed, or `other`."""
    return FUSION if part.rule in RULES_OF_RANKS else _FAMILY_OF.get(part.source, "other")


MOST_DECIDING = 3  # Parts that are named for the distance of two scores


def describe_gap(gaps: Mapping[str, float], places: int) -> tuple[str, str]:
    """The distance of two scores, and the parts that decide it, the largest first; then the largest part against it, if that is
    larger than one of these. What is left is `other`, so that they add up.

    `gaps`: source or family → how much more the first score has of it. `places`: decimal places, more if the distance needs them.
    """
    gap = math.fsum(gaps.values())
    if not gap:
        return "0", "a tie, by path and place"
    places = max(places, 1 - math.floor(math.log10(abs(gap))))
    deciding = sorted(((n, a) for n, a in gaps.items() if a * gap > 0), key=lambda part: (-abs(part[1]), part[0]))
    shown = deciding[:MOST_DECIDING]
    against = min(
        ((n, a) for n, a in gaps.items() if a * gap < 0), key=lambda part: (-abs(part[1]), part[0]), default=("", 0.0)
    )
    shown += [against] if abs(against[1]) > min(abs(amount) for _, amount in shown) else []
    named = [(name.replace("_", " "), round(amount, places)) for name, amount in shown]
    if rest := round(math.fsum((round(gap, places), *(-amount for _, amount in named))), places):
        named.append(("other", rest))
    return f"{abs(gap):.{places}f}", ", ".join(f"{name} {amount:+.{places}f}" for name, amount in named)


@dataclass(frozen=True, slots=True)
class Match:
    """A unit found by one channel. Its rank is its place in the channel's list, from 1."""

    unit: UnitId
    raw_score: float
    reason: str


@dataclass(frozen=True, slots=True)
class Term:
    """A normalised key and where it comes from."""

    text: str
    tier: str
    origin: str
    strength: float = 1.0  # How much it counts of a word of the query; of related words, less than 1
    stands_for: tuple[str, ...] = ()  # The words of the query that it is related to, as terms


@dataclass(frozen=True, slots=True)
class ExpandedQuery:
    """The terms of a query, as the channels use them."""

    text: str = ""
    names: tuple[Term, ...] = ()
    """Folded names (letters and digits only) of the tiers exact and compounds, most specific first."""
    words: tuple[Term, ...] = ()  # Terms of the full-text index, in the order of the query
    extra: tuple[Term, ...] = ()
    """Further terms from abbreviations and corrected spellings; they help to find and do not count as coverage."""
    related: tuple[Term, ...] = ()  # Terms from the lexicon, the likeliest to help first
    common: tuple[str, ...] = ()
    """Terms of the full-text index that too many units hold to tell them apart: the exact channel leaves them out."""
    texts: tuple[str, ...] = ()  # The plain parts of the query as written, in order: what phrases are looked for in
    learned: tuple[Match, ...] = ()  # Units that were used for the query's words before, heaviest first
    left_out: tuple[str, ...] = ()  # Sentences about terms that limits left out
    vector: bytes = b""  # The embedding of what is asked about, where that is code; else it is made of `text`


@dataclass(frozen=True, slots=True)
class QueryTarget:
    """A unit that the query points at: by its place, as PATH, PATH:LINE or PATH:LINE:COLUMN, or by its mark, as TODO."""

    value: float  # 1 for the innermost unit at the line, less for others
    reason: str
    line: int = 0  # 0 where the query has none; so is the column
    column: int = 0


Says = Callable[[UnitRow, str, float], str]  # Function from unit, feature and value to the reason


class Candidate:
    """A unit that may become a hit. Its score is the sum of its contributions, and nothing else.

    A search measures some twenty features of hundreds of candidates and shows those of a few, so contributions are made,
    with their reasons, only when somebody reads them. Until then their amounts are kept.
    """

    __slots__ = (
        "_amounts",
        "_features",
        "_recorded",
        "_score",
        "_summed",
        "_unmade",
        "channels",
        "judge",
        "says",
        "unit",
    )

    def __init__(
        self, unit: UnitRow, channels: dict[str, int] | None = None, recorded: list[Contribution] | None = None
    ) -> None:
        self.unit = unit
        self.channels: dict[str, int] = {} if channels is None else channels
        """Channel → rank, from 1."""
        self.says: Says | None = None
        self.judge: Callable[[UnitRow], float] | None = None
        """Function from the unit to its confidence; None in profiles that do not tell (`search.confidence`)."""
        self._recorded = recorded
        self._unmade: list[tuple[Any, ...]] = []
        """Functions that make further contributions, each with what it is given."""
        self._features: list[tuple[Sequence[tuple[str, float]], Sequence[float]]] = []
        """For each call of `add_features`: (name, weight) of its features, and their values."""
        self._amounts: list[float] = []
        """The amounts of `_unmade` and `_features`."""
        self._score, self._summed = 0.0, 0
        """The sum of so many amounts."""

    @property
    def confidence(self) -> float | None:
        """Probability that it is what the query asks for. It is computed when somebody asks: a search shows a few of a thousand."""
        return self.judge(self.unit) if self.judge else None

    @property
    def recorded(self) -> list[Contribution]:
        """Contributions that are not features: ranks, factors, what later steps added."""
        if self._recorded is None:
            self._recorded = []
        if self._unmade:
            self._recorded += [make(*given) for make, *given in self._unmade]
            self._unmade = []
            self._amounts = [weight * value for _, weight, value in self.measured]
        return self._recorded

    @property
    def measured(self) -> list[tuple[str, float, float]]:
        """(feature, weight, value), without values of 0."""
        return [
            (*of, value) for features, row in self._features for of, value in zip(features, row, strict=True) if value
        ]

    @property
    def contributions(self) -> list[Contribution]:
        """All parts of the score: ranks, features, then factors on the sum of these."""
        recorded, says, ranks = self.recorded, self.says, len(self.channels)
        features = [_make_bonus(*of, says(self.unit, of[0], of[2])) for of in self.measured if says is not None]
        return recorded[:ranks] + features + recorded[ranks:]

    def write_reasons(self) -> None:
        """Write all reasons now: those of the walk need the index, which may be closed later."""
        self._recorded, self._features, self._amounts = self.contributions, [], []

    def forget_features(self) -> None:
        """Leave the features out of the score."""
        self._recorded, self._features, self._amounts = self.recorded, [], []

    @property
    def score(self) -> float:
        """The exact sum (fsum) of the contributions so far; independent of their order."""
        if self._recorded:
            return math.fsum([*self._amounts, *[part.amount for part in self._recorded]])
        if self._summed != len(self._amounts):
            self._score, self._summed = math.fsum(self._amounts), len(self._amounts)
        return self._score

    def add(self, amount: float, make: Callable[..., Contribution], *given: object) -> None:
        """Add a contribution of this amount, which `make` makes of `given` when somebody reads it."""
        self._amounts.append(amount)
        self._unmade.append((make, *given))

    def add_bonus(self, source: str, weight: float, value: float, reason: str) -> None:
        """Add `weight` times a value, which is usually from 0 to 1."""
        self.add(weight * value, _make_bonus, source, weight, value, reason)


def _make_bonus(source: str, weight: float, value: float, reason: str) -> Contribution:
    return Contribution(source, weight * value, reason, "bonus", {"weight": weight, "value": value})


def add_features(candidates: Sequence[Candidate], columns: Iterable[tuple[str, float, Sequence[float]]]) -> None:
    """Add features to the scores: each its name, its weight, and the values of all candidates, in order."""
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
    """(score, candidate) in the total order: best first, and by content where scores are equal, which few are."""
    pairs = sorted([(candidate.score, candidate) for candidate in candidates], key=itemgetter(0), reverse=True)
    shared = {score for (score, _), (other, _) in pairwise(pairs) if score == other}
    if shared:
        pairs.sort(key=lambda pair: (-pair[0], pair[1].unit.content_order() if pair[0] in shared else ()))
    return pairs


def rank_candidates(candidates: Iterable[Candidate]) -> list[Candidate]:
    """The candidates in the total order."""
    return [candidate for _, candidate in rank_with_scores(candidates)]


@dataclass(frozen=True, slots=True)
class SnippetLine:
    """One line of a hit as it was indexed; `number` is from 1."""

    number: int
    text: str
    matches: tuple[tuple[int, int], ...] = ()  # Half-open character ranges of `text` that match the query


@dataclass(frozen=True, slots=True)
class Hit:
    """A result, ready to be rendered."""

    rank: int
    unit: UnitRow
    score: float
    channels: Mapping[str, int]
    contributions: tuple[Contribution, ...]
    """If the options want no reasons, only those that were recorded with theirs: ranks, factors."""
    freshness: Freshness
    root: str  # Absolute path of the repository's root; the path of the unit is relative to it
    line: int
    column: int
    column_utf16: int
    """The place to jump to: the match of a phrase or pattern, else the symbol's name, else the most telling line. From 1;
    `column` counts UTF-8 bytes of the decoded line."""
    snippet: tuple[SnippetLine, ...]
    path_bytes: bytes | None = None  # The path's bytes if they are not UTF-8
    confidence: float | None = None  # Probability that it is what the query asks for; None in profiles that do not tell


@dataclass(frozen=True, slots=True)
class Notice:
    """A remark about the answer itself, such as a missing capability or a part of the query that was read as text."""

    code: str
    text: str


NOTHING_ASKED = "nothing-asked"
WEAK = "weak"  # Code of the notice that probably none of the hits is what the query asks for
"""Code of the notice that no channel of the profile could run. The empty result then means nothing."""


MEMORY_UNUSED = "memory"  # Code of the notice that the memory file cannot be used


@dataclass(frozen=True, slots=True)
class Original:
    """The code that hits should resemble (`--like`), as resolved."""

    target: str  # The target as given; `-` for a text from outside
    name: str  # Qualified name of a definition or chunk, or path of a file; empty for a text from outside
    kind: str  # The unit's kind, file or snippet
    language: str
    repository: str = ""
    path: str = ""
    start_line: int = 0
    end_line: int = 0  # Both 0 for a text from outside


@dataclass(slots=True)
class Event:
    """A step that changed the list of candidates without changing a score: a cut, a filter, a grouping."""

    stage: str
    unit: UnitRow
    text: str


@dataclass(frozen=True, slots=True)
class Intent:
    """The kind that the query was classified as, with the reason."""

    name: str  # identifier, path, regex, change, task or question
    reason: str
    shares: Mapping[str, float]  # Set of weights → its share; shares sum to 1


@dataclass(slots=True)
class Trace:
    """The record that the pipeline keeps of its work; `why` prints it."""

    intent: Intent | None = None  # None if the profile weighs all queries alike
    weights: str = ""  # Path of the user's file of feature weights; empty for the shipped weights

    original: Original | None = None  # The code that hits should resemble; None for a search by a query alone
    terms: list[tuple[str, str, str]] = field(default_factory=list)  # (tier, term, origin)
    common: tuple[str, ...] = ()  # Terms that the exact channel leaves out because too many units have them
    rankings: dict[str, tuple[Match, ...]] = field(default_factory=dict)
    """Channel → its matches, best first, after its cut."""
    cuts: dict[str, int] = field(default_factory=dict)  # Channel → limit of its matches
    seconds: dict[str, float] = field(default_factory=dict)
    """Step → what it took, in the order of the steps: scope, terms, each channel, literal, features, walk, order, present."""
    since: float = field(default_factory=perf_counter)  # The end of the last step
    fused: dict[UnitId, float] = field(default_factory=dict)
    """Unit → its fused score, where ranks choose seeds and the score is made of other things."""
    nearness: dict[UnitId, float] = field(default_factory=dict)
    """Unit → its mass in the walk as a share of the largest, 1 for seeds; empty without a walk."""
    metadata: dict[DocumentId, Mapping[str, str | float | bool]] = field(default_factory=dict)
    """Document → its values in the user's metadata table."""
    candidates: list[Candidate] = field(default_factory=list)  # All candidates in final order, before the limit
    events: list[Event] = field(default_factory=list)

    def match(self, channel: str, rank: int) -> Match | None:
        """The match at a rank in a channel, from 1; None beyond the channel's cut."""
        ranking = self.rankings.get(channel, ())
        return ranking[rank - 1] if rank <= len(ranking) else None

    def count_lap(self, step: str) -> None:
        """Count the time since the last step for this one."""
        now = perf_counter()
        self.seconds[step] = self.seconds.get(step, 0.0) + now - self.since
        self.since = now


class MatchedLine(NamedTuple):
    """A line of a file, as a search for lines finds it."""

    number: int  # From 1
    text: str
    r"""Whole, without its line break; "\r" stays."""
    ranges: tuple[tuple[int, int], ...] = ()
    """Half-open character ranges that match, in order and apart; empty for context, with `invert`, and for empty matches."""
    matched: bool = True  # False for a line of context


@dataclass(frozen=True, slots=True)
class FileLines:
    """A file with lines that match. `lines` can be read once, and reads the file's text as it goes."""

    document: DocumentId
    repository: str
    root: str
    path: str
    os_path: str  # The path as the operating system knows it
    language: str
    freshness: Freshness
    lines: Iterator[MatchedLine]


@dataclass(frozen=True, slots=True)
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
        """Candidates after the hits that the limit left out."""
        return max(0, self.total - self.options.offset - len(self.hits))

    @property
    def weak(self) -> bool:
        """True if probably none of the hits is what the query asks for."""
        return any(notice.code == WEAK for notice in self.notices)

    @property
    def failed(self) -> bool:
        """True if no channel could run, so that the empty answer means nothing."""
        return any(notice.code == NOTHING_ASKED for notice in self.notices)

    @property
    def exit_code(self) -> int:
        """0 for hits, 1 without any, 2 if no channel could run."""
        return 2 if self.failed else 0 if self.hits else 1


@dataclass(frozen=True, slots=True)
class Loss:
    """The reason why a unit is not among the hits: the first stage that lost it."""

    stage: str
    """ignored, hidden, skipped, not indexed, parse failed, not a symbol, filtered, below minimum, not reached,
    cut, no channel, beaten, offset, out of time."""
    text: str
    remedy: str  # The smallest change of query, options or tree that brings the unit in; empty if none was found
    remedy_query: str = ""
    """The query that finds the target, which was tried; under the options of the search, unless others come with it."""
    remedy_options: SearchOptions | None = None  # The options under which it does, if they are not those of the search


@dataclass(frozen=True, slots=True)
class Explanation:
    """The answer of `why` for one target: its rank or its loss, and the hits right above and below."""

    target: str
    candidate: Candidate | None
    rank: int | None  # From 1, in the whole order before the limit; None if it is not a candidate
    above: Candidate | None
    below: Candidate | None
    loss: Loss | None


@dataclass(frozen=True, slots=True)
class WhyResult:
    """A search with an explanation of each rank."""

    search: SearchResult
    explanations: tuple[Explanation, ...]  # One per target; without targets, one per hit

    @property
    def exit_code(self) -> int:
        """0 if all targets are among the hits, 1 if not or without any, 2 if no channel could run."""
        ranked = [e.loss is None and e.candidate is not None for e in self.explanations]
        return 2 if self.search.failed else 0 if ranked and all(ranked) else 1
