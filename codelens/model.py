"""The nouns of codelens: what the two pipelines hand from stage to stage. Nothing here does any work."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import field
from enum import StrEnum
from typing import NamedTuple, NewType, Protocol

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


@dataclass(frozen=True, slots=True)
class Unchanged:
    """A file that was read again and still holds the content that the index has of it."""

    seen: SeenFile
    content_hash: bytes


@dataclass(frozen=True, slots=True)
class DecodedText:
    """A file's text, and how its bytes became it. `text.encode(encoding)` after the BOM gives the bytes back."""

    text: str
    encoding: str
    """A name that Python's codecs know, without BOM handling: 'utf-8', 'utf-16-le', 'cp1252'."""
    confidence: float
    """1.0 where the bytes prove it (BOM, strict UTF-8), else the detector's own figure."""
    bom: int
    """Bytes of byte order mark before the text."""


@dataclass(frozen=True, slots=True)
class Unit:
    """The unit of ranking: a symbol, or a chunk of text that no symbol covers.

    Spans count the file's own bytes. `kind` is one of SYMBOL_KINDS or CHUNK_KINDS.
    """

    kind: str
    name: str
    container: str
    """Enclosing names joined by dots, empty at the top level: 'Flask' for Flask.run."""
    parent: int | None
    """Position of the enclosing unit in the document's list of units, always smaller than its own."""
    span: Span
    name_span: Span
    body_start: int
    """Where the body begins: span.end if there is none."""
    start_line: int
    end_line: int
    name_line: int
    name_column: int
    """Lines and columns from 1; columns in UTF-8 bytes of the decoded line."""
    signature: str
    doc: str
    decorators: tuple[str, ...] = ()
    local: bool = False
    """Defined inside a function: it belongs to that function, whose text includes it."""

    @property
    def qualified_name(self) -> str:
        return f"{self.container}.{self.name}" if self.container else self.name


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
CHUNK_KINDS = ("toplevel", "section", "text")
"""Code outside any symbol; a part of a document with headings; lines of plain text or configuration."""


class Reference(NamedTuple):
    """A use of a name (a tuple: there are hundreds of thousands).

    `unit` is the position of the enclosing unit in the document's list, None at module level.
    """

    kind: str
    """call, construct, type, extends, implements, decorate, throw, field, use."""
    name: str
    receiver: str
    """The expression before the last dot, as written ('self', 'app.config'); empty if there is none or it is long."""
    unit: int | None
    start: int
    line: int


class Import(NamedTuple):
    """One imported name as written. `name` is '*' for all of the module, empty where the module itself is imported."""

    module: str
    name: str
    alias: str
    start: int
    line: int


@dataclass(frozen=True, slots=True)
class Extraction:
    """What a grammar found in one text. `fault` says why the grammar gave nothing or only a part."""

    namespace: str
    """The package or namespace that the file declares, as written; empty if none."""
    units: tuple[Unit, ...]
    references: tuple[Reference, ...]
    imports: tuple[Import, ...]
    fault: str = ""


@dataclass(frozen=True, slots=True)
class Posting:
    """What one unit gives to the full-text index: prepared terms, separated by spaces, a field each."""

    name: str
    concepts: str
    path: str
    container: str
    doc: str
    signature: str
    body: str


@dataclass(frozen=True, slots=True)
class PackedReferences:
    """A document's references as they are stored."""

    columns: bytes
    """Empty where there are none."""
    names: str
    """The distinct names, separated by spaces, for the index that finds documents by name."""


@dataclass(frozen=True, slots=True)
class DerivedDocument:
    """Everything that indexing one file yields: a function of its bytes, its path and the recipe alone."""

    seen: SeenFile
    content_hash: bytes
    language: str
    encoding: str
    confidence: float
    bom: int
    lines: int
    recipe: str
    extraction: Extraction
    """Without its references, which travel and are stored packed."""
    references: PackedReferences
    postings: tuple[Posting, ...]
    """One for each unit, in the same order."""
    vectors: tuple[tuple[bytes, ...], ...]
    """For each unit the int8 vectors of its pieces."""
    trigram_text: str
    """What the trigram index reads: see `distinct_lines`."""
    snapshot: bytes
    """The file's own bytes, compressed."""
    roles: frozenset[str] = frozenset()
    """Of its path: test, example, vendored, docs, generated."""


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
        return f"{self.container}.{self.name}" if self.container else self.name


@dataclass(slots=True)
class Candidate:
    """A unit on its way to become a hit. Its score is derived: the sum of its contributions, and nothing else."""

    unit: UnitRow
    channels: dict[str, int] = field(default_factory=dict)
    """Channel → rank, from 1."""
    contributions: list[Contribution] = field(default_factory=list)

    @property
    def score(self) -> float:
        return math.fsum(c.amount for c in self.contributions)

    def order(self) -> tuple[float, tuple[str, str, int, str, str]]:
        """Sort key of the total order, best first."""
        return (-self.score, self.unit.content_order())


class Freshness(StrEnum):
    FRESH = "fresh"
    CHANGED = "changed"
    DELETED = "deleted"


@dataclass(frozen=True, slots=True)
class SnippetLine:
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
    """The place to jump to: the first matching line, else the name; from 1, column in UTF-8 bytes of the decoded line."""
    snippet: tuple[SnippetLine, ...]
    path_bytes: bytes | None = None
    """The path's bytes where they are not UTF-8."""


@dataclass(frozen=True, slots=True)
class Notice:
    """A line about the answer itself: a capability that is missing, a query that was read another way."""

    code: str
    text: str


@dataclass(slots=True)
class Event:
    """Something that happened to candidates without being a score: a cut, a filter, a grouping."""

    stage: str
    unit: UnitId | None
    text: str


@dataclass(slots=True)
class Trace:
    """What the pipeline writes down while it works; `why` prints it."""

    terms: list[tuple[str, str, str]] = field(default_factory=list)
    """(tier, term, where it comes from)."""
    rankings: dict[str, tuple[Match, ...]] = field(default_factory=dict)
    """Channel → its matches, best first, after its cut."""
    cuts: dict[str, int] = field(default_factory=dict)
    """Channel → how many matches it may give."""
    seconds: dict[str, float] = field(default_factory=dict)
    candidates: list[Candidate] = field(default_factory=list)
    """All candidates in final order, before the limit."""
    events: list[Event] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class SearchOptions:
    """What a person asks of one search beside the query. The pools are fixed, so `limit` and `offset` never change a score."""

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
    min_score: float | None = None
    case: str = "auto"
    word: bool = False
    literal: bool = False
    regex: bool = False
    strict_query: bool = False
    languages: tuple[str, ...] = ()
    languages_not: tuple[str, ...] = ()
    globs: tuple[str, ...] = ()
    """Path globs, `!` negates, the last that matches wins."""
    paths: tuple[str, ...] = ()
    """Only below these paths, relative to a repository's root; empty means everywhere."""
    repositories: tuple[str, ...] = ()
    """Only in the repositories of these names; empty means all."""
    sort: str = "score"
    """score, path, modified."""
    reverse: bool = False
    context_before: int = 0
    context_after: int = 0
    snippet_lines: int = 3
    """Lines around the best line where no context was asked for."""


@dataclass(frozen=True, slots=True)
class RepositoryInfo:
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
    """Changes with every committed update; equal content and history give equal values."""
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


@dataclass(frozen=True, slots=True)
class Loss:
    """Why a unit is not among the hits: the first stage that lost it."""

    stage: str
    """not on disk, ignored, hidden, skipped, not indexed, parse failed, not a symbol, filtered, below minimum, cut,
    no channel, beaten, offset."""
    text: str
    remedy: str
    """The smallest change of the query, the options or the tree that brings it in; empty if none was found."""
    remedy_query: str = ""
    """The changed query, where the remedy is one: searching it does bring the target in."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """The answer of `why` for one target: its hit, or what lost it; and the hits right above and below."""

    target: str
    candidate: Candidate | None
    rank: int | None
    """From 1, in the whole order before the limit; None if it is no candidate."""
    above: Candidate | None
    below: Candidate | None
    loss: Loss | None


@dataclass(frozen=True, slots=True)
class WhyResult:
    search: SearchResult
    explanations: tuple[Explanation, ...]
    """One for each target; without targets, one for each hit shown."""


@dataclass(frozen=True, slots=True)
class IndexReport:
    """What an index run did. seen = indexed + skipped, always."""

    index: str
    root: str
    seen: int
    indexed: int
    """Documents in the index after the run."""
    added: int
    changed: int
    renamed: int
    removed: int
    unchanged: int
    symbols: int
    chunks: int
    skipped: Mapping[str, int]
    """Reason → number."""
    encodings: Mapping[str, int]
    languages: Mapping[str, int]
    faults: Mapping[str, str]
    """Path → what the grammar could not do; its text is indexed all the same."""
    source_bytes: int
    index_bytes: int
    seconds: float
    wrote: bool
    """False where nothing had changed and the file was not touched."""
    resumed: bool
    notices: tuple[Notice, ...] = ()


@dataclass(frozen=True, slots=True)
class Progress:
    """How far an index run is. `total` is 0 while it is not known; `path` is the file last finished."""

    phase: str
    """walk, read, parse, store, link, verify: a word for people."""
    done: int
    total: int
    path: str = ""


@dataclass(frozen=True, slots=True)
class Changes:
    """What the tree says against the index: paths relative to the repository's root, sorted."""

    new: tuple[str, ...]
    changed: tuple[str, ...]
    deleted: tuple[str, ...]

    def __bool__(self) -> bool:
        return bool(self.new or self.changed or self.deleted)


@dataclass(frozen=True, slots=True)
class RepositoryStatus:
    """What the index holds of one repository. Mappings are name → number, largest first."""

    name: str
    root: str
    documents: int
    units: Mapping[str, int]
    """Kind → number."""
    languages: Mapping[str, int]
    encodings: Mapping[str, int]
    skipped: Mapping[str, int]
    """Reason → number."""
    faults: Mapping[str, str]
    """Path → what its grammar could not do."""
    source_bytes: int
    stale: int
    """Documents that another recipe made: the next index run derives them anew."""
    changes: Changes | None
    """None where the tree was not walked, or is not there."""


@dataclass(frozen=True, slots=True)
class Status:
    """The state of an index file."""

    index: IndexInfo
    repositories: tuple[RepositoryStatus, ...]
    file_bytes: int
    tables: Mapping[str, int]
    """Table → bytes with its indexes, largest first."""
    journal_mode: str
    recipe: str
    unfinished: str
    """Path of a build that was begun and not finished; empty if there is none."""
    notices: tuple[Notice, ...] = ()


class Embedder(Protocol):
    """Text → vector. Implementations are deterministic and need no network."""

    name: str
    dimensions: int

    def fingerprint(self) -> str:
        """A hash of all that decides its vectors; stored in the index and compared before a query."""
        ...

    def embed_code(self, fields: Sequence[EmbeddedFields]) -> list[bytes]:
        """One vector for each entry: int8 × dimensions, normalised to length 127."""
        ...

    def embed_query(self, text: str) -> bytes:
        """The query's vector in the same space and form; empty if the text has no terms."""
        ...


@dataclass(frozen=True, slots=True)
class EmbeddedFields:
    """One piece of one unit, as an embedder sees it: four texts whose weights it knows itself."""

    name: str
    context: str
    """Enclosing names and path."""
    signature: str
    body: str
