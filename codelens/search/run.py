"""One run of a search: its profile, the state that its stages share, and the abilities of its index."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Self

from codelens.config import Settings
from codelens.embed.base import Embedder
from codelens.embed.registry import HASHING, open_embedder, open_indexed_embedder, resolve_setting
from codelens.errors import EmbedderFault, UsageError
from codelens.lang.registry import map_accepted_names
from codelens.model.budget import TimeBudget
from codelens.model.code import UnitId, UnitRow
from codelens.model.fast_dataclass import dataclass, field, replace
from codelens.model.history import MOST_LINE_COMMITS
from codelens.model.request import SearchOptions
from codelens.model.search import ExpandedQuery, Intent, Notice, QueryTarget, Trace
from codelens.query.filters import BadValueError, make_filter, make_kinds_filter
from codelens.query.nodes import Query, add_stars, join_parts, list_required_parts, split_phrases
from codelens.query.parser import parse_query
from codelens.search.scope import SearchScope, build_scope, find_unknown_repositories
from codelens.search.terms import load_words
from codelens.store.store import Store
from codelens.store.texts import Texts
from codelens.store.units import UnitSet

if TYPE_CHECKING:
    from codelens.search.likeness import Likeness
    from codelens.search.recollection import Recollection

LONGEST = 50_000  # Most characters of a query that are read, ten pages of a stack trace; they take .3 CPU s
OUT_OF_TIME = "out-of-time"  # Code of the notice that lists what was left out for lack of time
BELOW_MINIMUM = "below minimum"  # Stage of the trace's events for candidates that --min-score removed
NOT_REACHED = "not reached"  # Stage for candidates that an expansion did not reach, in a profile that shows no others
_CUT = f"author: covers the last {MOST_LINE_COMMITS:,} commits; older lines match no author (`git log --author` knows them)"
AUTHORS_CUT = Notice("history", _CUT)


@dataclass(frozen=True, slots=True)
class Profile:
    """A named set of weights from weights.toml, with the changes that the options make."""

    ranker: str  # A module of `search.rankers`
    rrf_k: int
    channels: Mapping[str, float]
    cuts: Mapping[str, int]
    fields: Mapping[str, float]
    factors: Mapping[str, float]
    features: Mapping[str, float | Mapping[str, float]]
    """Feature → its weight, or its weight by set (`search.intent.SHAPES`), in units of the best possible fused score."""
    bm25f: Mapping[str, float] = field(default_factory=dict)
    """Column → its weight in the BM25F of the candidates (`search.evidence`); the same as `fields` if the profile has none."""
    graph: Mapping[str, Any] = field(default_factory=dict)  # Settings of the walk over the symbol graph
    composite: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Sections of a profile with a composite score (rankers/knowing.py); empty if its score consists of ranks and features."""
    expansion: Mapping[str, Any] = field(default_factory=dict)  # Settings of the breadth-first expansion
    minimum: Mapping[str, float] = field(default_factory=dict)  # Least shares of the best score, of text and of code
    confidence: Mapping[str, float] = field(default_factory=dict)
    """Sign of `search.confidence` → its log odds, with the floor; empty if hits have no confidence."""
    weakness: Mapping[str, float] = field(default_factory=dict)
    """Log odds that an answer is weak, and the least probability to call it weak; empty if no answer is called weak."""
    memory: Mapping[str, float] = field(default_factory=dict)
    """Signal of memory → weight, unscaled for a composite score, else in the unit of features; empty if memory does not count."""
    quality: Mapping[str, float] = field(default_factory=dict)
    """Weights of the marketplace's signals, and the size of its pool; empty for a profile with another formula."""
    aliases: bool = False  # True if words are expanded by short forms only
    related: Mapping[str, float] = field(default_factory=dict)
    """Relation → weight of a related word, with the limits of `search.lexicon`; empty if the lexicon is not used."""
    keywords: Mapping[str, Any] = field(default_factory=dict)
    """Settings of keywords, which are searched tier by tier; empty to search for all words of a query."""
    prefix: bool = False  # True if each word of a query finds all words that begin with it
    as_written: bool = False
    """True if `exact` finds whole words instead of stems, and `fuzzy` finds everything that contains a word of the query."""
    own: str = ""  # The user's file with its weights; empty for shipped weights

    @property
    def depends_on_intent(self) -> bool:
        """True if the weights depend on the kind of query."""
        return any(not isinstance(weight, float | int) for weight in self.features.values())

    def has_weights_for(self, shape: str) -> bool:
        """Decide if any feature has a weight for this kind of query, one of `search.intent.SHAPES`."""
        return any(shape in weight for weight in self.features.values() if not isinstance(weight, float | int))

    def select_weights(self, intent: Intent | None) -> Mapping[str, float]:
        """Map each feature to its weight for a query of this intent, without features of weight 0."""
        unit, shares = 1.0 / (self.rrf_k + 1), intent.shares if intent else {}
        weights = {}
        for name, weight in self.features.items():
            if not isinstance(weight, float | int):
                weight = math.fsum(weight.get(shape, 0.0) * share for shape, share in shares.items())
            if weight:
                weights[name] = weight * unit
        return weights

    def uses_channel(self, channel: str) -> bool:
        """Decide if matches of a channel can become candidates: it has a weight, or another part of the profile uses it.

        A composite score also uses channels without weight for its seeds, and the user's own classes have a feature.
        """
        by_feature = channel == "equivalence" and bool(self.features.get("own_class"))
        return bool(self.cuts.get(channel)) and (by_feature or bool(self.composite) or self.channels[channel] > 0)

    @property
    def of_memory(self) -> Mapping[str, float]:
        """Signal of memory → its weight in this profile's scores."""
        unit = 1.0 if self.composite else 1.0 / (self.rrf_k + 1)
        return {name: weight * unit for name, weight in self.memory.items()}


def prefetch_nothing(units: Iterable[UnitId]) -> None:
    """Prefetch nothing; a store of one index reads units when they are needed."""


@dataclass(frozen=True, slots=True)
class SearchRun:
    """The input and shared state of one search. Stages return their results, and change only notices and the trace."""

    store: Store
    options: SearchOptions
    settings: Settings
    profile: Profile
    query: Query
    texts: Texts
    scope: SearchScope
    notices: list[Notice]
    trace: Trace = field(default_factory=Trace)
    abilities: frozenset[str] = frozenset()  # Optional abilities of this index and machine: fuzzy, vector
    likeness: Likeness | None = None  # The original of --like; None for a search by a query alone
    places: Mapping[UnitId, QueryTarget] = field(default_factory=dict)
    """Units at the place that the query names, such as PATH:LINE; empty for a query of words."""
    terms: ExpandedQuery = field(default_factory=ExpandedQuery)
    prefetch: Callable[[Iterable[UnitId]], None] = prefetch_nothing
    """A function that prefetches data about units that will be candidates, if the store has several indexes."""
    _vectors: list[bytes] = field(default_factory=list)  # The query's embedding, once it is computed

    @classmethod
    def start(
        cls, query: str | Query, store: Store, options: SearchOptions, settings: Settings, profile: Profile
    ) -> Self:
        """Parse the query if it is a string, and decide its conditions. Raises QueryError and UsageError."""
        trace = Trace()
        query = read_query(query, options)
        if profile.prefix and not options.prefix and not options.files_only:
            query = replace(query, node=add_stars(query.node, load_words().stop))
        texts = Texts(store)
        scope = build_scope(store, query, options, texts, settings)
        if scope.units == () and not options.strict_query and (loose := split_phrases(query)):
            quoted = ", ".join(f'"{phrase}"' for phrase in query.phrases)
            text = f"nothing contains {quoted} and meets all other conditions; its words are searched instead"
            query = replace(loose, notices=(*query.notices, Notice("phrase", text)))
            scope = build_scope(store, query, options, texts, settings)
        notices = [*query.notices, *find_absences(store), *find_unknown_repositories(query, scope)]
        notices += [AUTHORS_CUT] if scope.lacks_authors else []
        return cls(store, options, settings, profile, query, texts, scope, notices, trace)

    @property
    def budget(self) -> TimeBudget:
        """The CPU time that all stages share."""
        return self.store.budget

    @property
    def within(self) -> UnitSet | None:
        """The units that may be found; None if all of them may."""
        return self.scope.units

    @property
    def originals(self) -> Mapping[UnitId, UnitRow]:
        """The units of the original of --like, which are not hits themselves."""
        return self.likeness.itself if self.likeness else {}

    @property
    def weights(self) -> Mapping[str, float]:
        """The weight of each feature for this query's intent."""
        return self.profile.select_weights(self.trace.intent)

    @property
    def recollection(self) -> Recollection | None:
        """Records of earlier results; None if memory is switched off or the profile ignores it."""
        if not self.options.memory or not (self.profile.memory or self.profile.quality):
            return None
        from codelens.search.recollection import Recollection

        return Recollection(self.store, self.options, self.notices)

    def make_scope_test(self) -> Callable[[UnitId], bool]:
        """Make a predicate that is true for units that may be found."""
        return (lambda _: True) if self.within is None else frozenset(self.within).__contains__

    def add_notice(self, code: str, text: str) -> None:
        """Add a notice about the answer."""
        self.notices.append(Notice(code, text))

    def find_abilities(self) -> frozenset[str]:
        """Find the optional abilities of this index and machine, and add a notice for each that is missing."""
        features, store, settings = self.store.read_features(), self.store, self.settings
        missing: dict[str, tuple[str, str]] = {}
        if not features.fuzzy:
            missing["fuzzy"] = "no-fuzzy", "the index was built without trigrams: no substrings, no typo correction"
        if not features.vector:
            missing["vector"] = "no-vector", "the index was built without vectors"
        elif self.find_embedder() is None:
            text = f"the vectors come from another embedder ({store.read_meta('embedder')}): run `codelens index`"
            missing["vector"] = "other-embedder", text
            if resolve_setting(settings.model) == store.read_meta("embedder_setting"):
                try:
                    open_embedder(settings.model, settings.allow_network)
                except UsageError as fault:
                    missing["vector"] = "no-model", f"no vector results: {fault}; {fault.hint}"
        elif not store.load_vectors():
            missing["vector"] = "no-sqlite-vec", "no vector results: sqlite-vec cannot be loaded"
        self.notices.extend(Notice(*notice) for notice in missing.values())
        return frozenset({"fuzzy", "vector"} - missing.keys())

    def find_likeness(self) -> Likeness | None:
        """Find the code that `--like` names, which replaces the query's words; only the query's conditions remain."""
        if not self.options.like:
            return None
        from codelens.search.likeness import find_likeness

        embedder = self.find_embedder() if "vector" in self.abilities else None
        try:
            likeness = find_likeness(self.options, self.store, embedder)
        except EmbedderFault as fault:
            self.add_notice("no-embedding", f"no vector results: {fault}")
            likeness = find_likeness(self.options, self.store, None)
        self.trace.original = likeness.original
        self.notices.extend(likeness.notices)
        if words := self.query.loose_words:
            text = f"with --like, words rank nothing: {', '.join(words)}"
            self.add_notice("loose-words", f'{text}; put them in "quotes" to demand them')
        return likeness

    def find_embedder(self) -> Embedder | None:
        """Open the embedder of the index's vectors: the one in the settings, or the one that built the index; else None."""
        fingerprint = self.store.read_meta("embedder_fingerprint")
        with suppress(UsageError):
            embedder = open_embedder(self.settings.model, self.settings.allow_network)
            if embedder.compute_fingerprint() == fingerprint:
                return embedder
        for name in (self.store.read_meta("embedder_setting"), HASHING):
            with suppress(UsageError):
                if name and (embedder := open_indexed_embedder(name)).compute_fingerprint() == fingerprint:
                    return embedder
        return None

    def embed_query(self) -> bytes:
        """Compute the query's embedding; empty without an embedder, or if nothing can be embedded. Raises EmbedderFault.

        The result is kept, because a model may be slow or on the network.
        """
        embedder = self.find_embedder()
        if self.terms.vector or embedder is None:
            return self.terms.vector
        if not self._vectors:
            self._vectors.append(embedder.embed_query(self.terms.text))
        return self._vectors[0]


def limit_notices(budget: TimeBudget) -> list[Notice]:
    """Make notices about what limits and lack of time left out, and clear both lists of the budget."""
    notices = [Notice("limit", text) for text in dict.fromkeys(budget.limits)]
    if budget.cut:
        spent = f"the query's {budget.seconds:g} s of CPU were spent (setting query_seconds)"
        notices.append(Notice(OUT_OF_TIME, f"{spent}: {'; '.join(budget.cut)}"))
    budget.limits, budget.cut = [], []
    return notices


def read_query(text: str | Query, options: SearchOptions) -> Query:
    """Parse a query as the options demand, and add the conditions of --meta and --kind. A parsed query is returned unchanged.

    Only the first LONGEST characters are read, unless the query is a literal text or a pattern as a whole.
    """
    if isinstance(text, Query):
        return text
    read = text if options.literal or options.regex else text[:LONGEST]
    flags = {"strict": options.strict_query, "literal": options.literal, "regex": options.regex}
    languages = map_accepted_names() if "lang:" in text else ()
    query = parse_query(read, case=options.case, known_languages=languages, **flags)
    if len(read) < len(text):
        notice = Notice("limit", f"only the first {LONGEST} of the query's {len(text)} characters are read")
        query = replace(query, text=text, notices=(*query.notices, notice))
    node = add_stars(query.node, load_words().stop) if options.prefix else query.node
    try:
        meta = [make_filter("meta", text.split(","), (), outside=True) for text in options.meta]
    except BadValueError as fault:
        raise UsageError(f"--meta: {fault}".rstrip(";"), "as in --meta category=cli --meta 'stars>=100'") from None
    kinds = make_kinds_filter(options.kinds)
    if meta or kinds is not None:
        node = join_parts([*([kinds] if kinds else []), *list_required_parts(node), *meta])
    return replace(query, node=node)


def find_absences(store: Store) -> list[Notice]:
    """Make a notice for each tree that is gone from its place, and for each missing part of the store."""
    text = "{}: nothing of what was indexed is there; the index was moved without its tree"
    moved = [Notice("moved", text.format(row.root)) for row in store.find_missing_repositories()]
    return [*moved, *(Notice("missing", sentence) for sentence in store.missing)]
