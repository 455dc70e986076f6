"""Data classes that most packages share: files, spans, units, and the description of an index."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, NamedTuple, NewType

from codelens.model.fast_dataclass import frozen_dataclass

DocumentId = NewType("DocumentId", int)
RepositoryId = NewType("RepositoryId", int)
UnitId = NewType("UnitId", int)
RepositoryName = Annotated[str, "repository"]
"""A repository's name in answers. Stores of several indexes assign their own."""


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
    LINK = "link"  # A symbolic link. Its target is indexed under its own path, or lies outside the root.
    SPECIAL = "not a regular file"
    WORKTREE = "linked worktree"  # A second checkout of a repository whose files are in the tree
    NESTED_INDEX = "index"  # codelens' own index files


@frozen_dataclass
class Span:
    """A half-open byte range [start, end) in a document's own bytes."""

    start: int
    end: int


class FileStamp(NamedTuple):
    """A file's size, times and inode, which tell without reading it whether it is unchanged."""

    size: int
    mtime_ns: int
    inode: int
    ctime_ns: int = 0  # Time of the inode's last change, which programs cannot set; 0 if unknown

    def agrees(self, other: FileStamp) -> bool:
        """Test whether the file counts as unchanged since the other stamp; `ctime_ns` counts only if both have it."""
        if self.ctime_ns and other.ctime_ns and self.ctime_ns != other.ctime_ns:
            return False
        return (self.size, self.mtime_ns, self.inode) == (other.size, other.mtime_ns, other.inode)


@frozen_dataclass
class SeenFile:
    """A regular file that the walk selected for indexing."""

    path: str  # Relative to the root, POSIX separators; bytes that are not UTF-8 are written as \xNN
    os_path: str  # The path for opening it: relative to the root, in the form of os.fsdecode
    stamp: FileStamp


@frozen_dataclass
class Skip:
    """A file or folder that the walk left out. An ignored folder is one skip, and its path ends in a slash."""

    path: str
    reason: SkipReason
    detail: str  # The reason for people: '.gitignore:3: *.log', '5.1 MB, limit 2.0 MB'
    stamp: FileStamp | None = None


TYPE_KINDS = ("class", "struct", "interface", "trait", "enum", "type")
SYMBOL_KINDS = ("function", "method", *TYPE_KINDS, "constant", "variable", "macro", "module", "property")
MAX_SIGNATURE = 300
"""Longest stored signature in characters. In Python's standard library, 2 of 11,826 definitions have a longer one."""
NOTE_KINDS = ("note", "task", "skill")
"""Kinds of the files that people write about the code: notes, tasks, and instructions (SKILL.md)."""
TODO = "todo"
"""The kind of a TODO comment. The unit around it contains the same words, so it is searched only if a query asks for tasks, and
ranking statistics do not count it."""
CHUNK_KINDS = ("toplevel", "section", "text", *NOTE_KINDS, TODO)
"""Kinds that are not symbols: code outside of symbols, document sections, lines of plain text or configuration, notes."""
UNWALKED_KINDS = tuple(kind for kind in CHUNK_KINDS if kind not in NOTE_KINDS)
"""Kinds that a graph walk neither starts from nor reaches. Notes are walked, because they link to code."""
QUOTING = frozenset({"asciidoc", "jupyter", "markdown", "org", "restructuredtext"})
"""Languages of documents that contain code in other languages: their `chunks` are headings or cells."""
PARTLY = "syntax errors"
"""The fault of a document that was parsed only in part. Any other fault means that nothing was parsed."""


class UnitRow(NamedTuple):
    """A stored unit, with the fields of its document that ranking needs. A tuple, because a search reads a thousand."""

    id: UnitId
    document: DocumentId
    kind: str
    name: str
    container: str
    parent: UnitId | None
    start_byte: int
    end_byte: int
    name_start: int
    name_end: int
    body_start: int
    start_line: int
    end_line: int
    name_line: int
    name_column: int
    signature: str
    doc: str
    path: str
    language: str
    repository: RepositoryName
    local: bool = False
    roles: frozenset[str] = frozenset()  # Roles by path: test, example, vendored, docs, generated

    @property
    def span(self) -> Span:
        """The byte range of the whole unit."""
        return Span(self.start_byte, self.end_byte)

    @property
    def name_span(self) -> Span:
        """The byte range of the name; empty for a unit without a name."""
        return Span(self.name_start, self.name_end)

    def content_order(self) -> tuple[str, str, int, str, str]:
        """Return a sort key that breaks ties by content. Row ids would depend on the index's history."""
        return (self.repository, self.path, self.start_byte, self.kind, self.qualified_name)

    @property
    def qualified_name(self) -> str:
        """Container and name, joined by a dot: 'Flask.run'."""
        return f"{self.container}.{self.name}" if self.container else self.name

    @property
    def is_quoted(self) -> bool:
        """True if it is a definition in code that a document quotes."""
        return self.local and self.language in QUOTING

    def is_called(self, dotted: str) -> bool:
        """Test whether a dotted name means this unit: it ends the qualified name prefixed by folders, with or without the file.

        Examples: `app.Flask.run`, `flask.Flask`. Names in Go, Java and __init__.py leave the file out.
        """
        folders, _, file = f"/{self.path}".rpartition("/")
        within = folders.replace("/", ".")
        names = (f"{within}.{self.qualified_name}", f"{within}.{file.partition('.')[0]}.{self.qualified_name}")
        return any(name.endswith(f".{dotted}") for name in names)


class Freshness(StrEnum):
    """The state of a file on disk compared with its indexed content; checked when a hit is shown."""

    FRESH = "fresh"
    CHANGED = "changed"
    DELETED = "deleted"


class TreeState(StrEnum):
    """The state of a tree compared with its index, as far as a quick look tells."""

    FRESH = "fresh"  # All files and folders were checked
    CHANGED = "changed"
    UNKNOWN = "unknown"  # Nothing differs, but not everything was checked
    GONE = "gone"  # The root is not a directory any more


@frozen_dataclass
class TreeLook:
    """The changes that a quick look at a tree found. The look is bounded, so there may be more."""

    state: TreeState
    files: int  # Indexed files of the tree
    checked: int  # Number of them that were compared with the disk
    new: tuple[str, ...] = ()
    """Sorted paths below the root; a new folder with files ends in a slash. `changed` and `deleted` are alike."""
    changed: tuple[str, ...] = ()
    deleted: tuple[str, ...] = ()
    head_moved: bool = False  # True if the state is unknown and git's HEAD is no longer the indexed commit

    @property
    def differences(self) -> int:
        """Number of files and folders that differ."""
        return len(self.new) + len(self.changed) + len(self.deleted)


@frozen_dataclass
class RepositoryInfo:
    """One indexed tree."""

    name: str
    root: str  # Absolute path
    documents: int
    bytes: int  # Total size of the indexed files
    tree: TreeLook | None = None  # None if the tree was not looked at


@frozen_dataclass
class IndexInfo:
    """The index that an answer comes from."""

    path: str
    schema: int
    snapshot: str
    """Hash of the content and of how it was indexed (`Documents.compute_content_id`); independent of the order of index runs."""
    embedder: str
    repositories: tuple[RepositoryInfo, ...]
    indexed_at: str = ""  # Time of the last run that wrote to it, as 2026-01-31T12:00:00Z; empty if unknown


@frozen_dataclass
class IndexedFile:
    """A file in a list of files."""

    repository: str
    root: str  # Absolute path of the repository
    path: str
    language: str
    bytes: int
    roles: tuple[str, ...]  # Roles by path, sorted: test, example, vendored, docs, generated


@frozen_dataclass
class SourceFile:
    """A file as indexed: its lines without line ends, and its units in order of position."""

    file: IndexedFile
    freshness: Freshness
    lines: tuple[str, ...]
    units: tuple[UnitRow, ...]
