"""Finds the lines of a text that satisfy a query, with the characters that match, as grep does.

A query's words, phrases and patterns each give a set of lines, and AND, OR and NOT combine the sets. So every word must occur
on the line, as it is written; conditions on files and units hold for the place of the line. A match lies within a line, unless
its text or pattern names a line break; then it counts on its first line.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import reduce
from typing import Any, NamedTuple

from codelens.model.budget import TimeBudget
from codelens.model.fast_dataclass import frozen_dataclass
from codelens.query.nodes import (
    And,
    Filter,
    Identifier,
    Node,
    Not,
    Or,
    Pattern,
    Phrase,
    Word,
    find_positive_leaves,
    is_about_text,
)
from codelens.query.patterns import (
    ANY,
    LineReach,
    Plan,
    Ranges,
    compile_pattern,
    find_first_in_lines,
    find_in_lines,
    find_matches,
    find_reach,
    has_upper,
    require_all,
    require_any,
    require_literals,
    require_text,
)
from codelens.text.terms import fold


@frozen_dataclass
class LinePlace:
    """A condition on the file and the units that a line lies in."""

    node: Node


LineNode = Any  # A condition on a line: a tree of And, Or and Not with leaves LinePlace, Phrase, Identifier and Pattern


@frozen_dataclass
class LineQuery:
    """A query for lines, split into conditions on their place and conditions on their text."""

    file: Node | None  # The conditions that can be decided for a whole file; None without such conditions
    place: LineNode | None  # The conditions on the place of a line
    text: LineNode | None  # None if the query says nothing about text
    ignore_case: bool = False
    whole_word: bool = False
    whole_line: bool = False
    invert: bool = False  # True for the lines that do not satisfy `text`
    every_match: bool = True  # True to find all ranges on a line; False for the first of each text only

    def plan(self) -> Plan:
        """Plan which substrings every text with such a line contains."""
        return ANY if self.invert or self.text is None else _plan_node(self.text)


class FoundLine(NamedTuple):
    """A line that satisfies the query: its number from 0, its character offsets in the text, and the matching ranges in it."""

    number: int
    begin: int
    end: int  # Before the line break, "\r\n" or "\n"
    ranges: Ranges


def make_line_query(
    node: Node | None, case: str = "auto", *, whole_word: bool = False, whole_line: bool = False, invert: bool = False
) -> LineQuery:
    """Split a query's tree into conditions on places and on lines.

    With smart case, an upper-case letter anywhere in the query makes case count for all its texts.
    """
    parts = node.parts if isinstance(node, And) else (node,) if node is not None else ()
    places = tuple(part for part in parts if not is_about_text(part))
    texts = tuple(map(_make_line_node, (part for part in parts if is_about_text(part))))
    text = texts[0] if len(texts) == 1 else And(texts) if texts else None
    place = _make_line_node(And(places)) if places else None
    upper = any(
        has_upper(leaf.source) if isinstance(leaf, Pattern) else any(map(str.isupper, leaf.text))
        for leaf in find_positive_leaves(text)
        if isinstance(leaf, Pattern | Phrase | Identifier)
    )
    ignore_case = case == "no" or (case == "auto" and not upper)
    return LineQuery(And(places) if places else None, place, text, ignore_case, whole_word, whole_line, invert)


def _make_line_node(node: Node) -> LineNode:
    match node:
        case And(parts):
            filters = tuple(part for part in parts if not is_about_text(part) and not isinstance(part, Not))
            one = filters[0] if len(filters) == 1 else And(filters)  # one unit satisfies all of them
            places = (LinePlace(one),) if filters else ()
            return And((*places, *(_make_line_node(part) for part in parts if part not in filters)))
        case Or(parts) if not is_about_text(node):
            return LinePlace(node)
        case Or(parts):
            return Or(tuple(map(_make_line_node, parts)))
        case Not(part):
            return Not(_make_line_node(part))
        case Filter("content", values):
            return Or(tuple(map(Phrase, values)))
        case Filter():
            return LinePlace(node)
        case Word(text):
            return Pattern(rf"(?<!\w){re.escape(node.prefix)}\w*") if node.prefix else Phrase(text)
    return node


def _plan_node(node: LineNode) -> Plan:
    match node:
        case Phrase(text) | Identifier(text):
            return require_text(text)
        case Pattern(source):
            return require_literals(source)
        case And(parts):
            return require_all(map(_plan_node, parts))
        case Or(parts):
            return require_any(map(_plan_node, parts))
    return ANY


Places = Callable[[Node], Sequence[tuple[int, int]] | None]
"""Maps a condition on file and units to the (first, last) line numbers where it holds; None if it holds everywhere."""
Lines = Mapping[int, FoundLine]


def find_lines(text: str, query: LineQuery, places: Places, budget: TimeBudget) -> list[FoundLine]:
    """Find the lines of a text that satisfy the query, in order. Raises OutOfTime if a pattern exceeds the budget."""
    lines = _Lines(text, query, places, budget)
    matching_lines = lines.list_all() if query.text is None else lines.find(query.text)
    if query.invert:
        matching_lines = {number: line for number, line in lines.list_all().items() if number not in matching_lines}
    if query.place is not None:
        matching_lines = lines.narrow(matching_lines, query.place)
    return [matching_lines[number] for number in sorted(matching_lines)]


class _Lines:
    """Evaluates line conditions on one text, to a mapping from line number to FoundLine."""

    def __init__(self, text: str, query: LineQuery, places: Places, budget: TimeBudget) -> None:
        self.text, self.query, self.places, self.budget = text, query, places, budget
        self.returns = "\r\n" in text

    def find(self, node: LineNode) -> Lines:
        match node:
            case Phrase(text) | Identifier(text):
                whole_word = isinstance(node, Identifier) or self.query.whole_word
                return self._group_by_line(self._find_occurrences(text, whole_word))
            case Pattern(source):
                return self._group_by_line(self._find_matches(source))
            case LinePlace() | Not():
                return self.narrow(self.list_all(), node)
            case Or(parts):
                lines: dict[int, FoundLine] = {}
                for part in parts:
                    for number, line in self.find(part).items():
                        lines[number] = _merge_ranges(lines[number], line) if number in lines else line
                return lines
            case And(parts):  # places and negations only narrow down what the texts found, so they come last
                first, *others = sorted(parts, key=lambda part: isinstance(part, Not | LinePlace))
                return reduce(self.narrow, others, self.find(first))
        raise TypeError(node)

    def narrow(self, lines: Lines, node: LineNode) -> Lines:
        """Keep the lines that satisfy a part of the query, and add its matching ranges to them."""
        match node:
            case LinePlace(condition):
                return self._filter_by_place(lines, condition)
            case Not(part):
                others = self.narrow(lines, part)
                return {number: line for number, line in lines.items() if number not in others}
            case And(parts):
                return reduce(self.narrow, parts, lines)
        if not lines:
            return lines
        others = self.find(node)
        return {number: _merge_ranges(line, others[number]) for number, line in lines.items() if number in others}

    def list_all(self) -> Lines:
        lines: dict[int, FoundLine] = {}
        begin = 0
        while begin < len(self.text):
            end = self.text.find("\n", begin)
            end = end if end >= 0 else len(self.text)
            lines[len(lines)] = FoundLine(len(lines), begin, self._find_line_end(begin, end), ())
            begin = end + 1
        return lines

    def _filter_by_place(self, lines: Lines, condition: Node) -> Lines:
        """Keep the lines where a condition on file and units holds."""
        spans = self.places(condition)
        if spans is None:
            return lines
        numbers = sorted(lines)
        within: dict[int, FoundLine] = {}
        for first, last in spans:
            for at in range(bisect_left(numbers, first), bisect_right(numbers, last)):
                within[numbers[at]] = lines[numbers[at]]
        return within

    def _find_matches(self, source: str) -> Iterable[tuple[int, int]]:
        query = self.query
        program = compile_pattern(source, query.ignore_case, query.whole_word, query.whole_line)
        reach, every = find_reach(source), query.every_match
        if reach is LineReach.OVER_LINES:
            return find_matches(program, self.text, self.budget)
        if reach is LineReach.MAY_CROSS or self.returns:
            return find_in_lines(program, self.text, self.budget, every)
        return (find_matches if every else find_first_in_lines)(program, self.text, self.budget)

    def _find_occurrences(self, wanted: str, whole_word: bool) -> Iterator[tuple[int, int]]:
        """Find the ranges of a text. A whole word has no letter, digit or underscore next to it, as in ripgrep."""
        text = self.text
        if self.query.ignore_case:
            text, wanted = fold(text), fold(wanted)
        at = text.find(wanted)
        while at >= 0:
            end = at + len(wanted)
            fits = not (whole_word and (_is_in_word(text, at - 1) or _is_in_word(text, end)))
            if fits and self.query.whole_line:
                begins = at == 0 or text[at - 1] == "\n"
                fits = begins and (end == len(text) or text.startswith(("\n", "\r\n"), end))
            if fits:
                yield at, end
                if not self.query.every_match:
                    end = text.find("\n", at)
                    end = len(text) if end < 0 else end
            at = text.find(wanted, max(end, at + 1) if fits else at + 1)

    def _group_by_line(self, ranges: Iterable[tuple[int, int]]) -> Lines:
        """Group ranges of the text by line, relative to its start. An empty range makes its line match, but is not listed."""
        text, lines = self.text, dict[int, FoundLine]()
        number = begin = 0
        stop, parts = -1, list[tuple[int, int]]()
        for start, end in ranges:
            if start > stop:
                if start == len(text) and (not text or text.endswith("\n")):  # no line follows the last line break
                    break
                if stop >= 0:
                    lines[number] = FoundLine(number, begin, self._find_line_end(begin, stop), tuple(parts))
                number += text.count("\n", begin, start)
                begin = text.rfind("\n", 0, start) + 1
                stop = text.find("\n", start)
                stop, parts = stop if stop >= 0 else len(text), []
            if end > start:
                parts.append((start - begin, min(end, self._find_line_end(begin, stop)) - begin))
        if stop >= 0:
            lines[number] = FoundLine(number, begin, self._find_line_end(begin, stop), tuple(parts))
        return lines

    def _find_line_end(self, begin: int, stop: int) -> int:
        return stop - 1 if stop > begin and self.text[stop - 1] == "\r" else stop


def _is_in_word(text: str, at: int) -> bool:
    return 0 <= at < len(text) and (text[at].isalnum() or text[at] == "_")


def _merge_ranges(line: FoundLine, other: FoundLine) -> FoundLine:
    """Merge the ranges of two results for one line, in order; ranges that overlap become one."""
    ranges: list[tuple[int, int]] = []
    for start, end in sorted((*line.ranges, *other.ranges)):
        if ranges and start < ranges[-1][1]:
            ranges[-1] = ranges[-1][0], max(ranges[-1][1], end)
        else:
            ranges.append((start, end))
    return line._replace(ranges=tuple(ranges))
