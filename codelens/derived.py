"""What indexing derives from a file: nouns that only the pipeline of indexing and the store see."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from codelens.model import SeenFile, Span
from codelens.nouns import dataclass


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
        """Container and name, joined by a dot: 'Flask.run'."""
        return f"{self.container}.{self.name}" if self.container else self.name


class Reference(NamedTuple):
    """A use of a name (a tuple: there are hundreds of thousands).

    `unit` is the position of the enclosing unit in the document's list, None at module level.
    """

    kind: str
    """call, construct, type, extends, implements, decorate, throw, field, use; those of LITERAL_KINDS name what a literal
    says; mention is a name in prose."""
    name: str
    receiver: str
    """The expression before the last dot without its calls' arguments ('self', 'app.make()'); empty if there is none or
    it is long."""
    unit: int | None
    start: int
    line: int


LITERAL_KINDS = frozenset({"env", "process", "route", "endpoint", "flag", "link", "place"})
"""Kinds of reference whose name no definition bears, so that the index of names is spared them.

env        a variable of the environment that is read: `HOME`
process    a program that is run, without its folder: `git`
route      the path of an HTTP route as written, `/users/<id>`; the receiver is what declares it: `get`, `GetMapping`
endpoint   what an HTTP client asks for, without query: `/users`, with the host where it is not this machine:
           `api.github.com/users`; the receiver is the verb or function as written
flag       a feature flag that is asked for
link       in prose, a file as its link gives it, relative to the document: `../src/app.py`
place      in a note's front matter, a file relative to the root, empty where only a symbol is named; the receiver is the symbol's
           qualified name, empty where only a file is"""


class Binding(NamedTuple):
    """What the text says of a name's type or value: of a variable, parameter, field, or of what a function gives."""

    how: str
    """type (a declared type), value (what it is set to), element (what it runs over), return (a declared result), result
    (what a return statement gives), yield (what a generator gives), base and interface (of the type that `unit` is)."""
    name: str
    """As written: 'app', 'self.app'; empty where `how` speaks of the unit itself."""
    text: str
    """The expression with its calls' arguments left out ('Flask()'); empty where it names nothing."""
    unit: int | None
    """Position of the enclosing unit in the document's list, None at module level."""
    start: int


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
    bindings: tuple[Binding, ...] = ()


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
    """The distinct names, separated by spaces, for the index that finds documents by name; what literals say is left out."""
    bindings: bytes = b""
    """Packed as the references are; empty where there are none."""


class UnfinishedFile(Exception):
    """A large file could not be read to its end; the message says why."""


class PartPlace(NamedTuple):
    """Where a part of a large file begins."""

    start: int
    """In the file's own bytes; the first part begins at 0, with the byte order mark."""
    line: int
    """The line that it begins in, from 1."""
    before: int
    """Characters of this line that stand in earlier parts."""


@dataclass(frozen=True, slots=True)
class DerivedPart:
    """What one part of a large file yields. Units lie in one part each; their places are those in the whole file."""

    place: PartPlace
    units: tuple[Unit, ...]
    postings: tuple[Posting, ...]
    vectors: tuple[tuple[bytes, ...], ...]
    trigram_text: str
    snapshot: bytes
    """The part's own bytes, compressed."""


@dataclass(frozen=True, slots=True)
class DerivedDocument:
    """Everything that indexing one file yields: a function of its bytes, its path and the recipe alone."""

    seen: SeenFile
    content_hash: bytes
    digest: bytes
    """SHA-256 of the file's own bytes."""
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
    embedder: str
    """The fingerprint of what made them; empty where they were not asked for."""
    trigram_text: str
    """What the trigram index reads: see `distinct_lines`."""
    snapshot: bytes
    """The file's own bytes, compressed."""
    roles: frozenset[str] = frozenset()
    """Of its path: test, example, vendored, docs, generated."""
    parts: Iterable[DerivedPart] = ()
    """Of a large file, read once and while they are made: they hold all that is of its text. Raises UnfinishedFile."""
