"""Candidates → hits: the place to jump to, the lines to show, and whether the file on disk is still the one indexed."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from codelens.model.budget import SHOWN
from codelens.model.code import NOTE_KINDS, Freshness, IndexInfo, UnitRow
from codelens.model.search import Candidate, Hit, Notice, SearchOptions, SearchResult, SnippetLine
from codelens.query.patterns import Ranges
from codelens.search.run import SearchRun, limit_notices
from codelens.search.terms import ExpandedQuery
from codelens.store.documents import DocumentRow
from codelens.text.identifiers import split_identifier
from codelens.text.lines import column_utf8, column_utf16
from codelens.text.terms import BEGINNING
from codelens.worktree.files import freshness

SCANNED_LINES = 400
"""Lines of a long unit in which the best lines are looked for."""
SCANNED_CHARACTERS = 400
"""Characters of a line in which words are marked: a longer line was not written by a person. Chosen."""
FEW_WORDS = 40
"""Words of a query up to which a line is first searched for each of them. At 80, looking at its tokens is as fast. Measured."""

MOST_MOVED = 10
"""Places of notes that are reported. Chosen: `codelens note list --lost` reports all of them."""

_TOKEN = re.compile(r"\w+")


def answer(run: SearchRun, info: IndexInfo) -> SearchResult:
    """The part of the final order that --limit and --offset show."""
    options = run.options
    page = run.candidates[options.offset : options.offset + options.limit]
    hits = _hits(run, page)
    return SearchResult(
        query=run.query.text,
        hits=hits,
        total=len(run.candidates),
        channels=run.channels,
        notices=(*run.notices, *_moved_places(run, page), *limit_notices(run.budget)),
        index=info,
        options=options,
        trace=run.trace,
        trigram_available="fuzzy" in run.abilities,
    )


def _hits(run: SearchRun, page: Sequence[Candidate]) -> tuple[Hit, ...]:
    """The hits; those for which there is no time come without lines."""
    store, first = run.store, run.options.offset + 1
    documents = {d.id: d for d in store.documents.rows({c.unit.document for c in page})}
    roots = {r.id: r.root for r in store.documents.repositories()}
    hits: list[Hit] = []
    brief = 0
    for place, candidate in enumerate(page):
        document = documents[candidate.unit.document]
        hit = _without_lines(candidate, first + place, document, roots[document.repository])
        with store.budget.part(SHOWN):
            store.budget.check()
            hits.append(_with_lines(run, hit, document))
        if len(hits) == place:
            hits.append(hit)
            brief += 1
    if brief:
        store.budget.cut.append(f"{brief} of {len(page)} hits have no lines")
    return tuple(hits)


def _with_lines(run: SearchRun, hit: Hit, document: DocumentRow) -> Hit:
    """The hit with the exact place to jump to, and its snippet."""
    unit, options, lines = hit.unit, run.options, run.texts.lines(document)
    places = run.scope.places(unit, document)
    marks = _marks(unit, lines, run.terms, places, options.literal or options.regex)
    line, column = _place(unit, lines, marks, places)
    numbers = _shown_lines(unit, line, marks, len(lines), options)
    text = lines[line - 1] if line <= len(lines) else ""
    return replace(
        hit,
        line=line,
        column=column,
        column_utf16=column_utf16(text, column),
        snippet=tuple(SnippetLine(n, lines[n - 1], marks.get(n, ())) for n in numbers if n <= len(lines)),
    )


def _without_lines(candidate: Candidate, rank: int, document: DocumentRow, root: Path) -> Hit:
    """A hit that needs no text: it points to the line where the unit is named or begins."""
    return Hit(
        rank=rank,
        unit=candidate.unit,
        score=candidate.score,
        confidence=candidate.confidence,
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
    words = frozenset(t.text for t in query.words if not t.text.endswith(BEGINNING))
    begun = tuple(t.text.removesuffix(BEGINNING) for t in query.words if t.text.endswith(BEGINNING))
    few = (*words, *begun) if len(words) + len(begun) <= FEW_WORDS else ()
    for number in range(unit.start_line, min(unit.end_line, unit.start_line + SCANNED_LINES, len(lines)) + 1):
        line = lines[number - 1][:SCANNED_CHARACTERS]
        folded = line.casefold()
        if few and not any(word in folded for word in few):  # ten times as fast as looking at its tokens
            continue
        ranges = tuple(m.span() for m in _TOKEN.finditer(line) if _says(m[0], words, begun))
        if ranges:
            found[number] = tuple(sorted(set(found.get(number, ()) + ranges)))
    return found


@lru_cache(maxsize=1 << 14)
def _says(token: str, query_words: frozenset[str], begun: tuple[str, ...]) -> bool:
    folded, words = token.casefold().strip("_"), split_identifier(token)
    if begun and (folded.startswith(begun) or any(word.startswith(begun) for word in words)):
        return True
    return folded in query_words or not query_words.isdisjoint(words)


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


def _moved_places(run: SearchRun, page: Sequence[Candidate]) -> Sequence[Notice]:
    """A notice for each place of the shown notes that moved or is lost, in the order of the hits."""
    notes = dict.fromkeys(c.unit.document for c in page if c.unit.kind in NOTE_KINDS)
    if not notes:
        return ()
    from codelens.notes.finder import AnchorState, Finder  # few searches show notes
    from codelens.notes.note import kind_of_path, read_note

    texts: list[str] = []
    for document in run.store.documents.rows(notes):
        if not kind_of_path(document.path):
            continue
        finder = Finder(run.store, document.repository)
        found = map(finder.find, read_note(run.texts.of(document).text, document.path).links)
        texts += [f"{document.path}: {place.description}" for place in found if place.standing is not AnchorState.HERE]
    if len(texts) > MOST_MOVED:
        more = f"{len(texts) - MOST_MOVED} more places are not where they were: `codelens note list`"
        texts = [*texts[:MOST_MOVED], more]
    return [Notice("note-place", text) for text in texts]
