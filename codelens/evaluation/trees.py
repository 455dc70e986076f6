"""Write the tree of a commit to a folder, and read files and their definitions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path

import xxhash

from codelens.config import Settings
from codelens.evaluation.metrics import split_name
from codelens.files import write_new
from codelens.indexing.extract import extract, extract_definitions
from codelens.indexing.files import ReadText, read_text
from codelens.lang.registry import PLAIN_TEXT, detect_language, languages
from codelens.model.code import SYMBOL_KINDS, SeenFile
from codelens.model.extraction import Unit
from codelens.model.fast_dataclass import frozen_dataclass
from codelens.model.runs import Progress, ProgressSink
from codelens.text.lines import TextMap
from codelens.worktree.classify import classify_bytes, find_roles
from codelens.worktree.commits import TreeFile, list_tree_files, read_texts
from codelens.worktree.decode import decode, is_binary
from codelens.worktree.diffs import Hunk
from codelens.worktree.repository import Repository
from codelens.worktree.walk import walk_tree


class GitReader:
    """A reader of files from git. It caches names of definitions by content, because near commits share most files."""

    def __init__(self, repository: Repository) -> None:
        self.repository = repository
        self._names: dict[tuple[str, bytes], frozenset[str]] = {}
        self._trees: dict[str, dict[str, TreeFile]] = {}

    def list_files(self, commit: str) -> dict[str, TreeFile]:
        """List the files of a commit as path → file, in git's order. Raises GitError."""
        if commit not in self._trees:
            self._trees[commit] = {file.path: file for file in list_tree_files(self.repository, commit)}
        return self._trees[commit]

    def read_texts(self, wanted: Sequence[tuple[str, str]]) -> list[bytes | None]:
        """Read the bytes of each (commit, path); None for a missing file. Raises GitError."""
        return list(read_texts(self.repository, wanted)) if wanted else []

    def find_names(self, commit: str, paths: Sequence[str]) -> dict[str, frozenset[str]]:
        """Find the qualified names of each path's definitions; paths that the commit lacks are left out."""
        present = [path for path in paths if path in self.list_files(commit)]
        names = {}
        for path, raw in zip(present, self.read_texts([(commit, path) for path in present]), strict=True):
            if raw is not None:
                key = path, xxhash.xxh3_128_digest(raw)
                if key not in self._names:
                    self.parse(path, raw)
                names[path] = self._names[key]
        return names

    def parse(self, path: str, raw: bytes | None) -> DefinedFile | None:
        """Parse a file, and cache the names of its definitions."""
        if raw is None:
            return None
        file = parse_file(path, raw)
        self._names[path, xxhash.xxh3_128_digest(raw)] = file.names if file else frozenset()
        return file


MAX_FILE = 400_000  # Bytes. A longer file is generated, or a whole library in one file.
CERTAIN = 0.5  # Minimum confidence in a guessed encoding. Nearly all sources are UTF-8.
# Maximum number of a file's definitions with one qualified name, such as overloads, that can be answers.
MOST_ALIKE = 4
COUNTED = frozenset(SYMBOL_KINDS) - {"module"} | {"section"}


@frozen_dataclass
class DefinedFile:
    """A file's text with its definitions in order of position, parents before children."""

    language: str
    text: TextMap
    units: tuple[Unit, ...]

    @property
    def answers(self) -> tuple[Unit, ...]:
        """Definitions that can be answers: named, not local, and of at most MOST_ALIKE with the same name."""
        units = [unit for unit in self.units if can_be_answer(unit)]
        counts = Counter(unit.qualified_name for unit in units)
        return tuple(unit for unit in units if counts[unit.qualified_name] <= MOST_ALIKE)

    @property
    def names(self) -> frozenset[str]:
        """Qualified names of the answers."""
        return frozenset(unit.qualified_name for unit in self.answers)

    def find_lines(self, unit: Unit) -> tuple[int, int]:
        """Find the first and last line of a definition, from 1."""
        last = max(unit.span.start, unit.span.end - 1)
        return self.text.find_line_column(unit.span.start)[0], self.text.find_line_column(last)[0]


def has_definitions(path: str) -> bool:
    """Test whether a file of this name can have definitions or headings; false for change logs."""
    row = languages().get(detect_language(path))
    name = path.rpartition("/")[2].partition(".")[0].lower()
    is_log = any(word in name for word in ("changelog", "changes", "history", "news", "release"))
    return row is not None and bool(row.grammar or row.chunks == "headings") and not is_log


def parse_file(path: str, raw: bytes) -> DefinedFile | None:
    """Parse the definitions of a file; None if an index would contain no definitions of it."""
    if len(raw) > MAX_FILE or not has_definitions(path) or classify_bytes(path, raw) or "vendored" in find_roles(path):
        return None
    decoded = decode(raw, CERTAIN)
    if decoded is None:
        return None
    text, language = TextMap(decoded), detect_language(path, raw)
    row = languages().get(language)
    has_headings = row is not None and row.chunks == "headings"
    units = extract(text, path, language).units if has_headings else extract_definitions(text, language)
    return DefinedFile(language, text, units)


def can_be_answer(unit: Unit) -> bool:
    """Test whether a unit can be an answer: a named symbol or section that is not local to a function."""
    return unit.kind in COUNTED and not unit.local and bool(split_name(unit.name)) and unit.name.strip() != ""


LEFT_OUT = frozenset({"test", "docs", "example", "vendored", "generated"})  # Roles of paths that prose does not mention


def can_be_meant(unit: Unit) -> bool:
    """Test whether prose can mean a unit: a symbol that is neither a test nor a constructor with its type's name."""
    around = split_name(unit.container)
    return unit.kind in SYMBOL_KINDS and around[-1:] != (unit.name,) and {"test", "tests"}.isdisjoint(around)


def find_changed_units(file: DefinedFile, hunks: Sequence[Hunk]) -> list[Unit]:
    """Find the definitions that a change touches, by position. `hunks` have no context, and `file` is their old side.

    A changed line belongs to the innermost definition, which includes its documentation. Modules are never returned.
    """
    places = _DefinitionLines(file)
    touched = {at for hunk in hunks for at in places.find_touched(hunk) if at is not None}
    return [file.units[at] for at in sorted(touched) if can_be_answer(file.units[at])]


class _DefinitionLines:
    """The line ranges of the definitions in a file."""

    def __init__(self, file: DefinedFile) -> None:
        self._lines = file.text.utf8.split(b"\n")
        # (first line including documentation, last line, index) of each unit that is not local to a function
        self._spans: list[tuple[int, int, int]] = []
        for at, unit in enumerate(file.units):
            if not unit.local and (unit.kind in COUNTED or unit.kind == "module"):
                first, last = file.find_lines(unit)
                self._spans.append((self._find_documentation_start(first, unit), last, at))

    def find_touched(self, hunk: Hunk) -> Iterator[int | None]:
        """Yield the index of the definition around each old line of a hunk, or around its insertion; None outside of all."""
        old = hunk.old
        if not old:
            yield self._find_around_insertion(hunk.old_start, hunk.new)
            return
        filled = [number for number, text in enumerate(old, hunk.old_start) if text.strip()]
        for number in filled or range(hunk.old_start, hunk.old_start + len(old)):
            yield self._find_innermost(number, number)

    def _find_innermost(self, first: int, last: int) -> int | None:
        """Find the index of the smallest definition that contains these lines, the last of equals; None outside of all."""
        around = [(end - start, -at) for start, end, at in self._spans if start <= first and end >= last]
        return -min(around)[1] if around else None

    def _find_around_insertion(self, above: int, new: Sequence[bytes]) -> int | None:
        """Find the index of the definition that lines inserted below `above` belong to: it contains them, or it ends just above
        and is less indented, as in languages with blocks by indentation."""
        depth = next((_measure_indent(line) for line in new if line.strip()), 0)
        last = above
        while last and not self._lines[last - 1].strip():
            last -= 1
        ended = [
            (end - start, -at)
            for start, end, at in self._spans
            if end == last and end > start and _measure_indent(self._lines[start - 1]) < depth
        ]
        if ended:
            return -min(ended)[1]
        return self._find_innermost(above, above + 1) if above else None

    def _find_documentation_start(self, first: int, unit: Unit) -> int:
        """Find the first line of a unit's documentation and decorators, else of the unit itself."""
        documented = set(_split_words(" ".join((unit.doc, *unit.decorators))))
        while documented and first > 1:
            line = self._lines[first - 2].decode("utf-8", "replace").strip()
            if not line or not documented.issuperset(_split_words(line)):
                break
            first -= 1
        return first


def _split_words(text: str) -> list[str]:
    return "".join(c if c.isalnum() else " " for c in text).split()


def _measure_indent(line: bytes) -> int:
    return len(line.expandtabs(4)) - len(line.expandtabs(4).lstrip())


@frozen_dataclass
class TreeText:
    """A file of a tree; `defined` has no units if the file cannot contain answers."""

    path: str
    raw: bytes
    text: str
    defined: DefinedFile

    @property
    def answers(self) -> tuple[Unit, ...]:
        """Definitions that can be answers."""
        return self.defined.answers


def read_tree(root: Path, progress: ProgressSink | None = None, total: int = 0) -> Iterator[TreeText]:
    """Yield the files that an index with default settings would contain, in the walk's order."""
    settings = Settings()
    for number, seen in enumerate(walk_tree(root, settings)):
        if progress:
            progress(Progress("read", number, total, seen.path))
        if isinstance(seen, SeenFile) and isinstance(read := read_text(root, seen, settings), ReadText):
            defined = parse_file(seen.path, read.raw) or DefinedFile("", TextMap(read.decoded), ())
            yield TreeText(seen.path, read.raw, read.decoded.text, defined)


AT_ONCE = 400  # Files read at once, to bound memory


def sample_paths(files: Mapping[str, TreeFile], needed: Collection[str], most: int) -> list[str]:
    """Select at most `most` paths, in git's order: needed ones first, then known languages, then others, by hash."""
    small = [path for path, file in files.items() if file.size <= Settings().max_file_size]
    if len(small) <= most:
        return small

    def priority(path: str) -> tuple[bool, bool, int, str]:
        draw = xxhash.xxh3_64_intdigest(f"codelens made tree {path}".encode())
        return path not in needed, detect_language(path) == PLAIN_TEXT, draw, path

    sample = set(sorted(small, key=priority)[:most])
    return [path for path in small if path in sample]


def write_tree(reader: GitReader, commit: str, paths: list[str], into: Path) -> int:
    """Write files of a commit to a new folder; return the number of files that could not be written, for example because paths
    differ only in case. Raises GitError and OSError."""
    into.mkdir(parents=True)
    failed = 0
    for start in range(0, len(paths), AT_ONCE):
        batch = paths[start : start + AT_ONCE]
        for path, raw in zip(batch, reader.read_texts([(commit, path) for path in batch]), strict=True):
            if raw is None or is_binary(raw):
                continue
            try:
                write_new(into / path, raw)
            except (FileExistsError, NotADirectoryError):
                failed += 1
    return failed
