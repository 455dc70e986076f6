"""A file's text → its definitions, and those of them that a change falls in.

The innermost definition takes a changed line, with the comment that documents it. A namespace around everything takes
none: it would be the answer to every question about its file.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence

from codelens.derived import Unit
from codelens.evaluation.judging import parts
from codelens.indexing.extract import definitions, extract
from codelens.lang.registry import detect_language, languages
from codelens.model import SYMBOL_KINDS
from codelens.nouns import dataclass
from codelens.text.lines import TextMap
from codelens.worktree.classify import classify_bytes
from codelens.worktree.decode import decode
from codelens.worktree.diffs import Hunk
from codelens.worktree.roles import path_roles

MAX_FILE = 400_000
"""Bytes. A longer file is generated, or all of a library in one piece. Chosen, as for training."""
CERTAIN = 0.5
"""Confidence at which a guessed encoding is taken. Chosen: nearly all sources are UTF-8."""
MOST_ALIKE = 4
"""Definitions of a file that share a qualified name, as overloads do; of more (a test framework's TEST) none can be meant."""
COUNTED = frozenset(SYMBOL_KINDS) - {"module"} | {"section"}


@dataclass(frozen=True, slots=True)
class Defined:
    """A text with its definitions in order of place, parents before children."""

    language: str
    text: TextMap
    units: tuple[Unit, ...]

    @property
    def answers(self) -> tuple[Unit, ...]:
        """Those that a task may ask for."""
        found = [unit for unit in self.units if is_answer(unit)]
        borne = Counter(unit.qualified_name for unit in found)
        return tuple(unit for unit in found if borne[unit.qualified_name] <= MOST_ALIKE)

    @property
    def names(self) -> frozenset[str]:
        """The qualified names of those."""
        return frozenset(unit.qualified_name for unit in self.answers)


def defines(path: str) -> bool:
    """Whether files of this name have definitions or headings. What is changed with every commit, a change log, does not count."""
    row = languages().get(detect_language(path))
    if row is None or not (row.grammar or row.chunks == "headings"):
        return False
    name = path.rpartition("/")[2].partition(".")[0].lower()
    return not any(word in name for word in ("changelog", "changes", "history", "news", "release"))


def defined(path: str, raw: bytes) -> Defined | None:
    """The definitions of a file that an index would hold; None where it would hold none of them."""
    if len(raw) > MAX_FILE or not defines(path) or classify_bytes(path, raw) or "vendored" in path_roles(path):
        return None
    decoded = decode(raw, CERTAIN)
    if decoded is None:
        return None
    text = TextMap(decoded)
    language = detect_language(path, raw[:200])
    row = languages().get(language)
    headed = row is not None and row.chunks == "headings"
    return Defined(language, text, extract(text, path, language).units if headed else definitions(text, language))


def is_answer(unit: Unit) -> bool:
    """Whether it can be meant by itself: what is local to a function belongs to that function."""
    return unit.kind in COUNTED and not unit.local and bool(parts(unit.name)) and unit.name.strip() != ""


def changed(file: Defined, hunks: Sequence[Hunk]) -> list[Unit]:
    """The definitions that a change falls in, in order of place; `hunks` have the file's lines as old ones, without context."""
    places = _Places(file)
    found = {at for hunk in hunks for at in places.of(hunk)}
    return [file.units[at] for at in sorted(found)]


class _Places:
    """The lines that each definition of a file takes."""

    def __init__(self, file: Defined) -> None:
        self._lines = file.text.utf8.split(b"\n")
        self._units = file.units
        self._spans: list[tuple[int, int, int]] = []
        """(first line with its documentation, last line, which), of all that are no part of a function."""
        for at, unit in enumerate(file.units):
            if unit.local or (unit.kind not in COUNTED and unit.kind != "module"):
                continue
            first = file.text.line_column(unit.span.start)[0]
            last = file.text.line_column(max(unit.span.start, unit.span.end - 1))[0]
            self._spans.append((self._documented_from(first, unit), last, at))
        self._spans.sort()
        self._firsts = [first for first, _, _ in self._spans]

    def of(self, hunk: Hunk) -> Iterator[int]:
        """The definitions that the hunk's old lines are of; of new lines alone, the one that they stand in."""
        old = hunk.old
        if not old:
            yield from self._answer(self._around(hunk.old_start, hunk.new))
            return
        said = [number for number, text in enumerate(old, hunk.old_start) if text.strip()]
        for number in said or range(hunk.old_start, hunk.old_start + len(old)):
            yield from self._answer(self._innermost(number, number))

    def _answer(self, at: int | None) -> Iterator[int]:
        if at is not None and is_answer(self._units[at]):
            yield at

    def _innermost(self, first: int, last: int) -> int | None:
        """The definition with the fewest lines that has all lines from `first` to `last`; of equals the last."""
        before = self._spans[: bisect_right(self._firsts, first)]
        holding = [(end - start, -at) for start, end, at in before if end >= last]
        return -min(holding)[1] if holding else None

    def _around(self, above: int, new: Sequence[bytes]) -> int | None:
        """What lines that come below the line `above` are put into: what reaches on below it, else what just ended there and is
        less indented than they are, as where blocks end without a mark."""
        inside = self._innermost(above, above + 1) if above else None
        depth = next((_indent(line) for line in new if line.strip()), 0)
        last = above
        while last and not self._lines[last - 1].strip():
            last -= 1
        ended = [
            (end - start, -at)
            for start, end, at in self._spans
            if end == last and end > start and _indent(self._lines[start - 1]) < depth
        ]
        return -min(ended)[1] if ended else inside

    def _documented_from(self, first: int, unit: Unit) -> int:
        """The line where the comment begins that documents a unit, and its decorators; its own first line without them."""
        known = set(_words(" ".join((unit.doc, *unit.decorators))))
        while known and first > 1:
            line = self._lines[first - 2].decode("utf-8", "replace").strip()
            if not line or not known.issuperset(_words(line)):
                break
            first -= 1
        return first


def _words(text: str) -> list[str]:
    return "".join(c if c.isalnum() else " " for c in text).split()


def _indent(line: bytes) -> int:
    return len(line.expandtabs(4)) - len(line.expandtabs(4).lstrip())
