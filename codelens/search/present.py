"""Turns candidates into hits: the place to jump to, the lines to show, and whether the file on disk has changed."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import takewhile

from codelens.model.budget import SHOWN
from codelens.model.code import CHUNK_KINDS, NOTE_KINDS, Freshness, IndexInfo, UnitId, UnitRow
from codelens.model.fast_dataclass import replace
from codelens.model.search import Candidate, Hit, Notice, SearchResult, SnippetLine
from codelens.query.patterns import Ranges
from codelens.search.rankers import Ranking
from codelens.search.retrieve import ALONE
from codelens.search.run import SearchRun, limit_notices
from codelens.search.terms import compute_idfs, strip_ending
from codelens.search.verbatim import find_fragment
from codelens.store.documents import DocumentRow
from codelens.store.store import Expected, Store
from codelens.text.counts import quantity
from codelens.text.identifiers import split_identifier
from codelens.text.lines import count_utf8_column, count_utf16_column
from codelens.text.terms import BEGINNING
from codelens.worktree.files import check_freshness

SCANNED_LINES = 400  # Most lines of a long unit in which the best lines are searched for
SCANNED_CHARACTERS = 400  # Most characters of a line in which words are marked; longer lines are machine-made
FEW_WORDS = 40
"""Most words of a query for which each word is first searched for in the lines. With 80, splitting into tokens is as fast."""

LEAST_QUOTED = 0.6  # Least share of the query's words that a unit contains as a run for the query to be a quoted text
MOST_MOVED = 10  # Most moved places of notes that are reported; `codelens note list --lost` reports all

_TOKEN = re.compile(r"\w+")
_COMMENT = re.compile(r"\s*(?://|/?\*|#|--|;|%|<!--|\"\"\"|'''|$)")
"""The beginning of a line that may belong to a comment."""
_LICENCE = re.compile(r"copyright|licen[sc]e|SPDX-|all rights reserved", re.IGNORECASE)


def make_result(ranking: Ranking, info: IndexInfo) -> SearchResult:
    """Make the result from the page of the final order that --offset and --limit select."""
    run, options = ranking.run, ranking.run.options
    page = ranking.candidates[options.offset : options.offset + options.limit]
    hits = _make_hits(ranking, page)
    return SearchResult(
        query=run.query.text,
        hits=hits,
        total=len(ranking.candidates),
        channels=ranking.findings.channels,
        notices=(*run.notices, *_find_moved_places(run, page), *limit_notices(run.budget)),
        index=info,
        options=options,
        trace=run.trace,
        trigram_available="fuzzy" in run.abilities,
    )


def _make_hits(ranking: Ranking, page: Sequence[Candidate]) -> tuple[Hit, ...]:
    """Make the hits of a page. Hits for which time runs out have no lines, and point to the unit's name or first line."""
    run = ranking.run
    store, options, shown = run.store, run.options, sorted({c.unit.document for c in page})
    evidence, walk = (ranking.evidence, ranking.walk) if options.reasons else (None, None)
    numbers = {evidence.messages[one][1]: None for one in shown if one in evidence.messages} if evidence else ()
    units = [c.unit.id for c in page if c.unit.id > 0]
    of_page: list[Expected] = [("documents.read_rows", (shown,)), (_read_rows_inside, units)]
    of_page += [("documents.read_snapshot", (document,)) for document in shown]
    of_page += [("messages.read_commit", (number,)) for number in numbers]
    query_words, *_ = store.run_tasks(
        partial(QueryWords, run),
        partial(store.prefetch_answers, *of_page),
        *([partial(walk.find_paths, [c.unit for c in page])] if walk else []),
    )
    pairs, rows = _read_rows_inside(store, units)
    inside: dict[UnitId, list[UnitRow]] = {}
    for outer, inner in pairs:
        inside.setdefault(outer, []).append(rows[inner])
    documents = {d.id: d for d in store.documents.read_rows(shown)}
    roots = {r.id: r.root for r in store.documents.list_repositories()}
    hits, brief = list[Hit](), 0
    for rank, candidate in enumerate(page, start=options.offset + 1):
        unit, document = candidate.unit, documents[candidate.unit.document]
        root = roots[document.repository]
        hit = Hit(
            rank=rank,
            unit=unit,
            score=candidate.score,
            confidence=candidate.confidence,
            channels=dict(sorted(candidate.channels.items())),
            contributions=tuple(candidate.contributions if options.reasons else candidate.recorded),
            freshness=Freshness(check_freshness(root, document.os_path, document.stamp, document.content_hash)),
            root=str(root),
            line=unit.name_line or unit.start_line,
            column=1,
            column_utf16=1,
            snippet=(),
            path_bytes=os.fsencode(document.os_path) if document.os_path != document.path else None,
        )
        brief += 1
        with store.budget.part(SHOWN):
            store.budget.check()
            hit = _add_lines(ranking, hit, document, query_words, inside.get(unit.id, ()))
            brief -= 1
        hits.append(hit)
    if brief:
        store.budget.cut.append(f"{brief} of {quantity(len(page), 'hit')} shown without lines")
    return tuple(hits)


def _read_rows_inside(
    store: Store, units: Sequence[UnitId]
) -> tuple[list[tuple[UnitId, UnitId]], Mapping[UnitId, UnitRow]]:
    pairs = store.units.find_inner(units)
    return pairs, store.units.read_rows([inner for _, inner in pairs])


def _add_lines(
    ranking: Ranking, hit: Hit, document: DocumentRow, query_words: QueryWords, inner: Sequence[UnitRow]
) -> Hit:
    """Add to a hit the exact place to jump to, and a snippet: the context that the options ask for, or the place and the unit's
    best lines. Lines of the units in `inner`, which lie inside the unit, do not count."""
    run, findings = ranking.run, ranking.findings
    unit, options, lines = hit.unit, run.options, run.texts.read_lines(document)
    places = run.scope.find_matches_by_line(unit, document)
    marks: dict[int, Ranges] = dict(places)
    shares: dict[int, float] = {}
    if not (options.literal or options.regex):
        inner_lines = {n for row in inner for n in range(row.start_line, row.end_line + 1)}
        for number, (ranges, share) in query_words.mark_lines(unit, lines).items():
            marks[number] = tuple(sorted({*marks.get(number, ()), *ranges}))
            if number not in inner_lines:
                shares[number] = share
    find, words = findings.evidence.verbatim.get(unit.id), len(run.terms.text.split())
    if not places:  # find the first line with the query as typed, or with its fragment
        text = find.text if find and find.token else ""
        text = find_fragment(run) if unit.id in findings.evidence.fragments else text
        last = min(unit.end_line, unit.start_line + SCANNED_LINES, len(lines))
        is_sought = text and text.casefold() not in unit.qualified_name.casefold()
        for number in range(unit.start_line, last + 1) if is_sought else ():
            if (start := lines[number - 1].casefold().find(text.casefold())) >= 0:
                places = {number: ((start, start + len(text)),)}
                break
    quoted = find is not None and not find.token and len(find.text.split()) >= LEAST_QUOTED * words
    quoted |= options.mode in ALONE and bool(shares) and unit.name_line not in shares
    line, column = _choose_place(unit, lines, marks, shares, places, quoted)
    if (asked := findings.targets.get(unit.id)) and unit.start_line <= asked.line <= min(unit.end_line, len(lines)):
        line, column = asked.line, asked.column or 1
    if options.context_before or options.context_after:
        shown = list(range(max(1, line - options.context_before), line + options.context_after + 1))
    else:
        others = sorted((n for n in shares if n != line), key=lambda n: (-shares[n], n))
        shown = sorted({line, *others[: max(0, options.snippet_lines - 1)]})
    return replace(
        hit,
        line=line,
        column=column,
        column_utf16=count_utf16_column(lines[line - 1] if line <= len(lines) else "", column),
        snippet=tuple(SnippetLine(n, lines[n - 1], marks.get(n, ())) for n in shown if n <= len(lines)),
    )


class QueryWords(dict[str, frozenset[str]]):
    """A cache: token of a line → words of the query in it, alone or within a name, in any form (in the mode `exact` as written)."""

    def __init__(self, run: SearchRun) -> None:
        words = [t.text for t in run.terms.words]
        self._stem: Callable[[str], str] = str if run.options.mode == "exact" else strip_ending
        self._begun = tuple(w.removesuffix(BEGINNING) for w in words if w.endswith(BEGINNING))
        self._stems = dict.fromkeys((self._stem(w) for w in words if not w.endswith(BEGINNING)), 1.0)
        self._few = (*self._stems, *self._begun) if len(words) <= FEW_WORDS else ()
        if 1 < len(words) <= FEW_WORDS:
            whole = [w for w in words if not w.endswith(BEGINNING)]
            self._stems |= {self._stem(word): idf for word, idf in compute_idfs(run.store, whole).items()}

    def mark_lines(self, unit: UnitRow, lines: Sequence[str]) -> dict[int, tuple[Ranges, float]]:
        """Map the unit's lines with words of the query to (character ranges of the words, sum of the words' rarities)."""
        lines_found: dict[int, tuple[Ranges, float]] = {}
        last = min(unit.end_line, unit.start_line + SCANNED_LINES)
        scanned = [line[:SCANNED_CHARACTERS] for line in lines[unit.start_line - 1 : last]]
        folded, numbers = "\n".join(scanned).casefold(), set[int]()
        for word in self._few:  # looking for a few words is ten times as fast as looking at all tokens
            at, number, counted = folded.find(word), 0, 0
            while at >= 0:
                number, counted = number + folded.count("\n", counted, at), at
                numbers.add(number)
                end = folded.find("\n", at)
                at = folded.find(word, end + 1) if end >= 0 else -1
        for at in sorted(numbers) if self._few else range(len(scanned)):
            line = scanned[at]
            if spans := {match.span(): words for match in _TOKEN.finditer(line) if (words := self[match[0]])}:
                rarity = math.fsum([self._stems.get(word, 1.0) for word in frozenset().union(*spans.values())])
                lines_found[unit.start_line + at] = tuple(spans), rarity
        return lines_found

    def __missing__(self, token: str) -> frozenset[str]:
        contained: set[str] = set()
        folded = token.casefold()
        if not self._few or not token.isascii() or any(map(folded.__contains__, self._few)):
            parts = {folded.strip("_"), *split_identifier(token)}
            contained = {self._stem(part) for part in parts} & self._stems.keys()
            contained |= {begun for begun in self._begun if any(part.startswith(begun) for part in parts)}
        self[token] = words = frozenset(contained)
        return words


def _choose_place(
    unit: UnitRow,
    lines: Sequence[str],
    marks: Mapping[int, Ranges],
    shares: Mapping[int, float],
    places: Mapping[int, Ranges],
    quoted: bool,
) -> tuple[int, int]:
    """Choose (line, column) to jump to: a text that was asked for, else a definition's name, else the best line.

    If the unit contains the query as typed (`quoted`), as a message, the best line goes before the definition's name.
    """
    if not places and not quoted and unit.name_line and unit.kind not in CHUNK_KINDS:
        return unit.name_line, unit.name_column
    beginning = unit.start_line
    if beginning == 1:  # a copyright comment at the top of the file is not a good line to show
        header = list(takewhile(lambda line: _COMMENT.match(line), lines[: unit.end_line]))
        is_licence = len(header) < len(lines) and _LICENCE.search("\n".join(header))
        beginning = len(header) + 1 if is_licence else 1
    telling = {n: share for n, share in shares.items() if n >= beginning} or shares
    best = min(places) if places else max(telling, key=lambda n: (telling[n], -n), default=beginning)
    ranges = (places or marks).get(best, ())
    start = ranges[0][0] if ranges else 0
    return best, count_utf8_column(lines[best - 1], start) if best <= len(lines) else 1


def _find_moved_places(run: SearchRun, page: Sequence[Candidate]) -> Sequence[Notice]:
    """Make a notice for each place in the shown notes that moved or is lost, in the order of the hits."""
    notes = dict.fromkeys(c.unit.document for c in page if c.unit.kind in NOTE_KINDS)
    if not notes:
        return ()
    from codelens.notes.finder import AnchorFinder, AnchorState  # few searches show notes
    from codelens.notes.note import classify_path, read_note

    texts: list[str] = []
    for document in run.store.documents.read_rows(notes):
        if not classify_path(document.path):
            continue
        finder = AnchorFinder(run.store, document.repository)
        places = map(finder.find_place, read_note(run.texts.read(document).text, document.path).links)
        texts += [f"{document.path}: {place.description}" for place in places if place.state is not AnchorState.HERE]
    if len(texts) > MOST_MOVED:
        more = f"{len(texts) - MOST_MOVED} more places are not where they were: `codelens note list`"
        texts = [*texts[:MOST_MOVED], more]
    return [Notice("note-place", text) for text in texts]
