"""Candidates → hits: the place to jump to, the lines to show, and whether the file on disk is still the one indexed."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from codelens.model import Candidate, Freshness, Hit, SearchOptions, SnippetLine, UnitRow
from codelens.search.expand import ExpandedQuery
from codelens.search.patterns import Ranges
from codelens.store.documents import DocumentRow
from codelens.text.identifiers import split_identifier
from codelens.text.lines import column_utf8, column_utf16
from codelens.text.terms import BEGINNING
from codelens.texts import MAX_LINE, Texts
from codelens.worktree.freshness import freshness

SCANNED_LINES = 400
"""Lines of a long unit in which the best lines are looked for."""
FEW_WORDS = 40
"""Words of a query up to which a line is first searched for each of them. At 80, looking at its tokens is as fast. Measured."""

_TOKEN = re.compile(r"\w+")


def present(
    candidate: Candidate,
    rank: int,
    document: DocumentRow,
    root: Path,
    query: ExpandedQuery,
    places: Mapping[int, Ranges],
    texts: Texts,
    options: SearchOptions,
) -> Hit:
    """One candidate as a hit. `places`: where the query's phrases and patterns hit it, ranges by line."""
    unit = candidate.unit
    lines = texts.lines(document)
    marks = _marks(unit, lines, query, places, options.literal or options.regex)
    line, column = _place(unit, lines, marks, places)
    shown = _shown_lines(unit, line, marks, len(lines), options)
    text = lines[line - 1] if line <= len(lines) else ""
    return replace(
        present_briefly(candidate, rank, document, root),
        line=line,
        column=column,
        column_utf16=column_utf16(text, column),
        snippet=tuple(SnippetLine(n, lines[n - 1][:MAX_LINE], marks.get(n, ())) for n in shown if n <= len(lines)),
    )


def present_briefly(candidate: Candidate, rank: int, document: DocumentRow, root: Path) -> Hit:
    """The same without a look at the text: the place is the line where the unit is named or begins, and no lines are shown."""
    return Hit(
        rank=rank,
        unit=candidate.unit,
        score=candidate.score,
        channels=dict(sorted(candidate.channels.items())),
        contributions=tuple(candidate.contributions),
        freshness=Freshness(freshness(root, document.os_path, document.stamp, document.content_hash)),
        root=str(root),
        line=candidate.unit.name_line or candidate.unit.start_line,
        column=1,
        column_utf16=1,
        snippet=(),
        path_bytes=os.fsencode(document.os_path) if document.os_path != document.path else None,
    )


def _marks(
    unit: UnitRow, lines: Sequence[str], query: ExpandedQuery, places: Mapping[int, Ranges], literal: bool
) -> dict[int, Ranges]:
    """Line → character ranges that the query hits, within the unit; of a literal query only what it says, no words."""
    found: dict[int, Ranges] = dict(places)
    if literal:
        return found
    said = frozenset(t.text for t in query.words if not t.text.endswith(BEGINNING))
    begun = tuple(t.text.removesuffix(BEGINNING) for t in query.words if t.text.endswith(BEGINNING))
    few = (*said, *begun) if len(said) + len(begun) <= FEW_WORDS else ()
    for number in range(unit.start_line, min(unit.end_line, unit.start_line + SCANNED_LINES, len(lines)) + 1):
        line = lines[number - 1][:MAX_LINE]
        folded = line.casefold()
        if few and not any(word in folded for word in few):  # ten times as fast as looking at its tokens
            continue
        ranges = tuple(m.span() for m in _TOKEN.finditer(line) if _says(m[0], said, begun))
        if ranges:
            found[number] = tuple(sorted(set(found.get(number, ()) + ranges)))
    return found


@lru_cache(maxsize=1 << 14)
def _says(token: str, said: frozenset[str], begun: tuple[str, ...]) -> bool:
    folded, words = token.casefold().strip("_"), split_identifier(token)
    if begun and (folded.startswith(begun) or any(word.startswith(begun) for word in words)):
        return True
    return folded in said or not said.isdisjoint(words)


def _place(
    unit: UnitRow, lines: Sequence[str], marks: Mapping[int, Ranges], places: Mapping[int, Ranges]
) -> tuple[int, int]:
    """(line, column): what a literal or a pattern found, else the name of a symbol, else the line that says most."""
    if places:
        line = min(places)
        start = places[line][0][0] if places[line] else 0
        return line, column_utf8(lines[line - 1], start)
    if unit.name_line and unit.signature:
        return unit.name_line, unit.name_column
    best = max(marks, key=lambda n: (len(marks[n]), -n), default=unit.start_line)
    ranges = marks.get(best, ())
    start = ranges[0][0] if ranges else 0
    return best, column_utf8(lines[best - 1], start) if best <= len(lines) else 1


def _shown_lines(unit: UnitRow, line: int, marks: Mapping[int, Ranges], last: int, options: SearchOptions) -> list[int]:
    """Line numbers of the snippet: the asked context, or the place and the lines of the unit that say most."""
    if options.context_before or options.context_after:
        return list(range(max(1, line - options.context_before), min(last, line + options.context_after) + 1))
    others = sorted((n for n in marks if n != line), key=lambda n: (-len(marks[n]), n))
    return sorted({line, *others[: max(0, options.snippet_lines - 1)]})
