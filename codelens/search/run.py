"""One search: what its stages share, from the parsed query to the final order, and what the index can do for it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Self

from codelens.config import Settings
from codelens.embed.base import Embedder
from codelens.embed.registry import HASHING, lasting_name, open_embedder, open_noted
from codelens.errors import EmbedderFault, UsageError
from codelens.lang.registry import accepted_names
from codelens.model.budget import TimeBudget
from codelens.model.code import DocumentId, UnitId, UnitRow
from codelens.model.fast_dataclass import dataclass, field, replace
from codelens.model.history import MOST_COMMITS
from codelens.model.request import SearchOptions
from codelens.model.search import Candidate, ExpandedQuery, Match, Notice, QueryTarget, Trace
from codelens.query.facts import Scalar, load_metadata
from codelens.query.filters import BadValueError, kinds_filter, make_filter
from codelens.query.nodes import And, Node, Query, also, going_on, without_phrases
from codelens.query.parser import parse_query
from codelens.search.evidence import Reading, reading_of
from codelens.search.profiles import Profile
from codelens.search.scope import SearchScope, build_scope, unknown_repositories
from codelens.search.terms import load_words
from codelens.store.store import Store
from codelens.store.texts import Texts
from codelens.store.units import UnitSet

if TYPE_CHECKING:
    from codelens.search.evidence import Evidence
    from codelens.search.likeness import Likeness
    from codelens.search.recollection import Recollection
    from codelens.search.verbatim import Find

LONGEST = 50_000  # Characters of a query that are read: ten pages of a stack trace. Chosen; they take .3 CPU s.
OUT_OF_TIME = "out-of-time"  # Code of the notice that lists what there was no time for
BELOW_MINIMUM = "below minimum"  # Stage of the trace's events for candidates that --min-score removed
NOT_REACHED = "not reached"
"""The same for those that an expansion neither began with nor came to, in a profile that shows no others."""


AUTHORS_CUT = Notice(
    "history",
    f"author: covers the last {MOST_COMMITS:,} commits; older lines match no author (`git log --author` knows them)",
)


@dataclass(slots=True)
class SearchRun:
    """The state of one search. Each stage reads what earlier stages wrote; afterwards it is the result, with its reasons."""

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
    terms: ExpandedQuery = field(default_factory=ExpandedQuery)
    literal: frozenset[UnitId] = frozenset()
    """Units that are found because they satisfy the conditions, whatever their words; empty unless that suffices."""
    targets: Mapping[UnitId, QueryTarget] = field(default_factory=dict)
    """Units that the query points at: the place or the mark that it is; empty for a query of words."""
    channels: tuple[str, ...] = ()  # The channels that ran
    candidates: list[Candidate] = field(default_factory=list)  # All candidates in final order, once they are ranked
    evidence: Evidence | None = None
    """Counts of the query's terms in the candidates; None if the ranker measured nothing."""
    verbatim: Mapping[UnitId, Find] = field(default_factory=dict)
    """Unit → what of the query it holds as it was typed; empty unless the `fuzzy` channel ran."""
    resembling: Mapping[UnitId, float] = field(default_factory=dict)
    """Unit → how near its name is to one of the query's, below 1; from the `fuzzy` channel too."""
    fragments: Mapping[UnitId, Match] = field(default_factory=dict)
    """Units that hold the query as a part of their name or a line, in the mode `fuzzy` any of its words; from there too."""
    _vector: bytes | None = None
    _recollection: Recollection | None = None
    _reading: Reading | None = None
    _foreseen: set[UnitId] = field(default_factory=set)

    @classmethod
    def start(
        cls, query: str | Query, store: Store, options: SearchOptions, settings: Settings, profile: Profile
    ) -> Self:
        """Parse the query, unless that is done, and decide its conditions. Raises QueryError and UsageError."""
        trace = Trace()
        query = read_query(query, options)
        if profile.prefix and not options.prefix and not options.files_only:
            query = match_beginnings(query)
        texts = Texts(store)
        scope = build_scope(store, query, options, texts, settings)
        if scope.units == () and not options.strict_query and (loose := without_phrases(query)):
            quoted = ", ".join(f'"{phrase}"' for phrase in query.phrases)
            notice = Notice(
                "phrase", f"nothing contains {quoted} and meets all other conditions; its words are searched instead"
            )
            query = replace(loose, notices=(*query.notices, notice))
            scope = build_scope(store, query, options, texts, settings)
        notices = [*query.notices, *absences(store), *unknown_repositories(query, scope)]
        notices += [AUTHORS_CUT] if scope.lacks_authors else []
        return cls(store, options, settings, profile, query, texts, scope, notices, trace=trace)

    @property
    def budget(self) -> TimeBudget:
        """The CPU time that all stages share."""
        return self.store.budget

    @property
    def within(self) -> UnitSet | None:
        """The units that may be found; None if all of them may."""
        return self.scope.units

    @property
    def itself(self) -> Mapping[UnitId, UnitRow]:
        """The units of the original that hits are to resemble, which are not hits themselves."""
        return self.likeness.itself if self.likeness else {}

    @property
    def weights(self) -> Mapping[str, float]:
        """Feature → weight, for a query of this intent."""
        return self.profile.weights(self.trace.intent)

    @property
    def recollection(self) -> Recollection | None:
        """Records of earlier results; None if memory is switched off or the profile ignores it."""
        if not self.options.memory or not (self.profile.memory or self.profile.quality):
            return None
        if self._recollection is None:
            from codelens.search.recollection import Recollection

            self._recollection = Recollection(self.store, self.options, self.notices)
        return self._recollection

    def notice(self, code: str, text: str) -> None:
        """Add a line about the answer itself."""
        self.notices.append(Notice(code, text))

    def foresee(self, units: Iterable[UnitId]) -> None:
        """Say that these units will be candidates, once the terms are known: what the ranker reads of them is asked for."""
        if self.store.is_one or self.options.files_only or self.candidates:
            return
        self._reading = self._reading or reading_of(self)
        new = list(dict.fromkeys(unit for unit in units if unit not in self._foreseen))
        self._foreseen.update(new)
        self.store.foresee((self._reading, new))

    def rows(self, matches: Mapping[str, Sequence[Match]]) -> dict[UnitId, UnitRow]:
        """The rows of all matched units."""
        return self.store.units.rows({match.unit for ranking in matches.values() for match in ranking})

    def rank_of(self, unit: UnitId) -> int | None:
        """The place of a unit in the final order, from 1."""
        return next((i for i, c in enumerate(self.candidates, start=1) if c.unit.id == unit), None)

    def find_abilities(self) -> frozenset[str]:
        """The optional abilities, with a notice for each that is missing."""
        held, found = self.store.features(), set[str]()
        if held.fuzzy:
            found.add("fuzzy")
        else:
            self.notice("no-fuzzy", "the index was built without trigrams: no substrings, no typo correction")
        if not held.vector:
            self.notice("no-vector", "the index was built without vectors")
        elif self.embedder() is None:
            self.notices.append(_why_no_embedder(self.store, self.settings))
        elif not self.store.load_vectors():
            self.notice("no-sqlite-vec", "no vector results: sqlite-vec cannot be loaded")
        else:
            found.add("vector")
        return frozenset(found)

    def find_likeness(self) -> None:
        """Replace the query's words by what `--like` names; what is left of the query are its conditions."""
        from codelens.search.likeness import find_likeness

        embedder = self.embedder() if "vector" in self.abilities else None
        try:
            self.likeness = find_likeness(self.options, self.store, embedder)
        except EmbedderFault as fault:
            self.notice("no-embedding", f"no vector results: {fault}")
            self.likeness = find_likeness(self.options, self.store, None)
        self.trace.original = self.likeness.original
        self.notices += self.likeness.notices
        if words := self.query.loose_words:
            text = f"with --like, words rank nothing: {', '.join(words)}"
            self.notice("loose-words", f'{text}; put them in "quotes" to demand them')

    def embedder(self) -> Embedder | None:
        """The embedder of the index's vectors: the one in the settings, else the one that built the index, else None."""
        fingerprint = self.store.meta("embedder_fingerprint")
        with suppress(UsageError):
            embedder = open_embedder(self.settings.model, self.settings.allow_network)
            if embedder.fingerprint() == fingerprint:
                return embedder
        for name in (self.store.meta("embedder_setting"), HASHING):
            with suppress(UsageError):
                if name and (embedder := open_noted(name)).fingerprint() == fingerprint:
                    return embedder
        return None

    def query_vector(self) -> bytes:
        """The query's embedding; empty without an embedder, or if the query says nothing. Raises EmbedderFault.

        It is computed once: a model may be slow, or on the network.
        """
        embedder = self.embedder()
        if self.terms.vector or embedder is None:
            return self.terms.vector
        if self._vector is None:
            self._vector = embedder.embed_query(self.terms.text)
        return self._vector

    def finish(self, candidates: list[Candidate]) -> None:
        """Keep the final order, with notices for what limits left out and what there was no time for."""
        self.candidates = self.trace.candidates = candidates
        self.notices += limit_notices(self.budget)

    def metadata(self) -> dict[DocumentId, Mapping[str, Scalar]]:
        """The rows of the user's table of metadata for the files of the candidates."""
        if not self.settings.metadata:
            return {}
        table = load_metadata(self.settings.metadata)
        places = {c.unit.document: (c.unit.repository, c.unit.path) for c in self.candidates}
        return {document: table.of(*place) for document, place in places.items()}


def limit_notices(budget: TimeBudget) -> list[Notice]:
    """Notices for what limits left out and what there was no time for; the budget forgets them."""
    notices = [Notice("limit", text) for text in dict.fromkeys(budget.limits)]
    if budget.cut:
        spent = f"the query's {budget.seconds:g} s of CPU were spent (setting query_seconds)"
        notices.append(Notice(OUT_OF_TIME, f"{spent}: {'; '.join(budget.cut)}"))
    budget.limits, budget.cut = [], []
    return notices


def read_query(text: str | Query, options: SearchOptions) -> Query:
    """Parse a query as the options demand, with the conditions of --meta and --kind. One that is parsed stays as it is.

    The first LONGEST characters are read, unless the query is one literal text or one pattern.
    """
    if isinstance(text, Query):
        return text
    read = text if options.literal or options.regex else text[:LONGEST]
    query = parse_query(
        read,
        strict=options.strict_query,
        literal=options.literal,
        regex=options.regex,
        case=options.case,
        known_languages=accepted_names() if "lang:" in text else (),
    )
    if len(read) < len(text):
        notice = Notice("limit", f"only the first {LONGEST} of the query's {len(text)} characters are read")
        query = replace(query, text=text, notices=(*query.notices, notice))
    if options.prefix:
        query = match_beginnings(query)
    query = replace(query, node=_with_meta(query.node, options.meta)) if options.meta else query
    return also(query, kinds_filter(options.kinds))


def match_beginnings(query: Query) -> Query:
    """The query with a star after each word, which then matches all words that begin so."""
    return replace(query, node=going_on(query.node, load_words().stop))


def _with_meta(node: Node | None, comparisons: Sequence[str]) -> Node:
    """The tree with the conditions of `--meta`. Raises UsageError for one that compares nothing."""
    parts: tuple[Node, ...] = node.parts if isinstance(node, And) else (node,) if node else ()
    try:
        demanded = [make_filter("meta", text.split(","), (), outside=True) for text in comparisons]
    except BadValueError as fault:
        raise UsageError(f"--meta: {fault}".rstrip(";"), "as in --meta category=cli --meta 'stars>=100'") from None
    parts = (*parts, *demanded)
    return And(parts) if len(parts) > 1 else parts[0]


def absences(store: Store) -> list[Notice]:
    """Make a notice for each tree that has left the place where it was indexed, and for what else the store is without."""
    text = "{}: nothing of what was indexed is there; the index was moved without its tree"
    moved = [Notice("moved", text.format(row.root)) for row in store.strays()]
    return [*moved, *(Notice("missing", sentence) for sentence in store.missing)]


def _why_no_embedder(store: Store, settings: Settings) -> Notice:
    """Why the query cannot be embedded: the configured model is not available, or the index was built with another one."""
    if lasting_name(settings.model) == store.meta("embedder_setting"):
        try:
            open_embedder(settings.model, settings.allow_network)
        except UsageError as fault:
            return Notice("no-model", f"no vector results: {fault}; {fault.hint}")
    other = store.meta("embedder")
    return Notice("other-embedder", f"the vectors come from another embedder ({other}): run `codelens index`")
