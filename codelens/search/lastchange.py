"""The past of files and lines → when each part of a document last changed, and by whom.

What was read of a file's lines is of the commit; where the indexed file is another (somebody is at work on it), or its lines
were not read, all of it counts as changed when the file was.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate

from codelens.model import UnitId, UnitRow
from codelens.past import LastChange, LineCommit, WrittenLines
from codelens.store.documents import DocumentRow
from codelens.store.store import Store
from codelens.texts import Texts


class LastChanges:
    """Reads the commits of each repository once, and the lines of each file when they are asked for."""

    def __init__(self, store: Store, texts: Texts) -> None:
        self._store, self._texts = store, texts
        self._commits: dict[int, dict[int, LineCommit]] = {}

    def of_document(self, document: DocumentRow) -> LastChange | None:
        """Of a file as a whole; None where git says nothing of it. Its parts may be older."""
        lines = self._lines(document)
        commits = self._commits_of(document)
        if lines is not None and lines.last in commits:
            last = commits[lines.last]
            return LastChange(last.time, last.author, whole_file=bool(lines.runs))
        history = self._store.history.of([document.id]).get(document.id)
        return LastChange(history.changed) if history else None

    def of_units(self, document: DocumentRow, units: Iterable[UnitRow]) -> dict[UnitId, LastChange]:
        """Of the parts of a file; those of which nothing is known are left out."""
        whole, lines = self.of_document(document), self._lines(document)
        if whole is None:
            return {}
        alone = LastChange(whole.time, whole.author)
        if lines is None or not lines.runs or not self._is_of(lines, document):
            return {unit.id: alone for unit in units}
        commits = self._commits_of(document)
        oldest = min((commit.time for commit in commits.values()), default=0)
        ends = list(accumulate(run.lines for run in lines.runs))
        return {unit.id: _of_lines(unit, lines, ends, commits, min(oldest, whole.time)) for unit in units}

    def _lines(self, document: DocumentRow) -> WrittenLines | None:
        return self._store.lines.by_path(document.repository, [document.path]).get(document.path)

    def _commits_of(self, document: DocumentRow) -> Mapping[int, LineCommit]:
        if document.repository not in self._commits:
            self._commits[document.repository] = self._store.lines.commits(document.repository)
        return self._commits[document.repository]

    def _is_of(self, lines: WrittenLines, document: DocumentRow) -> bool:
        """Whether the indexed content is the one whose lines these are, by git's name for it."""
        import hashlib  # few searches need it

        text = self._texts.of(document)
        kind = hashlib.sha1 if len(lines.blob) == 20 else hashlib.sha256
        digest = kind(b"blob %d\0" % text.size, usedforsecurity=False)
        for block in text.blocks():
            digest.update(block)
        return digest.digest() == lines.blob


def _of_lines(
    unit: UnitRow, lines: WrittenLines, ends: Sequence[int], commits: Mapping[int, LineCommit], oldest: int
) -> LastChange:
    """The youngest commit among those that wrote its lines; of several at one time the one with the lowest number."""
    first = bisect_right(ends, unit.start_line - 1)
    found = set()
    for place in range(first, len(ends)):
        if place > first and ends[place - 1] >= unit.end_line:
            break
        found.add(lines.runs[place].commit)
    known = {number: commits[number] for number in found if number in commits}
    if not known:
        return LastChange(oldest, exact=False)
    last = min(known, key=lambda number: (-known[number].time, number))
    return LastChange(known[last].time, known[last].author, len(known))
