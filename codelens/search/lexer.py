"""A query's text → tokens that tile it: each character that is no space belongs to exactly one leaf or operator.

What is special is decided by how a word begins, so that code and prose pass: `x->y`, `f(a, b)`, `it's`, `std::vector`,
`--flag` and `-1` are words. A parenthesis groups where it begins a word, and closes a group where none of the word's
own is open.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from codelens.errors import QueryError
from codelens.nouns import dataclass
from codelens.search.faults import Faults, excerpt, suggest_field
from codelens.search.filters import BadValueError, make_filter
from codelens.search.nodes import FIELDS, NEGATED_WORD, Filter, Identifier, Leaf, Pattern, Phrase, Word
from codelens.search.patterns import check_pattern

MOST_PATTERNS = 32
"""Patterns of one query; each is matched with the text of every unit that the others leave open. Chosen."""
MAX_DEPTH = 50
"""Groups inside groups; parentheses beyond are text."""

_SPACE = re.compile(r"\s*")
_RUN = re.compile(r"[^\s()]*")
_VALUE = re.compile(r"[^\s(),]*")
_NEGATION = re.compile(rf'-(?={NEGATED_WORD}|["`/(])')
_QUOTED = re.compile(r'"((?:[^"\\]++|\\.)*+)"', re.DOTALL)
_TICKED = re.compile(r"`(?=[^\s`])([^`\n]+)`")
_SLASHED = re.compile(r"/(?![\s/])((?:\\.|\[\^?+\]?+(?:\\.|[^\]\\\n]){0,200}+\]|[^/\\\n])++)(?<!\s)/")
_FIELD = re.compile(r"([A-Za-z][A-Za-z_-]+):(?!:|//)")
_OPERATORS = {"OR": "or", "AND": "and", "NOT": "not"}


@dataclass(frozen=True, slots=True)
class Token:
    """`kind` is leaf, open, close, or, and, not; only a leaf has a `leaf`."""

    kind: str
    start: int
    end: int
    leaf: Leaf | None = None


class Lexer:
    """One pass over a query. `open` holds, for each parenthesis that waits for its partner, the index of its token,
    or None where it is part of a word; both pair up, so f(a, b) in a group does not end the group."""

    def __init__(self, text: str, faults: Faults, languages: Collection[str]) -> None:
        self.text, self.faults, self.languages = text, faults, languages
        self.tokens: list[Token] = []
        self.open: list[int | None] = []
        self.depth = self.patterns = 0
        self.position = 0

    def run(self) -> list[Token]:
        """All tokens in order; parentheses that wait for a partner stay in `open`."""
        while (start := self._skip_space()) < len(self.text):
            if not self._begins(start):
                self._word(start, start)
            elif self.text[start] == ")" and self._closes():
                self._close(start)
            else:
                self._unit(start)
        return self.tokens

    def unpaired(self) -> set[int]:
        """The tokens that opened a group and were never closed."""
        return {index for index in self.open if index is not None}

    def _skip_space(self) -> int:
        self.position = _end(_SPACE, self.text, self.position)
        return self.position

    def _begins(self, start: int) -> bool:
        """Whether a word may begin here: not directly behind a quotation."""
        last = self.tokens[-1] if self.tokens else None
        return last is None or last.end < start or last.kind != "leaf" or self.text[start] == ")"

    def _closes(self) -> bool:
        return bool(self.open) and self.open[-1] is not None

    def _open(self, start: int) -> None:
        self.open.append(len(self.tokens))
        self.depth += 1
        self._add("open", start, start + 1)

    def _close(self, start: int) -> None:
        self.open.pop()
        self.depth -= 1
        self._add("close", start, start + 1)

    def _add(self, kind: str, start: int, end: int, leaf: Leaf | None = None) -> None:
        self.tokens.append(Token(kind, start, end, leaf))
        self.position = end

    def _unit(self, start: int) -> None:
        """A leaf, perhaps negated. A dash before something that fails is part of its text."""
        dash = _NEGATION.match(self.text, start)
        at = dash.end() if dash else start
        if self.text[at] == "(" and self.depth < MAX_DEPTH:
            if dash:
                self._add("not", start, at)
            return self._open(at)
        if self.text[at] == "(":
            self.faults.add("depth", at, lambda: f"groups go over {MAX_DEPTH} deep; searched as text")
            return self._word(start, at)
        if special := self._special(at, negated=bool(dash)):
            leaf, end = special
            if dash:
                self._add("not", start, at)
            return self._add("leaf", at, end, leaf)
        if dash and self.position <= at and self.text[at] not in '"`/':
            self._add("not", start, at)
            return self._word(at, at)
        return self._word(start, max(at, self.position))

    def _word(self, start: int, scanned: int) -> None:
        """Text from `start` to the end of the word, of which the part before `scanned` has been seen."""
        end = self._run_end(scanned, _RUN)
        run = self.text[start:end]
        if run in _OPERATORS and not self._after_dash(start):
            return self._add(_OPERATORS[run], start, end)
        if run == "-":
            self.faults.add("operator", start, lambda: "a lone '-' negates nothing; searched as text")
        return self._add("leaf", start, end, Word(run, start))

    def _after_dash(self, start: int) -> bool:
        return bool(self.tokens) and self.tokens[-1].kind == "not" and self.tokens[-1].end == start

    def _run_end(self, at: int, plain: re.Pattern[str]) -> int:
        """Where a run ends: before a space or a parenthesis that closes a group; its own ones pair up on the way."""
        while (at := _end(plain, self.text, at)) < len(self.text):
            if self.text[at] == "(":
                self.open.append(None)
            elif self.text[at] != ")" or self._closes():
                break
            elif self.open:
                self.open.pop()
            else:
                self.faults.add("parenthesis", at, lambda: "a ')' closes nothing; searched as text")
            at += 1
        return at

    def _special(self, at: int, negated: bool) -> tuple[Leaf, int] | None:
        match self.text[at]:
            case '"':
                return self._phrase(at)
            case "`":
                return self._identifier(at)
            case "/":
                return self._pattern(at)
        return self._filter(at, negated)

    def _phrase(self, at: int) -> tuple[Leaf, int] | None:
        found = _QUOTED.match(self.text, at)
        if found is None:
            self.faults.add("quote", at, lambda: "a '\"' is not closed; searched as text")
        elif not found[1]:
            self.faults.add("quote", at, lambda: "the quotes hold nothing; searched as text")
            self.position = found.end()
        return (Phrase(unescape(found[1])), found.end()) if found and found[1] else None

    def _identifier(self, at: int) -> tuple[Leaf, int] | None:
        found = _TICKED.match(self.text, at)
        if found is None:
            self.faults.add("quote", at, lambda: "a '`' is not closed, or holds nothing; searched as text")
        return (Identifier(found[1].strip()), found.end()) if found else None

    def _pattern(self, at: int) -> tuple[Leaf, int] | None:
        """/…/ is a pattern if its first bare slash ends the word, and if it compiles; with spaces it else is prose."""
        found = _SLASHED.match(self.text, at)
        if found is None or not self._ends_word(found.end()):
            return None
        source = found[1]
        if self.patterns >= MOST_PATTERNS:
            self.faults.add(
                "limit", at, lambda: f"a query has {MOST_PATTERNS} patterns at most; others are searched as text"
            )
            return None
        try:
            check_pattern(source)
        except QueryError as fault:
            if not re.search(r"\s", source):
                said = f"/{excerpt(source)}/: {fault}; searched as text"
                self.faults.add("pattern", at + 1 + fault.position, lambda: said)
            return None
        self.patterns += 1
        return Pattern(source), found.end()

    def _ends_word(self, at: int) -> bool:
        rest = self.text[at : at + 1]
        return not rest or rest.isspace() or (rest == ")" and self._closes())

    def _filter(self, at: int, negated: bool) -> tuple[Leaf, int] | None:
        found = _FIELD.match(self.text, at)
        if found is None:
            return None
        name = found[1]
        if name not in FIELDS:
            self.faults.add("filter", at, lambda: _unknown(name))
            return None
        values = self._values(found.end())
        if values is None:
            return None
        try:
            filtered: Filter = make_filter(name, values, self.languages, outside=not (negated or self.depth))
        except BadValueError as fault:
            said = str(fault)
            self.faults.add("value", at, lambda: said + " searched as text")
            return None
        return filtered, self.position

    def _values(self, at: int) -> list[str] | None:
        """The values of a comma list; leaves the position behind them; None where a quote does not close."""
        values = []
        while True:
            quoted = _QUOTED.match(self.text, at) if self.text.startswith('"', at) else None
            if quoted is None and self.text.startswith('"', at):
                self.faults.add("quote", at, lambda: "a '\"' is not closed; searched as text")
                self.position = at
                return None
            self.position = quoted.end() if quoted else self._run_end(at, _VALUE)
            values.append(unescape(quoted[1]) if quoted else self.text[at : self.position])
            if not self.text.startswith(",", self.position):
                return [value for value in values if value]
            at = self.position + 1


def unescape(quoted: str) -> str:
    r"""What stands between quotes, with \" and \\ read; any other backslash stays, as in "C:\new"."""
    return re.sub(r'\\(["\\])', r"\1", quoted)


def _end(pattern: re.Pattern[str], text: str, at: int) -> int:
    found = pattern.match(text, at)
    return found.end() if found else at


def _unknown(name: str) -> str:
    meant = suggest_field(name)
    return (
        f"'{excerpt(name)}:' is not a filter" + (f", did you mean '{meant}:'?" if meant else ";") + " searched as text"
    )
