"""The nouns of codelens: what the pipelines hand from stage to stage. Nothing here does any work.

Those that a search does without are in `derived` and `runs`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import field
from enum import StrEnum
from typing import NewType

from codelens.nouns import dataclass

DocumentId = NewType("DocumentId", int)
RepositoryId = NewType("RepositoryId", int)
UnitId = NewType("UnitId", int)


class SkipReason(StrEnum):
    """Why a file that was seen is not in the index."""

    IGNORED = "ignored"
    HIDDEN = "hidden"
    BINARY = "binary"
    TOO_LARGE = "too large"
    MINIFIED = "minified"
    GENERATED = "generated"
    VENDORED = "vendored"
    UNREADABLE = "unreadable"
    BROKEN_LINK = "broken link"
    LINK = "link"
    """A symbolic link: what it points to is indexed where it lies, or lies outside the root."""
    SPECIAL = "not a regular file"
    NESTED_INDEX = "index"
    """codelens' own index files."""


@dataclass(frozen=True, slots=True)
class Span:
    """A half-open byte range [start, end) in a document's own bytes."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class FileStamp:
    """What tells an unchanged file without reading it."""

    size: int
    mtime_ns: int
    inode: int
    ctime_ns: int = 0
    """Of the inode's last change, which no program can set; 0 where it is not known."""

    def agrees(self, other: FileStamp) -> bool:
        """Whether a file with this stamp is taken to be as it was with the other; a change time counts where both know it."""
        if self.ctime_ns and other.ctime_ns and self.ctime_ns != other.ctime_ns:
            return False
        return (self.size, self.mtime_ns, self.inode) == (other.size, other.mtime_ns, other.inode)


@dataclass(frozen=True, slots=True)
class SeenFile:
    """A regular file that the walk found worth reading."""

    path: str
    """Relative to the root, POSIX separators; bytes that are not UTF-8 are written as \\xNN."""
    os_path: str
    """What the operating system wants to open it: relative to the root, in the form of os.fsdecode."""
    stamp: FileStamp


@dataclass(frozen=True, slots=True)
class Skip:
    """A file or folder that the walk left out. A folder that is ignored as a whole is one skip; its path ends in a slash."""

    path: str
    reason: SkipReason
    detail: str
    """Says why in a person's words: '.gitignore:3: *.log', '5.1 MB, limit 2.0 MB'."""
    stamp: FileStamp | None = None


SYMBOL_KINDS = (
    "function",
    "method",
    "class",
    "struct",
    "interface",
    "trait",
    "enum",
    "type",
    "constant",
    "variable",
    "macro",
    "module",
    "property",
)
TYPE_KINDS = ("class", "struct", "interface", "trait", "enum", "type")
NOTE_KINDS = ("note", "task", "skill")
"""Files that people write beside the code: what they want remembered, what is to be done, how something is done."""
TODO = "todo"
"""A comment in code that says what is to be done. It stands aside: its words already are of the code around it, so it takes part
only where a query asks for tasks, and no figure of the ranking counts it."""
CHUNK_KINDS = ("toplevel", "section", "text", *NOTE_KINDS, TODO)
"""What is no symbol: code outside any of them; a part of a document with headings; lines of plain text or configuration; notes."""
UNWALKED_KINDS = tuple(kind for kind in CHUNK_KINDS if kind not in NOTE_KINDS)
"""What no walk over the graph begins at or brings into an answer: a note is written about something, and leads there."""
QUOTING = frozenset({"asciidoc", "jupyter", "markdown", "org", "restructuredtext"})
"""Languages whose documents quote code of others: `chunks` is headings or cells in their rows, which a search need not read."""
PARTLY = "syntax errors"
"""The fault of a document that its grammar knew in part; any other says that it gave nothing."""


@dataclass(frozen=True, slots=True)
class Contribution:
    """One signed part of a score, with its reason. `rule` and `operands` let another program compute `amount` again."""

    source: str
    amount: float
    reason: str
    rule: str = ""
    operands: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Match:
    """One find of one channel; the rank is its place in the channel's list, from 1."""

    unit: UnitId
    raw_score: float
    reason: str


@dataclass(frozen=True, slots=True)
class UnitRow:
    """A stored unit with what the ranking needs of its document."""

    id: UnitId
    document: DocumentId
    kind: str
    name: str
    container: str
    parent: UnitId | None
    span: Span
    name_span: Span
    body_start: int
    start_line: int
    end_line: int
    name_line: int
    name_column: int
    signature: str
    doc: str
    path: str
    language: str
    repository: str
    local: bool = False
    roles: frozenset[str] = frozenset()
    """Of its path: test, example, vendored, docs, generated."""

    def content_order(self) -> tuple[str, str, int, str, str]:
        """Breaks ties by content: row ids depend on an index's history."""
        return (self.repository, self.path, self.span.start, self.kind, self.qualified_name)

    @property
    def qualified_name(self) -> str:
        """Container and name, joined by a dot: 'Flask.run'."""
        return f"{self.container}.{self.name}" if self.container else self.name


@dataclass(slots=True)
class Candidate:
    """A unit on its way to become a hit. Its score is derived: the sum of its contributions, and nothing else.

    A search measures some twenty features of hundreds of candidates and tells those of a few, so the sentences are made when
    they are asked for.
    """

    unit: UnitRow
    channels: dict[str, int] = field(default_factory=dict)
    """Channel → rank, from 1."""
    told: list[Contribution] = field(default_factory=list)
    """What was written with its sentence: ranks, the walk, factors."""
    measured: list[tuple[str, float, float]] = field(default_factory=list)
    """(feature, weight, value)."""
    says: Callable[[UnitRow, str, float], str] | None = None
    """Unit, feature, value → the sentence."""

    @property
    def contributions(self) -> list[Contribution]:
        """All that the score is made of: ranks, features, then what is reckoned on the sum of these."""
        says = self.says
        features = [
            Contribution(
                name, weight * value, says(self.unit, name, value), "bonus", {"weight": weight, "value": value}
            )
            for name, weight, value in self.measured
            if says is not None
        ]
        ranks = len(self.channels)
        return self.told[:ranks] + features + self.told[ranks:]

    @property
    def score(self) -> float:
        """The exact sum (fsum) of the contributions so far, so their order does not matter."""
        return math.fsum([*(c.amount for c in self.told), *(weight * value for _, weight, value in self.measured)])

    def order(self) -> tuple[float, tuple[str, str, int, str, str]]:
        """Sort key of the total order, best first."""
        return (-self.score, self.unit.content_order())


class Freshness(StrEnum):
    """An indexed file against the one on disk, when a hit is shown."""

    FRESH = "fresh"
    CHANGED = "changed"
    DELETED = "deleted"


@dataclass(frozen=True, slots=True)
class SnippetLine:
    """One line of a hit as it was indexed; `number` is from 1."""

    number: int
    text: str
    matches: tuple[tuple[int, int], ...] = ()
    """Half-open character ranges of `text` that the query's words hit."""


@dataclass(frozen=True, slots=True)
class Hit:
    """A result as the renderers get it."""

    rank: int
    unit: UnitRow
    score: float
    channels: Mapping[str, int]
    contributions: tuple[Contribution, ...]
    freshness: Freshness
    root: str
    """Absolute path of the repository's root; the path of the unit is relative to it."""
    line: int
    column: int
    column_utf16: int
    """The place to jump to: where a phrase or pattern matches, else a symbol's name, else the line that says most. From 1, the
    column in UTF-8 bytes of the decoded line."""
    snippet: tuple[SnippetLine, ...]
    path_bytes: bytes | None = None
    """The path's bytes where they are not UTF-8."""


@dataclass(frozen=True, slots=True)
class Notice:
    """A line about the answer itself: a capability that is missing, a query that was read another way."""

    code: str
    text: str


NOTHING_ASKED = "nothing-asked"
"""The code of a notice that is an error: no channel of the profile could be asked, so that the empty result says nothing."""


@dataclass(frozen=True, slots=True)
class Original:
    """What the hits are to resemble, as it was understood."""

    target: str
    """As asked; `-` for a text from outside."""
    name: str
    """Qualified name of a definition or chunk, the path of a file, empty for a text from outside."""
    kind: str
    """The unit's kind, file or snippet."""
    language: str
    repository: str = ""
    path: str = ""
    start_line: int = 0
    end_line: int = 0
    """Both 0 for a text from outside."""


@dataclass(slots=True)
class Event:
    """Something that happened to candidates without being a score: a cut, a filter, a grouping."""

    stage: str
    unit: UnitRow
    text: str


@dataclass(frozen=True, slots=True)
class Intent:
    """What kind of query it was taken for, and why."""

    name: str
    """identifier, path, regex, change, task or question."""
    reason: str
    shares: Mapping[str, float]
    """Set of weights → its share; they sum to 1."""


@dataclass(slots=True)
class Trace:
    """What the pipeline writes down while it works; `why` prints it."""

    intent: Intent | None = None
    """None where the profile weighs all queries alike."""
    weights: str = ""
    """The file of one's own that the weights of the features are from; empty where they are the shipped ones."""

    original: Original | None = None
    """What the hits are to resemble; None for a search by a query alone."""
    terms: list[tuple[str, str, str]] = field(default_factory=list)
    """(tier, term, where it comes from)."""
    common: tuple[str, ...] = ()
    """Terms that too many units hold to tell them apart: the exact channel leaves them out."""
    rankings: dict[str, tuple[Match, ...]] = field(default_factory=dict)
    """Channel → its matches, best first, after its cut."""
    cuts: dict[str, int] = field(default_factory=dict)
    """Channel → how many matches it may give."""
    seconds: dict[str, float] = field(default_factory=dict)
    nearness: dict[UnitId, float] = field(default_factory=dict)
    """Unit → its share of the walk's most, 1 for the seeds; empty where nothing walked."""
    metadata: dict[DocumentId, Mapping[str, str | float | bool]] = field(default_factory=dict)
    """Document → what the person's table says of it; empty where there is none."""
    candidates: list[Candidate] = field(default_factory=list)
    """All candidates in final order, before the limit."""
    events: list[Event] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class SearchOptions:
    """What a person asks of one search beside the query. The pools are fixed, so `limit` and `offset` never change a score."""

    like: str = ""
    """What the hits are to resemble: a target, or `-` for the `snippet`; then conditions are all that counts of the query."""
    snippet: str = ""
    snippet_language: str = ""
    """Empty where it is to be guessed."""
    limit: int = 20
    offset: int = 0
    mode: str = "hybrid"
    """hybrid, keyword, vector, exact, fuzzy: a named set of channels."""
    weights: Mapping[str, float] = field(default_factory=dict)
    """Channel → weight, over the profile's own."""
    rrf_k: int | None = None
    fusion: str = "rrf"
    """rrf, weighted, minmax: how the channels are joined."""
    profile: str = "codelens"
    intent: str = ""
    """What kind of query it is (`search.intent.INTENTS`); empty to tell it from its words."""
    expand: str = ""
    """none, walk, bfs: how the answer spreads over the symbol graph; empty for the profile's own way."""
    depth: int | None = None
    """Most hops of it; None for the profile's own number."""
    decay: float | None = None
    """What every hop of `bfs` keeps of a score; None for each kind of edge its own."""
    min_score: float | None = None
    case: str = "auto"
    word: bool = False
    literal: bool = False
    regex: bool = False
    strict_query: bool = False
    prefix: bool = False
    """Each word is the beginning of words, as if a star stood behind it."""
    rerank: bool = False
    """Whether the best candidates are put in order of their nearness to the query."""
    languages: tuple[str, ...] = ()
    languages_not: tuple[str, ...] = ()
    files_only: bool = False
    """Files are the hits, not units."""
    kinds: tuple[str, ...] = ()
    """Only units of these kinds or groups of kinds, as `kind:` takes them; empty means any."""
    globs: tuple[str, ...] = ()
    """Path globs, `!` negates, the last that matches wins."""
    paths: tuple[str, ...] = ()
    """Only below these paths, relative to a repository's root; empty means everywhere."""
    repositories: tuple[str, ...] = ()
    """Only in the repositories of these names; empty means all."""
    meta: tuple[str, ...] = ()
    """Conditions on the person's table of metadata, each NAME=VALUE or with another comparison; all must hold."""
    sort: str = "score"
    """score, path, modified."""
    reverse: bool = False
    context_before: int = 0
    context_after: int = 0
    memory: bool = False
    """Whether what was recorded of earlier results counts; the setting `memory` says so to front ends."""
    now: int | None = None
    """Unix seconds that count as the present; None for the clock's, which only memory asks, and for git's last indexed commit."""
    snippet_lines: int = 3
    """Lines shown where no context was asked for: the place to jump to, and the lines of the unit that say most."""


@dataclass(frozen=True, slots=True)
class RepositoryInfo:
    """One indexed tree: its name in the index, and how much of it is indexed."""

    name: str
    root: str
    """Absolute path."""
    documents: int
    bytes: int
    """Of the indexed files."""


@dataclass(frozen=True, slots=True)
class IndexInfo:
    """What an answer says about the index it came from."""

    path: str
    schema: int
    snapshot: str
    """A hash of what is indexed and how: equal for equal content, whatever the runs (`Documents.content_id`)."""
    embedder: str
    repositories: tuple[RepositoryInfo, ...]


@dataclass(frozen=True, slots=True)
class SearchResult:
    """An answer: the hits shown, how many there were, and what could not be done."""

    query: str
    hits: tuple[Hit, ...]
    total: int
    """Candidates that passed every filter and cut, before limit and offset."""
    channels: tuple[str, ...]
    """The channels that ran."""
    notices: tuple[Notice, ...]
    index: IndexInfo
    options: SearchOptions
    trace: Trace
    trigram_available: bool = True
    every_hit_matches: bool = False
    """Whether being a hit is being a match, whatever channel found it: the query demands what each hit satisfies."""

    @property
    def failed(self) -> bool:
        """Whether the empty answer says nothing, since nothing could be asked: a notice says so."""
        return any(notice.code == NOTHING_ASKED for notice in self.notices)
