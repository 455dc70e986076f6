"""Searches for lines: finds every line of the indexed text that satisfies a query, file by file, as grep does.

parse query → files in scope → trigrams → text → lines. Lines are neither ranked nor cut: files come in the order of their
paths, and only one file, or one part of a large file, is in memory at a time.
"""

from __future__ import annotations

import os
import sys
from collections import deque
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import chain, count
from typing import NamedTuple

from codelens.config import Settings
from codelens.errors import UsageError
from codelens.model.budget import OutOfTime, TimeBudget
from codelens.model.code import DocumentId, Freshness, IndexInfo, UnitRow
from codelens.model.fast_dataclass import replace
from codelens.model.history import MOST_LINE_COMMITS
from codelens.model.request import SearchOptions
from codelens.model.search import INCOMPLETE, FileLines, Hit, MatchedLine, Notice, SearchResult, SnippetLine, Trace
from codelens.query.conditions import evaluate_node
from codelens.query.lines import FoundLine, find_lines, make_line_query
from codelens.query.nodes import Node, Query, asks_for_todos
from codelens.search import scope
from codelens.search.run import AUTHORS_CUT, find_absences, read_query
from codelens.store.documents import DocumentRow
from codelens.store.store import Store
from codelens.store.texts import Texts, load_text
from codelens.text.lines import count_utf8_column, count_utf16_column
from codelens.text.notebook import NOTEBOOK
from codelens.worktree.files import check_freshness

LONGEST_HELD = 4_000_000
"""Most characters of an unfinished line that are held; a longer line, as in a large file of one line, is searched in pieces."""
ORDINARY_SPEED = 3_000_000  # Characters of a text that ordinary patterns read in a second, at least
SECONDS_A_FILE = 0.001  # Seconds that a file takes besides
LINES = "lines"  # Name of this search among the channels of a result


class Block(NamedTuple):
    """Consecutive whole lines of a file, starting at line `first` (from 0), with those lines that match."""

    first: int
    text: str
    found: list[FoundLine]


class LineSearch:
    """One search for lines; iterating over its files does the work."""

    def __init__(
        self, query: str | Query, store: Store, options: SearchOptions, settings: Settings, marked: bool = True
    ) -> None:
        """Prepare a search. Without `marked`, each line has only its first match. Raises QueryError and UsageError."""
        self.store, self.options, self.settings, self.query = store, options, settings, read_query(query, options)
        conditions = scope.read_conditions(store, self.query, options, Texts(store), settings)
        seconds = settings.query_seconds
        self.budget = TimeBudget(seconds) if seconds else TimeBudget()
        """The time budget for slow patterns. It leaves ordinary patterns the time that they need to read all texts."""
        self.conditions = replace(conditions, matching=replace(conditions.matching, budget=self.budget))
        case, word, line, invert = conditions.matching.case, options.word, options.whole_line, options.invert
        wanted = make_line_query(self.query.node, case=case, whole_word=word, whole_line=line, invert=invert)
        self.wanted = replace(wanted, every_match=marked)
        self.roots = {row.id: row.root for row in store.documents.list_repositories()}
        self.notices = [*self.query.notices, *find_absences(store)]
        if scope.has_condition_on(self.query.node, "author"):
            cut = any(len(store.lines.read_commits(repository)) >= MOST_LINE_COMMITS for repository in self.roots)
            self.notices += [AUTHORS_CUT] if cut else []
        self.skip, self.left = options.offset, options.limit  # Numbers of matching lines to skip, and then to return
        self.reads: Sequence[str] = ("documents.read_snapshot",)  # Methods of the store to prefetch for each file
        self.parts: Mapping[DocumentId, Collection[int]] = {}
        """Document → numbers of the parts of a large file that may contain a match; empty if all may."""

    def find_files(self) -> Iterator[FileLines]:
        """Find the files with a match, in order, each with its matching lines and the lines around them."""
        before, after = self.options.context_before, self.options.context_after
        for document in self.store.prefetch_per_document(self._list_candidates(), *self.reads):
            if self.left <= 0:
                return
            blocks = self._read_blocks(document)
            previous = None
            for block in blocks:
                if block.found:
                    blocks = chain([previous] if previous else [], [block], blocks)
                    yield self._describe_file(document, _add_context(blocks, before, after))
                    break
                previous = block

    def find_files_without(self) -> Iterator[FileLines]:
        """Find the files without a match, in order."""
        matching = {file.document for file in self.find_files()}
        for document in self._list_documents(None):
            if document.id in matching:
                continue
            with self._end_in_time(document):
                is_excluded = _FileConditions(self, document).exclude_file()
            if not is_excluded:
                yield self._describe_file(document, iter(()))

    def _list_candidates(self) -> Sequence[DocumentRow]:
        """List the files that may contain a match, in order."""
        expression = scope.format_trigrams(self.wanted.plan()) if self.store.read_features().fuzzy else ""
        allowed = self.store.postings.find_documents(expression) if expression else None
        self.parts = allowed or {}
        return self._list_documents(allowed)

    def _list_documents(self, among: Collection[DocumentId] | None) -> Sequence[DocumentRow]:
        """List the documents in scope by path, or the last modified first; `among` restricts them, None allows all."""
        documents = scope.list_documents_in_scope(self.store, self.options, among)
        if self.options.sort == "modified":
            documents = sorted(documents, key=lambda d: -d.stamp.mtime_ns)
        return documents[::-1] if self.options.reverse else documents

    def _describe_file(self, document: DocumentRow, lines: Iterator[MatchedLine]) -> FileLines:
        root = self.roots[document.repository]
        return FileLines(
            document=document.id,
            repository=self.conditions.repositories[document.repository],
            root=str(root),
            path=document.path,
            os_path=document.os_path,
            language=document.language,
            freshness=Freshness(check_freshness(root, document.os_path, document.stamp, document.content_hash)),
            lines=lines,
        )

    def _read_blocks(self, document: DocumentRow) -> Iterator[Block]:
        """Read a file's text in blocks with the lines that match. Raises UsageError if the time is spent."""
        conditions = _FileConditions(self, document)
        with self._end_in_time(document):
            if conditions.exclude_file():
                return
            for first, text in _read_texts(document, self.store, self.parts.get(document.id, ())):
                self.budget.grant(len(text) / ORDINARY_SPEED)
                find_ranges = partial(conditions.find_ranges, first)
                lines = find_lines(text, self.wanted, find_ranges, self.budget) if self.left > 0 else []
                if self.wanted.text is None:
                    lines = [conditions.mark_name(line, first, text) for line in lines]
                taken = lines[self.skip : self.skip + self.left]  # those within --offset and -m
                self.skip -= min(self.skip, len(lines))
                self.left -= len(taken)
                with self.budget.pause():  # while the lines are shown
                    yield Block(first, text, taken)
                if self.left <= 0 and not self.options.context_after:
                    return

    @contextmanager
    def _end_in_time(self, document: DocumentRow) -> Iterator[None]:
        """Search a file in this block. Raises UsageError if the time is spent."""
        self.budget.grant(SECONDS_A_FILE)
        try:
            yield
        except OutOfTime:
            seconds = self.settings.query_seconds
            fault = f"the regular expression took over {seconds:g} s, so the answer ends at {document.path}"
            hint = "nested repetitions such as (a+)+ are slow; the setting query_seconds allows more time"
            raise UsageError(fault, hint) from None

    def make_result(self, info: IndexInfo) -> SearchResult:
        """Make one result of all lines, for formats that show units: each hit has the innermost unit around it and no score."""
        skip, left = self.options.offset, self.options.limit
        self.skip, self.left = 0, sys.maxsize
        self.reads = ("documents.read_snapshot", "units.list_in_document")
        hits = list[Hit]()
        try:
            for hit in self._find_hits():
                hits.append(hit)
        except UsageError as fault:
            self.notices.append(Notice(INCOMPLETE, f"{fault} (setting query_seconds)"))
        return SearchResult(
            query=self.query.text,
            hits=tuple(hits[skip : skip + left]),
            total=len(hits),
            channels=(LINES,),
            notices=tuple(self.notices),
            index=info,
            options=self.options,
            trace=Trace(),
            trigram_available=self.store.read_features().fuzzy,
        )

    def _find_hits(self) -> Iterator[Hit]:
        before, after = self.options.context_before, self.options.context_after
        ranks = count(1)
        for file in self.find_files():
            lines = list(file.lines)
            shown = {line.number: SnippetLine(line.number, line.text.rstrip("\r"), line.ranges) for line in lines}
            matched = [line for line in lines if line.matched]
            for line, unit in zip(matched, self._find_units_around(file, matched), strict=True):
                around = (shown.get(number) for number in range(line.number - before, line.number + after + 1))
                column = count_utf8_column(line.text, line.ranges[0][0] if line.ranges else 0)
                yield Hit(
                    rank=next(ranks),
                    unit=unit,
                    score=0.0,
                    channels={},
                    contributions=(),
                    freshness=file.freshness,
                    root=file.root,
                    line=line.number,
                    column=column,
                    column_utf16=count_utf16_column(line.text, column),
                    snippet=tuple(near for near in around if near is not None),
                    path_bytes=os.fsencode(file.os_path) if file.os_path != file.path else None,
                )

    def _find_units_around(self, file: FileLines, lines: Sequence[MatchedLine]) -> Iterator[UnitRow]:
        """Find the innermost unit around each line; outside of all units, the file itself as a unit."""
        coming, around = deque(self.store.units.list_in_document(file.document)), list[UnitRow]()
        for line in lines:
            while coming and coming[0].start_line <= line.number:
                around.append(coming.popleft())
            around = [unit for unit in around if unit.end_line >= line.number]
            if around:
                yield around[-1]
            else:
                (document,) = self.store.documents.read_rows([file.document])
                yield scope.make_file_unit(document, file.repository, self.store)


def _read_texts(document: DocumentRow, store: Store, parts: Collection[int]) -> Iterator[tuple[int, str]]:
    """Read a file as pairs (first line, from 0; whole lines); of a large file only the given `parts`, or all if empty.

    Lines of a notebook are those that users see. A line that continues in the next part is joined, up to LONGEST_HELD characters.
    """
    text = load_text(document, store)
    places, unfinished, first = text.places, "", 0
    if len(places) <= 1:
        yield 0, "\n".join(Texts(store).read_lines(document)) if text.language == NOTEBOOK else text.text
        return
    for number, place in enumerate(places):
        ends_line = number + 1 == len(places) or not places[number + 1].before
        if parts and number not in parts and not unfinished and ends_line:
            continue
        first = first if unfinished else place.line - 1
        joined = unfinished + text.decode_span(text.find_part_span(number))
        end = len(joined) if ends_line or len(joined) > LONGEST_HELD else joined.rfind("\n") + 1
        if end:
            yield first, joined[:end]
        first, unfinished = first + joined.count("\n", 0, end), joined[end:]


def _add_context(blocks: Iterable[Block], before: int, after: int) -> Iterator[MatchedLine]:
    """Yield the matching lines and the lines around them, each once."""
    if not (before or after):
        for first, text, lines in blocks:
            for line in lines:
                end = line.end + (text[line.end : line.end + 1] == "\r")  # "\r" before "\n" stays
                yield MatchedLine(first + line.number + 1, text[line.begin : end], line.ranges)
        return
    last = owed = 0
    passed: deque[MatchedLine] = deque(maxlen=before)
    for first, text, lines in blocks:
        ranges = {line.number: line.ranges for line in lines}
        for number, whole_line in enumerate(text.removesuffix("\n").split("\n")):
            shown = MatchedLine(first + number + 1, whole_line, ranges.get(number, ()), number in ranges)
            if shown.matched:
                yield from (near for near in passed if near.number > last)
            if shown.matched or owed:
                yield shown
                last, owed = shown.number, after if shown.matched else owed - 1
            passed.append(shown)


class _FileConditions:
    """Decides for one file where conditions on files and units hold."""

    def __init__(self, search: LineSearch, document: DocumentRow) -> None:
        self.search, self.document = search, document
        self.spans: dict[int, Sequence[tuple[int, int]] | None] = {}
        self.named: dict[int, str] = {}  # Line, from 0 → name of the unit on it, for a query without text

    def exclude_file(self) -> bool:
        """Decide if the conditions of the query exclude the whole file."""
        wanted = self.search.wanted.file
        return wanted is not None and self.search.conditions.decide(self.document, wanted).value is False

    def find_ranges(self, first: int, condition: Node) -> Sequence[tuple[int, int]] | None:
        """Find the ranges of lines, relative to line `first`, where a condition holds; None for all lines."""
        if id(condition) not in self.spans:
            self.spans[id(condition)] = self._find_spans(condition)
        spans = self.spans[id(condition)]
        return None if spans is None else [(begin - first, end - first) for begin, end in spans]

    def mark_name(self, line: FoundLine, first: int, text: str) -> FoundLine:
        """Set the range of a line to the unit's name on it, if a unit that satisfies the query is named there."""
        name = self.named.get(first + line.number, "")
        at = text.find(name, line.begin, line.end) - line.begin if name else -1
        return line._replace(ranges=((at, at + len(name)),)) if at >= 0 else line

    def _find_spans(self, condition: Node) -> Sequence[tuple[int, int]] | None:
        """Find (first line, last line), from 0, of each unit that satisfies a condition; for a query without text, only the
        line with its name. None if the condition holds for the whole file."""
        value = self.search.conditions.decide(self.document, condition).value
        if value is not None:
            return None if value else ()
        units = self._find_units(condition)
        if self.search.wanted.text is not None:
            return [(unit.start_line - 1, unit.end_line - 1) for unit in units]
        self.named |= {(unit.name_line or unit.start_line) - 1: unit.name for unit in units}
        return [(line, line) for line in self.named]

    def _find_units(self, condition: Node) -> list[UnitRow]:
        store, conditions = self.search.store, self.search.conditions
        units = store.units.list_in_document(self.document.id)
        if asks_for_todos(condition):
            units += store.units.list_todos(self.document.id)
        facts, matchings = conditions.collect_facts(self.document), conditions.make_unit_matchings(self.document, units)

        def is_satisfied(unit: UnitRow) -> bool:
            known = facts.narrow_to_unit(unit.kind, unit.name, unit.qualified_name)
            return bool(evaluate_node(condition, known, matchings.get(unit.id, conditions.matching)).value)

        return list(filter(is_satisfied, units))
