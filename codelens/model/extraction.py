"""The results of reading one file: units, references, imports and index entries. Used by indexing, linking and the store."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from codelens.model.code import SeenFile, Span
from codelens.model.fast_dataclass import frozen_dataclass


@frozen_dataclass
class UnchangedFile:
    """A file that was read again and found equal to its indexed content."""

    seen: SeenFile
    content_hash: bytes


@frozen_dataclass
class DecodedText:
    """A file's text and encoding. The BOM and `text.encode(encoding)` restore its bytes."""

    text: str
    encoding: str  # Name of a Python codec without BOM handling: 'utf-8', 'utf-16-le', 'cp1252'
    confidence: float  # 1.0 if the bytes prove it (BOM, valid UTF-8), else the detector's figure
    bom: int  # Length of the byte order mark before the text


@frozen_dataclass
class Unit:
    """The unit of ranking: a symbol, or a chunk of text that no symbol covers.

    Spans count the file's own bytes. `kind` is one of SYMBOL_KINDS or CHUNK_KINDS.
    """

    kind: str
    name: str
    container: str  # Enclosing names joined by dots, empty at the top level: 'Flask' for Flask.run
    parent: int | None  # Index of the enclosing unit in the document's list of units; always smaller than its own
    span: Span
    name_span: Span
    body_start: int  # Start of the body; span.end if it has no body
    start_line: int
    end_line: int
    name_line: int
    name_column: int  # Lines and columns count from 1; columns are in UTF-8 bytes of the decoded line
    signature: str
    doc: str
    decorators: tuple[str, ...] = ()
    local: bool = False  # True if it is defined inside a function, whose text includes it

    @property
    def qualified_name(self) -> str:
        """Container and name, joined by a dot: 'Flask.run'."""
        return f"{self.container}.{self.name}" if self.container else self.name


class Reference(NamedTuple):
    """A use of a name. A tuple, because there are hundreds of thousands.

    `unit` is the index of the enclosing unit in the document's list, None at module level.
    """

    kind: str
    """call, construct, type, extends, implements, decorate, throw, field, use; mention for a name in prose; or one of
    LITERAL_KINDS."""
    name: str
    receiver: str
    """The expression before the last dot without arguments of calls ('self', 'app.make()'); empty if missing or long."""
    unit: int | None
    start: int
    line: int


LITERAL_KINDS = frozenset({"env", "process", "route", "endpoint", "flag", "link", "place"})
"""Kinds of references whose name comes from a literal. They name no definition, so the index of names leaves them out.

env        an environment variable that is read: `HOME`
process    a program that is run, without its folder: `git`
route      the path of an HTTP route as written, `/users/<id>`; the receiver is what declares it: `get`, `GetMapping`
endpoint   the URL that an HTTP client requests, without query: `/users`, with the host unless it is this machine:
           `api.github.com/users`; the receiver is the verb or function as written
flag       a feature flag that is tested
link       in prose, the target of a link, relative to the document: `../src/app.py`
place      in a note's front matter, a file relative to the root; the receiver is a symbol's qualified name; either may be
empty"""


class Binding(NamedTuple):
    """A name with the type or value that the code gives it: a variable, parameter, field or function result."""

    how: str
    """The role of `text`: type (declared type), value (assigned expression), element (iterated expression), return (declared result
    type), result (returned expression), yield (yielded expression), base or interface (of the type `unit`)."""
    name: str  # The name as written: 'app', 'self.app'; empty if `how` is about the unit itself
    text: str  # The expression without arguments of calls ('Flask()'); empty if it names nothing
    unit: int | None  # Index of the enclosing unit in the document's list, None at module level
    start: int
    until: int = 0  # End of the anonymous function in which the name is bound; 0 if it is bound in the whole unit


class Import(NamedTuple):
    """One imported name as written. `name` is '*' for all names, empty if the module itself is imported."""

    module: str
    name: str
    alias: str
    start: int
    line: int


@frozen_dataclass
class Extraction:
    """The units, references and imports that a grammar found in one text. `fault` is the reason for missing parts."""

    namespace: str = ""  # The package or namespace that the file declares, as written
    units: tuple[Unit, ...] = ()
    references: tuple[Reference, ...] = ()
    imports: tuple[Import, ...] = ()
    fault: str = ""
    bindings: tuple[Binding, ...] = ()


class Posting(NamedTuple):
    """One unit's row of the full-text index. Each column has terms separated by spaces; columns are in the table's order."""

    body: str
    name: str
    concepts: str
    path: str
    container: str
    doc: str
    signature: str


@frozen_dataclass
class PackedReferences:
    """A document's references as they are stored."""

    packed: bytes  # The references and the bindings; empty if the document has neither
    names: str  # The distinct names, separated by spaces, for finding documents by name; without LITERAL_KINDS


class UnfinishedFile(Exception):
    """A large file could not be read to its end; the message gives the reason."""


class PartPlace(NamedTuple):
    """The position at which a part of a large file starts."""

    start: int  # Offset in the file's own bytes; 0 for the first part, which includes the byte order mark
    line: int  # Line of the start, from 1
    before: int  # Number of characters of this line in earlier parts


@frozen_dataclass
class DerivedPart:
    """The index entries of one part of a large file. Each unit lies within one part; spans count from the start of the file."""

    place: PartPlace
    units: tuple[Unit, ...]
    postings: tuple[Posting, ...]
    vectors: tuple[tuple[bytes, ...], ...]
    trigrams: str | None
    snapshot: bytes  # The part's own bytes, compressed


@frozen_dataclass
class DerivedDocument:
    """All index entries of one file. They depend only on its bytes, its path and the recipe."""

    seen: SeenFile
    content_hash: bytes
    digest: bytes  # SHA-256 of the file's own bytes
    encoding: str
    confidence: float
    bom: int
    lines: int
    language: str
    recipe: str
    extraction: Extraction  # Without its references, which `references` has in packed form
    references: PackedReferences
    postings: tuple[Posting, ...]  # One per unit, in the same order
    vectors: tuple[tuple[bytes, ...], ...]  # For each unit the int8 vectors of its pieces
    file_vector: bytes  # The int8 vector of the file; empty without vectors, or if no word of it is known
    embedder: str  # Fingerprint of the model; empty if vectors were not requested
    trigrams: str | None
    """The text's trigrams (`join_trigrams`); empty for a large file, whose parts have them; None for an index without trigrams."""
    snapshot: bytes  # The file's own bytes, compressed
    roles: frozenset[str] = frozenset()  # Roles by path: test, example, vendored, docs, generated
    parts: Iterable[DerivedPart] = ()
    """The parts of a large file, with all entries made from its text. The iterator may raise UnfinishedFile."""
